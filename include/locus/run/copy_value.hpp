// SPDX-License-Identifier: Apache-2.0
// Values from device to device, and the order in which queues touch memory:
//   between plans, a device's compute queue orders all accesses to its memory;
//   inside a plan, copies run on copy queues, behind what made the value and what used its target.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/value_memory.hpp>  // placing
#if LOCUS_CUDA_KERNELS
#include <locus/engine/gpu/call_teams.hpp>    // the teams of the unit
#include <locus/engine/gpu/card_context.hpp>  // bodies for cards
#include <locus/engine/gpu/kernels.hpp>  // common_kernels, which a compiled run time finds by name
#endif

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

class transport : protected placing {
 protected:
  using placing::placing;

  // ---- order ----
  /// the next work of d comes after value v of replica r has arrived
  void wait_for(int v, int r, logical_device& d);
  /// work on d is about to write there: copies that still read it come first
  void wait_for_readers(logical_device& d, queue_kind queue, byte_range const& range,
                        logical_device& owner);
  /// work beside the compute queue of d reads or writes there until `when`
  void in_flight(logical_device& d, byte_range const& range, stamp when) {
    pending_.push({&d, &d, range, when});
  }
  /// somebody else has that on his list
  void forget_in_flight(logical_device& d, byte_range const& range);
  /// every device's compute queue orders what touches its memory, and host memory is complete
  void settle();

  // ---- checks ----
  /// every operand lies in the memory of the device that touches it
  static void check_owner(logical_device const& d, void const* p, step_record const& r);

  // ---- moving ----
  /// One side of a move: a local value on a device; number: which value of the plan, -1 if it is
  /// none.
  struct side {
    logical_device* on;
    local_value const* at;
    int number = -1, replica = 0;
  };
  static void copy_strided(launch_site const& site, local_value const& to, local_value const& from,
                           int rank, int element_bytes);
  /// means: the elements of `from` at `to`, wherever both lie
  [[gnu::cold]] void carry(side const& to, side const& from, int rank, int element_bytes,
                           step_record const& record);

  /// the memory that carry takes to pack
  [[gnu::cold]] void foresee_carry(side const& to, side const& from, int rank, int element_bytes);

  /// a step number and a name, for messages
  step_record record_of(short i, device where) const { return {i, plan_.steps[i].name, where}; }

 private:
  [[noreturn, gnu::cold]] static void refuse_operand(step_record const& r, device owner);
  static bool in_one_memory(side const& to, side const& from) {
    return to.on == from.on || (to.on->is_host() && from.on->is_host());
  }
  static bool moves_as_block(local_value const& to, local_value const& from, int rank);
  [[gnu::cold]] void carry_inside(side const& to, side const& from, int rank, int element_bytes,
                                  step_record const& record);
  /// one block from device to device, on a copy queue, behind what made it and what used its target
  [[gnu::cold]] stamp cross(side const& to, side const& from, int rank, int element_bytes,
                            step_record const& record);

  /// a copy under way, and the memory it still reads
  struct pending_copy {
    logical_device *from = nullptr, *to = nullptr;
    byte_range source{};
    stamp when{};
  };
  dynamic_array<pending_copy> pending_;
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/copy_value.hpp>  // bodies of the functions above
#endif
