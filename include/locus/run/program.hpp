// SPDX-License-Identifier: Apache-2.0
// A program: the constant plan of a graph with one function for each kernel, and the frame of one
// run.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN
#include <locus/expr/builder.hpp>         // local_value
#include <locus/machine/launch_site.hpp>  // launch_site
#include <locus/plan/data.hpp>            // plan_view
#include <locus/plan/memory.hpp>          // slot
#include <locus/plan/show/facts.hpp>      // tally

LOCUS_LEAN_BEGIN

namespace locus {

struct frame;
struct replica_terms;

/// One kernel of one replica, ready to run.
struct launch {
  frame const* of = nullptr;
  short step = -1;  // the last of the region
  int replica = 0;
  launch_site site{};
  // of a launch in parts: the rows of the piece that this part computes
  std::int64_t begin = 0, end = whole;
  std::string_view part{};  // its name
  static constexpr std::int64_t whole = -1;
  bool is_part() const { return end != whole; }
};

namespace runtime {
/// The counts of all plans of this thread: testing::count reads the difference.
LOCUS_SHARED_STATE inline thread_local constinit tally executed{};
}  // namespace runtime

namespace detail {
struct run_state;
}

/// Functions of the run-time loop for plans with transfers. The program of a plan without transfers
/// does not name them, so its unit does not compile them.
struct crossing_code {
  void (*apply_copy_policy)(detail::run_state const& run);
  void (*lay_out)(detail::run_state& run);
  void (*foresee)(detail::run_state& run);
  void (*move)(detail::run_state& run, transfer const& what);
};
/// The same for reductions over replicas.
struct reduction_code {
  void (*foresee)(detail::run_state& run, transfer const& what);
  void (*reduce)(detail::run_state& run, transfer const& what);
  void (*reduce_bucket)(detail::run_state& run, short bucket);
};

/// means: the constant that the run-time loop walks; one for each graph
struct program {
  plan_view plan{};
  array_view<slot> memory_slots{};                   // with static extents
  shape const* extents = nullptr;                    // with static extents, else null
  int replicas = 1;                                  // devices of the longest list
  void (*const* launches)(launch const&) = nullptr;  // [step]
  void (*const* folds)(launch_site const&, replica_terms const&) = nullptr;  // [transfer]
  crossing_code const* crossings = nullptr;                                  // null: no transfers
  reduction_code const* reductions = nullptr;  // null: no reductions over replicas
  bool may_alias = false;
  tally planned{};          // with static extents
  open_devices open{};      // the devices of AllGpus, and the ranks, in this run
  bool over_ranks = false;  // some values lie over ranks
};

/// Extents and strides of one local value.
struct local_layout {
  std::int64_t extents[max_rank], strides[max_rank];
};

/// A destination of a plan: a Tensor, a view, or the Tensor that eval makes.
struct target {
  place where{};
  shape extents{};
  local_value locals[max_devices];  // where.local_count() of them
  bool no_alias = false;            // the user's promise
  bool fresh = false;               // no operand can refer to it
};

/// The arrays of one run, on the caller's stack.
struct run_arrays {
  local_value* values = nullptr;    // [value * replicas + replica]: steps, then transfers
  local_layout* layouts = nullptr;  // [value * replicas + replica]
  stamp* ready = nullptr;           // [value * replicas + replica]: of its arrival
  shape const* extents = nullptr;   // [step]: of whole values
  slot* memory_slots = nullptr;     // [value]
  void const** objects = nullptr;   // [step]: operation objects
};

/// means: the values, extents and operation objects of one run, for kernels
struct frame {
  program const* of = nullptr;
  local_value const* values = nullptr;
  shape const* extents = nullptr;
  void const* const* objects = nullptr;
  local_value const& value(int v, int replica) const { return values[v * of->replicas + replica]; }
};

}  // namespace locus

LOCUS_LEAN_END
