// SPDX-License-Identifier: Apache-2.0
// A value that the last fold of a row computes for each element and the final stage reads again, as
// the exp of softmax: it is stored in the result's memory instead of computed twice.
#pragma once
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/core/pack.hpp>       // make_pack, get
#include <locus/core/type_list.hpp>  // type_list
#include <locus/work/cost.hpp>       // cost_of
#include <locus/work/stage.hpp>      // stage, apply, fold_value, input, slot_value

namespace locus::host {
inline namespace LOCUS_MODE {

namespace detail {
/// means: all trees of this type have the same value: they store no constants
template <class Tree>
inline constexpr bool is_type_alone = true;
template <class T>
inline constexpr bool is_type_alone<kernel::constant<T>> = false;
template <class T, class F, class... Args>
inline constexpr bool is_type_alone<kernel::apply<T, F, Args...>> =
    std::is_empty_v<F> && (is_type_alone<Args> && ...);

template <class Tree>
inline constexpr bool is_fold_value = false;
template <int K, class T>
inline constexpr bool is_fold_value<kernel::fold_value<K, T>> = true;
}  // namespace detail

/// means: value: the final stage is f(e, folds...), where e, of type T and expensive, is the value
///        that Fold folds. keep(fold): the stage of Fold, which also outputs e. finish(last): the
///        stage f(stored e, folds...)
template <class Fold, class Last, class Outs>
struct kept_value {
  static constexpr bool value = false;
  static auto keep(Fold const& fold) { return fold.f; }
};
template <class Fold, class T, class F, class E, class... Args>
struct kept_value<Fold, kernel::stage<type_list<>, type_list<kernel::apply<T, F, E, Args...>>>,
                  type_list<T>> {
  static constexpr bool value =
      std::is_same_v<decltype(Fold::f), kernel::stage<type_list<>, type_list<E>>> &&
      std::is_same_v<typename E::type, T> && kernel::cost_of<E> >= 16 && detail::is_type_alone<E> &&
      (detail::is_fold_value<Args> && ...);
  using slot = kernel::slot_value<0, T>;
  using from_result = kernel::apply<T, F, kernel::input<0, T>, Args...>;

  static auto keep(Fold const& fold) {
    if constexpr (value)
      return kernel::stage<type_list<E>, type_list<slot, slot>>{make_pack(get<0>(fold.f.outs)),
                                                                make_pack(slot{}, slot{})};
    else
      return fold.f;
  }
  template <class Last>
  static auto finish(Last const& last) {
    auto const& tree = get<0>(last.outs);
    return kernel::stage<type_list<>, type_list<from_result>>{
        {},
        make_pack(from_result{tree.f, with_input(tree.args, std::index_sequence_for<Args...>{})})};
  }

 private:
  template <class Pack, std::size_t... K>
  static auto with_input(Pack const& args, std::index_sequence<K...>) {
    return make_pack(kernel::input<0, T>{}, get<K + 1>(args)...);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
