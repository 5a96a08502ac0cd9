// SPDX-License-Identifier: Apache-2.0
// Plans with open devices: a copy of the constant plan, with the devices of one run.
#pragma once
#include <locus/backend/all_gpus.hpp>  // visible_gpus
#include <locus/device/open.hpp>       // open_devices
#include <locus/plan/data.hpp>         // plan_view
#include <locus/plan/show/facts.hpp>   // tally

namespace locus::internal {

/// means: a plan, with the devices and counts of a run at this moment
struct seen_plan {
  plan_view const& plan;
  open_devices open;
  tally counts;
};

}  // namespace locus::internal

namespace locus::detail {

/// means: a step, a request or a result of the plan has an open device
constexpr bool has_open_places(plan_view const& p) {
  for (step const& s : p.steps)
    if (s.where.is_open() || s.request.is_open()) return true;
  for (root const& r : p.roots)
    if (r.result.is_open()) return true;
  return false;
}

}  // namespace locus::detail

namespace locus::internal {

/// means: some value of the plan lies over ranks
constexpr bool reaches_ranks(plan_view const& p) {
  for (step const& s : p.steps)
    if (s.where.devices.is_over_ranks()) return true;
  for (root const& r : p.roots)
    if (r.result.devices.is_over_ranks()) return true;
  return false;
}

/// fails: placement_error: no operand says which device the open device d is
[[noreturn, gnu::cold]] inline void refuse_unbound(device d) {
  message text;
  throw placement_error(text << "locus: nothing in the expression says which device " << d
                             << " is; name it, as in to<" << (d.is_gpu() ? "GpuDevice" : "Cpu")
                             << "<dyn>>(e, 2)");
}

}  // namespace locus::internal

namespace locus::detail {

/// means: replaces the open devices by the devices of this run
/// cost:  a pass over the arrays, only for plans with open devices
/// fails: placement_error, if no leaf and no destination says which device GpuDevice<dyn> or
///        CpuDevice<dyn> is
inline void fill_in(plan_view const& p, open_devices const& open) {
  auto fill = [&](place& at) {
    if (!at.is_open()) return;
    place const actual = open.of(at);
    if (actual.at(0).is_none()) refuse_unbound(at.at(0));
    at = actual;
  };
  for (step& s : p.steps) fill(s.where), s.request = open.of(s.request);
  for (edge& e : p.edges) fill(e.arrives);
  for (transfer& t : p.transfers) fill(t.arrives);
  for (root& r : p.roots) fill(r.destination), fill(r.result);
}

}  // namespace locus::detail
