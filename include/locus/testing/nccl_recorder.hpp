// SPDX-License-Identifier: Apache-2.0
// NCCL among the cards of a recorder: it counts calls, lets the n-th fail, lets a communicator, a
// group or an operation never end, and counts forbidden calls while a group is in flight.
#pragma once
#include <atomic>   // atomic
#include <set>      // set
#include <utility>  // move

#include <locus/backend/simulated/fake_nccl.hpp>  // fake_nccl
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/machine/launch_site.hpp>          // touched
#include <locus/testing/recorder.hpp>             // recorder
#include <locus/watch/watch.hpp>                  // watched

namespace locus::testing {

using simulated::nccl_call;
using simulated::nccl_mischief;

namespace detail {
/// the Engine of fake_nccl, over the streams of a recorder
struct nccl_recorder_engine {
  static int current() { return recorder::now().current_card(); }
  static int card_of_stream(void* s) { return recorder::now().card_of_stream(s); }
  static int card_of(void const* p) { return recorder::now().card_of_memory(p); }
  static void* reach(void*, void* p) { return p; }
  template <class Work>
  static void enqueue(void* s, touched const& operand, Work work) {
    recorder::now().enqueue(s, std::move(work), operand);
  }
  static void join(void* const* streams, int n) { recorder::now().join(streams, n); }
  static void finish(void* const* streams, int n) { recorder::now().run_all_of(streams, n); }
};
}  // namespace detail

/// means: during its lifetime, fake NCCL carries collectives among recorded cards
/// after: construct it after the recorder
class nccl_recorder {
 public:
  using fake = simulated::fake_nccl<detail::nccl_recorder_engine>;

  explicit nccl_recorder(nccl_mischief const& mischief = {});
  nccl_recorder(nccl_recorder const&) = delete;
  ~nccl_recorder();
  static fake& state() { return fake::instance(); }
  int calls() const { return state().calls; }
  int groups() const { return state().groups; }
  int open_communicators() const {
    return __atomic_load_n(&state().open_communicators, __ATOMIC_RELAXED);
  }
  int count(nccl_call what) const { return state().operations[static_cast<int>(what)]; }
  /// the number of forbidden calls: allocations and waits while a group was in flight, and waits of
  /// 20 s for an operation that never ends
  int forbidden() const { return wrong(); }
  void fail_at(int n, int code = runtime::nccl_cuda_error);

  /// NCCL restores the card that was current at the call, which makes a context on it
  static constexpr runtime::nccl_api table = [] {
    runtime::nccl_api t = fake::table();
    t.group_end = [] { return recorder::now().make_context(), fake::table().group_end(); };
    t.abort = [](void* c) { return recorder::now().make_context(), fake::table().abort(c); };
    t.destroy = [](void* c) { return recorder::now().make_context(), fake::table().destroy(c); };
    return t;
  }();

 private:
  static runtime::cuda_api const*& inner();
  static runtime::cuda_api& watched();
  static std::atomic<int>& wrong();
  static void guarded() { wrong() += state().in_flight(); }
  /// means: waits, as a card does, until the communicators end
  static void wait_while_stuck();
  /// events that were recorded behind an operation that never ends
  struct late_events {
    mutex lock;
    std::set<void*> all;
  };
  static late_events& late();
  static void note(void* e);
  static bool is_late(void* e);
  runtime::nccl_api const* before_;
  runtime::cuda_api const* cuda_;
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/nccl_recorder.hpp>  // bodies of the functions above
#endif
