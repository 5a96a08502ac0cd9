// SPDX-License-Identifier: Apache-2.0
// The table of CUDA's functions that a recorder installs: each function counts its call and may
// fail.
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_HAS_BODIES
#include <locus/testing/recorded_cards.hpp>  // recorded_cards

namespace locus::testing {

/// The recorder's table of CUDA's functions.
struct recorded_api {
  static runtime::cuda_api const& table();

 private:
  static bool makes_context(std::string_view function);
  /// means: counts a call of the current recorder r, and returns an error code or f(r); card(r):
  ///        the card of the call, or -1
  template <class Card, class F>
  static int call(char const* function, Card&& card, F&& f) {
    lock_guard hold(recorded_cards::one_at_a_time_);
    recorded_cards& r = recorded_cards::now();
    if (makes_context(function)) r.contexts_.insert(recorded_cards::device_);
    int const code = r.count(function) || is_lost(r, card(r)) ? r.options_.fail_with : f(r);
    if (code != 0) r.leave_error(code);
    return code;
  }
  /// means: the card is lost; no work of it is under way then
  static bool is_lost(recorded_cards& r, int card);
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/recorded_api.hpp>  // bodies of the functions above
#endif
