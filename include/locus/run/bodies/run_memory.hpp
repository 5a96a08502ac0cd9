// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/run_memory.hpp declares.
#pragma once
#include <utility>  // exchange

#include <locus/memory/allocate.hpp>  // allocate, release
#include <locus/run/run_memory.hpp>   // the declarations

LOCUS_LEAN_BEGIN

namespace locus::detail {

LOCUS_FUNCTION run_memory::~run_memory() {
  for (int i = 0; i < arena_count_; ++i)
    runtime::release(*arenas_[i].memory.on, arenas_[i].memory.base, arenas_[i].memory.bytes,
                     "the temporaries of a plan");
  for (memory_block const& e : extra_)
    runtime::release(*e.on, e.base, e.bytes, "what a plan packs, sets aside or works in");
}

LOCUS_FUNCTION void run_memory::add_arena(device name, logical_device& d, std::int64_t bytes,
                                          std::string_view purpose) {
  void* const base = runtime::allocate(d, bytes, purpose);
  arenas_[arena_count_] = {{&d, static_cast<char*>(base), bytes}, name.code()};
  ++arena_count_;
}

LOCUS_FUNCTION void* run_memory::in_arena(device name, std::int64_t offset) const {
  memory_block const* const found = find_arena(name);
  return found ? found->base + offset : nullptr;  // null: a value without elements
}

LOCUS_FUNCTION void* run_memory::extra_memory(logical_device& d, std::int64_t bytes,
                                              std::string_view purpose) {
  void* const p = runtime::allocate(d, bytes, purpose);
  extra_.push({&d, static_cast<char*>(p), bytes});
  return p;
}

LOCUS_FUNCTION void run_memory::will_need(logical_device& d, std::int64_t bytes) {
  for (reserve& r : reserves_)
    if (r.on == &d) {
      r.bytes += round_up(bytes);
      return;
    }
  reserves_.push({&d, nullptr, round_up(bytes)});
}

LOCUS_FUNCTION void run_memory::obtain_reserves() {
  for (reserve& r : reserves_)
    r.next =
        static_cast<char*>(extra_memory(*r.on, r.bytes, "values that a plan packs or sets aside"));
}

LOCUS_FUNCTION void* run_memory::take_reserve(logical_device& d, std::int64_t bytes) {
  for (reserve& r : reserves_)
    if (r.on == &d && round_up(bytes) <= r.bytes) {
      r.bytes -= round_up(bytes);
      return std::exchange(r.next, r.next + round_up(bytes));
    }
  return extra_memory(d, bytes, "a value that a plan packs or sets aside");
}

LOCUS_FUNCTION kernel_workspace& run_memory::measured_workspace(logical_device& d) {
  if (kernel_workspace* const w = find_workspace(d)) return *w;
  return workspaces_.push({&d});
}

LOCUS_FUNCTION kernel_workspace* run_memory::find_workspace(logical_device const& d) {
  for (kernel_workspace& w : workspaces_)
    if (w.on == &d) return &w;
  return nullptr;
}

LOCUS_FUNCTION void run_memory::obtain_workspaces() {
  for (kernel_workspace& w : workspaces_) {
    if (w.most > 0)
      w.base = static_cast<char*>(extra_memory(*w.on, w.most, "the workspace of kernels"));
    w.bytes = w.most, w.measuring = false;
  }
}

LOCUS_FUNCTION run_memory::memory_block const* run_memory::find_arena(device name) const {
  for (int i = 0; i < arena_count_; ++i)
    if (arenas_[i].code == name.code()) return &arenas_[i].memory;
  return nullptr;
}

}  // namespace locus::detail

LOCUS_LEAN_END
