// SPDX-License-Identifier: Apache-2.0
// explain, explain_dot, why, tally_of, bytes_moved: facts of a plan, at run time.
#pragma once
#include <locus/backend/describe_device.hpp>  // write_stands_behind
#include <locus/plan/show/dot.hpp>            // dot_writer
#include <locus/tensor/assign.hpp>            // Plan, Assignment

namespace locus {

namespace internal {

/// means: writes a text to a stream, without <ostream>
template <class Stream>
void write_to(Stream& out, std::string_view text) {
  out.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
}

}  // namespace internal

namespace detail {

/// the plan counts every occurrence of a leaf; a run copies a tensor that occurs twice only once
template <class Stream>
void write_reused(Stream& out, tally const& t) {
  if (t.reused == 0) return;
  text_buffer<256> line;
  line << "  when it runs: ";
  write_count(line, t.copies, "copy", "copies") << " (" << t.bytes_moved << " bytes), ";
  write_count(line, t.reused, "occurrence", "occurrences") << " of a tensor reused\n";
  write_to(out, line.view());
}

/// means: writes which devices the open devices of the plan are now
template <class Stream>
void write_open(Stream& out, plan_view const& constant, open_devices const& now) {
  bool said[3]{};
  auto say = [&](int which, place const& open) {
    if (said[which] || now.of(open).at(0).is_none()) return;
    said[which] = true;
    message line;
    line << "  " << open << " is " << now.of(open) << " now\n";
    write_to(out, line.view());
  };
  for (step const& s : constant.steps) {
    if (!s.where.is_open()) continue;
    if (s.where.devices.is_all_gpus())
      say(0, s.where.mirrored());
    else
      say(s.where.at(0).is_gpu() ? 1 : 2, s.where);
  }
}
/// means: writes the physical devices that run the steps of that name now
template <class Stream>
void write_standing(Stream& out, plan_view const& now, std::string_view name) {
  device_list said;
  for (step const& s : now.steps) {
    if (s.name != name) continue;
    for (int r = 0; r < s.where.local_count(); ++r) {
      device const d = s.where.at(r);
      if (!d.is_gpu() || d.is_open() || said.contains(d) || said.size() == max_devices) continue;
      said.push(d);
      message line;
      runtime::write_stands_behind(line << "  ", d) << "\n";
      write_to(out, line.view());
    }
  }
}

template <class Graph, class Stream>
void write_dot(Stream& out) {
  static constexpr auto extents = extents_of_steps<Graph>();
  auto* const text = new dot_text;
  dot_writer(*text, unchecked_plan<Graph>.view(), extents.of)
      .run(value_of_policy<typename Graph::policy>());
  write_to(out, text->view());
  delete text;
}

}  // namespace detail

/// means: writes the plan as a graph in Graphviz's language: dot -Tsvg draws it
/// after: explain(out, e)
template <placement_policy Policy = default_policy, class Stream, tensor_operand X>
void explain_dot(Stream& out, X const&) {
  if constexpr (internal::require_plan<graph_of<X const&, nowhere, Policy>>())
    detail::write_dot<graph_of<X const&, nowhere, Policy>>(out);
}
template <class Stream, class Policy, class... Assignments>
void explain_dot(Stream& out, Plan<Policy, Assignments...> const&) {
  detail::write_dot<typename Plan<Policy, Assignments...>::graph_type>(out);
}

inline namespace LOCUS_MODE {
namespace lowering {
/// means: see(seen_plan) of the plan of X under a policy, with its extents and devices of this
///        moment
template <class Policy, class X, class See>
auto look_at(X const& x, See const& see) {
  auto const e = as_operand<void>(x);
  using Graph = graph<Policy, root_of<std::remove_cvref_t<decltype(e)>, nowhere>>;
  return graph_code<Graph>::look(nullptr, see, e);
}
template <class Policy, class OfPlan, class... Assignments, class See>
auto look_at(Plan<OfPlan, Assignments...> const& step, See const& see) {
  return step.look(see);
}
/// the constant plan of an expression or of a plan object
template <class Policy, class X>
constexpr auto const& facts_of(X const&) {
  return plan_of<X const&, nowhere, Policy>;
}
template <class Policy, class OfPlan, class... Assignments>
constexpr auto const& facts_of(Plan<OfPlan, Assignments...> const& step) {
  return step;
}
template <class X>
inline constexpr bool is_plan = false;
template <class Policy, class... Assignments>
inline constexpr bool is_plan<Plan<Policy, Assignments...>> = true;
}  // namespace lowering

template <class X>
concept explainable = tensor_operand<X> || lowering::is_plan<std::remove_cvref_t<X>>;

/// means: writes plan_of<E>.explain(), or step.explain(); then the devices that replace open
///        devices now; then the number of copies of a run, if one tensor occurs more than once and
///        a run shares its copy
template <placement_policy Policy = default_policy, class Stream, explainable X>
void explain(Stream& out, X const& x) {
  auto const& facts = lowering::facts_of<Policy>(x);
  internal::write_to(out, facts.explain().view());
  lowering::look_at<Policy>(x, [&](internal::seen_plan const& now) {
    detail::write_open(out, facts.view(), now.open);
    detail::write_reused(out, now.counts);
  });
}

/// means: explain(out, plan(assignment))
template <placement_policy Policy = default_policy, class Stream, class E, class To>
void explain(Stream& out, Assignment<E, To> assignment) {
  explain<Policy>(out, plan<Policy>(std::move(assignment)));
}

/// means: writes where each step of that name runs and by which rule; then the physical devices of
///        those GPUs on this machine
template <placement_policy Policy = default_policy, class Stream, explainable X>
void why(Stream& out, X const& x, std::string_view name, call_site where = call_site::here()) {
  runtime::devices("why", where);
  internal::write_to(out, lowering::facts_of<Policy>(x).why(name).view());
  lowering::look_at<Policy>(
      x, [&](internal::seen_plan const& now) { detail::write_standing(out, now.plan, name); });
}

/// means: the counts of the plan with the extents and the devices that its tensors have now
/// units: bytes in bytes_moved and bytes_reduced
template <placement_policy Policy = default_policy, explainable X>
tally tally_of(X const& x) {
  return lowering::look_at<Policy>(x, [](internal::seen_plan const& now) { return now.counts; });
}
/// units: bytes that cross devices by copies
template <placement_policy Policy = default_policy, explainable X>
std::int64_t bytes_moved(X const& x) {
  return tally_of<Policy>(x).bytes_moved;
}
}  // namespace LOCUS_MODE

}  // namespace locus
