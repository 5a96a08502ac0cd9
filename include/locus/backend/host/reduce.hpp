// SPDX-License-Identifier: Apache-2.0
// Folds on the host: one fold over any axes, and rows whose elements follow folds of the row
// (softmax). How a sum is cut depends on the shape alone, so that its bits do not depend on the
// number of threads.
#pragma once
#include <locus/backend/host/line.hpp>    // line
#include <locus/backend/host/map.hpp>     // mapping, threads_for
#include <locus/kernel/call.hpp>          // space, access, collapse
#include <locus/kernel/reducer.hpp>       // reducer
#include <locus/runtime/host_memory.hpp>  // host_memory
#include <locus/runtime/threads.hpp>      // parallel_for

LOCUS_LOOPS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// means: one total for one line: lanes in the inner loop, blocks of lanes in the wide type
/// cost:  operands from a cache are read with the lanes in registers, at twice the rate; from DRAM
///        the rolled loop below, which reads in smaller steps, is a tenth quicker
template <class Reducer, class Stage, class Folds, class... Ins>
typename Reducer::total fold_line(Stage const& f, Folds const& folds, line<type_list<Ins...>>& in,
                                  std::int64_t n, bool cached) {
  using line_type = line<type_list<Ins...>>;
  typename Reducer::total total = Reducer::identity();
  std::int64_t i = 0;
  while (i + block <= n) {
    typename Reducer::lane lanes[block];
    for (int j = 0; j < block; ++j) lanes[j] = Reducer::start();
    std::int64_t const stop = n - i < Reducer::block ? n : i + Reducer::block;
    if (cached && in.is_direct()) {
      auto const p = in.at(0, block);
      for (; i + block <= stop; i += block) {
        LOCUS_LANES
        for (int j = 0; j < block; ++j)
          lanes[j] = Reducer::add(lanes[j], get<0>(f(line_type::load(p, i + j), folds)));
      }
    }
    for (; i + block <= stop; i += block) {
      auto const p = in.at(i, block);
      LOCUS_IVDEP
      for (int j = 0; j < block; ++j)
        lanes[j] = Reducer::add(lanes[j], get<0>(f(line_type::load(p, j), folds)));
    }
    for (int j = 0; j < block; ++j) total = Reducer::combine(total, Reducer::widen(lanes[j]));
  }
  if (i < n) {
    int const rest = static_cast<int>(n - i);
    auto const p = in.at(i, rest);
    for (int j = 0; j < rest; ++j)
      total = Reducer::combine(
          total,
          Reducer::widen(Reducer::add(Reducer::start(), get<0>(f(line_type::load(p, j), folds)))));
  }
  return total;
}

/// means: space with folded and kept axes apart, in the order in which loops run over them
struct fold_nest {
  kernel::space kept, folded;  // outer axes; the innermost axis of the space is in neither
  int kept_axis[max_rank]{}, folded_axis[max_rank]{};
  bool inner_folded = false;

  explicit fold_nest(kernel::space const& s) {
    inner_folded = has_axis(s.axes, s.rank - 1);
    for (int d = 0; d < s.rank - 1; ++d) {
      bool const fold = has_axis(s.axes, d);
      kernel::space& to = fold ? folded : kept;
      (fold ? folded_axis : kept_axis)[to.rank] = d;
      to.extent[to.rank++] = s.extent[d];
    }
  }
  /// offset of an operand at the i-th point of the kept or the folded outer axes
  static std::int64_t offset(kernel::space const& part, int const* axes, kernel::access const& a,
                             std::int64_t i) {
    std::int64_t at = 0;
    for (int d = part.rank; d-- > 0;) {
      at += i % part.extent[d] * a.stride[axes[d]];
      i /= part.extent[d];
    }
    return at;
  }
  std::int64_t kept_offset(kernel::access const& a, std::int64_t i) const {
    return offset(kept, kept_axis, a, i);
  }
  std::int64_t folded_offset(kernel::access const& a, std::int64_t i) const {
    return offset(folded, folded_axis, a, i);
  }
};

/// means: for every row o:  t = fold of f(element inputs);  out[m][o] = rest(row inputs, t)[m]
/// Operands: element inputs, row inputs, outputs, all in terms of the space's axes.
template <class Reducer, class Stage, class Rest, class Elements, class Rows, class Outs>
struct folding;
template <class Reducer, class Stage, class Rest, class... Elements, class... Rows, class... Outs>
struct folding<Reducer, Stage, Rest, type_list<Elements...>, type_list<Rows...>,
               type_list<Outs...>> {
  static constexpr int elements = sizeof...(Elements), rows = sizeof...(Rows),
                       outs = sizeof...(Outs);
  static constexpr int all = elements + rows + outs;
  using total_type = typename Reducer::total;
  using line_type = line<type_list<Elements...>>;
  static constexpr int columns = block;  // outputs of one run where the innermost axis is kept

  Stage const& f;
  Rest const& rest;
  kernel::space s;
  kernel::access a[all];
  double count;
  bool cached = false;  // what is read may lie in a cache of the processor

  folding(Stage const& stage, Rest const& after, kernel::space const& over,
          kernel::access const* operands, double n)
      : f(stage), rest(after), s(over), count(n) {
    for (int k = 0; k < all; ++k) a[k] = operands[k];
    kernel::collapse(s, a, all);
  }

  template <std::size_t... K>
  pack<typename Rows::type...> row_values(std::int64_t const* at, std::index_sequence<K...>) const {
    return {{row_input<Rows>(a[elements + int(K)], at[elements + int(K)])}...};
  }
  /// what follows the fold of one row, written
  void finish(total_type t, std::int64_t const* at) const {
    auto const folds = make_pack(Reducer::finish(t, count));
    auto const r = rest(row_values(at, std::index_sequence_for<Rows...>{}), folds);
    for_each_index<outs>([&](auto m) {
      using T = at_t<m, type_list<Outs...>>;
      static_cast<T*>(a[elements + rows + m].data)[at[elements + rows + m]] = get<m>(r);
    });
  }

  void run() {
    fold_nest const nest(s);
    int const last = s.rank - 1;
    std::int64_t const n = s.extent[last];
    std::int64_t const kept = nest.kept.size(), folded = nest.folded.size();
    std::int64_t const runs = nest.inner_folded ? kept : kept * ((n + columns - 1) / columns);
    if (runs == 0 || (!nest.inner_folded && n == 0)) return;
    // parts of one output: only where outputs are few and long
    std::int64_t const lines = folded, length = nest.inner_folded ? folded * n : folded;
    std::int64_t parts = 1;
    if (runs < 64 && length * (nest.inner_folded ? 1 : columns) > (1 << 17)) {
      parts = (64 + runs - 1) / runs;
      std::int64_t const most =
          nest.inner_folded && lines == 1 ? n / 16384 : lines / (nest.inner_folded ? 1 : 64);
      if (parts > most) parts = most < 1 ? 1 : most;
    }
    std::int64_t const bytes = s.size() * std::int64_t((sizeof(typename Elements::type) + ... + 0));
    int const threads = threads_for(bytes);
    cached = bytes <= (std::int64_t(32) << 20);
    std::int64_t const width = nest.inner_folded ? 1 : columns;
    std::int64_t const total_count = runs * parts * width;
    auto* const partials = parts == 1 ? nullptr
                                      : static_cast<total_type*>(runtime::host_memory.allocate(
                                            std::size_t(total_count) * sizeof(total_type)));
    auto const do_task = [&](std::int64_t run, std::int64_t part, total_type* to) {
      if (nest.inner_folded)
        row_task(nest, run, part, parts, n, folded, to);
      else
        column_task(nest, run, part, parts, n, folded, to);
    };
    if (parts > 1 && !partials) {  // no memory for them: one output after the other, the same bits
      total_type few[64 * columns];
      for (std::int64_t r = 0; r < runs; ++r) {
        for (std::int64_t part = 0; part < parts; ++part) do_task(r, part, few + part * width);
        combine(nest, r, parts, n, width, few);
      }
      return;
    }
    std::int64_t const tasks = runs * parts;
    std::int64_t const each =
        (tasks + 8 * threads - 1) / (8 * threads);  // runs of one trip to the task counter
    int const trips = static_cast<int>((tasks + each - 1) / each);
    parallel_for(trips, threads, [&](int trip) {
      std::int64_t const end = (trip + 1) * each < tasks ? (trip + 1) * each : tasks;
      for (std::int64_t t = trip * each; t < end; ++t) {
        do_task(t / parts, t % parts, partials ? partials + t * width : nullptr);
      }
    });
    if (!partials) return;
    for (std::int64_t r = 0; r < runs; ++r)
      combine(nest, r, parts, n, width, partials + r * parts * width);
    runtime::host_memory.release(partials, std::size_t(total_count) * sizeof(total_type));
  }

 private:
  void offsets_of(fold_nest const& nest, std::int64_t o, std::int64_t* at) const {
    for (int k = 0; k < all; ++k) at[k] = nest.kept_offset(a[k], o);
  }
  /// the innermost axis is folded: whole lines, or parts of the one line
  void row_task(fold_nest const& nest, std::int64_t o, std::int64_t part, std::int64_t parts,
                std::int64_t n, std::int64_t folded, total_type* to) const {
    std::int64_t at[all];
    offsets_of(nest, o, at);
    bool const cut_line = folded == 1;
    std::int64_t const unit = cut_line ? (n / parts + Reducer::block - 1) / 8192 * 8192 : 0;
    std::int64_t const whole = cut_line ? n : folded;
    std::int64_t const each =
        cut_line && parts > 1 ? (unit > 0 ? unit : 8192) : (whole + parts - 1) / parts;
    std::int64_t const begin = part * each < whole ? part * each : whole;
    std::int64_t const end = part == parts - 1 || begin + each > whole ? whole : begin + each;
    int const last = s.rank - 1;
    pack<> const no_folds{};
    total_type t = Reducer::identity();
    std::int64_t element_at[elements + 1];
    if (cut_line) {
      for (int k = 0; k < elements; ++k) element_at[k] = at[k] + begin * a[k].stride[last];
      line_type in(a, element_at, last);
      t = fold_line<Reducer>(f, no_folds, in, end - begin, cached);
    } else
      for (std::int64_t i = begin; i < end; ++i) {
        for (int k = 0; k < elements; ++k) element_at[k] = at[k] + nest.folded_offset(a[k], i);
        line_type in(a, element_at, last);
        t = Reducer::combine(t, fold_line<Reducer>(f, no_folds, in, n, cached));
      }
    if (to)
      *to = t;
    else
      finish(t, at);
  }
  /// the innermost axis is kept: a run of columns, line after line
  void column_task(fold_nest const& nest, std::int64_t run, std::int64_t part, std::int64_t parts,
                   std::int64_t n, std::int64_t folded, total_type* to) const {
    std::int64_t const runs = (n + columns - 1) / columns;
    std::int64_t const o = run / runs, first = run % runs * columns;
    int const width = static_cast<int>(n - first < columns ? n - first : columns),
              last = s.rank - 1;
    std::int64_t at[all];
    offsets_of(nest, o, at);
    std::int64_t const each = (folded + parts - 1) / parts;
    std::int64_t const begin = part * each < folded ? part * each : folded;
    std::int64_t const end = begin + each < folded ? begin + each : folded;
    constexpr std::int64_t lines_of_lanes =
        64;  // lines that lanes add before they go to the totals
    pack<> const no_folds{};
    total_type totals[columns];
    for (int j = 0; j < columns; ++j) totals[j] = Reducer::identity();
    std::int64_t element_at[elements + 1];
    for (std::int64_t i = begin; i < end;) {
      typename Reducer::lane lanes[columns];
      for (int j = 0; j < columns; ++j) lanes[j] = Reducer::start();
      std::int64_t const stop = i + lines_of_lanes < end ? i + lines_of_lanes : end;
      for (; i < stop; ++i) {
        for (int k = 0; k < elements; ++k)
          element_at[k] = at[k] + nest.folded_offset(a[k], i) + first * a[k].stride[last];
        line_type in(a, element_at, last);
        auto const p = in.at(0, width);
        if (width == columns) {
          LOCUS_IVDEP
          for (int j = 0; j < columns; ++j)
            lanes[j] = Reducer::add(lanes[j], get<0>(f(line_type::load(p, j), no_folds)));
        } else
          for (int j = 0; j < width; ++j)
            lanes[j] = Reducer::add(lanes[j], get<0>(f(line_type::load(p, j), no_folds)));
      }
      for (int j = 0; j < width; ++j)
        totals[j] = Reducer::combine(totals[j], Reducer::widen(lanes[j]));
    }
    if (to)
      for (int j = 0; j < columns; ++j) to[j] = totals[j];
    else
      write_columns(at, first, width, totals);
  }
  void write_columns(std::int64_t const* at, std::int64_t first, int width,
                     total_type const* totals) const {
    int const last = s.rank - 1;
    for (int j = 0; j < width; ++j) {
      std::int64_t here[all];
      for (int k = elements; k < all; ++k) here[k] = at[k] + (first + j) * a[k].stride[last];
      finish(totals[j], here);
    }
  }
  /// parts in order
  void combine(fold_nest const& nest, std::int64_t run, std::int64_t parts, std::int64_t n,
               std::int64_t width, total_type const* partials) const {
    total_type totals[columns];
    for (int j = 0; j < width; ++j) {
      totals[j] = Reducer::identity();
      for (std::int64_t part = 0; part < parts; ++part)
        totals[j] = Reducer::combine(totals[j], partials[part * width + j]);
    }
    std::int64_t at[all];
    if (nest.inner_folded) {
      offsets_of(nest, run, at);
      finish(totals[0], at);
    } else {
      std::int64_t const runs = (n + columns - 1) / columns;
      std::int64_t const first = run % runs * columns;
      offsets_of(nest, run / runs, at);
      write_columns(at, first, static_cast<int>(n - first < columns ? n - first : columns), totals);
    }
  }
};

/// means: folding::run     count >= 0: the mean over so many elements
template <class Reducer, class Stage, class Rest, class... Elements, class... Rows, class... Outs>
void reduce(Stage const& f, Rest const& rest, double count, kernel::space const& s,
            kernel::access const* operands, type_list<Elements...>, type_list<Rows...>,
            type_list<Outs...>) {
  folding<Reducer, Stage, Rest, type_list<Elements...>, type_list<Rows...>, type_list<Outs...>>(
      f, rest, s, operands, count)
      .run();
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_LOOPS_END
