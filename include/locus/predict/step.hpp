// SPDX-License-Identifier: Apache-2.0
// A step as costs: what one replica does, action by action, out of the constants of its plans.
#pragma once
#include <cstdint>  // int64_t
#include <vector>   // vector

#include <locus/core/macros.hpp>      // LOCUS_COLD_BEGIN
#include <locus/plan/plan.hpp>        // plan_facts
#include <locus/plan/show/facts.hpp>  // count_work

LOCUS_COLD_BEGIN

namespace locus {

enum class part_kind : unsigned char {
  kernel,
  update,    // a kernel that changes weights: it waits for every reduction before it
  reduce,    // values of all replicas are combined: all-reduces of one bucket, a gather
  exchange,  // rows of neighbours
};

/// What one replica does, or moves: a part that does not depend on its rows, and a part that grows
/// with them.
struct amount {
  double each = 0;     // on every replica
  double by_rows = 0;  // of all rows of the step
  constexpr double at(double share) const { return each + by_rows * share; }
};

/// One action of a step on one replica.
struct step_part {
  part_kind kind = part_kind::kernel;
  element type = element::f32;   // of the arithmetic
  std::string_view name{};       // the step that decides how long it takes
  amount operations{}, bytes{};  // of a reduce: the bytes of one replica's term
  amount reads{};                // of a kernel: the bytes that it reads, a part of `bytes`
  amount seconds{};              // measured: they replace the other two
  int launches = 0;
  int after = -1;          // of a kernel: the last reduce whose result it reads
  double all_reduces = 1;  // of a reduce: the part of an all-reduce that it costs
  int values = 1;          // of a reduce: how many travel together
  bool of_all = false;     // of a reduce: its bytes are those of the rows of all replicas
  bool begins = false;     // the first action of a plan
  bool beside = false;     // of a kernel: its inner rows need no exchange
};

/// means: a step as the law reads it: actions in order, and the rows that they were counted for
struct step_view {
  step_part const* parts = nullptr;
  int count = 0;
  std::int64_t rows = 1;
  bool is_over_replicas = false;  // some value is cut or copied over a list of devices
};

/// means: the costs of one static plan, as a constant
template <int Most>
struct static_step {
  step_part parts[Most]{};
  int count = 0;
  std::int64_t rows = 1;
  bool is_over_replicas = false;
  constexpr step_view view() const { return {parts, count, rows, is_over_replicas}; }
};

/// means: the costs of a step that several plans make, or that a program writes down:
///        step_list().kernel(...).all_reduce(...)
/// fails: undefined behaviour, if the text of a part's name is dead; those of plans and literals live on
class step_list {
 public:
  step_list() = default;
  explicit step_list(std::int64_t rows) : rows_(rows), is_over_replicas_(true) {}

  /// means: a kernel with that work for all rows of the step
  step_list& kernel(std::string_view name, amount operations, amount bytes) {
    step_part p;
    p.name = name, p.operations = operations, p.bytes = bytes, p.launches = 1;
    return add(p);
  }
  /// means: kernels that take so long together, measured on one replica with all rows
  step_list& measured(std::string_view name, double seconds) {
    step_part p;
    p.name = name, p.seconds.by_rows = seconds;
    return add(p);
  }
  /// means: one bucket of all-reduces: bytes of one replica
  step_list& all_reduce(double bytes) {
    step_part p;
    p.kind = part_kind::reduce, p.name = "all_reduce", p.bytes.each = bytes;
    return add(p);
  }
  /// means: a kernel that changes weights
  step_list& update(std::string_view name, double operations, double bytes) {
    step_part p;
    p.kind = part_kind::update, p.name = name, p.operations.each = operations;
    p.bytes.each = bytes, p.launches = 1;
    return add(p);
  }
  step_list& add(step_part const& p) {
    parts_.push_back(p);
    return *this;
  }
  /// means: the actions of another step behind those of this one
  void append(step_view const& s) {
    int const begin = int(parts_.size());
    for (int k = 0; k < s.count; ++k) {
      step_part p = s.parts[k];
      if (p.after >= 0) p.after += begin;
      parts_.push_back(p);
    }
    if (s.is_over_replicas && s.rows > rows_) rows_ = s.rows;
    is_over_replicas_ = is_over_replicas_ || s.is_over_replicas;
  }
  std::vector<step_part> const& parts() const { return parts_; }
  std::int64_t rows() const { return rows_; }
  step_view view() const { return {parts_.data(), int(parts_.size()), rows_, is_over_replicas_}; }

 private:
  std::vector<step_part> parts_;
  std::int64_t rows_ = 1;
  bool is_over_replicas_ = false;
};

namespace internal {

/// means: turns the actions of a plan into parts
/// steps, transfers: copies of those of the plan, which it changes
class step_counter {
 public:
  constexpr step_counter(plan_view const& p, shape const* extents) : p_(p), extents_(extents) {}

  /// means: writes the parts; `room` has as many as the plan has actions     returns: how many
  constexpr int run(step_part* room) {
    for (short& k : part_of_) k = -1;
    for (step const& s : p_.steps) {
      is_over_ = is_over_ || s.where.is_distributed();
      if (s.kind == step_kind::leaf && s.where.is_sharded() && rows_ == 0)
        rows_ = extents_[&s - p_.steps.first].extent[s.where.axis];
    }
    int count = 0;
    for (action const& a : p_.actions) {
      step_part made;
      if (a.kind == action_kind::launch)
        made = kernel(a);
      else if (!moved(a, count, made))
        continue;
      made.begins = count == 0;
      room[count++] = made;
    }
    return count;
  }
  /// units: rows of the first operand that is cut; 1: none is
  constexpr std::int64_t rows() const { return rows_ > 0 ? rows_ : 1; }
  constexpr bool is_over_replicas() const { return is_over_; }

 private:
  /// means: the work of one kernel on one replica: counted with lists of one device and of two. What
  ///        each replica repeats is in the difference
  constexpr step_part kernel(action const& a) {
    work const one = counted(1, a.what), two = counted(2, a.what);
    step_part k;
    k.launches = a.in_parts() ? 3 : 1, k.beside = a.in_parts();
    step const& root = p_.steps[a.what];
    bool const alone = !root.where.is_distributed();
    k.operations = split(one.flops, two.flops, alone);
    k.bytes = split(one.bytes_read + one.bytes_written, two.bytes_read + two.bytes_written, alone);
    k.reads = split(one.bytes_read, two.bytes_read, alone);
    k.name = root.name, k.type = root.type;
    if (root.name.substr(0, 6) == "update") k.kind = part_kind::update;
    bool decided = root.kind == step_kind::call;
    for (short i = 0; i < p_.steps.count; ++i) {
      step const& s = p_.steps[i];
      if (s.region != a.what) continue;
      bool const decides = s.kind == step_kind::matmul || s.kind == step_kind::call;
      if (!decided && (decides || s.name == "uniform" || s.name == "normal"))
        k.name = s.name, k.type = s.type, decided = decides;
      for (edge const& e : p_.operands(s))
        if (e.by >= 0 && is_reduction(p_.transfers[e.by].how) && part_of_[e.by] > k.after)
          k.after = part_of_[e.by];
    }
    return k;
  }
  static constexpr amount split(std::int64_t one, std::int64_t two, bool alone) {
    if (alone) return {double(one), 0};
    return {double(two - one), double(2 * one - two)};
  }
  constexpr work counted(int replicas, short region) {
    device_list all;
    for (int k = 0; k < replicas; ++k) all.push(visible_gpu(k));
    for (step& s : p_.steps)
      if (s.where.is_distributed()) s.where = s.where.over(all);
    for (transfer& t : p_.transfers)
      if (t.arrives.is_distributed()) t.arrives = t.arrives.over(all);
    return count_work(p_, extents_, region);
  }
  constexpr double bytes_of(transfer const& t) const {
    return double(extents_[t.from].size()) * p_.steps[t.from].element_bytes;
  }
  /// means: the part of a transfer or of a bucket; false: it costs the law nothing
  constexpr bool moved(action const& a, int number, step_part& to) {
    to.kind = part_kind::reduce;
    if (a.kind == action_kind::bucket) {
      to.name = "all_reduce", to.values = 0;
      for (short k = 0; k < p_.transfers.count; ++k)
        if (p_.transfers[k].bucket == a.what)
          to.bytes.each += bytes_of(p_.transfers[k]), part_of_[k] = static_cast<short>(number),
                                                      ++to.values;
      return true;
    }
    transfer const& t = p_.transfers[a.what];
    to.name = name_of(t.how), part_of_[a.what] = static_cast<short>(number);
    place const& from = p_.steps[t.from].where;
    switch (t.how) {
    case transfer_kind::all_reduce: to.bytes.each = bytes_of(t); return true;
    case transfer_kind::reduce:
    case transfer_kind::reduce_scatter:
      to.all_reduces = 0.5, to.bytes.each = bytes_of(t);
      return true;
    case transfer_kind::all_gather:
    case transfer_kind::gather:
      to.all_reduces = 0.5, to.bytes.by_rows = bytes_of(t), to.of_all = true;
      return true;
    case transfer_kind::halo: {
      std::int64_t const rows = extents_[t.from].extent[from.axis];
      to.kind = part_kind::exchange;
      to.bytes.each = rows > 0 ? bytes_of(t) / double(rows) * (t.before + t.behind) : 0;
      return true;
    }
    default: return false;
    }
  }

  plan_view p_;
  shape const* extents_;
  std::int64_t rows_ = 0;
  bool is_over_ = false;
  short part_of_[2 * max_steps]{};  // [transfer], -1: none yet
};

}  // namespace internal

/// means: the costs of a plan whose extents are static: step_of(plan(...)), step_of(plan_of<E>)
/// cost:  nothing when the program runs
/// fails: at compile time, while an extent is open
template <class Graph>
constexpr auto step_of(plan_facts<Graph> const&) {
  static_assert(internal::all_static<Graph>(),
                "locus: an extent of this plan is open, so its work is no constant; write "
                "step_of_run([&] { run(...); }), which counts a run of it");
  auto arrays = internal::unchecked_plan<Graph>;
  plan_view const p = arrays.view();
  constexpr int most = std::extent_v<decltype(arrays.actions)>;
  static_step<most> made;
  if constexpr (internal::all_static<Graph>()) {
    constexpr auto extents = internal::extents_of_steps<Graph>();
    internal::step_counter counter(p, extents.of);
    made.count = counter.run(made.parts);
    made.rows = counter.rows(), made.is_over_replicas = counter.is_over_replicas();
  }
  return made;
}

}  // namespace locus

LOCUS_COLD_END
