// SPDX-License-Identifier: Apache-2.0
// The law: a step and a machine to seconds. It runs nothing; of static plans it is a constant.
#pragma once
#include <locus/core/error.hpp>       // configuration_error
#include <locus/core/is_finite.hpp>   // is_nan
#include <locus/predict/machine.hpp>  // description
#include <locus/predict/step.hpp>     // step_view, step_of

LOCUS_COLD_BEGIN

namespace locus {

/// How many rows, on how many replicas.
struct predict_options {
  int replicas = 0;              // 0: all of the machine
  std::int64_t rows_each = 0;    // rows of each replica, on one or on many; 0: those of the step
  std::int64_t rows_of_all = 0;  // rows of all replicas together, however many; 0: rows_each counts
  double seconds_on_one = 0;     // measured on one replica with rows_each (or rows_of_all); 0: not
};

/// What a step waits for most.
enum class limit : unsigned char {
  memory,
  arithmetic,
  launches,
  measured_kernels,
  reductions,
  exchanges
};
constexpr std::string_view name_of(limit l) {
  constexpr std::string_view names[] = {"memory",           "arithmetic", "launches",
                                        "measured kernels", "reductions", "exchanges"};
  return names[static_cast<int>(l)];
}

/// means: the predicted time of a step on so many replicas, between its bounds
struct predicted_time {
  int replicas = 1;
  double compute_seconds = 0;   // of the kernels of one replica
  double reduce_seconds = 0;    // of all reductions
  double exchange_seconds = 0;  // of all exchanges of rows
  double step_seconds = 0;
  double step_seconds_without_overlap = 0, step_seconds_with_full_overlap = 0;
  double one_seconds = 0;  // one replica, with the rows that it has in the comparison
  double rows_ratio = 1;   // rows of all replicas, over those of the one
  locus::limit limit = locus::limit::memory;

  /// units: seconds of reductions and exchanges during which no kernel runs
  constexpr double exposed_seconds() const { return step_seconds - compute_seconds; }
  constexpr double efficiency() const { return efficiency_of(step_seconds); }
  constexpr double efficiency_without_overlap() const {
    return efficiency_of(step_seconds_without_overlap);
  }
  constexpr double efficiency_with_full_overlap() const {
    return efficiency_of(step_seconds_with_full_overlap);
  }

 private:
  constexpr double efficiency_of(double seconds) const {
    return replicas == 1 ? 1. : one_seconds * rows_ratio / (replicas * seconds);
  }
};

/// means: what predict returns: the time on all replicas that were asked for, and on 1, 2, 4, ...
///        up to 1,024, as far as the machine has them or can be made of more nodes
struct prediction {
  static constexpr int most_points = 12;
  machines::description machine{};
  predict_options options{};
  std::int64_t rows = 1;  // of each replica, or of all with rows_of_all
  predicted_time asked{};
  predicted_time points[most_points]{};
  int point_count = 0;

  constexpr double seconds() const { return asked.step_seconds; }
  constexpr double efficiency() const { return asked.efficiency(); }
  constexpr double efficiency_without_overlap() const { return asked.efficiency_without_overlap(); }
  constexpr double efficiency_with_full_overlap() const {
    return asked.efficiency_with_full_overlap();
  }
  /// fails: configuration_error, if the table has no row for that many replicas
  constexpr predicted_time const& at(int replicas) const {
    for (int k = 0; k < point_count; ++k)
      if (points[k].replicas == replicas) return points[k];
    if (asked.replicas == replicas) return asked;
    throw configuration_error(
        "locus: this prediction has no row for that many replicas; ask for them with .replicas");
  }
};

namespace internal {

constexpr int nodes_of(machines::description const& m, int replicas) {
  return (replicas + m.replicas_per_node - 1) / m.replicas_per_node;
}

/// means: on a line between two sizes of the table, and beyond the last on the line of the last two,
///        unless it sinks; before the first the time of the first
constexpr double seconds_in(machines::time_table const& t, double bytes) {
  if (t.count == 1 || bytes <= t.at[0].bytes) return t.at[0].seconds;
  int i = 1;
  while (i + 1 < t.count && t.at[i].bytes < bytes) ++i;
  auto const &a = t.at[i - 1], &b = t.at[i];
  if (bytes > b.bytes && b.seconds < a.seconds) return b.seconds;
  return a.seconds + (b.seconds - a.seconds) * (bytes - a.bytes) / (b.bytes - a.bytes);
}

/// units: seconds of an all-reduce among replicas of one node
constexpr double seconds_on_node(machines::description const& m, int replicas, double bytes) {
  if (replicas < 2 || m.reduce_count == 0) return 0;
  int k = 0;
  while (k + 1 < m.reduce_count && m.reduces[k].replicas < replicas) ++k;
  machines::reduce_table const& t = m.reduces[k];
  auto const part = [](int n) { return double(n - 1) / n; };
  return part(replicas) / part(t.replicas) * seconds_in(t, bytes);
}

/// units: seconds of an all-reduce between nodes: the better of a ring and of a tree
constexpr double seconds_between(machines::description const& m, int nodes, double bytes) {
  if (nodes < 2) return 0;
  double const all = m.networks_per_node.value * m.network_bytes_per_second.value;
  double const hop = m.hop_seconds.value;
  int levels = 0;
  while ((1 << levels) < nodes) ++levels;
  double const ring = 2. * (nodes - 1) * hop + 2. * (nodes - 1) / nodes * bytes / all;
  double const tree = 2. * levels * hop + 2. * bytes / all;
  double const staged =
      m.staging_bytes_per_second.value > 0 ? 2. * bytes / m.staging_bytes_per_second.value : 0;
  return (ring < tree ? ring : tree) + staged;
}

constexpr double seconds_of_reduce(machines::description const& m, int replicas, double bytes) {
  if (replicas < 2) return 0;
  int const on_node = replicas < m.replicas_per_node ? replicas : m.replicas_per_node;
  return m.call_seconds.value + seconds_on_node(m, on_node, bytes) +
         seconds_between(m, nodes_of(m, replicas), bytes);
}

constexpr double seconds_of_exchange(machines::description const& m, int replicas, double bytes) {
  if (replicas < 2) return 0;
  bool const crosses = nodes_of(m, replicas) > 1;
  double const seconds = crosses ? m.hop_seconds.value : m.neighbour_seconds.value;
  double const rate =
      crosses ? m.network_bytes_per_second.value : m.neighbour_bytes_per_second.value;
  return m.call_seconds.value + seconds + (rate > 0 ? bytes / rate : 0);
}

/// How many times as long kernels take while so many replicas of a node compute: on a line between
/// two entries, and in proportion beyond the last.
struct slowness {
  double kernels = 1, memory = 1;
};
constexpr slowness slowness_of(machines::slowdown const& s) {
  double const own = s.factor.value;
  return {own, s.memory_factor.value > 0 ? s.memory_factor.value : own};
}
constexpr slowness slowdown_of(machines::description const& m, int replicas) {
  if (m.shared_count == 0) return {};
  int const n = replicas < m.replicas_per_node ? replicas : m.replicas_per_node;
  if (n <= m.shared[0].replicas) return slowness_of(m.shared[0]);
  for (int k = 1; k < m.shared_count; ++k) {
    if (n > m.shared[k].replicas) continue;
    slowness const a = slowness_of(m.shared[k - 1]), b = slowness_of(m.shared[k]);
    double const part =
        double(n - m.shared[k - 1].replicas) / (m.shared[k].replicas - m.shared[k - 1].replicas);
    return {a.kernels + (b.kernels - a.kernels) * part, a.memory + (b.memory - a.memory) * part};
  }
  machines::slowdown const& last = m.shared[m.shared_count - 1];
  double const more = double(n) / last.replicas;
  return {slowness_of(last).kernels * more, slowness_of(last).memory * more};
}

constexpr double larger(double a, double b) { return a > b ? a : b; }

/// Seconds of kernels by what they wait for.
struct kernel_seconds {
  double by[4]{};  // as limit: memory, arithmetic, launches, measured
  constexpr double sum() const { return by[0] + by[1] + by[2] + by[3]; }
};

/// Seconds in which a kernel moves its bytes: from a cache, from the memory, and on a line between.
/// sharers: the replicas that share the cache
constexpr double seconds_of_memory(machines::description const& m, double bytes, int sharers,
                                   slowness const& slow) {
  double const from_memory = bytes / m.bytes_per_second.value * slow.memory;
  if (m.near_bytes_per_second.value == 0) return from_memory;
  double const fits = m.near_bytes.value / sharers;
  double const full = larger(m.far_bytes.value / sharers, fits);
  if (bytes <= fits) return bytes / m.near_bytes_per_second.value * slow.kernels;
  if (bytes >= full) return from_memory;
  double const from = fits / m.near_bytes_per_second.value * slow.kernels;
  double const to = full / m.bytes_per_second.value * slow.memory;
  return from + (to - from) * (bytes - fits) / (full - fits);
}
/// Seconds in which a kernel reads bytes. Replicas that share the cache read as one that reads the bytes of all
constexpr double seconds_of_reads(machines::description const& m, double bytes, int sharers,
                                  slowness const& slow) {
  if (m.reads.count == 0) return 0;
  auto const& first = m.reads.at[0];
  double const all = bytes * sharers;
  bool const is_near = m.near_bytes.value == 0 || all <= m.near_bytes.value;
  double const seconds =
      all < first.bytes ? first.seconds * (all / first.bytes) : seconds_in(m.reads, all);
  return seconds / sharers * (is_near ? slow.kernels : slow.memory);
}

/// Seconds in which a kernel reads and stores bytes. y = 2 x + y, by which the bandwidth is known, reads two thirds of its
/// bytes; a kernel that reads more goes to the table of reads on a line
constexpr double seconds_of_traffic(machines::description const& m, double bytes, double reads,
                                    int sharers, slowness const& slow) {
  double const known = seconds_of_memory(m, bytes, sharers, slow);
  double const beyond = 3 * reads - 2 * bytes;  // 0: as y = 2 x + y; bytes: it only reads
  if (beyond <= 0) return known;
  double const more = seconds_of_reads(m, reads, sharers, slow) - known;
  return more > 0 ? known + beyond / bytes * more : known;
}

constexpr kernel_seconds seconds_of_kernel(machines::description const& m, step_part const& p,
                                           double share, slowness const& slow, int sharers) {
  kernel_seconds t;
  t.by[3] = p.seconds.at(share) * slow.kernels;
  double const bytes = p.bytes.at(share), operations = p.operations.at(share);
  double rate = p.type == element::f64 ? m.double_operations_per_second.value
                : p.type == element::f16 || p.type == element::bf16
                    ? m.half_operations_per_second.value
                    : m.float_operations_per_second.value;
  if (rate == 0) rate = m.float_operations_per_second.value;
  for (int k = 0; k < m.kernel_count; ++k)
    if (m.kernels[k].name == p.name) rate = m.kernels[k].operations_per_second.value;
  double const memory = seconds_of_traffic(m, bytes, p.reads.at(share), sharers, slow);
  double const arithmetic = operations / rate * slow.kernels;
  t.by[memory > arithmetic ? 0 : 1] = memory > arithmetic ? memory : arithmetic;
  t.by[2] =
      slow.kernels * (p.launches * m.launch_seconds.value + (p.begins ? m.run_seconds.value : 0));
  return t;
}

/// means: the time of a step, action by action. Kernels follow one another; reductions follow one
///        another beside them; a kernel waits for a reduction that it reads
/// share: the rows of a replica, over those of the step; scale: of the times of kernels
constexpr predicted_time time_of(step_view const& s, machines::description const& m, int replicas,
                                 double share, double scale) {
  predicted_time t;
  t.replicas = replicas;
  slowness const slow = slowdown_of(m, replicas);
  int const sharers = m.shared_count == 0              ? 1
                      : replicas < m.replicas_per_node ? replicas
                                                       : m.replicas_per_node;
  double now = 0, free = 0, beside = 0;  // ends of kernels, of reductions, of an exchange
  double by[6]{};
  constexpr int most = 64;
  double ends[most]{};  // of the last reductions, [part modulo most]
  for (int k = 0; k < s.count; ++k) {
    step_part const& p = s.parts[k];
    if (p.kind == part_kind::reduce) {
      double const bytes = p.bytes.at(p.of_all ? share * replicas : share);
      double c = p.all_reduces * seconds_of_reduce(m, replicas, bytes);
      if (!m.groups) c += (p.values - 1) * seconds_of_reduce(m, replicas, 0);
      t.reduce_seconds += c;
      free = larger(free, now) + c;
      if (!m.overlaps) now = free;
      ends[k % most] = free;
      continue;
    }
    if (p.kind == part_kind::exchange) {
      double const c = seconds_of_exchange(m, replicas, p.bytes.at(share));
      t.exchange_seconds += c;
      beside = larger(beside, now) + c;
      continue;
    }
    kernel_seconds const own = seconds_of_kernel(m, p, share, slow, sharers);
    double const c = own.sum() * scale;
    for (int i = 0; i < 4; ++i) by[i] += own.by[i] * scale;
    t.compute_seconds += c;
    if (p.kind == part_kind::update)
      now = larger(now, free);
    else if (p.after >= 0)
      now = larger(now, k - p.after < most ? ends[p.after % most] : free);
    bool const hides = p.beside && m.overlaps;
    if (!hides) now = larger(now, beside);
    now += c;
    if (hides) now = larger(now, beside);
  }
  t.step_seconds = larger(larger(now, free), beside);
  double const moved = t.reduce_seconds + t.exchange_seconds;
  t.step_seconds_without_overlap = t.compute_seconds + moved;
  t.step_seconds_with_full_overlap =
      larger(t.compute_seconds, larger(t.reduce_seconds, t.exchange_seconds));
  by[4] = t.reduce_seconds > 0 ? t.exposed_seconds() * t.reduce_seconds / moved : 0;
  by[5] = t.exchange_seconds > 0 ? t.exposed_seconds() * t.exchange_seconds / moved : 0;
  for (int i = 1; i < 6; ++i)
    if (by[i] > by[static_cast<int>(t.limit)]) t.limit = static_cast<limit>(i);
  return t;
}

[[noreturn, gnu::cold]] inline void refuse_machine(machines::description const& m,
                                                   machines::flaw const& f) {
  message text;
  throw configuration_error(text << "locus: the machine '" << m.name
                                 << "' cannot be predicted: " << f.constant << " " << f.what
                                 << "; give it a positive number and its source");
}
[[noreturn, gnu::cold]] inline void refuse_replicas(int asked, std::int64_t rows) {
  message text;
  throw configuration_error(text << "locus: " << asked << " replicas were asked for, and the step "
                                 << "has " << rows
                                 << " rows; ask for fewer, or give .rows_each, the rows of each");
}

}  // namespace internal

/// means: the time of a step on a machine, by its plans' bytes, operations, launches and buckets;
///        nothing runs. Efficiency compares with one replica: with the same rows on each (weak
///        scaling; by default the rows of the step), or with rows_of_all (strong scaling)
/// fails: configuration_error (in a constant: at compile time) for a machine with a constant that is
///        missing, not positive or without a source, for more replicas than rows or than the machine
///        has, and for several replicas of a step that works on one device
constexpr prediction predict(step_view const& s, machines::description const& m,
                             predict_options const& o = {}) {
  if (machines::flaw const f = machines::flaw_of(m)) internal::refuse_machine(m, f);
  bool const strong = o.rows_of_all > 0;
  int const asked = o.replicas > 0 ? o.replicas : s.is_over_replicas ? m.replicas() : 1;
  if (o.replicas < 0 || o.rows_each < 0 || o.rows_of_all < 0 ||
      internal::is_nan(o.seconds_on_one) || o.seconds_on_one < 0)
    throw configuration_error(
        "locus: an option of predict is negative; leave it out, or give what it counts");
  bool const grows = m.has_network() && asked % m.replicas_per_node == 0 &&
                     asked / m.replicas_per_node <= machines::description::most_nodes;
  if (asked > m.replicas() && !grows)
    throw configuration_error(
        "locus: more replicas were asked for than the machine has; give it more .nodes");
  if (asked > 1 && !s.is_over_replicas)
    throw configuration_error(
        "locus: this step works on one device; cut its operands over replicas, as with "
        "Sharded<0, AllGpus>, or ask for .replicas = 1");
  if (strong && o.rows_of_all < asked) internal::refuse_replicas(asked, o.rows_of_all);

  prediction out{};
  out.machine = m, out.options = o;
  out.rows = strong ? o.rows_of_all : o.rows_each > 0 ? o.rows_each : s.rows;
  double const all = double(out.rows) / double(s.rows > 0 ? s.rows : 1);
  double const bare = internal::time_of(s, m, 1, all, 1).step_seconds;
  double const scale = o.seconds_on_one > 0 && bare > 0 ? o.seconds_on_one / bare : 1;
  double const one = internal::time_of(s, m, 1, all, scale).step_seconds;
  auto const on = [&](int n) {
    std::int64_t const own = strong ? (out.rows + n - 1) / n : out.rows;
    predicted_time t =
        internal::time_of(s, m, n, double(own) / double(s.rows > 0 ? s.rows : 1), scale);
    t.one_seconds = one, t.rows_ratio = strong ? 1 : n;
    return t;
  };
  out.asked = on(asked);
  for (int n = 1; n <= 1024; n *= 2) {
    bool const there = n <= m.replicas() || (m.has_network() && n % m.replicas_per_node == 0);
    if (n > 1 && (!s.is_over_replicas || !there || (strong && n > out.rows))) break;
    out.points[out.point_count++] = on(n);
  }
  return out;
}

namespace detail {

template <class S>
concept counted_step = requires(S const& s) {
  { s.view() } -> std::same_as<step_view>;
};
template <class Graph>
void facts_of(plan_facts<Graph> const&);
template <class S>
concept plan_like = requires(S const& s) { facts_of(s); };

}  // namespace detail

/// means: the same of a plan, plan_of<E> or a step that was counted, and of a machine by its name
template <class Step, class Machine>
  requires(!std::is_same_v<Step, step_view> || !std::is_same_v<Machine, machines::description>)
constexpr prediction predict(Step const& s, Machine const& m, predict_options const& o = {}) {
  constexpr bool is_machine =
      machines::machine<Machine> || std::is_same_v<Machine, machines::description>;
  constexpr bool is_step =
      detail::plan_like<Step> || detail::counted_step<Step> || std::is_same_v<Step, step_view>;
  static_assert(is_machine,
                "locus: this is no description of a machine; write machines::hgx_h200{.nodes = 8}, "
                "or a type whose describe() returns a machines::description");
  static_assert(is_step,
                "locus: predict takes a plan or a step that was counted; write plan(into(y, e)), "
                "plan_of<decltype(e)>, or step_of_run(f)");
  if constexpr (!is_machine || !is_step)
    return prediction{};
  else {
    machines::description const of = [&] {
      if constexpr (machines::machine<Machine>)
        return m.describe();
      else
        return m;
    }();
    if constexpr (detail::plan_like<Step>) {
      auto const made = step_of(s);
      return predict(made.view(), of, o);
    } else if constexpr (detail::counted_step<Step>)
      return predict(s.view(), of, o);
    else
      return predict(s, of, o);
  }
}

}  // namespace locus

LOCUS_COLD_END
