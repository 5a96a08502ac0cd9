// SPDX-License-Identifier: Apache-2.0
// A table of a region's operands and of the space over which it runs; and the places of these
// operands in a run.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/program.hpp>  // frame
#include <locus/work/call.hpp>    // space

LOCUS_LEAN_BEGIN

namespace locus {

/// An operand that a region reads from memory (or an index), at one level.
struct region_input {
  short value = -1;  // step, or steps + transfer
  short from = -1;   // step
  level at = level::element;
  bool is_index = false;
  bool is_product = false;  // the product of a matmul that is made in panels, not in memory
  place where{};
};

/// means: the operands of one region, in the order of its kernel's parameters
struct region_facts {
  region_input inputs[max_region_values]{};
  int input_count = 0;
  short folds[max_region_values]{};  // its reductions, in order
  int fold_count = 0;
  short outputs[max_region_values]{};  // the steps whose values it stores: elements, then rows
  int output_count = 0, element_outputs = 0;
  bool chained = false;    // elements read folds: rows are folded one after the other
  bool ranks = false;      // its fold is a first_max, which reads the elements' numbers
  bool all_on_gpu = true;  // every step has a GPU kernel
  short product = -1;      // the matmul that it reads: on a CPU in panels
  short space_step = -1;   // the extents of this step are those of the element space
  place space_place{};
  // of the folds
  axis_set axes = 0;
  bool keeps = false;    // rows have an axis for each folded one
  short rows_step = -1;  // the extents of this step are those of the rows
  place rows_place{};

  constexpr int count(level at) const {
    int n = 0;
    for (int k = 0; k < input_count; ++k) n += inputs[k].at == at;
    return n;
  }
  /// the number of an input among the inputs of its level; -1: no such input
  constexpr int number_of(short value, level at) const {
    int n = 0;
    for (int k = 0; k < input_count; ++k) {
      if (inputs[k].at != at) continue;
      if (inputs[k].value == value) return n;
      ++n;
    }
    return -1;
  }
  constexpr region_input nth(int number, level at) const {
    for (int k = 0; k < input_count; ++k)
      if (inputs[k].at == at && number-- == 0) return inputs[k];
    return {};
  }
  constexpr int fold_number(short step) const {
    for (int k = 0; k < fold_count; ++k)
      if (folds[k] == step) return k;
    return -1;
  }
  /// means: the same table with the devices of this run in place of AllGpus
  region_facts over(open_devices const& open) const;
};

namespace detail {
inline namespace LOCUS_RUN_MODE {

/// means: the table of the region that ends in step `root`
constexpr region_facts facts_of_region(plan_view const& p, short root) {
  region_facts f;
  auto place_of = [&](edge const& e) {
    return e.by >= 0 ? p.transfers[e.by].arrives : p.steps[e.from].where;
  };
  for (short i = 0; i <= root; ++i) {
    step const& s = p.steps[i];
    if (s.region != root) continue;
    f.all_on_gpu = f.all_on_gpu && s.on_gpu;
    if (p.levels[i] == level::fold) f.folds[f.fold_count++] = i;
    if (s.stored && p.levels[i] == level::element) f.outputs[f.element_outputs++] = i;
    level const at = level_read_by(p, i);
    if (s.kind == step_kind::matmul) f.product = i;
    for (edge const& e : p.operands(s)) {
      if (s.kind == step_kind::matmul) break;  // its operands are matrices
      step const& o = p.steps[e.from];
      short const value = e.by >= 0 ? static_cast<short>(p.steps.count + e.by) : e.from;
      bool const product = o.region == root && e.by < 0 && o.kind == step_kind::matmul;
      bool const inside = o.region == root && e.by < 0 && !product;
      f.chained |= inside && at == level::element && p.levels[e.from] == level::fold;
      if (o.kind == step_kind::scalar || inside || f.number_of(value, at) >= 0) continue;
      f.inputs[f.input_count++] = {value,
                                   e.from,
                                   at,
                                   o.kind == step_kind::index,
                                   product && !is_product_with_row(p, e.from),
                                   place_of(e)};
    }
  }
  f.output_count = f.element_outputs;
  for (short i = 0; i <= root; ++i)
    if (p.steps[i].region == root && p.steps[i].stored && p.levels[i] != level::element)
      f.outputs[f.output_count++] = i;
  f.space_step = root, f.space_place = p.steps[root].where;
  if (f.fold_count == 0) return f;
  step const& fold = p.steps[f.folds[0]];
  f.axes = fold.axes, f.ranks = fold.combines == reduction::first_max;
  if (!f.chained || f.element_outputs == 0) {  // the last fold of a chain makes its rows
    edge const& e = p.operand(p.steps[f.folds[f.fold_count - 1]], 0);
    f.space_step = e.from, f.space_place = place_of(e);
  }
  bool const has_rows = f.output_count > f.element_outputs;
  f.rows_step = has_rows ? f.outputs[f.element_outputs] : f.folds[0];
  f.rows_place = p.steps[f.rows_step].where;
  f.keeps = p.steps[f.rows_step].extents.rank == p.steps[f.space_step].extents.rank;
  return f;
}

/// means: a = the operand v of `own_rank` axes in a space of `rank` axes and these extents: right
///        aligned, with stride 0 along an axis that v lacks or repeats
[[gnu::always_inline]] inline void place_operand(kernel::access& a, local_value const& v,
                                                 int own_rank, int rank,
                                                 std::int64_t const* extents) {
  a.data = v.data, a.base = 0;
  int const shift = rank - own_rank;
  for (int d = 0; d < shift; ++d) a.stride[d] = 0;
  for (int d = shift; d < rank; ++d)
    a.stride[d] = v.extents[d - shift] == 1 && extents[d] != 1 ? 0 : v.strides[d - shift];
}

/// means: addresses and strides of a region's operands on one replica, along the axes of the
///        region's space
class operand_placer {
 public:
  operand_placer(frame const& f, region_facts const& facts, int replica);
  /// means: to[...] = element inputs, the elements' numbers of a first_max, row inputs, element
  ///        outputs, row outputs
  void place_all(kernel::access* to) const;
  /// means: the same for the rows [begin, end) of the piece, of a kernel of maps alone
  void take_rows(kernel::space& space, kernel::access* to, std::int64_t begin,
                 std::int64_t end) const;
  kernel::space over;

 private:
  // Each function writes an operand in its place: a copy of eight strides would wait for the eight
  // stores before it.

  /// means: a = a right-aligned operand in a space of `rank` axes and these extents, at `where`
  void input(kernel::access& a, region_input const& in, int rank, std::int64_t const* extents,
             place const& where) const;
  /// the operand is whole on every replica, the region runs over pieces: this replica reads its
  /// piece
  void take_piece(kernel::access& a, region_input const& in, place const& where, std::int64_t n,
                  std::int64_t stride) const;
  /// the operand is another window of the same cut: this replica reads the rows that its own rows
  /// need, also those in the margins
  void take_window(kernel::access& a, region_input const& in, place const& where, std::int64_t n,
                   std::int64_t stride) const;
  /// means: moves strides along the axes of the rows to the axes of the element space; folded axes
  ///        get stride 0
  void spread(kernel::access& a) const;
  void output(kernel::access& a, short step) const;
  /// means: a = the number of an element within its fold, in row order over all replicas
  void number_in_fold(kernel::access& a) const;

  frame const& f_;
  region_facts const& g_;
  int replica_;
};

}  // namespace LOCUS_RUN_MODE
}  // namespace detail
}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/operands.hpp>  // bodies of the functions above
#endif
