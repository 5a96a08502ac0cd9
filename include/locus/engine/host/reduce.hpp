// SPDX-License-Identifier: Apache-2.0
// Folds on the host: one pass computes several folds over any axes, and may store elements. The cut
// of a sum depends on the extents only, so that its bits do not depend on the number of threads.
#pragma once
#include <locus/engine/host/element.hpp>      // element_at
#include <locus/engine/host/fold_choice.hpp>  // chosen_fold
#include <locus/engine/host/fold_nest.hpp>    // fold_nest, column_run
#include <locus/engine/host/map.hpp>          // threads_for
#include <locus/engine/host/turned_rows.hpp>  // turned_rows
#include <locus/runtime/caches.hpp>           // last_level_cache
#include <locus/runtime/host_memory.hpp>      // host_memory
#include <locus/runtime/threads.hpp>          // parallel_for
#include <locus/work/call.hpp>                // space, access, collapse

LOCUS_LOOPS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

/// means: for every row o: t[n] = fold n of f(element inputs); element_out[m][i] = f(element
///        inputs)[folds + m]; out[m][o] = rest(row inputs, t)[m]
/// Order of operands: element inputs, row inputs, element outputs, row outputs; strides along the
/// axes of the space. FoldsAll: every axis is folded, and no loop over columns is compiled.
template <bool FoldsAll, class Reducers, class Stage, class Rest, class Elements, class Rows,
          class ElementOuts, class Outs>
struct folding;
template <bool FoldsAll, class... Reducers, class Stage, class Rest, class... Elements,
          class... Rows, class... ElementOuts, class... Outs>
struct folding<FoldsAll, type_list<Reducers...>, Stage, Rest, type_list<Elements...>,
               type_list<Rows...>, type_list<ElementOuts...>, type_list<Outs...>> {
  static constexpr int folds = sizeof...(Reducers), elements = sizeof...(Elements),
                       rows = sizeof...(Rows), element_outs = sizeof...(ElementOuts),
                       outs = sizeof...(Outs);
  static constexpr int first_element_out = elements + rows,
                       first_out = elements + rows + element_outs;
  static constexpr int all = first_out + outs;
  using totals = pack<typename Reducers::total...>;
  using chosen = chosen_fold<type_list<Reducers...>, Stage, pack<>, type_list<Elements...>,
                             type_list<ElementOuts...>>;
  using run_type = run_operands<type_list<Elements...>, type_list<ElementOuts...>>;
  static constexpr int columns = columns_of_run<folds>;

  Stage const& f;
  Rest const& rest;
  kernel::space s;
  kernel::access a[all];
  kernel::mean_counts<folds> const& means;
  bool from_memory = false;  // the fold reads more bytes than the caches hold

  folding(Stage const& stage, Rest const& after, kernel::space const& over,
          kernel::access const* operands, kernel::mean_counts<folds> const& n)
      : f(stage), rest(after), s(over), means(n) {
    for (int k = 0; k < all; ++k) a[k] = operands[k];
    bring_inside();
    kernel::collapse(s, a, all);
  }
  /// means: the axis along which most inputs are contiguous becomes the innermost axis
  void bring_inside() {
    int const last = s.rank - 1;
    int best = last, most = -1;
    for (int d = last; d >= 0; --d) {
      int side_by_side = 0;
      for (int k = 0; k < elements; ++k) side_by_side += a[k].stride[d] == 1;
      if (s.extent[d] > 1 && side_by_side > most) best = d, most = side_by_side;
    }
    if (best >= last) return;
    auto const rotate = [&](std::int64_t* v) {
      std::int64_t const x = v[best];
      for (int d = best; d < last; ++d) v[d] = v[d + 1];
      v[last] = x;
    };
    rotate(s.extent);
    for (int k = 0; k < all; ++k) rotate(a[k].stride);
    bool const folded = has_axis(s.axes, best);
    unsigned const below = (1u << best) - 1;
    unsigned const above = unsigned(s.axes) >> (best + 1) << best;
    s.axes = static_cast<axis_set>((s.axes & below) | above | (folded ? 1u << last : 0));
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
    return {{element_at<Rows>(a[elements + int(K)], at[elements + int(K)])}...};
  }
  /// means: applies `rest` to the folds of one row and stores its outputs
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

  /// means: the innermost axis is folded
  static bool in_runs(fold_nest const& nest) { return FoldsAll || nest.inner_folded; }

  void run() {
    std::int64_t const bytes = s.size() * std::int64_t((sizeof(typename Elements::type) + ... + 0));
    int const threads = threads_for(bytes);
    if constexpr (FoldsAll)
      if (s.rank == 1 && threads == 1) return fold_one_line();
    fold_nest const nest(s);
    int const last = s.rank - 1;
    std::int64_t const n = s.extent[last];
    std::int64_t const kept = nest.kept.size(), folded = nest.folded.size();
    std::int64_t const runs = in_runs(nest) ? kept : kept * ((n + columns - 1) / columns);
    if (runs == 0 || (!in_runs(nest) && n == 0)) return;
    // several parts for each output only if there are few, long outputs
    std::int64_t const lines = folded, length = in_runs(nest) ? folded * n : folded;
    std::int64_t parts = 1;
    std::int64_t const few = in_runs(nest) ? parts_of_lines : 16;
    if (runs < few && length * (in_runs(nest) || n > columns ? 1 : n) > (1 << 15)) {
      parts = parts_of(few, runs,
                       in_runs(nest) && lines == 1 ? n / least_part
                                                   : lines / (in_runs(nest) ? 1 : 512));
    }
    from_memory = bytes > runtime::last_level_cache();
    std::int64_t const width = in_runs(nest) ? 1 : columns;
    std::int64_t const total_count = runs * parts * width;
    constexpr int room = 64;
    totals here[room];
    bool const fits = total_count <= room;
    auto* const partials = parts == 1 ? nullptr
                           : fits     ? here
                                      : static_cast<totals*>(runtime::host_memory.allocate(
                                        std::size_t(total_count) * sizeof(totals)));
    auto const do_task = [&](std::int64_t run, std::int64_t part, totals* to) {
      if (in_runs(nest)) return row_task(nest, run, part, parts, n, folded, to);
      if constexpr (!FoldsAll) column_task(nest, run, part, parts, n, folded, to);
    };
    if (parts > 1 && !partials) {  // no memory: one output after another, the same bits
      totals sums[columns], one[columns];
      for (std::int64_t r = 0; r < runs; ++r) {
        for (std::int64_t j = 0; j < width; ++j) sums[j] = start();
        for (std::int64_t part = 0; part < parts; ++part) {
          do_task(r, part, one);
          for (std::int64_t j = 0; j < width_of(nest, r, n); ++j) combine_into(sums[j], one[j]);
        }
        finish_run(nest, r, n, sums);
      }
      return;
    }
    std::int64_t const tasks = runs * parts;
    // tasks of one trip to the task counter; without a division for few tasks: it costs as much as
    // a short row
    std::int64_t const shares = 8 * threads;
    std::int64_t each = tasks <= shares ? 1 : (tasks + shares - 1) / shares;
    bool const lines_alone = in_runs(nest) && folded == 1 && !partials;
    if (lines_alone && turns(n))
      each = (each + turned_at_once - 1) / turned_at_once * turned_at_once;
    int const trips = static_cast<int>(each == 1 ? tasks : (tasks + each - 1) / each);
    parallel_for(trips, threads, [&](int trip) {
      std::int64_t const end = (trip + 1) * each < tasks ? (trip + 1) * each : tasks;
      if (lines_alone) return line_tasks(nest, trip * each, end, n);
      for (std::int64_t t = trip * each; t < end; ++t) {
        if (partials)
          do_task(t / parts, t % parts, partials + t * width);
        else
          do_task(t, 0, nullptr);
      }
    });
    if (!partials) return;
    for (std::int64_t r = 0; r < runs; ++r)
      combine(nest, r, parts, n, width, partials + r * parts * width);
    if (!fits) runtime::host_memory.release(partials, std::size_t(total_count) * sizeof(totals));
  }

 private:
  void offsets_of(fold_nest const& nest, std::int64_t o, std::int64_t* at) const {
    for (int k = 0; k < all; ++k) at[k] = nest.kept_offset(a[k], o);
  }
  static constexpr std::int64_t least_part = 32768;   // elements of a part of a line
  static constexpr std::int64_t parts_of_lines = 64;  // of all runs together
  /// means: the parts of each run, so that all runs together have `wanted` parts; at most `most`
  static std::int64_t parts_of(std::int64_t wanted, std::int64_t runs, std::int64_t most) {
    std::int64_t const parts = (wanted + runs - 1) / runs;
    return parts < most ? parts : most < 1 ? 1 : most;
  }
  /// means: the fold of a line that stands alone, on this thread, with the parts of several threads
  void fold_one_line() const {
    std::int64_t const n = s.extent[0], parts = parts_of(parts_of_lines, 1, n / least_part);
    std::int64_t const at[all]{};
    totals t = start();
    if (parts == 1)
      fold_line(t, at, n);
    else
      for (std::int64_t part = 0; part < parts; ++part) {
        totals one = start();
        fold_part(one, at, n, part, parts);
        combine_into(t, one);
      }
    finish(t, at);
  }
  /// means: folds part number `part` of a line of n elements at offsets `at` into t
  void fold_part(totals& t, std::int64_t const* at, std::int64_t n, std::int64_t part,
                 std::int64_t parts) const {
    std::int64_t const each = (n / parts + 8191) / 8192 * 8192;
    std::int64_t const begin = part * each < n ? part * each : n;
    std::int64_t const end = part == parts - 1 || begin + each > n ? n : begin + each;
    std::int64_t element_at[all];
    for (int k = 0; k < all; ++k) element_at[k] = at[k] + begin * a[k].stride[s.rank - 1];
    fold_line(t, element_at, end - begin);
  }
  /// means: folds one line of n elements at offsets `at` into t
  void fold_line(totals& t, std::int64_t const* at, std::int64_t n) const {
    if (n == 0) return;
    run_type r;
    r.begin(a, at, first_element_out, s.rank - 1);
    chosen::rows(f, pack<>{}, r, n, nullptr, 1, &t);
  }
  /// means: true: short rows are turned over and folded as columns
  static constexpr bool may_turn = !FoldsAll && element_outs == 0 && chosen::columns_by_lanes;
  static constexpr bool turns(std::int64_t n) {
    return may_turn && n > 1 && n <= longest_short_row;
  }
  /// means: outputs [begin, end), each the fold of one line
  void line_tasks(fold_nest nest, std::int64_t begin, std::int64_t end, std::int64_t n) const {
    bool const turn = turns(n);
    int const last = s.rank - 1, last_kept = nest.kept.rank - 1;
    if (turn && last_kept > 0 && nest.kept.extent[last_kept] < turned_lanes)
      nest.bring_longest_inside();
    int const along = last_kept < 0 ? last : nest.kept_axis[last_kept];
    std::int64_t const neighbours = last_kept < 0 ? 1 : nest.kept.extent[last_kept];
    // a few rows stand side by side with those of the next places of the axis around them
    int const outer = last_kept > 0 ? nest.kept_axis[last_kept - 1] : along;
    std::int64_t const places = last_kept > 0 ? nest.kept.extent[last_kept - 1] : 1;
    bool const together = turn || run_type::can_move(a, a + first_element_out, last, along);
    std::int64_t steps[elements + element_outs + 1], at[all];
    for (int k = 0; k < elements; ++k) steps[k] = a[k].stride[along];
    for (int m = 0; m < element_outs; ++m)
      steps[elements + m] = a[first_element_out + m].stride[along];
    constexpr std::int64_t some = turned_at_once;
    totals sums[some];
    std::conditional_t<may_turn, turned_rows<Elements...>, turned_rows<>> turned(n);
    bool const grouped = turned.can_group && turn && last_kept > 0 && neighbours >= turned_lanes;
    for (std::int64_t o = begin; o < end;) {
      std::int64_t const left = neighbours - (last_kept > 0 ? o % neighbours : o);
      std::int64_t count = !together ? 1 : end - o < some ? end - o : some;
      if (count > left) count = left;
      std::int64_t groups = 1;
      if (grouped && count == neighbours) {
        groups = (end - o < some ? end - o : some) / count;
        std::int64_t const behind = places - o / count % places;
        if (groups > behind) groups = behind;
      }
      offsets_of(nest, o, at);
      for (std::int64_t j = 0; j < count; ++j) sums[j] = start();
      if (turn) {
        if constexpr (may_turn)
          chosen::columns(f, turned.read(a, at, last, along, outer, n, count, groups), sums);
      } else if (n > 0) {  // an empty line has no first element
        run_type r;
        r.begin(a, at, first_element_out, last);
        chosen::rows(f, pack<>{}, r, n, steps, count, sums);
      }
      for (std::int64_t g = 0; g < groups; ++g) {
        for (std::int64_t j = 0; j < count; ++j) {
          finish(sums[g * count + j], at);
          for (int k = elements; k < all; ++k) at[k] += a[k].stride[along];
        }
        for (int k = elements; k < all; ++k)
          at[k] += a[k].stride[outer] - count * a[k].stride[along];
      }
      o += count * groups;
    }
  }
  /// means: part number `part` of one output, the innermost axis folded: some of its lines, or a
  ///        piece of its only line
  void row_task(fold_nest const& nest, std::int64_t o, std::int64_t part, std::int64_t parts,
                std::int64_t n, std::int64_t folded, totals* to) const {
    std::int64_t at[all];
    offsets_of(nest, o, at);
    totals t = start();
    if (folded == 1)
      fold_part(t, at, n, part, parts);
    else {
      std::int64_t const each = (folded + parts - 1) / parts;
      std::int64_t const begin = part * each < folded ? part * each : folded;
      std::int64_t const end = begin + each > folded ? folded : begin + each;
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t line_at[all];
        for (int k = 0; k < all; ++k) line_at[k] = at[k] + nest.folded_offset(a[k], i);
        fold_line(t, line_at, n);
      }
    }
    if (to)
      *to = t;
    else
      finish(t, at);
  }
  /// means: the innermost axis is kept: part number `part` of a group of columns, line after line
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
    totals sums[columns];
    chosen::columns(
        f, {nest, a, at, last, first_element_out, first, width, begin, end, from_memory}, sums);
    if (to)
      for (int j = 0; j < width; ++j) to[j] = sums[j];
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
  /// means: number of outputs of a run
  static std::int64_t width_of(fold_nest const& nest, std::int64_t run, std::int64_t n) {
    if (in_runs(nest)) return 1;
    std::int64_t const first = run % ((n + columns - 1) / columns) * columns;
    return n - first < columns ? n - first : columns;
  }
  /// means: combines the parts of a run in order
  void combine(fold_nest const& nest, std::int64_t run, std::int64_t parts, std::int64_t n,
               std::int64_t width, totals const* partials) const {
    totals sums[columns];
    for (std::int64_t j = 0; j < width_of(nest, run, n); ++j) {
      sums[j] = start();
      for (std::int64_t part = 0; part < parts; ++part)
        combine_into(sums[j], partials[part * width + j]);
    }
    finish_run(nest, run, n, sums);
  }
  void finish_run(fold_nest const& nest, std::int64_t run, std::int64_t n,
                  totals const* sums) const {
    std::int64_t at[all];
    if (in_runs(nest)) {
      offsets_of(nest, run, at);
      return finish(sums[0], at);
    }
    std::int64_t const runs = (n + columns - 1) / columns;
    offsets_of(nest, run / runs, at);
    write_columns(at, run % runs * columns, static_cast<int>(width_of(nest, run, n)), sums);
  }
};

/// means: computes the folds by folding::run
template <bool FoldsAll, class... Reducers, class Stage, class Rest, class... Elements,
          class... Rows, class... ElementOuts, class... Outs>
void reduce(type_list<Reducers...>, Stage const& f, Rest const& rest,
            kernel::mean_counts<sizeof...(Reducers)> const& means, kernel::space const& s,
            kernel::access const* operands, type_list<Elements...>, type_list<Rows...>,
            type_list<ElementOuts...>, type_list<Outs...>) {
  folding<FoldsAll, type_list<Reducers...>, Stage, Rest, type_list<Elements...>, type_list<Rows...>,
          type_list<ElementOuts...>, type_list<Outs...>>(f, rest, s, operands, means)
      .run();
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_LOOPS_END
