// SPDX-License-Identifier: Apache-2.0
// Recorded cards: device memory in protected arenas, kernel bodies as host loops, streams as late
// queues, which check the order of accesses.
#pragma once
#include <functional>  // function
#include <map>         // map
#include <memory>      // unique_ptr
#include <set>         // set
#include <string>      // string
#include <vector>      // vector

#include <locus/backend/simulated/arena.hpp>      // arena
#include <locus/backend/simulated/late_work.hpp>  // late_queues
#include <locus/core/lock.hpp>                    // mutex
#include <locus/core/macros.hpp>                  // LOCUS_SHARED_STATE, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>          // touched, step_record, stamp
#include <locus/runtime/cuda_api.hpp>             // cuda_api
#include <locus/testing/recorded_calls.hpp>       // recorded_calls, recorder_options

namespace locus::testing {

/// The cards of a recorder: memory, streams, events, libraries.
class recorded_cards : public recorded_calls {
 public:
  recorded_cards(recorded_cards const&) = delete;

  /// means: streams run only where the host waits for them; a query of an event runs no work
  void be_busy(bool yes);
  /// means: bytes of the program's own memory are pinned: copies from there are not staged
  void pin(void* p, std::size_t bytes) { pinned_[p] = bytes; }
  /// the names of NVTX ranges in the order of their beginnings, and the number of ended ranges
  std::vector<std::string> const& ranges() const { return ranges_; }
  int ranges_ended() const { return static_cast<int>(calls("range_pop")); }
  /// streams and events that are not destroyed
  int open_streams() const;
  int open_events() const { return static_cast<int>(events_.size()); }
  /// cards that have a context: as since CUDA 12, a card gets one when it becomes current, and by
  /// nearly every call while it is current
  std::set<int> const& contexts() const { return contexts_; }
  /// means: the program captures that stream into a graph
  void capture(void* s) { captured_.insert(s); }
  void end_capture(void* s) { captured_.erase(s); }
  /// means: an error of the program's own calls stays for last_error
  void leave_error(int code) { __atomic_store_n(&pending_, code, __ATOMIC_RELAXED); }
  /// means: no card has a context, as at the start of a process; build the devices anew then
  void end_contexts() { contexts_.clear(); }
  /// means: the current card gets a context; for a library beside CUDA
  void make_context();
  /// the number of cuBLAS handles, and the largest number of streams of one handle
  int open_handles() const { return static_cast<int>(handles_.size()); }
  int most_streams_of_handle() const;
  /// the priorities of streams that were made with one
  std::vector<int> const& priorities() const { return priorities_; }
  std::int64_t open_bytes() const;
  std::int64_t pinned_bytes() const;

  // ---- for libraries that put work on CUDA's streams ----
  static recorded_cards& now() { return *current(); }
  int current_card() const { return device_; }
  int card_of_stream(void* s) { return at(s).card; }
  int card_of_memory(void const* p) const { return card_of(p); }
  /// means: issues work in the order of a stream, with the memory of its card open; operand: the
  ///        bytes that it uses
  /// fails: bad_access, if no event orders it and other work on these bytes
  void enqueue(void* s, std::function<void()> work, touched const& operand = {});
  /// means: a barrier: the next work of each stream runs after all work that these streams have now
  void join(void* const* streams, int n);
  /// means: runs all work that these streams have now
  void run_all_of(void* const* streams, int n);

 protected:
  explicit recorded_cards(recorder_options const& options);
  recorded_cards(recorded_cards&&) = default;
  LOCUS_SHARED_STATE static recorded_cards*& current() {
    static recorded_cards* r = nullptr;
    return r;
  }
  LOCUS_SHARED_STATE static inline thread_local int device_ =
      0;  // each thread has a current device

 private:
  friend struct recorded_api;
  static constexpr std::size_t asked_bytes = 1021;  // of an algorithm's workspace: an odd number
  /// a late queue; it is in use while it has a card
  struct stream {
    int card = -1;
    bool is_default = false;
  };
  struct event {
    stamp at;
    bool timed = false;
    std::int64_t when = 0;  // of a timed event: the time at which its stream reached it
  };
  struct blas_handle {
    int card = 0;
    std::set<void*> streams;  // that the program set for the handle
  };
  struct card_memory {
    simulated::arena memory;
    std::map<void*, std::size_t> blocks;
    std::int64_t in_use = 0;
  };
  /// the name and operands of a task, which the library announces before the call that issues it
  struct announced_task {
    step_record record;
    std::vector<touched> operands;
  };
  /// a scope in which device memory is open: that of a kernel's card, or of both sides of a copy
  class opened;

  int card_of(void const* p) const;
  bool is_pinned(void const* p) const;
  // ---- streams and events ----
  int make_stream(void** s, int card = device_, bool is_default = false);
  int end_stream(void* s);
  bool is_stream(void* s) const;
  /// null: the default stream of the card
  stream& at(void* s, int card = device_);
  short queue_of(void* s, int card = device_) {
    return static_cast<short>(&at(s, card) - streams_.data());
  }
  /// the point behind all work of a stream and behind all points that its next task waits for
  stamp last_of(void* s) { return queues_->last(queue_of(s)); }
  /// means: runs all work of a queue; its events count as reached then
  void finish(short queue);
  /// means: the host waits for a card; negative: for all cards
  void finish_card(int number);
  int make_event(void** e, bool timed);
  int card_of_event(void* e) const;
  int record(event& e, void* s);
  int query(event const& e, bool* reached);
  static int elapsed(float& milliseconds, event const& begin, event const& end);

  // ---- work of streams ----
  static announced_task next_task(std::string_view otherwise);
  /// means: issues work(recorded_cards&) in the order of a stream; it does nothing if the card is
  ///        lost by then
  template <class Work>
  void add(void* s, announced_task const& what, Work work) {
    queues_->issue(queue_of(s), what.record, what.operands.data(),
                   static_cast<int>(what.operands.size()),
                   [card = at(s).card, work = std::move(work)]() mutable {
                     if (recorded_cards& r = now(); !r.is_lost(card)) work(r);
                   });
  }
  int copy(void* to, void const* from, std::size_t n, void* s, bool peer = false);
  int launch(runtime::cuda_launch const& w);
  /// the workspace has arbitrary bytes, as a library leaves them: a later reader must write it
  /// first
  int run(runtime::cuda_algorithm const& a);
  /// column-major, as cuBLAS; in double, so that rounding hides no wrong stride. A handle is for
  /// one stream: cuBLAS does not order two streams of one handle.
  int multiply(void* handle, runtime::cuda_gemm const& g);
  /// means: poisons the bytes in the order of the stream
  void retire(void* p, std::size_t bytes, void* s);

  // ---- memory and facts of cards ----
  std::size_t bytes_in_use() const {
    return static_cast<std::size_t>(cards_[static_cast<std::size_t>(device_)]->in_use);
  }
  int allocate(void** p, std::size_t n);
  /// means: waits for all work of the card, as CUDA's function, and frees p
  int release(void* p);
  int allocate_host(void** p, std::size_t n);
  int release_host(void* p);
  int describe_card(int number, runtime::cuda_device_facts* f) const;
  int make_handle(void** handle);

  std::vector<std::unique_ptr<card_memory>> cards_;
  std::unique_ptr<simulated::late_queues> queues_;
  std::vector<stream> streams_;  // [queue]; the handle of a stream is its address
  std::map<void*, std::unique_ptr<event>> events_;
  std::map<void*, std::size_t> pinned_;
  std::set<void*> captured_;
  int pending_ = 0;  // for last_error, atomic: one for all threads; CUDA has one for each thread
  std::set<int> contexts_;
  std::vector<std::unique_ptr<blas_handle>> handles_;
  LOCUS_SHARED_STATE static inline constinit mutex
      one_at_a_time_;  // CUDA may be called from any thread
  LOCUS_SHARED_STATE static inline thread_local announced_task announced_;
  bool busy_ = false;
  std::vector<int> priorities_;
  std::vector<std::string> ranges_;
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/recorded_cards.hpp>  // bodies of the functions above
#endif
