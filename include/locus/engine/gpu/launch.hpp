// SPDX-License-Identifier: Apache-2.0
// The launch of a body on the compute stream of a device, and workspace for kernels.
#pragma once
#include <locus/backend/cuda/streams.hpp>  // cuda_queue_of, check_cuda
#include <locus/core/macros.hpp>           // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/block.hpp>      // launch_of
#include <locus/machine/launch_site.hpp>   // launch_site
#include <locus/memory/allocate.hpp>       // allocate, release

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

/// enough blocks to fill any card; a body with a loop strides over the rest
inline constexpr std::int64_t most_blocks = 4096;

inline unsigned blocks_for(std::int64_t threads) {
  std::int64_t const blocks = (threads + block_threads - 1) / block_threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most_blocks ? blocks : most_blocks);
}

/// blocks for `jobs`, `each` of them to a block; for bodies without a loop
inline unsigned blocks_of(std::int64_t jobs, std::int64_t each) {
  std::int64_t const blocks = (jobs + each - 1) / each;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks);
}

/// means: the name of a body, without its namespace and template arguments
template <class Body>
consteval std::string_view name_of_body() {
  std::string_view name =
      __PRETTY_FUNCTION__;  // ... [with Body = locus::cuda_side::line_map<...>; ...
  name.remove_prefix(name.rfind("Body"));
  name.remove_prefix(name.find('=') + 1);
  if (name.front() == ' ') name.remove_prefix(1);
  name = name.substr(0, name.find_first_of("<;]"));
  return name.substr(name.rfind(':') + 1);
}

/// the threads of a block: 256, if the body does not state `static constexpr unsigned threads`
template <class Body>
consteval unsigned threads_of_body() {
  if constexpr (requires { Body::threads; })
    return Body::threads;
  else
    return block_threads;
}

template <class Body>
void start(launch_site const& site, Body const& body, unsigned blocks) {
  if (site.only_measures(name_of_body<Body>())) return;
  runtime::require_card(*site.on);
  runtime::current_card const scope(*site.on);
  runtime::cuda_queue& queue = runtime::cuda_queue_of(*site.on, queue_kind::compute);
  queue.note(site);
  int const code =
      runtime::gpu_api->launch(launch_of(body, blocks, threads_of_body<Body>(), queue.stream));
  runtime::check_cuda(code, "launching a kernel", site.on->name);
}

/// means: workspace of a kernel on the compute stream, from the memory that the plan has allocated
///        before its first step, else from the device's pool; null for 0 bytes, and while it is
///        measured
/// fails: out_of_memory, if it comes from the pool
class workspace {
 public:
  workspace(launch_site const& site, std::int64_t bytes) : site_(site), bytes_(round_up(bytes)) {
    if (bytes == 0) return;
    if (kernel_workspace* const w = site.workspace) {
      std::int64_t const end = w->used + bytes_;
      if (w->measuring || end <= w->bytes) {
        data_ = w->measuring ? nullptr : w->base + w->used;
        w->used = end, taken_ = true;
        if (end > w->most) w->most = end;
        return;
      }
    }
    data_ = runtime::allocate(*site.on, bytes_, purpose);
  }
  workspace(workspace const&) = delete;
  ~workspace() {
    if (taken_)
      site_.workspace->used -= bytes_;
    else
      runtime::release(*site_.on, data_, bytes_, purpose);
  }
  void* data() const { return data_; }

 private:
  static constexpr std::string_view purpose = "the workspace of a kernel";
  launch_site const& site_;
  std::int64_t bytes_;
  void* data_ = nullptr;
  bool taken_ = false;
};

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END
