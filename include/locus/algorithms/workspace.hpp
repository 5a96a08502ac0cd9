// SPDX-License-Identifier: Apache-2.0
// Memory of an algorithm of the host during its run.
#pragma once
#include <locus/engine/host/workspace.hpp>  // host::workspace

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

/// means: memory for numbers of T, without values
/// fails: out_of_memory, if the system has no more memory
template <class T>
struct workspace : locus::host::workspace<T> {
  explicit workspace(std::int64_t numbers)
      : locus::host::workspace<T>(numbers, "an algorithm; give it parts of the data") {}
};

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
