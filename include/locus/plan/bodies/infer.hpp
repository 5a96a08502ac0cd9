// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that plan/infer.hpp declares.
#pragma once
#include <locus/core/error.hpp>       // shape_error
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/plan/infer.hpp>       // the declarations
#include <locus/shape/bad_index.hpp>  // refuse_index

LOCUS_LEAN_BEGIN

namespace locus::detail {

LOCUS_FUNCTION bool slice_extents(step const& s, shape const& from, range const* ranges,
                                  shape& to) {
  to.rank = from.rank;
  for (int a = 0; a < from.rank; ++a) {
    to.extent[a] = has_axis(s.axes, a) ? ranges[a].length(from.extent[a]) : from.extent[a];
    if (to.extent[a] < 0) return false;
  }
  return true;
}

LOCUS_FUNCTION shape inferred(plan_view const& p, short i, shape const* extents,
                              void const** objects) {
  step const& s = p.steps[i];
  auto of = [&](int k) -> shape const& { return extents[p.operands(s)[k].from]; };
  switch (s.kind) {
  case step_kind::map: {
    shape r = of(0);
    for (int k = 1; k < s.arity; ++k) r = broadcast(r, of(k));
    return r;
  }
  case step_kind::reduce: return reduced(of(0), s.axes, s.keep);
  case step_kind::matmul: return contract(of(0), of(1));
  case step_kind::transpose: return permuted(of(0), s.order);
  case step_kind::expand: return expanded(of(0), s.axis);
  case step_kind::at: {
    auto const index = *static_cast<std::int64_t const*>(objects[i]);
    bool const lies_inside = range::element(index).length(of(0).extent[s.axis]) == 1;
    return lies_inside ? without_axis(of(0), s.axis) : no_shape;
  }
  case step_kind::reshape:
    return reshaped(of(0), extents[i]);  // binding put the requested extents there
  case step_kind::slice: {
    shape r;
    return slice_extents(s, of(0), static_cast<range const*>(objects[i]), r) ? r : no_shape;
  }
  case step_kind::concatenate: {
    shape r = of(0);
    for (int k = 1; k < s.arity; ++k) r = joined(r, of(k), s.axis);
    return r;
  }
  case step_kind::call: {
    step const& first = p.steps[first_result(p, i)];
    shape of_operands[call_roles::most];
    for (int k = 0; k < first.arity; ++k) of_operands[k] = extents[p.operands(first)[k].from];
    return s.call->infer(objects[i], s.result, of_operands);
  }
  default: return extents[i];  // a leaf, a scalar, an index: bound
  }
}

LOCUS_FUNCTION short like_all_operands(plan_view const& p, step const& s, shape const* extents) {
  if (s.kind != step_kind::map) return -1;
  short like = p.operands(s)[0].from;
  for (int k = 1; k < s.arity; ++k) {
    short const from = p.operands(s)[k].from;
    if (extents[like].rank == 0)
      like = from;
    else if (extents[from].rank != 0 && !(extents[from] == extents[like]))
      return -1;
  }
  return like;
}

LOCUS_FUNCTION void copy_extents(shape& to, shape const& from) {
  to.rank = from.rank;
  for (int a = 0; a < from.rank; ++a) to.extent[a] = from.extent[a];
}

LOCUS_FUNCTION void refuse_size(step const& s, short i, shape const& extents) {
  message text;
  throw shape_error(text << "locus: '" << s.name << "' (step " << int(i) << ") has extents "
                         << extents
                         << ", more bytes than 64 bits count; cut it into smaller parts");
}

LOCUS_FUNCTION void refuse_range(step const& s, short i, shape const& from, range const* ranges) {
  int a = 0;
  while (!has_axis(s.axes, a) || ranges[a].length(from.extent[a]) >= 0) ++a;
  message text;
  text << "locus: '" << s.name << "' (step " << int(i) << ") of extents " << from
       << " takes the range from " << ranges[a].begin << " to ";
  if (ranges[a].end == range::to_end)
    text << "the end";
  else
    text << ranges[a].end;
  if (ranges[a].step.value < 1)
    throw shape_error(text << " by steps of " << ranges[a].step.value << " of axis " << a
                           << "; a step is at least 1: flip<" << a << ">(x) turns an axis around");
  throw shape_error(text << " of axis " << a << "; it must lie inside its axis");
}

LOCUS_FUNCTION void refuse_shapes(plan_view const& p, short i, shape const* extents,
                                  void const** objects) {
  step const& s = p.steps[p.steps[i].is_sibling() ? first_result(p, i) : i];
  if (s.kind == step_kind::at)
    internal::refuse_index(s.axis, *static_cast<std::int64_t const*>(objects[i]),
                           extents[p.operands(s)[0].from]);
  if (s.kind == step_kind::slice)
    refuse_range(s, i, extents[p.operands(s)[0].from], static_cast<range const*>(objects[i]));
  message text;
  text << "locus: the shapes of the operands of '" << s.name << "' (step " << int(i)
       << ") do not fit:";
  for (int k = 0; k < s.arity; ++k) text << (k ? " and " : " ") << extents[p.operands(s)[k].from];
  if (s.kind == step_kind::reshape)
    text << " into " << extents[i] << "; both must have as many elements";
  else
    text << "; reshape or slice one of them";
  throw shape_error(text);
}

}  // namespace locus::detail

namespace locus {

LOCUS_FUNCTION void infer_extents(plan_view const& p, shape* extents, void const** objects) {
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (s.kind == step_kind::scalar || (s.kind == step_kind::leaf && s.whole)) continue;  // bound
    short const like = detail::like_all_operands(p, s, extents);
    if (like >= 0 && s.element_bytes <= p.steps[like].element_bytes) {  // its size fits, too
      detail::copy_extents(extents[i], extents[like]);
      continue;
    }
    if (s.kind == step_kind::slice) {  // written in place: small statements are of slices
      auto const* const ranges = static_cast<range const*>(objects[i]);
      if (!detail::slice_extents(s, extents[p.operands(s)[0].from], ranges, extents[i]))
        detail::refuse_shapes(p, i, extents, objects);
      continue;
    }
    shape const r = detail::inferred(p, i, extents, objects);
    if (!fits(r)) detail::refuse_shapes(p, i, extents, objects);
    if (!countable(r, s.element_bytes)) detail::refuse_size(s, i, r);
    detail::copy_extents(extents[i], r);
  }
}

LOCUS_FUNCTION void require_elements(plan_view const& p, shape const* extents) {
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    bool const needs_one = s.kind == step_kind::reduce &&
                           (s.combines == reduction::max || s.combines == reduction::min ||
                            s.combines == reduction::first_max);
    if (!needs_one || s.tensorflow.empty()) continue;  // softmax over 0 columns is allowed
    shape const& from = extents[p.operands(s)[0].from];
    std::int64_t n = 1;
    for (int a = 0; a < from.rank; ++a) n *= has_axis(s.axes, a) ? from.extent[a] : 1;
    if (n > 0 || extents[i].size() == 0) continue;
    message text;
    throw shape_error(text << "locus: '" << s.name << "' (step " << int(i)
                           << ") over no elements: its operand has extents " << from
                           << "; skip empty tensors");
  }
}

}  // namespace locus

LOCUS_LEAN_END
