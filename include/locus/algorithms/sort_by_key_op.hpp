// SPDX-License-Identifier: Apache-2.0
// sort_by_key as a step of a plan: the rule over replicas and the kernels of the host and of cards.
#pragma once
#include <type_traits>  // conditional

#include <locus/algorithms/around_axis.hpp>  // around_axis
#include <locus/algorithms/radix.hpp>        // keyed
#include <locus/algorithms/sort_op.hpp>      // sort_lines
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/engine/gpu/key_order.hpp>    // key_order
#include <locus/ops/call.hpp>                // call_rule, call_cut, tile
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/sort_by_key_card.hpp>  // cards::sort_lines_by_key
#endif

namespace locus::algorithms {

namespace host {
inline namespace LOCUS_MODE {

/// means: the keys of each line in rising order, and the values in the order of their keys; equal
///        keys keep their order
/// shape: all (outer, n, inner); a result that is null is not stored
template <class Key, class Value>
void sort_lines_by_key(Key const* keys, Value const* values, Key* sorted_keys, Value* sorted_values,
                       std::int64_t outer, std::int64_t n, std::int64_t inner) {
  using order = cuda_side::key_order<Key>;
  using item = keyed<typename order::bits, Value>;
  if (outer * n * inner == 0) return;
  sort_lines<item>(
      outer, n, inner,
      [&](std::int64_t at, std::int64_t) { return item{order::of(keys[at]), values[at]}; },
      [&](std::int64_t at, item const& i) {
        if (sorted_keys) sorted_keys[at] = order::key(i.key);
        if (sorted_values) sorted_values[at] = i.value;
      });
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: result 0: the values in the order of their keys, along each line of Axis; result 1: the
///        keys in rising order; stable
/// device: keys and values alike, whole or in pieces along another axis; other pieces are gathered
template <int Axis>
struct sort_by_key_op {
  static constexpr call_rule rule{.name = "sort_by_key",
                                  .operands = {call_role::rows, call_role::rows},
                                  .results = {call_role::rows, call_role::rows},
                                  .tensorflow = "TopKV2",
                                  .fixed_bits = true};
  template <int Result, class Key, class Value>
  using result = std::conditional_t<Result == 0, Value, Key>;
  static constexpr shape infer(int, shape keys, shape values) {
    if (keys.rank != values.rank || keys.rank <= Axis) return no_shape;
    for (int a = 0; a < keys.rank; ++a) {
      if (keys.extent[a] != values.extent[a] && keys.extent[a] != dyn && values.extent[a] != dyn)
        return no_shape;
      if (keys.extent[a] == dyn) keys.extent[a] = values.extent[a];
    }
    return keys;
  }
  static constexpr std::int64_t operations(shape, shape keys, shape) { return 20 * keys.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis && found[1] != Axis};
    c.operands[0] = c.operands[1] = c.axis = found[0] == found[1] ? found[0] : call_cut::whole;
    return c;
  }
  template <class Key, class Value>
  void host(call_context const&, tile<Value> sorted_values, tile<Key> sorted_keys,
            tile<Key const> keys, tile<Value const> values) const {
    around_axis const of(keys, Axis);
    host::sort_lines_by_key(keys.data, values.data, sorted_keys.data, sorted_values.data, of.outer,
                            of.n, of.inner);
  }
  /// means: as host(), bit for bit
  template <class Key, class Value>
  void card(card_context& here, tile<Value> sorted_values, tile<Key> sorted_keys,
            tile<Key const> keys, tile<Value const> values) const;

  /// the adjoint of a value is that of the place to which the sort moves the value; 0 for keys
  template <class G, class Y, class Keys, class Values>
  static constexpr auto pullback(G const& g, Y const& y, Keys const& keys, Values const& values);
};

#if LOCUS_CUDA_KERNELS
template <int Axis>
template <class Key, class Value>
void sort_by_key_op<Axis>::card(card_context& here, tile<Value> sorted_values,
                                tile<Key> sorted_keys, tile<Key const> keys,
                                tile<Value const> values) const {
  around_axis const of(keys, Axis);
  cards::sort_lines_by_key(here, keys.data, values.data, sorted_keys.data, sorted_values.data,
                           of.outer, of.n, of.inner);
}
#endif

}  // namespace locus::algorithms
