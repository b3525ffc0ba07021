# The library may choose its vector code by the processor it runs on (x86 distribution builds do);
# otherwise it is what the compiler's baseline allows.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_symbol_exists(XXH3_64bits_dispatch "xxh_x86dispatch.h" BALLAST_XXHASH_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)
if(BALLAST_XXHASH_DISPATCH)
  target_compile_definitions(PkgConfig::XXHASH INTERFACE BALLAST_XXHASH_DISPATCH)
endif()
