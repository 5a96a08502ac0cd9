// SPDX-License-Identifier: Apache-2.0
// histogram, bincount: how many elements are in each bin. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/histogram_op.hpp>  // count_op, count_between_op
#include <locus/algorithms/segment_sum.hpp>   // segment_sum
#include <locus/core/macros.hpp>              // LOCUS_MODE
#include <locus/ops/call.hpp>                 // call

namespace locus {

namespace algorithms {
inline namespace LOCUS_MODE {

template <std::int64_t Count, class Bins, class X>
constexpr auto counts_of(Bins const& bins, X&& x) {
  count_op<Bins, Count> op;
  op.bins = bins;
  return call(op, std::forward<X>(x));
}
template <std::int64_t Bins>
consteval bool can_be_bins() {
  constexpr bool fits = Bins >= 0 && Bins <= most_bins;
  static_assert(fits,
                "locus: a histogram has 0 to 2147483646 bins; write histogram<10>(x, 0., 1.) or "
                "bincount<10>(ids), or give a number that is known when the program runs as the "
                "last argument");
  return fits;
}
template <class X>
consteval bool has_numbers_to_count() {
  using T = element_of_t<X>;
  constexpr bool has_numbers = is_floating_v<T> || is_integer_v<T>;
  static_assert(
      has_numbers,
      "locus: histogram takes numbers with an order; write bincount<2>(cast<int>(x)) or sum(x) for "
      "booleans, and histogram<10>(abs(x), 0., 1.) or histogram<10>(real(x), 0., 1.) for complex "
      "numbers");
  return has_numbers;
}
template <class Ids>
consteval bool has_ids_to_count() {
  constexpr bool has_ids = is_integer_v<element_of_t<Ids>>;
  static_assert(has_ids, "locus: bincount reads integer ids; write bincount<10>(cast<int>(x)), or "
                         "histogram<10>(x, 0., 1.)");
  return has_ids;
}

}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[b] = the number of x with floor((x - low) * (Bins / (high - low))) == b, in double, over
///        all elements of x in [low, high]; high itself is in the last bin. Elements outside of the
///        range, and NaN, are not counted
/// shape: (Bins); histogram(x, low, high, bins): for a number that is known when the program runs
/// device: x in pieces along any axis: each replica has a term of the counts
/// cost:  one launch on the host, two on a GPU; one pass, no fusion
/// fails: at compile time, for booleans and complex numbers; configuration_error, for low and high that are no range
/// units: int64; no derivative
/// after: NumPy's histogram, whose last bin is closed too
template <std::int64_t Bins, tensor_operand X>
constexpr auto histogram(X&& x, double low, double high) {
  if constexpr (algorithms::can_be_bins<Bins>() && algorithms::has_numbers_to_count<X>())
    return algorithms::counts_of<Bins>(algorithms::even_bins(low, high, Bins), std::forward<X>(x));
}
template <tensor_operand X>
constexpr auto histogram(X&& x, double low, double high, std::int64_t bins) {
  if constexpr (algorithms::has_numbers_to_count<X>())
    return algorithms::counts_of<dyn>(algorithms::even_bins(low, high, bins), std::forward<X>(x));
}
/// means: r[b] = the number of x in [edges[b], edges[b + 1]); in the last bin: also those that equal
///        the last edge. Of bins between equal edges only the last has elements
/// shape: (extent of edges - 1); edges: one axis, one or more elements in rising order
/// device: as above; pieces of edges are gathered     cost: as above, and a binary search for each x
/// fails: at compile time, for edges of another element type or rank. For edges without order: on
///        the host and on simulated GPUs, shape_error that names the place; on cards, a kernel cannot
///        stop the program: counts have no meaning then
/// after: NumPy's histogram with a sequence of edges
template <tensor_operand X, tensor_operand Edges>
constexpr auto histogram(X&& x, Edges&& edges) {
  if constexpr (algorithms::has_numbers_to_count<X>()) {
    using T = element_of_t<X>;
    constexpr bool one_type = std::is_same_v<T, element_of_t<Edges>>;
    constexpr bool is_line = expression_of_t<Edges>::pattern.rank == 1;
    static_assert(one_type,
                  "locus: histogram compares elements with edges of their own type; write "
                  "histogram(x, cast<float>(edges)) for a tensor of floats");
    static_assert(is_line, "locus: the edges of a histogram have one axis; write "
                           "histogram(x, reshape<11>(edges))");
    if constexpr (one_type && is_line)
      return call(algorithms::count_between_op{}, std::forward<X>(x), std::forward<Edges>(edges));
  }
}

/// means: r[b] = the number of ids that are b
/// shape: (Bins); bincount(ids, bins): for a number that is known when the program runs
/// device, cost, units: as histogram
/// fails: at compile time, for ids that are not integers. For an id outside 0 ... bins - 1: on the
///        host and on simulated GPUs, shape_error that names id and place; cards leave the id out
/// after: NumPy's bincount, with a fixed number of bins
template <std::int64_t Bins, tensor_operand Ids>
constexpr auto bincount(Ids&& ids) {
  if constexpr (algorithms::can_be_bins<Bins>() && algorithms::has_ids_to_count<Ids>())
    return algorithms::counts_of<Bins>(algorithms::id_bins(Bins), std::forward<Ids>(ids));
}
template <tensor_operand Ids>
constexpr auto bincount(Ids&& ids, std::int64_t bins) {
  if constexpr (algorithms::has_ids_to_count<Ids>())
    return algorithms::counts_of<dyn>(algorithms::id_bins(bins), std::forward<Ids>(ids));
}
/// means: r[b] = the sum of the weights of ids that are b: segment_sum of one axis or more
/// shape: weights: as ids; the derivative by weights is that of segment_sum
template <std::int64_t Bins, tensor_operand Ids, tensor_operand Weights>
constexpr auto bincount(Ids&& ids, Weights&& weights) {
  return segment_sum<Bins>(std::forward<Weights>(weights), std::forward<Ids>(ids));
}
template <tensor_operand Ids, tensor_operand Weights>
constexpr auto bincount(Ids&& ids, Weights&& weights, std::int64_t bins) {
  return segment_sum(std::forward<Weights>(weights), std::forward<Ids>(ids), bins);
}

}  // namespace LOCUS_MODE
}  // namespace locus
