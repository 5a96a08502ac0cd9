// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/spans.hpp declares.
#pragma once
#include <locus/backend/device_use.hpp>  // use_of
#include <locus/backend/devices.hpp>     // find_device
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/machine/work_scope.hpp>  // work_label
#include <locus/plan/show/explain.hpp>   // write_type
#include <locus/run/spans.hpp>           // the declarations
#include <locus/watch/site_text.hpp>     // write_site

LOCUS_LEAN_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void add_use(json_text& details, device asked) {
  device_use const use = use_of(asked);
  add_text(details, "device", use.used);
  if (use.differs()) add_text(details, "asked", use.asked);
  if (!use.why.empty()) details.member("why", use.why);
}

LOCUS_FUNCTION void begin_launch(work_scope& scope, unsigned watchers, plan_view const& p,
                                 shape const* extents, short region, device asked,
                                 logical_device& d, std::int64_t bytes, std::string_view kernel) {
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

LOCUS_FUNCTION void begin_collective(work_scope& scope, unsigned watchers, std::string_view how,
                                     place const& over, std::string_view algorithm,
                                     std::int64_t bytes, logical_device& at, queue_kind queue) {
  json_text details;
  add_text(details, "over", over);
  details.member("bytes", bytes).member("algorithm", algorithm);
  runtime::work_label label{how, details.view()};
  label.replicas = over.devices, label.behind_compute = true;
  scope.begin(watchers, at, queue, label);
}

LOCUS_FUNCTION void begin_run(work_scope& scope, unsigned watchers, call_site site,
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
