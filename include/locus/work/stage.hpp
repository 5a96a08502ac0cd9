// SPDX-License-Identifier: Apache-2.0
// The functor of a kernel: trees of functors over numbered inputs. The types of trees depend on
// operations and element types, not on devices or extents, so that launches on any device and of
// any extents share one kernel.
#pragma once
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>     // LOCUS_HOST_DEVICE
#include <locus/core/pack.hpp>       // pack, get
#include <locus/core/type_list.hpp>  // type_list
#include <locus/shape/element.hpp>   // compute_t

namespace locus::kernel {
inline namespace LOCUS_MODE {

// A tree is called with (in, slot_values, folds): the values of the inputs at one element, the shared
// values, and the results of the folds that are finished.

// Trees compute in compute_t: a half becomes a float in `input`, and a half again in `rounded` at
// the root of a tree.

/// input number K, of element type T
template <int K, class T>
struct input {
  using type = compute_t<T>;
  template <class In, class Slots, class Folds>
  LOCUS_HOST_DEVICE constexpr type operator()(In const& in, Slots const&, Folds const&) const {
    return get<K>(in);
  }
};
/// the value of a tree, converted to T
template <class T, class Tree>
struct rounded {
  using type = T;
  Tree tree;
  template <class In, class Slots, class Folds>
  LOCUS_HOST_DEVICE constexpr T operator()(In const& in, Slots const& slot_values,
                                           Folds const& folds) const {
    return static_cast<T>(tree(in, slot_values, folds));
  }
};
/// shared value number K, computed once for all its readers
template <int K, class T>
struct slot_value {
  using type = T;
  template <class In, class Slots, class Folds>
  LOCUS_HOST_DEVICE constexpr T operator()(In const&, Slots const& slot_values,
                                           Folds const&) const {
    return get<K>(slot_values);
  }
};
/// the result of fold number K
template <int K, class T>
struct fold_value {
  using type = T;
  template <class In, class Slots, class Folds>
  LOCUS_HOST_DEVICE constexpr T operator()(In const&, Slots const&, Folds const& folds) const {
    return get<K>(folds);
  }
};
/// true: the tree is the result of fold 0, rounded or not
template <class Tree>
inline constexpr bool is_fold_as_it_is = false;
template <class T>
inline constexpr bool is_fold_as_it_is<fold_value<0, T>> = true;
template <class T, class Tree>
inline constexpr bool is_fold_as_it_is<rounded<T, Tree>> = is_fold_as_it_is<Tree>;
/// a host scalar, stored by value
template <class T>
struct constant {
  using type = T;
  T value;
  template <class In, class Slots, class Folds>
  LOCUS_HOST_DEVICE constexpr T operator()(In const&, Slots const&, Folds const&) const {
    return value;
  }
};

/// f(args...); without [[no_unique_address]]: nvcc 13 refuses a kernel parameter that the attribute
/// makes empty
template <class T, class F, class... Args>
struct apply {
  using type = T;
  F f;
  pack<Args...> args;
  template <class In, class Slots, class Folds>
  LOCUS_HOST_DEVICE constexpr T operator()(In const& in, Slots const& slot_values,
                                           Folds const& folds) const {
    return call(in, slot_values, folds, std::index_sequence_for<Args...>{});
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <class In, class Slots, class Folds, std::size_t... Idx>
  LOCUS_HOST_DEVICE constexpr T call(In const& in, Slots const& slot_values, Folds const& folds,
                                     std::index_sequence<Idx...>) const {
    return f(get<Idx>(args)(in, slot_values, folds)...);
  }
};

template <class Slots, class Outs>
struct stage;
/// means: values[k] = value of slot tree k, in order; returns the values of the output trees
template <class... Slots, class... Outs>
struct stage<type_list<Slots...>, type_list<Outs...>> {
  using results = pack<typename Outs::type...>;
  pack<Slots...> slot_trees;
  pack<Outs...> outs;

  template <class In, class Folds>
  LOCUS_HOST_DEVICE constexpr results operator()(In const& in, Folds const& folds) const {
    return evaluate(in, folds, std::index_sequence_for<Slots...>{},
                    std::index_sequence_for<Outs...>{});
  }

 private:
  template <class In, class Folds, std::size_t... S, std::size_t... O>
  LOCUS_HOST_DEVICE constexpr results evaluate(In const& in, Folds const& folds,
                                               std::index_sequence<S...>,
                                               std::index_sequence<O...>) const {
    pack<typename Slots::type...> values{};
    ((get<S>(values) = get<S>(slot_trees)(in, values, folds)), ...);
    return results{{get<O>(outs)(in, values, folds)}...};
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::kernel
