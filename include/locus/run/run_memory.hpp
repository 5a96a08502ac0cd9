// SPDX-License-Identifier: Apache-2.0
// The memory of one run: an arena on each device, and memory for packing, for values set aside and
// for kernels.
#pragma once

#include <locus/core/array.hpp>           // dynamic_array
#include <locus/core/macros.hpp>          // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/device/device.hpp>        // device
#include <locus/machine/launch_site.hpp>  // kernel_workspace

LOCUS_LEAN_BEGIN

namespace locus::detail {

/// The memory that one run holds.
class run_memory {
 public:
  run_memory() = default;
  run_memory(run_memory const&) = delete;
  /// means: releases all of it, in the order of each device's queue
  ~run_memory();

  // ---- the temporaries of a plan ----
  // one arena for each device name of the plan, also where one logical device works for several
  // names
  bool has_arena(device name) const { return find_arena(name) != nullptr; }
  void add_arena(device name, logical_device& d, std::int64_t bytes, std::string_view purpose);
  void* in_arena(device name, std::int64_t offset) const;

  // ---- memory that a run needs besides its arenas, until it ends ----
  void* extra_memory(logical_device& d, std::int64_t bytes, std::string_view purpose);
  // Whether a value is packed or set aside depends on the places of values: will_need counts its
  // memory when values have places, obtain_reserves obtains it before the first step, take_reserve
  // hands it out.
  void will_need(logical_device& d, std::int64_t bytes);
  void obtain_reserves();
  void* take_reserve(logical_device& d, std::int64_t bytes);

  // ---- the workspace of kernels: one for each device, whose queue runs one kernel at a time ----
  kernel_workspace& measured_workspace(logical_device& d);
  kernel_workspace* find_workspace(logical_device const& d);
  void obtain_workspaces();

 private:
  // no initialisers: an array of memory_block costs nothing until its elements are used
  struct memory_block {
    logical_device* on;
    char* base;
    std::int64_t bytes;
  };
  struct reserve {
    logical_device* on = nullptr;
    char* next = nullptr;
    std::int64_t bytes = 0;  // left
  };
  struct arena {
    memory_block memory;
    int code;  // of the device's name
  };
  memory_block const* find_arena(device name) const;

  arena arenas_[2 * max_devices + 2];
  int arena_count_ = 0;
  dynamic_array<memory_block> extra_;
  dynamic_array<reserve> reserves_;
  dynamic_array<kernel_workspace> workspaces_;
};

}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/run_memory.hpp>  // bodies of the functions above
#endif
