// SPDX-License-Identifier: Apache-2.0
// sort_by_key: keys in rising order, and values in the order of their keys. A program includes this
// header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward, pair

#include <locus/algorithms/sort_by_key_op.hpp>  // sort_by_key_op
#include <locus/algorithms/sort_op.hpp>         // put_back_op, sort_op
#include <locus/core/macros.hpp>                // LOCUS_MODE
#include <locus/ops/call.hpp>                   // call, result
#include <locus/ops/generators.hpp>             // zeros
#include <locus/ops/run_time_extents.hpp>       // extents_now

namespace locus {

namespace algorithms {

template <int Axis>
template <class G, class Y, class Keys, class Values>
constexpr auto sort_by_key_op<Axis>::pullback(G const& g, Y const&, Keys const& keys,
                                              Values const&) {
  return make_pack(zeros<typename Keys::value_type>(internal::extents_now(keys)),
                   call(put_back_op<Axis>{}, g, call(sort_op<sort_result::places, Axis>{}, keys)));
}

}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: auto [k, v] = sort_by_key<Axis>(keys, values): the keys of each line along Axis in the order
///        of sort, and the values of the line in the order of their keys; equal keys keep their
///        order. Of two calls on operands of the same types in one plan, one operand needs a name:
///        sort_by_key(named<"keys">(keys), values)
/// shape: a std::pair of two expressions with the shape of keys, which is that of values
/// device: as keys and values, which are whole, or alike in pieces along another axis; other pieces
///         are gathered; pieces along Axis do not compile
/// cost:  one launch for both; no fusion. The host moves values with their keys; a GPU sorts the
///        keys with the numbers of the elements, then moves them. The gradient sorts once more
/// fails: at compile time, for an axis outside the rank, or for pieces along it; shape_error for other
///        extents of values; on a GPU for 2^31 - 1 elements or more
/// after: thrust::stable_sort_by_key. The derivative of v by values moves the adjoint back to the
///        places; that by keys is 0; k has none: sort(keys) has
template <int Axis = 0, tensor_operand Keys, tensor_operand Values>
constexpr auto sort_by_key(Keys&& keys, Values&& values) {
  using T = element_of_t<Keys>;
  constexpr int rank = expression_of_t<Keys>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  constexpr bool has_numbers = is_floating_v<T> || is_integer_v<T>;
  static_assert(has_axis,
                "locus: sort_by_key names an axis that its operands do not have; axes count from "
                "0, or from -1 backwards");
  static_assert(
      has_numbers,
      "locus: sort_by_key takes keys with an order; write sort_by_key<0>(cast<int>(keys), "
      "values) for booleans, and sort_by_key<0>(abs(keys), values) for complex numbers");
  if constexpr (has_axis && has_numbers) {
    auto const both = call(algorithms::sort_by_key_op<axis>{}, std::forward<Keys>(keys),
                           std::forward<Values>(values));
    return std::pair(result<1>(both), result<0>(both));
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
