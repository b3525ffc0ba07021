# import.h alone, so that its test needs nothing else of ballastctl. Included by daemon/ctl.
add_library(ballast_import STATIC
  "${CMAKE_CURRENT_LIST_DIR}/import.c"
  "${CMAKE_CURRENT_LIST_DIR}/import_output.c"
  "${CMAKE_CURRENT_LIST_DIR}/import_text.c")
target_include_directories(ballast_import PUBLIC "${PROJECT_SOURCE_DIR}/daemon")
target_link_libraries(ballast_import PUBLIC ballast_base PRIVATE PkgConfig::ZLIB ballast_flags)
