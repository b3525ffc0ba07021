# Every target is made by one of these, so that flags live in one place.
add_library(ballast_flags INTERFACE)
target_compile_definitions(ballast_flags INTERFACE _GNU_SOURCE)
# -ffp-contract=off: cost models are computed in double at start-up; every compiler must agree.
target_compile_options(ballast_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wformat=2 -ffp-contract=off -fno-common
  "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
  $<$<BOOL:${BALLAST_WERROR}>:-Werror>)
if(BALLAST_SANITIZE)
  target_compile_options(ballast_flags INTERFACE
    -fsanitize=${BALLAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined -O1)
  target_link_options(ballast_flags INTERFACE -fsanitize=${BALLAST_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(ballast_flags INTERFACE -fstack-protector-strong)
  target_compile_definitions(ballast_flags INTERFACE _FORTIFY_SOURCE=2)
  target_link_options(ballast_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(BALLAST_FUZZ)
  target_compile_options(ballast_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ballast_module(NAME SOURCES a.c b.c DEPENDS x y): a static library of one folder of daemon/.
function(ballast_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/daemon")
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ballast_flags)
endfunction()

# ballast_test(NAME SOURCES test_x.c DEPENDS y [LABELS z] [TIMEOUT s]): a Criterion test in ctest.
# libcriterion does not run under ThreadSanitizer: there a test brings its own runner.
function(ballast_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} PkgConfig::CRITERION ballast_flags)
  if(BALLAST_SANITIZE MATCHES "thread")
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/criterion_tsan.c")
  endif()
  # Criterion's macros declare their test functions themselves.
  target_compile_options(${name} PRIVATE -Wno-pedantic
    "$<$<COMPILE_LANGUAGE:C>:-Wno-missing-prototypes>")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# ballast_pc_paths(): BALLAST_PC_PREFIX, _LIBDIR and _INCLUDEDIR of a .pc file in the scope of the
# caller; relative to the file where that is possible, so that an installation can be moved.
function(ballast_pc_paths)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(BALLAST_PC_PREFIX "${CMAKE_INSTALL_PREFIX}" PARENT_SCOPE)
  else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    set(BALLAST_PC_PREFIX "\${pcfiledir}/${up}" PARENT_SCOPE)
  endif()
  foreach(what LIBDIR INCLUDEDIR)
    set(path "\${prefix}")
    cmake_path(APPEND path "${CMAKE_INSTALL_${what}}")
    set(BALLAST_PC_${what} "${path}" PARENT_SCOPE)
  endforeach()
endfunction()
