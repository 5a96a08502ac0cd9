// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that testing/recorded_calls.hpp declares.
#pragma once
#include <locus/backend/cuda/device_lost.hpp>  // card_losses
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION
#include <locus/testing/recorded_calls.hpp>    // the declarations

namespace locus::testing {

LOCUS_FUNCTION std::int64_t recorded_calls::calls(std::string const& name) const {
  auto const found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

LOCUS_FUNCTION void recorded_calls::fail_at(int n, int code) {
  options_.fail_at = n < 0 ? -1 : static_cast<int>(all_calls_) + n;
  options_.fail_with = code;
}

LOCUS_FUNCTION bool recorded_calls::count(char const* name) {
  ++calls_[name];
  if (fail_name_ == name) return fail_name_.clear(), ++all_calls_, failed_call_ = name, true;
  std::int64_t const number = all_calls_++;
  if (number != options_.fail_at && number < fail_from_) return false;
  if (failed_call_.empty()) failed_call_ = name;
  return true;
}

LOCUS_FUNCTION bool recorded_calls::is_lost(int which) const {
  if (which < 0) return false;
  return (which == lost_card_ && all_calls_ > lost_at_) || runtime::card_losses[which].code != 0;
}

}  // namespace locus::testing
