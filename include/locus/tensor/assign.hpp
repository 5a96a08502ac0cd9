// SPDX-License-Identifier: Apache-2.0
// into, plan, run: named assignments, and several assignments as one plan.
#pragma once
#include <locus/ops/views.hpp>        // slice_op
#include <locus/plan/data.hpp>        // place_of_slice
#include <locus/shape/bad_index.hpp>  // refuse_index
#include <locus/tensor/tensor.hpp>    // Tensor
#include <locus/tensor/view.hpp>      // View

namespace locus {

/// What a plan writes: a Tensor, a view, or a small object that refers to one.
template <class Destination>
concept destination = requires(Destination const& d) {
  { d.as_target() } -> std::same_as<target>;
  typename Destination::policy;
  typename Destination::value_type;
  typename Destination::extents_type;
};

namespace internal {
/// fails: bad_access
[[noreturn]] inline void refuse_dead_place() {
  throw bad_access(
      "locus: a part is written of a Tensor that has died, was moved from or was resized; "
      "make the assignment anew");
}
}  // namespace internal

namespace detail {
/// a Tensor as a destination; its address and extents are read when the plan runs
template <class Owner>
struct tensor_destination {
  using policy = typename Owner::policy;
  using value_type = typename Owner::value_type;
  using extents_type = typename Owner::extents_type;
  Owner* tensor;
  target as_target() const { return tensor->as_target(); }
};

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
    for (int r = 0; r < t.where.count(); ++r) t.locals[r] = local(*block, t, r);
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
  elements_at const whole = r;
  if constexpr (Op::kind == step_kind::transpose) {
    for (int a = 0, last = whole.extents.rank - 1; a <= last; ++a) {
      r.extents.extent[a] = whole.extents.extent[last - a];
      r.layout.stride[a] = whole.layout.stride[last - a];
    }
  } else {
    r.extents = extents_of_ranges(part.op, whole.extents);
    for (int a = 0, kept = 0; a < whole.extents.rank; ++a) {
      range const some = part.op.range_along(a);
      std::int64_t const stride = whole.layout.stride[a];
      r.data += range::absolute(some.begin, whole.extents.extent[a]) * stride;
      if (is_left_out(part.op, a)) continue;
      r.layout.stride[kept] = r.extents.extent[kept] > 1 ? stride * some.step.value : stride;
      ++kept;
    }
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
/// a part as a destination; its address and extents are read when the plan runs
template <class X>
struct part_destination {
  using view_type = decltype(view_of_slice(std::declval<X const&>()));
  using policy = typename view_type::policy;
  using value_type = typename view_type::value_type;
  using extents_type = typename view_type::extents_type;
  X part;
  mutable local_layout layout{};  // of the run that asks
  target as_target() const {
    view_type const view = view_of_slice(part);
    target t = view.as_target();
    for (int a = 0; a < t.extents.rank; ++a)
      layout.extents[a] = view.extent(a), layout.strides[a] = view.stride(a);
    t.locals[0] = {view.data(), layout.extents, layout.strides};
    return t;
  }
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

/// means: to = e, computed by run()
template <class E, destination To>
struct [[nodiscard(
    "locus: an assignment with a name runs nothing by itself; write run(into(y, e))")]] Assignment {
  using expression = E;
  using policy = typename To::policy;
  E e;
  To to;
};

namespace detail {
template <class To, class E>
auto make_assignment(To to, E e) {
  if constexpr (require_takes<typename To::value_type, typename To::extents_type, E>())
    return Assignment<E, To>{std::move(e), std::move(to)};
}
/// into accepts To: a Tensor that has a name and is not const, a view, or a slice of a Tensor
template <class To, class Plain = std::remove_cvref_t<To>>
inline constexpr bool may_be_written =
    tensor_owner<Plain>
        ? std::is_lvalue_reference_v<To> && !std::is_const_v<std::remove_reference_t<To>>
        : destination<Plain> || is_slice_of_leaf<Plain> || is_window_of_leaf<Plain>;
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: the assignment to = e as an object for plan and run; `to` is a Tensor, a view, or a part of
///        one: slice(x, ...), row_at(x, i)
/// fails: at compile time, for another element type or other static extents; at run time:
///        shape_error, for other extents
template <class To, tensor_operand X>
  requires(tensor_owner<To> && !std::is_const_v<To>)
auto into(To& to, X&& e) {
  return detail::make_assignment(detail::tensor_destination<To>{&to},
                                 as_operand<void>(std::forward<X>(e)));
}
template <destination To, tensor_operand X>
  requires(!tensor_owner<To>)
auto into(To const& to, X&& e) {
  return detail::make_assignment(to, as_operand<void>(std::forward<X>(e)));
}
template <class To, tensor_operand X>
  requires(detail::is_slice_of_leaf<To>)
auto into(To const& to, X&& e) {
  return detail::make_assignment(detail::part_destination<To>{to},
                                 as_operand<void>(std::forward<X>(e)));
}
/// a part of a tensor in pieces whose ends the type knows, or along other axes than the cut
template <class To, tensor_operand X>
  requires(detail::is_window_of_leaf<To>)
auto into(To const& to, X&& e) {
  constexpr bool is_window = !detail::window_of<To>::value.is_nowhere(),
                 is_slice = !internal::is_at_op<std::remove_cvref_t<decltype(to.op)>>;
  static_assert(
      is_window || is_slice,
      "locus: one index along the cut lies in one piece, which a plan cannot write alone; "
      "gather the array first with to<Device>(x)");
  static_assert(is_window || !is_slice,
                "locus: a slice across the cut is written whose ends the type does not know, or "
                "that leaves out more than 32 rows; write interior<1>(y), or slice<0, 1, -1>(y)");
  auto operand = as_operand<void>(std::forward<X>(e));
  // a part that lies at other rows is copied by a kernel, which reads margins
  if constexpr (is_window && detail::reads_window_of_leaf<decltype(operand)>)
    return into(detail::window_destination<To>(to),
                make_node(map_op<identity_fn>{}, std::move(operand)));
  else if constexpr (is_window)
    return into(detail::window_destination<To>(to), std::move(operand));
}
template <class To, tensor_operand X>
  requires(!detail::may_be_written<To>)
auto into(To&&, X&&) {
  static_assert(
      always_false<To>,
      "locus: into writes a Tensor that has a name and is no constant, a view, or a slice "
      "of a view or of a Tensor on one device; make one of these first");
}

/// means: several assignments as one plan: every right side is computed before any left side is
///        written. The members of plan_facts describe the plan: step.copies(), step.explain() ...
template <placement_policy Policy, class... Assignments>
class [[nodiscard("locus: a plan runs nothing by itself; write run(step)")]] Plan
    : public plan_facts<graph<
          Policy, root_of<typename Assignments::expression, typename Assignments::policy>...>> {
 public:
  using graph_type =
      graph<Policy, root_of<typename Assignments::expression, typename Assignments::policy>...>;
  constexpr explicit Plan(Assignments... a) : assignments_(make_pack(std::move(a)...)) {}

  void run(call_site where = call_site::here()) const {
    run(std::index_sequence_for<Assignments...>{}, where);
  }
  /// means: calls see(seen_plan) for the plan with the extents and devices that its tensors have
  ///        now; runs nothing
  template <class See>
  auto look(See const& see) const {
    return look(see, std::index_sequence_for<Assignments...>{});
  }

 private:
  template <std::size_t... Idx>
  void run(std::index_sequence<Idx...>, call_site where) const {
    target const targets[] = {get<Idx>(assignments_).to.as_target()...};
    lowering::run_graph<graph_type>(
        where, [&](int k, shape const&, place const&) { return targets[k]; },
        get<Idx>(assignments_).e...);
  }
  template <class See, std::size_t... Idx>
  auto look(See const& see, std::index_sequence<Idx...>) const {
    target const targets[] = {get<Idx>(assignments_).to.as_target()...};
    return lowering::graph_code<graph_type>::look(targets, see, get<Idx>(assignments_).e...);
  }
  pack<Assignments...> assignments_;
};

/// means: the assignments as one plan; runs nothing
/// fails: at compile time, when a pass refuses the plan
template <placement_policy Policy = default_policy, class... E, class... To>
  requires(sizeof...(E) > 0)
constexpr auto plan(Assignment<E, To>... assignments) {
  using Graph = graph<Policy, root_of<E, typename To::policy>...>;
  if constexpr (internal::require_plan<Graph>())
    return Plan<Policy, Assignment<E, To>...>(std::move(assignments)...);
}

/// means: runs a plan, or one assignment
template <class Policy, class... Assignments>
void run(Plan<Policy, Assignments...> const& step, call_site where = call_site::here()) {
  runtime::devices("run", where);
  step.run(where);
}
template <placement_policy Policy = default_policy, class E, class To>
void run(Assignment<E, To> assignment, call_site where = call_site::here()) {
  runtime::devices("run", where);
  plan<Policy>(std::move(assignment)).run(where);
}
/// means: run(plan(assignments...)): every right side is computed before any left side is written
template <placement_policy Policy = default_policy, class... E, class... To>
  requires(sizeof...(E) > 1)
void run(Assignment<E, To>... assignments) {
  call_site const where = runtime::site_of_operator();
  runtime::devices("run", where);
  plan<Policy>(std::move(assignments)...).run(where);
}
template <tensor_operand X>
void run(X const&) {
  static_assert(always_false<X>,
                "locus: run takes a plan or an assignment; write run(into(y, e)), or eval(e)");
}

}  // namespace LOCUS_MODE

/// means: a destination whose memory no operand overlaps, by the promise of the program
template <class To>
struct NoAlias {
  using policy = typename To::policy;
  using value_type = typename To::value_type;
  using extents_type = typename To::extents_type;
  target to;
  target as_target() const { return to; }
  template <tensor_operand X, class Mode = mode>
  [[gnu::always_inline]] void operator=(X&& x) const {
    locus::run(into(*this, std::forward<X>(x)), runtime::site_of_operator());
  }
};
/// means: no_alias(y) = e: assigns e without the check whether e reads y at other indices
/// cost:  saves a comparison of addresses for each leaf
template <destination To>
auto no_alias(To& to) {
  target t = to.as_target();
  t.no_alias = true;
  return NoAlias<To>{t};
}

/// means: a compile-time guarantee of no copy between devices     fails: at compile time
template <class E, class To>
constexpr void require_no_copies(Assignment<E, To> const&) {
  static_assert(
      plan_facts<graph<default_policy, root_of<E, typename To::policy>>>::copies() == 0,
      "locus: this assignment copies between devices; print plan(...).explain() to see where");
}
template <class Policy, class... Assignments>
constexpr void require_no_copies(Plan<Policy, Assignments...> const&) {
  static_assert(Plan<Policy, Assignments...>::copies() == 0,
                "locus: this plan copies between devices; print its explain() to see where");
}
template <tensor_operand X>
constexpr void require_no_copies(X const&) {
  static_assert(
      plan_of<X const&>.copies() == 0,
      "locus: this expression copies between devices; print plan_of<E>.explain() to see where");
}

}  // namespace locus
