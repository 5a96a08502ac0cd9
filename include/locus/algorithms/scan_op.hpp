// SPDX-License-Identifier: Apache-2.0
// Scans of lines as steps of a plan: the rule over replicas and the kernels of the host and of
// cards.
#pragma once
#include <locus/algorithms/around_axis.hpp>        // around_axis
#include <locus/algorithms/line_blocks.hpp>        // for_blocks_of_lines
#include <locus/algorithms/rows_for_replicas.hpp>  // rows_for_replicas, per_rank
#include <locus/algorithms/scan_fold.hpp>          // scan_fold, scan_chunk
#include <locus/algorithms/scan_line.hpp>          // line_in_chunks
#include <locus/algorithms/workspace.hpp>          // workspace
#include <locus/core/macros.hpp>                   // LOCUS_MODE
#include <locus/ops/call.hpp>                      // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>               // parallel_for, threads_worth
#if LOCUS_CUDA_KERNELS
#include <locus/algorithms/scan_card.hpp>  // cards::scan_lines
#endif

namespace locus::algorithms {

/// The totals of the pieces of replicas in front of this one: (outer, rows, inner); none: the line
/// begins here.
template <class Total>
struct line_starts {
  Total const* totals = nullptr;
  int replica = 0, replicas = 1;
  std::int64_t rows = 1;
  /// means: the fold of the totals of the pieces in front of this one, in their order
  template <class Fold, bool Backwards>
  LOCUS_HOST_DEVICE typename Fold::total of(std::int64_t o, std::int64_t c,
                                            std::int64_t inner) const {
    typename Fold::total t = Fold::identity();
    if (!totals) return t;
    for (int k = 0; k < replicas; ++k) {
      int const r = Backwards ? replicas - 1 - k : k;
      if (r == replica) break;
      t = Fold::combine(t, static_cast<typename Fold::total>(totals[(o * rows + r) * inner + c]));
    }
    return t;
  }
};

/// The number of element j of a line of n in the order of the scan.
template <bool Backwards>
LOCUS_HOST_DEVICE constexpr std::int64_t place_in_line(std::int64_t j, std::int64_t n) {
  return Backwards ? n - 1 - j : j;
}

namespace host {
inline namespace LOCUS_MODE {

/// means: r[o, j, c] = the fold of x[o, 0 ... j, c]; without x[o, j, c] if Exclusive; Backwards: of
///        x[o, j ... n - 1, c]
/// shape: x, r (outer, n, inner)
/// cost:  on one thread one pass; on several a fold of all chunks first
template <class Fold, bool Exclusive, bool Backwards, class T, class Starts>
void scan_lines(T const* x, typename Fold::result* r, std::int64_t outer, std::int64_t n,
                std::int64_t inner, Starts const& starts, Fold const& fold = {}) {
  using total = typename Fold::total;
  if (outer * n * inner == 0) return;
  int const threads = threads_worth(static_cast<float>(outer * n * inner) * 1.5f);
  // columns at once: memory is fastest by whole rows, whose totals lie in a near cache; several threads
  // want many tasks
  constexpr std::int64_t most = 16384 / std::int64_t(sizeof(total)), several = 64;
  std::int64_t const band = threads == 1 ? most : several;
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk,
                     bands = (inner + band - 1) / band, lines = outer * bands;
  auto const width_of = [&](std::int64_t b) {
    return inner - b * band < band ? inner - b * band : band;
  };
  // f(row of x, row of r) for the rows of a chunk, in the order of the scan
  auto const each_row = [&](std::int64_t line, std::int64_t k, auto const& f) {
    std::int64_t const o = line / bands, c = line % bands * band;
    std::int64_t const end = (k + 1) * chunk < n ? (k + 1) * chunk : n;
    for (std::int64_t j = k * chunk; j < end; ++j) {
      std::int64_t const at = (o * n + place_in_line<Backwards>(j, n)) * inner + c;
      f(x + at, r + at);
    }
  };
  auto const fold_chunk = [&](std::int64_t line, std::int64_t k, total* t) {
    std::int64_t const width = width_of(line % bands);
    for (std::int64_t w = 0; w < width; ++w) t[w] = fold.identity();
    each_row(line, k, [&](T const* from, typename Fold::result*) {
      for (std::int64_t w = 0; w < width; ++w) t[w] = fold.combine(t[w], fold.widen(from[w]));
    });
  };
  auto const scan_chunk_from = [&](std::int64_t line, std::int64_t k, total* t) {
    std::int64_t const width = width_of(line % bands);
    each_row(line, k, [&](T const* from, typename Fold::result* to) {
      for (std::int64_t w = 0; w < width; ++w) {
        total const next = fold.combine(t[w], fold.widen(from[w]));
        to[w] = fold.finish(Exclusive ? t[w] : next);
        t[w] = next;
      }
    });
  };
  auto const start_line = [&](std::int64_t line, total* t) {
    std::int64_t const width = width_of(line % bands);
    for (std::int64_t w = 0; w < width; ++w)
      t[w] = starts.template of<Fold, Backwards>(line / bands, line % bands * band + w, inner);
  };
  if (inner == 1) {
    using line_kind = line_in_chunks<Fold, Exclusive, Backwards, T>;
    auto const line = [&](std::int64_t o) { return line_kind{x + o * n, r + o * n, n, fold}; };
    auto const start = [&](std::int64_t o) { return starts.template of<Fold, Backwards>(o, 0, 1); };
    if (threads == 1 || outer >= 4 * threads)
      for_blocks_of_lines(outer, n, threads, [&](std::int64_t first, std::int64_t end) {
        if constexpr (line_kind::by_registers)
          for (; chunks == 1 && first + 4 <= end; first += 4) {
            total t[] = {start(first), start(first + 1), start(first + 2), start(first + 3)};
            line(first).scan_four_lines(t);
          }
        for (; first < end; ++first) line(first).scan_from(start(first));
      });
    else
      for (std::int64_t o = 0; o < outer; ++o) line(o).scan_from(start(o), threads);
    return;
  }
  // `count` columns of a row, which is read once: totals of the chunk are added up beside its scan
  auto const scan_row = [&](T const* from, typename Fold::result* to, total* t, total* own,
                            std::int64_t count) __attribute__((always_inline)) {
    LOCUS_IVDEP
    for (std::int64_t w = 0; w < count; ++w) {
      total const v = fold.widen(from[w]), next = fold.combine(t[w], v);
      to[w] = fold.finish(Exclusive ? t[w] : next);
      t[w] = next, own[w] = fold.combine(own[w], v);
    }
  };
  auto const scan_columns = [&](std::int64_t line, std::int64_t width) {
    constexpr std::int64_t some = 16;  // compilers make registers of them
    total t[most], start[most], own[most];
    start_line(line, start);
    for (std::int64_t k = 0; k < chunks; ++k) {
      for (std::int64_t w = 0; w < width; ++w) t[w] = start[w], own[w] = fold.identity();
      each_row(line, k, [&](T const* from, typename Fold::result* to) {
        std::int64_t w = 0;
        for (; w + some <= width; w += some) scan_row(from + w, to + w, t + w, own + w, some);
        scan_row(from + w, to + w, t + w, own + w, width - w);
      });
      for (std::int64_t w = 0; w < width; ++w) start[w] = fold.combine(start[w], own[w]);
    }
  };
  if (threads == 1 || chunks == 1 || lines >= 4 * threads) {  // whole lines are tasks
    for_blocks_of_lines(lines, n, threads, [&](std::int64_t first, std::int64_t end) {
      for (; first < end; ++first) scan_columns(first, width_of(first % bands));
    });
    return;
  }
  workspace<total> const memory(lines * chunks * band);
  auto const totals = [&](std::int64_t line, std::int64_t k) {
    return memory.data() + (line * chunks + k) * band;
  };
  auto const tasks = static_cast<int>(lines * chunks);
  parallel_for(tasks, threads, [&](int task) {
    fold_chunk(task / chunks, task % chunks, totals(task / chunks, task % chunks));
  });
  for (std::int64_t line = 0; line < lines; ++line) {
    total t[several];
    start_line(line, t);
    for (std::int64_t k = 0; k < chunks; ++k)
      for (std::int64_t w = 0; w < width_of(line % bands); ++w) {
        total& own = totals(line, k)[w];
        total const before = t[w];
        t[w] = fold.combine(before, own);
        own = before;
      }
  }
  parallel_for(tasks, threads, [&](int task) {
    scan_chunk_from(task / chunks, task % chunks, totals(task / chunks, task % chunks));
  });
}

/// means: totals[o, k, c] = the fold of x[o, j, c] over the j of chunk k
/// shape: x (outer, n, inner), totals (outer, chunks, inner); chunks of all lines may be more than an int
///        counts
template <class Fold, class T>
void fold_chunks(T const* x, typename Fold::total* totals, std::int64_t outer, std::int64_t n,
                 std::int64_t inner, Fold const& fold = {}) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk,
                     length = n < chunk ? n : chunk;
  auto const fold_chunk = [&](std::int64_t number) {
    std::int64_t const o = number / chunks, first = number % chunks * chunk,
                       end = first + chunk < n ? first + chunk : n;
    typename Fold::total* const t = totals + number * inner;
    for (std::int64_t c = 0; c < inner; ++c) t[c] = fold.identity();
    for (std::int64_t j = first; j < end; ++j)
      for (std::int64_t c = 0; c < inner; ++c)
        t[c] = fold.combine(t[c], fold.widen(x[(o * n + j) * inner + c]));
  };
  int const threads = threads_worth(static_cast<float>(outer * n * inner));
  for_blocks_of_lines(outer * chunks, length * inner, threads,
                      [&](std::int64_t first, std::int64_t end) {
                        for (; first < end; ++first) fold_chunk(first);
                      });
}

/// means: r[o, row, c] = the fold of x[o, 0 ... n - 1, c], 0 in the other rows
/// shape: x (outer, n, inner), r (outer, rows, inner)
template <class Fold, class T>
void fold_lines(T const* x, typename Fold::total* r, std::int64_t outer, std::int64_t n,
                std::int64_t inner, std::int64_t row, std::int64_t rows) {
  using total = typename Fold::total;
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  workspace<total> const memory(outer * chunks * inner);
  total* const totals = memory.data();
  fold_chunks<Fold>(x, totals, outer, n, inner);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < rows; ++k)
      for (std::int64_t c = 0; c < inner; ++c) {
        total t = k == row ? Fold::identity() : total(0);
        for (std::int64_t j = 0; k == row && j < chunks; ++j)
          t = Fold::combine(t, totals[(o * chunks + j) * inner + c]);
        r[(o * rows + k) * inner + c] = t;
      }
}

}  // namespace LOCUS_MODE
}  // namespace host

/// The rule, the cut and the extents of all scans of one kind over one axis.
template <scan_kind K, int Axis>
struct scan_rule {
  static constexpr call_rule rule{.name = name_of_scan(K),
                                  .operands = {call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = K == scan_kind::sum       ? "Cumsum"
                                                : K == scan_kind::product ? "Cumprod"
                                                                          : "",
                                  .fixed_bits = true};
  template <int, class T, class...>
  using result = typename scan_fold<K, T>::result;
  static constexpr std::int64_t operations(shape, shape x) { return 2 * x.size(); }
};

/// means: r[a..., j, b...] = the fold of x[a..., 0 ... j, b...], a: Axis axes; Exclusive: without
///        element j; Backwards: from the end
/// device: as x, which is whole, or in pieces along another axis
template <scan_kind K, int Axis, bool Exclusive, bool Backwards>
struct scan_op : scan_rule<K, Axis> {
  static constexpr shape infer(int, shape x) { return x.rank > Axis ? x : no_shape; }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = found[0] != Axis};
    c.operands[0] = c.axis = found[0];
    return c;
  }
  template <class Result, class T>
  void host(call_context const&, tile<Result> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    using fold = scan_fold<K, T>;
    host::scan_lines<fold, Exclusive, Backwards>(x.data, r.data, of.outer, of.n, of.inner,
                                                 line_starts<typename fold::total>{});
  }
  /// means: as host(), bit for bit
  template <class Result, class T>
  void card(card_context& here, tile<Result> r, tile<T const> x) const;

  template <class G, class Y, class X>
    requires(K == scan_kind::sum || K == scan_kind::product)
  static constexpr auto pullback(G const& g, Y const& y, X const& x);
};

/// means: a step that makes totals of pieces along Axis: terms, since each replica has its own rows
template <int Axis>
constexpr call_cut cut_of_totals(call_axes const& found) {
  call_cut c{.fits = found[0] == Axis};
  c.operands[0] = Axis, c.terms = reduction::sum;
  return c;
}
/// means: a step that scans pieces along Axis from the totals of all of them
template <int Axis>
constexpr call_cut cut_behind_totals(call_axes const& found) {
  call_cut c{.fits = found[0] == Axis};
  c.operands[0] = Axis, c.operands[1] = call_cut::whole, c.axis = Axis;
  return c;
}

/// means: of each line the total of each replica's piece: row k is that of replica k, rows without
///        a replica are 0
/// device: x in pieces along Axis over List; a partial sum: each replica has its own row
template <scan_kind K, int Axis, per_rank List>
struct piece_totals_op {
  static constexpr call_rule rule{.name = "scan.totals",
                                  .operands = {call_role::rows},
                                  .results = {call_role::terms},
                                  .fixed_bits = true};
  template <int, class T>
  using result = typename scan_fold<K, T>::total;
  static constexpr shape infer(int, shape x) {
    if (x.rank <= Axis) return no_shape;
    x.extent[Axis] = rows_for_replicas<List>();
    return x;
  }
  static constexpr std::int64_t operations(shape, shape x) { return x.size(); }
  static constexpr call_cut cut(call_axes const& found) { return cut_of_totals<Axis>(found); }
  template <class Total, class T>
  void host(call_context const& here, tile<Total> r, tile<T const> x) const {
    around_axis const of(x, Axis);
    host::fold_lines<scan_fold<K, T>>(x.data, r.data, of.outer, of.n, of.inner, here.replica,
                                      r.extent[Axis]);
  }
  /// means: as host(), bit for bit
  template <class Total, class T>
  void card(card_context& here, tile<Total> r, tile<T const> x) const;
};

/// means: a scan along the cut of x, from the totals of the pieces in front
template <scan_kind K, int Axis, bool Exclusive, bool Backwards>
struct scan_of_pieces_op {
  static constexpr call_rule rule{.name = name_of_scan(K),
                                  .operands = {call_role::rows, call_role::whole},
                                  .results = {call_role::rows},
                                  .tensorflow = scan_rule<K, Axis>::rule.tensorflow,
                                  .fixed_bits = true};
  template <int, class T, class>
  using result = typename scan_fold<K, T>::result;
  static constexpr shape infer(int, shape x, shape) { return x; }
  static constexpr std::int64_t operations(shape, shape x, shape) { return 2 * x.size(); }
  static constexpr call_cut cut(call_axes const& found) { return cut_behind_totals<Axis>(found); }
  template <class Result, class T, class Total>
  void host(call_context const& here, tile<Result> r, tile<T const> x,
            tile<Total const> totals) const {
    around_axis const of(x, Axis);
    host::scan_lines<scan_fold<K, T>, Exclusive, Backwards>(
        x.data, r.data, of.outer, of.n, of.inner,
        line_starts<Total>{totals.data, here.replica, here.replicas, totals.extent[Axis]});
  }
  template <class Result, class T, class Total>
  void card(card_context& here, tile<Result> r, tile<T const> x, tile<Total const> totals) const;

  template <class G, class Y, class X, class Totals>
    requires(K == scan_kind::sum || K == scan_kind::product)
  static constexpr auto pullback(G const& g, Y const& y, X const& x, Totals const& totals);
};

#if LOCUS_CUDA_KERNELS
template <scan_kind K, int Axis, bool Exclusive, bool Backwards>
template <class Result, class T>
void scan_op<K, Axis, Exclusive, Backwards>::card(card_context& here, tile<Result> r,
                                                  tile<T const> x) const {
  around_axis const of(x, Axis);
  using fold = scan_fold<K, T>;
  cards::scan_lines<fold, Exclusive, Backwards>(here, x.data, r.data, of.outer, of.n, of.inner,
                                                line_starts<typename fold::total>{});
}
template <scan_kind K, int Axis, per_rank List>
template <class Total, class T>
void piece_totals_op<K, Axis, List>::card(card_context& here, tile<Total> r,
                                          tile<T const> x) const {
  around_axis const of(x, Axis);
  cards::fold_lines<scan_fold<K, T>>(here, x.data, r.data, of.outer, of.n, of.inner, here.replica,
                                     r.extent[Axis]);
}
template <scan_kind K, int Axis, bool Exclusive, bool Backwards>
template <class Result, class T, class Total>
void scan_of_pieces_op<K, Axis, Exclusive, Backwards>::card(card_context& here, tile<Result> r,
                                                            tile<T const> x,
                                                            tile<Total const> totals) const {
  around_axis const of(x, Axis);
  cards::scan_lines<scan_fold<K, T>, Exclusive, Backwards>(
      here, x.data, r.data, of.outer, of.n, of.inner,
      line_starts<Total>{totals.data, here.replica, here.replicas, totals.extent[Axis]});
}
#endif

}  // namespace locus::algorithms
