// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/operands.hpp declares.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/run/operands.hpp>  // the declarations
#include <locus/run/values.hpp>    // local_extents

LOCUS_LEAN_BEGIN

namespace locus {

LOCUS_FUNCTION region_facts region_facts::over(open_devices const& open) const {
  region_facts f = *this;
  auto fill_in = [&](place& p) { p = open.of(p); };
  for (int k = 0; k < input_count; ++k) fill_in(f.inputs[k].where);
  fill_in(f.space_place);
  fill_in(f.rows_place);
  return f;
}

}  // namespace locus

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION operand_placer::operand_placer(frame const& f, region_facts const& facts,
                                              int replica)
    : f_(f), g_(facts), replica_(replica) {
  shape const& whole = f.extents[g_.space_step];
  over.rank = whole.rank, over.axes = g_.axes;
  local_extents(whole, g_.space_place, replica, over.extent);
}

LOCUS_FUNCTION void operand_placer::place_all(kernel::access* to) const {
  for (int k = 0; k < g_.input_count; ++k)
    if (g_.inputs[k].at == level::element)
      input(*to++, g_.inputs[k], over.rank, over.extent, g_.space_place);
  if (g_.ranks) number_in_fold(*to++);
  if (g_.fold_count > 0) {
    shape const& rows = f_.extents[g_.rows_step];
    std::int64_t extents[max_rank];
    bool measured = false;
    for (int k = 0; k < g_.input_count; ++k) {
      if (g_.inputs[k].at != level::row) continue;
      if (!measured) local_extents(rows, g_.rows_place, replica_, extents), measured = true;
      input(*to, g_.inputs[k], rows.rank, extents, g_.rows_place);
      spread(*to++);
    }
  }
  for (int k = 0; k < g_.output_count; ++k, ++to) {
    output(*to, g_.outputs[k]);
    if (k >= g_.element_outputs) spread(*to);
  }
}

LOCUS_FUNCTION void operand_placer::take_rows(kernel::space& space, kernel::access* to,
                                              std::int64_t begin, std::int64_t end) const {
  int const axis = g_.space_place.axis;
  space.extent[axis] = end - begin;
  auto const skip = [&](kernel::access& a, short from, bool is_index) {
    std::int64_t const elements = begin * a.stride[axis];
    if (is_index)
      a.base += elements;
    else if (a.data)
      a.data = static_cast<char*>(a.data) + elements * f_.of->plan.steps[from].element_bytes;
  };
  for (int k = 0; k < g_.input_count; ++k) skip(*to++, g_.inputs[k].from, g_.inputs[k].is_index);
  for (int k = 0; k < g_.output_count; ++k) skip(*to++, g_.outputs[k], false);
}

LOCUS_FUNCTION void operand_placer::input(kernel::access& a, region_input const& in, int rank,
                                          std::int64_t const* extents, place const& where) const {
  shape const& whole = f_.extents[in.from];
  std::int64_t index_strides[max_rank];
  local_value v{nullptr, whole.extent, index_strides};
  if (in.is_index || in.is_product)
    row_major(whole, index_strides);
  else
    v = f_.value(in.value, replica_);
  int const shift = rank - whole.rank;
  if (!where.is_sharded() || shift < 0 || where.axis < shift)
    return place_operand(a, v, whole.rank, rank, extents);
  int const cut = where.axis - shift;
  bool const is_window = in.where.is_sharded() && in.where.lead != where.lead;
  std::int64_t of_window[max_rank];
  if (is_window) {  // as many rows as the kernel has, not as the operand has in this piece
    for (int d = 0; d < whole.rank; ++d)
      of_window[d] = d == cut ? extents[d + shift] : v.extents[d];
    v.extents = of_window;
  }
  place_operand(a, v, whole.rank, rank, extents);
  if (is_window)
    take_window(a, in, where, whole.extent[cut], v.strides[cut]);
  else if (!in.where.is_sharded())
    take_piece(a, in, where, whole.extent[cut], v.strides[cut]);
}

LOCUS_FUNCTION void operand_placer::take_piece(kernel::access& a, region_input const& in,
                                               place const& where, std::int64_t n,
                                               std::int64_t stride) const {
  if (n == 1) return;
  std::int64_t const begin = where.piece_begin(n, replica_) * stride;
  if (in.is_index)
    a.base += begin;
  else if (a.data)
    a.data = static_cast<char*>(a.data) + begin * f_.of->plan.steps[in.from].element_bytes;
}

LOCUS_FUNCTION void operand_placer::take_window(kernel::access& a, region_input const& in,
                                                place const& where, std::int64_t n,
                                                std::int64_t stride) const {
  std::int64_t const rows = where.piece_begin(n, replica_) - in.where.piece_begin(n, replica_);
  if (a.data)
    a.data = static_cast<char*>(a.data) + rows * stride * f_.of->plan.steps[in.from].element_bytes;
}

LOCUS_FUNCTION void operand_placer::spread(kernel::access& a) const {
  int axes_of_row = 0;
  for (int d = 0; d < over.rank; ++d) axes_of_row += !has_axis(g_.axes, d) || g_.keeps;
  for (int d = over.rank, k = axes_of_row; d-- > 0;) {  // strides move to the right
    bool const folded = has_axis(g_.axes, d);
    k -= !folded || g_.keeps;
    a.stride[d] = folded ? 0 : a.stride[k];
  }
}

LOCUS_FUNCTION void operand_placer::output(kernel::access& a, short step) const {
  local_value const& v = f_.value(step, replica_);
  a.data = v.data, a.base = 0;
  for (int d = 0; d < f_.extents[step].rank; ++d) a.stride[d] = v.strides[d];
}

LOCUS_FUNCTION void operand_placer::number_in_fold(kernel::access& a) const {
  shape const& whole = f_.extents[g_.space_step];
  a.data = nullptr, a.base = 0;
  std::int64_t step_size = 1;
  for (int d = whole.rank; d-- > 0;) {
    a.stride[d] = 0;
    if (!has_axis(g_.axes, d)) continue;
    a.stride[d] = step_size;
    if (g_.space_place.is_sharded() && g_.space_place.axis == d)
      a.base += g_.space_place.piece_begin(whole.extent[d], replica_) * step_size;
    step_size *= whole.extent[d];
  }
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
