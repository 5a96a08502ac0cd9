// SPDX-License-Identifier: Apache-2.0
// Where each value of a plan lies in one run: in an arena, where it belongs, or set aside.
#pragma once
#include <exception>  // uncaught_exceptions

#include <locus/backend/devices.hpp>  // find_device
#include <locus/core/macros.hpp>      // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/plan/memory.hpp>      // slot
#include <locus/run/kept_uses.hpp>    // kept_uses
#include <locus/run/occurrences.hpp>  // occurrence
#include <locus/run/program.hpp>      // program, run_arrays, target
#include <locus/run/run_memory.hpp>   // run_memory
#include <locus/run/values.hpp>       // byte_range, range_of

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

class placing : protected run_memory {
 protected:
  placing(program const& p, run_arrays const& arrays, target const* targets)
      : p_(p), plan_(p.plan), a_(arrays), targets_(targets), extents_(arrays.extents) {}

  // ---- what a value is ----
  int index(int v, int r) const { return v * p_.replicas + r; }
  local_value& value(int v, int r) { return a_.values[index(v, r)]; }
  local_value const& value(int v, int r) const { return a_.values[index(v, r)]; }
  bool is_step(int v) const { return v < plan_.steps.count; }
  int value_of(transfer const& t) const {
    return plan_.steps.count + static_cast<int>(&t - plan_.transfers.first);
  }
  int value_of(edge const& e) const { return e.by >= 0 ? plan_.steps.count + e.by : e.from; }
  int value_of(root const& r) const { return r.by >= 0 ? plan_.steps.count + r.by : r.from; }
  step const& source_of(int v) const {
    return plan_.steps[is_step(v) ? v : plan_.transfers[v - plan_.steps.count].from];
  }
  shape const& whole_of(int v) const {
    return extents_[is_step(v) ? v : plan_.transfers[v - plan_.steps.count].from];
  }
  int rank_of(int v) const { return whole_of(v).rank; }
  place const& place_of(int v) const {
    return is_step(v) ? plan_.steps[v].where : plan_.transfers[v - plan_.steps.count].arrives;
  }
  byte_range bytes_of(int v, int r) const {
    return range_of(value(v, r), rank_of(v), source_of(v).element_bytes);
  }

  static bool on_host(device d) { return runtime::find_device(d).how == backing::host; }
  static bool all_on_host(place const& p);

  // ---- when something throws ----
  /// means: nothing is in flight that uses memory of this run
  /// cost:  waits for every device of the plan
  void drain() const noexcept;
  /// Around memory that queues use: when an exception leaves the scope, they finish first.
  class drained {
   public:
    explicit drained(placing const& run) : run_(run), before_(std::uncaught_exceptions()) {}
    drained(drained const&) = delete;
    ~drained() {
      if (std::uncaught_exceptions() > before_) run_.drain();
    }

   private:
    placing const& run_;
    int before_;
  };

  // ---- before the first step ----
  void check_extents() const;
  /// everything that the plan will need, so that a lack of memory changes nothing
  void obtain_memory();
  /// run: the runner, for what its program names
  void place_values(void* run);
  /// what transfers bring; keeps: copies, for later plans
  void place_arrivals(bool keeps);

  // ---- occurrences of one tensor ----
  occurrence const* find_occurrence(transfer const& t) const;
  /// another transfer brings the same: its copy is this one's too
  bool brought_by_other(transfer const& t) const;

  // ---- copies that devices keep ----
  /// means: what this run writes is out of date on other devices
  [[gnu::cold]] void forget_written() const;
  bool is_written(byte_range const& range) const;
  /// copies of tensors that the run does not write lie where they stay
  [[gnu::cold]] void place_kept();

 private:
  [[noreturn, gnu::cold]] void refuse_cut(short i) const;
  /// two roots of one plan are written at one moment
  void require_apart(int k, int other) const;
  [[noreturn, gnu::cold]] void refuse_common(int k, int other, int r) const;
  [[noreturn, gnu::cold]] void refuse_extents(int k) const;
  void open_arena(device name);
  /// for the message that there is no memory for them
  [[gnu::cold]] message describe_temporaries(device name) const;
  /// which root's destination a value is written into; -1: none
  int root_of_value(int v) const;
  std::int64_t offset_of(int v) const;
  /// the memory of a value that a kernel or a transfer makes: a destination, its slot, or aside
  void place_made(int v);
  /// the memory of temporary v is nobody else's until that action; its slot may end earlier
  bool keeps_memory(short v, short until) const;
  void place_arrival(transfer const& me);

  // ---- may a result be written where it belongs, or does something still read there? ----
  /// the kernel that makes step v reads `leaf` only at the index it writes
  bool reads_same_index(int v, short leaf) const;
  short last_read_of(short leaf) const;
  /// piece a of a leaf, and piece b of the destination of v
  overlap overlap_with(target const& to, int v, int b, short leaf, int a) const {
    return find_overlap({value(leaf, a), rank_of(leaf), source_of(leaf).element_bytes},
                        {to.locals[b], to.extents.rank, source_of(v).element_bytes});
  }
  /// a call takes operands without gaps
  bool read_by_call(int v) const;
  /// else the destination has those elements under other extents
  bool is_shape_of(int v, int k) const { return targets_[k].extents == whole_of(v); }
  bool may_write_directly(int v, int k) const;
  bool may_write_beside(int v, target const& to, short leaf) const;

 protected:
  program const& p_;
  plan_view const plan_;
  run_arrays const& a_;
  target const* targets_;
  shape const* extents_;
  array_view<slot> slots_{};
  dynamic_array<occurrence> shared_;
  kept_uses kept_;
};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/value_memory.hpp>  // bodies of the functions above
#endif
