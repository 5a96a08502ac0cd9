// SPDX-License-Identifier: Apache-2.0
// NCCL among the cards of a recorder: calls counted, the n-th failing, a communicator or a group or
// an operation that never ends, and what must not happen while a group is in flight.
#pragma once
#include <atomic>    // atomic
#include <set>       // set
#include <unistd.h>  // usleep
#include <utility>   // move

#include <locus/backend/seam.hpp>                 // touched
#include <locus/backend/simulated/fake_nccl.hpp>  // fake_nccl
#include <locus/testing/recorder.hpp>             // recorder

namespace locus::testing {

using simulated::nccl_call;
using simulated::nccl_mischief;

namespace detail {
/// the streams of a recorder
struct nccl_recorder_engine {
  static int current() { return recorder::now().current_card(); }
  static int card_of_stream(void* s) { return recorder::now().card_of_stream(s); }
  static int card_of(void const* p) { return recorder::now().card_of_memory(p); }
  static void* reach(void*, void* p) { return p; }
  template <class Work>
  static void enqueue(void* s, touched const&, Work work) {
    recorder::now().enqueue(s, std::move(work));
  }
  static void join(void* const* streams, int n) { recorder::now().join(streams, n); }
};
}  // namespace detail

/// means: while it lives, NCCL carries collectives among recorded cards; make it after the recorder
class nccl_recorder {
 public:
  using fake = simulated::fake_nccl<detail::nccl_recorder_engine>;

  explicit nccl_recorder(nccl_mischief const& mischief = {})
      : before_(runtime::nccl), cuda_(runtime::gpu_api) {
    state().reset();
    state().mischief = mischief;
    inner() = cuda_, wrong() = 0;
    watched() = *cuda_;
    watched().malloc_device = [](void** p, std::size_t n) {
      return guarded(), inner()->malloc_device(p, n);
    };
    watched().free_device = [](void* p) { return guarded(), inner()->free_device(p); };
    watched().malloc_host = [](void** p, std::size_t n) {
      return guarded(), inner()->malloc_host(p, n);
    };
    watched().free_host = [](void* p) { return guarded(), inner()->free_host(p); };
    watched().enable_peer = [](int peer) { return guarded(), inner()->enable_peer(peer); };
    watched().blas_create = [](void** handle) { return guarded(), inner()->blas_create(handle); };
    watched().blas_destroy = [](void* handle) { guarded(), inner()->blas_destroy(handle); };
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
  nccl_recorder(nccl_recorder const&) = delete;
  ~nccl_recorder() {
    state().mischief = {};
    if (runtime::forget_communicators) runtime::forget_communicators();
    runtime::nccl = before_;
    runtime::gpu_api = cuda_;
  }
  static fake& state() { return fake::instance(); }
  int calls() const { return state().calls; }
  int groups() const { return state().groups; }
  int open_communicators() const {
    return __atomic_load_n(&state().open_communicators, __ATOMIC_RELAXED);
  }
  int count(nccl_call what) const { return state().operations[static_cast<int>(what)]; }
  /// allocations and waits while a group was in flight, and waits for what nobody ended for 20 s
  int forbidden() const { return wrong(); }
  void fail_at(int n, int code = runtime::nccl_cuda_error) {
    state().mischief.fail_at = n < 0 ? -1 : state().calls + n;
    state().mischief.fail_with = code;
  }

  /// NCCL goes back to the card that was current when it was called, which makes a context there
  static constexpr runtime::nccl_api table = [] {
    runtime::nccl_api t = fake::table();
    t.group_end = [] { return recorder::now().make_context(), fake::table().group_end(); };
    t.abort = [](void* c) { return recorder::now().make_context(), fake::table().abort(c); };
    t.destroy = [](void* c) { return recorder::now().make_context(), fake::table().destroy(c); };
    return t;
  }();

 private:
  static runtime::cuda_api const*& inner() {
    static runtime::cuda_api const* api = nullptr;
    return api;
  }
  static runtime::cuda_api& watched() {
    static runtime::cuda_api api{};
    return api;
  }
  static std::atomic<int>& wrong() {
    static std::atomic<int> n = 0;
    return n;
  }
  static void guarded() { wrong() += state().in_flight(); }
  /// as a card: until somebody ends the communicators
  static void wait_while_stuck() {
    for (int i = 0; state().is_stuck(); usleep(1000))
      if (++i == 20000) {
        ++wrong();
        return;
      }
  }
  /// events that were recorded behind what never ends
  struct late_events {
    mutex lock;
    std::set<void*> all;
  };
  static late_events& late() {
    static late_events events;
    return events;
  }
  static void note(void* e) {
    bool const stuck = state().is_stuck();
    lock_guard hold(late().lock);
    if (stuck)
      late().all.insert(e);
    else
      late().all.erase(e);
  }
  static bool is_late(void* e) {
    lock_guard hold(late().lock);
    return late().all.contains(e);
  }
  runtime::nccl_api const* before_;
  runtime::cuda_api const* cuda_;
};

}  // namespace locus::testing
