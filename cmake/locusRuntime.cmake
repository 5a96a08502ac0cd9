# SPDX-License-Identifier: Apache-2.0
# The target locus::runtime: locus::locus, with functions that are equal in all units compiled once in the project
# that links with it, by its compiler and its flags. Layers and data read .gz: their part needs zlib.
function(locus_add_runtime include)
  if(TARGET locus_runtime)
    return()
  endif()
  add_library(locus_runtime STATIC EXCLUDE_FROM_ALL ${include}/locus/implementation.cpp)
  add_library(locus::runtime ALIAS locus_runtime)
  target_compile_definitions(locus_runtime PUBLIC LOCUS_COMPILED)
  target_link_libraries(locus_runtime PUBLIC locus::locus)
  find_package(ZLIB QUIET)
  if(ZLIB_FOUND)
    target_sources(locus_runtime PRIVATE ${include}/locus/nn/implementation.cpp)
    target_link_libraries(locus_runtime PUBLIC ZLIB::ZLIB)
  endif()
endfunction()
