// SPDX-License-Identifier: Apache-2.0
// The adjoint of a slice with steps: elements at their places in a larger array, zeros between them.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE
#include <locus/ops/call.hpp>     // call_rule, call_cut, tile
#include <locus/shape/range.hpp>  // range

namespace locus::internal {

/// means: r = 0 but r[begin + j step] = x[j], along each axis of Cut
/// shape: that of x; along Cut the extents of `whole`
/// device: as x, which is whole, or in pieces along an axis that is not of Cut
template <axis_set Cut>
struct spread_op {
  static constexpr call_rule rule{.name = "slice.gradient",
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .fixed_bits = true};
  shape whole{};
  std::int64_t begin[max_rank]{}, step[max_rank]{};

  constexpr spread_op() = default;
  template <class Slice>
  constexpr spread_op(shape const& all, Slice const& op) : whole(all) {
    for (int a = 0; a < all.rank; ++a) {
      range const r = op.range_along(a);
      begin[a] = range::absolute(r.begin, all.extent[a]), step[a] = r.step.value;
    }
  }
  constexpr shape infer(int, shape x) const {
    for (int a = 0; a < x.rank; ++a)
      if (has_axis(Cut, a)) x.extent[a] = whole.extent[a];
    return x;
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = !has_axis(Cut, found[0])};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  template <int, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T> r,
                              tile<T const> x) const {
    std::int64_t from = 0, width = 1;
    for (int a = r.rank - 1; a >= 0; --a) {
      std::int64_t k = i % r.extent[a];
      i /= r.extent[a];
      if ((Cut >> a & 1) != 0) {
        k -= begin[a];
        if (k < 0 || k % step[a] != 0 || (k /= step[a]) >= x.extent[a]) return T(0);
      }
      from += k * width, width *= x.extent[a];
    }
    return x[from];
  }
};

}  // namespace locus::internal
