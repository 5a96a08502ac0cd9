// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/recorder.hpp declares.
#pragma once
#include <algorithm>  // find_if
#include <new>        // align_val_t

#include <locus/backend/devices.hpp>       // close_gpus
#include <locus/core/clock.hpp>            // read_clock
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION
#include <locus/testing/device_scope.hpp>  // push_built, pop_devices
#include <locus/testing/recorder.hpp>      // the declarations

namespace locus::testing {

LOCUS_FUNCTION recorder::recorder(recorder_options const& options)
    : options_(options), before_(runtime::gpu_api), nccl_before_(runtime::nccl) {
  runtime::require_no_tensors();
  for (int c = 0; c < options_.cards; ++c) cards_.push_back(std::make_unique<card>());
  for (auto& c : cards_) c->memory.open();
  close_found_devices();
  current() = this, device_ = 0;
  runtime::gpu_api = &api(), runtime::nccl = nullptr;
  try {
    detail::push_built({runtime::card_source::recorded});
  } catch (...) {
    leave_api();
    throw;
  }
}

LOCUS_FUNCTION recorder::~recorder() {
  if (successor_) return;
  if (runtime::table.live_blocks != 0) {
    auto* const keeps = new recorder(std::move(*this));
    keeps->successor_ = true;
    current() = keeps;
  }
  runtime::end_devices([] {
    detail::pop_devices();
    recorder* const last = current();
    last->leave_api();
    if (last->successor_) delete last;
  });
}

LOCUS_FUNCTION std::int64_t recorder::calls(std::string const& name) const {
  auto const found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

LOCUS_FUNCTION void recorder::fail_at(int n, int code) {
  options_.fail_at = n < 0 ? -1 : static_cast<int>(all_calls_) + n;
  options_.fail_with = code;
}

LOCUS_FUNCTION void recorder::be_busy(bool yes) {
  lock_guard hold(one_at_a_time_);
  busy_ = yes;
}

LOCUS_FUNCTION void recorder::fail_from(int n, int code) {
  fail_from_ = all_calls_ + n;
  options_.fail_with = code;
}

LOCUS_FUNCTION void recorder::make_context() {
  lock_guard hold(one_at_a_time_);
  contexts_.insert(device_);
}

LOCUS_FUNCTION int recorder::most_streams_of_handle() const {
  std::size_t most = 0;
  for (auto const& h : handles_) most = h->streams.size() > most ? h->streams.size() : most;
  return static_cast<int>(most);
}

LOCUS_FUNCTION std::int64_t recorder::open_bytes() const {
  std::int64_t n = 0;
  for (auto const& c : cards_) n += c->in_use;
  return n;
}

LOCUS_FUNCTION std::int64_t recorder::pinned_bytes() const {
  std::int64_t n = 0;
  for (auto const& p : pinned_) n += static_cast<std::int64_t>(p.second);
  return n;
}

LOCUS_FUNCTION void recorder::enqueue(void* s, std::function<void()> work) {
  task& t = add(s);
  t.work = std::move(work);
  t.run = [](recorder& r, task& me) {
    opened const open(r, me.card, -1);
    me.work();
  };
}

LOCUS_FUNCTION void recorder::join(void* const* streams, int n) {
  std::vector<event> reached;
  reached.reserve(std::size_t(n));
  for (int i = 0; i < n; ++i) reached.push_back({&at(streams[i]), last_of(at(streams[i]))});
  for (int i = 0; i < n; ++i)
    for (event const& e : reached)
      if (e.on != &at(streams[i])) at(streams[i]).waits.push_back(e);
}

LOCUS_FUNCTION void recorder::close_found_devices() {
  lock_guard hold(runtime::table.lock);
  runtime::detail::close_gpus();
}

LOCUS_FUNCTION void recorder::leave_api() {
  runtime::gpu_api = before_, runtime::nccl = nccl_before_;
  runtime::physical.known = false;
  current() = nullptr;
}

LOCUS_FUNCTION bool recorder::count(char const* name) {
  ++calls_[name];
  if (fail_name_ == name) return fail_name_.clear(), ++all_calls_, failed_call_ = name, true;
  std::int64_t const number = all_calls_++;
  if (number != options_.fail_at && number < fail_from_) return false;
  if (failed_call_.empty()) failed_call_ = name;
  return true;
}

LOCUS_FUNCTION int recorder::card_of(void const* p) const {
  for (std::size_t c = 0; c < cards_.size(); ++c)
    if (cards_[c]->memory.holds(p)) return static_cast<int>(c);
  return -1;
}

LOCUS_FUNCTION recorder::stream& recorder::at(void* s) {
  if (s) return *static_cast<stream*>(s);
  auto& found = default_streams_[device_];
  if (!found) found = std::make_unique<stream>(), found->card = device_;
  return *found;
}

LOCUS_FUNCTION bool recorder::is_lost(int which) const {
  if (which < 0) return false;
  return (which == lost_card_ && all_calls_ > lost_at_) || runtime::card_losses[which].code != 0;
}

LOCUS_FUNCTION recorder::task& recorder::add(stream& on) {
  task t;
  t.waits = std::move(on.waits);
  on.waits.clear();
  t.ticket = ++on.issued, t.card = on.card;
  on.tasks.push_back(std::move(t));
  return on.tasks.back();
}

LOCUS_FUNCTION std::uint64_t recorder::last_of(stream& s) {
  if (!s.waits.empty()) add(s).run = [](recorder&, task&) {};
  return s.issued;
}

LOCUS_FUNCTION void recorder::complete(stream& s, std::uint64_t ticket) {
  while (s.executed < ticket && !s.tasks.empty()) {
    task t = std::move(s.tasks.front());
    s.tasks.pop_front();
    for (std::size_t i = t.waits.size(); i-- > 0;) complete(*t.waits[i].on, t.waits[i].ticket);
    s.executed = t.ticket;
    if (!is_lost(s.card)) t.run(*this, t);
  }
}

LOCUS_FUNCTION void recorder::finish(stream& s) {
  complete(s, last_of(s));
  auto const is_done = [&](event const& e) { return e.on == &s; };
  auto const forget = [&](stream& other) {
    std::erase_if(other.waits, is_done);
    for (task& t : other.tasks) std::erase_if(t.waits, is_done);
  };
  for (auto& [handle, other] : streams_) forget(*other);
  for (auto& [number, other] : default_streams_) forget(*other);
  for (auto& [handle, e] : events_)
    if (is_done(*e)) e->on = nullptr, e->ticket = 0;
}

LOCUS_FUNCTION void recorder::opened::set(bool open) {
  for (int c : cards_)
    if (c >= 0) r_.cards_[static_cast<std::size_t>(c)]->memory.open_face(open);
}

LOCUS_FUNCTION runtime::cuda_api const& recorder::api() {
  static runtime::cuda_api const table = {
      .driver_version =
          [](int* v) {
            return me("driver_version", [&](recorder& r) { return *v = r.options_.driver, 0; });
          },
      .runtime_version =
          [](int* v) {
            return me("runtime_version", [&](recorder& r) { return *v = r.options_.toolkit, 0; });
          },
      .device_count =
          [](int* n) {
            return me("device_count", [&](recorder& r) {
              *n = r.options_.cards;
              return *n > 0 ? 0 : runtime::cuda_no_device;
            });
          },
      .get_device =
          [](int* d) { return me("get_device", [&](recorder&) { return *d = device_, 0; }); },
      .set_device =
          [](int d) {
            return me("set_device",
                      [&](recorder& r) { return device_ = d, r.contexts_.insert(d), 0; });
          },
      .device_facts =
          [](int card, runtime::cuda_device_facts* f) {
            return me("device_facts", [&](recorder& r) {
              std::strcpy(f->name, "recorded GPU");
              f->total_bytes = static_cast<std::size_t>(r.options_.bytes), f->major = 9;
              std::strcpy(f->uuid, "GPU-00000000-0000-0000-0000-00000000000x");
              std::strcpy(f->bus, "00000000:0x:00.0");
              f->uuid[39] = static_cast<char>('0' + card % 10);
              f->bus[10] = r.options_.one_gpu ? '0' : f->uuid[39];
              return 0;
            });
          },
      .kernel_runs =
          [](bool* runs) {
            return me("kernel_runs",
                      [&](recorder& r) { return *runs = r.options_.kernels_run, 0; });
          },
      .memory_free =
          [](std::size_t* free, std::size_t* total) {
            return me("memory_free", [&](recorder& r) {
              *total = static_cast<std::size_t>(r.options_.bytes);
              *free = *total -
                      static_cast<std::size_t>(r.cards_[static_cast<std::size_t>(device_)]->in_use);
              return 0;
            });
          },
      .memcpy_async =
          [](void* to, void const* from, std::size_t n, void* s) {
            return on_stream("memcpy_async", s,
                             [&](recorder& r) { return r.copy(to, from, n, s); });
          },
      .memcpy_peer_async =
          [](void* to, int, void const* from, int, std::size_t n, void* s) {
            return on_stream("memcpy_peer_async", s,
                             [&](recorder& r) { return r.copy(to, from, n, s, true); });
          },
      .stream_create =
          [](void** s) {
            return me("stream_create", [&](recorder& r) { return r.make_stream(s); });
          },
      .stream_destroy =
          [](void* s) {
            return me("stream_destroy", [&](recorder& r) {
              r.finish(r.at(s));
              return r.streams_.erase(s) == 1 ? 0 : 400;
            });
          },
      .stream_synchronize =
          [](void* s) {
            return on_stream("stream_synchronize", s, [&](recorder& r) {
              stream& on = r.at(s);
              return r.complete(on, r.last_of(on)), 0;
            });
          },
      .stream_wait_event =
          [](void* s, void* e) {
            return on_stream("stream_wait_event", s, [&](recorder& r) {
              if (!runtime::planted.no_waits && static_cast<event*>(e)->on)
                r.at(s).waits.push_back(*static_cast<event*>(e));
              return 0;
            });
          },
      .event_create =
          [](void** e) {
            return me("event_create", [&](recorder& r) {
              auto fresh = std::make_unique<event>();
              *e = fresh.get();
              r.events_[fresh.get()] = std::move(fresh);
              return 0;
            });
          },
      .event_destroy =
          [](void* e) {
            return me("event_destroy",
                      [&](recorder& r) { return r.events_.erase(e) == 1 ? 0 : 400; });
          },
      .event_record =
          [](void* e, void* s) {
            return on_stream("event_record", s, [&](recorder& r) {
              stream& on = r.at(s);
              auto& what = *static_cast<event*>(e);
              if (what.timed) r.add_time_stamp(s, e);
              what.on = &on, what.ticket = r.last_of(on);
              return 0;
            });
          },
      .event_synchronize =
          [](void* e) {
            return on_card(
                "event_synchronize", [e](recorder&) { return card_of_event(e); },
                [&](recorder& r) {
                  event const& what = *static_cast<event*>(e);
                  if (what.on) r.complete(*what.on, what.ticket);
                  return 0;
                });
          },
      .launch =
          [](runtime::cuda_launch const& w) {
            return on_stream("launch", w.stream, [&](recorder& r) { return r.launch(w); });
          },
      .last_error = [] { return __atomic_exchange_n(&current()->pending_, 0, __ATOMIC_RELAXED); },
      .gemm =
          [](void* handle, runtime::cuda_gemm const& g) {
            return on_stream(g.batch > 1 ? "gemm_batch"
                             : g.tf32    ? "gemm_tf32"
                                         : "gemm",
                             g.stream, [&](recorder& r) { return r.multiply(handle, g); });
          },
      .device_of_pointer =
          [](void const* p, int* device) {
            current()->make_context();
            return *device = current()->card_of(p), 0;
          },  // a check, not a call
      .describe =
          [](int code) {
            return code == 719 ? "unspecified launch failure"
                   : code == 2 ? "out of memory"
                               : "an error";
          },
      .is_recorder = true,
      .malloc_device =
          [](void** p, std::size_t n) {
            return on_card(
                "malloc_device", [](recorder& r) { return r.device_; },
                [&](recorder& r) { return r.allocate(p, n); });
          },
      .free_device =
          [](void* p) { return me("free_device", [&](recorder& r) { return r.release(p); }); },
      .malloc_host =
          [](void** p, std::size_t n) {
            return me("malloc_host", [&](recorder& r) {
              *p = ::operator new(n, std::align_val_t(256));
              r.pin(*p, n);
              return 0;
            });
          },
      .free_host =
          [](void* p) {
            return me("free_host", [&](recorder& r) {
              for (auto& [handle, s] : r.streams_) r.finish(*s);
              if (r.pinned_.erase(p) == 0) return 1;
              ::operator delete(p, std::align_val_t(256));
              return 0;
            });
          },
      .retired =
          [](void* p, std::size_t n, void* s) {  // poisoned in its turn; not a call
            lock_guard hold(one_at_a_time_);
            task& t = current()->add(s);
            t.to = p, t.size = n, t.card = current()->card_of(p);
            t.run = [](recorder& r, task& me) {
              if (me.card >= 0)
                r.cards_[static_cast<std::size_t>(me.card)]->memory.poison_range(me.to, me.size);
            };
          },
      .library_versions =
          [](int* cublas, int* nccl, int* cudnn) {
            return *cublas = 130000, *nccl = 22700, *cudnn = 91900, 0;
          },
      .stream_create_with =
          [](void** s, int priority) {
            return me("stream_create_with", [&](recorder& r) {
              if (priority < -5 || priority > 0) return 1;
              r.priorities_.push_back(priority);
              return r.make_stream(s);
            });
          },
      .event_query =
          [](void* e, bool* reached) {
            return on_card(
                "event_query", [e](recorder&) { return card_of_event(e); },
                [&](recorder& r) {
                  event const& what = *static_cast<event*>(e);
                  *reached = r.options_.peers != peer_copies::freeze;
                  if (r.busy_) return *reached = !what.on || what.on->executed >= what.ticket, 0;
                  if (what.on && *reached) r.complete(*what.on, what.ticket);
                  return 0;
                });
          },
      .can_access_peer =
          [](int, int, bool* can) {
            return me("can_access_peer", [&](recorder& r) {
              return *can = r.options_.peers != peer_copies::refused, 0;
            });
          },
      .enable_peer =
          [](int) {
            return me("enable_peer",
                      [&](recorder& r) { return r.options_.peers == peer_copies::fail ? 217 : 0; });
          },
      .stream_device =
          [](void* s, int* device) {
            return me("stream_device", [&](recorder& r) {
              if (s && !r.streams_.count(s)) return 400;  // CUDA's "invalid resource handle"
              return *device = r.at(s).card, 0;
            });
          },
      .is_read_later =
          [](void const* p, bool* later) {
            current()->make_context();
            return *later = current()->is_pinned(p), 0;
          },  // a check, not a call
      .timed_event_create =
          [](void** e) {
            return me("timed_event_create", [&](recorder& r) {
              auto fresh = std::make_unique<event>();
              fresh->timed = true;
              *e = fresh.get();
              r.events_[fresh.get()] = std::move(fresh);
              return 0;
            });
          },
      .event_elapsed =
          [](float* milliseconds, void* begin, void* end) {
            return me("event_elapsed", [&](recorder&) {
              auto const &a = *static_cast<event*>(begin), &b = *static_cast<event*>(end);
              if (!a.timed || !b.timed || a.when == 0 || b.when == 0) return 400;
              *milliseconds = static_cast<float>(static_cast<double>(b.when - a.when) / 1e6);
              return 0;
            });
          },
      .range_push =
          [](char const* name) {
            lock_guard hold(one_at_a_time_);
            recorder& r = *current();
            ++r.calls_["range_push"];
            return r.ranges_.push_back(name), 0;
          },  // a remark, not a call that could fail
      .range_pop =
          [] {
            lock_guard hold(one_at_a_time_);
            recorder& r = *current();
            return ++r.calls_["range_pop"], 0;
          },
      .algorithm =
          [](runtime::cuda_algorithm const& a) {
            if (a.bytes && !a.workspace)
              return me("algorithm_bytes", [&](recorder&) { return *a.bytes = asked_bytes, 0; });
            return on_stream(a.name, a.stream, [&](recorder& r) { return r.run(a); });
          },
      .blas_create =
          [](void** handle) {
            return me("blas_create", [&](recorder& r) {
              r.handles_.push_back(std::make_unique<blas_handle>());
              r.handles_.back()->card = device_;
              return *handle = r.handles_.back().get(), 0;
            });
          },
      .blas_destroy =
          [](void* handle) {
            me("blas_destroy", [&](recorder& r) {
              return std::erase_if(r.handles_, [&](auto& h) { return h.get() == handle; }), 0;
            });
          },
      .has_context =
          [](int card, bool* has) {
            return me("has_context",
                      [&](recorder& r) { return *has = r.contexts_.contains(card), 0; });
          },
      .peek_error = [] { return __atomic_load_n(&current()->pending_, __ATOMIC_RELAXED); },
      .stream_is_captured =
          [](void* s, bool* is) {
            return me("stream_is_captured",
                      [&](recorder& r) { return *is = r.captured_.contains(s), 0; });
          },
      .shared_memory = [] { return current()->options_.shared_memory; },
      .blas_workspace = [](int) { return std::size_t(64) << 10; },
      .gemm_with_row =
          [](void* handle, runtime::cuda_gemm const& g, bool asks, bool* has) {
            *has = current()->options_.adds_rows;
            if (asks || !*has) return 0;  // a question, not a call
            return on_stream(g.tf32 ? "gemm_with_row_tf32" : "gemm_with_row", g.stream,
                             [&](recorder& r) { return r.multiply(handle, g); });
          },
  };
  return table;
}

LOCUS_FUNCTION int recorder::make_stream(void** s) {
  auto fresh = std::make_unique<stream>();
  fresh->card = device_;
  *s = fresh.get();
  streams_[fresh.get()] = std::move(fresh);
  return 0;
}

LOCUS_FUNCTION int recorder::allocate(void** p, std::size_t n) {
  card& c = *cards_[static_cast<std::size_t>(device_)];
  if (static_cast<std::int64_t>(n) > options_.bytes - c.in_use) return runtime::cuda_out_of_memory;
  *p = c.memory.allocate(n);
  if (!*p) return runtime::cuda_out_of_memory;
  c.blocks[*p] = n, c.in_use += static_cast<std::int64_t>(n);
  return 0;
}

LOCUS_FUNCTION int recorder::release(void* p) {
  int const number = card_of(p);
  if (number < 0) return 1;
  card& c = *cards_[static_cast<std::size_t>(number)];
  auto const found = c.blocks.find(p);
  if (found == c.blocks.end()) return 1;
  for (auto& [handle, s] : streams_)
    if (s->card == number) finish(*s);
  c.memory.release(p, found->second);
  c.in_use -= static_cast<std::int64_t>(found->second);
  c.blocks.erase(found);
  return 0;
}

LOCUS_FUNCTION bool recorder::is_pinned(void const* p) const {
  auto const above = pinned_.upper_bound(const_cast<void*>(p));
  if (above == pinned_.begin()) return false;
  auto const& [first, bytes] = *std::prev(above);
  return p < static_cast<char const*>(first) + bytes;
}

LOCUS_FUNCTION int recorder::card_of_event(void* e) {
  stream const* const on = static_cast<event*>(e)->on;
  return on ? on->card : -1;
}

LOCUS_FUNCTION void recorder::add_time_stamp(void* s, void* e) {
  task& t = add(s);
  t.to = e;
  t.run = [](recorder& r, task& mine) {
    if (auto const found = r.events_.find(mine.to); found != r.events_.end())
      found->second->when = read_clock();
  };
}

LOCUS_FUNCTION int recorder::copy(void* to, void const* from, std::size_t n, void* s, bool peer) {
  task& t = add(s);
  t.to = to, t.from = from, t.size = n;
  t.damage = peer && options_.peers == peer_copies::damage;
  if (card_of(from) < 0 && !is_pinned(from)) {  // pageable memory is staged before we return
    t.bytes.assign(static_cast<char const*>(from), static_cast<char const*>(from) + n);
    t.from = nullptr;
  }
  t.run = [](recorder& r, task& me) {
    opened const open(r, r.card_of(me.to), me.from ? r.card_of(me.from) : -1);
    std::memcpy(me.to, me.from ? me.from : me.bytes.data(), me.size);
    if (me.damage) static_cast<char*>(me.to)[0] ^= 1;
  };
  return 0;
}

LOCUS_FUNCTION int recorder::launch(runtime::cuda_launch const& w) {
  if (w.blocks == 0 || w.threads == 0 || w.threads > 1024 ||
      w.body_bytes > runtime::cuda_launch::max_body_bytes)
    return 9;
  task& t = add(w.stream);
  t.launch = w;
  t.bytes.assign(static_cast<char*>(w.body), static_cast<char*>(w.body) + w.body_bytes);
  t.run = [](recorder& r, task& me) {
    opened const open(r, me.card, -1);
    alignas(64) static thread_local char body[runtime::cuda_launch::max_body_bytes];
    std::memcpy(body, me.bytes.data(), me.bytes.size());
    me.launch.on_host(body, me.launch.blocks, me.launch.threads);
  };
  return 0;
}

LOCUS_FUNCTION int recorder::run(runtime::cuda_algorithm const& a) {
  if (a.bytes && (*a.bytes < asked_bytes || card_of(a.workspace) != at(a.stream).card)) return 1;
  if (a.body_bytes > runtime::cuda_launch::max_body_bytes) return 1;
  task& t = add(a.stream);
  t.algorithm = a.on_host, t.to = a.workspace, t.size = a.bytes ? *a.bytes : 0;
  auto const* const body = static_cast<char const*>(a.body);
  t.bytes.assign(body, body + a.body_bytes);
  t.run = [](recorder& r, task& me) {
    opened const open(r, me.card, -1);
    alignas(64) static thread_local char copy[runtime::cuda_launch::max_body_bytes];
    std::memcpy(copy, me.bytes.data(), me.bytes.size());
    if (me.size) std::memset(me.to, simulated::poison, me.size);
    me.algorithm(copy);
  };
  return 0;
}

LOCUS_FUNCTION int recorder::multiply(void* handle, runtime::cuda_gemm const& g) {
  auto const h = std::find_if(handles_.begin(), handles_.end(),
                              [&](auto& each) { return each.get() == handle; });
  if (h == handles_.end() || (*h)->card != at(g.stream).card) return 100001;
  if (g.workspace && card_of(g.workspace) != (*h)->card) return 100007;
  (*h)->streams.insert(g.stream);
  if (g.lda < (g.transpose_a ? g.k : g.m) || g.ldb < (g.transpose_b ? g.n : g.k) || g.ldc < g.m)
    return 7;
  task& t = add(g.stream);
  t.gemm = g;
  t.run = [](recorder& r, task& me) {
    opened const open(r, me.card, -1);
    runtime::cuda_gemm one = me.gemm;
    auto each = [&]<class T>(std::type_identity<T>) {
      for (int i = 0; i < me.gemm.batch; ++i) {
        one.a = static_cast<T const*>(me.gemm.a) + i * me.gemm.a_step;
        one.b = static_cast<T const*>(me.gemm.b) + i * me.gemm.b_step;
        one.c = static_cast<T*>(me.gemm.c) + i * me.gemm.c_step;
        product<T>(one);
      }
    };
    switch (me.gemm.type) {
    case element::f64: return each(std::type_identity<double>{});
    case element::f16: return each(std::type_identity<half>{});
    case element::bf16: return each(std::type_identity<bfloat16>{});
    default: return each(std::type_identity<float>{});
    }
  };
  return 0;
}

}  // namespace locus::testing
