// SPDX-License-Identifier: Apache-2.0
// The loop nest around every element-wise kernel of the host: axes in the order in which outputs
// lie, as few as possible; the inner two are the kernel's, the others run as counters. It knows
// bytes and strides alone, so it is compiled once, not for each kernel.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>              // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/engine/host/loop_kernel.hpp>  // loop_kernel
#include <locus/runtime/threads.hpp>          // threads_worth
#include <locus/work/call.hpp>                // space

LOCUS_LEAN_BEGIN
namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// threads for a kernel that touches that many bytes, at 25 GB/s
inline int threads_for(std::int64_t bytes) {
  return threads_worth(static_cast<float>(bytes) * 0.04f);
}

/// means: kernel.run(context, p), whatever the steps of the operands
LOCUS_FUNCTION void run_plane(loop_kernel const& kernel, void const* context, plane const& p);

/// A kernel bound to its space; strides are in bytes, `base` is an address.
struct loop_nest {
  loop_kernel const& kernel;
  void const* context;
  kernel::space const& s;
  kernel::access const* a;
  bool gaps, streams;

  int operands() const { return kernel.ins + kernel.outs; }
  std::int64_t rows() const;
  /// means: of rows [begin, end) the elements [first, first + n)
  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t n) const;

 private:
  void run_planes(plane_operand* o, std::int64_t begin, std::int64_t end, std::int64_t n) const;
  void run(plane const& p) const;
};

/// means: the axis along which a transposed input lies side by side becomes the last but one
LOCUS_FUNCTION void pair_axes(kernel::space& s, kernel::access* a, loop_kernel const& kernel);

/// means: time of one thread     units: nanoseconds, roughly
constexpr float time_of(loop_kernel const& kernel, std::int64_t elements, std::int64_t bytes) {
  float const traffic = static_cast<float>(bytes) * 0.01f,
              work = static_cast<float>(elements) * kernel.cost;
  return traffic > work ? traffic : work;
}

/// Bytes of memory from `begin` to `end`, `touched` of them.
struct touched_range {
  std::intptr_t begin, end;
  std::int64_t touched;

  bool meets(touched_range const& o) const { return begin < o.end && o.begin < end; }
  void join(touched_range const& o);
};
/// means: what an operand touches; strides are in bytes
LOCUS_FUNCTION touched_range range_of(kernel::space const& s, kernel::access const& a, int bytes);

/// Bytes of a row that pay for its two ends, which do not go past the caches: measured, stencils
/// whose rows have 8 or 12 KB are faster without, those with 16 KB with it.
inline constexpr std::int64_t row_past_caches = 12288;

/// means: the rows of an output begin and end at boundaries of cache lines: they have no ends
LOCUS_FUNCTION bool writes_whole_lines(kernel::space const& s, kernel::access const& a, int bytes);

/// means: the statement touches more than the caches hold, where slices of one array are one, and
///        writes rows, long ones or whole lines, elements side by side, into memory that it does not read
LOCUS_FUNCTION bool goes_past_caches(loop_kernel const& kernel, kernel::space const& s,
                                     kernel::access const* a);

/// means: the kernel over one row that one thread does within the caches     false: it is none
LOCUS_FUNCTION bool run_small_row(loop_kernel const& kernel, void const* context,
                                  kernel::space const& s, kernel::access const* a);

/// means: the kernel at every point of the space     s, a: used up
/// cost:  one pass; threads share rows, or parts of rows where there are few
LOCUS_FUNCTION void run_nest(loop_kernel const& kernel, void const* context, kernel::space& s,
                             kernel::access* a);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host
LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/engine/host/bodies/nest.hpp>  // bodies of the functions above
#endif
