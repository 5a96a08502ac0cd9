// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/host/loop_kernel.hpp declares.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/engine/host/loop_kernel.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION bool loop_kernel::lies_at_boundaries(plane const& p) const {
  std::intptr_t apart = p.n & (lanes - 1);
  for (int k = ins; k < ins + outs; ++k)
    apart |= (p.operands[k].at | p.operands[k].row) & (std::intptr_t(lanes) * bytes[k] - 1);
  return apart == 0;
}

LOCUS_FUNCTION void copy_few(void* to, void const* from, std::int64_t n) {
  auto* t = static_cast<char*>(to);
  auto const* f = static_cast<char const*>(from);
  if (n & 32) __builtin_memcpy(t, f, 32), t += 32, f += 32;
  if (n & 16) __builtin_memcpy(t, f, 16), t += 16, f += 16;
  if (n & 8) __builtin_memcpy(t, f, 8), t += 8, f += 8;
  if (n & 4) __builtin_memcpy(t, f, 4), t += 4, f += 4;
  if (n & 2) __builtin_memcpy(t, f, 2), t += 2, f += 2;
  if (n & 1) *t = *f;
}

LOCUS_FUNCTION void run_short_rows(loop_kernel const& kernel, void const* context, plane const& p) {
  int const all = kernel.ins + kernel.outs;
  constexpr std::int64_t room = row_parts::room;
  auto* const o = static_cast<plane_operand*>(
      __builtin_alloca(static_cast<std::size_t>(all) * sizeof(plane_operand)));
  auto* const buffer = static_cast<unsigned char*>(__builtin_alloca_with_align(
      static_cast<std::size_t>(all * p.rows * room), 8 * row_parts::room));
  for (int k = 0; k < all; ++k) {
    plane_operand const& from = p.operands[k];
    std::int64_t const bytes = kernel.bytes[k];
    bool const is_input = k < kernel.ins;
    if (is_input && (bytes == 0 || from.step == 0)) {
      o[k] = from;
      continue;
    }
    unsigned char* const to = buffer + k * p.rows * room;
    o[k] = {reinterpret_cast<std::intptr_t>(to), bytes, room};
    for (std::int64_t r = 0; r < p.rows && is_input; ++r) {
      auto const* const begin = reinterpret_cast<unsigned char const*>(from.at + r * from.row);
      for (std::int64_t j = p.n; j < kernel.lanes; ++j)  // unused lanes repeat an element
        copy_few(to + r * room + j * bytes, begin, bytes);
      copy_few(to + r * room, begin, p.n * bytes);
    }
  }
  kernel.rows(context, {o, p.rows, kernel.lanes, false});
  for (int k = kernel.ins; k < all; ++k)
    for (std::int64_t r = 0; r < p.rows; ++r)
      copy_few(reinterpret_cast<void*>(p.operands[k].at + r * p.operands[k].row),
               buffer + (k * p.rows + r) * room, p.n * kernel.bytes[k]);
}

LOCUS_FUNCTION void row_parts::run() const {
  std::int64_t const n = p.n, lanes = kernel.lanes, packets = n / lanes;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    if (packets == 0) {  // shorter than a packet: through buffers
      for (int k = 0; k < operands(); ++k) at[k] = padded(k, r);
      kernel.rows(context, {at, 1, lanes, false});
      for (int k = kernel.ins; k < operands(); ++k)
        copy_few(place(k, r, 0), buffer_of(k), n * kernel.bytes[k]);
    } else {  // streaming stores are not read again: parts may overlap
      std::int64_t const found = elements_before_boundary(r), head = found < 0 ? 0 : found;
      std::int64_t const whole = n < head ? 0 : (n - head) / lanes * lanes;
      if (head > 0) part(r, 0, lanes, false);
      if (whole > 0) part(r, head, whole, found >= 0);
      if (head + whole < n) part(r, n - lanes, lanes, false);
    }
  }
}

LOCUS_FUNCTION plane_operand row_parts::from(int k, std::int64_t r, std::int64_t first) const {
  plane_operand const& o = p.operands[k];
  return {o.at + r * o.row + first * o.step, o.step, 0};
}

LOCUS_FUNCTION void row_parts::part(std::int64_t r, std::int64_t first, std::int64_t count,
                                    bool streams) const {
  for (int k = 0; k < operands(); ++k) at[k] = from(k, r, first);
  kernel.rows(context, {at, 1, count, streams});
}

LOCUS_FUNCTION plane_operand row_parts::padded(int k, std::int64_t r) const {
  plane_operand o = from(k, r, 0);
  std::int64_t const bytes = kernel.bytes[k];
  if (bytes == 0 || (k < kernel.ins && o.step == 0)) return o;
  unsigned char* const to = buffer_of(k);
  if (k < kernel.ins) {
    auto const* const begin = reinterpret_cast<unsigned char const*>(o.at);
    copy_few(to, begin, p.n * bytes);
    for (std::int64_t j = p.n; j < kernel.lanes; ++j) copy_few(to + j * bytes, begin, bytes);
  }
  o.at = reinterpret_cast<std::intptr_t>(to);
  return o;
}

LOCUS_FUNCTION std::int64_t row_parts::elements_before_boundary(std::int64_t r) const {
  auto const before = [&](int k, std::int64_t elements) {
    return -from(k, r, elements).at & (std::int64_t(kernel.lanes) * kernel.bytes[k] - 1);
  };
  std::int64_t const head = before(kernel.ins, 0) / kernel.bytes[kernel.ins];
  for (int k = kernel.ins; k < operands(); ++k)
    if (before(k, head) != 0) return -1;
  return head;
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host

LOCUS_LEAN_END
