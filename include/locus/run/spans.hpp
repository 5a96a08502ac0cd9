// SPDX-License-Identifier: Apache-2.0
// The names and details of a plan's work in a trace and in NVTX.
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

/// means: adds the text of `thing` to the details, as a string
template <class Thing>
void add_text(json_text& details, std::string_view name, Thing const& thing) {
  text_buffer<128> text;
  details.member(name, (text << thing).view());
}
LOCUS_FUNCTION void add_use(json_text& details, device asked);

/// means: begins the span of one launch, which has the names of its operations; kernel: on a GPU,
///        the names of its kernels
[[gnu::cold]] LOCUS_FUNCTION void begin_launch(work_scope& scope, unsigned watchers,
                                               plan_view const& p, shape const* extents,
                                               short region, device asked, logical_device& d,
                                               std::int64_t bytes, std::string_view kernel);

/// means: begins the span of a collective on a queue of `at`: the device that folds, or the host
[[gnu::cold]] LOCUS_FUNCTION void begin_collective(work_scope& scope, unsigned watchers,
                                                   std::string_view how, place const& over,
                                                   std::string_view algorithm, std::int64_t bytes,
                                                   logical_device& at, queue_kind queue);

/// means: begins the span of a plan's run, which is work of the host
[[gnu::cold]] LOCUS_FUNCTION void begin_run(work_scope& scope, unsigned watchers, call_site site,
                                            plan_view const& p, policy_value const& policy);

}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/spans.hpp>  // bodies of the functions above
#endif
