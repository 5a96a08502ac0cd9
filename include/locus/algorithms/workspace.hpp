// SPDX-License-Identifier: Apache-2.0
// Memory of an algorithm of the host during its run.
#pragma once
#include <locus/core/error.hpp>        // out_of_memory
#include <locus/core/macros.hpp>       // LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/host/gemm.hpp>  // scratch

namespace locus::algorithms::host {

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_workspace(std::int64_t bytes) {
  message text;
  throw out_of_memory(text << "locus: no " << bytes
                           << " bytes of host memory for the workspace of an algorithm; give it "
                              "parts of the data");
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// Memory for numbers of T, without values.
/// fails: out_of_memory, if the system has no more memory
template <class T>
class workspace {
 public:
  explicit workspace(std::int64_t numbers) : memory_(std::int64_t(sizeof(T)) * (numbers + 1)) {
    if (!memory_.data()) refuse_workspace(std::int64_t(sizeof(T)) * (numbers + 1));
  }
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  locus::host::scratch memory_;
};

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
