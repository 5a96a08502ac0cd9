// SPDX-License-Identifier: Apache-2.0
// The derivatives of take and of folds by number: each is made of the other.
#pragma once
#include <locus/algorithms/segments_op.hpp>  // segments_op
#include <locus/algorithms/take_op.hpp>      // take_op
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/grad/forward.hpp>            // bind_as
#include <locus/ops/arithmetic.hpp>          // ==, /
#include <locus/ops/call.hpp>                // call
#include <locus/ops/math.hpp>                // cast, where

namespace locus::algorithms {
inline namespace LOCUS_MODE {

/// means: the fold of x by ids into as many segments as `like` has rows along Axis
template <reduction R, int Axis, class X, class Ids, class Like>
constexpr auto segments_as(X const& x, Ids const& ids, Like const& like) {
  segments_op<R, Axis, Ids::pattern.rank, Like::pattern.extent[Axis]> op;
  if constexpr (Like::pattern.extent[Axis] == dyn)
    op.segments = internal::shape_now(like).extent[Axis];
  return call(op, x, ids);
}
template <int Axis, class X, class Rows>
constexpr auto rows_at(X const& x, Rows const& i) {
  return call(take_op<Axis, Rows::pattern.rank>{}, x, i);
}

}  // namespace LOCUS_MODE

template <int Axis, int IndexRank>
template <class G, class Y, class X, class Rows>
constexpr auto take_op<Axis, IndexRank>::pullback(G const& g, Y const&, X const& x, Rows const& i) {
  return segments_as<reduction::sum, Axis>(g, i, x);
}

template <reduction R, int Axis, int IdRank, std::int64_t Segments>
template <class Id, class G, class Y, class X, class Ids>
constexpr auto segments_op<R, Axis, IdRank, Segments>::pullback(G const& g, Y const& y, X const& x,
                                                                Ids const& ids) {
  if constexpr (R == reduction::sum)
    return rows_at<Axis>(g, ids);
  else {
    using T = typename X::value_type;
    auto const hit = internal::bind_as<Id>(x == rows_at<Axis>(y, ids));
    auto const hits = segments_as<reduction::sum, Axis>(cast<T>(hit), ids, y);
    return where(hit, rows_at<Axis>(g / hits, ids), T(0));
  }
}

}  // namespace locus::algorithms
