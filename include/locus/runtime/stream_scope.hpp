// SPDX-License-Identifier: Apache-2.0
// A stream of the program into which a plan is ordered: on_stream(stream).
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

/// means: the stream (a cudaStream_t) after whose present work a plan begins, and whose later work
///        begins after the plan; null: the default stream of each device of the plan
struct on_stream {
  void* handle = nullptr;
  explicit on_stream(void* stream) : handle(stream) {}
};

namespace runtime {
/// The stream into which this thread orders its plans now.
LOCUS_SHARED_STATE inline thread_local constinit on_stream const* guest = nullptr;

struct guest_scope {
  on_stream const* before;
  explicit guest_scope(on_stream const& s) : before(guest) { guest = &s; }
  guest_scope(guest_scope const&) = delete;
  ~guest_scope() { guest = before; }
};
}  // namespace runtime

}  // namespace locus
