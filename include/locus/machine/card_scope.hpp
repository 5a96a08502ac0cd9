// SPDX-License-Identifier: Apache-2.0
// Makes a card CUDA's current device while locus calls CUDA, and restores the thread's device.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/machine/physical.hpp>  // physical, gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
/// contexts_seen[c]: a query found a context on card c; later queries take this answer until
/// forget_contexts()
LOCUS_SHARED_STATE inline constinit bool contexts_seen[max_logical]{};
}  // namespace detail

/// means: cards are asked again for their contexts
inline void forget_contexts() {
  for (bool& seen : detail::contexts_seen) __atomic_store_n(&seen, false, __ATOMIC_RELAXED);
}
/// means: the card has a context; also true if the driver cannot tell
inline bool has_context(int card) {
  if (card < 0 || card >= max_logical) return true;
  if (__atomic_load_n(&detail::contexts_seen[card], __ATOMIC_RELAXED)) return true;
  bool has = true;
  if (gpu_api->has_context(card, &has) != cuda_success) has = true;
  if (has) __atomic_store_n(&detail::contexts_seen[card], true, __ATOMIC_RELAXED);
  return has;
}

/// means: inside the scope CUDA's current device is `card`. At its end the thread's former device
///        is current again if that card has a context; otherwise `card` stays current: since CUDA
///        12, making a card current creates a context on it, which takes 0.5 GB.
/// cost:  nothing if CUDA shows one card; otherwise a query of the current device
/// fails: never; code() is the result code of CUDA
class card_scope {
 public:
  explicit card_scope(int card) noexcept {
    if (physical.count == 1 || card < 0) return;
    int now = -1;
    code_ = gpu_api->get_device(&now);
    if (code_ != cuda_success || now == card) return;
    code_ = gpu_api->set_device(card);
    if (code_ == cuda_success) before_ = now;
  }
  card_scope(card_scope const&) = delete;
  ~card_scope() {
    if (before_ >= 0 && has_context(before_)) gpu_api->set_device(before_);
  }
  int code() const { return code_; }

 private:
  int before_ = -1, code_ = 0;
};

}  // namespace locus::runtime

LOCUS_COLD_END
