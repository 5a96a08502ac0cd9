// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/queue.hpp declares.
#pragma once
#include <locus/backend/cuda/queue.hpp>  // the declarations
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/cuda_api.hpp>    // gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION cuda_queue::point* cuda_queue::find(std::uint64_t ticket) {
  point& p = points[ticket % size];
  return p.ticket == ticket ? &p : nullptr;
}

LOCUS_FUNCTION void cuda_queue::grow() {
  auto* const more = new point[2 * size];
  lock_guard hold(notes_lock);
  for (unsigned i = 0; i < size; ++i) more[points[i].ticket % (2 * size)] = points[i];
  if (points != first_points) delete[] points;
  points = more, size *= 2;
}

LOCUS_FUNCTION void cuda_queue::note(launch_site const& next) {
  if (gpu_api->announce) gpu_api->announce(next);
  lock_guard hold(notes_lock);
  steps[given++ % remembered] = next.record;
}

LOCUS_FUNCTION void cuda_queue::note_mark(std::uint64_t ticket, queue_kind kind) {
  lock_guard hold(notes_lock);
  point& p = points[ticket % size];
  p.ticket = ticket;
  for (int k = 0; k < queues_of_device; ++k)
    p.behind[k] = k == static_cast<int>(kind) ? given : behind[k];
}

LOCUS_FUNCTION void cuda_queue::note_wait(cuda_queue const& other, std::uint64_t ticket) {
  lock_guard hold(notes_lock);
  point const& p = other.points[ticket % other.size];
  for (int k = 0; k < queues_of_device && p.ticket == ticket; ++k) raise(behind[k], p.behind[k]);
}

LOCUS_FUNCTION void cuda_queue::note_reached(std::uint64_t ticket) {
  lock_guard hold(notes_lock);
  raise(reached, ticket);
}

LOCUS_FUNCTION void cuda_queue::note_good(void* const (&queues)[queues_of_device], queue_kind kind,
                                          std::uint64_t ticket) {
  auto const queue = [&](int k) { return static_cast<cuda_queue*>(queues[k]); };
  cuda_queue& mine = *queue(static_cast<int>(kind));
  lock_guard hold(notes_lock);
  raise(mine.reached, ticket);
  point const& p = mine.points[ticket % mine.size];
  for (int k = 0; k < queues_of_device && p.ticket == ticket; ++k)
    raise(queue(k)->good, p.behind[k]);
}

}  // namespace locus::runtime

LOCUS_COLD_END
