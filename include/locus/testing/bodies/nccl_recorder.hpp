// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/nccl_recorder.hpp declares.
#pragma once
#include <unistd.h>  // usleep

#include <locus/core/macros.hpp>            // LOCUS_FUNCTION
#include <locus/testing/nccl_recorder.hpp>  // the declarations

namespace locus::testing {

// a call that must not be made while a group is in flight
#define LOCUS_GUARDED(function) \
  watched().function = [](auto... with) { return guarded(), inner()->function(with...); }

LOCUS_FUNCTION nccl_recorder::nccl_recorder(nccl_mischief const& mischief)
    : before_(runtime::nccl), cuda_(runtime::gpu_api) {
  state().reset();
  state().mischief = mischief;
  inner() = cuda_, wrong() = 0;
  watched() = *cuda_;
  LOCUS_GUARDED(malloc_device);
  LOCUS_GUARDED(free_device);
  LOCUS_GUARDED(malloc_host);
  LOCUS_GUARDED(free_host);
  LOCUS_GUARDED(enable_peer);
  LOCUS_GUARDED(blas_create);
  LOCUS_GUARDED(blas_destroy);
  watched().stream_synchronize = [](void* s) {
    return guarded(), wait_while_stuck(), inner()->stream_synchronize(s);
  };
  watched().event_synchronize = [](void* e) {
    guarded();
    if (is_late(e)) wait_while_stuck();
    return inner()->event_synchronize(e);
  };
  watched().event_record = [](void* e, void* s) { return note(e), inner()->event_record(e, s); };
  watched().event_query = [](void* e, bool* reached) {
    if (is_late(e) && state().is_stuck()) return *reached = false, 0;
    return inner()->event_query(e, reached);
  };
  runtime::gpu_api = &watched();
  runtime::nccl = &table;
}
#undef LOCUS_GUARDED

LOCUS_FUNCTION nccl_recorder::~nccl_recorder() {
  state().mischief = {};
  if (runtime::forget_communicators) runtime::forget_communicators();
  runtime::nccl = before_;
  runtime::gpu_api = cuda_;
}

LOCUS_FUNCTION void nccl_recorder::fail_at(int n, int code) {
  state().mischief.fail_at = n < 0 ? -1 : state().calls + n;
  state().mischief.fail_with = code;
}

LOCUS_FUNCTION runtime::cuda_api const*& nccl_recorder::inner() {
  static runtime::cuda_api const* api = nullptr;
  return api;
}

LOCUS_FUNCTION runtime::cuda_api& nccl_recorder::watched() {
  static runtime::cuda_api api{};
  return api;
}

LOCUS_FUNCTION std::atomic<int>& nccl_recorder::wrong() {
  static std::atomic<int> n = 0;
  return n;
}

LOCUS_FUNCTION void nccl_recorder::wait_while_stuck() {
  for (int i = 0; state().is_stuck(); usleep(1000))
    if (++i == 20000) {
      ++wrong();
      return;
    }
}

LOCUS_FUNCTION nccl_recorder::late_events& nccl_recorder::late() {
  static late_events events;
  return events;
}

LOCUS_FUNCTION void nccl_recorder::note(void* e) {
  bool const stuck = state().is_stuck();
  lock_guard hold(late().lock);
  if (stuck)
    late().all.insert(e);
  else
    late().all.erase(e);
}

LOCUS_FUNCTION bool nccl_recorder::is_late(void* e) {
  lock_guard hold(late().lock);
  return late().all.contains(e);
}

}  // namespace locus::testing
