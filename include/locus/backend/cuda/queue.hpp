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

/// A stream and the events that mark points on it. Ticket t is marked by event t % kept; who waits
/// for an older ticket waits for a later point of the same stream, which is safe.
struct cuda_queue {
  static constexpr unsigned kept = 32;
  static constexpr unsigned remembered = 8;  // steps that device_lost can name
  void* stream = nullptr;                    // ours, or the one that the user lent
  std::uint64_t issued = 0;
  void* events[kept]{};
  void* own = nullptr;      // ours, while the user's is in its place
  bool is_lent = false;     // stream is the user's; null is CUDA's default stream then
  void* visitor = nullptr;  // the event that marks a point on a stream of the user
  cuda_products products;   // of the compute queue
  // ---- for the message of device_lost ----
  step_record steps[remembered]{};  // the last ones: number n is steps[n % remembered]
  std::uint64_t given = 0, good = 0;
  std::uint64_t other_given = 0;  // steps of the device's other queue that this one has behind it
  std::uint64_t given_at[kept]{}, other_at[kept]{};  // [ticket % kept]

  void note(step_record const& r) {
    lock_guard hold(notes_lock);
    steps[given++ % remembered] = r;
  }
  void note_mark(std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    given_at[ticket % kept] = given, other_at[ticket % kept] = other_given;
  }
  /// this queue waits for a point of the other
  void note_wait(cuda_queue const& other, std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    if (other.now() - ticket < kept) raise(other_given, other.given_at[ticket % kept]);
  }
  /// what lies behind that point has run
  void note_good(cuda_queue& other, std::uint64_t ticket) {
    lock_guard hold(notes_lock);
    if (now() - ticket >= kept) return;
    raise(good, given_at[ticket % kept]), raise(other.good, other_at[ticket % kept]);
  }

 private:
  std::uint64_t now() const { return __atomic_load_n(&issued, __ATOMIC_RELAXED); }
  static void raise(std::uint64_t& to, std::uint64_t value) {
    if (value > to) to = value;
  }
};
inline cuda_queue& cuda_queue_of(logical_device& d, queue_kind kind) {
  return *static_cast<cuda_queue*>(d.queues[static_cast<int>(kind)]);
}

}  // namespace locus::runtime

LOCUS_COLD_END
