# GLPK, for policy fixed-solver: no distribution gives it a pkg-config file.
# It is under the GPL, version 3: a binary linked with it may only be passed on under that licence.
set(BALLAST_SOLVER_FOUND OFF)
if(NOT BALLAST_SOLVER STREQUAL "OFF")
  find_path(BALLAST_GLPK_INCLUDE glpk.h)
  find_library(BALLAST_GLPK_LIBRARY glpk)
  mark_as_advanced(BALLAST_GLPK_INCLUDE BALLAST_GLPK_LIBRARY)
  if(BALLAST_GLPK_INCLUDE AND BALLAST_GLPK_LIBRARY)
    set(BALLAST_SOLVER_FOUND ON)
    add_library(Ballast::GLPK INTERFACE IMPORTED)
    set_target_properties(Ballast::GLPK PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${BALLAST_GLPK_INCLUDE}"
      INTERFACE_LINK_LIBRARIES "${BALLAST_GLPK_LIBRARY};m")
  elseif(BALLAST_SOLVER STREQUAL "ON")
    message(FATAL_ERROR "BALLAST_SOLVER=ON, but GLPK was not found: install libglpk-dev")
  endif()
endif()
