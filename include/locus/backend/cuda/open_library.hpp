// SPDX-License-Identifier: Apache-2.0
// Libraries of NVIDIA: where the loader finds them, or beside Python's packages (nvidia-cublas, nvidia-nccl),
// which are on nobody's path.
#pragma once
#include <dlfcn.h>           // dlopen, dlsym
#include <glob.h>            // glob
#include <initializer_list>  // for a list of names

#include <locus/core/config.hpp>       // LOCUS_COLD_BEGIN
#include <locus/core/environment.hpp>  // from_environment
#include <locus/core/text.hpp>         // text_buffer

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

namespace detail {
/// the first file of that name below root/lib/python*/site-packages/nvidia/*/lib that can be opened
inline void* open_beside_python(std::string_view root, std::string_view name) {
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
}  // namespace detail

/// means: the first of these libraries that is there, which stays open: found by the loader, else among the
///        packages of the virtual environment, of conda, of the user, of the system; null: none
/// after: dlopen(3)
[[gnu::cold]] inline void* open_library(std::initializer_list<char const*> names) {
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

/// means: to = the library's function of that name, null where the library has none; gives whether it is there
/// after: dlsym(3)
template <class Function>
bool take_function(void* library, Function*& to, char const* name) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace locus::cuda_side

LOCUS_COLD_END
