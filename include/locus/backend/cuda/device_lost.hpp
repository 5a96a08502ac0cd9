// SPDX-License-Identifier: Apache-2.0
// From CUDA's error codes to exceptions. device_lost: the card does not answer any more; the text
// names the steps since the last good one, and every later use of the card throws this exception at
// once. device_error: the program can use the card again.
#pragma once
#include <locus/core/error.hpp>        // message
#include <locus/core/macros.hpp>       // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>       // message << device
#include <locus/machine/physical.hpp>  // cuda_success

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// true: CUDA returns this code until the process ends, since its context on the card is gone
constexpr bool is_sticky(int code) {
  constexpr int codes[] = {
      214, 220, 226,                 // uncorrectable errors of memory and of NVLink
      700, 702, 710,                 // illegal address, launch timeout, assertion in a kernel
      714, 715, 716, 717, 718, 719,  // faults of a kernel
      721, 806, 810, 911, 999,       // tensor memory leak, MPS ended, other device, unknown
  };
  for (int const c : codes)
    if (c == code) return true;
  return false;
}

/// means: advice for a code after which the card can be used again; empty: there is none
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

/// The error that lost a card, and the step that was running then; code 0: the card is not lost.
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
LOCUS_FUNCTION message& write_step(message& out, short number, std::string_view name);
/// means: writes the steps on the queues of a card that may not have finished; the caller holds
///        notes_lock
LOCUS_FUNCTION void write_open_steps(message& out, int card);
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_lost(logical_device const& d);
[[noreturn, gnu::cold]] LOCUS_FUNCTION void throw_cuda(int code, std::string_view what, device on);
}  // namespace detail

/// fails: device_error with CUDA's text, the running step and advice; device_lost, if the card is
///        lost, with the unfinished steps
inline void check_cuda(int code, std::string_view what, device on) {
  if (code != cuda_success) detail::throw_cuda(code, what, on);
}
/// fails: device_lost, for a card that was lost earlier
inline void require_card(logical_device const& d) {
  if (is_lost(d)) detail::refuse_lost(d);
}

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/device_lost.hpp>  // bodies of the functions above
#endif
