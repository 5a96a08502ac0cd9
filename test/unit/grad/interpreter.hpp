// SPDX-License-Identifier: Apache-2.0
// What an expression is worth, by plain loops over its tree: no plan, no kernel. Losses and their
// gradients are looked at by the hundred here, and each plan would take its time to compile.
#pragma once
#include <locus/locus.hpp>

#include "../../oracle.hpp"

namespace interpreter {

using namespace locus;
using array = oracle::array<double>;  // of every element type: one function serves all

template <class T, class E, class Policy, class Source>
array value_of(Leaf<T, E, Policy, Source> const& leaf) {
  tensor_block const* const block = leaf.source.find();
  array r(block->extents);
  for (std::int64_t i = 0; i < r.size(); ++i)
    r[i] = static_cast<double>(static_cast<T const*>(block->pieces[0].data)[i]);
  return r;
}
template <class T>
array value_of(Scalar<T> const& s) {
  array r{shape{}};
  r[0] = static_cast<double>(s.value);
  return r;
}
template <class E>
array value_of(Index<E> const& index) {
  array r(index.extents.as_shape());
  for (std::int64_t i = 0; i < r.size(); ++i) r[i] = static_cast<double>(i);
  return r;
}

inline shape element(std::int64_t const* i, int rank) {
  shape s{rank, {}};
  for (int a = 0; a < rank; ++a) s.extent[a] = i[a];
  return s;
}
inline double& at(array& x, shape const& i) {
  std::int64_t offset = 0;
  for (int a = 0; a < x.extents.rank; ++a) offset = offset * x.extents.extent[a] + i.extent[a];
  return x[offset];
}
inline array under(array x, shape const& s) {
  x.extents = s;
  return x;
}

/// means: folds over axes, which stay with extent 1
inline array folded(array const& x, axis_set axes, reduction how, bool mean = false) {
  array r(reduced(x.extents, axes, true)), count(r.extents);
  oracle::each_index(x.extents, [&](std::int64_t const* i, std::int64_t k) {
    shape to = element(i, x.extents.rank);
    for (int a = 0; a < to.rank; ++a)
      if (has_axis(axes, a)) to.extent[a] = 0;
    double& sum = at(r, to);
    bool const first = at(count, to)++ == 0;
    if (how == reduction::sum)
      sum += x[k];
    else if (how == reduction::product)
      sum = first ? x[k] : sum * x[k];
    else if (first || (how == reduction::max ? x[k] > sum : x[k] < sum))
      sum = x[k];
  });
  for (std::int64_t k = 0; mean && k < r.size(); ++k) r[k] /= count[k];
  return r;
}
inline array softmax_of(array const& x, int axis, bool log) {
  auto const along = static_cast<axis_set>(1u << axis);
  array const m = folded(x, along, reduction::max);
  auto const shifted = [&](std::int64_t const* i) {
    return x.at(i, x.extents.rank) - m.at(i, x.extents.rank);
  };
  array const s =
      folded(oracle::make<double>(x.extents, [&](auto* i) { return std::exp(shifted(i)); }), along,
             reduction::sum);
  return oracle::make<double>(x.extents, [&](auto* i) {
    double const sum = s.at(i, x.extents.rank);
    return log ? shifted(i) - std::log(sum) : std::exp(shifted(i)) / sum;
  });
}
inline array product(array const& a, array const& b) {
  array r(contract(a.extents, b.extents));
  int const rank = r.extents.rank;
  oracle::each_index(r.extents, [&](std::int64_t const* i, std::int64_t k) {
    for (std::int64_t j = 0; j < a.extents.from_right(0); ++j) {
      std::int64_t const in_a[] = {i[0], i[rank - 2], j}, in_b[] = {i[0], j, i[rank - 1]};
      r[k] += a.at(in_a + 3 - rank, rank) * b.at(in_b + 3 - rank, rank);
    }
  });
  return r;
}
inline array turned(array const& x, signed char const* order) {
  array r(permuted(x.extents, order));
  oracle::each_index(x.extents, [&](std::int64_t const* i, std::int64_t k) {
    at(r, permuted(element(i, x.extents.rank), order)) = x[k];
  });
  return r;
}
inline array part_of(array x, range const* ranges, axis_set cut) {
  shape s = x.extents;
  for (int a = 0; a < s.rank; ++a)
    if (has_axis(cut, a)) s.extent[a] = ranges[a].length(s.extent[a]);
  return oracle::make<double>(s, [&](std::int64_t const* i) {
    shape from = element(i, s.rank);
    for (int a = 0; a < s.rank; ++a)
      if (has_axis(cut, a)) from.extent[a] += range::absolute(ranges[a].begin, x.extents.extent[a]);
    return at(x, from);
  });
}
inline array joined(std::initializer_list<array> parts, int axis) {
  shape s = parts.begin()->extents;
  s.extent[axis] = 0;
  for (array const& part : parts) s.extent[axis] += part.extents.extent[axis];
  array r(s);
  std::int64_t begin = 0;
  for (array const& part : parts) {
    oracle::each_index(part.extents, [&](std::int64_t const* i, std::int64_t k) {
      shape to = element(i, s.rank);
      to.extent[axis] += begin;
      at(r, to) = part[k];
    });
    begin += part.extents.extent[axis];
  }
  return r;
}

// ---- one rule for each operation; T: the element types of its operands ----
template <class... T, class F, class... Arrays>
array apply(map_op<F> const& op, Arrays const&... x) {
  return oracle::make<double>(map_op<F>::infer(x.extents...), [&](std::int64_t const* i) {
    int const rank = map_op<F>::infer(x.extents...).rank;
    return static_cast<double>(op.f(static_cast<T>(x.at(i, rank))...));
  });
}
template <class T, class Fn, reduction How, bool Keep, int... Axes>
array apply(reduce_op<Fn, How, Keep, Axes...> const&, array const& x) {
  axis_set const axes = locus::detail::axes_of<Axes...>(x.extents.rank);
  return under(folded(x, axes, How, std::is_same_v<Fn, mean_fn>), reduced(x.extents, axes, Keep));
}
template <class T, int Axis, bool Log>
array apply(softmax_op<Axis, Log> const&, array const& x) {
  return softmax_of(x, Axis < 0 ? Axis + x.extents.rank : Axis, Log);
}
template <class T, bool Keep, int... Axes>
array apply(variance_op<Keep, Axes...> const&, array const& x) {
  axis_set const axes = locus::detail::axes_of<Axes...>(x.extents.rank);
  array const m = folded(x, axes, reduction::sum, true);
  auto const squares = oracle::make<double>(x.extents, [&](auto* i) {
    double const d = x.at(i, x.extents.rank) - m.at(i, x.extents.rank);
    return d * d;
  });
  return under(folded(squares, axes, reduction::sum, true), reduced(x.extents, axes, Keep));
}
template <class T, class U>
array apply(matmul_op const&, array const& a, array const& b) {
  return product(a, b);
}
template <class T, int... Order>
array apply(transpose_op<Order...> const&, array const& x) {
  signed char order[max_rank]{};
  transpose_op<Order...>::order_of(x.extents.rank, order);
  return turned(x, order);
}
template <class T, int Axis>
array apply(expand_op<Axis> const&, array const& x) {
  return under(x, expand_op<Axis>::infer(x.extents));
}
template <class T, class E>
array apply(reshape_op<E> const& op, array const& x) {
  return under(x, reshaped(x.extents, op.to));
}
template <class T, axis_set Cut, std::int64_t... Static>
array apply(slice_op<Cut, Static...> const& op, array const& x) {
  return part_of(x, op.ranges, Cut);
}
template <class... T, int Axis, class... Arrays>
array apply(concatenate_op<Axis> const&, array const& x, Arrays const&... more) {
  return joined({x, more...}, concatenate_op<Axis>::axis_of(x.extents.rank));
}
template <class T, class Op>
  requires(Op::steps == 0)
array apply(Op const&, array const& x) {
  return x;
}

template <class Id, class E>
array value_of(Bound<Id, E> const& let);

/// means: the elements of e in row order
template <class Op, class... Xs>
array value_of(Node<Op, Xs...> const& e) {
  using locus::get;
  if constexpr (sizeof...(Xs) == 1)
    return apply<typename Xs::value_type...>(e.op, value_of(get<0>(e.operands)));
  else if constexpr (sizeof...(Xs) == 2)
    return apply<typename Xs::value_type...>(e.op, value_of(get<0>(e.operands)),
                                             value_of(get<1>(e.operands)));
  else
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return apply<typename Xs::value_type...>(e.op, value_of(get<K>(e.operands))...);
    }(std::index_sequence_for<Xs...>{});
}
template <class Id, class E>
array value_of(Bound<Id, E> const& let) {
  return value_of(*let.value);
}

}  // namespace interpreter
