// SPDX-License-Identifier: Apache-2.0
// Memory of a kernel of the host during its run.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>        // out_of_memory
#include <locus/engine/host/gemm.hpp>  // scratch

namespace locus::host {

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_workspace(std::int64_t bytes, char const* owner) {
  message text;
  throw out_of_memory(text << "locus: no " << bytes << " bytes of host memory for the workspace of "
                           << owner);
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// means: memory for numbers of T, without values; owner: the kernel and the remedy, for the error
/// fails: out_of_memory, if the system has no more memory
template <class T>
class workspace {
 public:
  workspace(std::int64_t numbers, char const* owner)
      : memory_(std::int64_t(sizeof(T)) * (numbers + 1)) {
    if (!memory_.data()) refuse_workspace(std::int64_t(sizeof(T)) * (numbers + 1), owner);
  }
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  scratch memory_;
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
