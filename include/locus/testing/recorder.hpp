// SPDX-License-Identifier: Apache-2.0
// A recorder in place of CUDA: device memory in protected arenas, kernel bodies as host loops,
// streams that run as late as they may, every call counted, and the n-th call failing for any n.
// Include it, with LOCUS_CUDA_KERNELS defined to 1, before any other header of locus (in a unit of
// nvcc: after <locus/cuda.cuh>).
#pragma once
#include <bit>         // bit_cast
#include <deque>       // deque
#include <functional>  // function
#include <map>         // map
#include <memory>      // unique_ptr
#include <set>         // set
#include <string>      // string
#include <vector>      // vector

#include <locus/backend/simulated/arena.hpp>  // arena
#include <locus/core/lock.hpp>                // mutex
#include <locus/core/macros.hpp>              // LOCUS_SHARED_STATE, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>         // cuda_api
#include <locus/runtime/nccl_api.hpp>         // nccl_api

namespace locus::testing {

/// How copies between recorded cards behave.
enum class peer_copies : unsigned char {
  work,
  refused,  // the driver says that no card reaches another
  fail,     // it says that they do, and then they cannot be enabled
  damage,   // they bring other bytes
  freeze,   // they never arrive
};

/// What the recorder pretends that the machine has.
struct recorder_options {
  int cards = 1;
  int driver = 13000, toolkit = 13000;  // versions
  bool kernels_run = true;
  std::int64_t bytes = std::int64_t(1) << 30;  // memory of each card
  int fail_at = -1;                            // the number of the call that fails, from 0
  int fail_with = 719;                         // CUDA's "unspecified launch failure"
  peer_copies peers = peer_copies::work;
  bool one_gpu = false;            // the cards are slices of one GPU
  std::int64_t shared_memory = 0;  // bytes of /dev/shm
  bool adds_rows = true;           // cuBLASLt has kernels for products with a row
};

/// means: while it lives, the program's GPUs are recorded ones
/// fails: configuration_error, while a tensor is alive
class recorder {
 public:
  explicit recorder(recorder_options const& options = {});
  recorder(recorder const&) = delete;
  /// tensors that outlive it keep what it records; that is said on stderr
  ~recorder();

  /// how often a function was called, and how often any
  std::int64_t calls(std::string const& name) const;
  std::int64_t all_calls() const { return all_calls_; }
  /// the call with that number, counted from now, fails; negative: none
  void fail_at(int n, int code = 719);
  /// the next call of that function fails
  void fail_next(std::string const& name, int code) {
    fail_name_ = name, options_.fail_with = code;
  }
  /// means: from the n-th call on, counted from now, all that concerns that card fails
  void lose_card(int which, int n = 0, int code = 719) {
    lost_card_ = which, lost_at_ = all_calls_ + n, options_.fail_with = code;
  }
  /// means: streams go on only where the host waits for them; who asks an event gets no further
  void be_busy(bool yes);
  /// means: bytes of the program's own memory are pinned: copies from there are not staged
  void pin(void* p, std::size_t bytes) { pinned_[p] = bytes; }
  /// the call with that number, counted from now, and all behind it fail: a device that is lost (719),
  /// or CUDA that is unloaded while the program ends (4)
  void fail_from(int n, int code = 719);
  bool failed() const { return !failed_call_.empty(); }
  /// the name of the function that failed
  std::string const& failed_call() const { return failed_call_; }
  /// the names of NVTX ranges in the order of their beginnings, and how many ended
  std::vector<std::string> const& ranges() const { return ranges_; }
  int ranges_ended() const { return static_cast<int>(calls("range_pop")); }
  /// handles and bytes that nobody gave back
  int open_streams() const { return static_cast<int>(streams_.size()); }
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
  static recorder& now() { return *current(); }
  int current_card() const { return device_; }
  int card_of_stream(void* s) { return at(s).card; }
  int card_of_memory(void const* p) const { return card_of(p); }
  /// means: work in the order of a stream, with the memory of its card open
  void enqueue(void* s, std::function<void()> work);
  /// means: the next work of each stream comes after all that all of them were given
  void join(void* const* streams, int n);

 private:
  static constexpr std::size_t asked_bytes =
      1021;  // what an algorithm's workspace has: an odd number
  struct stream;
  struct event {
    stream* on = nullptr;
    std::uint64_t ticket = 0;
    bool timed = false;
    std::int64_t when = 0;  // of a timed one: when its stream came there
  };
  struct task {
    std::vector<event> waits;
    std::uint64_t ticket = 0;
    int card = 0;
    std::vector<char> bytes;
    void (*run)(recorder&, task&) = nullptr;
    runtime::cuda_launch launch;
    runtime::cuda_gemm gemm;
    void (*algorithm)(void const* body) = nullptr;
    void* to = nullptr;
    void const* from = nullptr;
    std::size_t size = 0;
    bool damage = false;
    std::function<void()> work;
  };
  struct stream {
    int card = 0;
    std::deque<task> tasks;
    std::uint64_t issued = 0, executed = 0;
    std::vector<event> waits;
  };
  struct blas_handle {
    int card = 0;
    std::set<void*> streams;  // that it was given
  };
  struct card {
    simulated::arena memory;
    std::map<void*, std::size_t> blocks;
    std::int64_t in_use = 0;
  };

  LOCUS_SHARED_STATE static recorder*& current() {
    static recorder* r = nullptr;
    return r;
  }
  recorder(recorder&&) = default;
  /// streams of the GPUs that were there before are closed by the functions that made them
  static void close_found_devices();
  void leave_api();

  /// counts a call; true: it is the one that fails
  bool count(char const* name);
  int card_of(void const* p) const;
  /// null: the default stream of the current card
  stream& at(void* s);
  /// it runs nothing any more: the test said so, or the library heard of an error that CUDA keeps
  bool is_lost(int which) const;
  task& add(void* s) { return add(at(s)); }
  task& add(stream& on);
  /// the point behind all that a stream was given, what its next task would wait for included
  std::uint64_t last_of(stream& s);
  /// runs what that point of a stream needs, and no more
  void complete(stream& s, std::uint64_t ticket);
  /// runs all of a stream; from then on nothing waits for it
  void finish(stream& s);
  /// device memory is open while a task runs: kernels to their card, copies to both sides
  class opened {
   public:
    opened(recorder& r, int first, int second) : r_(r), cards_{first, second} { set(true); }
    ~opened() { set(false); }

   private:
    void set(bool open);
    recorder& r_;
    int cards_[2];
  };

  static runtime::cuda_api const& api();
  template <class F>
  static int me(char const* name, F&& f) {
    lock_guard hold(one_at_a_time_);
    recorder& r = *current();
    constexpr std::string_view asks_alone[] = {
        "driver_version", "runtime_version", "device_count", "get_device",
        "device_facts",   "can_access_peer", "has_context",  "set_device"};
    if (std::find(std::begin(asks_alone), std::end(asks_alone), name) == std::end(asks_alone))
      r.contexts_.insert(device_);
    int const code = r.count(name) ? r.options_.fail_with : f(r);
    if (code != 0) r.leave_error(code);
    return code;
  }
  /// a call that concerns a card
  template <class Card, class F>
  static int on_card(char const* name, Card&& card, F&& f) {
    return me(name, [&](recorder& r) { return r.is_lost(card(r)) ? r.options_.fail_with : f(r); });
  }
  template <class F>
  static int on_stream(char const* name, void* s, F&& f) {
    return on_card(name, [s](recorder& r) { return r.at(s).card; }, f);
  }

  int make_stream(void** s);
  int allocate(void** p, std::size_t n);
  /// as CUDA's: everything on the card is done then
  int release(void* p);
  bool is_pinned(void const* p) const;
  static int card_of_event(void* e);
  /// the stream's clock, when it comes there
  void add_time_stamp(void* s, void* e);
  int copy(void* to, void const* from, std::size_t n, void* s, bool peer = false);
  int launch(runtime::cuda_launch const& w);
  /// the workspace is what a library leaves there: who reads it has not written it
  int run(runtime::cuda_algorithm const& a);
  /// column-major, as cuBLAS; in double, so that a wrong stride cannot hide behind rounding. A handle is
  /// of one stream: two streams of one handle are unordered with cuBLAS.
  int multiply(void* handle, runtime::cuda_gemm const& g);
  template <class T>
  static void product(runtime::cuda_gemm const& g) {
    auto const* const a = static_cast<T const*>(g.a);
    auto const* const b = static_cast<T const*>(g.b);
    auto read = [&g](T x) {
      if (!g.tf32) return static_cast<double>(x);
      auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      return static_cast<double>(std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu));
    };
    for (int j = 0; j < g.n; ++j)
      for (int i = 0; i < g.m; ++i) {
        double sum = 0;
        for (int k = 0; k < g.k; ++k)
          sum +=
              read(a[g.transpose_a ? k + std::ptrdiff_t(i) * g.lda
                                   : i + std::ptrdiff_t(k) * g.lda]) *
              read(
                  b[g.transpose_b ? j + std::ptrdiff_t(k) * g.ldb : k + std::ptrdiff_t(j) * g.ldb]);
        T& c = static_cast<T*>(g.c)[i + std::ptrdiff_t(j) * g.ldc];
        if (g.adds) sum += static_cast<double>(c);
        if (g.row) sum += static_cast<double>(static_cast<T const*>(g.row)[i]);
        c = static_cast<T>(g.relu && !(sum > 0) ? 0. : sum);
      }
  }

  recorder_options options_;
  runtime::cuda_api const* before_;
  runtime::nccl_api const* nccl_before_;  // the real one knows no recorded cards
  std::vector<std::unique_ptr<card>> cards_;
  std::map<void*, std::unique_ptr<stream>> streams_;
  std::map<void*, std::unique_ptr<event>> events_;
  std::map<void*, std::size_t> pinned_;
  std::set<void*> captured_;
  int pending_ = 0;  // what last_error says, atomic: of all threads; CUDA has one for each
  std::set<int> contexts_;
  std::vector<std::unique_ptr<blas_handle>> handles_;
  std::map<int, std::unique_ptr<stream>> default_streams_;  // [card]
  std::map<std::string, std::int64_t> calls_;
  std::int64_t all_calls_ = 0, fail_from_ = INT64_MAX;
  LOCUS_SHARED_STATE static inline constinit mutex
      one_at_a_time_;  // CUDA may be called from any thread
  LOCUS_SHARED_STATE static inline thread_local int device_ =
      0;  // the current device is one of each thread
  bool busy_ = false;
  bool successor_ = false;  // keeps what an ended recorder recorded
  std::string failed_call_, fail_name_;
  std::vector<int> priorities_;
  std::vector<std::string> ranges_;
  int lost_card_ = -1;
  std::int64_t lost_at_ = 0;
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/recorder.hpp>  // bodies of the functions above
#endif
