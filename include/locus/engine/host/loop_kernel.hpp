// SPDX-License-Identifier: Apache-2.0
// A kernel as loop nests know it, and the parts of a row that it cannot take at once: rows of less
// than a packet, and what lies before a boundary. All this knows bytes alone, so that it is compiled
// once, not for each kernel.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>             // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/engine/host/row_kernel.hpp>  // plane

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

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
  bool lies_at_boundaries(plane const& p) const;
};

LOCUS_LEAN_BEGIN
/// means: to[0, n) = from[0, n) for n < 64 bytes, without a call
LOCUS_FUNCTION void copy_few(void* to, void const* from, std::int64_t n);

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

  void run() const;

 private:
  /// operand k from element `first` of row r on
  plane_operand from(int k, std::int64_t r, std::int64_t first) const;
  void* place(int k, std::int64_t r, std::int64_t first) const {
    return reinterpret_cast<void*>(from(k, r, first).at);
  }
  void part(std::int64_t r, std::int64_t first, std::int64_t count, bool streams) const;
  /// a row of less than a packet in a buffer, an element of it in the other lanes, so that no lane
  /// computes what nobody asked for
  plane_operand padded(int k, std::int64_t r) const;
  /// elements until every output lies at a multiple of its packet; -1: they never do
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

/// means: the kernel over every row, of any length
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
