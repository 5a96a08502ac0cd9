// SPDX-License-Identifier: Apache-2.0
// The interface between loop nests and kernels, and the loops over parts of a row: rows shorter
// than a packet, and elements before a packet boundary. This code knows bytes, not element types,
// and is compiled once for all kernels.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>             // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/engine/host/row_kernel.hpp>  // plane

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// A kernel, as a loop nest calls it.
struct loop_kernel {
  /// runs rows of at least one packet; with streaming stores, of whole packets only
  void (*rows)(void const* context, plane const&);
  int ins, outs;
  int lanes;         // lanes of a packet; steps are then 0 or one element; 0: any step and length
  float cost;        // arithmetic for one element     units: nanoseconds, roughly
  int const* bytes;  // size of an element of each operand; 0: an index

  void run(void const* context, plane const& p) const;
  /// means: the rows of every output begin and end at a packet boundary
  bool lies_at_boundaries(plane const& p) const;
};

LOCUS_LEAN_BEGIN
/// means: to[0, n) = from[0, n) for n < 64 bytes; without a call
LOCUS_FUNCTION void copy_few(void* to, void const* from, std::int64_t n);

/// means: runs the kernel for rows shorter than a packet, whose steps have no gaps: a few rows at a
///        time, copied into whole packets
LOCUS_FUNCTION void run_short_rows(loop_kernel const& kernel, void const* context, plane const& p);

/// The rows of a plane, cut into parts that a packet kernel accepts.
struct row_parts {
  static constexpr int room = 64;  // size of the largest packet
  loop_kernel const& kernel;
  void const* context;
  plane const& p;
  plane_operand* at;      // operands of the current part
  unsigned char* buffer;  // `room` bytes for each operand

  int operands() const { return kernel.ins + kernel.outs; }
  unsigned char* buffer_of(int k) const { return buffer + k * room; }

  void run() const;

 private:
  /// means: operand k, starting at element `first` of row r
  plane_operand from(int k, std::int64_t r, std::int64_t first) const;
  void* place(int k, std::int64_t r, std::int64_t first) const {
    return reinterpret_cast<void*>(from(k, r, first).at);
  }
  void part(std::int64_t r, std::int64_t first, std::int64_t count, bool streams) const;
  /// means: operand k for a row shorter than a packet, in its buffer. Unused lanes repeat an
  ///        element of the row, so that they compute no value of their own.
  plane_operand padded(int k, std::int64_t r) const;
  /// means: elements of row r before all outputs reach a packet boundary; -1: they never do
  ///        together
  std::int64_t elements_before_boundary(std::int64_t r) const;
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

/// means: runs the kernel over rows of any length
inline void loop_kernel::run(void const* context, plane const& p) const {
  if (lanes == 0 || (p.streams ? lies_at_boundaries(p) : p.n >= lanes || p.n == 0))
    rows(context, p);
  else
    run_in_parts(*this, context, p);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host

#if LOCUS_HAS_BODIES
#include <locus/engine/host/bodies/loop_kernel.hpp>  // bodies of the functions above
#endif
