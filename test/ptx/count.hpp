// SPDX-License-Identifier: Apache-2.0
// Counts of launches, for tests of kernels: counts/figures.hpp says what is counted.
#pragma once
#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace ptx_counts {

/// fails: std::runtime_error, where another CUDA runtime is in use
template <class F>
F* function_of(char const* name) {
  auto* const f = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  if (!f)
    throw std::runtime_error(std::string(name) +
                             ": not the PTX machine: LD_LIBRARY_PATH=BUILD/test/ptx");
  return f;
}

/// means: from now on only what is measured is counted; PTX_COUNTS counts all
inline void only_measured() { function_of<void(int)>("ptx_counts_on")(0); }
/// means: runs f and counts its launches and copies, until the device is done, under a label
template <class F>
void measure(char const* label, F&& f) {
  function_of<void(char const*)>("ptx_counts_label")(label);
  function_of<void(int)>("ptx_counts_on")(1);
  f();
  only_measured();
}
/// means: the figure of that name, summed over what was measured under the label (empty: all)
/// fails: std::invalid_argument: no figure has that name
inline double figure(char const* label, char const* name) {
  double const v = function_of<double(char const*, char const*)>("ptx_counts")(label, name);
  if (v < 0) throw std::invalid_argument(std::string(name) + " is no figure: counts/figures.hpp");
  return v;
}
/// means: "kernel x 2, another x 1": what ran under the label, in the order of first launches
inline std::string kernels(char const* label) {
  return function_of<char const*(char const*)>("ptx_counts_kernels")(label);
}
/// means: nothing was measured yet
inline void forget() { function_of<void()>("ptx_counts_forget")(); }

}  // namespace ptx_counts
