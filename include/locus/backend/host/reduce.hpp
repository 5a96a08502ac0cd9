// SPDX-License-Identifier: Apache-2.0
// Folds on the host: several over any axes in one pass, with elements stored beside them. How a sum
// is cut depends on the shape alone, so that its bits do not depend on the number of threads.
#pragma once
#include <locus/backend/host/line.hpp>    // line
#include <locus/backend/host/map.hpp>     // threads_for
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

/// The numbers of elements that means divide by; negative: no mean.
template <int Count>
struct mean_counts {
  double of[Count];
};

/// means: for every row o:  t[n] = fold of f(element inputs)[n], and element_out[m][i] =
///        f(element inputs)[folds + m];  out[m][o] = rest(row inputs, t)[m]
/// Operands: element inputs, row inputs, outputs of elements, of rows, all in terms of the space's
/// axes.
template <class Reducers, class Stage, class Rest, class Elements, class Rows, class ElementOuts,
          class Outs>
struct folding;
template <class... Reducers, class Stage, class Rest, class... Elements, class... Rows,
          class... ElementOuts, class... Outs>
struct folding<type_list<Reducers...>, Stage, Rest, type_list<Elements...>, type_list<Rows...>,
               type_list<ElementOuts...>, type_list<Outs...>> {
  static constexpr int folds = sizeof...(Reducers), elements = sizeof...(Elements),
                       rows = sizeof...(Rows), element_outs = sizeof...(ElementOuts),
                       outs = sizeof...(Outs);
  static constexpr int first_element_out = elements + rows,
                       first_out = elements + rows + element_outs;
  static constexpr int all = first_out + outs;
  using totals = pack<typename Reducers::total...>;
  using line_type = line<type_list<Elements...>>;
  static constexpr int columns = block;  // outputs of one run where the innermost axis is kept

  Stage const& f;
  Rest const& rest;
  kernel::space s;
  kernel::access a[all];
  mean_counts<folds> const& means;

  folding(Stage const& stage, Rest const& after, kernel::space const& over,
          kernel::access const* operands, mean_counts<folds> const& n)
      : f(stage), rest(after), s(over), means(n) {
    for (int k = 0; k < all; ++k) a[k] = operands[k];
    kernel::collapse(s, a, all);
  }

  template <int N>
  using reducer = at_t<N, type_list<Reducers...>>;
  static totals start() { return {{Reducers::identity()}...}; }
  static void combine_into(totals& t, totals const& other) {
    for_each_index<folds>(
        [&](auto n) { get<n>(t) = reducer<n>::combine(get<n>(t), get<n>(other)); });
  }

  template <std::size_t... K>
  pack<typename Rows::type...> row_values(std::int64_t const* at, std::index_sequence<K...>) const {
    return {{row_input<Rows>(a[elements + int(K)], at[elements + int(K)])}...};
  }
  /// what follows the fold of one row, written
  void finish(totals const& t, std::int64_t const* at) const {
    pack<typename Reducers::result...> done;
    for_each_index<folds>(
        [&](auto n) { get<n>(done) = reducer<n>::finish(get<n>(t), means.of[n]); });
    auto const r = rest(row_values(at, std::index_sequence_for<Rows...>{}), done);
    for_each_index<outs>([&](auto m) {
      using T = at_t<m, type_list<Outs...>>;
      static_cast<T*>(a[first_out + m].data)[at[first_out + m]] = get<m>(r);
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
    std::int64_t const width = nest.inner_folded ? 1 : columns;
    std::int64_t const total_count = runs * parts * width;
    auto* const partials = parts == 1 ? nullptr
                                      : static_cast<totals*>(runtime::host_memory.allocate(
                                            std::size_t(total_count) * sizeof(totals)));
    auto const do_task = [&](std::int64_t run, std::int64_t part, totals* to) {
      if (nest.inner_folded)
        row_task(nest, run, part, parts, n, folded, to);
      else
        column_task(nest, run, part, parts, n, folded, to);
    };
    if (parts > 1 && !partials) {  // no memory for them: one output after the other, the same bits
      totals few[64 * columns];
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
    runtime::host_memory.release(partials, std::size_t(total_count) * sizeof(totals));
  }

 private:
  void offsets_of(fold_nest const& nest, std::int64_t o, std::int64_t* at) const {
    for (int k = 0; k < all; ++k) at[k] = nest.kept_offset(a[k], o);
  }
  template <class T>
  struct lanes_of {
    T value[block];
  };
  using lanes = pack<lanes_of<typename Reducers::lane>...>;
  static void clear(lanes& l) {
    for_each_index<folds>([&](auto n) {
      for (int j = 0; j < block; ++j) get<n>(l).value[j] = reducer<n>::start();
    });
  }
  static void widen_into(totals& t, lanes const& l, int j) {
    for_each_index<folds>([&](auto n) {
      get<n>(t) = reducer<n>::combine(get<n>(t), reducer<n>::widen(get<n>(l).value[j]));
    });
  }
  /// elements [0, n) at p go to the lanes, and to the outputs of elements at `at`
  void add(lanes& l, typename line_type::pointers const& p, std::int64_t const* at, int n) const {
    int const last = s.rank - 1;
    LOCUS_IVDEP
    for (int j = 0; j < n; ++j) {
      auto const r = f(line_type::load(p, j), pack<>{});
      for_each_index<folds>(
          [&](auto k) { get<k>(l).value[j] = reducer<k>::add(get<k>(l).value[j], get<k>(r)); });
      for_each_index<element_outs>([&](auto m) {
        using T = at_t<m, type_list<ElementOuts...>>;
        kernel::access const& to = a[first_element_out + m];
        static_cast<T*>(to.data)[at[first_element_out + m] + j * to.stride[last]] =
            get<folds + m>(r);
      });
    }
  }
  /// one line of n elements from `at` on
  void fold_line(totals& t, std::int64_t const* at, std::int64_t n) const {
    int const last = s.rank - 1;
    line_type in(a, at, last);
    lanes l;
    std::int64_t here[all];
    constexpr std::int64_t unit =
        8192;  // values that one set of lanes adds before it goes to the total
    for (std::int64_t i = 0; i < n;) {
      clear(l);
      std::int64_t const stop = n - i < unit ? n : i + unit;
      int used = 0;
      for (; i < stop; i += block) {
        int const width = static_cast<int>(stop - i < block ? stop - i : block);
        for (int k = first_element_out; k < first_out; ++k) here[k] = at[k] + i * a[k].stride[last];
        add(l, in.at(i, width), here, width);
        used = used > width ? used : width;
      }
      i = stop;
      for (int j = 0; j < used; ++j) widen_into(t, l, j);
    }
  }
  /// the innermost axis is folded: whole lines, or parts of the one line
  void row_task(fold_nest const& nest, std::int64_t o, std::int64_t part, std::int64_t parts,
                std::int64_t n, std::int64_t folded, totals* to) const {
    std::int64_t at[all];
    offsets_of(nest, o, at);
    bool const cut_line = folded == 1;
    std::int64_t const unit = cut_line ? (n / parts + 8191) / 8192 * 8192 : 0;
    std::int64_t const whole = cut_line ? n : folded;
    std::int64_t const each =
        cut_line && parts > 1 ? (unit > 0 ? unit : 8192) : (whole + parts - 1) / parts;
    std::int64_t const begin = part * each < whole ? part * each : whole;
    std::int64_t const end = part == parts - 1 || begin + each > whole ? whole : begin + each;
    int const last = s.rank - 1;
    totals t = start();
    std::int64_t element_at[all];
    if (cut_line) {
      for (int k = 0; k < all; ++k) element_at[k] = at[k] + begin * a[k].stride[last];
      fold_line(t, element_at, end - begin);
    } else
      for (std::int64_t i = begin; i < end; ++i) {
        for (int k = 0; k < all; ++k) element_at[k] = at[k] + nest.folded_offset(a[k], i);
        fold_line(t, element_at, n);
      }
    if (to)
      *to = t;
    else
      finish(t, at);
  }
  /// the innermost axis is kept: a run of columns, line after line
  void column_task(fold_nest const& nest, std::int64_t run, std::int64_t part, std::int64_t parts,
                   std::int64_t n, std::int64_t folded, totals* to) const {
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
    totals sums[columns];
    for (int j = 0; j < columns; ++j) sums[j] = start();
    std::int64_t element_at[all];
    for (std::int64_t i = begin; i < end;) {
      lanes l;
      clear(l);
      std::int64_t const stop = i + lines_of_lanes < end ? i + lines_of_lanes : end;
      for (; i < stop; ++i) {
        for (int k = 0; k < all; ++k)
          element_at[k] = at[k] + nest.folded_offset(a[k], i) + first * a[k].stride[last];
        line_type in(a, element_at, last);
        add(l, in.at(0, width), element_at, width);
      }
      for (int j = 0; j < width; ++j) widen_into(sums[j], l, j);
    }
    if (to)
      for (int j = 0; j < columns; ++j) to[j] = sums[j];
    else
      write_columns(at, first, width, sums);
  }
  void write_columns(std::int64_t const* at, std::int64_t first, int width,
                     totals const* sums) const {
    int const last = s.rank - 1;
    for (int j = 0; j < width; ++j) {
      std::int64_t here[all];
      for (int k = elements; k < all; ++k) here[k] = at[k] + (first + j) * a[k].stride[last];
      finish(sums[j], here);
    }
  }
  /// parts in order
  void combine(fold_nest const& nest, std::int64_t run, std::int64_t parts, std::int64_t n,
               std::int64_t width, totals const* partials) const {
    totals sums[columns];
    for (int j = 0; j < width; ++j) {
      sums[j] = start();
      for (std::int64_t part = 0; part < parts; ++part)
        combine_into(sums[j], partials[part * width + j]);
    }
    std::int64_t at[all];
    if (nest.inner_folded) {
      offsets_of(nest, run, at);
      finish(sums[0], at);
    } else {
      std::int64_t const runs = (n + columns - 1) / columns;
      std::int64_t const first = run % runs * columns;
      offsets_of(nest, run / runs, at);
      write_columns(at, first, static_cast<int>(n - first < columns ? n - first : columns), sums);
    }
  }
};

/// means: folding::run
template <class... Reducers, class Stage, class Rest, class... Elements, class... Rows,
          class... ElementOuts, class... Outs>
void reduce(type_list<Reducers...>, Stage const& f, Rest const& rest,
            mean_counts<sizeof...(Reducers)> const& means, kernel::space const& s,
            kernel::access const* operands, type_list<Elements...>, type_list<Rows...>,
            type_list<ElementOuts...>, type_list<Outs...>) {
  folding<type_list<Reducers...>, Stage, Rest, type_list<Elements...>, type_list<Rows...>,
          type_list<ElementOuts...>, type_list<Outs...>>(f, rest, s, operands, means)
      .run();
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_LOOPS_END
