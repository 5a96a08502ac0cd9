// SPDX-License-Identifier: Apache-2.0
// The targets of gradients: tensors that a loss reads once, and names. A type does not tell which
// tensor it is, so types and addresses are checked, at compile time and at run time.
#pragma once
#include <locus/core/error.hpp>                // placement_error
#include <locus/grad/forward.hpp>              // find_let
#include <locus/grad/reached_by_gradient.hpp>  // stands_in

namespace locus::detail {

// ---- one sentence for each mistake ----

template <bool Holds>
consteval bool may_be_target() {
  static_assert(Holds,
                "locus: gradients are asked for tensors and for names; give the value a name "
                "first, as in let(e, [&](auto h) { ... grad(loss, h) ... })");
  return Holds;
}
template <bool Holds>
consteval bool target_is_floating() {
  static_assert(
      Holds,
      "locus: a gradient is asked for integers, booleans or complex numbers, which have none; make "
      "the tensor one of floats");
  return Holds;
}
template <bool Holds>
consteval bool target_is_read() {
  static_assert(Holds,
                "locus: a gradient is asked for a tensor that the loss does not read, or only "
                "behind stop_gradient; build the loss from what grad is given");
  return Holds;
}
template <bool Holds>
consteval bool target_is_read_once() {
  static_assert(Holds,
                "locus: the loss reads several tensors of one type, or one of them twice, and "
                "types do not say which is which; write auto p = named<\"p\">(w), and p for w "
                "in the loss and in grad");
  return Holds;
}
template <bool Holds>
consteval bool target_is_reached() {
  static_assert(Holds,
                "locus: the loss has no gradient by a tensor: what it reads of it are "
                "comparisons, integers or stop_gradient; let floats lead from one to the other");
  return Holds;
}

template <bool Holds>
consteval bool target_is_reached_by_reals() {
  static_assert(Holds,
                "locus: a gradient leads through complex numbers, which have none; write the real "
                "and the imaginary part as two tensors, or stop_gradient(z)");
  return Holds;
}

/// means: W may be a target of gradients of Loss
template <class Loss, class W>
consteval bool require_target() {
  if constexpr (!may_be_target<is_leaf<W> || is_let<W>>())
    return false;
  else if constexpr (!target_is_floating<is_floating_v<typename W::value_type>>())
    return false;
  else if constexpr (!target_is_reached_by_reals<!leads_through_complex<type_list<W>, Loss>>())
    return false;
  else if constexpr (is_let<W>)
    return target_is_read<contains_v<W, typename Loss::lets>>() &&
           target_is_reached<is_active<type_list<W>, Loss>>();
  else {
    constexpr int times = stands_in<W, Loss>;
    if constexpr (target_is_read<times != 0>() && target_is_read_once<times == 1>())
      return target_is_reached<is_active<type_list<W>, Loss>>();
    else
      return false;
  }
}

// ---- which tensor it is: checked at run time, when grad() is called ----

template <class L, class E>
inline constexpr bool looks_at = std::is_same_v<L, E> || is_view_leaf<E>;
template <class L, class Op, class... Operands>
inline constexpr bool looks_at<L, Node<Op, Operands...>> =
    !std::is_same_v<Op, stop_gradient_op> && (looks_at<L, Operands> || ...);

template <class T, class E, class Policy, bool Checked>
inline constexpr bool looks_at<Leaf<T, E, Policy, borrowed<Checked>>,
                               Leaf<T, E, Policy, borrowed_constant<Checked>>> = true;

inline namespace LOCUS_MODE {

/// means: the leaf by which Loss reads the tensor of the target: if Loss reads parts of a constant
///        Tensor alone, one of the type of these parts
template <class Loss, class W>
constexpr W as_read_by(W const& w) {
  return w;
}
template <class Loss, class T, class E, class Policy, bool Checked>
constexpr auto as_read_by(Leaf<T, E, Policy, borrowed<Checked>> const& w) {
  using W = Leaf<T, E, Policy, borrowed<Checked>>;
  using Source = borrowed_constant<Checked>;
  using Constant = Leaf<T, E, Policy, Source>;
  if constexpr (is_active<type_list<W>, Loss>)
    return w;
  else if constexpr (stands_in<Constant, Loss> > 0)
    return Constant{Source(w.source)};
  else
    return w;
}

/// means: the first element of a view is an element of that tensor
template <class T, class E, class Policy, class Source>
bool lies_in(void const* data, Leaf<T, E, Policy, Source> const& leaf) {
  tensor_block const* const block = leaf.source.find();
  auto const* const at = static_cast<char const*>(data);
  for (int r = 0; block && r < block->where.local_count(); ++r) {
    auto const* const first = static_cast<char const*>(block->pieces[r].data);
    if (at >= first && at < first + block->pieces[r].bytes) return true;
  }
  return false;
}
/// means: the number of leaves in a tree that read elements of `leaf`
template <class L, class E>
int readings_in_tree(L const& leaf, E const& e) {
  if constexpr (!looks_at<L, E>)
    return 0;
  else if constexpr (std::is_same_v<L, E>)
    return internal::same_reading(leaf, e);
  else if constexpr (is_leaf<E> && !is_view_leaf<E>)  // of a constant Tensor
    return internal::same_reading(leaf, L{e.source});
  else if constexpr (is_view_leaf<E>) {
    if constexpr (is_view_leaf<L>)
      return e.data == leaf.data;
    else
      return lies_in(e.data, leaf);
  } else {
    int count = 0;
    for_each_index<decltype(operand_numbers(e))::size()>(
        [&](auto k) { count += readings_in_tree(leaf, get<k>(e.operands)); });
    return count;
  }
}
template <class L, class Loss, class... Lets>
int readings(L const& leaf, Loss const& loss, type_list<Lets...>) {
  return (readings_in_tree(leaf, loss) + ... + readings_in_tree(leaf, *find_let<Lets>(loss).value));
}

/// fails: placement_error, where the loss reads another tensor of that type than the target, or
///        reads the target outside of its name
template <class Loss, class W>
void require_same_target(Loss const& loss, W const& w) {
  using lets = typename Loss::lets;
  if constexpr (is_let<W>) {
    auto const& own = find_let<W>(loss);
    if (own.value.get() != w.value.get() && !internal::same_reading(*own.value, *w.value))
      refuse_second_let();
    using E = typename W::expression_type;
    if constexpr (is_leaf<E>)
      if (readings(*w.value, loss, lets{}) > 1)
        throw placement_error("locus: the loss reads a tensor by its name and without, and a "
                              "gradient by the name would "
                              "miss some of it; write the name wherever the loss reads the tensor");
  } else if (readings(w, loss, lets{}) != 1)
    throw placement_error(
        "locus: the loss reads another tensor than the one of its type that a gradient is asked "
        "for, "
        "or that one also by a name or a view; build the loss from what grad is given");
}

}  // namespace LOCUS_MODE
}  // namespace locus::detail
