// SPDX-License-Identifier: Apache-2.0
// trim: runs an operation whose extent data decide, and waits for it. A program includes it with the
// header of the operation; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // integer_sequence, pair

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/ops/call.hpp>     // call, result
#include <locus/tensor/eval.hpp>  // eval, fetch

namespace locus {

namespace algorithms {

/// means: the elements of E are in memory: they cost nothing to read twice
template <class E>
inline constexpr bool is_in_memory = false;
template <class T, class E, class Where, class Source>
inline constexpr bool is_in_memory<Leaf<T, E, Where, Source>> = true;
template <class T, class E, class Where, bool Dense>
inline constexpr bool is_in_memory<ViewLeaf<T, E, Where, Dense>> = true;

inline namespace LOCUS_MODE {

/// means: e itself, or a tensor with its value
template <class E>
auto in_memory(E const& e, call_site where) {
  if constexpr (is_in_memory<E>)
    return e;
  else
    return eval(e, where);
}
/// means: the values of a and b as tensors, computed by one plan
template <class A, class B>
auto eval_both(A const& a, B const& b, call_site where) {
  using namespace lowering;
  using Alone = graph<default_policy, root_of<A, nowhere>>;
  using Both = graph<default_policy, root_of<A, nowhere>, root_of<B, nowhere>>;
  using Where = policy_of_t<result_place<Alone>>;
  using first = tensor_of<A, Where>;
  using second = tensor_of<B, Where>;
  std::pair<first, second> r{typename first::unmade{}, typename second::unmade{}};
  run_graph<Both>(
      where,
      [&](int k, shape const& extents, place const& at) {
        return k == 0 ? r.first.make_for(extents, at, where)
                      : r.second.make_for(extents, at, where);
      },
      a, b);
  return r;
}
/// means: results K, one or two, of the operation on xs, with the counted extent
template <class Op, int... K, class... Xs>
auto trimmed(std::integer_sequence<int, K...>, call_site where, Xs const&... xs) {
  typename Op::counted op;
  op.room = fetch(result<Op::rule.results.count - 1>(call(Op{}, xs...)), where);
  auto const exact = call(op, xs...);
  if constexpr (sizeof...(K) == 1)
    return eval(result<K...>(exact), where);
  else
    return eval_both(result<K>(exact)..., where);
}
template <class Results, class Op, class... Es, std::size_t... K>
auto trimmed(Node<call_op<Op>, Es...> const& e, call_site where, std::index_sequence<K...>) {
  return trimmed<Op>(Results{}, where, in_memory(get<K>(e.operands), where)...);
}

}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: the results of compress, nonzero, run_lengths or unique without the count and the zeros
///        behind: a Tensor; a std::pair of Tensors for two results. Of one result of these:
///        trim(result<0>(unique(x))): that Tensor alone
/// shape: as the results, with the count as extent; all extents are open
/// device: that of the results
/// cost:  computed operands are evaluated first; a run that counts, one wait of the host, a run that
///        stores: no memory for the worst case
/// fails: as the operation
template <class Id, class Op, class... Es>
  requires requires { typename Op::counted; }
[[nodiscard]] auto trim(Bound<Id, Node<call_op<Op>, Es...>> const& call,
                        call_site where = call_site::here()) {
  runtime::devices("trim", where);
  using all = std::make_integer_sequence<int, Op::rule.results.count - 1>;
  return algorithms::trimmed<all>(*call.value, where, std::index_sequence_for<Es...>{});
}
template <int K, class Id, class Op, class... Es>
  requires requires { typename Op::counted; } && (K + 1 < Op::rule.results.count)
[[nodiscard]] auto trim(Node<call_result_op<K, Bound<Id, Node<call_op<Op>, Es...>>>,
                             Bound<Id, Node<call_op<Op>, Es...>>> const& one,
                        call_site where = call_site::here()) {
  runtime::devices("trim", where);
  using only = std::integer_sequence<int, K>;
  return algorithms::trimmed<only>(*get<0>(one.operands).value, where,
                                   std::index_sequence_for<Es...>{});
}

}  // namespace LOCUS_MODE
}  // namespace locus
