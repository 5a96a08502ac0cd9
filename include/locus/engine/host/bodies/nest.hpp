// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/host/nest.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/engine/host/nest.hpp>   // the declarations
#include <locus/engine/host/tiles.hpp>  // run_tiles, has_gaps
#include <locus/runtime/caches.hpp>     // last_level_cache
#include <locus/simd/native.hpp>        // end_of_stream

LOCUS_LEAN_BEGIN

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void run_plane(loop_kernel const& kernel, void const* context, plane const& p) {
  if (p.rows == 0 || p.n == 0) return;  // a kernel may read the first element
  bool gaps = false;
  for (int k = 0; k < kernel.ins + kernel.outs; ++k)
    gaps = gaps || has_gaps(p.operands[k].step, kernel.bytes[k]);
  if (gaps && kernel.lanes != 0 && p.n > 1)
    run_tiles(kernel, context, p);
  else
    kernel.run(context, p);
}

LOCUS_FUNCTION std::int64_t loop_nest::rows() const {
  std::int64_t n = 1;
  for (int d = 0; d + 1 < s.rank; ++d) n *= s.extent[d];
  return n;
}

LOCUS_FUNCTION void loop_nest::run(std::int64_t begin, std::int64_t end, std::int64_t first,
                                   std::int64_t n) const {
  int const last = s.rank - 1, outer = last - 1;  // axes before `outer` run as counters
  auto* const o = static_cast<plane_operand*>(
      __builtin_alloca(static_cast<std::size_t>(operands()) * sizeof(plane_operand)));
  for (int k = 0; k < operands(); ++k)
    o[k] = {a[k].base + first * a[k].stride[last], a[k].stride[last],
            outer < 0 ? 0 : a[k].stride[outer]};
  if (outer <= 0) {
    for (int k = 0; k < operands(); ++k) o[k].at += begin * o[k].row;
    run(plane{o, end - begin, n, streams});
  } else
    run_planes(o, begin, end, n);
  if (streams) simd::end_of_stream();
}

LOCUS_FUNCTION void loop_nest::run_planes(plane_operand* o, std::int64_t begin, std::int64_t end,
                                          std::int64_t n) const {
  int const outer = s.rank - 2;
  std::int64_t const rows = s.extent[outer];
  std::int64_t at[max_rank], row = begin % rows, i = begin / rows;
  for (int d = outer; d-- > 0; i /= s.extent[d]) {
    at[d] = i % s.extent[d];
    for (int k = 0; k < operands(); ++k) o[k].at += at[d] * a[k].stride[d];
  }
  for (std::int64_t left = end - begin;;) {
    std::int64_t const count = rows - row < left ? rows - row : left;
    for (int k = 0; k < operands(); ++k) o[k].at += row * o[k].row;
    run(plane{o, count, n, streams});
    for (int k = 0; k < operands(); ++k) o[k].at -= row * o[k].row;
    if ((left -= count) == 0) return;
    row = 0;
    for (int d = outer - 1;; --d) {
      bool const more = ++at[d] < s.extent[d];
      std::int64_t const steps = more ? 1 : 1 - s.extent[d];
      for (int k = 0; k < operands(); ++k) o[k].at += steps * a[k].stride[d];
      if (more) break;
      at[d] = 0;
    }
  }
}

LOCUS_FUNCTION void loop_nest::run(plane const& p) const {
  if (gaps || (p.n < kernel.lanes && p.rows > 1))
    run_tiles(kernel, context, p);
  else
    kernel.run(context, p);
}

LOCUS_FUNCTION void pair_axes(kernel::space& s, kernel::access* a, loop_kernel const& kernel) {
  int const all = kernel.ins + kernel.outs, last = s.rank - 1;
  for (int k = 0; k < kernel.ins; ++k) {
    int const bytes = kernel.bytes[k];
    if (bytes == 0 || a[k].stride[last] == 0 || a[k].stride[last] == bytes) continue;
    for (int d = 0; d < last; ++d) {
      if (a[k].stride[d] != bytes) continue;
      auto const rotate = [&](std::int64_t* values) {
        std::int64_t const v = values[d];
        for (int e = d; e < last - 1; ++e) values[e] = values[e + 1];
        values[last - 1] = v;
      };
      rotate(s.extent);
      for (int j = 0; j < all; ++j) rotate(a[j].stride);
      return;
    }
  }
}

LOCUS_FUNCTION void touched_range::join(touched_range const& o) {
  begin = begin < o.begin ? begin : o.begin, end = end > o.end ? end : o.end;
  touched = touched + o.touched < end - begin ? touched + o.touched : end - begin;
}

LOCUS_FUNCTION touched_range range_of(kernel::space const& s, kernel::access const& a, int bytes) {
  touched_range r{a.base, a.base + bytes, bytes};
  for (int d = 0; d < s.rank; ++d) {
    std::int64_t const way = a.stride[d] * (s.extent[d] - 1);
    (way < 0 ? r.begin : r.end) += way;
    if (a.stride[d] != 0) r.touched *= s.extent[d];
  }
  return r;
}

LOCUS_FUNCTION bool writes_whole_lines(kernel::space const& s, kernel::access const& a, int bytes) {
  std::intptr_t apart = a.base | s.extent[s.rank - 1] * bytes;
  for (int d = 0; d < s.rank - 1; ++d) apart |= a.stride[d];
  return apart % 64 == 0;
}

LOCUS_FUNCTION bool goes_past_caches(loop_kernel const& kernel, kernel::space const& s,
                                     kernel::access const* a) {
  int const all = kernel.ins + kernel.outs;
  if (kernel.lanes == 0) return false;
  auto* const ranges = static_cast<touched_range*>(
      __builtin_alloca(static_cast<std::size_t>(all) * sizeof(touched_range)));
  int count = 0;
  for (int k = 0; k < kernel.ins; ++k) {
    if (kernel.bytes[k] == 0) continue;
    touched_range r = range_of(s, a[k], kernel.bytes[k]);
    for (int i = 0; i < count;)
      if (ranges[i].meets(r))
        r.join(ranges[i]), ranges[i] = ranges[--count], i = 0;
      else
        ++i;
    ranges[count++] = r;
  }
  std::int64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += ranges[i].touched;
  for (int m = kernel.ins; m < all; ++m) {
    if (a[m].stride[s.rank - 1] != kernel.bytes[m]) return false;
    if (s.extent[s.rank - 1] * kernel.bytes[m] < row_past_caches &&
        !writes_whole_lines(s, a[m], kernel.bytes[m]))
      return false;
    touched_range const r = range_of(s, a[m], kernel.bytes[m]);
    for (int i = 0; i < count; ++i)
      if (ranges[i].meets(r)) return false;
    bytes += r.touched;
  }
  return bytes > runtime::last_level_cache();
}

LOCUS_FUNCTION bool run_small_row(loop_kernel const& kernel, void const* context,
                                  kernel::space const& s, kernel::access const* a) {
  int const all = kernel.ins + kernel.outs;
  std::int64_t const n = s.extent[0];
  auto* const o = static_cast<plane_operand*>(
      __builtin_alloca(static_cast<std::size_t>(all) * sizeof(plane_operand)));
  std::int64_t bytes = 0;
  for (int k = 0; k < all; ++k) {
    int const size = kernel.bytes[k];
    bytes += size;
    o[k] = size != 0
               ? plane_operand{reinterpret_cast<std::intptr_t>(a[k].data), a[k].stride[0] * size, 0}
               : plane_operand{a[k].base, a[k].stride[0], 0};
    if (kernel.lanes != 0 && has_gaps(o[k].step, size)) return false;
  }
  if (n == 0) return true;
  if (time_of(kernel, n, n * bytes) >= 2 * worth_a_woken_thread) return false;
  kernel.run(context, {o, 1, n, false});
  return true;
}

LOCUS_FUNCTION void run_nest(loop_kernel const& kernel, void const* context, kernel::space& s,
                             kernel::access* a) {
  int const all = kernel.ins + kernel.outs;
  for (int k = 0; k < all; ++k) {
    int const bytes = kernel.bytes[k];
    if (bytes == 0) continue;
    a[k].base = reinterpret_cast<std::intptr_t>(a[k].data);
    for (int d = 0; d < s.rank; ++d) a[k].stride[d] *= bytes;
  }
  if (s.rank != 1) {
    kernel::collapse(s, a, all);
    if (s.rank > 1) {
      kernel::sort_axes(s, a, all, kernel.ins);
      kernel::collapse(s, a, all);
      if (s.rank > 2 && kernel.lanes != 0) pair_axes(s, a, kernel);
    }
  }
  int const last = s.rank - 1;
  std::int64_t const n = s.extent[last];
  std::int64_t elements = 1, bytes = 0;
  for (int d = 0; d <= last; ++d) elements *= s.extent[d];
  if (elements == 0) return;
  bool gaps = false;
  for (int k = 0; k < all; ++k) {
    std::int64_t reached = kernel.bytes[k];
    for (int d = 0; d <= last; ++d)
      if (a[k].stride[d] != 0) reached *= s.extent[d];
    bytes += reached;
    gaps = gaps || (n > 1 && has_gaps(a[k].stride[last], kernel.bytes[k]));
  }
  bool const streams = bytes > runtime::last_level_cache() && goes_past_caches(kernel, s, a);
  loop_nest const nest{kernel, context, s, a, gaps && kernel.lanes != 0, streams};
  std::int64_t const rows = elements / n;
  int const threads = threads_worth(time_of(kernel, elements, bytes));
  if (threads == 1) return nest.run(0, rows, 0, n);
  if (rows >= 4 * threads) {
    std::int64_t each = (rows + threads - 1) / threads;
    if (gaps) each = (each + 15) / 16 * 16;
    return parallel_for(threads, threads, [&](int task) {
      std::int64_t const begin = task * each, end = begin + each < rows ? begin + each : rows;
      if (begin < end) nest.run(begin, end, 0, n);
    });
  }
  std::int64_t const part = ((n + threads - 1) / threads + 1023) / 1024 * 1024;
  parallel_for(threads, threads, [&](int task) {
    std::int64_t const first = task * part;
    if (first < n) nest.run(0, rows, first, n - first < part ? n - first : part);
  });
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host

LOCUS_LEAN_END
