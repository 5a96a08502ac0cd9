// SPDX-License-Identifier: Apache-2.0
// A machine as numbers: what a prediction knows of its devices and links. Plain data; each constant
// has its unit in its name, and its source beside it.
#pragma once
#include <concepts>     // same_as
#include <string_view>  // string_view

#include <locus/core/compiler.hpp>   // C++20
#include <locus/core/is_finite.hpp>  // is_finite

namespace locus::machines {

/// A number with the place that it comes from: a data sheet, a published or an own measurement, or
/// "assumed". Zero without a source: the machine does not have it.
struct constant {
  double value = 0;
  std::string_view source{};
};

/// The speed of one kind of kernel, where the general constants would be far off: the name is that
/// of a step, such as "matmul" or "conv2d".
struct kernel_rate {
  std::string_view name{};
  constant operations_per_second{};
};

/// Times by rising bytes. Those between two entries lie on a line, and so do those beyond the last
/// one, unless it sinks.
struct time_table {
  static constexpr int most = 24;
  struct entry {
    double bytes = 0, seconds = 0;
  };
  int count = 0;
  entry at[most]{};
  std::string_view source{};
  constexpr void push(double bytes, double seconds) { at[count++] = {bytes, seconds}; }
};

/// All-reduces among that many replicas of a node.
struct reduce_table : time_table {
  int replicas = 0;
};

/// How many times as long a kernel takes while that many replicas of a node compute.
struct slowdown {
  int replicas = 1;
  constant factor{1, ""};
  constant memory_factor{};  // of kernels that wait for the memory; zero: as the others
};

/// means: a machine as the law reads it. A replica is a GPU, or a rank on the processors of a host
struct description {
  static constexpr int most_kernels = 32, most_tables = 8;
  static constexpr int most_nodes = 1 << 15;  // and replicas of a node

  std::string_view name{};
  int nodes = 1, replicas_per_node = 1;

  // one replica
  constant float_operations_per_second{}, double_operations_per_second{};
  constant half_operations_per_second{};  // zero: as floats
  constant bytes_per_second{};            // of the memory
  constant near_bytes_per_second{};       // of a cache, for kernels with few bytes; zero: none
  constant near_bytes{};                  // the bytes that fit in it; shared, as processors are
  constant far_bytes{};  // the bytes from which on it does not help; zero: near_bytes
  // kernels that only read, alone on the node: a processor loads and stores side by side, so that a
  // kernel which stores little moves fewer bytes a second; none: as all bytes
  time_table reads{};
  constant launch_seconds{};  // of each kernel
  constant run_seconds{};     // of each run of a plan, on top of its kernels
  kernel_rate kernels[most_kernels]{};
  int kernel_count = 0;
  slowdown shared[most_tables]{};  // by rising replicas; none: each replica has its own processor
  int shared_count = 0;

  // the replicas of a node
  reduce_table reduces[most_tables]{};  // by rising replicas
  int reduce_count = 0;
  constant neighbour_bytes_per_second{}, neighbour_seconds{};  // a message between two replicas
  constant call_seconds{};                                     // of each collective
  bool overlaps = true;                                        // collectives run beside kernels
  bool groups = true;  // values of one bucket are one collective; otherwise each is one of its own

  // between nodes
  constant networks_per_node{};         // zero: there is one node
  constant network_bytes_per_second{};  // of one of them
  constant hop_seconds{};               // of a message
  constant
      staging_bytes_per_second{};  // collectives between nodes go through host memory; zero: no

  constexpr int replicas() const { return nodes * replicas_per_node; }
  constexpr bool has_network() const { return networks_per_node.value > 0; }

  constexpr void add(kernel_rate const& k) { kernels[kernel_count++] = k; }
  constexpr void add(reduce_table const& t) { reduces[reduce_count++] = t; }
  constexpr void add(slowdown const& s) { shared[shared_count++] = s; }
};

/// means: a machine that predict takes: it describes itself
template <class M>
concept machine = requires(M const& m) {
  { m.describe() } -> std::same_as<description>;
};

/// means: f(name, constant, it may be missing) for each constant of one replica and of the links; the
///        constants of a description that may change may be changed
template <class Description, class F>
constexpr void for_each_constant(Description& m, F&& f) {
  f("float_operations_per_second", m.float_operations_per_second, false);
  f("double_operations_per_second", m.double_operations_per_second, false);
  f("half_operations_per_second", m.half_operations_per_second, true);
  f("bytes_per_second", m.bytes_per_second, false);
  f("near_bytes_per_second", m.near_bytes_per_second, true);
  f("near_bytes", m.near_bytes, true);
  f("far_bytes", m.far_bytes, true);
  f("launch_seconds", m.launch_seconds, false);
  f("run_seconds", m.run_seconds, true);
  f("neighbour_bytes_per_second", m.neighbour_bytes_per_second, true);
  f("neighbour_seconds", m.neighbour_seconds, true);
  f("call_seconds", m.call_seconds, true);
  f("networks_per_node", m.networks_per_node, true);
  f("network_bytes_per_second", m.network_bytes_per_second, true);
  f("hop_seconds", m.hop_seconds, true);
  f("staging_bytes_per_second", m.staging_bytes_per_second, true);
}

/// What is wrong with a description: a constant, and what it is; empty: nothing.
struct flaw {
  std::string_view constant{}, what{};
  constexpr explicit operator bool() const { return !what.empty(); }
};

namespace detail {

constexpr flaw flaw_of(time_table const& t, std::string_view name) {
  for (int k = 0; k < t.count; ++k) {
    time_table::entry const& r = t.at[k];
    if (!(r.bytes > 0) || !(r.seconds > 0) || !internal::is_finite(r.bytes) ||
        !internal::is_finite(r.seconds))
      return {name, "has bytes or seconds that are no positive number"};
    if (k > 0 && !(r.bytes > t.at[k - 1].bytes))
      return {name, "has a table whose bytes do not rise"};
  }
  if (t.count > 0 && t.source.empty()) return {name, "has no source"};
  return {};
}
constexpr flaw flaw_of(reduce_table const& t, int before) {
  if (t.replicas < 2) return {"reduces", "has a table for fewer than two replicas"};
  if (t.replicas <= before) return {"reduces", "has tables that do not rise in replicas"};
  if (t.count == 0) return {"reduces", "has a table without times"};
  return flaw_of(t, "reduces");
}

}  // namespace detail

/// means: the first thing that makes a description useless to the law
constexpr flaw flaw_of(description const& m) {
  if (m.nodes < 1) return {"nodes", "is below 1"};
  if (m.replicas_per_node < 1) return {"replicas_per_node", "is below 1"};
  if (m.nodes > description::most_nodes) return {"nodes", "is above 32,768"};
  if (m.replicas_per_node > description::most_nodes)
    return {"replicas_per_node", "is above 32,768"};
  flaw found{};
  for_each_constant(m, [&](std::string_view name, constant const& c, bool optional) {
    if (found) return;
    if (!internal::is_finite(c.value))
      found = {name, "is no number"};
    else if (c.value < 0)
      found = {name, "is negative"};
    else if (c.value == 0 && !optional)
      found = {name, "is missing"};
    else if (c.value > 0 && c.source.empty())
      found = {name, "has no source"};
  });
  if (found) return found;
  if (m.near_bytes_per_second.value > 0 && m.near_bytes.value == 0)
    return {"near_bytes", "is missing"};
  if (flaw const f = detail::flaw_of(m.reads, "reads")) return f;
  if (m.far_bytes.value > 0 && m.far_bytes.value < m.near_bytes.value)
    return {"far_bytes", "is below near_bytes"};
  for (int k = 0; k < m.kernel_count; ++k) {
    double const rate = m.kernels[k].operations_per_second.value;
    if (!(rate > 0) || !internal::is_finite(rate))
      return {m.kernels[k].name, "has a speed that is no positive number"};
  }
  int before = 0;
  for (int k = 0; k < m.shared_count; ++k) {
    slowdown const& s = m.shared[k];
    if (s.replicas <= before || !(s.factor.value > 0) || !internal::is_finite(s.factor.value) ||
        !(s.memory_factor.value >= 0) || !internal::is_finite(s.memory_factor.value))
      return {"slowdown", "does not rise in replicas, or is no positive number"};
    before = s.replicas;
  }
  before = 0;
  for (int k = 0; k < m.reduce_count; ++k) {
    if (flaw const f = detail::flaw_of(m.reduces[k], before)) return f;
    before = m.reduces[k].replicas;
  }
  if (m.replicas_per_node > 1 && m.reduce_count == 0)
    return {"reduces", "is missing, and a node has several replicas"};
  if (m.nodes > 1 && !m.has_network()) return {"networks_per_node", "is missing"};
  if (m.has_network() && m.network_bytes_per_second.value == 0)
    return {"network_bytes_per_second", "is missing"};
  if (m.has_network() && m.hop_seconds.value == 0) return {"hop_seconds", "is missing"};
  return {};
}

}  // namespace locus::machines
