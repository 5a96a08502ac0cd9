// SPDX-License-Identifier: Apache-2.0
// why(stream, e, "matmul"): one sentence for each rule of placement and each cause of fallback.
#pragma once
#include <locus/plan/show/explain.hpp>  // write_operand

namespace locus {

/// means: the rule that placed a step, as the end of a sentence
constexpr std::string_view sentence(reason why) {
  switch (why) {
  case reason::undecided: return "it needs no place of its own";
  case reason::leaf: return "it lies there";
  case reason::requested: return "on<> around it asks for it";
  case reason::home:
    return "all its leaves live where the destination is, and what is at home stays at home";
  case reason::home_region:
    return "it belongs to the element-wise region that ends in the destination there";
  case reason::most_operands: return "no other GPU holds more of its operands (prefer_gpu)";
  case reason::first_gpu:
    return "it has a GPU kernel and none of its operands lies on a GPU (prefer_gpu)";
  case reason::no_gpu_kernel: return "it has no GPU kernel for its element types";
  case reason::no_cpu_kernel: return "it has no CPU kernel for its element types";
  case reason::followed_data:
    return "its first operand with a place of its own lies there (follow_data)";
  case reason::cheapest: return "the fewest bytes cross devices that way (min_copies)";
  case reason::with_readers: return "it is made from numbers alone and goes where it is read";
  case reason::with_replicas: return "its operands are distributed over these devices";
  case reason::view: return "it only looks at memory that lies there";
  case reason::one_kernel: return "one kernel makes all results of its call";
  }
  return "";
}

namespace detail {
template <class Text>
constexpr bool write_why(Text& out, plan_view const& p, std::string_view name) {
  bool any = false;
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (s.name != name) continue;
    any = true;
    out << s.name << " (#" << int(i) << ") runs on " << s.where << ": " << sentence(s.why);
    if (s.fell_back && !s.request.is_none()) out << "; " << s.request << " was asked for";
    out << "\n";
  }
  if (!any) out << "no step of this plan is called '" << name << "'\n";
  return any;
}
}  // namespace detail

}  // namespace locus
