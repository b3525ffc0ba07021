add_executable(ballastd main.c)
target_link_libraries(ballastd PRIVATE ballast_serve ballast_flags)
install(TARGETS ballastd RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
