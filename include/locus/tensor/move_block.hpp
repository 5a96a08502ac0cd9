// SPDX-License-Identifier: Apache-2.0
// Copies the elements of one tensor's memory to another's, on any devices.
#pragma once
#include <locus/expr/block.hpp>      // tensor_block
#include <locus/run/crossing.hpp>    // crossing
#include <locus/tensor/storage.hpp>  // make_storage

namespace locus::internal {

/// means: to = from, element by element, by the transfer that the table assign_rows gives; values
///        over two different device lists go through the host
/// shape: both have the same extents and elements
/// cost:  that of the transfer, counted and logged like the transfers of plans
inline void move_block(tensor_block const& from, tensor_block& to) {
  step what;
  what.name = "tensor", what.type = from.type;
  what.element_bytes = static_cast<unsigned short>(from.element_bytes);
  what.where = from.where.without_margin(), what.extents = from.extents;
  crossing across(what, to.where.without_margin());
  if (!across.is_possible()) {  // no row in the table
    block_owner const middle =
        make_storage(single(cpu(0)), from.extents, from.type, from.element_bytes);
    move_block(from, *middle.get());
    return move_block(*middle.get(), to);
  }
  local_value values[max_devices];
  target into;
  into.where = to.where.without_margin(), into.extents = to.extents;
  for (int r = 0; r < from.where.local_count(); ++r) values[r] = from.local(r);
  for (int r = 0; r < to.where.local_count(); ++r) into.locals[r] = to.local(r);
  across.run(values, into);
}

}  // namespace locus::internal
