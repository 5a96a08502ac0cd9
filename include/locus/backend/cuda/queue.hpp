// SPDX-License-Identifier: Apache-2.0
// A CUDA stream as a queue: events mark points on it; it remembers its last steps.
#pragma once
#include <locus/core/lock.hpp>             // mutex
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>   // launch_site
#include <locus/runtime/device_table.hpp>  // logical_device, step_record

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Held while a queue records its steps: several host threads may use one device.
LOCUS_SHARED_STATE inline constinit mutex notes_lock;

/// The state of cuBLAS for a logical device.
struct cuda_products {
  void* handle = nullptr;
  void* workspace = nullptr;  // device memory, given back with the whole pool
  std::size_t bytes = 0;
};

/// The cuDNN handle of a logical device.
struct cuda_convolutions {
  void* handle = nullptr;
  bool none = false;  // cuDNN is missing, or refuses this card
};

/// A stream, and the events that mark points on it. A point keeps its event until the stream has
/// reached it; if all events are in use, their number doubles. So an event marks exactly the point
/// of its ticket, and a ticket without an event was reached.
struct cuda_queue {
  static constexpr unsigned kept = 32;       // events at the start
  static constexpr unsigned remembered = 8;  // steps that device_lost can name
  struct point {
    void* event = nullptr;
    std::uint64_t ticket = 0;  // 0: no point
    std::uint64_t
        behind[queues_of_device]{};  // steps of each queue of the device that lie before it
  };
  void* stream = nullptr;  // of locus, or of the program while it is lent
  mutex marking;           // held from taking a ticket to recording its event: both have one order
  std::uint64_t issued = 0;
  std::uint64_t reached = 0;  // points up to this one were reached; read without a lock
  point first_points[kept]{};
  point* points = first_points;  // ticket t is points[t % size]
  unsigned size = kept;
  void* own = nullptr;      // stream of locus, while the program's is lent
  bool is_lent = false;     // `stream` is the program's; null then means CUDA's default stream
  void* visitor = nullptr;  // the event that marks a point on a stream of the program
  cuda_products products;   // of the compute queue
  cuda_convolutions convolutions;
  // ---- for the message of device_lost ----
  step_record steps[remembered]{};  // the last steps: step n is steps[n % remembered]
  std::uint64_t given = 0, good = 0;
  std::uint64_t
      behind[queues_of_device]{};  // steps of the device's other queues that come before the next

  cuda_queue() = default;
  cuda_queue(cuda_queue const&) = delete;
  ~cuda_queue() {
    if (points != first_points) delete[] points;
  }
  /// null: the point was reached; the caller holds `marking`
  point* find(std::uint64_t ticket);
  /// doubles the number of points; new ones have no event yet; the caller holds `marking`
  void grow();
  /// gives the name of the next work of the queue, and to a recorder its operands
  void note(launch_site const& next);
  /// the caller holds `marking`; kind: the kind of this queue
  void note_mark(std::uint64_t ticket, queue_kind kind);
  /// this queue waits for a point of another queue of the same device
  void note_wait(cuda_queue const& other, std::uint64_t ticket);
  void note_reached(std::uint64_t ticket);
  /// all work before that point has run
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
