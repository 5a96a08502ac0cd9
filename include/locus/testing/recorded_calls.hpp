// SPDX-License-Identifier: Apache-2.0
// The hardware that a recorder pretends to have, and its counts of calls, of which some fail.
#pragma once
#include <cstdint>  // int64_t
#include <map>      // map
#include <string>   // string

#include <locus/backend/cuda/device_lost.hpp>  // card_losses

namespace locus::testing {

/// The behaviour of copies between recorded cards.
enum class peer_copies : unsigned char {
  work,
  refused,  // the driver says that no card reaches another
  fail,     // it says that they do, and an attempt to enable them fails
  damage,   // a copy changes bytes
  freeze,   // copies never arrive
};

/// The hardware and the faults that the recorder pretends to have.
struct recorder_options {
  int cards = 1;
  int driver = 13000, toolkit = 13000;  // versions
  bool kernels_run = true;
  std::int64_t bytes = std::int64_t(1) << 30;  // memory of each card
  int fail_at = -1;                            // the number of the call that fails, from 0
  int fail_with = 719;                         // CUDA's "unspecified launch failure"
  peer_copies peers = peer_copies::work;
  bool one_gpu = false;            // the cards are slices of one GPU
  std::int64_t shared_memory = 0;  // bytes of /dev/shm
  bool checks_order = true;        // refuses work that races with other work
  bool adds_rows = true;           // cuBLASLt has kernels for products with a row
};

/// The counts of calls of a recorder, and the calls that fail.
class recorded_calls {
 public:
  /// the number of calls of a function, and of all functions
  std::int64_t calls(std::string const& name) const {
    auto const found = calls_.find(name);
    return found == calls_.end() ? 0 : found->second;
  }
  std::int64_t all_calls() const { return all_calls_; }
  /// the call with that number, counted from now, fails; negative: none
  void fail_at(int n, int code = 719) {
    options_.fail_at = n < 0 ? -1 : static_cast<int>(all_calls_) + n;
    options_.fail_with = code;
  }
  /// the call with that number, counted from now, and all later calls fail: as with a lost device
  /// (719), or with CUDA unloaded at the end of the program (4)
  void fail_from(int n, int code = 719) { fail_from_ = all_calls_ + n, options_.fail_with = code; }
  /// the next call of that function fails
  void fail_next(std::string const& name, int code) {
    fail_name_ = name, options_.fail_with = code;
  }
  /// means: from the n-th call on, counted from now, all calls for that card fail
  void lose_card(int which, int n = 0, int code = 719) {
    lost_card_ = which, lost_at_ = all_calls_ + n, options_.fail_with = code;
  }
  bool failed() const { return !failed_call_.empty(); }
  /// the name of the function that failed
  std::string const& failed_call() const { return failed_call_; }

 protected:
  explicit recorded_calls(recorder_options const& options) : options_(options) {}
  recorded_calls(recorded_calls&&) = default;

  /// counts a call; true: the call fails
  bool count(char const* name) {
    ++calls_[name];
    if (fail_name_ == name) return fail_name_.clear(), ++all_calls_, failed_call_ = name, true;
    std::int64_t const number = all_calls_++;
    if (number != options_.fail_at && number < fail_from_) return false;
    if (failed_call_.empty()) failed_call_ = name;
    return true;
  }
  /// means: the card runs nothing any more: lose_card() said so, or the library noted the loss in
  ///        card_losses
  bool is_lost(int which) const {
    if (which < 0) return false;
    return (which == lost_card_ && all_calls_ > lost_at_) || runtime::card_losses[which].code != 0;
  }

  recorder_options options_;
  std::map<std::string, std::int64_t> calls_;

 private:
  std::int64_t all_calls_ = 0, fail_from_ = INT64_MAX, lost_at_ = 0;
  std::string failed_call_, fail_name_;
  int lost_card_ = -1;
};

}  // namespace locus::testing
