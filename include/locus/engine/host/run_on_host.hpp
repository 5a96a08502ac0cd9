// SPDX-License-Identifier: Apache-2.0
// The host kernel for each kind of work. An unqualified call of run_on_host(work) also finds an
// overload that stands beside the type of the work.
#pragma once
#include <locus/core/macros.hpp>                 // LOCUS_LEAN_BEGIN, LOCUS_MODE
#include <locus/engine/host/copy.hpp>            // run_on_host
#include <locus/engine/host/elements.hpp>        // each_element
#include <locus/engine/host/map.hpp>             // map
#include <locus/engine/host/matmul.hpp>          // matmul, for_each_of_batch
#include <locus/engine/host/matmul_reader.hpp>   // map_in_panels, panel_folds
#include <locus/engine/host/narrow_matmul.hpp>   // narrow_matmul
#include <locus/engine/host/ordered_sum.hpp>     // ordered_sum
#include <locus/engine/host/reduce.hpp>          // reduce
#include <locus/engine/host/replica_fold.hpp>    // run_on_host
#include <locus/engine/host/rows.hpp>            // rows
#include <locus/engine/host/static_product.hpp>  // static_product
#include <locus/work/call_work.hpp>              // call_work
#include <locus/work/ordered_work.hpp>           // ordered_sum_work
#include <locus/work/work.hpp>                   // map_work, reduce_work, rows_work, matmul_work

LOCUS_LEAN_BEGIN

namespace locus {
inline namespace LOCUS_MODE {

template <class Stage, class Ins, class Outs, bool Gpu>
void run_on_host(map_work<Stage, Ins, Outs, Gpu> const& w) {
  host::map(w.f, w.over, w.operands, Ins{}, Outs{});
}

template <class Reducers, class Stage, class Rest, class Ins, class Rows, class ElementOuts,
          class Outs, bool Gpu, bool FoldsAll>
void run_on_host(
    reduce_work<Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs, Gpu, FoldsAll> const& w) {
  host::reduce<FoldsAll>(Reducers{}, w.f, w.rest, w.means, w.over, w.operands, Ins{}, Rows{},
                         ElementOuts{}, Outs{});
}

template <bool Elementwise, class... Folds, class Last, class Ins, class Rows, class Outs, bool Gpu>
void run_on_host(rows_work<Elementwise, type_list<Folds...>, Last, Ins, Rows, Outs, Gpu> const& w) {
  host::rows<Elementwise>(w.folds, w.last, w.over, w.operands, Ins{}, Rows{}, Outs{},
                          std::index_sequence_for<Folds...>{});
}

template <class T, class Stage, class Rest, class Ins, class Rows, class Outs, bool Gpu>
void run_on_host(ordered_sum_work<T, Stage, Rest, Ins, Rows, Outs, Gpu> const& w) {
  host::ordered_sum(w);
}

template <class T>
void run_on_host(matmul_work<T> const& w) {
  host::for_each_of_batch<T>(w.c, w.a, w.b, w.batch,
                             [](auto const& z, auto const& x, auto const& y) {
                               if constexpr (is_narrow_v<T>)
                                 host::narrow_matmul<T>(z, x, y);
                               else
                                 host::matmul<T>(z, x, y);
                             });
}

template <class T, kernel::product_extents E>
void run_on_host(static_matmul_work<T, E> const& w) {
  using product = host::static_product<T, E>;
  bool const fits = product::fits(w.c, w.a, w.b);
  host::for_each_of_batch<T>(
      w.c, w.a, w.b, w.batch, [fits](auto const& z, auto const& x, auto const& y) {
        if (fits)
          product::run(static_cast<T*>(z.data), static_cast<T const*>(x.data),
                       static_cast<T const*>(y.data));
        else
          host::matmul<T>(z, x, y);
      });
}

// ---- a reader of a product that is made in panels: operand Product is a b ----
template <class T, int Product, class Stage, class Ins, class Outs, bool Gpu>
void run_on_host(panel_work<T, Product, map_work<Stage, Ins, Outs, Gpu>> const& w) {
  auto const& r = w.reader;
  host::map_in_panels<T, Product>(r.f, r.over, r.operands, w.a, w.b, Ins{}, Outs{});
}
template <class T, int Product, class Reducers, class Stage, class Rest, class Ins, class Rows,
          class ElementOuts, class Outs, bool Gpu, bool FoldsAll>
void run_on_host(panel_work<T, Product,
                            reduce_work<Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs, Gpu,
                                        FoldsAll>> const& w) {
  auto const& r = w.reader;
  host::panel_folds<T, Product, Reducers, Stage, Rest, Ins, Rows, ElementOuts, Outs>{
      r.f, r.rest, r.means, r.over, r.operands}
      .run(w.a, w.b);
}

/// A call without host() runs element() for each element; a piece without rows writes zeros.
template <class Op, class Results, class Operands>
void run_on_host(call_work<Op, Results, Operands> const& w) {
  using work = call_work<Op, Results, Operands>;
  if (w.has_nothing_to_read()) {
    for (std::int64_t i = 0, n = w.size(); i < n; ++i) w.write_zero(i);
    return;
  }
  if constexpr (work::has_host_body)
    w.run_host();
  else
    host::each_element(w.size(), [&w](std::int64_t i) { w.write_element(i); });
}

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END
