// SPDX-License-Identifier: Apache-2.0
// Recorded cards: device memory in protected arenas, kernel bodies as host loops, streams as queues of the
// machine that runs late and checks the order of accesses.
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

class recorded_cards : public recorded_calls {
 public:
  recorded_cards(recorded_cards const&) = delete;

  /// means: streams go on only where the host waits for them; who asks an event gets no further
  void be_busy(bool yes);
  /// means: bytes of the program's own memory are pinned: copies from there are not staged
  void pin(void* p, std::size_t bytes) { pinned_[p] = bytes; }
  /// the names of NVTX ranges in the order of their beginnings, and how many ended
  std::vector<std::string> const& ranges() const { return ranges_; }
  int ranges_ended() const { return static_cast<int>(calls("range_pop")); }
  /// handles and bytes that nobody gave back
  int open_streams() const;
  int open_events() const { return static_cast<int>(events_.size()); }
  /// cards that have a context: as since CUDA 12 a card gets one by becoming current, and by nearly every
  /// call while it is
  std::set<int> const& contexts() const { return contexts_; }
  /// means: the program captures that stream into a graph
  void capture(void* s) { captured_.insert(s); }
  void end_capture(void* s) { captured_.erase(s); }
  /// means: the program itself has made an error that it has not asked for yet
  void leave_error(int code) { __atomic_store_n(&pending_, code, __ATOMIC_RELAXED); }
  /// as in a process that begins; the devices are made anew behind it
  void end_contexts() { contexts_.clear(); }
  /// a library beside CUDA calls it: the current card gets a context
  void make_context();
  /// handles of cuBLAS, and streams that one of them has multiplied on
  int open_handles() const { return static_cast<int>(handles_.size()); }
  int most_streams_of_handle() const;
  /// of the streams that were made with one
  std::vector<int> const& priorities() const { return priorities_; }
  std::int64_t open_bytes() const;
  std::int64_t pinned_bytes() const;

  // ---- for what runs beside CUDA on its streams ----
  static recorded_cards& now() { return *current(); }
  int current_card() const { return device_; }
  int card_of_stream(void* s) { return at(s).card; }
  int card_of_memory(void const* p) const { return card_of(p); }
  /// means: work in the order of a stream, with the memory of its card open; it touches those bytes
  /// fails: bad_access, where no event orders it behind other work on them
  void enqueue(void* s, std::function<void()> work, touched const& operand = {});
  /// means: the next work of each stream comes after all that all of them were given
  void join(void* const* streams, int n);

 protected:
  explicit recorded_cards(recorder_options const& options);
  recorded_cards(recorded_cards&&) = default;
  LOCUS_SHARED_STATE static recorded_cards*& current() {
    static recorded_cards* r = nullptr;
    return r;
  }
  LOCUS_SHARED_STATE static inline thread_local int device_ =
      0;  // the current device is one of each thread

 private:
  friend struct recorded_api;
  static constexpr std::size_t asked_bytes =
      1021;  // what an algorithm's workspace has: an odd number
  /// a queue of the machine while it has a card
  struct stream {
    int card = -1;
    bool is_default = false;
  };
  struct event {
    stamp at;
    bool timed = false;
    std::int64_t when = 0;  // of a timed one: when its stream came there
  };
  struct blas_handle {
    int card = 0;
    std::set<void*> streams;  // that it was given
  };
  struct card_memory {
    simulated::arena memory;
    std::map<void*, std::size_t> blocks;
    std::int64_t in_use = 0;
  };
  /// a task, as the library announces it before the call that issues it
  struct announced_task {
    step_record record;
    std::vector<touched> operands;
  };
  /// device memory is open while a task runs: kernels to their card, copies to both sides
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
  /// the point behind all that a stream was given, what its next task would wait for included
  stamp last_of(void* s) { return queues_->last(queue_of(s)); }
  /// runs all of a queue; from then on nothing waits for it
  void finish(short queue);
  /// the host has waited for a card, or for all: negative
  void finish_card(int number);
  int make_event(void** e, bool timed);
  int card_of_event(void* e) const;
  int record(event& e, void* s);
  int query(event const& e, bool* reached);
  static int elapsed(float& milliseconds, event const& begin, event const& end);

  // ---- work of streams ----
  static announced_task next_task(std::string_view otherwise);
  /// work(recorded_cards&) in the order of a stream, unless its card is lost then
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
  /// the workspace is what a library leaves there: who reads it has not written it
  int run(runtime::cuda_algorithm const& a);
  /// column-major, as cuBLAS; in double, so that a wrong stride cannot hide behind rounding. A handle is
  /// of one stream: two streams of one handle are unordered with cuBLAS.
  int multiply(void* handle, runtime::cuda_gemm const& g);
  /// poisoned in the order of the stream
  void retire(void* p, std::size_t bytes, void* s);

  // ---- memory and facts of cards ----
  std::size_t bytes_in_use() const {
    return static_cast<std::size_t>(cards_[static_cast<std::size_t>(device_)]->in_use);
  }
  int allocate(void** p, std::size_t n);
  /// as CUDA's: everything on the card is done then
  int release(void* p);
  int allocate_host(void** p, std::size_t n);
  int release_host(void* p);
  int describe_card(int number, runtime::cuda_device_facts* f) const;
  int make_handle(void** handle);

  std::vector<std::unique_ptr<card_memory>> cards_;
  std::unique_ptr<simulated::late_queues> queues_;
  std::vector<stream> streams_;  // [queue]; the handle of one is its address
  std::map<void*, std::unique_ptr<event>> events_;
  std::map<void*, std::size_t> pinned_;
  std::set<void*> captured_;
  int pending_ = 0;  // what last_error says, atomic: of all threads; CUDA has one for each
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
