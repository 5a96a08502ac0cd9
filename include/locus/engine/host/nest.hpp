// SPDX-License-Identifier: Apache-2.0
// The loop nest of every element-wise kernel of the host: the fewest axes, in the order of the
// output's strides; the kernel runs the two inner axes, counters run the other axes. The nest knows
// bytes and strides, not element types, and is compiled once for all kernels.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>              // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/engine/host/loop_kernel.hpp>  // loop_kernel
#include <locus/runtime/threads.hpp>          // threads_worth
#include <locus/work/call.hpp>                // space

LOCUS_LEAN_BEGIN
namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// means: threads worth using for a kernel that touches so many bytes, at 25 GB/s
inline int threads_for(std::int64_t bytes) {
  return threads_worth(static_cast<float>(bytes) * 0.04f);
}

/// means: kernel.run(context, p), for operands with any steps
LOCUS_FUNCTION void run_plane(loop_kernel const& kernel, void const* context, plane const& p);

/// A kernel with its space; strides are in bytes, `base` is an address.
struct loop_nest {
  loop_kernel const& kernel;
  void const* context;
  kernel::space const& s;
  kernel::access const* a;
  bool gaps, streams;

  int operands() const { return kernel.ins + kernel.outs; }
  std::int64_t rows() const;
  /// means: elements [first, first + n) of rows [begin, end)
  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t n) const;

 private:
  void run_planes(plane_operand* o, std::int64_t begin, std::int64_t end, std::int64_t n) const;
  void run(plane const& p) const;
};

/// means: the axis along which a transposed input is contiguous becomes the second innermost axis
LOCUS_FUNCTION void pair_axes(kernel::space& s, kernel::access* a, loop_kernel const& kernel);

/// means: time on one thread     units: nanoseconds, roughly
constexpr float time_of(loop_kernel const& kernel, std::int64_t elements, std::int64_t bytes) {
  float const traffic = static_cast<float>(bytes) * 0.01f,
              work = static_cast<float>(elements) * kernel.cost;
  return traffic > work ? traffic : work;
}

/// Addresses [begin, end), of which `touched` bytes are used.
struct touched_range {
  std::intptr_t begin, end;
  std::int64_t touched;

  bool meets(touched_range const& o) const { return begin < o.end && o.begin < end; }
  void join(touched_range const& o);
};
/// means: the bytes of an operand; strides are in bytes
LOCUS_FUNCTION touched_range range_of(kernel::space const& s, kernel::access const& a, int bytes);

/// The length of a row from which streaming stores pay for the two ends of a row, which do not
/// stream. Measured: stencils with rows of 8 or 12 KB are faster without them, with rows of 16 KB
/// faster with them.     units: bytes
inline constexpr std::int64_t row_past_caches = 12288;

/// means: the rows of an output begin and end at cache-line boundaries, so that all of a row
///        streams
LOCUS_FUNCTION bool writes_whole_lines(kernel::space const& s, kernel::access const& a, int bytes);

/// means: streaming stores pay: the statement touches more bytes than the last-level cache holds,
///        overlapping inputs counted once, and writes contiguous rows, long ones or whole cache
///        lines, into memory that it does not read
LOCUS_FUNCTION bool goes_past_caches(loop_kernel const& kernel, kernel::space const& s,
                                     kernel::access const* a);

/// means: runs one row that is small enough for one thread     false: it is not; nothing was done
LOCUS_FUNCTION bool run_small_row(loop_kernel const& kernel, void const* context,
                                  kernel::space const& s, kernel::access const* a);

/// means: runs the kernel at every point of the space; overwrites s and a
/// cost:  one pass; threads share the rows, or parts of rows if there are few
LOCUS_FUNCTION void run_nest(loop_kernel const& kernel, void const* context, kernel::space& s,
                             kernel::access* a);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host
LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/engine/host/bodies/nest.hpp>  // bodies of the functions above
#endif
