// SPDX-License-Identifier: Apache-2.0
// Calls the clone of the innermost loops of a fold for the processor's instructions.
#pragma once
#include <locus/engine/host/fold_first.hpp>  // fold_columns, also of argmax
#include <locus/engine/host/fold_run.hpp>    // fold_rows
#include <locus/simd/instructions.hpp>       // LOCUS_CHOSEN

namespace locus::host {
inline namespace LOCUS_MODE {

template <class Reducers, class Stage, class Before, class Kinds, class Outs>
struct chosen_fold;
/// means: fold_rows and fold_columns of the clone for this processor
template <class... Reducers, class Stage, class Before, class Kinds, class Outs>
struct chosen_fold<type_list<Reducers...>, Stage, Before, Kinds, Outs> {
  using run_type = run_operands<Kinds, Outs>;
  using totals = pack<typename Reducers::total...>;

  static void rows(Stage const& f, Before const& before, run_type& r, std::int64_t n,
                   std::int64_t const* steps, std::int64_t count, totals* t) {
    using reducers = type_list<Reducers...>;
    LOCUS_CHOSEN(host, fold_rows<reducers, Stage, Before, Kinds, Outs>::fold)
    (f, before, r, n, steps, count, t);
  }
  /// means: columns are folded on packets
  static constexpr bool columns_by_lanes =
      fold_columns<type_list<Reducers...>, Stage, Kinds, Outs>::by_packets;
  static void columns(Stage const& f, column_run const& c, totals* sums) {
    LOCUS_CHOSEN(host, fold_columns<type_list<Reducers...>, Stage, Kinds, Outs>::run)(f, c, sums);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
