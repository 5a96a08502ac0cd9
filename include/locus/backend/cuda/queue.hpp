// SPDX-License-Identifier: Apache-2.0
// A stream of CUDA as a queue: events that mark points on it, and the steps that it was given last.
#pragma once
#include <locus/core/lock.hpp>             // mutex
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>   // launch_site
#include <locus/runtime/device_table.hpp>  // logical_device, step_record

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

/// The handle of cuDNN that a logical device has.
struct cuda_convolutions {
  void* handle = nullptr;
  bool none = false;  // there is no cuDNN, or it cannot begin
};

/// A stream and the events that mark points on it. A point has its event until it was reached: where all
/// events are under way there will be twice as many. So an event never means another point than that which is
/// asked for, and a ticket without one was reached.
struct cuda_queue {
  static constexpr unsigned kept = 32;       // events at the beginning
  static constexpr unsigned remembered = 8;  // steps that device_lost can name
  struct point {
    void* event = nullptr;
    std::uint64_t ticket = 0;  // 0: none
    std::uint64_t
        behind[queues_of_device]{};  // steps of each queue of the device that lie before it
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
  cuda_convolutions convolutions;
  // ---- for the message of device_lost ----
  step_record steps[remembered]{};  // the last ones: number n is steps[n % remembered]
  std::uint64_t given = 0, good = 0;
  std::uint64_t
      behind[queues_of_device]{};  // steps of the device's other queues that come before the next

  cuda_queue() = default;
  cuda_queue(cuda_queue const&) = delete;
  ~cuda_queue() {
    if (points != first_points) delete[] points;
  }
  /// null: it was reached; marking is held
  point* find(std::uint64_t ticket);
  /// twice as many points; those that are new have no event yet; marking is held
  void grow();
  /// the next work of the queue; a recorder hears its operands, too
  void note(launch_site const& next);
  /// marking is held; kind: of this queue
  void note_mark(std::uint64_t ticket, queue_kind kind);
  /// this queue waits for a point of another one of the device
  void note_wait(cuda_queue const& other, std::uint64_t ticket);
  void note_reached(std::uint64_t ticket);
  /// all work before that point of one of these queues has run
  static void note_good(void* const (&queues)[queues_of_device], queue_kind kind,
                        std::uint64_t ticket);

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

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/queue.hpp>  // bodies of the functions above
#endif
