// SPDX-License-Identifier: Apache-2.0
// Questions of a test to the machine that stands in for the CUDA runtime.
#pragma once
#include <dlfcn.h>

#include <cstdint>

namespace ptx_machine {
template <class F>
F* function(char const* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}
}  // namespace ptx_machine

/// means: the number that the machine's function of that name returns; -1: another CUDA runtime is in use
inline std::int64_t ptx_figure(char const* name) {
  auto* const f = ptx_machine::function<std::uint64_t()>(name);
  return f ? static_cast<std::int64_t>(f()) : -1;
}
/// false: real cards (../gpu/main.cpp), where only calls are counted
inline bool on_ptx_machine() { return ptx_machine::function<void()>("ptx_is_real") == nullptr; }
/// after a kernel failed on purpose: the card is as new
inline void ptx_forget() { ptx_machine::function<void()>("ptx_forget")(); }
/// the n-th call of a function from now on returns a code; null: nothing is planned any more
inline void ptx_fail(char const* name, std::uint64_t n, int code) {
  ptx_machine::function<void(char const*, std::uint64_t, int)>("ptx_fail")(name, n, code);
}
/// means: this process has n cards, which it has not asked for yet
inline void ptx_set_cards(int n) { ptx_machine::function<void(int)>("ptx_set_cards")(n); }
/// how often a function of the CUDA runtime was called
inline std::int64_t ptx_calls(char const* name) {
  return static_cast<std::int64_t>(
      ptx_machine::function<std::uint64_t(char const*)>("ptx_calls")(name));
}
