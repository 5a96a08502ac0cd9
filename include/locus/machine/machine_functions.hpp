// SPDX-License-Identifier: Apache-2.0
// The interface between plans and machines: one table of functions for each machine (host,
// simulated GPUs, CUDA). A new machine is a new table that passes test/laws/backend_laws_test.cpp.
#pragma once
#include <locus/core/hooks.hpp>           // gpus_of_program
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE
#include <locus/machine/erased_work.hpp>  // erased_work
#include <locus/machine/launch_site.hpp>  // launch_site, copy_job
#include <locus/watch/trace.hpp>          // trace_span

namespace locus {

namespace runtime {
/// A set of GPUs without repetition; hosts are not added.
struct gpu_set {
  logical_device* devices[2 * max_devices];  // `count` of them are set
  int count = 0;
  void add(logical_device& d) {
    if (d.is_host() || count == 2 * max_devices) return;
    for (int i = 0; i < count; ++i)
      if (devices[i] == &d) return;
    devices[count++] = &d;
  }
};
}  // namespace runtime

/// The functions of a machine for its devices. The host's table leaves the functions under headings
/// that name GPUs, the trace or streams null.
struct machine_functions {
  // ---- memory ----
  void* (*obtain)(logical_device&, std::size_t);           // a region; null: no more memory
  void (*give_back)(logical_device&, void*, std::size_t);  // a region without used blocks
  /// announces a free block: later work of the compute queue may use it again
  void (*retire)(logical_device&, void*, std::size_t);

  // ---- order ----
  void (*finish)(logical_device&);             // waits until all queues of the device are empty
  stamp (*mark)(logical_device&, queue_kind);  // the point behind all work that the queue has now
  void (*wait)(logical_device&, queue_kind, stamp);  // the queue's next work runs after that point
  void (*synchronize)(stamp);                        // the host waits for that point

  // ---- copies and kernels ----
  /// true: a copy between these devices needs no memory of the host
  bool (*reaches)(logical_device& to, logical_device& from);
  /// unless job.pinned is set, the program may change a source in host memory when copy returns
  stamp (*copy)(copy_job const&);
  void (*run)(launch_site const&, erased_work const&);  // in the order of the compute queue

  // ---- GPUs of the device table ----
  void (*open)(logical_device&) = nullptr;          // prepares a device of a new table
  void (*close)() noexcept = nullptr;               // waits for all work, before the devices end
  void (*close_queues)(logical_device&) = nullptr;  // then ends the queues of one device

  // ---- checks, of GPUs ----
  bool (*is_memory_of)(logical_device const&, void const* p) = nullptr;
  void (*check_host)(void const* p, std::size_t bytes, bool writes,
                     step_record const& record) = nullptr;
  /// true: p lies on another card than d (or one of them is the host); `owner` is then the device
  /// of p
  bool (*find_other_owner)(logical_device const& d, void const* p, device& owner) = nullptr;

  // ---- the trace ----
  void (*finish_traced)(bool at_exit) = nullptr;  // completes the spans of work that was issued
  /// work that is issued to that queue until end_span belongs to this span; returns the `mark` for
  /// end_span
  void* (*begin_span)(logical_device&, queue_kind, runtime::trace_span const&) = nullptr;
  void (*end_span)(logical_device&, queue_kind, runtime::trace_span const&, void* mark) = nullptr;

  // ---- streams of the user, beside GPUs ----
  /// later work of the GPUs comes after the work that the stream has now
  void (*follow_stream)(runtime::gpu_set const&, void* stream) = nullptr;
  /// later work of the stream comes after the work that the GPUs have now
  void (*lead_stream)(runtime::gpu_set const&, void* stream) = nullptr;
  void (*await_stream)(void* stream) = nullptr;           // the host waits for the stream
  void (*lend)(logical_device&, void* stream) = nullptr;  // the stream replaces the compute queue
  void (*take_back)(logical_device&) = nullptr;
};

/// means: the table whose functions are the static members of F
template <class F>
constexpr machine_functions functions_of() {
  static_assert(
      requires {
        F::obtain, F::give_back, F::retire, F::finish, F::mark, F::wait, F::synchronize, F::reaches,
            F::copy, F::run, F::open, F::close, F::close_queues, F::is_memory_of, F::check_host,
            F::find_other_owner, F::finish_traced, F::begin_span, F::end_span, F::follow_stream,
            F::lead_stream, F::await_stream, F::lend, F::take_back;
      }, "locus: a machine lacks a function; give all of machine_functions as static members");
  return {.obtain = F::obtain,
          .give_back = F::give_back,
          .retire = F::retire,
          .finish = F::finish,
          .mark = F::mark,
          .wait = F::wait,
          .synchronize = F::synchronize,
          .reaches = F::reaches,
          .copy = F::copy,
          .run = F::run,
          .open = F::open,
          .close = F::close,
          .close_queues = F::close_queues,
          .is_memory_of = F::is_memory_of,
          .check_host = F::check_host,
          .find_other_owner = F::find_other_owner,
          .finish_traced = F::finish_traced,
          .begin_span = F::begin_span,
          .end_span = F::end_span,
          .follow_stream = F::follow_stream,
          .lead_stream = F::lead_stream,
          .await_stream = F::await_stream,
          .lend = F::lend,
          .take_back = F::take_back};
}

/// Functions that only programs with GPU policies compile.
struct gpu_part {
  void (*build)();   // makes the GPUs of the table; table.lock is held
  void (*forget)();  // drops cached facts about cards
  // copies from and to GPUs; through the host between cards without peer access
  stamp (*copy)(copy_job const& job);
  void (*foresee_copy)(logical_device& to, logical_device& from);
};

}  // namespace locus
