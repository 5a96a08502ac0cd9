// SPDX-License-Identifier: Apache-2.0
// The elements of one block of memory into another one, wherever both lie: a plan of one transfer,
// made when the program runs.
#pragma once
#include <locus/execute/runner.hpp>  // runner
#include <locus/expr/block.hpp>      // tensor_block
#include <locus/plan/move.hpp>       // move_values
#include <locus/plan/schedule.hpp>   // schedule
#include <locus/tensor/storage.hpp>  // make_storage

namespace locus::detail {

/// means: to = from, element by element; the rows of assign_rows say by what, and values over two
///        different device lists go by way of the host
/// shape: both have the same extents and elements
/// cost:  the transfer, counted and logged as those of other plans
inline void move_block(tensor_block const& from, tensor_block& to) {
  step leaf;
  leaf.name = "tensor", leaf.type = from.type;
  leaf.element_bytes = static_cast<unsigned short>(from.element_bytes);
  leaf.where = from.where, leaf.extents = from.extents, leaf.why = reason::leaf;
  edge no_edges{};
  transfer crossing;
  root result{0, -1, to.where, to.where};
  action actions[2];
  level at = level::element;
  plan_view p{{&leaf, 1}, {&no_edges, 0}, {&crossing, 0}, {&result, 1}, {actions, 0}, {&at, 1}};
  if (move_values(p).error != plan_error::none) {  // no row in the table
    block_owner const middle =
        make_storage(single(cpu(0)), from.extents, from.type, from.element_bytes);
    move_block(from, *middle.get());
    return move_block(*middle.get(), to);
  }
  schedule(p);

  program only_this;
  only_this.plan = p;
  only_this.crossings = &runner::crossings;
  only_this.replicas =
      from.where.count() > to.where.count() ? from.where.count() : to.where.count();
  local_value values[2 * max_devices];
  local_layout layouts[2 * max_devices];
  stamp ready[2 * max_devices];
  slot slots[2];
  void const* objects[1]{};
  target into;
  into.where = to.where, into.extents = to.extents;
  for (int r = 0; r < from.where.count(); ++r) values[r] = from.local(r);
  for (int r = 0; r < to.where.count(); ++r) into.locals[r] = to.local(r);
  run_arrays const arrays{values, layouts, ready, &leaf.extents, slots, objects};
  static constexpr char moved = 0;
  run_watch seen;
  seen.log = runtime::is_watched(runtime::watcher::log) && runtime::is_wanted(&moved, {});
  seen.keeps = runtime::keeps_copies();
  runner(only_this, arrays, &into, seen).run();
}

}  // namespace locus::detail
