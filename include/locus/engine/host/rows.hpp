// SPDX-License-Identifier: Apache-2.0
// Rows on the host: several folds of a row, each of which may read the results of earlier ones,
// then one value for each element (softmax) or one for the row. Each fold is a pass over a few
// rows, which stay in the first cache.
#pragma once
#include <locus/engine/host/cached_row.hpp>  // kept_value
#include <locus/engine/host/map.hpp>         // map_rows, threads_for
#include <locus/engine/host/reduce.hpp>      // fold_rows_after

namespace locus::host {
inline namespace LOCUS_MODE {

/// One fold of a row: its functor, its reducer, its extent along the row, and the count of its
/// mean.
template <class Reducer, class Stage>
struct row_fold {
  using reducer = Reducer;
  Stage f;
  std::int64_t extent;
  double count;
};

/// The most rows of a pass: a processor overlaps the folds of neighbours.
inline constexpr int rows_of_pass = 16;
/// means: the most bytes of a pass over operands of so many bytes. Where these come from behind the
///        second cache, a short pass lets the processor fetch the next rows while it computes
constexpr std::int64_t bytes_of_pass(std::int64_t bytes) {
  return bytes <= 512 << 10 ? 16384 : 4096;
}

/// Some rows of a space, neighbours along the axis before the last one; at: the offset of each
/// operand in the first of them.
struct row_pass {
  kernel::space const& s;
  kernel::access const* operands;
  std::int64_t const* at;
  std::int64_t count;

  int axis() const { return s.rank - 1; }
  std::int64_t step(int k) const { return count > 1 ? operands[k].stride[axis() - 1] : 0; }
};

/// means: get<K>(t[i]) = the fold of the first result of the stage over row i; stores the other
///        results in the operands from number `to` on
template <std::size_t K, class Fold, class Stage, class... Ins, class... Outs, class Results>
void fold_pass(Fold const& fold, Stage const& stage, row_pass const& p, int to, type_list<Ins...>,
               type_list<Outs...>, Results* t) {
  constexpr int ins = sizeof...(Ins), outs = sizeof...(Outs);
  using R = typename Fold::reducer;
  run_operands<type_list<Ins...>, type_list<Outs...>> run;
  if (fold.extent > 0) run.begin(p.operands, p.at, to, p.axis());
  std::int64_t steps[ins + outs + 1];
  for (int k = 0; k < ins; ++k) steps[k] = p.step(k);
  for (int m = 0; m < outs; ++m) steps[ins + m] = p.step(to + m);
  LOCUS_CHOSEN(host,
               fold_rows_after<K, R, Stage, Results, type_list<Ins...>, type_list<Outs...>>::fold)
  (stage, fold.count, run, fold.extent, steps, p.count, t);
}

/// means: for every row r: t[k] = folds[k] over the row, given t[0..k); then out[m][r][j] =
///        last(in[r][j]..., t)[m] for each element (Elementwise), or out[m][r] = last(row_in[r]...,
///        t)[m]
/// The last axis of the space is the row. Order of operands: element inputs, row inputs, outputs.
template <bool Elementwise, class FoldPack, class Last, class... Ins, class... Rows, class... Outs,
          std::size_t... F>
void rows(FoldPack const& folds, Last const& last, kernel::space s, kernel::access const* operands,
          type_list<Ins...>, type_list<Rows...>, type_list<Outs...>, std::index_sequence<F...>) {
  constexpr int ins = sizeof...(Ins), row_ins = sizeof...(Rows), outs = sizeof...(Outs),
                first_out = ins + row_ins, all = first_out + outs;
  using results = pack<typename std::remove_cvref_t<decltype(get<F>(folds))>::reducer::result...>;
  constexpr int last_fold = int(sizeof...(F)) - 1;
  using kept =
      kept_value<at_t<last_fold, type_list<std::remove_cvref_t<decltype(get<F>(folds))>...>>, Last,
                 type_list<Outs...>>;
  constexpr bool keeps = Elementwise && kept::value;
  int const axis = s.rank - 1;
  std::int64_t const n = s.extent[axis];
  std::int64_t count = 1;
  for (int d = 0; d < axis; ++d) count *= s.extent[d];
  if (count == 0) return;
  std::int64_t const bytes_of_row = n * std::int64_t((sizeof(typename Ins::type) + ... + 0));
  int const threads = threads_for(4 * count * bytes_of_row);  // 4: for exp
  std::int64_t const each = (count + 8 * threads - 1) / (8 * threads);
  int const trips = static_cast<int>((count + each - 1) / each);
  std::int64_t const neighbours = axis > 0 ? s.extent[axis - 1] : 1,
                     few =
                         bytes_of_row > 0 ? bytes_of_pass(count * bytes_of_row) / bytes_of_row : 1;
  bool const together =
      few > 1 && neighbours > 1 &&
      run_operands<type_list<Ins...>, std::conditional_t<keeps, type_list<Outs...>, type_list<>>>::
          can_move(operands, operands + first_out, axis, axis - 1);
  std::int64_t const most = !together ? 1 : few < rows_of_pass ? few : rows_of_pass;
  parallel_for(trips, threads, [&](int trip) {
    std::int64_t const end = (trip + 1) * each < count ? (trip + 1) * each : count;
    for (std::int64_t r = trip * each; r < end;) {
      std::int64_t at[all], now = most < end - r ? most : end - r;
      if (std::int64_t const left = neighbours - r % neighbours; now > left) now = left;
      for (int k = 0; k < all; ++k) at[k] = kernel::offset_of(s, operands[k], r, axis);
      row_pass const pass{s, operands, at, now};
      results t[rows_of_pass]{};
      auto const fold = [&](auto k) {
        auto const& of = get<std::size_t(k)>(folds);
        if constexpr (keeps && k == last_fold)
          fold_pass<std::size_t(k)>(of, kept::keep(of), pass, first_out, type_list<Ins...>{},
                                    type_list<Outs...>{}, t);
        else
          fold_pass<std::size_t(k)>(of, of.f, pass, first_out, type_list<Ins...>{}, type_list<>{},
                                    t);
      };
      (fold(std::integral_constant<int, int(F)>{}), ...);
      auto const operand = [&](int k, std::intptr_t size) -> plane_operand {
        kernel::access const& a = operands[k];
        std::int64_t const row = pass.step(k);
        if (size == 0) return {a.base + at[k], a.stride[axis], row};
        return {reinterpret_cast<std::intptr_t>(a.data) + at[k] * size, a.stride[axis] * size,
                row * size};
      };
      if constexpr (keeps) {
        using T = at_t<0, type_list<Outs...>>;
        plane_operand const out = operand(first_out, sizeof(T)), o[] = {out, out};
        map_rows(kept::finish(last), t, {o, now, n, false}, type_list<kernel::elements_of<T>>{},
                 type_list<T>{});
      } else if constexpr (Elementwise) {
        int in = 0, out = first_out;
        plane_operand const o[] = {operand(in++, bytes_of_kind<Ins>)...,
                                   operand(out++, sizeof(Outs))...};
        map_rows(last, t, {o, now, n, false}, type_list<Ins...>{}, type_list<Outs...>{});
      } else {
        for (std::int64_t i = 0; i < now; ++i) {
          [&]<std::size_t... K>(std::index_sequence<K...>) {
            pack<typename Rows::type...> const values{
                {element_at<Rows>(operands[ins + int(K)], at[ins + int(K)])}...};
            auto const result = last(values, t[i]);
            for_each_index<outs>([&](auto m) {
              using T = at_t<m, type_list<Outs...>>;
              static_cast<T*>(operands[first_out + m].data)[at[first_out + m]] = get<m>(result);
            });
          }(std::index_sequence_for<Rows...>{});
          for (int k = ins; k < all; ++k) at[k] += pass.step(k);
        }
      }
      r += now;
    }
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
