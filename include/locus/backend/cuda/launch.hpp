// SPDX-License-Identifier: Apache-2.0
// Starting a body on the compute stream of a device, and memory that a kernel needs besides its
// operands.
#pragma once
#include <locus/backend/cuda/block.hpp>    // launch_of
#include <locus/backend/cuda/streams.hpp>  // cuda_queue_of, check_cuda
#include <locus/backend/seam.hpp>          // launch_site

namespace locus::cuda {
inline namespace LOCUS_MODE {

inline constexpr unsigned block_threads = 256;
/// enough blocks to fill any card; a body's loops stride over what is left
inline constexpr std::int64_t most_blocks = 4096;

inline unsigned blocks_for(std::int64_t threads) {
  std::int64_t const blocks = (threads + block_threads - 1) / block_threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most_blocks ? blocks : most_blocks);
}

template <class Body>
void start(launch_site const& site, Body body, unsigned blocks) {
  runtime::current_card const scope(*site.on);
  void* const stream = runtime::cuda_queue_of(*site.on, queue_kind::compute).stream;
  int const code = runtime::gpu_api->launch(launch_of(body, blocks, block_threads, stream));
  runtime::check_cuda(code, "launching a kernel", site.on->name);
}

/// means: workspace in the order of the compute stream; null for no bytes
class workspace {
 public:
  workspace(logical_device& d, std::int64_t bytes) : on_(d) {
    if (bytes == 0) return;
    data_ = runtime::cuda_allocate(d, static_cast<std::size_t>(bytes));
    if (!data_) {
      message text;
      throw out_of_memory(text << "locus: no memory on " << d.name
                               << " for the workspace of a kernel: requested " << bytes
                               << " bytes; free tensors");
    }
  }
  workspace(workspace const&) = delete;
  ~workspace() {
    if (data_) runtime::cuda_release(on_, data_);
  }
  void* data() const { return data_; }

 private:
  logical_device& on_;
  void* data_ = nullptr;
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda
