// SPDX-License-Identifier: Apache-2.0
// What a trace, and NVTX, call the work of a plan.
#pragma once
#include <locus/backend/device_use.hpp>  // use_of
#include <locus/backend/devices.hpp>     // find_device
#include <locus/backend/work_scope.hpp>  // work_scope
#include <locus/core/config.hpp>         // LOCUS_LEAN_BEGIN
#include <locus/core/json.hpp>           // json_text
#include <locus/plan/explain.hpp>        // write_type
#include <locus/plan/numerics.hpp>       // policy_value
#include <locus/runtime/site_text.hpp>   // write_site

LOCUS_LEAN_BEGIN

namespace locus::detail {

using runtime::work_scope;

/// means: a thing of the text, as a string of the details
template <class Thing>
void add_text(json_text& details, std::string_view name, Thing const& thing) {
  text_buffer<128> text;
  details.member(name, (text << thing).view());
}
inline void add_use(json_text& details, device asked) {
  device_use const use = use_of(asked);
  add_text(details, "device", use.used);
  if (use.differs()) add_text(details, "asked", use.asked);
  if (!use.why.empty()) details.member("why", use.why);
}

/// means: one launch of a plan: named after its operations; kernel: on a GPU, the names of its kernels
[[gnu::cold]] inline void begin_launch(work_scope& scope, unsigned watchers, plan_view const& p,
                                       shape const* extents, short region, device asked,
                                       logical_device& d, std::int64_t bytes,
                                       std::string_view kernel) {
  text_buffer<160> name;
  message operations;
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (s.region != region) continue;
    if (!s.tensorflow.empty()) name << (name.view().empty() ? "" : "+") << s.tensorflow;
    operations << (operations.view().empty() ? "" : ", ") << s.name;
  }
  if (name.view().empty()) name << p.steps[region].name;
  json_text details;
  details.member("step", region).member("operations", operations.view());
  text_buffer<128> type;
  write_type(type, p.steps[region], extents[region]);
  details.member("shape", type.view()).member("bytes", bytes);
  if (!kernel.empty()) details.member("kernel", kernel);
  add_use(details, asked);
  scope.begin(watchers, d, queue_kind::compute, {name.view(), details.view()});
}

/// means: values of replicas meet: on that queue of the device that folds them, or by way of the host
[[gnu::cold]] inline void begin_collective(work_scope& scope, unsigned watchers,
                                           std::string_view how, place const& over,
                                           std::string_view algorithm, std::int64_t bytes,
                                           logical_device& at, queue_kind queue) {
  json_text details;
  add_text(details, "over", over);
  details.member("bytes", bytes).member("algorithm", algorithm);
  runtime::work_label label{how, details.view()};
  label.replicas = over.devices, label.behind_compute = true;
  scope.begin(watchers, at, queue, label);
}

/// means: the run of a plan, on the thread that issues it
[[gnu::cold]] inline void begin_run(work_scope& scope, unsigned watchers, call_site site,
                                    plan_view const& p, policy_value const& policy) {
  text_buffer<256> name;
  name << "plan";
  if (!(site == call_site{})) runtime::write_site(name << " at ", site);
  json_text details;
  details.member("steps", p.steps.count).member("transfers", p.transfers.count);
  details.member("policy", name_of(policy));
  scope.begin(watchers, runtime::find_device(cpu(0)), queue_kind::compute,
              {name.view(), details.view()});
}

}  // namespace locus::detail

LOCUS_LEAN_END
