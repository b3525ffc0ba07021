# How kernels are compiled: the sources of a folder of kernels/ make two libraries, one for the CPU
# that emulates a GPU, and one for GPUs where nvcc was found.

# SASS of Ampere and its PTX, from which the driver makes code for whatever is newer, and Hopper's
# own. Not -arch=sm_90a, which would compile a plain compute_90 too: there is no wgmma in that.
set(BALLAST_GENCODE "-gencode=arch=compute_80,code=[sm_80,compute_80]"
                    "-gencode=arch=compute_90a,code=sm_90a")
set(BALLAST_GENCODE_SM90A "-gencode=arch=compute_90a,code=sm_90a")
# The host's half has no exceptions, nor guards around what nvcc keeps in local statics (constants):
# a C program that links the library needs no libstdc++.
set(BALLAST_NVCC_FLAGS -std=c++17 -O3 -Xptxas=-v
    "-Xcompiler=-fPIC,-fvisibility=hidden,-fno-exceptions,-fno-threadsafe-statics,-Wall,-Wextra"
    "-I${PROJECT_SOURCE_DIR}" "-I${PROJECT_SOURCE_DIR}/kernels/include")
set(BALLAST_NVCC_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/nvcc.cmake")

# ballast_nvcc(RET SOURCE GENCODE...): a rule that makes an object. What ptxas says of registers and
# spills lies beside it as OBJECT.ptxas.
function(ballast_nvcc ret source)
  string(REPLACE "../" "" object "${source}")
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${object}.o")
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
  cmake_path(GET object PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(
    OUTPUT "${object}" "${object}.ptxas"
    COMMAND "${CMAKE_COMMAND}" "-DLOG=${object}.ptxas" -P "${BALLAST_NVCC_SCRIPT}" --
            "${BALLAST_NVCC}" ${ARGN} ${BALLAST_NVCC_FLAGS}
            -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
    DEPENDS "${source}" "${BALLAST_NVCC_SCRIPT}"
    DEPFILE "${object}.d"
    COMMENT "Building CUDA object ${object}"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${ret} "${object}" PARENT_SCOPE)
endfunction()

# ballast_nvcc_all(RET SOURCES SM90A): every .cu replaced by its object; what ptxas said of them is
# for the test of registers.
function(ballast_nvcc_all ret)
  cmake_parse_arguments(ARG "" "" "SOURCES;SM90A" ${ARGN})
  set(made)
  foreach(source ${ARG_SOURCES} ${ARG_SM90A})
    if(source MATCHES "[.]cu$")
      set(gencode ${BALLAST_GENCODE})
      if(source IN_LIST ARG_SM90A)
        set(gencode ${BALLAST_GENCODE_SM90A})
      endif()
      ballast_nvcc(source ${source} ${gencode})
      set_property(GLOBAL APPEND PROPERTY BALLAST_PTXAS_LOGS "${source}.ptxas")
    endif()
    list(APPEND made "${source}")
  endforeach()
  set(${ret} ${made} PARENT_SCOPE)
endfunction()

# ballast_cu_as_cxx(SOURCE...): the C++ compiler takes .cu files too, for the emulation.
function(ballast_cu_as_cxx)
  foreach(source ${ARGN})
    if(source MATCHES "[.]cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX)
    endif()
  endforeach()
endfunction()

# ballast_kernel_library(NAME SOURCES DEPENDS DEFINITIONS): without sources, headers only. -O2 even
# in Debug: an emulated kernel is slow enough.
function(ballast_kernel_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;DEFINITIONS" ${ARGN})
  set(scope PUBLIC)
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ballast_flags)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    if(NOT BALLAST_SANITIZE)
      target_compile_options(${name} PRIVATE -O2)
    endif()
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope}
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/kernels/include")
  target_compile_definitions(${name} ${scope} ${ARG_DEFINITIONS})
  target_link_libraries(${name} ${scope} ${ARG_DEPENDS})
endfunction()

# ballast_kernels(NAME SOURCES a.c b.cpp c.cu SM90A d.cu DEPENDS x): NAME is the emulated flavour
# and, where there is nvcc, NAME_cuda the other, which depends on x_cuda where that exists. SM90A
# names .cu files for Hopper alone. EMULATED_SOURCES, EMULATED_DEPENDS, CUDA_SOURCES and
# CUDA_DEPENDS are of one flavour only.
function(ballast_kernels name)
  cmake_parse_arguments(ARG "" "" "SOURCES;SM90A;DEPENDS;EMULATED_SOURCES;EMULATED_DEPENDS;\
CUDA_SOURCES;CUDA_DEPENDS" ${ARGN})
  set(sources ${ARG_SOURCES} ${ARG_SM90A} ${ARG_EMULATED_SOURCES})
  ballast_cu_as_cxx(${sources})
  ballast_kernel_library(${name} SOURCES ${sources} DEFINITIONS BALLAST_EMULATED
    DEPENDS ${ARG_DEPENDS} ${ARG_EMULATED_DEPENDS})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON) # tests build what they need
  if(NOT BALLAST_CUDA_FOUND)
    return()
  endif()

  ballast_nvcc_all(sources SOURCES ${ARG_SOURCES} ${ARG_CUDA_SOURCES} SM90A ${ARG_SM90A})
  set(depends)
  foreach(dependency ${ARG_DEPENDS})
    if(TARGET ${dependency}_cuda)
      set(dependency ${dependency}_cuda)
    endif()
    list(APPEND depends ${dependency})
  endforeach()
  ballast_kernel_library(${name}_cuda SOURCES ${sources}
    DEPENDS ${depends} ${ARG_CUDA_DEPENDS} Ballast::CUDART)
endfunction()

# ballast_kernel_test(NAME SOURCES x.cpp DEPENDS y [CRITERION] [LONG] [TIMEOUT s]): a test of
# kernels in ctest; without CRITERION a program of its own, which exits 0, 1, or 77 for skipped.
# LONG ones have the label kernels_long too: CI leaves them out under the sanitizers, which take up
# to twenty times as long.
# LONG_WITH_TSAN: only with ThreadSanitizer, which finds no threads in a kernel's fibers anyway.
function(ballast_kernel_test name)
  cmake_parse_arguments(ARG "CRITERION;LONG;LONG_WITH_TSAN" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(BALLAST_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 3")
  endif()
  set(labels kernels)
  if(ARG_LONG OR (ARG_LONG_WITH_TSAN AND BALLAST_SANITIZE MATCHES "thread"))
    list(APPEND labels kernels_long)
  endif()
  ballast_cu_as_cxx(${ARG_SOURCES})
  if(ARG_CRITERION)
    ballast_test(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} TIMEOUT ${ARG_TIMEOUT})
  else()
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} ballast_flags)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  ballast_emulation_settings(${name})
endfunction()

# ballast_emulation_settings(TEST): for a test and target that runs emulated kernels. Fibres with
# stacks that AddressSanitizer keeps for use after return are twenty times slower.
function(ballast_emulation_settings name)
  if(NOT BALLAST_SANITIZE)
    target_compile_options(${name} PRIVATE -O2)
  elseif(BALLAST_SANITIZE MATCHES "address")
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
  endif()
endfunction()
