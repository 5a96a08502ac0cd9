// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/recorded_api.hpp declares.
#pragma once
#include <algorithm>  // find

#include <locus/core/macros.hpp>           // LOCUS_FUNCTION
#include <locus/testing/recorded_api.hpp>  // the declarations

namespace locus::testing {

LOCUS_FUNCTION bool recorded_api::makes_context(std::string_view function) {
  constexpr std::string_view asks_alone[] = {"driver_version", "runtime_version", "device_count",
                                             "get_device",     "device_facts",    "can_access_peer",
                                             "has_context",    "set_device"};
  return std::find(std::begin(asks_alone), std::end(asks_alone), function) == std::end(asks_alone);
}

LOCUS_FUNCTION bool recorded_api::is_lost(recorded_cards& r, int card) {
  bool const lost = r.is_lost(card);
  if (lost) r.finish_card(card);
  return lost;
}

// a row: the function, its parameters, the card of the call or -1, the code that it returns
#define LOCUS_RECORDED(function, parameters, card, ...)                             \
  t.function = [] parameters {                                                      \
    return call(                                                                    \
        #function, [&]([[maybe_unused]] recorded_cards& r) -> int { return card; }, \
        [&]([[maybe_unused]] recorded_cards& r) -> int { return __VA_ARGS__; });    \
  }

LOCUS_FUNCTION runtime::cuda_api const& recorded_api::table() {
  static runtime::cuda_api const made = [] {
    using event = recorded_cards::event;
    runtime::cuda_api t{};
    t.is_recorder = true;
    // ---- versions and cards ----
    LOCUS_RECORDED(driver_version, (int* v), -1, *v = r.options_.driver, 0);
    LOCUS_RECORDED(runtime_version, (int* v), -1, *v = r.options_.toolkit, 0);
    LOCUS_RECORDED(device_count, (int* n), -1, *n = r.options_.cards,
                   *n > 0 ? 0 : runtime::cuda_no_device);
    LOCUS_RECORDED(get_device, (int* d), -1, *d = recorded_cards::device_, 0);
    LOCUS_RECORDED(set_device, (int d), -1, recorded_cards::device_ = d, r.contexts_.insert(d), 0);
    LOCUS_RECORDED(device_facts, (int card, runtime::cuda_device_facts* f), -1,
                   r.describe_card(card, f));
    LOCUS_RECORDED(kernel_runs, (bool* runs), -1, *runs = r.options_.kernels_run, 0);
    LOCUS_RECORDED(has_context, (int card, bool* has), -1, *has = r.contexts_.contains(card), 0);
    LOCUS_RECORDED(can_access_peer, (int, int, bool* can), -1,
                   *can = r.options_.peers != peer_copies::refused, 0);
    LOCUS_RECORDED(enable_peer, (int), -1, r.options_.peers == peer_copies::fail ? 217 : 0);
    t.library_versions = [](int* cublas, int* nccl, int* cudnn) {
      return *cublas = 130000, *nccl = 22700, *cudnn = 91900, 0;
    };
    t.shared_memory = [] { return recorded_cards::now().options_.shared_memory; };
    // ---- memory ----
    LOCUS_RECORDED(memory_free, (std::size_t* free, std::size_t* total), -1,
                   *total = static_cast<std::size_t>(r.options_.bytes),
                   *free = *total - r.bytes_in_use(), 0);
    LOCUS_RECORDED(malloc_device, (void** p, std::size_t n), recorded_cards::device_,
                   r.allocate(p, n));
    LOCUS_RECORDED(free_device, (void* p), -1, r.release(p));
    LOCUS_RECORDED(malloc_host, (void** p, std::size_t n), -1, r.allocate_host(p, n));
    LOCUS_RECORDED(free_host, (void* p), -1, r.release_host(p));
    LOCUS_RECORDED(memcpy_async, (void* to, void const* from, std::size_t n, void* s), r.at(s).card,
                   r.copy(to, from, n, s));
    LOCUS_RECORDED(memcpy_peer_async,
                   (void* to, int, void const* from, int, std::size_t n, void* s), r.at(s).card,
                   r.copy(to, from, n, s, true));
    // checks and announcements of the library, which are no calls of CUDA
    t.retired = [](void* p, std::size_t n, void* s) {
      lock_guard hold(recorded_cards::one_at_a_time_);
      recorded_cards::now().retire(p, n, s);
    };
    t.device_of_pointer = [](void const* p, int* device) {
      recorded_cards::now().make_context();
      return *device = recorded_cards::now().card_of(p), 0;
    };
    t.is_read_later = [](void const* p, bool* later) {
      recorded_cards::now().make_context();
      return *later = recorded_cards::now().is_pinned(p), 0;
    };
    t.announce = [](launch_site const& next) {
      recorded_cards::announced_ = {next.record,
                                    {next.operands, next.operands + next.operand_count}};
    };
    // ---- streams ----
    LOCUS_RECORDED(stream_create, (void** s), -1, r.make_stream(s));
    LOCUS_RECORDED(
        stream_create_with, (void** s, int priority), -1,
        priority < -5 || priority > 0 ? 1 : (r.priorities_.push_back(priority), r.make_stream(s)));
    LOCUS_RECORDED(stream_destroy, (void* s), -1, r.end_stream(s));
    LOCUS_RECORDED(stream_synchronize, (void* s), r.at(s).card,
                   r.queues_->synchronize(r.last_of(s)), 0);
    LOCUS_RECORDED(stream_wait_event, (void* s, void* e), r.at(s).card,
                   r.queues_->wait(r.queue_of(s), static_cast<event*>(e)->at), 0);
    LOCUS_RECORDED(stream_device, (void* s, int* device), -1,
                   s && !r.is_stream(s) ? 400 : (*device = r.at(s).card, 0));
    LOCUS_RECORDED(stream_is_captured, (void* s, bool* is), -1, *is = r.captured_.contains(s), 0);
    // ---- events ----
    LOCUS_RECORDED(event_create, (void** e), -1, r.make_event(e, false));
    LOCUS_RECORDED(timed_event_create, (void** e), -1, r.make_event(e, true));
    LOCUS_RECORDED(event_destroy, (void* e), -1, r.events_.erase(e) == 1 ? 0 : 400);
    LOCUS_RECORDED(event_record, (void* e, void* s), r.at(s).card,
                   r.record(*static_cast<event*>(e), s));
    LOCUS_RECORDED(event_synchronize, (void* e), r.card_of_event(e),
                   r.queues_->synchronize(static_cast<event*>(e)->at), 0);
    LOCUS_RECORDED(event_query, (void* e, bool* reached), r.card_of_event(e),
                   r.query(*static_cast<event*>(e), reached));
    LOCUS_RECORDED(
        event_elapsed, (float* milliseconds, void* begin, void* end), -1,
        r.elapsed(*milliseconds, *static_cast<event*>(begin), *static_cast<event*>(end)));
    // ---- kernels and libraries ----
    LOCUS_RECORDED(launch, (runtime::cuda_launch const& w), r.at(w.stream).card, r.launch(w));
    t.algorithm = [](runtime::cuda_algorithm const& a) {
      bool const asks = a.bytes && !a.workspace;
      return call(
          asks ? "algorithm_bytes" : a.name,
          [&](recorded_cards& r) { return asks ? -1 : r.at(a.stream).card; },
          [&](recorded_cards& r) {
            return asks ? (*a.bytes = recorded_cards::asked_bytes, 0) : r.run(a);
          });
    };
    LOCUS_RECORDED(blas_create, (void** handle), -1, r.make_handle(handle));
    t.blas_destroy = [](void* handle) {
      call(
          "blas_destroy", [](recorded_cards&) { return -1; },
          [&](recorded_cards& r) {
            return std::erase_if(r.handles_, [&](auto& h) { return h.get() == handle; }), 0;
          });
    };
    t.blas_workspace = [](int) { return std::size_t(64) << 10; };
    t.gemm = [](void* handle, runtime::cuda_gemm const& g) {
      return call(
          g.batch > 1 ? "gemm_batch"
          : g.tf32    ? "gemm_tf32"
                      : "gemm",
          [&](recorded_cards& r) { return r.at(g.stream).card; },
          [&](recorded_cards& r) { return r.multiply(handle, g); });
    };
    t.gemm_with_row = [](void* handle, runtime::cuda_gemm const& g, bool asks, bool* has) {
      *has = recorded_cards::now().options_.adds_rows;
      if (asks || !*has) return 0;  // a question, not a call
      return call(
          g.tf32 ? "gemm_with_row_tf32" : "gemm_with_row",
          [&](recorded_cards& r) { return r.at(g.stream).card; },
          [&](recorded_cards& r) { return r.multiply(handle, g); });
    };
    // ---- errors; NVTX, whose calls cannot fail ----
    t.last_error = [] {
      return __atomic_exchange_n(&recorded_cards::now().pending_, 0, __ATOMIC_RELAXED);
    };
    t.peek_error = [] {
      return __atomic_load_n(&recorded_cards::now().pending_, __ATOMIC_RELAXED);
    };
    t.describe = [](int code) {
      return code == 719 ? "unspecified launch failure" : code == 2 ? "out of memory" : "an error";
    };
    t.range_push = [](char const* name) {
      lock_guard hold(recorded_cards::one_at_a_time_);
      recorded_cards& r = recorded_cards::now();
      return ++r.calls_["range_push"], r.ranges_.push_back(name), 0;
    };
    t.range_pop = [] {
      lock_guard hold(recorded_cards::one_at_a_time_);
      return ++recorded_cards::now().calls_["range_pop"], 0;
    };
    return t;
  }();
  return made;
}

#undef LOCUS_RECORDED

}  // namespace locus::testing
