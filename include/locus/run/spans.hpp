// SPDX-License-Identifier: Apache-2.0
// What a trace, and NVTX, call the work of a plan.
#pragma once
#include <locus/core/call_site.hpp>       // call_site
#include <locus/core/json.hpp>            // json_text
#include <locus/core/macros.hpp>          // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>  // logical_device
#include <locus/machine/work_scope.hpp>   // work_scope
#include <locus/plan/numerics.hpp>        // policy_value

LOCUS_LEAN_BEGIN

namespace locus::detail {

using runtime::work_scope;

/// means: a thing of the text, as a string of the details
template <class Thing>
void add_text(json_text& details, std::string_view name, Thing const& thing) {
  text_buffer<128> text;
  details.member(name, (text << thing).view());
}
LOCUS_FUNCTION void add_use(json_text& details, device asked);

/// means: one launch of a plan: named after its operations; kernel: on a GPU, the names of its kernels
[[gnu::cold]] LOCUS_FUNCTION void begin_launch(work_scope& scope, unsigned watchers,
                                               plan_view const& p, shape const* extents,
                                               short region, device asked, logical_device& d,
                                               std::int64_t bytes, std::string_view kernel);

/// means: values of replicas meet: on that queue of the device that folds them, or by way of the host
[[gnu::cold]] LOCUS_FUNCTION void begin_collective(work_scope& scope, unsigned watchers,
                                                   std::string_view how, place const& over,
                                                   std::string_view algorithm, std::int64_t bytes,
                                                   logical_device& at, queue_kind queue);

/// means: the run of a plan, on the thread that issues it
[[gnu::cold]] LOCUS_FUNCTION void begin_run(work_scope& scope, unsigned watchers, call_site site,
                                            plan_view const& p, policy_value const& policy);

}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/spans.hpp>  // bodies of the functions above
#endif
