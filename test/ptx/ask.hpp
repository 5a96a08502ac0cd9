// SPDX-License-Identifier: Apache-2.0
// Questions of a test to the machine that stands in for the CUDA runtime.
#pragma once
#include <dlfcn.h>

#include <cstdint>

/// means: the number that the machine's function of that name returns; -1: another CUDA runtime is in use
inline std::int64_t ptx_figure(char const* name) {
  auto* const f = reinterpret_cast<std::uint64_t (*)()>(dlsym(RTLD_DEFAULT, name));
  return f ? static_cast<std::int64_t>(f()) : -1;
}
/// after a kernel failed on purpose: the card is as new
inline void ptx_forget() { reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "ptx_forget"))(); }
