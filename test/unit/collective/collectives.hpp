// SPDX-License-Identifier: Apache-2.0
// What tests of collectives set, and take back at the end of their scope.
#pragma once
#include <string>

#include <locus/backend/cuda/streams.hpp>  // cuda_queue_of
#include <locus/locus.hpp>

namespace collectives {

struct deadline {
  explicit deadline(double seconds) { locus::config::set_collective_timeout(seconds); }
  deadline(deadline const&) = delete;
  ~deadline() { locus::runtime::collectives.deadlines = {}; }
};
/// sums over replicas in that order
struct order_scope {
  explicit order_scope(locus::reduction_order order) { locus::config::set_reduction_order(order); }
  order_scope(order_scope const&) = delete;
  ~order_scope() { locus::config::set_reduction_order(locus::reduction_order::fast); }
};
/// of a recorded card
inline void* stream_of(int gpu_number, locus::queue_kind kind) {
  namespace runtime = locus::runtime;
  return runtime::cuda_queue_of(runtime::find_device(locus::gpu(gpu_number)), kind).stream;
}
inline bool has(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace collectives
