// SPDX-License-Identifier: Apache-2.0
// Parts of tensors and views, as destinations: which may be written, and where their elements lie.
#pragma once
#include <utility>  // declval, move, swap

#include <locus/ops/views.hpp>        // slice_op, at_op, columns_op
#include <locus/plan/data.hpp>        // place_of_slice
#include <locus/shape/bad_index.hpp>  // refuse_index
#include <locus/tensor/tensor.hpp>    // Tensor
#include <locus/tensor/view.hpp>      // View

namespace locus {

namespace internal {
/// fails: bad_access
[[noreturn]] inline void refuse_dead_place() {
  throw bad_access(
      "locus: a part is written of a Tensor that has died, was moved from or was resized; "
      "make the assignment anew");
}
}  // namespace internal

namespace detail {

/// means: where a part of a tensor in pieces lies: the window that the slice X makes of its place
template <class X>
struct window_of;
template <class Op, class T, class E, class Where, bool Checked>
struct window_of<Node<Op, Leaf<T, E, Where, borrowed<Checked>>>> {
  static constexpr place value = [] {
    step s;
    s.extents = E::pattern;
    Op::template describe<T>(s, E::rank());
    place const cut = Where::value.without_margin();
    if constexpr (internal::is_at_op<Op>)
      return s.axis == cut.axis ? place{} : cut.along(cut.axis - (s.axis < cut.axis));
    else
      return internal::place_of_slice(s, cut);
  }();
};
template <class X>
inline constexpr bool is_window_of_leaf = false;
template <class Op, class T, class E, class Where, bool Checked>
inline constexpr bool is_window_of_leaf<Node<Op, Leaf<T, E, Where, borrowed<Checked>>>> =
    internal::is_part_op<Op> && Where::value.is_sharded();

/// fails: shape_error, where the range does not lie inside its axis
inline std::int64_t length_of_range(range const& r, shape const& extents, int axis) {
  std::int64_t const n = r.length(extents.extent[axis]);
  if (n >= 0) return n;
  message text;
  throw shape_error(text << "locus: a range of a slice does not lie inside axis " << axis
                         << " of extents " << extents << ", or has a step below 1");
}

/// means: the part has no axis for axis a of its operand
template <class Op>
constexpr bool is_left_out(Op const&, int a) {
  if constexpr (internal::is_at_op<Op>)
    return a == Op::axis;
  else
    return false;
}
/// means: the extents of the part that the ranges of an operation select
template <class Op>
shape extents_of_ranges(Op const& op, shape const& whole) {
  if constexpr (internal::is_at_op<Op>)
    if (range::element(op.index).length(whole.extent[Op::axis]) != 1)
      internal::refuse_index(Op::axis, op.index, whole);
  shape r;
  for (int a = 0; a < whole.rank; ++a) {
    std::int64_t const n = length_of_range(op.range_along(a), whole, a);
    if (!is_left_out(op, a)) r.extent[r.rank++] = n;
  }
  return r;
}

/// a part of a tensor in pieces as a destination: on each device the rows of its piece
template <class X>
class window_destination {
 public:
  using policy = window_of<X>;
  using value_type = typename X::value_type;
  using extents_type = extents_of_shape_t<pattern_of<X>>;
  explicit window_destination(X const& part) : part_(part) {}
  target as_target() const {
    tensor_block const* const block = get<0>(part_.operands).source.find();
    if (!block) internal::refuse_dead_place();
    forget_margins(*block);
    target t;
    t.where = policy::value.is_open() ? policy::value.over(block->where.devices) : policy::value;
    t.extents = extents_of_ranges(part_.op, block->extents);
    for (int r = 0; r < t.where.local_count(); ++r) t.locals[r] = local(*block, t, r);
    return t;
  }

 private:
  local_value local(tensor_block const& b, target const& t, int r) const {
    piece const& p = b.pieces[r];
    local_layout& mine = layouts_[r];
    auto* data = static_cast<char*>(p.data);
    internal::local_extents(t.extents, t.where, r, mine.extents);
    for (int a = 0, kept = 0; a < b.extents.rank; ++a) {
      range const part = part_.op.range_along(a);
      std::int64_t const n = b.extents.extent[a];
      std::int64_t begin = range::absolute(part.begin, n);
      if (a == b.where.axis) begin = t.where.begin_in(b.where, n, r);
      data += begin * p.strides[a] * b.element_bytes;
      if (is_left_out(part_.op, a)) continue;
      mine.strides[kept++] = p.strides[a] * part.step.value;
    }
    return {data, mine.extents, mine.strides};
  }
  X part_;
  mutable local_layout layouts_[max_devices]{};  // of the run that asks
};

/// X reads a part of a tensor in pieces, which may be constant
template <class X>
inline constexpr bool reads_window_of_leaf = is_window_of_leaf<X>;
template <class Op, class T, class E, class Where, bool Checked>
inline constexpr bool
    reads_window_of_leaf<Node<Op, Leaf<T, E, Where, borrowed_constant<Checked>>>> =
        internal::is_part_op<Op> && Where::value.is_sharded();

/// X is a Tensor on one device, an array stored columns first, a view, or a part of one of these, and
/// may be written
template <class X>
inline constexpr bool is_place_of_elements = false;
template <class T, class E, class Where, bool Checked>
inline constexpr bool is_place_of_elements<Leaf<T, E, Where, borrowed<Checked>>> =
    Where::value.is_single();
template <class T, class E, class Where, bool Dense>
inline constexpr bool is_place_of_elements<ViewLeaf<T, E, Where, Dense>> = !std::is_const_v<T>;
template <class Op, class X>
inline constexpr bool is_place_of_elements<Node<Op, X>> =
    internal::is_part_op<Op> && is_place_of_elements<X>;
template <class X>
inline constexpr bool is_place_of_elements<Node<columns_op, X>> = is_place_of_elements<X>;
/// X is a part of such a place
template <class X>
inline constexpr bool is_slice_of_leaf = false;
template <class Op, class X>
inline constexpr bool is_slice_of_leaf<Node<Op, X>> =
    internal::is_part_op<Op> && is_place_of_elements<X>;

/// the elements of a leaf, or of a part of one, on one device; Policy: its device policy
template <class T, class Policy>
struct elements_at {
  using policy = Policy;
  T* data;
  shape extents;
  layout_stride layout;
  device on;
};
template <class T, class E, class Where, class Source>
elements_at<T, Where> elements_of(Leaf<T, E, Where, Source> const& leaf) {
  tensor_block const* const block = leaf.source.find();
  if (!block) internal::refuse_dead_place();
  piece const& p = block->pieces[0];
  elements_at<T, Where> r{static_cast<T*>(p.data), block->extents, {}, block->where.at(0)};
  for (int a = 0; a < r.extents.rank; ++a) r.layout.stride[a] = p.strides[a];
  return r;
}
template <class T, class E, class Where, bool Dense>
elements_at<T, Where> elements_of(ViewLeaf<T, E, Where, Dense> const& leaf) {
  device on = Where::value.at(0);
  if constexpr (open_device<Where>) on = leaf.on.value;
  elements_at<T, Where> r{leaf.data, leaf.extents, {}, on};
  for (int a = 0; a < r.extents.rank; ++a) r.layout.stride[a] = leaf.strides[a];
  return r;
}
template <class Op, class X>
auto elements_of(Node<Op, X> const& part) {
  auto r = elements_of(get<0>(part.operands));
  int const rank = r.extents.rank;
  if constexpr (Op::kind == step_kind::transpose) {
    for (int a = 0, b = rank - 1; a < b; ++a, --b) {
      std::swap(r.extents.extent[a], r.extents.extent[b]);
      std::swap(r.layout.stride[a], r.layout.stride[b]);
    }
  } else {
    shape const part_extents = extents_of_ranges(part.op, r.extents);
    for (int a = 0, kept = 0; a < rank; ++a) {
      range const some = part.op.range_along(a);
      std::int64_t const stride = r.layout.stride[a];
      r.data += range::absolute(some.begin, r.extents.extent[a]) * stride;
      if (is_left_out(part.op, a)) continue;
      r.layout.stride[kept] = some.stride(stride, part_extents.extent[kept]);
      ++kept;
    }
    r.extents = part_extents;
  }
  return r;
}

/// means: a View of the elements that a slice selects, of a Tensor on one device or of a view
template <class Slice>
auto view_of_slice(Slice const& s) {
  using E = extents_of_shape_t<pattern_of<Slice>>;
  auto const part = elements_of(s);
  using Where = typename decltype(part)::policy;
  using Part = View<typename Slice::value_type, E, Where, false>;
  if constexpr (open_device<Where>)
    return Part(part.data, E(part.extents), part.layout, part.on);
  else
    return Part(part.data, E(part.extents), part.layout);
}
/// a view as a destination that is looked up when the plan runs: its address and extents are those of
/// that moment
template <class Look>
struct view_destination {
  using view_type = decltype(std::declval<Look const&>()());
  using policy = typename view_type::policy;
  using value_type = typename view_type::value_type;
  using extents_type = typename view_type::extents_type;
  explicit view_destination(Look look_up) : look(std::move(look_up)) {}
  target as_target() const {
    view_type const view = look();
    target t = view.as_target();
    for (int a = 0; a < t.extents.rank; ++a)
      layout.extents[a] = view.extent(a), layout.strides[a] = view.stride(a);
    t.locals[0] = {view.data(), layout.extents, layout.strides};
    return t;
  }
  Look look;
  mutable local_layout layout{};  // of the run that asks
};
/// means: the extents of a slice of a leaf now
template <class Slice>
shape extents_of_part(Slice const& s) {
  if constexpr (is_slice_of_leaf<Slice>)
    return view_of_slice(s).extents().as_shape();
  else
    return window_destination<Slice>(s).as_target().extents;
}

}  // namespace detail

}  // namespace locus
