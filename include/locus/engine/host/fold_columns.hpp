// SPDX-License-Identifier: Apache-2.0
// Folds whose innermost axis is kept: a group of columns, one line after another.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_ENGINE_HOST_FOLD_COLUMNS)
#define LOCUS_ENGINE_HOST_FOLD_COLUMNS
#include <locus/engine/host/fold_nest.hpp>  // column_run
#include <locus/engine/host/fold_run.hpp>   // fold_run

namespace locus::host {
inline namespace LOCUS_MODE {
/// number of columns of a group: their accumulators fit in the L1 cache
template <int Folds>
inline constexpr int columns_of_run = Folds == 1   ? 1024
                                      : Folds == 2 ? 512
                                                   : 256;
}  // namespace LOCUS_MODE
}  // namespace locus::host

#define LOCUS_CLONED <locus/engine/host/fold_columns.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

template <class Reducers, class Stage, class Kinds, class Outs>
struct column_loops;
/// means: sums[j] = fold of f(in...) over the lines of column first + j; stores the other results
///        of f
template <class... Reducers, class Stage, class... Kinds, class... Outs>
struct column_loops<type_list<Reducers...>, Stage, type_list<Kinds...>, type_list<Outs...>> {
  using pass =
      fold_run<type_list<Reducers...>, Stage, pack<>, type_list<Kinds...>, type_list<Outs...>>;
  using run_type = run_operands<type_list<Kinds...>, type_list<Outs...>>;
  using totals = pack<typename Reducers::total...>;
  static constexpr int elements = sizeof...(Kinds), outs = sizeof...(Outs),
                       most = columns_of_run<int(sizeof...(Reducers))>;

  static constexpr bool by_packets = pass::has_lanes;

  static void run(Stage const& f, column_run const& c, totals* sums) {
    if constexpr (pass::has_lanes)
      by_lanes(f, c, sums);
    else
      one_by_one(f, c, sums);
  }

  static void one_by_one(Stage const& f, column_run const& c, totals* sums) {
    for (int j = 0; j < c.width; ++j) sums[j] = {{Reducers::identity()}...};
    run_type r;
    typename pass::buffers b;
    for (std::int64_t i = c.begin; i < c.end; ++i) {
      begin_line(r, c, i);
      for (std::int64_t j = 0; j < c.width; j += chunk) {
        std::int64_t const n = c.width - j < chunk ? c.width - j : chunk;
        pass::compute(f, pack<>{}, r, j, n, b);
        for (std::int64_t k = 0; k < n; ++k) pass::add(sums[j + k], b, k);
      }
    }
  }

 private:
  static void begin_line(run_type& r, column_run const& c, std::int64_t i) {
    std::int64_t at[elements + 1], out_at[outs + 1];
    auto const place = [&](int k) {
      kernel::access const& a = c.operands[k];
      return c.at[k] + c.nest.folded_offset(a, i) + c.first * a.stride[c.last];
    };
    for (int k = 0; k < elements; ++k) at[k] = place(k);
    for (int m = 0; m < outs; ++m) out_at[m] = place(c.first_element_out + m);
    r.begin(c.operands, at, c.operands + c.first_element_out, out_at, c.last);
  }
  static void by_lanes(Stage const& f, column_run const& c, totals* sums) {
    using lanes = typename decltype(pass::lanes_type())::type;
    typename lanes::template columns<most> to;
    to.begin(c.width);
    run_type r;
    std::int64_t step[elements + 1]{}, out_step[outs + 1]{};
    bool regular = c.nest.folded.rank == 1;
    if (regular) {
      int const axis = c.nest.folded_axis[0];
      for (int k = 0; k < elements; ++k) {
        step[k] = c.operands[k].stride[axis];
        regular = regular && (c.operands[k].stride[c.last] != 0 || step[k] == 0);
      }
      for (int m = 0; m < outs; ++m) out_step[m] = c.operands[c.first_element_out + m].stride[axis];
    }
    for (std::int64_t i = c.begin; i < c.end;) {  // 64 lines, then accumulators are flushed
      std::int64_t const lines = c.end - i < 64 ? c.end - i : 64;
      begin_line(r, c, i);
      if (regular && pass::by_packets && !r.chunked)
        add_lines<lanes>(f, c, r, lines, c.from_memory ? c.end - i : 0, step, out_step, to);
      else
        for (std::int64_t k = 0; k < lines; ++k) {
          if (k > 0) begin_line(r, c, i + k);
          add_lines<lanes>(f, c, r, 1, 0, step, out_step, to);
        }
      i += lines;
      to.flush(c.width);
    }
    for (int j = 0; j < c.width; ++j) to.total(j, sums[j]);
  }
  /// adds lines to the accumulators of their columns; from_memory: as add_rows has it
  template <class Lanes, class Columns>
  static void add_lines(Stage const& f, column_run const& c, run_type& r, std::int64_t lines,
                        std::int64_t from_memory, std::int64_t const* step,
                        std::int64_t const* out_step, Columns& to) {
    std::int64_t const each = !pass::by_packets || r.chunked ? chunk : c.width;
    for (std::int64_t j = 0; j < c.width; j += each) {
      std::int64_t const n = c.width - j < each ? c.width - j : each;
      if constexpr (pass::by_packets) {
        Lanes::add_rows(f, r.read(j, n), r.steps, step, r.write(j), out_step, lines, j, n, to,
                        from_memory);
        r.written(j, n);
      } else {
        typename pass::buffers b;
        pass::compute(f, pack<>{}, r, j, n, b);
        Lanes::add_rows({}, pass::sources_of(b), pass::moves, step, {}, step, 1, j, n, to);
      }
    }
    to.added(lines);
  }
};
template <class Reducers, class Stage, class Kinds, class Outs>
struct fold_columns : column_loops<Reducers, Stage, Kinds, Outs> {};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
