// SPDX-License-Identifier: Apache-2.0
// A stream of CUDA as a queue: events that mark points on it, and the steps that it was given last.
#pragma once
#include <locus/core/config.hpp>    // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/core/lock.hpp>      // mutex
#include <locus/runtime/table.hpp>  // logical_device, step_record

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Held while a queue notes its steps: several host threads may use one device.
LOCUS_SHARED_STATE inline constinit mutex notes_lock;

/// What cuBLAS keeps for a logical device.
struct cuda_products {
  void* handle = nullptr;
  void* workspace = nullptr;  // of the device's memory, which takes it back as a whole
  std::size_t bytes = 0;
};

/// A stream and the events that mark points on it. A point has its event until it was reached: where all
/// events are under way there will be twice as many. So an event never means another point than that which is
/// asked for, and a ticket without one was reached.
struct cuda_queue {
  static constexpr unsigned kept = 32;       // events at the beginning
  static constexpr unsigned remembered = 8;  // steps that device_lost can name
  struct point {
    void* event = nullptr;
    std::uint64_t ticket = 0;            // 0: none
    std::uint64_t given = 0, other = 0;  // steps that lie before it, of this queue and of the other
  };
  void* stream = nullptr;  // ours, or the one that the user lent
  mutex marking;           // held from a ticket until its event is recorded: both have one order
  std::uint64_t issued = 0;
  std::uint64_t reached = 0;  // points up to this one are known to be; read without a lock
  point first_points[kept]{};
  point* points = first_points;  // ticket t is points[t % size]
  unsigned size = kept;
  void* own = nullptr;      // ours, while the user's is in its place
  bool is_lent = false;     // stream is the user's; null is CUDA's default stream then
  void* visitor = nullptr;  // the event that marks a point on a stream of the user
  cuda_products products;   // of the compute queue
  // ---- for the message of device_lost ----
  step_record steps[remembered]{};  // the last ones: number n is steps[n % remembered]
  std::uint64_t given = 0, good = 0;
  std::uint64_t other_given = 0;  // steps of the device's other queue that this one has behind it

  cuda_queue() = default;
  cuda_queue(cuda_queue const&) = delete;
  ~cuda_queue() {
    if (points != first_points) delete[] points;
  }
  /// null: it was reached; marking is held
  point* find(std::uint64_t ticket) {
    point& p = points[ticket % size];
    return p.ticket == ticket ? &p : nullptr;
  }
  /// twice as many points; those that are new have no event yet; marking is held
  void grow() {
    auto* const more = new point[2 * size];
    lock_guard hold(notes_lock);
    for (unsigned i = 0; i < size; ++i) more[points[i].ticket % (2 * size)] = points[i];
    if (points != first_points) delete[] points;
    points = more, size *= 2;
  }
  void note(step_record const& r) {
    lock_guard hold(notes_lock);
    steps[given++ % remembered] = r;
  }
  /// marking is held
  void note_mark(std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    point& p = points[ticket % size];
    p.ticket = ticket, p.given = given, p.other = other_given;
  }
  /// this queue waits for a point of the other
  void note_wait(cuda_queue const& other, std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    point const& p = other.points[ticket % other.size];
    if (p.ticket == ticket) raise(other_given, p.given);
  }
  void note_reached(std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    raise(reached, ticket);
  }
  /// what lies behind that point has run
  void note_good(cuda_queue& other, std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    raise(reached, ticket);
    point const& p = points[ticket % size];
    if (p.ticket != ticket) return;
    raise(good, p.given), raise(other.good, p.other);
  }

 private:
  static void raise(std::uint64_t& to, std::uint64_t value) {
    if (value > to) __atomic_store_n(&to, value, __ATOMIC_RELAXED);
  }
};
inline cuda_queue& cuda_queue_of(logical_device& d, queue_kind kind) {
  return *static_cast<cuda_queue*>(d.queues[static_cast<int>(kind)]);
}

}  // namespace locus::runtime

LOCUS_COLD_END
