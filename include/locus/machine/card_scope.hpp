// SPDX-License-Identifier: Apache-2.0
// Which card is CUDA's current device while locus calls, and which one behind it.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/machine/physical.hpp>  // physical, gpu_api

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
/// cards that were seen to have a context: it stays
LOCUS_SHARED_STATE inline constinit bool contexts_seen[max_logical]{};
inline void forget_contexts() {
  for (bool& seen : contexts_seen) __atomic_store_n(&seen, false, __ATOMIC_RELAXED);
}
/// a driver that cannot be asked has one everywhere
inline bool has_context(int card) {
  if (card < 0 || card >= max_logical) return true;
  if (__atomic_load_n(&contexts_seen[card], __ATOMIC_RELAXED)) return true;
  bool has = true;
  if (gpu_api->has_context(card, &has) != cuda_success) has = true;
  if (has) __atomic_store_n(&contexts_seen[card], true, __ATOMIC_RELAXED);
  return has;
}
}  // namespace detail

/// means: a card is CUDA's current device inside the scope, and the thread's own again behind it if that
///        has a context. Where it has none this card stays the thread's: since CUDA 12 a card gets a
///        context by becoming current again, 0.5 GB on a card that nobody uses.
/// cost:  nothing where CUDA shows one card; asking for the current one where it shows several
/// fails: not; code() is what CUDA said
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
    if (before_ >= 0 && detail::has_context(before_)) gpu_api->set_device(before_);
  }
  int code() const { return code_; }

 private:
  int before_ = -1, code_ = 0;
};

}  // namespace locus::runtime

LOCUS_COLD_END
