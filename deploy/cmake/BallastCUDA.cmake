# What the attention kernels need: a C++17 compiler for the emulation, nvcc for GPUs, NCCL for
# context parallelism; cuBLAS for the profiler's GEMMs. Every one is optional: a build without any
# has no kernels. AUTO takes what is there, ON makes it an error to lack it.

# The C++ compiler of the C compiler's family and version: objects of both are linked together.
function(ballast_prefer_companion)
  if(CMAKE_CXX_COMPILER OR DEFINED ENV{CXX})
    return()
  endif()
  cmake_path(GET CMAKE_C_COMPILER FILENAME c_name)
  cmake_path(GET CMAKE_C_COMPILER PARENT_PATH folder)
  string(REGEX REPLACE "gcc" "g++" name "${c_name}")
  string(REGEX REPLACE "clang" "clang++" name "${name}")
  string(REGEX REPLACE "^cc$" "c++" name "${name}")
  find_program(BALLAST_CXX NAMES "${name}" HINTS "${folder}")
  mark_as_advanced(BALLAST_CXX)
  if(BALLAST_CXX AND NOT name STREQUAL c_name)
    set(CMAKE_CXX_COMPILER "${BALLAST_CXX}" CACHE FILEPATH "C++ compiler")
  endif()
endfunction()

# nvcc is called by rules of our own (BallastKernels.cmake), not as a language of CMake: CMake 3.25
# tries architectures that CUDA 13 no longer has, and what ptxas reports is kept for a test.
function(ballast_find_cuda)
  find_program(BALLAST_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin"
               PATHS /usr/local/cuda/bin)
  if(BALLAST_NVCC)
    execute_process(COMMAND "${BALLAST_NVCC}" --version OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _ "${text}")
    set(BALLAST_NVCC_VERSION "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
  cmake_path(SET root NORMALIZE "${BALLAST_NVCC}/../..")
  set(includes "${root}/include" "${root}/targets/x86_64-linux/include")
  set(libraries "${root}/lib64" "${root}/lib" "${root}/targets/x86_64-linux/lib")
  find_path(BALLAST_CUDA_INCLUDE cuda_runtime.h HINTS ${includes})
  find_library(BALLAST_CUDART_LIBRARY NAMES cudart_static HINTS ${libraries})
  find_library(BALLAST_CUBLAS_LIBRARY NAMES cublas HINTS ${libraries})
  find_path(BALLAST_NCCL_INCLUDE nccl.h HINTS ${includes})
  find_library(BALLAST_NCCL_LIBRARY NAMES nccl HINTS ${libraries})
  mark_as_advanced(BALLAST_NVCC BALLAST_CUDA_INCLUDE BALLAST_CUDART_LIBRARY BALLAST_CUBLAS_LIBRARY
                   BALLAST_NCCL_INCLUDE BALLAST_NCCL_LIBRARY)
endfunction()

# ballast_library(NAME INCLUDE LIBRARY...): an imported target that is nowhere exported.
function(ballast_library name include)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} SYSTEM INTERFACE "${include}")
  target_link_libraries(${name} INTERFACE ${ARGN})
endfunction()

# ballast_settle(OPTION FOUND WHY): OPTION_FOUND, and an error where it is wanted and not found.
function(ballast_settle option found why)
  if("${${option}}" STREQUAL "ON" AND NOT found)
    message(FATAL_ERROR "${option}=ON, but ${why}")
  endif()
  set(${option}_FOUND ${found} PARENT_SCOPE)
endfunction()

set(found OFF)
if(NOT BALLAST_KERNELS STREQUAL "OFF")
  include(CheckLanguage)
  ballast_prefer_companion()
  check_language(CXX)
  if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    set(CMAKE_CXX_STANDARD 17)
    set(CMAKE_CXX_STANDARD_REQUIRED ON)
    set(CMAKE_CXX_EXTENSIONS OFF)
    set(CMAKE_CXX_VISIBILITY_PRESET hidden)
    if("cxx_std_17" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
      set(found ON)
    endif()
  endif()
endif()
ballast_settle(BALLAST_KERNELS ${found} "no C++17 compiler was found: install g++, or set CXX")

# Sanitizers do not look into what nvcc compiles: there AUTO leaves it out.
set(found OFF)
if(BALLAST_KERNELS_FOUND AND (BALLAST_CUDA STREQUAL "ON" OR
   (BALLAST_CUDA STREQUAL "AUTO" AND NOT BALLAST_SANITIZE AND NOT BALLAST_FUZZ)))
  ballast_find_cuda()
  if(BALLAST_NVCC_VERSION VERSION_GREATER_EQUAL 12.0 AND BALLAST_CUDA_INCLUDE AND
     BALLAST_CUDART_LIBRARY)
    set(found ON)
    ballast_library(Ballast::CUDART "${BALLAST_CUDA_INCLUDE}"
                    "${BALLAST_CUDART_LIBRARY}" Threads::Threads ${CMAKE_DL_LIBS} rt)
  endif()
endif()
ballast_settle(BALLAST_CUDA ${found} "nvcc 12.0 or newer with cuda_runtime.h and libcudart_static \
was not found: put nvcc on PATH or set CUDA_HOME, and leave BALLAST_KERNELS on")

set(found OFF)
if(BALLAST_CUDA_FOUND AND NOT BALLAST_NCCL STREQUAL "OFF" AND
   BALLAST_NCCL_INCLUDE AND BALLAST_NCCL_LIBRARY)
  set(found ON)
  ballast_library(Ballast::NCCL "${BALLAST_NCCL_INCLUDE}" "${BALLAST_NCCL_LIBRARY}" Ballast::CUDART)
endif()
ballast_settle(BALLAST_NCCL ${found} "nccl.h or libnccl was not found: install libnccl-dev, and \
leave BALLAST_CUDA on")

set(BALLAST_CUBLAS_FOUND OFF)
if(BALLAST_CUDA_FOUND AND BALLAST_CUBLAS_LIBRARY AND EXISTS "${BALLAST_CUDA_INCLUDE}/cublas_v2.h")
  set(BALLAST_CUBLAS_FOUND ON)
  ballast_library(Ballast::CUBLAS "${BALLAST_CUDA_INCLUDE}" "${BALLAST_CUBLAS_LIBRARY}"
                  Ballast::CUDART)
endif()
unset(found)
