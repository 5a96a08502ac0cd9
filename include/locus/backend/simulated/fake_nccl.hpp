// SPDX-License-Identifier: Apache-2.0
// NCCL without cards, by its rules: ranks, groups, nonblocking communicators, operations that meet
// on the streams of all ranks. Mistakes that hang or spoil values with the real NCCL (calls that
// differ among ranks, a buffer on another card, a missing rank) are errors here. Terms are added in
// the order of a ring: the same bits on all ranks, and not in replica order. Between the processes
// of a program the carrier of its ranks brings the terms, when the group is issued.
#pragma once
#include <cstring>  // memcpy
#include <utility>  // move

#include <locus/core/array.hpp>                   // dynamic_array
#include <locus/core/error.hpp>                   // message
#include <locus/core/lock.hpp>                    // mutex
#include <locus/core/macros.hpp>                  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/shared.hpp>                  // shared
#include <locus/device/device.hpp>                // max_devices
#include <locus/runtime/collective_settings.hpp>  // collective_deadline
#include <locus/runtime/nccl_api.hpp>             // nccl_api
#include <locus/runtime/rank_carrier.hpp>         // ranks_by
#include <locus/runtime/ranks.hpp>                // this_rank

LOCUS_COLD_BEGIN

namespace locus::simulated {

enum class nccl_call : unsigned char {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  send,
  receive
};
constexpr std::string_view name_of(nccl_call c) {
  constexpr std::string_view names[] = {"all_reduce",     "reduce", "broadcast", "all_gather",
                                        "reduce_scatter", "send",   "receive"};
  return names[static_cast<int>(c)];
}

/// One element as a number: `real` for floating types, `bits` for integers, which wrap in 64 bits.
struct nccl_number {
  double real = 0;
  std::uint64_t bits = 0;
};
LOCUS_FUNCTION nccl_number load(runtime::nccl_type t, void const* data, std::size_t i);
/// a real number as an element of floating type t
LOCUS_FUNCTION double rounded(runtime::nccl_type t, double v);
LOCUS_FUNCTION void store(runtime::nccl_type t, void* data, std::size_t i, nccl_number const& v);
LOCUS_FUNCTION nccl_number combine(runtime::nccl_type t, int op, nccl_number const& a,
                                   nccl_number const& b);

/// Faults that a test asks for.
struct nccl_mischief {
  int fail_at = -1;  // the number of the call that fails, from 0
  int fail_with = runtime::nccl_cuda_error;
  bool never_ready = false;  // communicators stay in progress
  bool groups_hang = false;  // a group stays in progress
  bool never_done = false;   // operations are issued, and never end
  int async_state = 0;       // the answer of async_state for a communicator that is ready
  int polls = 2;             // calls of async_state until a communicator is ready
};

/// Engine: int current(), int card_of_stream(void*), int card_of(void const*), void* reach(void* stream, void* p),
/// void enqueue(void* stream, touched const& operand, Work), void join(void* const* streams, int n): the next work
/// of each stream comes after all work that these streams have now; void finish(void* const* streams, int n): runs
/// all work that these streams have.
template <class Engine>
class fake_nccl {
 public:
  LOCUS_SHARED_STATE static fake_nccl& instance() {
    static fake_nccl* const one = new fake_nccl;  // communicators may outlive static objects
    return *one;
  }
  nccl_mischief mischief{};
  int calls = 0, open_communicators = 0, groups = 0;
  int operations[7]{};  // [nccl_call], over all ranks
  bool in_flight() const {
    return __atomic_load_n(&depth_, __ATOMIC_RELAXED) > 0 ||
           __atomic_load_n(&waiting_, __ATOMIC_RELAXED) > 0;
  }
  std::string_view failed_call() const { return failed_; }
  void reset() {
    mischief = {}, calls = open_communicators = groups = depth_ = waiting_ = 0;
    for (int& n : operations) n = 0;
    last_ = {}, failed_ = {};
    group_.clear(), stuck_.clear();
  }
  bool is_stuck() const {
    lock_guard hold(stuck_lock_);
    for (auto const& s : stuck_)
      if (!__atomic_load_n(&s->aborted, __ATOMIC_ACQUIRE)) return true;
    return false;
  }

// a row: the function, its parameters, the code that it returns
#define LOCUS_NCCL(function, parameters, ...)                                                \
  t.function = [] parameters {                                                               \
    return me(#function, [&]([[maybe_unused]] fake_nccl& f) -> int { return __VA_ARGS__; }); \
  }
#define LOCUS_COLLECTIVE(function, parameters, ...) \
  t.function = [] parameters { return add({nccl_call::function, __VA_ARGS__}); }
  static constexpr runtime::nccl_api table() {
    using runtime::nccl_type;
    runtime::nccl_api t{};
    LOCUS_NCCL(version, (int* v), *v = 22809, 0);
    LOCUS_NCCL(make_id, (runtime::nccl_id * id), *id = {}, f.number(*id), 0);
    LOCUS_NCCL(init_rank, (void** comm, int ranks, runtime::nccl_id const* id, int rank),
               f.init(comm, ranks, *id, rank));
    t.async_state = [](void* comm, int* state) {
      if (!instance().in_flight()) return instance().poll(at(comm), state);  // the call of a watch
      return me("async_state", [&](fake_nccl& f) { return f.poll(at(comm), state); });
    };
    t.abort = [](void* comm) {  // an abort never fails
      __atomic_store_n(&at(comm).ring->aborted, true, __ATOMIC_RELEASE);
      return instance().close(comm);
    };
    LOCUS_NCCL(destroy, (void* comm), f.close(comm));
    LOCUS_NCCL(rank_count, (void* comm, int* n), *n = at(comm).ring->ranks, 0);
    LOCUS_NCCL(rank_of, (void* comm, int* r), *r = at(comm).rank, 0);
    LOCUS_NCCL(card_of, (void* comm, int* c), *c = at(comm).card, 0);
    LOCUS_NCCL(group_start, (), __atomic_add_fetch(&f.depth_, 1, __ATOMIC_RELAXED), 0);
    t.group_end = [] { return instance().without_throwing([] { return instance().end_group(); }); };
    LOCUS_COLLECTIVE(all_reduce,
                     (void const* s, void* r, std::size_t n, nccl_type e, int op, void* c, void* q),
                     s, r, n, e, op, 0, c, q);
    LOCUS_COLLECTIVE(
        reduce,
        (void const* s, void* r, std::size_t n, nccl_type e, int op, int root, void* c, void* q), s,
        r, n, e, op, root, c, q);
    LOCUS_COLLECTIVE(
        broadcast, (void const* s, void* r, std::size_t n, nccl_type e, int root, void* c, void* q),
        s, r, n, e, 0, root, c, q);
    LOCUS_COLLECTIVE(all_gather,
                     (void const* s, void* r, std::size_t n, nccl_type e, void* c, void* q), s, r,
                     n, e, 0, 0, c, q);
    LOCUS_COLLECTIVE(reduce_scatter,
                     (void const* s, void* r, std::size_t n, nccl_type e, int op, void* c, void* q),
                     s, r, n, e, op, 0, c, q);
    LOCUS_COLLECTIVE(send, (void const* d, std::size_t n, nccl_type e, int peer, void* c, void* q),
                     d, nullptr, n, e, 0, peer, c, q);
    LOCUS_COLLECTIVE(receive, (void* d, std::size_t n, nccl_type e, int peer, void* c, void* q),
                     nullptr, d, n, e, 0, peer, c, q);
    LOCUS_NCCL(create_scaled_sum, (int* op, void const* scalar, nccl_type e, void*),
               *op = runtime::nccl_first_made + static_cast<int>(f.scales_.size()),
               f.scales_.push(load(e, scalar, 0).real), 0);
    LOCUS_NCCL(destroy_op, (int, void*), 0);
    t.describe = [](int code) {
      return code == runtime::nccl_cuda_error         ? "unhandled cuda error"
             : code == runtime::nccl_system_error     ? "unhandled system error"
             : code == runtime::nccl_invalid_argument ? "invalid argument"
             : code == runtime::nccl_invalid_usage    ? "invalid usage"
             : code == runtime::nccl_remote_error     ? "remote process exited"
             : code == runtime::nccl_in_progress      ? "NCCL operation in progress"
                                                      : "internal error";
    };
    t.last_error = [](void*) { return instance().last_.c_str(); };
    return t;
  }
#undef LOCUS_NCCL
#undef LOCUS_COLLECTIVE

 private:
  /// The ranks of communicators with one id.
  struct clique {
    std::uint64_t id = 0;
    int ranks = 0, joined = 0;
    int first = -1, here = 0;          // the ranks of this process: [first, first + here)
    dynamic_array<std::int64_t> ends;  // [process]; empty: all ranks are in this one
    mutable bool aborted = false;
    bool is_here(int rank) const { return rank >= first && rank < first + here; }
    int count_here() const { return ends.empty() ? ranks : here; }
  };
  struct communicator {
    clique* ring = nullptr;
    int rank = 0, card = 0, polls = 0;
  };
  struct call {
    nccl_call what{};
    void const* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0;
    runtime::nccl_type type{};
    int op = 0, peer = 0;  // peer: of a send or receive; else the root
    void *comm = nullptr, *stream = nullptr;
    int rank() const { return at(comm).rank; }
    std::size_t bytes() const { return count * static_cast<std::size_t>(bytes_of(type)); }
  };
  /// One operation of all ranks; a send and its receive are one operation of two ranks.
  struct meeting {
    call calls[max_devices]{};  // [rank - the first of this process]
    int ranks = 0, first = 0;   // all; the first of this process
    double scale = 1;
    clique const* ring = nullptr;
    bool is_pair = false, leaves = false;  // leaves: the other rank is in another process
    std::size_t each = 0;                  // bytes that a rank sends
    mutable dynamic_array<char> sent;      // by rank 0, 1, ...; of a pair by the one that sends
    mutable dynamic_array<char> folded;
    mutable bool brought[max_devices]{};
    meeting() = default;
    call const& first_call() const {
      int r = 0;
      while (!calls[r].comm) ++r;
      return calls[r];
    }
    /// of a pair: the rank that sends, then the one that receives
    int order() const {
      call const& c = first_call();
      bool const sends = c.what == nccl_call::send;
      return (sends ? c.rank() : c.peer) * 0x8000 + (sends ? c.peer : c.rank());
    }
    char* sent_by(int rank) const {
      return sent.begin() + (is_pair ? 0 : static_cast<std::size_t>(rank) * each);
    }
  };

  static communicator& at(void* comm) { return *static_cast<communicator*>(comm); }
  bool count(char const* name) {
    if (calls++ != mischief.fail_at) return false;
    failed_ = name;
    last_ = message{};
    last_ << "the call was made to fail";
    return true;
  }
  template <class F>
  static int me(char const* name, F&& f) {
    fake_nccl& n = instance();
    return n.count(name) ? n.mischief.fail_with : n.without_throwing([&] { return f(n); });
  }
  /// means: f(), with a code in place of an exception, as a C function
  template <class F>
  int without_throwing(F&& f) noexcept try {
    return f();
  } catch (std::exception const& e) {
    last_ = message{};
    last_ << std::string_view(e.what());
    return runtime::nccl_system_error;
  }
  /// means: a number that no other process gives
  void number(runtime::nccl_id& id) {
    std::uint64_t const n = ++ids_ + (static_cast<std::uint64_t>(runtime::this_rank.rank) << 32);
    std::memcpy(id.bytes, &n, sizeof n);
  }
  int init(void** comm, int ranks, runtime::nccl_id const& id, int rank) {
    if (depth_ == 0 && ranks > 1) return refuse("one thread makes several ranks outside a group");
    std::uint64_t number;
    std::memcpy(&number, id.bytes, sizeof number);
    clique* ring = nullptr;
    for (clique* c : cliques_)
      if (c->id == number) ring = c;
    if (!ring) {
      ring = cliques_.push(new clique);
      ring->id = number, ring->ranks = ranks, ring->first = rank;
    }
    int const card = Engine::current();
    for (communicator* c : open_)
      if (c->ring == ring && c->card == card) return refuse("Duplicate GPU detected");
    if (ring->ranks != ranks || rank >= ranks) return refuse("ranks do not fit");
    auto* const fresh = new communicator{ring, rank, card, mischief.polls};
    *comm = open_.push(fresh);
    ++ring->joined, ++ring->here, __atomic_add_fetch(&open_communicators, 1, __ATOMIC_RELAXED);
    return 0;
  }
  int poll(communicator& c, int* state) {
    bool const busy = mischief.never_ready || c.ring->joined < c.ring->ranks ||
                      mischief.groups_hang || c.polls > 0;
    if (c.polls > 0) --c.polls;
    *state = busy ? int(runtime::nccl_in_progress) : mischief.async_state;
    if (!busy && waiting_ != 0) set_waiting(0);
    return 0;
  }
  int close(void* comm) {
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i] == comm) {
        delete open_[i];
        open_.remove(i);
        __atomic_sub_fetch(&open_communicators, 1, __ATOMIC_RELAXED), set_waiting(0);
        return 0;
      }
    return runtime::nccl_invalid_argument;
  }
  int refuse(std::string_view why) {
    last_ = message{};
    last_ << why;
    return runtime::nccl_invalid_usage;
  }
  int refuse_calls(call const& a, call const& b) {
    last_ = message{};
    auto write = [&](call const& c) {
      last_ << "rank " << c.rank() << " calls " << name_of(c.what) << " of " << c.count
            << " elements of type " << static_cast<int>(c.type) << ", operation " << c.op;
    };
    write(a), last_ << "; ", write(b);
    return runtime::nccl_invalid_usage;
  }
  static int add(call const& c) {
    return me("a collective", [&](fake_nccl& f) {
      ++f.operations[static_cast<int>(c.what)];
      return f.take(c);
    });
  }
  int take(call const& c) {
    communicator const& comm = at(c.comm);
    if (comm.polls > 0 || comm.ring->aborted) return refuse("the communicator is not ready");
    if (c.type == runtime::nccl_type::none || c.peer < 0 || c.peer >= comm.ring->ranks)
      return runtime::nccl_invalid_argument;
    if (Engine::card_of_stream(c.stream) != comm.card)
      return refuse("the stream belongs to another card");
    void const* const memory[] = {c.send, c.receive};
    for (void const* p : memory)
      if (p && c.count > 0 && Engine::card_of(p) != comm.card) {
        last_ = message{};
        last_ << name_of(c.what) << " of rank " << comm.rank << ": its memory does not lie on card "
              << comm.card;
        return runtime::nccl_invalid_argument;
      }
    if (depth_ == 0 && comm.ring->ranks > 1)
      return refuse("one thread calls for several ranks outside a group");
    group_.push(c);
    return depth_ == 0 ? issue() : 0;
  }
  int end_group() {
    bool const fails = count("group_end");
    if (depth_ == 0) return refuse("group_end without group_start");
    if (__atomic_sub_fetch(&depth_, 1, __ATOMIC_RELAXED) > 0) return 0;
    ++groups;
    bool initialises = false;
    for (communicator const* c : open_) initialises = initialises || c->polls > 0;
    if (fails) return group_.clear(), mischief.fail_with;
    for (clique* c : cliques_)
      if (int const code = meet_processes(*c); code != 0) return code;
    int const code = issue();
    if (code != 0) return code;
    if (!initialises && !mischief.groups_hang) return 0;
    set_waiting(1);
    return runtime::nccl_in_progress;
  }

  /// means: the processes of the program tell which ranks of a ring they have
  int meet_processes(clique& ring) {
    bool const is_new = ring.joined > 0 && ring.joined < ring.ranks && ring.ends.empty();
    if (!is_new || ring.aborted || !runtime::ranks_by) return 0;
    auto const processes = static_cast<std::size_t>(runtime::this_rank.ranks);
    dynamic_array<std::int64_t> mine, bytes;
    mine.resize(processes), bytes.resize(processes);
    for (std::size_t k = 0; k < processes; ++k)
      bytes[k] = static_cast<std::int64_t>((k + 1) * sizeof mine[0]);
    mine[static_cast<std::size_t>(runtime::this_rank.rank)] = ring.here;
    if (int const code =
            carried(runtime::ranks_by->all_gather(mine.begin(), bytes.begin(), limit())))
      return code;
    std::int64_t end = 0;
    for (std::int64_t const n : mine) ring.ends.push(end += n);
    if (end != ring.ranks) return refuse("a rank is missing");
    ring.joined = ring.ranks;
    return 0;
  }
  static double limit() {
    return runtime::collective_deadline(&runtime::collective_deadlines::steady);
  }
  int carried(runtime::rank_failure const& f) {
    if (f.code == runtime::rank_success) return 0;
    last_ = message{};
    last_ << "the carrier of the ranks: "
          << (f.code == runtime::rank_late ? "a rank is late" : "a rank has ended");
    if (f.rank >= 0) last_ << ", rank " << f.rank;
    return runtime::nccl_remote_error;
  }
  /// means: the sends and receives of a group between processes, all processes in the order of the
  ///        ranks that send and receive
  int bring_pairs(dynamic_array<shared<meeting>> const& meetings) {
    constexpr int none = 0x7fffffff;
    for (int done = -1;;) {
      int next = none;
      for (auto const& m : meetings)
        if (m->leaves && !m->ring->aborted && m->order() > done && m->order() < next)
          next = m->order();
      if (next == none) return 0;
      for (auto const& m : meetings)
        if (m->leaves && !m->ring->aborted && m->order() == next)
          if (int const code = bring_pair(*m); code != 0) return code;
      done = next;
    }
  }
  int bring_pair(meeting const& m) {
    call const& c = m.first_call();
    int process = 0;
    while (m.ring->ends[static_cast<std::size_t>(process)] <= c.peer) ++process;
    runtime::rank_message const one{process, m.sent.begin(), static_cast<std::int64_t>(m.each),
                                    c.what == nccl_call::send};
    return carried(runtime::ranks_by->exchange(&one, 1, limit()));
  }
  /// means: the terms of the ranks in other processes
  int bring_terms(meeting const& m) {
    dynamic_array<std::int64_t> ends;
    for (std::int64_t const e : m.ring->ends) ends.push(e * static_cast<std::int64_t>(m.each));
    return carried(runtime::ranks_by->all_gather(m.sent.begin(), ends.begin(), limit()));
  }

  /// means: matches the k-th operation of each rank with the k-th of all other ranks, and issues
  ///        them
  int issue() {
    dynamic_array<call> const all = std::move(group_);
    dynamic_array<shared<meeting>> meetings;
    dynamic_array<bool> used;
    used.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (used[i]) continue;
      call const& first = all[i];
      clique const* const ring = at(first.comm).ring;
      auto m = shared<meeting>::make(meeting());
      auto& now = const_cast<meeting&>(*m);
      now.ring = ring, now.ranks = ring->ranks, now.first = ring->first;
      if (first.op >= runtime::nccl_first_made)
        now.scale = scales_[static_cast<std::size_t>(first.op - runtime::nccl_first_made)];
      bool const pair = first.what == nccl_call::send || first.what == nccl_call::receive;
      now.is_pair = pair, now.leaves = pair && !ring->is_here(first.peer);
      now.each = first.bytes() * static_cast<std::size_t>(
                                     first.what == nccl_call::reduce_scatter ? ring->ranks : 1);
      now.sent.resize(now.each * static_cast<std::size_t>(pair ? 1 : ring->ranks));
      used[i] = true;
      auto const slot = [&](call const& c) { return c.rank() - ring->first; };
      now.calls[slot(first)] = first;
      unsigned seen = 1u << slot(first);
      for (std::size_t k = i + 1; k < all.size() && !now.leaves; ++k) {
        call const& c = all[k];
        bool const theirs = !used[k] && at(c.comm).ring == ring && (seen >> slot(c) & 1) == 0;
        bool const c_pair = c.what == nccl_call::send || c.what == nccl_call::receive;
        if (!theirs || c_pair != pair) continue;
        if (pair && (c.what == first.what || c.rank() != first.peer || c.peer != first.rank()))
          continue;
        if (c.count != first.count || c.type != first.type ||
            (!pair && (c.what != first.what || c.op != first.op || c.peer != first.peer)))
          return refuse_calls(first, c);
        used[k] = true, seen |= 1u << slot(c);
        now.calls[slot(c)] = c;
        if (pair) break;
      }
      bool const complete = now.leaves ? !ring->ends.empty()
                            : pair     ? seen != (1u << slot(first)) || first.peer == first.rank()
                                       : seen == (1u << ring->count_here()) - 1;
      if (!complete) {
        last_ = message{};
        last_ << name_of(first.what) << " of rank " << first.rank()
              << ": another rank does not take part";
        return runtime::nccl_invalid_usage;
      }
      meetings.push(std::move(m));
    }
    if (mischief.never_done) {
      lock_guard hold(stuck_lock_);
      for (auto const& m : meetings) stuck_.push(const_cast<clique*>(m->ring));
    }
    return run(meetings);
  }
  int run(dynamic_array<shared<meeting>> const& meetings) {
    dynamic_array<void*> streams;
    for (auto const& m : meetings)
      for (call const& c : m->calls) {
        if (!c.comm) continue;
        bool known = false;
        for (void* s : streams) known |= s == c.stream;
        if (!known) streams.push(c.stream);
        bool const sends = c.send && (c.what != nccl_call::broadcast || c.rank() == c.peer);
        int const rank = c.rank();
        std::size_t const bytes = !sends ? 0
                                  : c.what == nccl_call::reduce_scatter
                                      ? c.bytes() * static_cast<std::size_t>(m->ranks)
                                      : c.bytes();
        void* const from = Engine::reach(c.stream, const_cast<void*>(c.send));
        Engine::enqueue(c.stream, {c.send, bytes, false}, [m, rank, from, bytes] {
          if (__atomic_load_n(&m->ring->aborted, __ATOMIC_ACQUIRE)) return;
          if (bytes > 0) std::memcpy(m->sent_by(rank), from, bytes);
          m->brought[rank - m->first] = true;
        });
      }
    Engine::join(streams.begin(), static_cast<int>(streams.size()));
    for (auto const& m : meetings) {
      if (m->ring->ends.empty() || m->ring->aborted || (m->is_pair && !m->leaves)) continue;
      Engine::finish(streams.begin(), static_cast<int>(streams.size()));
      if (m->is_pair) continue;
      if (int const code = bring_terms(*m); code != 0) return code;
    }
    if (int const code = bring_pairs(meetings); code != 0) return code;
    for (auto const& m : meetings)
      for (call const& c : m->calls) {
        if (!c.comm) continue;
        int const rank = c.rank();
        bool const receives = c.receive && (c.what != nccl_call::reduce || rank == c.peer);
        std::size_t const bytes = !receives ? 0
                                  : c.what == nccl_call::all_gather
                                      ? c.bytes() * static_cast<std::size_t>(m->ranks)
                                      : c.bytes();
        void* const to = Engine::reach(c.stream, c.receive);
        Engine::enqueue(c.stream, {c.receive, bytes, true}, [m, rank, to, bytes] {
          if (!__atomic_load_n(&m->ring->aborted, __ATOMIC_ACQUIRE) && bytes > 0)
            deliver(*m, rank, static_cast<char*>(to), bytes);
        });
      }
    return 0;
  }
  static void deliver(meeting const& m, int rank, char* to, std::size_t bytes) {
    for (int r = 0; r < max_devices; ++r)  // the communicators may be destroyed already
      if (m.calls[r].comm && !m.brought[r])
        throw bad_access(
            "locus: simulated NCCL ran before a rank had reached it; an event is missing");
    call const& c = m.calls[rank - m.first];
    switch (c.what) {
    case nccl_call::all_reduce:
    case nccl_call::reduce: fold(m, c.count), std::memcpy(to, m.folded.begin(), bytes); break;
    case nccl_call::reduce_scatter:
      fold(m, c.count * static_cast<std::size_t>(m.ranks));
      std::memcpy(to, m.folded.begin() + static_cast<std::size_t>(rank) * bytes, bytes);
      break;
    case nccl_call::all_gather:
      for (int r = 0; r < m.ranks; ++r)
        std::memcpy(to + static_cast<std::size_t>(r) * c.bytes(), m.sent_by(r), c.bytes());
      break;
    default: std::memcpy(to, m.sent_by(c.peer), bytes);
    }
  }
  /// means: adds the terms of an element in ring order; those of chunk k begin with rank k + 1
  static void fold(meeting const& m, std::size_t count) {
    if (!m.folded.empty()) return;
    call const& c = m.calls[0];
    auto const n = static_cast<std::size_t>(m.ranks);
    m.folded.resize(count * static_cast<std::size_t>(bytes_of(c.type)));
    bool const average = c.op == runtime::nccl_avg, whole = !is_floating(c.type);
    double const scale = average && !whole ? 1 / static_cast<double>(n) : m.scale;
    auto const term = [&](std::size_t r, std::size_t i) {
      nccl_number v = load(c.type, m.sent_by(static_cast<int>(r)), i);
      if (scale != 1) v.real *= rounded(c.type, scale);
      if (!whole) v.real = rounded(c.type, v.real);
      return v;
    };
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const begin = i * n / count + 1;
      nccl_number t = term(begin % n, i);
      for (std::size_t k = 1; k < n; ++k) t = combine(c.type, c.op, t, term((begin + k) % n, i));
      if (average && whole)
        t.bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(t.bits) /
                                            static_cast<std::int64_t>(n));
      store(c.type, m.folded.begin(), i, t);
    }
  }

  void set_waiting(int n) { __atomic_store_n(&waiting_, n, __ATOMIC_RELAXED); }
  int depth_ = 0, waiting_ = 0;  // atomic: other threads read them
  std::uint64_t ids_ = 0;
  std::string_view failed_;
  message last_;
  dynamic_array<call> group_;
  dynamic_array<clique*> cliques_;  // kept: tasks that have not run may read them
  dynamic_array<communicator*> open_;
  mutable mutex stuck_lock_;
  dynamic_array<clique*> stuck_;
  dynamic_array<double> scales_;
};

}  // namespace locus::simulated

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/simulated/bodies/fake_nccl.hpp>  // bodies of the functions above
#endif
