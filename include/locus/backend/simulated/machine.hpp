// SPDX-License-Identifier: Apache-2.0
// The machine of simulated GPUs: kernels of the host on late queues, with protected memory.
#pragma once
#include <cstring>  // memcpy
#include <utility>  // move, exchange

#include <locus/backend/simulated/cards.hpp>        // cards, gpus
#include <locus/backend/simulated/user_stream.hpp>  // guest_queue
#include <locus/core/error.hpp>                     // out_of_memory
#include <locus/core/macros.hpp>                    // LOCUS_SHARED_STATE
#include <locus/machine/machine_functions.hpp>      // functions_of
#include <locus/runtime/host_memory.hpp>            // host_memory

namespace locus {

namespace simulated {
/// Host memory that a copy keeps until its task has run or is dropped.
class staged_bytes {
 public:
  explicit staged_bytes(std::size_t bytes)
      : at_(runtime::host_memory.allocate(bytes)), bytes_(bytes) {
    if (!at_) throw out_of_memory("locus: no memory on the host to stage a copy");
  }
  staged_bytes(staged_bytes&& o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
  ~staged_bytes() {
    if (at_) runtime::host_memory.release(at_, bytes_);
  }
  void* at() const { return at_; }

 private:
  void* at_;
  std::size_t bytes_;
};
}  // namespace simulated

namespace simulated {
/// The functions of machine_functions, over the queues and arenas of the simulated cards.
struct functions {
  static cards& m() { return gpus(); }

  static void* obtain(logical_device& d, std::size_t bytes) { return m().obtain(d, bytes); }
  static void give_back(logical_device& d, void* p, std::size_t bytes) {
    m().give_back(d, p, bytes);
  }
  static void retire(logical_device& d, void* p, std::size_t bytes) { m().retire(d, p, bytes); }
  static void finish(logical_device&) { m().run_everything(); }
  static stamp mark(logical_device& d, queue_kind kind) { return m().last(queue_of(d, kind)); }
  static void wait(logical_device& d, queue_kind kind, stamp s) { m().wait(queue_of(d, kind), s); }
  static void synchronize(stamp s) { m().synchronize(s); }

  static bool reaches(logical_device& to, logical_device& from) { return m().reaches(to, from); }
  static stamp copy(copy_job const& job) {
    short const q = queue_of(*job.carrier, job.queue);
    touched const operands[] = {{job.target, job.bytes, true}, {job.source, job.bytes, false}};
    void* const target = job.target;
    auto* const source = const_cast<void*>(job.source);
    std::size_t const bytes = job.bytes;
    if (job.from->is_host() && !job.pinned) {  // staged: the source may change after the return
      m().check_host(source, bytes, false, job.record);
      staged_bytes staged(bytes);
      std::memcpy(staged.at(), source, bytes);
      m().issue(q, job.record, operands, 1, [target, staged = std::move(staged), bytes] {
        std::memcpy(m().behind(target), staged.at(), bytes);
      });
    } else {
      m().issue(q, job.record, operands, 2, [target, source, bytes] {
        std::memcpy(m().behind(target), m().behind(source), bytes);
      });
    }
    return m().last(q);
  }
  /// means: issues the kernel with the addresses of the second mapping; it runs when a wait needs
  ///        it
  static void run(launch_site const& site, erased_work const& work) {
    held_work mine(work);
    work.for_each_pointer(
        mine.work(),
        [](void* on, void*& p) { p = m().behind_on(*static_cast<logical_device*>(on), p); },
        site.on);
    m().issue(queue_of(*site.on, queue_kind::compute), site.record, site.operands,
              site.operand_count, std::move(mine));
  }

  static void open(logical_device& d) { m().open(d); }
  static void close() noexcept {
    try {
      m().run_everything();
    } catch (...) {}  // no thread is left that could get an error of a kernel
  }
  static void close_queues(logical_device&) {}

  static bool is_memory_of(logical_device const& d, void const* p) {
    return m().device_of(p) == d.name;
  }
  static void check_host(void const* p, std::size_t bytes, bool writes, step_record const& record) {
    m().check_host(p, bytes, writes, record);
  }
  static bool find_other_owner(logical_device const& d, void const* p, device& owner) {
    owner = m().device_of(p);
    return !m().same_card(owner, d);
  }

  /// means: runs all work; at exit, none: work that has not run never runs
  static void finish_traced(bool at_exit) {
    if (!at_exit) m().run_everything();
  }
  /// means: tasks that are issued until end_span belong to this span; the mark is the span around
  ///        it
  static void* begin_span(logical_device&, queue_kind, runtime::trace_span const& span) {
    return const_cast<runtime::trace_span*>(std::exchange(runtime::issued_as, &span));
  }
  static void end_span(logical_device&, queue_kind, runtime::trace_span const&, void* around) {
    runtime::issued_as = static_cast<runtime::trace_span const*>(around);
  }

  static void follow_stream(runtime::gpu_set const& all, void* stream) {
    stamp const now = m().last(guest_queue(stream));
    for (int i = 0; i < all.count; ++i)
      for (queue_kind const kind : {queue_kind::compute, queue_kind::copy})
        m().wait(queue_of(*all.devices[i], kind), now);
  }
  static void lead_stream(runtime::gpu_set const& all, void* stream) {
    short const q = guest_queue(stream);
    for (int i = 0; i < all.count; ++i)
      m().wait(q, m().last(queue_of(*all.devices[i], queue_kind::compute)));
  }
  static void await_stream(void* stream) { m().synchronize(m().last(guest_queue(stream))); }
  static void lend(logical_device& d, void* stream) { m().lend(d, guest_queue(stream)); }
  static void take_back(logical_device& d) { m().take_back(d); }
};
}  // namespace simulated

LOCUS_SHARED_STATE inline constexpr machine_functions simulated_machine =
    functions_of<simulated::functions>();

}  // namespace locus
