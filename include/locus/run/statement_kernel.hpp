// SPDX-License-Identifier: Apache-2.0
// Runs a local statement: compares extents and addresses, then calls the kernel.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/engine/host/nest.hpp>      // run_nest, run_small_row, time_of
#include <locus/run/operands.hpp>          // place_operand
#include <locus/run/statement.hpp>         // statement_code, statement_value, statement_run
#include <locus/run/statement_binder.hpp>  // note_leaf
#include <locus/run/values.hpp>            // find_overlap, byte_range
#include <locus/runtime/device_table.hpp>  // table
#include <locus/simd/instructions.hpp>     // chosen_clone
#include <locus/watch/watch.hpp>           // watched

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

// ---- for all local statements ----
/// means: the device table is built, no watcher listens, and no other device can have a part in a
///        kernel of a CPU
inline bool host_is_alone() {
  runtime::device_table const& t = runtime::table;
  return __atomic_load_n(&t.started, __ATOMIC_ACQUIRE) && runtime::watched() == 0 &&
         t.host_is_alone(checked_build);
}
/// means: each value that is read lies apart from the result, or is the result itself and read only
///        at the index that is written
inline bool lie_apart(statement_code const& c, statement_value const* values) {
  auto value = [&](int k) -> memory_value {
    return {values[k].local(), values[k].extents->rank, c.bytes[k]};
  };
  memory_value const to = value(c.reads);
  for (int k = 0; k < c.reads; ++k) {
    overlap const found = find_overlap(value(k), to);
    if (found == overlap::other || (found == overlap::same && k >= c.at_index)) return false;
  }
  return true;
}
/// means: calls kernel(), if the statement needs nothing besides; false: it needs the run-time
///        loop, and nothing was done. values: those that are read, then the destination; extents:
///        of the result
template <class Kernel>
[[gnu::always_inline]] inline bool run_statement(statement_code const& c,
                                                 statement_value const* values,
                                                 shape const& extents, bool may_overlap,
                                                 Kernel const& kernel) {
  if (!host_is_alone() || !(extents == *values[c.reads].extents)) return false;
  if (may_overlap && !lie_apart(c, values)) return false;
  kernel();
  ++runtime::executed.launches;
  return true;
}

LOCUS_LEAN_BEGIN
// ---- maps without a plan ----
/// means: the extents of the result; no_shape, if those of the leaves do not fit or a leaf has died
inline shape find_extents(statement_code const& c, statement_value const* leaves) {
  shape r;
  for (int k = 0; k < c.reads; ++k) {
    if (!leaves[k].extents) return no_shape;
    r = k == 0 ? *leaves[0].extents : broadcast(r, *leaves[k].extents);
  }
  return r;
}
/// means: the kernel for the instructions of this process
inline host::loop_kernel const& map_kernel_now(statement_code const& c) {
  return static_cast<host::loop_kernel const*>(c.kernels)[simd::chosen_clone()];
}
/// means: runs the kernel over the extents of the destination, with right-aligned leaves
inline void run_map_kernel(statement_code const& c, void const* context,
                           statement_value const* values) {
  shape const& whole = *values[c.reads].extents;
  kernel::space over;
  kernel::access operands[max_region_values + 1];
  over.rank = whole.rank;
  for (int d = 0; d < whole.rank; ++d) over.extent[d] = whole.extent[d];
  for (int k = 0; k <= c.reads; ++k)
    place_operand(operands[k], values[k].local(), values[k].extents->rank, over.rank, over.extent);
  host::loop_kernel const& kernel = map_kernel_now(c);
  if (over.rank == 1 && host::run_small_row(kernel, context, over, operands)) return;
  host::run_nest(kernel, context, over, operands);
}
LOCUS_LEAN_END

/// means: the most elements for which a kernel uses one thread and no stores past the caches
constexpr std::int64_t few_elements(host::loop_kernel const& kernel) {
  std::int64_t bytes = 0;
  for (int k = 0; k < kernel.ins + kernel.outs; ++k) bytes += kernel.bytes[k];
  std::int64_t const in_cache = (std::int64_t(1) << 20) / bytes;
  auto const alone =
      static_cast<std::int64_t>(2 * worth_a_woken_thread / host::time_of(kernel, 1, bytes)) - 1;
  return alone < in_cache ? alone : in_cache;
}

/// means: runs the kernel, if the tensors have equal extents and few elements, and each leaf is the
///        destination or lies apart from it; false: nothing was done
/// cost:  a comparison of extents and of addresses for each leaf
inline bool run_line(statement_code const& c, void const* context,
                     tensor_block const* const* blocks) {
  int const leaves = c.reads;
  if (!host_is_alone() || !blocks[leaves]) return false;
  host::plane_operand o[max_region_values + 1];
  shape const& whole = blocks[leaves]->extents;
  std::int64_t const n = whole.size();
  if (n > c.few) return false;
  auto place = [&](int k) {
    byte_range const at{blocks[k]->pieces[0].data, n * c.bytes[k]};
    o[k] = {reinterpret_cast<std::intptr_t>(at.first), c.bytes[k], 0};
    return at;
  };
  byte_range const written = place(leaves);
  for (int k = 0; k < leaves; ++k) {
    if (!blocks[k] || !(blocks[k]->extents == whole)) return false;
    byte_range const read = place(k);
    if (read.overlaps(written) && !(read == written)) return false;
  }
  if (n > 0) map_kernel_now(c).run(context, {o, 1, n, false});
  ++runtime::executed.launches;
  return true;
}
LOCUS_LEAN_BEGIN
/// means: the run-time loop runs the statement, with its plan
[[gnu::cold, gnu::noinline]] inline void run_in_loop(statement_run const& r) {
  auto* const loop = runtime::statement_loops[checked_build];
  (loop ? loop : runtime::statement_loops[!checked_build])(r);
}
/// means: runs the kernel, if the statement needs nothing besides; false: nothing was done
[[gnu::noinline]] inline bool run_maps(statement_code const& c, void const* context,
                                       statement_value const* values, shape const& extents,
                                       bool may_overlap) {
  return run_statement(c, values, extents, may_overlap,
                       [&] { run_map_kernel(c, context, values); });
}
/// means: runs the statement; to: the block of its destination, null if the tensor has none
[[gnu::noinline]] inline void run_values(statement_run const& r, statement_value* values,
                                         tensor_block const* to) {
  if (to) {
    note_leaf(values[r.code.reads], to);
    if (run_maps(r.code, r.context, values, find_extents(r.code, values), true)) return;
  }
  run_in_loop(r);
}
LOCUS_LEAN_END
/// means: runs the statement; blocks: those of its leaves, then of its destination
[[gnu::noinline]] inline void run_tensors(statement_code const& c, void const* context,
                                          tensor_block const* const* blocks, call_site site,
                                          target (*find)(void const*, shape const&),
                                          void const* whom) {
  if (run_line(c, context, blocks)) return;
  statement_value values[max_region_values + 1];
  for (int k = 0; k < c.reads; ++k) note_leaf(values[k], blocks[k]);
  run_values({c, context, values, site, nullptr, find, whom}, values, blocks[c.reads]);
}

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
