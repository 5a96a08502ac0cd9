// SPDX-License-Identifier: Apache-2.0
// The short way of a statement at home: extents and addresses are compared, then its kernel runs.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/engine/host/nest.hpp>      // run_nest, run_small_row, time_of
#include <locus/run/home.hpp>              // home_code, home_value, home_run
#include <locus/run/home_binder.hpp>       // note_leaf
#include <locus/run/values.hpp>            // range_of, byte_range
#include <locus/runtime/device_table.hpp>  // table
#include <locus/simd/instructions.hpp>     // chosen_clone
#include <locus/watch/watch.hpp>           // watched

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

// ---- what may be slower ----
LOCUS_LEAN_BEGIN
/// means: the extents of the result; no_shape where those of the leaves do not fit
inline shape find_home_extents(home_code const& c, home_value const* leaves) {
  shape r;
  for (int k = 0; k < c.leaves; ++k) {
    if (!leaves[k].extents) return no_shape;
    r = k == 0 ? *leaves[0].extents : broadcast(r, *leaves[k].extents);
  }
  return r;
}

/// means: operands of a kernel over the extents of the destination, leaves right aligned
inline void place_home_values(home_code const& c, home_value const* values, kernel::space& over,
                              kernel::access* to) {
  shape const& whole = *values[c.leaves].extents;
  over.rank = whole.rank;
  for (int d = 0; d < whole.rank; ++d) over.extent[d] = whole.extent[d];
  for (int k = 0; k <= c.leaves; ++k) {
    home_value const& v = values[k];
    int const shift = whole.rank - v.extents->rank;
    to[k].data = v.data, to[k].base = 0;
    for (int d = 0; d < whole.rank; ++d) {
      bool const repeats = d < shift || (v.extents->extent[d - shift] == 1 && whole.extent[d] != 1);
      to[k].stride[d] = repeats ? 0 : v.strides[d - shift];
    }
  }
}
inline byte_range home_range(home_value const& v, int element_bytes) {
  return range_of({v.data, v.extents->extent, v.strides}, v.extents->rank, element_bytes);
}
/// means: what is read lies apart from the destination, or is read where it is written
inline bool home_lies_apart(home_code const& c, home_value const* values) {
  home_value const& to = values[c.leaves];
  int const rank = to.extents->rank, bytes = c.bytes[c.leaves];
  byte_range const written = home_range(to, bytes);
  for (int k = 0; k < c.leaves; ++k) {
    home_value const& v = values[k];
    if (!home_range(v, c.bytes[k]).overlaps(written)) continue;
    bool in_place = v.data == to.data && c.bytes[k] == bytes && *v.extents == *to.extents;
    for (int a = 0; a < rank && in_place; ++a)
      in_place = v.extents->extent[a] == 1 || v.strides[a] == to.strides[a];
    if (!in_place) return false;
  }
  return true;
}

/// means: the kernel for the instructions of this process
inline host::loop_kernel const& home_kernel_now(home_code const& c) {
  return static_cast<host::loop_kernel const*>(c.kernels)[simd::chosen_clone()];
}
inline void run_home_kernel(home_code const& c, void const* context, kernel::space& over,
                            kernel::access* operands) {
  host::loop_kernel const& kernel = home_kernel_now(c);
  if (over.rank == 1 && host::run_small_row(kernel, context, over, operands)) return;
  host::run_nest(kernel, context, over, operands);
}
LOCUS_LEAN_END

// ---- the short way ----
/// means: nothing but the kernel would happen: nobody watches, and no other device can have a part
///        in what runs on a CPU
inline bool home_alone() {
  runtime::device_table const& t = runtime::table;
  return __atomic_load_n(&t.started, __ATOMIC_ACQUIRE) && runtime::watched() == 0 &&
         t.host_is_alone(checked_build);
}

/// means: elements of a kernel that one thread handles and no store passes the caches for
constexpr std::int64_t few_elements(host::loop_kernel const& kernel) {
  std::int64_t bytes = 0;
  for (int k = 0; k < kernel.ins + kernel.outs; ++k) bytes += kernel.bytes[k];
  std::int64_t const in_cache = (std::int64_t(1) << 20) / bytes;
  auto const alone =
      static_cast<std::int64_t>(2 * worth_a_woken_thread / host::time_of(kernel, 1, bytes)) - 1;
  return alone < in_cache ? alone : in_cache;
}

/// means: tensors of equal extents, few elements, none read at another place than it is written: the
///        kernel has run     false: something else; nothing was done
/// cost:  a comparison of extents and of addresses for each leaf
inline bool run_home_line(home_code const& c, void const* context,
                          tensor_block const* const* blocks, bool may_overlap) {
  int const leaves = c.leaves;
  if (!home_alone() || !blocks[leaves]) return false;
  host::plane_operand o[max_region_values + 1];
  shape const& whole = blocks[leaves]->extents;
  std::int64_t const n = whole.size(), size = c.bytes[leaves];
  if (n > c.few) return false;
  auto const to = reinterpret_cast<std::intptr_t>(blocks[leaves]->pieces[0].data);
  o[leaves] = {to, size, 0};
  for (int k = 0; k < leaves; ++k) {
    tensor_block const* const b = blocks[k];
    if (!b || !(b->extents == whole)) return false;
    auto const at = reinterpret_cast<std::intptr_t>(b->pieces[0].data);
    std::int64_t const bytes = c.bytes[k];
    o[k] = {at, bytes, 0};
    bool const apart = at >= to + n * size || to >= at + n * bytes;
    if (may_overlap && !apart && (at != to || bytes != size)) return false;
  }
  if (n > 0) home_kernel_now(c).run(context, {o, 1, n, false});
  ++runtime::executed.launches;
  return true;
}
LOCUS_LEAN_BEGIN
/// means: the kernel, if nothing else has to happen     false: it has; nothing was done
[[gnu::noinline]] inline bool run_home_at_once(home_code const& c, void const* context,
                                               home_value const* values, bool may_overlap) {
  if (!home_alone() || !(find_home_extents(c, values) == *values[c.leaves].extents)) return false;
  if (may_overlap && !home_lies_apart(c, values)) return false;
  kernel::space over;
  kernel::access operands[max_region_values + 1];
  place_home_values(c, values, over, operands);
  run_home_kernel(c, context, over, operands);
  ++runtime::executed.launches;
  return true;
}
/// means: the run-time loop, with the plan written down
[[gnu::cold, gnu::noinline]] inline void run_home_in_loop(home_run const& r) {
  auto* const loop = runtime::home_loops[checked_build];
  (loop ? loop : runtime::home_loops[!checked_build])(r);
}

/// means: the statement, whose destination `to`, a tensor's block, is the last of the values
[[gnu::noinline]] inline void run_home_values(home_run const& r, home_value* values,
                                              tensor_block const* to) {
  if (to) {
    values[r.code.leaves] = {to->pieces[0].data, &to->extents, to->pieces[0].strides, to};
    if (run_home_at_once(r.code, r.context, values, true)) return;
  }
  run_home_in_loop(r);
}
LOCUS_LEAN_END
/// means: the statement; blocks: its leaves and its destination
[[gnu::noinline]] inline void run_home_tensors(home_code const& c, void const* context,
                                               tensor_block const* const* blocks, call_site site,
                                               target (*find)(void const*, shape const&),
                                               void const* whom) {
  if (run_home_line(c, context, blocks, true)) return;
  home_value values[max_region_values + 1];
  for (int k = 0; k < c.leaves; ++k) note_leaf(values[k], blocks[k]);
  run_home_values({c, context, values, site, nullptr, find, whom}, values, blocks[c.leaves]);
}

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
