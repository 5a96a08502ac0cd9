// SPDX-License-Identifier: Apache-2.0
// The run-time loop over a constant plan: memory first, then its actions in order. It is compiled
// once and looks the same to every compiler; what depends on expressions is behind two function
// pointers.
#pragma once

#include <locus/backend/user_stream.hpp>  // gpu_set
#include <locus/core/macros.hpp>          // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/write_results.hpp>    // results

LOCUS_LEAN_BEGIN

namespace locus {

namespace detail {
inline namespace LOCUS_RUN_MODE {

class runner : results {
 public:
  runner(program const& p, run_arrays const& arrays, target const* targets, run_watch const& seen)
      : results(p, arrays, targets, seen) {}

  void run();

 private:
  // ---- a stream of the user's ----
  [[gnu::cold]] void order_behind_guest();
  runtime::gpu_set beside_;

  // ---- what plans before this one left under way ----
  /// compute queues go on behind what arrives in operands and destinations
  [[gnu::cold]] void meet_operands();

  // ---- launches ----
  void launch_region(short i);
  void issue(launch const& what);
  /// means: the log and the trace hear of the launch before it is issued
  [[gnu::cold]] void tell(launch const& what, work_scope& work);
  /// means: the names of the kernels that the launch will start: the same call with a workspace that measures starts none
  [[gnu::cold]] void write_kernels(message& out, launch const& what);
  /// units: bytes that the kernel of one replica reads and writes
  [[gnu::cold]] std::int64_t bytes_of_region(short i, int r) const;
  /// means: read(step, edge) for each operand in memory that the kernel of region i reads, stored(k) for each value that it
  ///        stores
  template <class Read, class Stored>
  void each_value(short i, Read const& read, Stored const& stored) const {
    for (short k = 0; k < plan_.steps.count; ++k) {
      step const& s = plan_.steps[k];
      if (s.region != i) continue;
      for (edge const& e : plan_.operands(s)) {
        step const& o = plan_.steps[e.from];
        bool const inside = o.region == i && e.by < 0;
        if (o.kind != step_kind::scalar && o.kind != step_kind::index && !inside) read(s, e);
      }
      if (s.stored || slots_[k].bytes > 0) stored(k);
    }
  }
  /// waits for what the kernel reads, and checks where it lies
  [[gnu::cold]] int gather_operands(short i, int r, logical_device& d, step_record const& record,
                                    touched* operands);
  /// concatenate, and a reshape of what has gaps: one copying kernel for each operand
  [[gnu::cold]] void copy_operands(launch const& what);

  // ---- transfers ----
  /// means: visit(to, to_name, from, from_name, skip) for each value, or piece, that a transfer moves
  template <class Visit>
  void each_part(transfer const& me, Visit const& visit) {
    step const& s = plan_.steps[me.from];
    place const &from = s.where, &to = me.arrives;
    int const v = value_of(me), rank = rank_of(v);
    auto there = [&](int r, local_value const* at) {
      return side{&runtime::find_device(to.at(r)), at, v, r};
    };
    auto here = [&](int r, local_value const* at) {
      return side{&runtime::find_device(from.at(r)), at, me.from, r};
    };
    auto whole = [&](int r) {
      bool const skip = value(v, r).data == value(me.from, 0).data && !slots_[v].is_result;
      visit(there(r, &value(v, r)), to.at(r), here(0, &value(me.from, 0)), from.at(0), skip);
    };
    local_layout layout;
    switch (me.how) {
    case transfer_kind::first_replica:
      if (!from.devices.contains(to.at(0))) whole(0);
      return;
    case transfer_kind::copy:
    case transfer_kind::broadcast:
      for (int r = 0; r < to.count(); ++r) whole(r);
      return;
    case transfer_kind::scatter:
      for (int r = 0; r < to.count(); ++r) {
        local_value const part =
            piece_of(value(me.from, 0), rank, to, r, whole_of(v), s.element_bytes, layout);
        visit(there(r, &value(v, r)), to.at(r), here(0, &part), from.at(0), false);
      }
      return;
    case transfer_kind::gather:
    case transfer_kind::all_gather:
      for (int b = 0; b < to.count(); ++b)
        for (int a = 0; a < from.count(); ++a) {
          local_value const part =
              piece_of(value(v, b), rank, from, a, whole_of(v), s.element_bytes, layout);
          visit(there(b, &part), to.at(b), here(a, &value(me.from, a)), from.at(a), false);
        }
      return;
    default: return;  // a slice is a view
    }
  }
  /// what transfers and results take besides arenas: all of it before the first step
  void foresee_memory();
  [[gnu::cold]] void foresee_transfers();
  /// the launches of GPUs that may need workspace, without launching: what the largest would take
  [[gnu::cold]] void foresee_workspaces();
  bool may_take_workspace(short region) const;
  /// one value, or one piece, to another device (or beside itself); counted where devices differ
  [[gnu::cold]] void move_part(transfer const& t, side const& to, device to_name, side const& from,
                               device from_name, bool skip);
  [[gnu::cold]] void move(transfer const& me);

  /// another transfer has brought it
  [[gnu::cold]] void reuse(transfer const& me, short first);

  // ---- the end ----
  void hold_to_plan() const;
  [[noreturn, gnu::cold]] void refuse_difference(tally const& planned) const;

  static constexpr int max_operands = 64;
  bool const tf32_ = runtime::matmul_is_tf32();

  // ---- what a program names that needs it: functions of a runner ----
  static void apply_policy_of(void* run);
  static void place_arrivals_of(void* run);
  static void foresee_transfers_of(void* run) { static_cast<runner*>(run)->foresee_transfers(); }
  static void move_of(void* run, transfer const& what) { static_cast<runner*>(run)->move(what); }
  static void foresee_terms_of(void* run, transfer const& what) {
    static_cast<runner*>(run)->foresee_terms(what);
  }
  static void reduce_apart_of(void* run, transfer const& what) {
    static_cast<runner*>(run)->reduce_apart(what);
  }
  static void reduce_bucket_of(void* run, short bucket) {
    static_cast<runner*>(run)->reduce_bucket(bucket);
  }

 public:
  static constexpr crossing_code crossings{apply_policy_of, place_arrivals_of, foresee_transfers_of,
                                           move_of};
  static constexpr reduction_code reductions{foresee_terms_of, reduce_apart_of, reduce_bucket_of};
};

}  // namespace LOCUS_RUN_MODE
}  // namespace detail
}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/runner.hpp>  // bodies of the functions above
#endif
