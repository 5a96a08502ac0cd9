// SPDX-License-Identifier: Apache-2.0
// What one run obtains and gives back: an arena on each device, and what packing takes besides.
#pragma once
#include <utility>  // exchange

#include <locus/backend/memory.hpp>  // allocate, release
#include <locus/core/array.hpp>      // dynamic_array
#include <locus/core/config.hpp>     // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/plan/memory.hpp>     // round_up

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_MODE {

class run_memory {
 protected:
  run_memory() = default;
  run_memory(run_memory const&) = delete;
  /// temporaries go back in the order of their device's queue
  ~run_memory() {
    for (int i = 0; i < arena_count_; ++i)
      runtime::release(*arenas_[i].memory.on, arenas_[i].memory.base, arenas_[i].memory.bytes,
                       "the temporaries of a plan");
    for (memory_block const& e : extra_)
      runtime::release(*e.on, e.base, e.bytes, "what a plan packs, sets aside or works in");
  }

  // ---- the temporaries of a plan ----
  // one for each device that the plan names: of several that one device works for, each has its own
  bool has_arena(device name) const { return find_arena(name) != nullptr; }
  void add_arena(device name, logical_device& d, std::int64_t bytes, std::string_view purpose) {
    void* const base = runtime::allocate(d, bytes, purpose);
    arenas_[arena_count_] = {{&d, static_cast<char*>(base), bytes}, name.code()};
    ++arena_count_;
  }
  void* in_arena(device name, std::int64_t offset) const {
    memory_block const* const found = find_arena(name);
    return found ? found->base + offset : nullptr;  // null: a value without elements
  }

  // ---- memory that a run needs besides its arenas, until it ends ----
  void* extra_memory(logical_device& d, std::int64_t bytes, std::string_view purpose) {
    void* const p = runtime::allocate(d, bytes, purpose);
    extra_.push({&d, static_cast<char*>(p), bytes});
    return p;
  }
  // What packs a value, or sets it aside, depends on where values lie: it is counted when they are
  // placed, and obtained before the first step.
  void will_need(logical_device& d, std::int64_t bytes) {
    for (reserve& r : reserves_)
      if (r.on == &d) {
        r.bytes += round_up(bytes);
        return;
      }
    reserves_.push({&d, nullptr, round_up(bytes)});
  }
  void obtain_reserves() {
    for (reserve& r : reserves_)
      r.next = static_cast<char*>(
          extra_memory(*r.on, r.bytes, "values that a plan packs or sets aside"));
  }
  void* take_reserve(logical_device& d, std::int64_t bytes) {
    for (reserve& r : reserves_)
      if (r.on == &d && round_up(bytes) <= r.bytes) {
        r.bytes -= round_up(bytes);
        return std::exchange(r.next, r.next + round_up(bytes));
      }
    return extra_memory(d, bytes, "a value that a plan packs or sets aside");
  }

  // ---- the workspace of kernels: one for each device, whose queue runs them one by one ----
  kernel_workspace& measured_workspace(logical_device& d) {
    if (kernel_workspace* const w = find_workspace(d)) return *w;
    return workspaces_.push({&d});
  }
  kernel_workspace* find_workspace(logical_device const& d) {
    for (kernel_workspace& w : workspaces_)
      if (w.on == &d) return &w;
    return nullptr;
  }
  void obtain_workspaces() {
    for (kernel_workspace& w : workspaces_) {
      if (w.most > 0)
        w.base = static_cast<char*>(extra_memory(*w.on, w.most, "the workspace of kernels"));
      w.bytes = w.most, w.measuring = false;
    }
  }

 private:
  // no initialisers: an array of these costs nothing until it is used
  struct memory_block {
    logical_device* on;
    char* base;
    std::int64_t bytes;
  };
  struct reserve {
    logical_device* on = nullptr;
    char* next = nullptr;
    std::int64_t bytes = 0;  // that are left
  };
  struct arena {
    memory_block memory;
    int code;  // of the device's name
  };
  memory_block const* find_arena(device name) const {
    for (int i = 0; i < arena_count_; ++i)
      if (arenas_[i].code == name.code()) return &arenas_[i].memory;
    return nullptr;
  }

  arena arenas_[2 * max_devices + 2];
  int arena_count_ = 0;
  dynamic_array<memory_block> extra_;
  dynamic_array<reserve> reserves_;
  dynamic_array<kernel_workspace> workspaces_;
};

}  // namespace LOCUS_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
