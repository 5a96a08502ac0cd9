// SPDX-License-Identifier: Apache-2.0
// einsum: sums of products by the letters of axes. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward, index_sequence

#include <locus/core/error.hpp>            // shape_error
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/core/text.hpp>             // fixed_string
#include <locus/expr/let.hpp>              // char_list_of
#include <locus/ops/arithmetic.hpp>        // *
#include <locus/ops/einsum_rule.hpp>       // einsum_rule
#include <locus/ops/matmul.hpp>            // matmul
#include <locus/ops/reduce.hpp>            // sum
#include <locus/ops/run_time_extents.hpp>  // shape_now
#include <locus/ops/views.hpp>             // transpose, expand_dims, reshape

namespace locus {

namespace detail {

template <fixed_string Text>
using einsum_rule_of = einsum_rule<decltype(internal::char_list_of<Text>(
    std::make_index_sequence<Text.view().size()>{}))>;

/// the extents of a value whose axes are merged, Sizes of them to one each
template <class X, int... Sizes>
struct merged_axes {
  static constexpr shape value = merged(X::pattern, {Sizes...});
};
/// the extents by letters, found in the operands
template <class X, class Y, letters OfX, letters OfY, letters To>
struct extents_by_letters {
  static constexpr shape value = by_letters(To, OfX, X::pattern, OfY, Y::pattern);
};

[[noreturn]] inline void refuse_letter(std::string_view rule, char letter, std::int64_t of_a,
                                       std::int64_t of_b) {
  message text;
  throw shape_error(text << "locus: axis " << std::string_view(&letter, 1) << " of einsum " << rule
                         << " has " << of_a << " elements in the first operand and " << of_b
                         << " in the second; they must be equal");
}

inline namespace LOCUS_MODE {

template <letters From, letters To, class X, std::size_t... K>
constexpr auto transposed_to(X&& x, std::index_sequence<K...>) {
  return transpose<From.find(To.of[K])...>(std::forward<X>(x));
}
template <letters From, letters To, class X>
constexpr auto in_order(X x) {
  if constexpr (From == To)
    return x;
  else
    return transposed_to<From, To>(std::move(x), std::make_index_sequence<To.count>{});
}
template <letters From, letters Gone, class X, std::size_t... K>
constexpr auto summed_over(X&& x, std::index_sequence<K...>) {
  return sum<From.find(Gone.of[K])...>(std::forward<X>(x));
}
template <letters From, letters Gone, class X>
constexpr auto without_letters(X x) {
  if constexpr (Gone.count == 0)
    return x;
  else
    return summed_over<From, Gone>(std::move(x), std::make_index_sequence<Gone.count>{});
}
/// x, whose axes are some of All in that order, with axes of extent 1 for the others
template <letters From, letters All, int At = 0, class X>
constexpr auto spread_to(X x) {
  if constexpr (At == All.count)
    return x;
  else if constexpr (From.find(All.of[At]) >= 0)
    return spread_to<From, All, At + 1>(std::move(x));
  else
    return spread_to<From, All, At + 1>(expand_dims<At>(std::move(x)));
}
template <int... Sizes, class X>
constexpr auto merge_axes(X x) {
  if constexpr (((Sizes == 1) && ...))
    return x;
  else {
    using E = extents_of_shape_t<merged_axes<X, Sizes...>>;
    E const to(merged(internal::shape_now(x), {Sizes...}));
    return reshape(std::move(x), to);
  }
}

/// a product of matrices, or of batches of them, whose axes are merged
template <class Rule, class X, class Y>
constexpr auto merged_product(X x, Y y) {
  constexpr int batch = Rule::batch.count, rows = Rule::rows.count, columns = Rule::columns.count,
                inner = Rule::inner.count;
  if constexpr (batch == 0)
    return matmul(merge_axes<rows, inner>(std::move(x)), merge_axes<inner, columns>(std::move(y)));
  else
    return matmul(merge_axes<batch, rows, inner>(std::move(x)),
                  merge_axes<batch, inner, columns>(std::move(y)));
}
/// x: axes batch, rows, inner; y: batch, inner, columns; the result: batch, rows, columns
template <class Rule, class X, class Y>
constexpr auto product_of(X x, Y y) {
  constexpr letters batch = Rule::batch, rows = Rule::rows, columns = Rule::columns,
                    inner = Rule::inner, of_x = batch + rows + inner,
                    of_y = batch + inner + columns, all = batch + rows + columns;
  if constexpr (batch.count <= 1 && rows.count == 1 && columns.count == 1) {
    return merged_product<Rule>(std::move(x), std::move(y));
  } else {
    using E = extents_of_shape_t<extents_by_letters<X, Y, of_x, of_y, all>>;
    E const to(by_letters(all, of_x, internal::shape_now(x), of_y, internal::shape_now(y)));
    return reshape(merged_product<Rule>(std::move(x), std::move(y)), to);
  }
}

/// the operands without the axes that they alone have and the result lacks
template <class Rule, class X, class Y>
constexpr auto contracted(X x, Y y) {
  constexpr letters of_x = Rule::a - Rule::a_alone, of_y = Rule::b - Rule::b_alone,
                    batch = Rule::batch, rows = Rule::rows, columns = Rule::columns,
                    inner = Rule::inner;
  if constexpr (inner.count > 0 && rows.count > 0 && columns.count > 0) {
    return in_order<batch + rows + columns, Rule::result>(
        product_of<Rule>(in_order<of_x, batch + rows + inner>(std::move(x)),
                         in_order<of_y, batch + inner + columns>(std::move(y))));
  } else if constexpr (batch.count == 0 && rows.count == 1 && inner.count == 1) {
    return matmul(in_order<of_x, rows + inner>(std::move(x)), std::move(y));
  } else if constexpr (batch.count == 0 && columns.count == 1 && inner.count == 1) {
    return matmul(std::move(x), in_order<of_y, inner + columns>(std::move(y)));
  } else {
    constexpr letters all = Rule::result + inner;
    return without_letters<all, inner>(
        spread_to<all.only(of_x), all>(in_order<of_x, all.only(of_x)>(std::move(x))) *
        spread_to<all.only(of_y), all>(in_order<of_y, all.only(of_y)>(std::move(y))));
  }
}

template <class Rule, class X, class Y>
constexpr void check_letters(std::string_view rule, X const& x, Y const& y) {
  shape const of_x = internal::shape_now(x), of_y = internal::shape_now(y);
  for (int i = 0; i < Rule::a.count; ++i) {
    int const k = Rule::b.find(Rule::a.of[i]);
    if (k >= 0 && of_x.extent[i] != of_y.extent[k])
      refuse_letter(rule, Rule::a.of[i], of_x.extent[i], of_y.extent[k]);
  }
}

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[letters behind ->] = sum of a[its letters] b[its letters] over all other letters:
///        einsum<"ij,jk->ik">(a, b) is matmul(a, b), einsum<"bqd,bkd->bqk">(a, b) a product of each
///        batch with a transposed one, einsum<"i,j->ij">(a, b) an outer product
/// shape: the extents of the letters; a letter has one extent in both operands, 1 does not stretch
/// device: as matmul, or as a * b and its sum
/// cost:  matmul where both operands keep an axis and share a summed one, otherwise one pass
///        (a * b, fused with its sum). An operand whose merged axes are no neighbours in memory is
///        copied first
/// fails: at compile time, for letters that do not fit; shape_error, for extents that differ
/// after: NumPy's einsum, with -> and without ellipses
template <fixed_string Letters, tensor_operand A, tensor_operand B>
constexpr auto einsum(A&& a, B&& b) {
  using Rule = detail::einsum_rule_of<Letters>;
  auto x = as_operand<void>(std::forward<A>(a));
  auto y = as_operand<void>(std::forward<B>(b));
  using X = decltype(x);
  using Y = decltype(y);
  if constexpr (detail::require_rule<Rule, X::pattern.rank, Y::pattern.rank>()) {
    constexpr bool extents_fit = detail::letters_fit(Rule::a, X::pattern, Rule::b, Y::pattern);
    static_assert(
        extents_fit,
        "locus: an axis of einsum has other extents in the two operands; they must be equal");
    if constexpr (extents_fit) {
      if constexpr (!X::pattern.is_static() || !Y::pattern.is_static())
        detail::check_letters<Rule>(Letters.view(), x, y);
      return detail::contracted<Rule>(
          detail::without_letters<Rule::a, Rule::a_alone>(std::move(x)),
          detail::without_letters<Rule::b, Rule::b_alone>(std::move(y)));
    }
  }
}
/// means: r[letters behind ->] = sum of a[its letters] over all other letters: einsum<"ij->ji">(a) is
///        transpose(a), einsum<"ij->j">(a) is sum<0>(a)
/// shape, fails, after: as above     device, cost: as sum, then as transpose
template <fixed_string Letters, tensor_operand A>
constexpr auto einsum(A&& a) {
  using Rule = detail::einsum_rule_of<Letters>;
  auto x = as_operand<void>(std::forward<A>(a));
  if constexpr (detail::require_rule<Rule, decltype(x)::pattern.rank, -1>()) {
    constexpr detail::letters kept = Rule::a - Rule::a_alone;
    return detail::in_order<kept, Rule::result>(
        detail::without_letters<Rule::a, Rule::a_alone>(std::move(x)));
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
