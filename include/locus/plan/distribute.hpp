// SPDX-License-Identifier: Apache-2.0
// Pass 2: how does each value lie over devices? decisions/04-distributions.md shows its tables.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/expr/step.hpp>    // max_left_out
#include <locus/plan/data.hpp>    // plan_view, verdict

LOCUS_LEAN_BEGIN

namespace locus {

// clang-format off
// ---- the tables ----

/// element-wise operations on two operands
struct elementwise_row {
  distribution lhs, rhs, result;
};
inline constexpr elementwise_row elementwise_rows[] = {
    {distribution::single, distribution::single, distribution::single},
    {distribution::mirrored, distribution::mirrored, distribution::mirrored},
    {distribution::sharded, distribution::sharded, distribution::sharded},  // along one axis; others have no row
    {distribution::sharded, distribution::mirrored, distribution::sharded},
    {distribution::mirrored, distribution::sharded, distribution::sharded},
    {distribution::single, distribution::mirrored, distribution::mirrored},  // a broadcast first
    {distribution::mirrored, distribution::single, distribution::mirrored},
    {distribution::single, distribution::sharded, distribution::sharded},  // a scatter first
    {distribution::sharded, distribution::single, distribution::sharded},
};

/// linear operations leave a partial sum partial: the reduction is delayed
enum class partial_operands : unsigned char { the_only_one, every_one, exactly_one, the_first };
struct linear_row {
  law commutes;
  partial_operands which;
};
inline constexpr linear_row linear_rows[] = {
    {law::linear, partial_operands::the_only_one},  // negate, widening cast, transpose, reshape, sum
    {law::add, partial_operands::every_one},        // + and - of partials
    {law::scale, partial_operands::exactly_one},    // times a mirrored value or a scalar, matmul with mirrored
    {law::scale_left, partial_operands::the_first},  // divided by a mirrored value or a scalar
};

struct matmul_row {
  distribution lhs;
  int lhs_axis;
  distribution rhs;
  int rhs_axis;
  distribution result;
  int axis;
};
// axis 0: the rows of each matrix; 1: its columns; -1: the batch if sharded, else none
inline constexpr matmul_row matmul_rows[] = {
    {distribution::mirrored, -1, distribution::mirrored, -1, distribution::mirrored, -1},
    {distribution::sharded, 0, distribution::mirrored, -1, distribution::sharded, 0},
    {distribution::mirrored, -1, distribution::sharded, 1, distribution::sharded, 1},
    {distribution::sharded, 1, distribution::sharded, 0, distribution::partial, -1},
    {distribution::sharded, -1, distribution::sharded, -1, distribution::sharded, -1},
    {distribution::sharded, -1, distribution::mirrored, -1, distribution::sharded, -1},  // one matrix for all
    {distribution::mirrored, -1, distribution::sharded, -1, distribution::sharded, -1},
};

/// reductions over elements; along: the sharded axis is reduced
struct reduce_row {
  distribution operand;
  bool along;
  distribution result;
};
inline constexpr reduce_row reduce_rows[] = {
    {distribution::mirrored, false, distribution::mirrored},
    {distribution::sharded, true, distribution::partial},
    {distribution::sharded, false, distribution::sharded},
};

/// assign, eval, fetch, print: the transfer for each pair of distributions
struct assign_row {
  distribution from, to;
  transfer_kind how;
};
inline constexpr assign_row assign_rows[] = {
    {distribution::single, distribution::single, transfer_kind::copy},
    {distribution::single, distribution::mirrored, transfer_kind::broadcast},
    {distribution::single, distribution::sharded, transfer_kind::scatter},
    {distribution::mirrored, distribution::single, transfer_kind::first_replica},
    {distribution::mirrored, distribution::mirrored, transfer_kind::none},
    {distribution::mirrored, distribution::sharded, transfer_kind::slice},
    {distribution::sharded, distribution::single, transfer_kind::gather},
    {distribution::sharded, distribution::mirrored, transfer_kind::all_gather},
    {distribution::sharded, distribution::sharded, transfer_kind::none},  // along one axis; others have no row
    {distribution::partial, distribution::single, transfer_kind::reduce},
    {distribution::partial, distribution::mirrored, transfer_kind::all_reduce},
    {distribution::partial, distribution::sharded, transfer_kind::reduce_scatter},
};

// clang-format on

// ---- the pass ----

namespace detail {

/// For windows with a given span, the lead of the values that a plan computes: one for all of them,
/// so that they meet in one kernel. -1: no such window
struct window_leads {
  signed char of[2 * max_left_out + 1];
  constexpr window_leads() {
    for (signed char& lead : of) lead = -1;
  }
};

/// one step, and its operands in the terms of the tables
struct distributor {
  plan_view& p;
  step& me;
  short number;  // of the step
  window_leads& leads;
  place devices{};  // the device list of the distributed operands

  constexpr place const& lies(int k) const { return p.steps[p.operands(me)[k].from].where; }
  constexpr bool is_neutral(int k) const {
    step_kind const kind = p.steps[p.operands(me)[k].from].kind;
    return kind == step_kind::scalar || kind == step_kind::index;
  }

  /// the sharded axis of operand k, counted from the right, as broadcasting aligns shapes
  constexpr int cut_from_right(int k, place const& at) const {
    return p.steps[p.operands(me)[k].from].extents.rank - 1 - at.axis;
  }

  constexpr plan_error find_devices() {
    for (int k = 0; k < me.arity; ++k) {
      if (!lies(k).is_distributed()) continue;
      if (!devices.is_nowhere() && !(devices.devices == lies(k).devices))
        return plan_error::device_lists_differ;
      devices = lies(k);
    }
    return plan_error::none;
  }

  constexpr bool keeps_partial() const {
    int partials = 0, others = 0;
    for (int k = 0; k < me.arity; ++k) {
      if (!lies(k).is_partial()) {
        others += !lies(k).is_sharded() ? 0 : 100;  // beside pieces the sum must be complete
        continue;
      }
      if (lies(k).op != reduction::sum) return false;
      ++partials;
    }
    if (partials == 0 || others > 0) return false;
    if (me.kind == step_kind::reduce && me.combines != reduction::sum) return false;
    for (linear_row const& row : linear_rows) {
      if (row.commutes != me.commutes) continue;
      switch (row.which) {
      case partial_operands::the_only_one: return me.arity == 1;
      case partial_operands::every_one: return partials == me.arity;
      case partial_operands::exactly_one: return partials == 1;
      case partial_operands::the_first: return partials == 1 && lies(0).is_partial();
      }
    }
    return false;
  }

  /// the place where the step reads operand k, where partial has become mirrored
  constexpr place complete(int k) {
    edge& e = p.operands(me)[k];
    if (!lies(k).is_partial()) return lies(k);
    return e.arrives = devices.mirrored();
  }
  /// a single operand is mirrored to every device
  constexpr place on_every_device(int k) {
    edge& e = p.operands(me)[k];
    if (lies(k).is_single() && !is_neutral(k)) return e.arrives = devices.mirrored();
    return complete(k);
  }

  constexpr plan_error elementwise() {
    int cut = -1, span = 0;  // the cut from the right; the span of windows
    distribution result = distribution::mirrored;
    for (int k = 0; k < me.arity; ++k) {
      if (is_neutral(k)) continue;
      place const at = complete(k);
      distribution const rhs = at.how;
      bool found = false;
      for (elementwise_row const& row : elementwise_rows)
        if (row.lhs == result && row.rhs == rhs) result = row.result, found = true;
      if (!found) return plan_error::cuts_do_not_meet;
      if (!at.is_sharded()) continue;
      int const here = cut_from_right(k, at);
      if (cut >= 0 && cut != here) return plan_error::cuts_do_not_meet;
      if (cut >= 0 && span != at.span()) return plan_error::windows_do_not_meet;
      cut = here, span = at.span();
      // of computed values alone: the first decides
      if (span > 0 && leads.of[span] < 0) leads.of[span] = at.lead;
    }
    me.where = cut < 0 ? devices.mirrored() : devices.sharded(me.extents.rank - 1 - cut);
    if (span > 0) me.where = me.where.window(leads.of[span], span - leads.of[span]);
    bring_singles(me.where);
    return plan_error::none;
  }
  /// single operands of an element-wise step: scattered along the sharded axis, or mirrored
  constexpr void bring_singles(place const& where) {
    int const cut = where.is_sharded() ? me.extents.rank - 1 - where.axis : -1;  // from the right
    for (int k = 0; k < me.arity; ++k) {
      if (!lies(k).is_single() || is_neutral(k)) continue;
      shape const& s = p.steps[p.operands(me)[k].from].extents;
      bool const has_cut = cut >= 0 && cut < s.rank && s.from_right(cut) != 1;
      p.operands(me)[k].arrives = has_cut ? where.along(s.rank - 1 - cut) : where.mirrored();
    }
  }

  constexpr plan_error matmul() {
    place const l = on_every_device(0), r = on_every_device(1);
    auto rank = [&](int k) { return p.steps[p.operands(me)[k].from].extents.rank; };
    auto axis = [&](place const& at, int k) {
      return at.is_sharded() ? at.axis - (rank(k) - 2) : at.axis;
    };
    for (matmul_row const& row : matmul_rows)
      if (row.lhs == l.how && row.lhs_axis == axis(l, 0) && row.rhs == r.how &&
          row.rhs_axis == axis(r, 1)) {
        bool const batch = row.result == distribution::sharded && row.axis == -1;
        if (batch && ((l.is_mirrored() && rank(0) == 3) || (r.is_mirrored() && rank(1) == 3)))
          return plan_error::matmul_cuts;  // a mirrored batch, pieces of another
        me.where = row.result == distribution::partial ? devices.partial(reduction::sum)
                   : row.result == distribution::sharded
                       ? devices.sharded(row.axis + me.extents.rank - 2)
                       : devices.mirrored();
        return plan_error::none;
      }
    return plan_error::matmul_cuts;
  }

  constexpr plan_error reduce() {
    place const at = complete(0);
    bool const along = at.is_sharded() && has_axis(me.axes, at.axis);
    for (reduce_row const& row : reduce_rows)
      if (row.operand == at.how && row.along == along) {
        if (row.result == distribution::partial)
          me.where = devices.partial(me.combines);
        else if (row.result == distribution::mirrored)
          me.where = devices.mirrored();
        else {
          int axis = at.axis;
          for (int a = 0; a < at.axis && !me.keep; ++a) axis -= has_axis(me.axes, a);
          me.where = at.along(axis);
        }
        return plan_error::none;
      }
    return plan_error::cuts_do_not_meet;
  }

  /// views are views of each device's part; that is right for terms of any reduction too
  constexpr plan_error view() {
    place const at = lies(0);
    me.where = at;
    if (!at.is_sharded()) return plan_error::none;
    int axis = at.axis;
    if (me.kind == step_kind::transpose) {
      axis = 0;
      while (me.order[axis] != at.axis) ++axis;
    } else if (me.kind == step_kind::expand) {
      axis += me.axis <= at.axis;
    } else if (me.kind == step_kind::at) {
      if (me.axis == at.axis) return plan_error::view_across_cut;
      axis -= me.axis < at.axis;
    } else if (me.kind == step_kind::slice) {
      me.where = internal::place_of_slice(me, at);
      if (me.where.is_nowhere()) return plan_error::view_across_cut;
    } else if (axis >= me.extents.rank || at.is_window()) {
      return plan_error::view_across_cut;
    }
    me.where = me.where.along(axis);
    return plan_error::none;
  }
  /// no operand is a window: the kernel has no way to leave rows of a piece out
  constexpr bool reads_window() const {
    for (int k = 0; k < me.arity; ++k)
      if (lies(k).is_window()) return true;
    return false;
  }

  // ---- calls: roles of operands and results ----
  /// `rows` are sharded along axis 0, or every replica has the whole batch; other roles are whole
  constexpr plan_error call() {
    if (me.call->has_own_cut) return call_with_own_cut();
    bool cut = false;
    for (int k = 0; k < me.arity; ++k) {
      if (!lies(k).is_sharded()) continue;
      if (me.call->rule.operands[k] != call_role::rows || lies(k).axis != 0)
        return plan_error::call_cuts;
      cut = true;
    }
    for (int k = 0; k < me.arity; ++k) {
      bool const in_rows = cut && me.call->rule.operands[k] == call_role::rows;
      place const wanted = in_rows ? devices.sharded(0) : devices.mirrored();
      if (!(lies(k) == wanted)) p.operands(me)[k].arrives = wanted;
    }
    me.where = place_of_result(cut);
    return plan_error::none;
  }
  /// the operation says for which cuts of its operands it has a kernel
  constexpr plan_error call_with_own_cut() {
    call_axes found;
    bool is_cut = false;
    for (int k = 0; k < me.arity; ++k) {
      found[k] = lies(k).is_sharded() ? lies(k).axis : call_cut::whole;
      is_cut = is_cut || lies(k).is_sharded();
    }
    call_cut const cut = is_cut ? me.call->cut(found) : call_cut{.fits = true};
    if (!cut.fits) return plan_error::own_call_cuts;
    for (int k = 0; k < me.arity; ++k) {
      bool const whole = !is_cut || cut.operands[k] == call_cut::whole;
      place const wanted = whole ? devices.mirrored() : devices.sharded(cut.operands[k]);
      if (!(lies(k) == wanted)) p.operands(me)[k].arrives = wanted;
    }
    me.where = place_of_result(cut);
    return plan_error::none;
  }
  constexpr place place_of_result(call_cut const& cut) const {
    if (me.call->rule.results[me.result] == call_role::whole) return devices.mirrored();
    if (cut.axis != call_cut::whole) return devices.sharded(cut.axis);
    return cut.terms == reduction::none ? devices.mirrored() : devices.partial(cut.terms);
  }
  constexpr place place_of_result(bool cut) const {
    call_role const role = me.call->rule.results[me.result];
    if (!cut || role == call_role::whole) return devices.mirrored();
    return role == call_role::rows ? devices.sharded(0) : devices.partial(reduction::sum);
  }
  constexpr plan_error sibling() {
    place const& first = lies(0);
    if (first.is_distributed()) {
      devices = first;
      short const call = first_result(p, number);
      me.where = me.call->has_own_cut ? place_of_result(own_cut_of_call(p, p.steps[call]))
                                      : place_of_result(call_is_cut(p, call));
      me.why = reason::one_kernel;
    }
    return plan_error::none;
  }

  /// the whole value on each replica
  constexpr plan_error all_gather() {
    place const at = complete(0);
    if (at.is_sharded()) p.operands(me)[0].arrives = devices.mirrored();
    me.where = devices.mirrored();
    return plan_error::none;
  }

  constexpr plan_error concatenate() {
    if (plan_error const e = elementwise(); e != plan_error::none) return e;
    return me.where.is_sharded() && me.where.axis == me.axis ? plan_error::view_across_cut
                                                             : plan_error::none;
  }

  constexpr plan_error run() {
    if (me.is_sibling()) return sibling();
    if (plan_error const e = find_devices(); e != plan_error::none) return e;
    if (devices.is_nowhere()) return plan_error::none;  // a single value: pass 3 decides
    if (!me.request.is_none()) return plan_error::request_on_distributed;
    if (!has_kernels()) return plan_error::none;  // pass 3 takes the CPU, pass 4 copies
    me.why = reason::with_replicas;
    if (me.name == "all_reduce" && !lies(0).is_partial())
      return plan_error::all_reduce_without_terms;
    if (me.name == "all_gather") return all_gather();
    if (me.is_view()) return view();
    if (keeps_partial()) {
      for (int k = 0; k < me.arity; ++k)
        if (lies(k).is_single() && !is_neutral(k)) p.operands(me)[k].arrives = devices.mirrored();
      me.where = devices.partial(reduction::sum);
      return plan_error::none;
    }
    bool const takes_windows = me.kind == step_kind::map || me.kind == step_kind::reduce;
    if (!takes_windows && reads_window()) return plan_error::window_in_own_kernel;
    switch (me.kind) {
    case step_kind::map: return elementwise();
    case step_kind::concatenate: return concatenate();
    case step_kind::matmul: return matmul();
    case step_kind::call: return call();
    default: return reduce();
    }
  }

  constexpr bool has_kernels() const {
    for (int r = 0; r < devices.local_count(); ++r)
      if (!(devices.at(r).is_gpu() ? me.on_gpu : me.on_cpu)) return false;
    return true;
  }

  // ---- generators ----
  constexpr bool is_generated() const {
    bool all = (me.kind == step_kind::map || me.is_view()) && me.request.is_none() && me.on_cpu &&
               me.on_gpu;
    for (int k = 0; k < me.arity; ++k)
      all = all && (is_neutral(k) || p.steps[p.operands(me)[k].from].generated);
    return all;
  }
  /// if all readers are on replicas, each replica computes the value itself
  constexpr void join_readers(short i) {
    place const at = wanted_by_readers(p, i);
    if (!at.is_distributed() || at.is_partial() || (me.is_view() && !at.is_mirrored())) return;
    me.where = at, me.why = reason::with_readers;
    bring_singles(at);
  }
};

/// means: of computed windows with one span: the lead of a destination, else that of all such
///        windows of tensors, else one in the middle
constexpr window_leads find_leads(plan_view& p) {
  window_leads leads;
  bool any = false;
  for (step const& s : p.steps) any = any || (s.kind == step_kind::leaf && s.where.is_sharded());
  if (!any) return leads;
  auto const add = [&](place const& at) {
    if (!at.is_sharded() || at.span() == 0) return;
    signed char& lead = leads.of[at.span()];
    lead = static_cast<signed char>(lead < 0 || lead == at.lead ? at.lead : at.span() / 2);
  };
  for (short i = 0; i < p.steps.count; ++i) {
    step& me = p.steps[i];
    if (!me.is_view() || p.steps[memory_of(p, i)].kind != step_kind::leaf) continue;
    distributor d{p, me, i, leads};
    if (d.find_devices() == plan_error::none && !d.devices.is_nowhere() &&
        d.view() == plan_error::none)
      add(me.where);
  }
  for (root const& r : p.roots)
    if (r.destination.is_sharded() && r.destination.span() > 0)
      leads.of[r.destination.span()] = r.destination.lead;
  return leads;
}

/// means: all sharded operands and results of a call have one extent along their cuts
constexpr plan_error check_own_cut(plan_view const& p, short i, shape const* extents) {
  step const &s = p.steps[i], &first = p.steps[first_result(p, i)];
  std::int64_t n = dyn;
  auto differs = [&](place const& at, shape const& of) {
    if (!at.is_sharded()) return false;
    std::int64_t const own = of.extent[at.axis];
    bool const differ = n != dyn && own != dyn && n != own;
    if (n == dyn) n = own;
    return differ;
  };
  bool wrong = differs(s.where, extents[i]);
  for (int k = 0; k < first.arity; ++k)
    wrong = differs(place_of_operand(p, first, k), extents[p.operands(first)[k].from]) || wrong;
  return wrong ? plan_error::own_call_cuts : plan_error::none;
}

/// means: all sharded operands and results of a call have as many rows as its first `rows` operand
constexpr plan_error check_call(plan_view const& p, short i, shape const* extents) {
  step const &s = p.steps[i], &first = p.steps[first_result(p, i)];
  if (!call_is_cut(p, i)) return plan_error::none;
  if (s.call->has_own_cut) return check_own_cut(p, i, extents);
  std::int64_t const n = extents[p.operands(first)[operand_of_rows(p, i)].from].extent[0];
  auto differs = [&](shape const& other) {
    return other.rank == 0 || (other.extent[0] != n && other.extent[0] != dyn && n != dyn);
  };
  if (s.where.is_sharded() && differs(extents[i])) return plan_error::call_cuts;
  for (int k = 0; k < first.arity; ++k)
    if (s.call->rule.operands[k] == call_role::rows && differs(extents[p.operands(first)[k].from]))
      return plan_error::call_cuts;
  return plan_error::none;
}

/// means: a reshape leaves each element on its replica: extents up to the sharded axis stay, or
///        equal pieces in row order stay equal pieces. A dynamic extent counts as fitting.
constexpr bool reshapes_pieces(shape const& from, shape const& to, int cut, int replicas) {
  auto differ = [](std::int64_t a, std::int64_t b) { return a != b && a != dyn && b != dyn; };
  bool same = true;
  for (int a = 0; a <= cut; ++a) same = same && !differ(from.extent[a], to.extent[a]);
  auto divides = [&](std::int64_t n) { return n == dyn || n % replicas == 0; };
  return same || (cut == 0 && divides(from.extent[0]) && divides(to.extent[0]));
}

}  // namespace detail

namespace internal {

/// means: no operand of extent 1 is sharded along a broadcast axis, and no reshape moves elements
///        between pieces. Binding checks dynamic extents again.
constexpr plan_error check_cut(plan_view const& p, short i, shape const* extents) {
  step const& s = p.steps[i];
  if (s.kind == step_kind::call) return check_call(p, i, extents);
  if (!s.where.is_sharded()) return plan_error::none;
  auto differ = [](std::int64_t a, std::int64_t b) { return a != b && a != dyn && b != dyn; };
  for (edge const& e : p.operands(s)) {
    place const& at = e.arrives.is_nowhere() ? p.steps[e.from].where : e.arrives;
    shape const &from = extents[e.from], &to = extents[i];
    bool const batch = s.kind == step_kind::matmul && to.rank == 3 && s.where.axis == 0;
    bool const meets = s.kind == step_kind::map || s.kind == step_kind::concatenate || batch;
    if (meets && at.is_sharded() && differ(from.extent[at.axis], to.extent[s.where.axis]))
      return plan_error::stretched_cut;
    if (s.kind == step_kind::reshape &&
        !reshapes_pieces(from, to, s.where.axis, s.where.global_count()))
      return plan_error::view_across_cut;
  }
  return plan_error::none;
}

}  // namespace internal

/// means: sets steps[i].where and the edges' `arrives` for every step that reads a distributed
///        value
constexpr verdict distribute(plan_view& p) {
  shape extents[max_steps]{};
  detail::window_leads leads = detail::find_leads(p);
  for (short i = 0; i < p.steps.count; ++i) {
    step& me = p.steps[i];
    extents[i] = me.extents;
    if (me.is_source()) continue;
    detail::distributor d{p, me, i, leads};
    me.generated = d.is_generated();
    plan_error e = me.generated ? plan_error::none : d.run();
    if (e == plan_error::none) e = internal::check_cut(p, i, extents);
    if (e != plan_error::none) return {e, i};
  }
  for (short i = static_cast<short>(p.steps.count); i-- > 0;)
    if (p.steps[i].generated) detail::distributor{p, p.steps[i], i, leads}.join_readers(i);
  return {};
}

}  // namespace locus

LOCUS_LEAN_END
