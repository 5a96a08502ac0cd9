// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/open_library.hpp declares.
#pragma once
#include <glob.h>  // glob

#include <locus/backend/cuda/open_library.hpp>  // the declarations
#include <locus/core/environment.hpp>           // from_environment
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/text.hpp>                  // text_buffer

LOCUS_COLD_BEGIN

namespace locus::cuda_side::detail {

LOCUS_FUNCTION void* open_beside_python(std::string_view root, std::string_view name) {
  void* handle = nullptr;
  if (root.empty()) return handle;
  text_buffer<1024> pattern;
  pattern << root << "/lib/python3*/*-packages/nvidia/*/lib/" << name;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc && !handle; ++i)
      handle = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  ::globfree(&found);
  return handle;
}

}  // namespace locus::cuda_side::detail

namespace locus::cuda_side {

LOCUS_FUNCTION void* open_library(std::initializer_list<char const*> names) {
  for (char const* name : names)
    if (void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  for (char const* name : names) {
    for (char const* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
      if (char const* const root = from_environment(variable))
        if (void* const handle = detail::open_beside_python(root, name)) return handle;
    if (char const* const home = from_environment("HOME")) {
      text_buffer<512> local;
      local << std::string_view(home) << "/.local";
      if (void* const handle = detail::open_beside_python(local.view(), name)) return handle;
    }
    for (char const* root : {"/usr/local", "/usr"})
      if (void* const handle = detail::open_beside_python(root, name)) return handle;
  }
  return nullptr;
}

}  // namespace locus::cuda_side

LOCUS_COLD_END
