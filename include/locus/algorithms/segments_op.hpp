// SPDX-License-Identifier: Apache-2.0
// Folds of rows by number as steps of a plan: the rule over replicas and the kernels of the host
// and of cards.
#pragma once
#include <limits>       // numeric_limits
#include <type_traits>  // conditional

#include <locus/algorithms/around_axis.hpp>     // around_axis
#include <locus/algorithms/id_place.hpp>        // id_number, id_place, first_place
#include <locus/algorithms/line_blocks.hpp>     // for_blocks_of_lines
#include <locus/algorithms/segment_result.hpp>  // segment_result
#include <locus/algorithms/workspace.hpp>       // workspace
#include <locus/core/error.hpp>                 // shape_error
#include <locus/core/macros.hpp>                // LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/ops/call.hpp>                   // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>            // parallel_for, threads_worth
#include <locus/work/reducer.hpp>               // reducer
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/segments_card.hpp>  // cards::fold_by_number
#endif

namespace locus::algorithms {

LOCUS_COLD_BEGIN
/// fails: shape_error, for a number without a segment
[[noreturn]] inline void refuse_segment(std::string_view name, id_number segment,
                                        id_place const& place, std::int64_t segments) {
  message text;
  text << "locus: " << name << " adds to segment ";
  segment.write(text);
  text << " of " << segments;
  place.write(text, "ids");
  text << "; ";
  if (segments > 0)
    text << "ids are 0 to " << segments - 1;
  else
    text << "no id fits no segments";
  throw shape_error(text);
}
/// fails: shape_error
[[noreturn]] inline void refuse_segments(std::string_view name, std::int64_t segments) {
  message text;
  throw shape_error(text << "locus: " << name << " makes " << segments
                         << " segments; give it 0 or more");
}
LOCUS_COLD_END

constexpr std::string_view name_of_segments(reduction r) {
  return r == reduction::sum ? "segment_sum" : r == reduction::max ? "segment_max" : "segment_min";
}

namespace host {
inline namespace LOCUS_MODE {

/// fails: shape_error, for the first id of [first, end) outside [0, segments); `place`: that of ids[0]
/// cost:  no jump and no comparison in the loop, which g++ would not put on vectors: an id below 0, or
///        behind the last segment, leaves a sign
template <reduction R, class Id>
void check_segments(Id const* ids, std::int64_t first, std::int64_t end, std::int64_t segments,
                    id_place const& place) {
  constexpr bool wide = sizeof(Id) == 8 || (sizeof(Id) == 4 && std::is_unsigned_v<Id>);
  using number = std::conditional_t<wide, std::int64_t, int>;
  constexpr std::int64_t most = (std::numeric_limits<number>::max)();
  auto const last = static_cast<number>(segments - 1 < most ? segments - 1 : most);
  number signs = 0;
  for (std::int64_t j = first; j < end; ++j) {
    auto const s = static_cast<number>(ids[j]);
    signs |= s | (last - (s & (std::numeric_limits<number>::max)()));
  }
  for (std::int64_t j = first; signs < 0 && j < end; ++j) {
    auto const s = static_cast<std::int64_t>(ids[j]);
    if (s < 0 || s >= segments)
      refuse_segment(name_of_segments(R), ids[j], place.behind(j), segments);
  }
}

/// means: fold_by_number, by one pass over x: rows are added to totals of all segments
template <reduction R, class T, class Id>
void fold_in_order(T const* x, Id const* ids, segment_result<R, T>* r, std::int64_t outer,
                   std::int64_t n, std::int64_t inner, std::int64_t segments,
                   id_place const& place) {
  using fold = kernel::reducer<R, compute_t<T>>;
  using value = typename fold::value;
  using total = typename fold::total;
  constexpr std::int64_t most = 64;              // columns of a task
  constexpr std::int64_t checked_at_once = 512;  // ids, which then lie in the first cache
  std::int64_t const groups = (inner + most - 1) / most, tasks = outer * groups,
                     all = outer * segments * inner;
  // a lone task looks at ids just before it adds their rows
  if (tasks != 1) check_segments<R>(ids, 0, n, segments, place);
  std::int64_t const part = segment_part(segments), parts = (n + part - 1) / part;
  workspace<total> const memory(parts > 1 ? 2 * all : all);
  total* const totals = memory.data();
  auto const work = static_cast<float>(outer * n * inner + all);
  auto const fold_columns = [&](std::int64_t task) {
    std::int64_t const o = task / groups, first = task % groups * most,
                       width = inner - first < most ? inner - first : most;
    T const* const from = x + o * n * inner + first;
    std::int64_t const begin = o * segments * inner + first;
    total* const to = totals + begin;
    auto const add = [](total& t, T v) {
      t = fold::combine(t, fold::widen(fold::add(fold::start(), value(v))));
    };
    auto const each_total = [&](auto const& f) {
      for (std::int64_t s = 0; s < segments; ++s)
        for (std::int64_t w = 0; w < width; ++w) f(s * inner + w);
    };
    auto const add_rows = [&](total* sums, std::int64_t j, std::int64_t rows_end) {
      each_total([=](std::int64_t i) { sums[i] = fold::identity(); });
      while (j < rows_end) {
        std::int64_t const end = rows_end - j < checked_at_once ? rows_end : j + checked_at_once;
        if (tasks == 1) check_segments<R>(ids, j, end, segments, place);
        if (inner == 1) {
          for (; j + 4 <= end; j += 4)
            LOCUS_UNROLL for (int k = 0; k < 4; ++k)
                add(sums[static_cast<std::int64_t>(ids[j + k])], from[j + k]);
          for (; j < end; ++j) add(sums[static_cast<std::int64_t>(ids[j])], from[j]);
        } else
          for (; j < end; ++j) {
            total* const row = sums + static_cast<std::int64_t>(ids[j]) * inner;
            for (std::int64_t w = 0; w < width; ++w) add(row[w], from[j * inner + w]);
          }
      }
    };
    add_rows(to, 0, n < part ? n : part);
    for (std::int64_t j = part; j < n; j += part) {
      total* const own = to + all;
      add_rows(own, j, n - j < part ? n : j + part);
      each_total([=](std::int64_t i) { to[i] = fold::combine(to[i], own[i]); });
    }
    for (std::int64_t s = 0; s < segments; ++s)
      for (std::int64_t w = 0; w < width; ++w)
        r[begin + s * inner + w] =
            static_cast<segment_result<R, T>>(fold::finish(to[s * inner + w], -1));
  };
  std::int64_t const numbers = (n + segments) * (inner < most ? inner : most);  // of a task
  for_blocks_of_lines(tasks, numbers, threads_worth(work * 1.5f),
                      [&](std::int64_t first, std::int64_t end) {
                        for (; first < end; ++first) fold_columns(first);
                      });
}

/// means: r[o, s, c] = the fold of x[o, j, c] over the j with ids[j] == s, in rising order of j
/// fails: shape_error, for the first id outside [0, segments)
/// shape: x (outer, n, inner), ids (n), r (outer, segments, inner); `place`: that of ids[0]
/// cost:  where segments are few, one pass over x, and totals for all numbers of r; several threads
///        share its outer and inner axes. Otherwise two passes over the ids on one thread, which put
///        the rows into the order of segments; then segments on several threads. The bits are the
///        same: a number of r adds its rows in their order, part by part (segment_part)
template <reduction R, class T, class Id>
void fold_by_number(T const* x, Id const* ids, segment_result<R, T>* r, std::int64_t outer,
                    std::int64_t n, std::int64_t inner, std::int64_t segments,
                    id_place const& place) {
  using fold = kernel::reducer<R, compute_t<T>>;
  using value = typename fold::value;
  using total = typename fold::total;
  constexpr std::int64_t most = 64;  // columns at once
  if (segments <= n / 4) return fold_in_order<R>(x, ids, r, outer, n, inner, segments, place);
  workspace<std::int64_t> const starts_memory(segments + 2), order_memory(n);
  std::int64_t *const starts = starts_memory.data(), *const order = order_memory.data();
  for (std::int64_t s = 0; s < segments + 2; ++s) starts[s] = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    auto const s = static_cast<std::int64_t>(ids[j]);
    if (s < 0 || s >= segments)
      refuse_segment(name_of_segments(R), ids[j], place.behind(j), segments);
    ++starts[s + 2];
  }
  for (std::int64_t s = 0; s < segments; ++s) starts[s + 2] += starts[s + 1];
  for (std::int64_t j = 0; j < n; ++j) order[starts[static_cast<std::int64_t>(ids[j]) + 1]++] = j;
  // now starts[s] is where segment s begins in `order`
  std::int64_t const all = outer * segments, rows = all ? (outer * n) / all + 1 : 1,
                     each = rows * inner, block = each < 4096 ? 4096 / (each > 0 ? each : 1) : 1,
                     blocks = (all + block - 1) / block;
  auto const work = static_cast<float>(outer * n * inner + all * inner);
  parallel_for(static_cast<int>(blocks), threads_worth(work * 1.5f), [&](int task) {
    total totals[most];
    std::int64_t const begin = task * block, end = begin + block < all ? begin + block : all;
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t const o = k / segments, s = k % segments;
      T const* const from = x + o * n * inner;
      for (std::int64_t c = 0; c < inner; c += most) {
        std::int64_t const width = inner - c < most ? inner - c : most;
        for (std::int64_t w = 0; w < width; ++w) totals[w] = fold::identity();
        for (std::int64_t j = starts[s]; j < starts[s + 1]; ++j) {
          T const* const row = from + order[j] * inner + c;
          for (std::int64_t w = 0; w < width; ++w)
            totals[w] =
                fold::combine(totals[w], fold::widen(fold::add(fold::start(), value(row[w]))));
        }
        for (std::int64_t w = 0; w < width; ++w)
          r[k * inner + c + w] = static_cast<segment_result<R, T>>(fold::finish(totals[w], -1));
      }
    }
  });
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: r[a..., s, b...] = the fold of x[a..., j..., b...] over the j with ids[j...] == s
///        (a: Axis axes; j: IdRank axes), in row order of j
/// device: x and ids in pieces along one of the axes j: each replica has a term. x in pieces along
///         another axis: as x. Whole ids are read in the pieces of x, along the first axis j; a whole x
///         in those of ids, along axis 0; other pieces of ids are gathered
/// fails: on the host, and on simulated GPUs, shape_error that names id, place and segments
/// after: TensorFlow's unsorted_segment_sum
template <reduction R, int Axis, int IdRank>
struct segments_rule {
  static constexpr call_rule rule{.name = name_of_segments(R),
                                  .operands = {call_role::rows, call_role::rows},
                                  .results = {call_role::terms},
                                  .tensorflow = R == reduction::sum   ? "UnsortedSegmentSum"
                                                : R == reduction::max ? "UnsortedSegmentMax"
                                                                      : "UnsortedSegmentMin",
                                  .fixed_bits = true};
  template <int, class T, class>
  using result = segment_result<R, T>;

  static constexpr shape infer_for(std::int64_t segments, shape x, shape ids) {
    if (ids.rank != IdRank || x.rank < Axis + IdRank) return no_shape;
    shape r;
    r.rank = x.rank - IdRank + 1;
    if (r.rank > max_rank) return no_shape;
    for (int a = 0; a < IdRank; ++a)
      if (x.extent[Axis + a] != ids.extent[a] && x.extent[Axis + a] != dyn && ids.extent[a] != dyn)
        return no_shape;
    for (int a = 0; a < r.rank; ++a)
      r.extent[a] = a < Axis ? x.extent[a] : a == Axis ? segments : x.extent[a + IdRank - 1];
    return r;
  }
  static constexpr std::int64_t operations(shape, shape x, shape ids) {
    return x.size() + 4 * ids.size();
  }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true};
    int const of_x = found[0], of_ids = found[1];
    bool const along = of_x >= Axis && of_x < Axis + IdRank;
    if (of_x != call_cut::whole && !along) {
      c.operands[0] = found[0], c.operands[1] = call_cut::whole;
      c.axis = static_cast<signed char>(of_x < Axis ? of_x : of_x - IdRank + 1);
      return c;
    }
    int const axis = along ? of_x - Axis : of_ids;
    // a replica's part of a whole operand is a view, which has no gaps along axis 0 alone
    bool const brings_ids = along && of_ids == call_cut::whole, brings_x = !along;
    if (brings_x && axis + Axis != 0) {
      c.operands[0] = c.operands[1] = call_cut::whole;
      return c;
    }
    c.fits = brings_x || (brings_ids ? axis == 0 : of_ids == axis);
    c.operands[0] = static_cast<signed char>(axis + Axis);
    c.operands[1] = static_cast<signed char>(axis);
    c.terms = R;
    if (axis == 0) c.batch = 0;
    return c;
  }
};

/// The number of segments: part of the type, or known when the program runs.
template <class Rule, std::int64_t Segments>
struct counted_segments : Rule {
  static constexpr std::int64_t segments = Segments;
  static constexpr shape infer(int, shape x, shape ids) {
    return Rule::infer_for(Segments, x, ids);
  }
};
template <class Rule>
struct counted_segments<Rule, dyn> : Rule {
  std::int64_t segments = dyn;
  constexpr shape infer(int, shape x, shape ids) const { return Rule::infer_for(segments, x, ids); }
};

template <reduction R, int Axis, int IdRank, std::int64_t Segments>
struct segments_op : counted_segments<segments_rule<R, Axis, IdRank>, Segments> {
  template <class Result, class T, class Id>
  void host(call_context const& here, tile<Result> r, tile<T const> x, tile<Id const> ids) const {
    around_axis const of(x, Axis, IdRank);
    std::int64_t const n = ids.size(), each = IdRank > 0 && n > 0 ? n / ids.extent[0] : 0;
    // ids of one axis are cut along it, or whole
    bool const whole = IdRank == 0 || (IdRank == 1 && here.rows == 0);
    host::fold_by_number<R>(x.data, ids.data, r.data, of.outer, n, of.inner, this->segments,
                            first_place(here, whole, each));
  }
  /// means: as host(), bit for bit, but a row with an id outside [0, segments) is left out: nothing
  ///        beyond r is written
  template <class Result, class T, class Id>
  void card(card_context& here, tile<Result> r, tile<T const> x, tile<Id const> ids) const;
  /// sum: the row of g that the row of x was added to. max, min: rows that are the extremum share
  /// its adjoint
  template <class Id, class G, class Y, class X, class Ids>
  static constexpr auto pullback(G const& g, Y const& y, X const& x, Ids const& ids);
};

#if LOCUS_CUDA_KERNELS
template <reduction R, int Axis, int IdRank, std::int64_t Segments>
template <class Result, class T, class Id>
void segments_op<R, Axis, IdRank, Segments>::card(card_context& here, tile<Result> r,
                                                  tile<T const> x, tile<Id const> ids) const {
  around_axis const of(x, Axis, IdRank);
  cards::fold_by_number<R>(here, x.data, ids.data, r.data, of.outer, ids.size(), of.inner,
                           this->segments);
}
#endif

}  // namespace locus::algorithms
