// SPDX-License-Identifier: Apache-2.0
// The plan as text: a constant, byte-equal with all compilers and builds.
#pragma once
#include <locus/core/text.hpp>            // text_buffer
#include <locus/device/name.hpp>          // text << device, place
#include <locus/plan/library_kernel.hpp>  // library_kernel_of
#include <locus/plan/numerics.hpp>        // policy_value, write_policy
#include <locus/plan/show/facts.hpp>      // count_plan

namespace locus {

namespace detail {

template <class Text>
constexpr void write_operand(Text& out, plan_view const& p, short i) {
  step const& s = p.steps[i];
  if (s.kind == step_kind::scalar)
    out << "scalar";
  else if (s.kind == step_kind::index)
    out << "index";
  else if (s.is_view() && s.region < 0) {
    out << s.name << "(";
    write_operand(out, p, p.operands(s)[0].from);
    out << ")";
  } else
    out << "#" << int(i);
}

}  // namespace detail

namespace internal {

/// means: writes the element type and the extents of a step
template <class Text>
constexpr void write_type(Text& out, step const& s, shape const& extents) {
  if (s.type == element::other)
    out << int(s.element_bytes) << " byte";
  else
    out << row_of(s.type).name;
  out << extents;
}

}  // namespace internal

namespace detail {

template <class Text>
constexpr void write_step(Text& out, plan_view const& p, short i, shape const& extents) {
  step const& s = p.steps[i];
  out << "#" << int(i) << " = " << s.name << "(";
  for (int k = 0; k < s.arity; ++k) {
    if (k) out << ", ";
    write_operand(out, p, p.operands(s)[k].from);
  }
  out << ") ";
  write_type(out, s, extents);
  if (s.kind == step_kind::matmul && s.region != i)
    out << (is_product_with_row(p, i) ? "; with the row, not stored" : "; in panels, not stored");
  if (s.fell_back) {
    out << "; '" << s.name << "' has no " << s.side_without_kernel() << " kernel";
    if (!s.request.is_none()) out << ", asked for " << s.request;
  }
  out << "\n";
}

template <class Text>
constexpr Text& write_bytes(Text& out, std::int64_t bytes, bool known) {
  if (known) return out << bytes << " bytes";
  return out << "bytes known when it runs";
}

}  // namespace detail

namespace internal {

/// means: writes n and the noun that fits n
template <class Text>
constexpr Text& write_count(Text& out, std::int64_t n, std::string_view one,
                            std::string_view many) {
  return out << n << " " << (n == 1 ? one : many);
}

}  // namespace internal

namespace detail {

/// means: writes which steps must have equal extents for this plan to run
template <class Text>
constexpr void write_guards(Text& out, plan_view const& p) {
  if (p.guards.count == 0) return;
  out << "  if ";
  for (guard const& g : p.guards)
    out << (&g == p.guards.first ? "#" : ", #") << int(g.a) << " and #" << int(g.b);
  out << " have equal extents; otherwise ";
  if (p.launches_otherwise == 0)
    out << "an error\n";
  else
    write_count(out, p.launches_otherwise, "launch", "launches") << "\n";
}

template <class Text>
constexpr void write_transfer(Text& out, plan_view const& p, transfer const& t,
                              shape const& extents) {
  step const& s = p.steps[t.from];
  tally cost;
  count_transfer(cost, s.where, t, extents, s.element_bytes);
  out << "  " << name_of(t.how) << " ";
  write_operand(out, p, t.from);
  if (t.how == transfer_kind::halo)
    out << " over " << s.where << ", " << int(t.before) << " before and " << int(t.behind)
        << " behind each piece, ";
  else
    out << " from " << s.where << " to " << t.arrives << ", ";
  write_bytes(out, cost.bytes_moved + cost.bytes_reduced,
              extents.is_static() && !depends_on_open(s.where, t));
  out << "\n";
}

/// means: writes which library makes the kernel of a launch on GPUs
template <class Text>
constexpr void write_kernel(Text& out, plan_view const& p, short root, shape const* extents,
                            bool reproducible) {
  place const& where = p.steps[root].where;
  for (int r = 0; r < where.local_count(); ++r)
    if (!where.at(r).is_gpu()) return;
  library_kernel const k = library_kernel_of(p, root, extents, reproducible);
  if (k.name.empty()) return void(out << " by a kernel of locus");
  out << " by " << k.name;
  if (!k.is_certain) out << " or a kernel of locus";
}

}  // namespace detail

namespace internal {

/// means: writes the plan as explain() shows it
template <class Text>
constexpr void write_plan(Text& out, plan_view const& p, shape const* extents,
                          policy_value const& policy) {
  write_policy(out << "plan under ", policy) << "\n";
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (s.kind != step_kind::leaf) continue;
    out << "  " << s.name << " #" << int(i) << " ";
    write_type(out, s, extents[i]);
    out << " on " << s.where;
    if (s.margin.width > 0)
      write_count(out << ", ", s.margin.width, "row", "rows") << " beside each piece";
    out << "\n";
  }
  for (action const& a : p.actions) {
    if (a.kind == action_kind::transfer)
      write_transfer(out, p, p.transfers[a.what], extents[p.transfers[a.what].from]);
    if (a.kind == action_kind::bucket) {
      for (transfer const& t : p.transfers)
        if (t.bucket == a.what) write_transfer(out, p, t, extents[t.from]);
    }
    if (a.kind != action_kind::launch) continue;
    out << "  launch on " << p.steps[a.what].where;
    write_kernel(out, p, a.what, extents, policy.bits == numerics::reproducible);
    if (a.in_parts())
      out << ", in three parts: inside, " << int(a.before) << " before, " << int(a.behind)
          << " behind";
    out << "\n";
    for (short i = 0; i < p.steps.count; ++i)
      if (p.steps[i].region == a.what) {
        out << "    ";
        write_step(out, p, i, extents[i]);
      }
  }
  write_guards(out, p);
  for (root const& r : p.roots) {
    out << "  result ";
    write_operand(out, p, r.from);
    out << " on " << r.result << "\n";
  }
  tally const t = count_plan(p, extents);
  write_count(out << "  ", t.launches, "launch", "launches") << ", ";
  if (knows_devices(p) && knows_halos(p, extents)) {
    write_count(out, t.copies, "copy", "copies") << " (";
    write_bytes(out, t.bytes_moved, knows_bytes(p, extents, false)) << "), ";
  } else
    out << "copies and their bytes known when it runs, ";
  write_count(out, t.all_reduces, "all-reduce", "all-reduces");
  if (t.other_reductions)
    write_count(out << ", ", t.other_reductions, "other reduction", "other reductions");
  out << " (";
  write_bytes(out, t.bytes_reduced, knows_bytes(p, extents, true)) << "), ";
  write_count(out, t.fallbacks, "fallback", "fallbacks");
  if (t.halo_exchanges > 0)
    write_count(out << ", ", t.halo_exchanges, "halo exchange", "halo exchanges");
  if (t.sent + t.received > 0)
    out << ", " << t.sent << " bytes to other ranks, " << t.received << " from them";
  out << "\n";
}

}  // namespace internal

}  // namespace locus
