// SPDX-License-Identifier: Apache-2.0
// top_k: the largest or smallest elements of lines along an axis, and their places. A program
// includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/scan.hpp>      // is_cut_along
#include <locus/algorithms/top_k_op.hpp>  // top_k_op
#include <locus/core/macros.hpp>          // LOCUS_MODE
#include <locus/grad/stop_gradient.hpp>   // stop_gradient
#include <locus/ops/call.hpp>             // call, result

namespace locus {

/// The smallest elements instead of the largest.
struct smallest_t {};
inline constexpr smallest_t smallest{};

namespace algorithms {
inline namespace LOCUS_MODE {

template <bool Smallest, std::int64_t K, int Axis, class X>
constexpr auto top_of(X&& x) {
  using T = element_of_t<X>;
  using E = expression_of_t<X>;
  constexpr int rank = E::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  constexpr bool has_numbers = is_floating_v<T> || is_integer_v<T>;
  static_assert(has_axis,
                "locus: top_k names an axis that its operand does not have; axes count from 0, or "
                "from -1 backwards");
  static_assert(
      has_numbers,
      "locus: top_k takes numbers with an order; write top_k<5>(cast<int>(x)) for booleans, and "
      "top_k<5>(abs(x)) or top_k<5>(real(x)) for complex numbers");
  if constexpr (has_axis && has_numbers) {
    constexpr std::int64_t n = E::pattern.extent[axis];
    constexpr bool has_elements = K > 0 && (n == dyn || K <= n);
    static_assert(has_elements,
                  "locus: top_k takes 1 element of a line or more, and not more than the line has; "
                  "write top_k<5>(x), and the axis as the second number: top_k<5, 0>(x)");
    if constexpr (has_elements) {
      if constexpr (is_cut_along<axis, E>()) {
        auto pieces = as_operand<void>(std::forward<X>(x));
        auto const tops = call(top_of_pieces_op<Smallest, axis, K, devices_of_pieces<E>>{}, pieces);
        return call(top_of_tops_op<Smallest, axis, K>{}, std::move(pieces),
                    stop_gradient(result<0>(tops)), stop_gradient(result<1>(tops)));
      } else
        return call(top_k_op<Smallest, axis, K>{}, std::forward<X>(x));
    }
  }
}
/// means: g at the places of an array with the extents of x, 0 elsewhere
template <int Axis, class G, class Places, class X>
constexpr auto put_at(G const& g, Places const& places, X const& x) {
  put_at_op<Axis, X::pattern.extent[Axis]> op;
  if constexpr (X::pattern.extent[Axis] == dyn) op.extent = internal::shape_now(x).extent[Axis];
  return call(op, g, places);
}

}  // namespace LOCUS_MODE

template <bool Smallest, int Axis, std::int64_t K>
template <class G, class Y, class X>
constexpr auto top_k_op<Smallest, Axis, K>::pullback(G const& g, Y const& y, X const& x) {
  return put_at<Axis>(g, locus::result<1>(y), x);
}
template <bool Smallest, int Axis, std::int64_t K>
template <class G, class Y, class X, class Values, class Places>
constexpr auto top_of_tops_op<Smallest, Axis, K>::pullback(G const& g, Y const& y, X const& x,
                                                           Values const&, Places const&) const {
  return put_at<Axis>(g, locus::result<1>(y), x);
}

}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: two results: auto [values, places] = top_k<5>(x). values[a..., j, b...] = element j of
///        x[a..., ., b...] in falling order, j < K, a: Axis axes; places: where it stands along Axis.
///        Equal elements, -0.0 and 0.0 among them, by rising place; NaN first, as argmax.
///        top_k<5>(x, smallest): in rising order, NaN first, as argmin
/// shape: that of x with K along Axis, the last one without it     units: places: int64
/// device: x in pieces along another axis: as x, without traffic. In pieces along Axis: each replica
///         has the whole result: the K elements that each replica finds travel in an all-reduce (so
///         -0.0 becomes 0.0), and each replica picks K of them
/// cost:  one step, two and an all-reduce along a cut, where a computed x is computed for each of
///        them; no fusion. The host reads x once; a GPU sorts all elements, as argsort does
/// fails: at compile time, for an axis outside the rank, or K outside 1 ... its extent; shape_error
///        for such an extent that is known when the program runs; on a GPU for 2^31 - 1 elements or
///        more. Of two top_k of one type in one plan, one operand needs a name: top_k<5>(named<"x">(x))
/// after: TensorFlow's top_k; the derivative of the values puts the adjoint at their places
template <std::int64_t K, int Axis = -1, tensor_operand X>
constexpr auto top_k(X&& x) {
  return algorithms::top_of<false, K, Axis>(std::forward<X>(x));
}
template <std::int64_t K, int Axis = -1, tensor_operand X>
constexpr auto top_k(X&& x, smallest_t) {
  return algorithms::top_of<true, K, Axis>(std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
