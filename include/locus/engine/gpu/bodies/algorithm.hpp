// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/gpu/algorithm.hpp declares.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/algorithm.hpp>  // the declarations
#include <locus/engine/gpu/launch.hpp>     // workspace

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION void refuse_algorithm(launch_site const& site, algorithm_type const& type) {
  message text;
  text << "locus: step " << int(site.record.number) << " (" << site.record.name << ") on "
       << site.on->name << ": ";
  throw no_kernel_in_unit(write_remedy(text, type.lookup));
}

LOCUS_FUNCTION void issue_algorithm(launch_site const& site, algorithm_type& type,
                                    runtime::cuda_algorithm what, algorithm_size const* size) {
  runtime::require_card(*site.on);
  runtime::current_card const scope(*site.on);
  runtime::cuda_queue& queue = runtime::cuda_queue_of(*site.on, queue_kind::compute);
  auto const* const found = what.on_card ? nullptr : find_kernel(type.lookup);
  if (found) what.on_card = found->algorithm;
  if (!is_made(type, what)) refuse_algorithm(site, type);
  what.name = type.name, what.stream = queue.stream;
  std::size_t bytes = 0;
  if (size)
    bytes = type.sizes.of(site.on->card, *size, [&] {
      std::size_t n = 0;
      what.bytes = &n;
      runtime::check_cuda(runtime::gpu_api->algorithm(what), type.name, site.on->name);
      return n ? n : 1;  // with bytes and without workspace, a call only asks
    });
  workspace const memory(site, static_cast<std::int64_t>(bytes));
  if (site.only_measures(type.name)) return;
  what.workspace = memory.data(), what.bytes = size ? &bytes : nullptr;
  queue.note(site);
  runtime::check_cuda(runtime::gpu_api->algorithm(what), type.name, site.on->name);
}

}  // namespace locus::cuda_side

LOCUS_COLD_END
