// SPDX-License-Identifier: Apache-2.0
// Opens NVIDIA's libraries: where dlopen finds them, or in Python packages (nvidia-cublas,
// nvidia-nccl), whose folders are on no search path.
#pragma once
#include <dlfcn.h>           // dlopen, dlsym
#include <initializer_list>  // initializer_list
#include <string_view>       // string_view

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

namespace detail {
/// means: opens the first file of that name in root/lib/python*/*-packages/nvidia/*/lib
LOCUS_FUNCTION void* open_beside_python(std::string_view root, std::string_view name);
}  // namespace detail

/// means: opens the first of these libraries that dlopen finds, else the first in the Python
///        packages of the virtual environment, of conda, of the user, of the system; null: none.
///        The library stays open.
/// after: dlopen(3)
[[gnu::cold]] LOCUS_FUNCTION void* open_library(std::initializer_list<char const*> names);

/// means: to = the library's function of that name, or null; returns whether it exists
/// after: dlsym(3)
template <class Function>
bool take_function(void* library, Function*& to, char const* name) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace locus::cuda_side

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/open_library.hpp>  // bodies of the functions above
#endif
