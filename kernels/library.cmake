# libballast_attention, shared and static, for GPUs. Only what libballast_attention.map lists is
# visible; CUDA's runtime is linked in, NCCL is loaded where it was found.
include(CMakePackageConfigHelpers)

set(modules ballast_kernels_attention_cuda)
set(archives "$<TARGET_FILE:ballast_kernels_attention_cuda>" "$<TARGET_FILE:ballast_tiles>")
set(nccl)
if(BALLAST_NCCL_FOUND AND TARGET ballast_kernels_cp_cuda)
  list(APPEND modules ballast_kernels_cp_cuda)
  list(APPEND archives "$<TARGET_FILE:ballast_kernels_cp_cuda>")
  set(nccl nccl)
  set(BALLAST_ATTENTION_PC_NCCL "-lnccl ")
endif()
set(map "${CMAKE_CURRENT_SOURCE_DIR}/libballast_attention.map")
file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/ballast/*.h")
if(NOT nccl)
  list(FILTER headers EXCLUDE REGEX "attention_cp[.]h$")
endif()

# One relocatable object in which everything hidden has become local, as that of libballast.
set(whole "${CMAKE_CURRENT_BINARY_DIR}/ballast_attention-whole.o")
add_custom_command(
  OUTPUT "${whole}"
  COMMAND "${CMAKE_LINKER}" -r -o "${whole}" --whole-archive ${archives}
  COMMAND "${CMAKE_OBJCOPY}" --localize-hidden "${whole}"
  DEPENDS ${modules} ballast_tiles
  VERBATIM)
set_source_files_properties("${whole}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

add_library(ballast_attention SHARED "${whole}")
target_link_libraries(ballast_attention PRIVATE Ballast::CUDART m ballast_flags)
if(nccl)
  target_link_libraries(ballast_attention PRIVATE Ballast::NCCL)
endif()
target_link_options(ballast_attention PRIVATE
  "-Wl,--version-script=${map}" -Wl,--as-needed -Wl,--exclude-libs,ALL)
if(NOT BALLAST_SANITIZE AND NOT BALLAST_FUZZ) # whose symbols come with the program
  target_link_options(ballast_attention PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(ballast_attention PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  LINKER_LANGUAGE CXX
  LINK_DEPENDS "${map}"
  PUBLIC_HEADER "${headers}")

add_library(ballast_attention_static STATIC "${whole}")
set_target_properties(ballast_attention_static PROPERTIES
  OUTPUT_NAME ballast_attention LINKER_LANGUAGE CXX)
target_link_libraries(ballast_attention_static INTERFACE
  $<BUILD_INTERFACE:Ballast::CUDART> $<BUILD_INTERFACE:$<$<BOOL:${nccl}>:Ballast::NCCL>>
  "$<INSTALL_INTERFACE:${nccl}>" $<INSTALL_INTERFACE:cudart_static> $<INSTALL_INTERFACE:dl>
  $<INSTALL_INTERFACE:rt> $<INSTALL_INTERFACE:pthread> m)
add_dependencies(ballast_attention_static ballast_attention) # who makes their object

foreach(library ballast_attention ballast_attention_static)
  target_include_directories(${library} INTERFACE
    "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endforeach()
set_target_properties(ballast_attention PROPERTIES EXPORT_NAME attention)
set_target_properties(ballast_attention_static PROPERTIES EXPORT_NAME attention_static)
add_library(ballast::attention ALIAS ballast_attention)
add_library(ballast::attention_static ALIAS ballast_attention_static)

# What finds the library once it is installed, wherever that is: paths as libballast's.
ballast_pc_paths()
set(package_directory "${CMAKE_INSTALL_LIBDIR}/cmake/BallastAttention")
configure_file(ballast-attention.pc.in ballast-attention.pc @ONLY)
configure_package_config_file(BallastAttentionConfig.cmake.in BallastAttentionConfig.cmake
  INSTALL_DESTINATION "${package_directory}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(BallastAttentionConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

install(TARGETS ballast_attention ballast_attention_static EXPORT BallastAttentionTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT kernels
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT kernels
  PUBLIC_HEADER DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ballast" COMPONENT kernels)
install(EXPORT BallastAttentionTargets
  NAMESPACE ballast:: DESTINATION "${package_directory}" COMPONENT kernels)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/BallastAttentionConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/BallastAttentionConfigVersion.cmake"
  DESTINATION "${package_directory}" COMPONENT kernels)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/ballast-attention.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT kernels)
