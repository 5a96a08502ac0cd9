// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/streams.hpp declares.
#pragma once
#include <locus/backend/cuda/streams.hpp>         // the declarations
#include <locus/backend/cuda/timing.hpp>          // the_cuda_timing
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/collective_settings.hpp>  // issue_lock

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void close_streams(logical_device& d) noexcept {
  if (!gpu_api || !d.queues[0]) return;
  card_scope const scope(d.card);
  the_cuda_timing().forget(d.card);
  for (void*& queue : d.queues) {
    auto* const q = static_cast<cuda_queue*>(std::exchange(queue, nullptr));
    if (!q) continue;
    for (unsigned i = 0; i < q->size; ++i)
      if (void* const e = q->points[i].event) gpu_api->event_destroy(e);
    if (q->visitor) gpu_api->event_destroy(q->visitor);
    if (q->products.handle) {
      lock_guard issuing(issue_lock);  // cuBLAS frees memory
      gpu_api->blas_destroy(q->products.handle);
    }
    if (q->convolutions.handle) {
      lock_guard issuing(issue_lock);  // cuDNN waits for the card
      gpu_api->dnn_destroy(q->convolutions.handle);
    }
    void* const ours = q->is_lent ? q->own : q->stream;  // the program's stream stays open
    if (ours) gpu_api->stream_destroy(ours);
    delete q;
  }
}

LOCUS_FUNCTION void open_streams(logical_device& d) try {
  current_card scope(d);
  for (queue_kind const kind : queue_kinds) {
    void*& queue = d.queues[static_cast<int>(kind)];
    if (queue) continue;
    auto* const q = new cuda_queue;
    queue = q;
    int const priority = kind == queue_kind::communication ? highest_priority : d.priority;
    check_cuda(priority == 0 ? gpu_api->stream_create(&q->stream)
                             : gpu_api->stream_create_with(&q->stream, priority),
               "making a stream", d.name);
    for (cuda_queue::point& p : q->first_points)
      check_cuda(gpu_api->event_create(&p.event), "making an event", d.name);
  }
} catch (...) {
  close_streams(d);
  throw;
}

LOCUS_FUNCTION absence why_not_on(int card) {
  bool runs = false;
  card_scope const scope(card);
  int const code = scope.code() != cuda_success ? scope.code() : gpu_api->kernel_runs(&runs);
  if (code == cuda_success && runs) return absence::none;
  if (code != cuda_success) gpu_api->last_error();
  return code == cuda_card_taken ? absence::taken : absence::wrong_architecture;
}

LOCUS_FUNCTION void* cuda_obtain(logical_device& d, std::size_t bytes) {
  require_card(d);
  current_card scope(d);
  void* p = nullptr;
  lock_guard issuing(issue_lock);  // it may wait for all cards
  int const code = gpu_api->malloc_device(&p, bytes);
  if (code == cuda_out_of_memory) {
    gpu_api->last_error();
    return nullptr;
  }
  check_cuda(code, "allocating memory", d.name);
  return p;
}

LOCUS_FUNCTION void cuda_give_back(logical_device& d, void* p) noexcept {
  if (!gpu_api || !d.queues[0] || is_lost(d)) return;  // the process, or the card, ends
  try {
    current_card scope(d);
    lock_guard issuing(issue_lock);
    if (gpu_api->free_device(p) != cuda_success) gpu_api->last_error();
  } catch (error const&) {  // a lost card needs no free
  }
}

LOCUS_FUNCTION void cuda_retire(logical_device& d, void* p, std::size_t bytes) {
  if (gpu_api && gpu_api->retired && d.queues[0])
    gpu_api->retired(p, bytes, cuda_queue_of(d, queue_kind::compute).stream);
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION bool was_reached(cuda_queue& q, std::uint64_t ticket) {
  if (ticket <= __atomic_load_n(&q.reached, __ATOMIC_RELAXED)) return true;
  cuda_queue::point const* const p = q.find(ticket);
  bool reached = true;
  if (!p) return true;
  if (gpu_api->event_query(p->event, &reached) != cuda_success) return false;
  if (reached) q.note_reached(ticket);
  return reached;
}

LOCUS_FUNCTION void* event_for(cuda_queue& q, std::uint64_t ticket, device name) {
  std::uint64_t const oldest = q.points[ticket % q.size].ticket;
  if (oldest > __atomic_load_n(&q.reached, __ATOMIC_RELAXED) &&
      !was_reached(q, oldest + q.size / 2) && !was_reached(q, oldest))
    q.grow();
  void*& event = q.points[ticket % q.size].event;
  if (!event) check_cuda(gpu_api->event_create(&event), "making an event", name);
  return event;
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION stamp cuda_mark(logical_device& d, queue_kind kind) {
  require_card(d);
  cuda_queue& q = cuda_queue_of(d, kind);
  current_card scope(d);
  lock_guard hold(q.marking);
  std::uint64_t const ticket = q.issued + 1;
  check_cuda(gpu_api->event_record(detail::event_for(q, ticket, d.name), q.stream),
             "recording an event", d.name);
  q.note_mark(ticket, kind);
  q.issued = ticket;
  return {d.queue(kind), ticket};
}

LOCUS_FUNCTION void cuda_finish(logical_device& d) {
  for (queue_kind const k : queue_kinds) {
    current_card scope(d);
    check_cuda(gpu_api->stream_synchronize(cuda_queue_of(d, k).stream), "waiting for memory",
               d.name);
  }
  if (collective_report) collective_report();
}

LOCUS_FUNCTION void* cuda_event_of(stamp s) {
  cuda_queue& q = cuda_queue_of(s);
  lock_guard hold(q.marking);
  cuda_queue::point const* const p = q.find(s.ticket);
  return p ? p->event : nullptr;
}

LOCUS_FUNCTION void cuda_wait(logical_device& d, queue_kind kind, stamp s) {
  if (!s.is_set() || s.queue == d.queue(kind)) return;
  require_card(d);
  require_card(table.gpu_of_queue(s.queue));
  if (&table.gpu_of_queue(s.queue) == &d)
    cuda_queue_of(d, kind).note_wait(cuda_queue_of(s), s.ticket);
  current_card const scope(d);
  if (void* const event = cuda_event_of(s))
    check_cuda(gpu_api->stream_wait_event(cuda_queue_of(d, kind).stream, event),
               "waiting for an event", d.name);
}

LOCUS_FUNCTION void cuda_synchronize(stamp s) {
  if (!s.is_set()) return;
  logical_device& d = table.gpu_of_queue(s.queue);
  require_card(d);
  queue_kind const kind = kind_of_queue(s.queue);
  cuda_queue& q = cuda_queue_of(d, kind);
  card_scope const scope(d.card);
  void* const event = cuda_event_of(s);
  int const code = event ? gpu_api->event_synchronize(event) : cuda_success;
  if (code == cuda_success) {
    cuda_queue::note_good(d.queues, kind, s.ticket);
    if (collective_report) collective_report();
    return;
  }
  gpu_api->stream_synchronize(q.stream);
  check_cuda(code, "waiting for a GPU", d.name);
}

}  // namespace locus::runtime

LOCUS_COLD_END
