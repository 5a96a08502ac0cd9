// SPDX-License-Identifier: Apache-2.0
// What CUDA's error codes become. After some a card answers nothing any more: device_lost, with the steps since
// the last good one, and every later use of it says so at once. After the others it goes on: device_error.
#pragma once
#include <locus/backend/cuda/queue.hpp>  // cuda_queue
#include <locus/core/config.hpp>         // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>          // device_lost
#include <locus/device/name.hpp>         // message << device
#include <locus/runtime/cuda_api.hpp>    // gpu_api
#include <locus/runtime/physical.hpp>    // cuda_success

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// CUDA keeps these for the rest of the process: its context on that card is gone.
constexpr bool is_sticky(int code) {
  constexpr int codes[] = {
      214, 220, 226,                 // errors of memory and of NVLink that nobody can correct
      700, 702, 710,                 // illegal address, launch timeout, assertion in a kernel
      714, 715, 716, 717, 718, 719,  // what a kernel can do wrong
      721, 806, 810, 911, 999,       // leaked tensor memory, MPS is gone, another device, unknown
  };
  for (int const c : codes)
    if (c == code) return true;
  return false;
}

/// means: what to do about a code after which the card goes on; empty: nobody knows
constexpr std::string_view remedy_of(int code) {
  switch (code) {
  case 1:
  case 9:
  case 400: return "this may be an error in locus";
  case 2: return "free tensors, or end other programs on the card";
  case 46:
    return "another process has the card for itself; end it, or ask for the default mode "
           "(nvidia-smi -c DEFAULT)";
  case 98:
  case 209:
  case 222: return "compile for the card's architecture (-arch)";
  case 701: return "the kernel asks for more registers or shared memory than the card has";
  case 802: return "the driver waits for a service; start nvidia-fabricmanager (cards on NVSwitch)";
  case 803: return "the loaded driver and its library differ; restart the machine";
  case 804: return "this card has no forward compatibility; update the driver";
  case 805:
  case 807: return "look whether the MPS server runs (nvidia-cuda-mps-control)";
  case 808:
  case 809: return "MPS serves no more processes; end some";
  default:
    if (code >= 900 && code <= 908)
      return "a stream that is being captured came into it; end the capture before a plan runs";
    return "";
  }
}

/// Which error took a card away, and in which step it was seen; 0: none.
struct card_loss {
  int code = 0;
  short step = -1;
  std::string_view name;
};
LOCUS_SHARED_STATE inline constinit card_loss card_losses[max_logical];

inline void forget_losses() {
  for (card_loss& l : card_losses) l = {};
}
inline bool is_lost(logical_device const& d) {
  return __atomic_load_n(&card_losses[d.card].code, __ATOMIC_ACQUIRE) != 0;
}

namespace detail {
inline message& write_step(message& out, short number, std::string_view name) {
  if (number >= 0) out << "step " << int(number) << " ";
  return out << (number >= 0 ? "(" : "") << name << (number >= 0 ? ")" : "");
}
/// what the queues of a card were given and nobody has seen the end of; notes_lock is held
inline void write_open_steps(message& out, int card) {
  bool any = false;
  for (logical_device& d : table.gpu_devices) {
    if (d.how != backing::cuda || d.card != card) continue;
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
[[noreturn, gnu::cold]] inline void refuse_lost(logical_device const& d) {
  card_loss const& l = card_losses[d.card];
  message text;
  text << "locus: " << d.name << " was lost";
  if (!l.name.empty()) write_step(text << " in ", l.step, l.name);
  throw device_lost(text << ": " << std::string_view(gpu_api->describe(l.code)) << " (code "
                         << l.code << "); other devices go on, this one needs a new process");
}
[[noreturn, gnu::cold]] inline void throw_cuda(int code, std::string_view what, device on) {
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
}  // namespace detail

/// fails: device_error, with CUDA's words, the step that ran and a remedy; device_lost, where the card is
///        gone, with the steps that were under way
inline void check_cuda(int code, std::string_view what, device on) {
  if (code != cuda_success) detail::throw_cuda(code, what, on);
}
/// fails: device_lost, for a card that was lost before
inline void require_card(logical_device const& d) {
  if (is_lost(d)) detail::refuse_lost(d);
}

}  // namespace locus::runtime

LOCUS_COLD_END
