// SPDX-License-Identifier: Apache-2.0
// What was counted so far, by label and kernel, and who wants to know.
#pragma once
#include <cstdio>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../machine/machine.hpp"
#include "facts.hpp"
#include "figures.hpp"
#include "short_name.hpp"

namespace ptx::counts {

class log {
 public:
  static log& instance();
  bool is_on() const { return on_; }
  void turn(bool on) { on_ = on; }
  /// of what runs from now on
  void set_label(std::string text);
  void forget();
  void add(grid const& g, figures const& f);
  /// a copy or a fill by the host
  void add_copy(std::uint64_t bytes);
  /// a product or a collective: only its sizes are known
  void add_library(std::string const& name, std::uint64_t bytes, std::uint64_t multiplications);
  /// The sum over kernels whose label is `label` (empty: all); -1: no such figure. Besides the names of
  /// figures: warp_K and thread_K for a kind K, load_ratio, store_ratio, conflict_ratio, lanes,
  /// bytes_in_flight.
  double value(std::string_view label, std::string_view what);
  /// means: "kernel x 2, another x 1", in the order of their first launches under the label
  std::string kernels(std::string_view label);
  /// PTX_COUNTS=1: a table on stderr
  void say_at_exit();

  std::vector<instruction_facts> const& facts(program const& p);
  std::uint64_t first_cache_bytes() const { return first_cache_bytes_; }

 private:
  log();
  figures& sum_of(std::string const& name);
  using count = std::pair<figure, std::uint64_t>;
  /// what is no kernel
  void add_others(std::string const& name, std::initializer_list<count> counts);
  std::mutex lock_;
  bool on_ = false, at_exit_ = false;
  std::FILE* file_ = nullptr;
  std::string label_;
  std::uint64_t first_cache_bytes_ = 192 << 10;
  std::map<program const*, std::vector<instruction_facts>> facts_;
  struct sum {
    std::string label, name;
    figures of;
  };
  std::vector<sum> sums_;  // in the order of the first launch
};

}  // namespace ptx::counts
