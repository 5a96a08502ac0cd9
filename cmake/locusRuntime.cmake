# SPDX-License-Identifier: Apache-2.0
# The target locus::runtime: locus::locus, with functions that are equal in all units compiled once in the project
# that links with it, by its compiler and its build type. Options of one target of that project do not reach it:
#   target_compile_options(locus_runtime PRIVATE -march=native)
# Data, strategies and layers read .gz: their part needs zlib, and is left out where there is none.
function(locus_add_runtime include)
  if(TARGET locus_runtime OR NOT CMAKE_CXX_COMPILER_LOADED)
    return()
  endif()
  add_library(locus_runtime STATIC EXCLUDE_FROM_ALL ${include}/locus/implementation.cpp)
  add_library(locus::runtime ALIAS locus_runtime)
  set_target_properties(locus_runtime PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_compile_definitions(locus_runtime PUBLIC LOCUS_COMPILED)
  target_compile_options(locus_runtime PRIVATE $<$<CONFIG:>:-O2>)
  target_link_libraries(locus_runtime PUBLIC locus::locus)
  find_package(ZLIB QUIET)
  if(ZLIB_FOUND)
    target_sources(locus_runtime PRIVATE ${include}/locus/nn/implementation.cpp)
    target_link_libraries(locus_runtime PUBLIC ZLIB::ZLIB)
  else()
    message(STATUS "locus::runtime has no data, strategies and layers: there is no zlib")
  endif()
endfunction()
