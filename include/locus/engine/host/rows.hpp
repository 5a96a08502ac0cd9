// SPDX-License-Identifier: Apache-2.0
// Rows on the host: several folds of a row, each of which may read the results of earlier ones,
// then one value for each element (softmax) or one for the row. A row stays in cache between its
// passes.
#pragma once
#include <locus/engine/host/cached_row.hpp>  // kept_value
#include <locus/engine/host/map.hpp>         // map_row, threads_for
#include <locus/engine/host/reduce.hpp>      // chosen_fold

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

/// means: t[K] = fold of the first result of the stage over the row; stores the other results
template <std::size_t K, class Fold, class Stage, class Ins, class Outs, class Results>
void fold_row(Fold const& fold, Stage const& stage, run_operands<Ins, Outs>& run, Results& t) {
  using R = typename Fold::reducer;
  pack<typename R::total> total{{R::identity()}};
  chosen_fold<type_list<R>, Stage, Results, Ins, Outs>::row(stage, t, run, fold.extent, total);
  get<K>(t) = R::finish(get<0>(total), fold.count);
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
                all = ins + row_ins + outs;
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
  std::int64_t const bytes =
      count * n * std::int64_t((sizeof(typename Ins::type) + ... + 0)) * 4;  // for exp
  int const threads = threads_for(bytes);
  std::int64_t const each = (count + 8 * threads - 1) / (8 * threads);
  int const trips = static_cast<int>((count + each - 1) / each);
  parallel_for(trips, threads, [&](int trip) {
    std::int64_t const end = (trip + 1) * each < count ? (trip + 1) * each : count;
    for (std::int64_t r = trip * each; r < end; ++r) {
      std::int64_t at[all];
      for (int k = 0; k < all; ++k) at[k] = kernel::offset_of(s, operands[k], r, axis);
      run_operands<type_list<Ins...>, type_list<>> in;
      if (n > 0) in.begin(operands, at, 0, axis);
      results t{};
      auto const fold = [&](auto k) {
        constexpr auto K = std::size_t(k);
        if constexpr (keeps && k == last_fold) {
          run_operands<type_list<Ins...>, type_list<Outs...>> run;
          if (n > 0) run.begin(operands, at, ins + row_ins, axis);
          fold_row<K>(get<K>(folds), kept::keep(get<K>(folds)), run, t);
        } else
          fold_row<K>(get<K>(folds), get<K>(folds).f, in, t);
      };
      (fold(std::integral_constant<int, int(F)>{}), ...);
      if constexpr (keeps) {
        kernel::access const& out = operands[ins + row_ins];
        using T = at_t<0, type_list<Outs...>>;
        plane_operand const one{
            reinterpret_cast<std::intptr_t>(static_cast<T*>(out.data) + at[ins + row_ins]),
            out.stride[axis] * std::intptr_t(sizeof(T)), 0};
        plane_operand const o[] = {one, one};
        map_row(kept::finish(last), t, o, n, type_list<kernel::elements_of<T>>{}, type_list<T>{});
      } else if constexpr (Elementwise) {
        plane_operand o[ins + outs];
        auto const place = [&](int to, int k, std::intptr_t size) {
          kernel::access const& a = operands[k];
          o[to] = size == 0 ? plane_operand{a.base + at[k], a.stride[axis], 0}
                            : plane_operand{reinterpret_cast<std::intptr_t>(a.data) + at[k] * size,
                                            a.stride[axis] * size, 0};
        };
        int to = 0, from = 0;
        (place(to++, from++, bytes_of_kind<Ins>), ...);
        from = ins + row_ins;
        (place(to++, from++, std::intptr_t(sizeof(Outs))), ...);
        map_row(last, t, o, n, type_list<Ins...>{}, type_list<Outs...>{});
      } else {
        [&]<std::size_t... K>(std::index_sequence<K...>) {
          pack<typename Rows::type...> const values{
              {element_at<Rows>(operands[ins + int(K)], at[ins + int(K)])}...};
          auto const result = last(values, t);
          for_each_index<outs>([&](auto m) {
            using T = at_t<m, type_list<Outs...>>;
            static_cast<T*>(operands[ins + row_ins + m].data)[at[ins + row_ins + m]] =
                get<m>(result);
          });
        }(std::index_sequence_for<Rows...>{});
      }
    }
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
