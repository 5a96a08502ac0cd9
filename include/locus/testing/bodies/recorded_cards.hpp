// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/recorded_cards.hpp declares.
#pragma once
#include <algorithm>  // find_if, count_if
#include <bit>        // bit_cast
#include <new>        // align_val_t

#include <locus/core/clock.hpp>              // read_clock
#include <locus/core/macros.hpp>             // LOCUS_FUNCTION
#include <locus/shape/complex.hpp>           // complex
#include <locus/testing/recorded_cards.hpp>  // the declarations

namespace locus::testing {

LOCUS_FUNCTION recorded_cards::recorded_cards(recorder_options const& options)
    : recorded_calls(options),
      queues_(std::make_unique<simulated::late_queues>(false, options.checks_order)),
      streams_(simulated::most_queues) {
  for (int c = 0; c < options_.cards; ++c) cards_.push_back(std::make_unique<card_memory>());
  for (auto& c : cards_) c->memory.open();
}

LOCUS_FUNCTION void recorded_cards::be_busy(bool yes) {
  lock_guard hold(one_at_a_time_);
  busy_ = yes;
}

LOCUS_FUNCTION void recorded_cards::make_context() {
  lock_guard hold(one_at_a_time_);
  contexts_.insert(device_);
}

LOCUS_FUNCTION int recorded_cards::most_streams_of_handle() const {
  std::size_t most = 0;
  for (auto const& h : handles_) most = h->streams.size() > most ? h->streams.size() : most;
  return static_cast<int>(most);
}

LOCUS_FUNCTION std::int64_t recorded_cards::open_bytes() const {
  std::int64_t n = 0;
  for (auto const& c : cards_) n += c->in_use;
  return n;
}

LOCUS_FUNCTION std::int64_t recorded_cards::pinned_bytes() const {
  std::int64_t n = 0;
  for (auto const& p : pinned_) n += static_cast<std::int64_t>(p.second);
  return n;
}

LOCUS_FUNCTION int recorded_cards::card_of(void const* p) const {
  for (std::size_t c = 0; c < cards_.size(); ++c)
    if (cards_[c]->memory.holds(p)) return static_cast<int>(c);
  return -1;
}

LOCUS_FUNCTION bool recorded_cards::is_pinned(void const* p) const {
  auto const above = pinned_.upper_bound(const_cast<void*>(p));
  if (above == pinned_.begin()) return false;
  auto const& [first, bytes] = *std::prev(above);
  return p < static_cast<char const*>(first) + bytes;
}

// ---- streams and events ----

LOCUS_FUNCTION int recorded_cards::open_streams() const {
  return static_cast<int>(std::count_if(streams_.begin(), streams_.end(), [](stream const& s) {
    return s.card >= 0 && !s.is_default;
  }));
}

LOCUS_FUNCTION int recorded_cards::make_stream(void** s, int card, bool is_default) {
  for (stream& each : streams_)
    if (each.card < 0) return each = {card, is_default}, *s = &each, 0;
  return runtime::cuda_out_of_memory;
}

LOCUS_FUNCTION int recorded_cards::end_stream(void* s) {
  if (!is_stream(s)) return 400;
  finish(queue_of(s));
  return at(s) = {}, 0;
}

LOCUS_FUNCTION bool recorded_cards::is_stream(void* s) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](stream const& each) {
    return &each == s && each.card >= 0 && !each.is_default;
  });
}

LOCUS_FUNCTION recorded_cards::stream& recorded_cards::at(void* s, int card) {
  if (s) return *static_cast<stream*>(s);
  for (stream& each : streams_)
    if (each.is_default && each.card == card) return each;
  if (make_stream(&s, card, true) != 0) throw bad_access("locus: a recorder has 64 streams");
  return *static_cast<stream*>(s);
}

LOCUS_FUNCTION void recorded_cards::finish(short queue) {
  queues_->run(queues_->last(queue));
  for (auto& [handle, e] : events_)
    if (e->at.queue == queue) e->at = {};
}

LOCUS_FUNCTION void recorded_cards::finish_card(int number) {
  runtime::unreported_waits const quiet(true);
  for (stream& s : streams_)
    if (s.card >= 0 && (number < 0 || s.card == number))
      finish(queue_of(&s)), queues_->synchronize(last_of(&s));
}

LOCUS_FUNCTION int recorded_cards::make_event(void** e, bool timed) {
  auto fresh = std::make_unique<event>();
  fresh->timed = timed;
  *e = fresh.get();
  events_[*e] = std::move(fresh);
  return 0;
}

LOCUS_FUNCTION int recorded_cards::card_of_event(void* e) const {
  stamp const s = static_cast<event*>(e)->at;
  return s.is_set() ? streams_[static_cast<std::size_t>(s.queue)].card : -1;
}

LOCUS_FUNCTION int recorded_cards::record(event& e, void* s) {
  if (e.timed)
    add(s, {}, [&e](recorded_cards& r) {  // runs when the stream reaches the event
      if (r.events_.contains(&e)) e.when = read_clock();
    });
  return e.at = last_of(s), 0;
}

LOCUS_FUNCTION int recorded_cards::query(event const& e, bool* reached) {
  *reached = options_.peers != peer_copies::freeze;
  if (busy_) *reached = queues_->has_run(e.at);
  if (*reached) queues_->synchronize(e.at);
  return 0;
}

LOCUS_FUNCTION int recorded_cards::elapsed(float& milliseconds, event const& begin,
                                           event const& end) {
  if (!begin.timed || !end.timed || begin.when == 0 || end.when == 0) return 400;
  milliseconds = static_cast<float>(static_cast<double>(end.when - begin.when) / 1e6);
  return 0;
}

LOCUS_FUNCTION void recorded_cards::join(void* const* streams, int n) {
  std::vector<stamp> reached;
  reached.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) reached.push_back(last_of(streams[i]));
  for (int i = 0; i < n; ++i)
    for (stamp const& s : reached) queues_->wait(queue_of(streams[i]), s);
}

LOCUS_FUNCTION void recorded_cards::run_all_of(void* const* streams, int n) {
  for (int i = 0; i < n; ++i) queues_->synchronize(last_of(streams[i]));
}

// ---- work of streams ----

class recorded_cards::opened {
 public:
  opened(recorded_cards& r, int first, int second = -1) : r_(r), cards_{first, second} {
    set(true);
  }
  ~opened() { set(false); }

 private:
  void set(bool open) const {
    for (int c : cards_)
      if (c >= 0) r_.cards_[static_cast<std::size_t>(c)]->memory.open_face(open);
  }
  recorded_cards& r_;
  int cards_[2];
};

namespace detail {

/// a copy of a kernel's body, with the largest alignment that a body may have
inline void* aligned_body(std::vector<char> const& bytes) {
  alignas(64) static thread_local char body[runtime::cuda_launch::max_body_bytes];
  return std::memcpy(body, bytes.data(), bytes.size());
}
inline std::vector<char> bytes_of_body(void const* body, std::size_t n) {
  return {static_cast<char const*>(body), static_cast<char const*>(body) + n};
}

template <class T>
void multiply(runtime::cuda_gemm const& g) {
  using total = total_t<T>;
  auto read = [&](T x) {
    if constexpr (is_complex_v<T>)
      return static_cast<total>(x);
    else {
      if (!g.tf32) return static_cast<double>(x);
      auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      return static_cast<double>(std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu));
    }
  };
  for (int which = 0; which < g.batch; ++which) {
    auto const* const a = static_cast<T const*>(g.a) + which * g.a_step;
    auto const* const b = static_cast<T const*>(g.b) + which * g.b_step;
    auto* const to = static_cast<T*>(g.c) + which * g.c_step;
    for (int j = 0; j < g.n; ++j)
      for (int i = 0; i < g.m; ++i) {
        total sum(0);
        for (std::ptrdiff_t k = 0; k < g.k; ++k)
          sum += read(a[g.transpose_a ? k + std::ptrdiff_t(i) * g.lda : i + k * g.lda]) *
                 read(b[g.transpose_b ? j + k * g.ldb : k + std::ptrdiff_t(j) * g.ldb]);
        T& c = to[i + std::ptrdiff_t(j) * g.ldc];
        if (g.adds) sum += static_cast<total>(c);
        if (g.row) sum += static_cast<total>(static_cast<T const*>(g.row)[i]);
        if constexpr (!is_complex_v<T>)
          if (g.relu && !(sum > 0)) sum = 0;
        c = static_cast<T>(sum);
      }
  }
}

}  // namespace detail

LOCUS_FUNCTION recorded_cards::announced_task recorded_cards::next_task(
    std::string_view otherwise) {
  announced_task next = std::exchange(announced_, {});
  if (next.record.name.empty()) next.record.name = otherwise;
  return next;
}

LOCUS_FUNCTION void recorded_cards::enqueue(void* s, std::function<void()> work,
                                            touched const& operand) {
  announced_task what{{-1, "a collective", device{}}, {}};
  if (runtime::running) what.record = *runtime::running;
  if (operand.bytes > 0) what.operands.push_back(operand);
  add(s, what, [card = at(s).card, work = std::move(work)](recorded_cards& r) {
    opened const open(r, card);
    work();
  });
}

LOCUS_FUNCTION int recorded_cards::copy(void* to, void const* from, std::size_t n, void* s,
                                        bool peer) {
  announced_task what = next_task("a copy");
  what.operands = {{to, n, true}};
  std::vector<char> staged;  // CUDA stages pageable memory before the call returns
  bool const stages = card_of(from) < 0 && !is_pinned(from);
  if (stages) {
    queues_->check_host(from, n, false, what.record);
    staged = detail::bytes_of_body(from, n);
  } else {
    what.operands.push_back({from, n, false});
  }
  bool const damage = peer && options_.peers == peer_copies::damage;
  add(s, what, [=, staged = std::move(staged)](recorded_cards& r) {
    opened const open(r, r.card_of(to), stages ? -1 : r.card_of(from));
    std::memcpy(to, stages ? staged.data() : from, n);
    if (damage) static_cast<char*>(to)[0] ^= 1;
  });
  return 0;
}

LOCUS_FUNCTION int recorded_cards::launch(runtime::cuda_launch const& w) {
  if (w.blocks == 0 || w.threads == 0 || w.threads > 1024 ||
      w.body_bytes > runtime::cuda_launch::max_body_bytes)
    return 9;
  add(w.stream, next_task("a kernel"),
      [w, card = at(w.stream).card,
       body = detail::bytes_of_body(w.body, w.body_bytes)](recorded_cards& r) {
        opened const open(r, card);
        w.on_host(detail::aligned_body(body), w.blocks, w.threads);
      });
  return 0;
}

LOCUS_FUNCTION int recorded_cards::run(runtime::cuda_algorithm const& a) {
  int const card = at(a.stream).card;
  if (a.bytes && (*a.bytes < asked_bytes || card_of(a.workspace) != card)) return 1;
  if (a.body_bytes > runtime::cuda_launch::max_body_bytes) return 1;
  add(a.stream, next_task(a.name),
      [card, run = a.on_host, workspace = a.workspace, n = a.bytes ? *a.bytes : 0,
       body = detail::bytes_of_body(a.body, a.body_bytes)](recorded_cards& r) {
        opened const open(r, card);
        if (n) std::memset(workspace, simulated::poison, n);
        run(detail::aligned_body(body));
      });
  return 0;
}

LOCUS_FUNCTION int recorded_cards::multiply(void* handle, runtime::cuda_gemm const& g) {
  auto const h = std::find_if(handles_.begin(), handles_.end(),
                              [&](auto& each) { return each.get() == handle; });
  if (h == handles_.end() || (*h)->card != at(g.stream).card) return 100001;
  if (g.workspace && card_of(g.workspace) != (*h)->card) return 100007;
  (*h)->streams.insert(g.stream);
  if (g.lda < (g.transpose_a ? g.k : g.m) || g.ldb < (g.transpose_b ? g.n : g.k) || g.ldc < g.m)
    return 7;
  add(g.stream, next_task("a product"), [g, card = (*h)->card](recorded_cards& r) {
    opened const open(r, card);
    switch (g.type) {
    case element::f64: return detail::multiply<double>(g);
    case element::f16: return detail::multiply<half>(g);
    case element::bf16: return detail::multiply<bfloat16>(g);
    case element::c64: return detail::multiply<complex<float>>(g);
    case element::c128: return detail::multiply<complex<double>>(g);
    default: return detail::multiply<float>(g);
    }
  });
  return 0;
}

LOCUS_FUNCTION void recorded_cards::retire(void* p, std::size_t bytes, void* s) {
  int const number = card_of(p);
  if (number < 0) return;
  queues_->retire(queue_of(s, number), gpu(number), {p, bytes, true}, [number, p, bytes] {
    now().cards_[static_cast<std::size_t>(number)]->memory.poison_range(p, bytes);
  });
}

// ---- memory and facts of cards ----

LOCUS_FUNCTION int recorded_cards::allocate(void** p, std::size_t n) {
  card_memory& c = *cards_[static_cast<std::size_t>(device_)];
  if (static_cast<std::int64_t>(n) > options_.bytes - c.in_use) return runtime::cuda_out_of_memory;
  *p = c.memory.allocate(n);
  if (!*p) return runtime::cuda_out_of_memory;
  c.blocks[*p] = n, c.in_use += static_cast<std::int64_t>(n);
  return 0;
}

LOCUS_FUNCTION int recorded_cards::release(void* p) {
  int const number = card_of(p);
  if (number < 0) return 1;
  card_memory& c = *cards_[static_cast<std::size_t>(number)];
  auto const found = c.blocks.find(p);
  if (found == c.blocks.end()) return 1;
  finish_card(number);
  c.memory.release(p, found->second);
  c.in_use -= static_cast<std::int64_t>(found->second);
  c.blocks.erase(found);
  return 0;
}

LOCUS_FUNCTION int recorded_cards::allocate_host(void** p, std::size_t n) {
  *p = ::operator new(n, std::align_val_t(256));
  return pin(*p, n), 0;
}

LOCUS_FUNCTION int recorded_cards::release_host(void* p) {
  finish_card(-1);
  if (pinned_.erase(p) == 0) return 1;
  ::operator delete(p, std::align_val_t(256));
  return 0;
}

LOCUS_FUNCTION int recorded_cards::describe_card(int number, runtime::cuda_device_facts* f) const {
  std::strcpy(f->name, "recorded GPU");
  f->total_bytes = static_cast<std::size_t>(options_.bytes), f->major = 9;
  std::strcpy(f->uuid, "GPU-00000000-0000-0000-0000-00000000000x");
  std::strcpy(f->bus, "00000000:0x:00.0");
  f->uuid[39] = static_cast<char>('0' + number % 10);
  f->bus[10] = options_.one_gpu ? '0' : f->uuid[39];
  return 0;
}

LOCUS_FUNCTION int recorded_cards::make_handle(void** handle) {
  handles_.push_back(std::make_unique<blas_handle>());
  handles_.back()->card = device_;
  return *handle = handles_.back().get(), 0;
}

}  // namespace locus::testing
