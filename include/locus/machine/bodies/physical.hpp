// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that machine/physical.hpp declares.
#pragma once
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/physical.hpp>          // the declarations
#include <locus/machine/visible_variable.hpp>  // require_visible_variable
#include <locus/runtime/variables.hpp>         // number_from_environment

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION std::int64_t times(std::int64_t a, int b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, std::int64_t(b), &product) ? INT64_MAX : product;
}

LOCUS_FUNCTION void find_simulated(physical_devices& p, int count,
                                   simulated_options const& options) {
  if (count < 1 || count > max_simulated)
    throw configuration_error(
        "locus: simulated GPUs are 1 to 16; write testing::simulated_gpus{4}");
  p.how = backing::simulated, p.why_none = absence::none, p.simulated = options;
  p.logical = count;
  p.count = options.cards > 0 && options.cards < count ? options.cards : count;
  for (int c = 0; c < p.count; ++c) {
    cuda_device_facts& f = p.cards[c];
    text_buffer<sizeof f.name> name;
    name << "simulated GPU";
    __builtin_memcpy(f.name, name.c_str(), name.view().size() + 1);
    f.total_bytes =
        static_cast<std::size_t>(times(options.memory_limit, (count - c + p.count - 1) / p.count));
    p.answers[c] = true;
  }
}

LOCUS_FUNCTION void find_cuda(physical_devices& p) {
  require_visible_variable();
  p.why_none = absence::no_driver;
  if (gpu_api->driver_version(&p.driver) != cuda_success || p.driver == 0) return;
  if (gpu_api->runtime_version(&p.toolkit) == cuda_success && p.driver / 1000 < p.toolkit / 1000) {
    p.why_none = absence::old_driver;
    return;
  }
  int count = 0;
  int const code = gpu_api->device_count(&count);
  if (code != cuda_success) gpu_api->last_error();  // clears the error of this call
  p.why_none = code == cuda_old_driver        ? absence::old_driver
               : code == cuda_not_ready       ? absence::driver_waits
               : code == cuda_driver_mismatch ? absence::driver_mismatch
                                              : absence::no_gpu_visible;
  if (code == cuda_success || code == cuda_no_device)
    tell_hidden(read_visible_variable(), code == cuda_success ? count : 0);
  if (code != cuda_success || count <= 0) return;
  p.how = backing::cuda, p.why_none = absence::none;
  p.count = count < max_cards ? count : max_cards;
  for (int c = 0; c < p.count; ++c) {
    p.answers[c] = gpu_api->device_facts(c, &p.cards[c]) == cuda_success;
    if (!p.answers[c]) gpu_api->last_error();
  }
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION physical_devices& find_physical() {
  physical_devices& p = physical;
  if (p.known) return p;
  p = physical_devices{};
  int const wanted = cards_from.kind == card_source::found
                         ? number_from_environment("LOCUS_SIMULATED_GPUS", 0, max_simulated, 0)
                         : cards_from.count;
  if (wanted != 0 || cards_from.kind == card_source::simulated)
    detail::find_simulated(p, wanted, cards_from.options);
  else if (gpu_api)
    detail::find_cuda(p);
  p.known = true;
  return p;
}

LOCUS_FUNCTION request_list lay_out(physical_devices const& p, configuration const& c) {
  request_list out;
  auto whole = [&](int card) {
    logical_request r;
    r.card = static_cast<short>(card);
    if (c.visible.has(card)) out.push(r);
  };
  if (c.divided.empty()) {
    for (int i = 0; i < (p.logical > 0 ? p.logical : p.count); ++i) whole(i % p.count);
    return out;
  }
  for (int card = 0; card < p.count; ++card) {
    if (!c.is_divided(card)) whole(card);
    for (logical_request const& r : c.divided)
      if (r.card == card && c.visible.has(card)) out.push(r);
  }
  auto key = [](logical_request const& r) {
    return r.ordinal == logical_request::unset ? 0 : r.ordinal;
  };
  for (int i = 1; i < out.size(); ++i)  // requests of equal ordinal stay in the order of cards
    for (int k = i; k > 0 && key(out[k]) < key(out[k - 1]); --k) {
      logical_request const r = out[k];
      out[k] = out[k - 1], out[k - 1] = r;
    }
  return out;
}

}  // namespace locus::runtime

LOCUS_COLD_END
