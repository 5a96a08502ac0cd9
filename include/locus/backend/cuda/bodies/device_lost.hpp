// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/device_lost.hpp declares.
#pragma once
#include <locus/backend/cuda/device_lost.hpp>  // the declarations
#include <locus/backend/cuda/queue.hpp>        // cuda_queue
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/cuda_api.hpp>          // gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION message& write_step(message& out, short number, std::string_view name) {
  if (number >= 0) out << "step " << int(number) << " ";
  return out << (number >= 0 ? "(" : "") << name << (number >= 0 ? ")" : "");
}

LOCUS_FUNCTION void write_open_steps(message& out, int card) {
  bool any = false;
  for (logical_device& d : table.gpu_devices) {
    if (!d.is_card() || d.card != card) continue;
    for (void const* queue : d.queues) {
      if (!queue) continue;  // the card is being opened
      auto const& q = *static_cast<cuda_queue const*>(queue);
      std::uint64_t n = q.good;
      if (q.given - n > cuda_queue::remembered) n = q.given - cuda_queue::remembered;
      for (; n < q.given; ++n) {
        step_record const& s = q.steps[n % cuda_queue::remembered];
        out << (any ? ", " : "; since the last good one: ");
        write_step(out, s.number, s.name) << " on " << d.name;
        any = true;
      }
    }
  }
}

LOCUS_FUNCTION void refuse_lost(logical_device const& d) {
  card_loss const& l = card_losses[d.card];
  message text;
  text << "locus: " << d.name << " was lost";
  if (!l.name.empty()) write_step(text << " in ", l.step, l.name);
  throw device_lost(text << ": " << std::string_view(gpu_api->describe(l.code)) << " (code "
                         << l.code << "); other devices go on, this one needs a new process");
}

LOCUS_FUNCTION void throw_cuda(int code, std::string_view what, device on) {
  short const card = table.slot(on).card;
  message text;
  text << "locus: CUDA failed on " << on << " in " << what << ": "
       << std::string_view(gpu_api->describe(code)) << " (code " << code << ")";
  if (running && running->number >= 0)
    text << ", step " << int(running->number) << " (" << running->name << ")";
  gpu_api->last_error();
  if (!is_sticky(code) || card < 0) {
    if (std::string_view const remedy = remedy_of(code); !remedy.empty()) text << "; " << remedy;
    throw device_error(text << "; the values of this plan are lost, the device goes on");
  }
  lock_guard hold(notes_lock);
  write_open_steps(text, card);
  card_loss& l = card_losses[card];
  if (l.code == 0) {
    if (running) l.step = running->number, l.name = running->name;
    __atomic_store_n(&l.code, code, __ATOMIC_RELEASE);
  }
  throw device_lost(text << "; other devices go on, this one needs a new process");
}

}  // namespace locus::runtime::detail

LOCUS_COLD_END
