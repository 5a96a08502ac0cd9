// SPDX-License-Identifier: Apache-2.0
// A kernel as loop nests know it, and the parts of a row that it cannot take at once: rows of less
// than a packet, and what lies before a boundary. All this knows bytes alone, so that it is compiled
// once, not for each kernel.
#pragma once
#include <cstdint>  // int64_t, intptr_t

#include <locus/backend/host/plane.hpp>  // plane
#include <locus/core/config.hpp>         // LOCUS_MODE, LOCUS_LEAN_BEGIN

namespace locus::host {
inline namespace LOCUS_MODE {

/// What a loop nest knows of a kernel.
struct loop_kernel {
  /// rows of at least one packet; past the caches, of whole packets
  void (*rows)(void const* context, plane const&);
  int ins, outs;
  int lanes;         // of a packet: steps are the size of an element, or 0; 0: any steps, any n
  float cost;        // arithmetic of one element; units: nanoseconds, roughly
  int const* bytes;  // of an element of each operand; 0: an index

  void run(void const* context, plane const& p) const;
  /// means: the rows of every output begin and end where a packet does
  bool lies_at_boundaries(plane const& p) const {
    std::intptr_t apart = p.n & (lanes - 1);
    for (int k = ins; k < ins + outs; ++k)
      apart |= (p.operands[k].at | p.operands[k].row) & (std::intptr_t(lanes) * bytes[k] - 1);
    return apart == 0;
  }
};

LOCUS_LEAN_BEGIN
/// means: to[0, n) = from[0, n) for n < 64 bytes, without a call
inline void copy_few(void* to, void const* from, std::int64_t n) {
  auto* t = static_cast<char*>(to);
  auto const* f = static_cast<char const*>(from);
  if (n & 32) __builtin_memcpy(t, f, 32), t += 32, f += 32;
  if (n & 16) __builtin_memcpy(t, f, 16), t += 16, f += 16;
  if (n & 8) __builtin_memcpy(t, f, 8), t += 8, f += 8;
  if (n & 4) __builtin_memcpy(t, f, 4), t += 4, f += 4;
  if (n & 2) __builtin_memcpy(t, f, 2), t += 2, f += 2;
  if (n & 1) *t = *f;
}

/// The rows of a plane, in parts that a kernel on packets takes.
struct row_parts {
  static constexpr int room = 64;  // bytes of the largest packet
  loop_kernel const& kernel;
  void const* context;
  plane const& p;
  plane_operand* at;      // of the part at hand
  unsigned char* buffer;  // `room` bytes for each operand

  int operands() const { return kernel.ins + kernel.outs; }
  unsigned char* buffer_of(int k) const { return buffer + k * room; }

  void run() const {
    std::int64_t const n = p.n, lanes = kernel.lanes, packets = n / lanes;
    for (std::int64_t r = 0; r < p.rows; ++r) {
      if (packets == 0) {  // shorter than a packet: in and out through buffers
        for (int k = 0; k < operands(); ++k) at[k] = padded(k, r);
        kernel.rows(context, {at, 1, lanes, false});
        for (int k = kernel.ins; k < operands(); ++k)
          copy_few(place(k, r, 0), buffer_of(k), n * kernel.bytes[k]);
      } else {  // what is written past the caches is not read: parts may overlap
        std::int64_t const found = elements_before_boundary(r), head = found < 0 ? 0 : found;
        std::int64_t const whole = n < head ? 0 : (n - head) / lanes * lanes;
        if (head > 0) part(r, 0, lanes, false);
        if (whole > 0) part(r, head, whole, found >= 0);
        if (head + whole < n) part(r, n - lanes, lanes, false);
      }
    }
  }

 private:
  /// operand k from element `first` of row r on
  plane_operand from(int k, std::int64_t r, std::int64_t first) const {
    plane_operand const& o = p.operands[k];
    return {o.at + r * o.row + first * o.step, o.step, 0};
  }
  void* place(int k, std::int64_t r, std::int64_t first) const {
    return reinterpret_cast<void*>(from(k, r, first).at);
  }
  void part(std::int64_t r, std::int64_t first, std::int64_t count, bool streams) const {
    for (int k = 0; k < operands(); ++k) at[k] = from(k, r, first);
    kernel.rows(context, {at, 1, count, streams});
  }
  /// a row of less than a packet in a buffer, an element of it in the other lanes, so that no lane
  /// computes what nobody asked for
  plane_operand padded(int k, std::int64_t r) const {
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
  /// elements until every output lies at a multiple of its packet; -1: they never do
  std::int64_t elements_before_boundary(std::int64_t r) const {
    auto const before = [&](int k, std::int64_t elements) {
      return -from(k, r, elements).at & (std::int64_t(kernel.lanes) * kernel.bytes[k] - 1);
    };
    std::int64_t const head = before(kernel.ins, 0) / kernel.bytes[kernel.ins];
    for (int k = kernel.ins; k < operands(); ++k)
      if (before(k, head) != 0) return -1;
    return head;
  }
};
[[gnu::noinline]] inline void run_in_parts(loop_kernel const& kernel, void const* context,
                                           plane const& p) {
  std::size_t const operands = std::size_t(kernel.ins) + std::size_t(kernel.outs);
  auto* const at = static_cast<plane_operand*>(__builtin_alloca(operands * sizeof(plane_operand)));
  constexpr std::size_t room = row_parts::room;
  auto* const buffer =
      static_cast<unsigned char*>(__builtin_alloca_with_align(operands * room, 8 * room));
  row_parts{kernel, context, p, at, buffer}.run();
}
LOCUS_LEAN_END

/// means: the kernel over every row, of any length
inline void loop_kernel::run(void const* context, plane const& p) const {
  if (lanes == 0 || (p.streams ? lies_at_boundaries(p) : p.n >= lanes || p.n == 0))
    rows(context, p);
  else
    run_in_parts(*this, context, p);
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
