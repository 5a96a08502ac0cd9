// SPDX-License-Identifier: Apache-2.0
// The kept copies that one run uses or makes.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_COLD_BEGIN
#include <locus/memory/kept_copies.hpp>  // kept_copy, kept_copies

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: the arrivals of a run that lie in kept copies
class kept_uses {
 public:
  kept_uses() = default;
  kept_uses(kept_uses const&) = delete;
  ~kept_uses() { leave(false); }

  /// means: the kept copy of that key, or memory for a new one; null: neither. checked: compares
  ///        the copy's source with its state at the copy
  runtime::kept_copy* take(int value, int replica, runtime::copy_key const& key, bool checked) {
    runtime::kept_copy* c = runtime::kept_copies().find(key, checked);
    bool const there = c != nullptr;
    if (!c) c = runtime::kept_copies().make(key, checked);
    if (c) uses_.push({value, replica, c, there});
    leave_ = [](runtime::kept_copy* one, bool arrived) noexcept {
      runtime::kept_copies().leave(one, arrived);
    };
    return c;
  }
  /// true: the value lies in a kept copy of an earlier plan, so nothing is copied
  bool is_there(int value, int replica) const {
    for (use const& u : uses_)
      if (u.value == value && u.replica == replica) return u.there;
    return false;
  }
  /// means: the run no longer uses these copies; arrived: later plans may find the copies that it
  ///        made
  void leave(bool arrived) noexcept {
    for (use const& u : uses_) leave_(u.copy, arrived);
    uses_.clear();
  }

 private:
  struct use {
    int value = -1, replica = 0;
    runtime::kept_copy* copy = nullptr;
    bool there = false;
  };
  dynamic_array<use> uses_;
  void (*leave_)(runtime::kept_copy*, bool) noexcept = nullptr;  // set with the first use
};

}  // namespace locus::detail

LOCUS_COLD_END
