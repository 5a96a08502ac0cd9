// SPDX-License-Identifier: Apache-2.0
// plan_of<E>: the plan as a constant, for assertions, printing and tests.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_DEFAULT_POLICY
#include <locus/plan/graph.hpp>             // graph, unchecked_plan
#include <locus/plan/library_kernel.hpp>    // library_kernel_of
#include <locus/plan/numerics.hpp>          // numerics_of
#include <locus/plan/reduction_memory.hpp>  // reduction_bytes
#include <locus/plan/show/explain.hpp>      // write_plan
#include <locus/plan/show/facts.hpp>        // tally
#include <locus/plan/show/why.hpp>          // write_why

namespace locus {

inline namespace LOCUS_MODE {
using default_policy = LOCUS_DEFAULT_NUMERICS<LOCUS_DEFAULT_POLICY>;
}  // namespace LOCUS_MODE

namespace detail {

// ---- errors: the sentence for each error of a pass ----
template <class Op>
struct sentences_of {
  using type = Op;
};
template <class Op>
  requires requires { typename Op::named; }
struct sentences_of<Op> {
  using type = typename Op::named;
};

template <class Graph, int Culprit>
consteval bool require_cpu_kernel() {
  using Op =
      typename sentences_of<typename at_t<Culprit, typename flattened<Graph>::entries>::op>::type;
  if constexpr (requires { Op::template require_cpu_kernel<true>(); })
    return Op::template require_cpu_kernel<false>();
  else {
    static_assert(always_false<Op>,
                  "locus: an operation has no CPU kernel and placement is strict; drop strict, "
                  "or give its functor kernels = on_both");
    return false;
  }
}
template <class Graph, int Culprit>
consteval bool require_gpu_kernel() {
  using Op =
      typename sentences_of<typename at_t<Culprit, typename flattened<Graph>::entries>::op>::type;
  if constexpr (requires { Op::template require_gpu_kernel<true>(); })
    return Op::template require_gpu_kernel<false>();
  else {
    static_assert(always_false<Op>,
                  "locus: an operation has no GPU kernel and placement is strict; drop strict, "
                  "or give its functor kernels = on_both, an operation that is called element()");
    return false;
  }
}

/// Never defined: the error that names it prints both lists.
template <class First, class Second>
struct device_lists_differ;

/// means: the first (0) or second (1) of two places with different device lists at the culprit
template <class Graph>
constexpr place differing_place(int which) {
  auto const& arrays = unchecked_plan<Graph>;
  plan_view const p = arrays.view();
  place at[2]{};
  auto look = [&](place const& here) {
    if (!here.is_distributed()) return;
    if (at[0].is_nowhere())
      at[0] = here;
    else if (at[1].is_nowhere() && !(here.devices == at[0].devices))
      at[1] = here;
  };
  for (edge const& e : p.operands(p.steps[arrays.found.culprit])) look(p.steps[e.from].where);
  look(p.steps[arrays.found.culprit].where);
  for (root const& r : p.roots) look(r.destination);
  return at[which].is_sharded() || at[which].is_nowhere() ? at[which] : at[which].mirrored();
}
template <class Graph, int Which>
struct differing {
  static constexpr place value = differing_place<Graph>(Which);
};

}  // namespace detail

namespace internal {

/// means: true: the plan of Graph has no error
/// fails: at compile time, one sentence for each plan_error
template <class Graph>
consteval bool require_plan() {
  constexpr verdict found = unchecked_plan<Graph>.found;
  static_assert(found.error != plan_error::too_many_steps,
                "locus: an expression has more than 128 steps; evaluate a part of it with eval(e)");
  static_assert(
      found.error != plan_error::device_lists_differ,
      "locus: operands are distributed over different device lists; gather one first with "
      "to<Device>(x)");
  static_assert(found.error != plan_error::cuts_do_not_meet,
                "locus: operands are cut along axes that do not meet; gather one first with "
                "to<Mirrored<...>>(x)");
  static_assert(found.error != plan_error::stretched_cut,
                "locus: an operand of extent 1 is cut along the axis on which it would stretch; "
                "give each replica a whole one with to<Mirrored<...>>(x)");
  static_assert(
      found.error != plan_error::matmul_cuts,
      "locus: matmul of these cuts would gather an operand; say so with to<Mirrored<...>>(x)");
  static_assert(found.error != plan_error::call_cuts,
                "locus: a call takes values that are cut along axis 0, into as many rows each, and "
                "others whole; bring an operand that lies otherwise with to<Mirrored<...>>(x)");
  static_assert(found.error != plan_error::own_call_cuts,
                "locus: this operation has no kernel for pieces along the cut of its operands; "
                "gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis");
  static_assert(
      found.error != plan_error::view_across_cut,
      "locus: a slice, an at, a reshape or a concatenate goes across the cut; gather first with "
      "to<Device>(x), or write interior<1>(x), slice<0, 1, -1>(x), whose ends the type "
      "knows");
  static_assert(found.error != plan_error::windows_do_not_meet,
                "locus: parts of pieces meet that leave out different numbers of rows; write parts "
                "of one size, as interior<1, 0, 1>(x) and interior<1, 0, -1>(y)");
  static_assert(found.error != plan_error::window_in_own_kernel,
                "locus: a product, a call or a concatenate reads a part of pieces; assign the part "
                "to a tensor with run(into(interior<1>(y), e)) and read that, or gather first with "
                "to<Device>(x)");
  static_assert(found.error != plan_error::window_without_home,
                "locus: a part of a value in pieces has no pieces of its own; write "
                "run(into(interior<1>(y), e)) for a part of as many rows, or fetch(e)");
  static_assert(found.error != plan_error::reads_beyond_margin,
                "locus: a stencil reads rows of other pieces that its operand does not keep; write "
                "Halo<W> last in Sharded<0, ...> of the tensor, as wide as the stencil, and assign "
                "computed operands to such a tensor first");
  static_assert(
      found.error != plan_error::request_on_distributed,
      "locus: on<Device> around a value that is distributed; gather it first with to<Device>(x)");
  static_assert(
      found.error != plan_error::all_reduce_without_terms,
      "locus: all_reduce of a value that is equal on all replicas, or in pieces; reduce its "
      "elements first, as in all_reduce(sum(x))");
  static_assert(found.error != plan_error::no_kernel,
                "locus: an operation has no kernel on any device; say kernels = on_cpu or on_both "
                "in its functor");
  static_assert(
      found.error != plan_error::not_reproducible,
      "locus: an operation of a reproducible plan has other bits on other devices (exp, "
      "log, matmul, functors of your own); compute it apart with eval(e), or write exact<>");
  static_assert(found.error != plan_error::not_reproducible_across_replicas,
                "locus: a sum over replicas is not reproducible, its bits depend on their number; "
                "gather first with to<Device>(x), or write exact<>");
  static_assert(numerics_of<typename Graph::policy>() != numerics::reproducible || !LOCUS_FAST_MATH,
                "locus: reproducible numerics need a compiler that keeps to IEEE 754; leave out "
                "-ffast-math");
  if constexpr (found.error == plan_error::device_lists_differ)
    if constexpr (!differing<Graph, 1>::value.is_nowhere())
      return sizeof(
          device_lists_differ<policy_of_t<differing<Graph, 0>>, policy_of_t<differing<Graph, 1>>>);
  if constexpr (found.error == plan_error::strict_placement)
    return require_gpu_kernel<Graph, found.culprit>();
  if constexpr (found.error == plan_error::strict_on_cpu)
    return require_cpu_kernel<Graph, found.culprit>();
  return found.error == plan_error::none;
}

/// means: the type of Graph knows the extents of every step
template <class Graph>
consteval bool all_static() {
  for (step const& s : unchecked_plan<Graph>.steps)
    if (!s.extents.is_static()) return false;
  return true;
}

/// means: the extents of every step in the constant plan
template <class Graph>
consteval auto extents_of_steps() {
  struct {
    shape of[flattened<Graph>::steps];
  } all{};
  for (int i = 0; i < flattened<Graph>::steps; ++i)
    all.of[i] = unchecked_plan<Graph>.steps[i].extents;
  return all;
}

/// means: the plan of Graph with the launches of its second plan
template <class Graph>
consteval plan_view view_with_second() {
  plan_view p = unchecked_plan<Graph>.view();
  if constexpr (has_second_plan<Graph>) {
    constexpr auto extents = extents_of_steps<second_graph<Graph>>();
    p.launches_otherwise =
        int(count_plan(unchecked_plan<second_graph<Graph>>.view(), extents.of).launches);
  }
  return p;
}

}  // namespace internal

namespace detail {

template <class Graph>
consteval auto write_plan_text() {
  constexpr auto extents = extents_of_steps<Graph>();
  text_buffer<flattened<Graph>::steps * 250 + decltype(make_plan<Graph>())::max_transfers * 120 +
              400>
      out;
  write_plan(out, view_with_second<Graph>(), extents.of, value_of_policy<typename Graph::policy>());
  return out;
}

}  // namespace detail

namespace internal {

/// means: the plan of Graph as text, with room behind it
template <class Graph>
inline constexpr auto roomy_plan_text = write_plan_text<Graph>();
/// units: expressions that a policy rewrote (algebra/graph.hpp)
template <class Graph>
inline constexpr int rewrites_of = 0;

}  // namespace internal

namespace detail {

/// A variable as long as its text: g++ writes a returned constant byte by byte.
template <class Graph>
inline constexpr auto plan_text = [] {
  text_buffer<roomy_plan_text<Graph>.view().size() + 1> out;
  out << roomy_plan_text<Graph>.view();
  return out;
}();

}  // namespace detail

/// means: facts of a graph's plan as static members: plan_of<E>.copies(), or step.copies() for an
///        object made by plan(...)
/// fails: at compile time, for bytes while an extent is dynamic: bytes_moved(e) gives them at run
///        time
template <class Graph>
struct plan_facts {
  static constexpr auto const& arrays = internal::unchecked_plan<Graph>;
  static constexpr bool is_static = internal::all_static<Graph>();
  static constexpr plan_view view() { return arrays.view(); }

  /// units: kernels launched, on each device
  static consteval int launches() { return int(counts().launches); }
  /// units: pairs of steps whose extents the plan takes for equal, although only a run can tell; 0:
  ///        each run launches that many kernels
  static consteval int guards() { return arrays.guard_count; }
  /// units: kernels launched in a run in which a guard does not hold, on each device
  static consteval int launches_otherwise() {
    if constexpr (internal::has_second_plan<Graph>)
      return plan_facts<internal::second_graph<Graph>>::launches();
    else
      return launches();
  }
  /// units: expressions that algebra<> rewrote
  static consteval int rewrites() { return internal::rewrites_of<Graph>; }
  /// units: values or pieces that cross from one device to another; a broadcast to R devices counts
  ///        R times
  static consteval int copies() {
    require_devices<knows_devices(arrays.view())>();
    require_halos();
    return int(counts().copies);
  }
  /// units: tensors whose margins get rows of the neighbours; a run counts one whose margins are
  ///        still valid as reused
  static consteval int halo_exchanges() { return int(counts().halo_exchanges); }
  /// units: all-reduces; several values in one bucket count once
  static consteval int all_reduces() { return int(counts().all_reduces); }
  /// units: steps that the rules place on a GPU and that have no kernel there
  static consteval int fallbacks() { return int(counts().fallbacks); }
  /// units: bytes of payload that cross devices by copies
  static consteval std::int64_t bytes_moved() {
    require_devices<knows_devices(arrays.view())>();
    return counts_with_bytes<false>().bytes_moved;
  }
  /// units: bytes that each replica contributes to reductions over replicas
  static consteval std::int64_t bytes_reduced() { return counts_with_bytes<true>().bytes_reduced; }
  /// units: bytes that kernels read and write, arithmetic operations, over all devices
  static consteval std::int64_t bytes_read() { return work_of_static().bytes_read; }
  static consteval std::int64_t bytes_written() { return work_of_static().bytes_written; }
  static consteval std::int64_t flops() { return work_of_static().flops; }
  /// units: bytes of results, temporaries and reductions over replicas on d, in blocks of 256;
  ///        without operands and workspaces of kernels (cub_workspace). The bytes of reductions are
  ///        those of distinct cards with NCCL (fewer where GPUs share a card, more in ranked order,
  ///        on /CPU:0 without NCCL)
  static consteval std::int64_t peak_bytes(device d) {
    require_static();
    require_devices<knows_replicas(arrays.view())>();
    auto p = arrays;
    std::int64_t bytes = arena_bytes(p.view(), p.all_slots(), d);
    for (transfer const& t : p.view().transfers) bytes += reduction_bytes(p.view(), t, d);
    for (root const& r : p.view().roots)
      if (r.destination.is_nowhere() && r.result.devices.contains(d))
        bytes +=
            round_up(local_bytes(p.steps[r.from].extents, p.steps[r.from].element_bytes, r.result));
    return bytes;
  }
  template <class Policy>
  static consteval std::int64_t peak_bytes() {
    return peak_bytes(Policy::value.at(0));
  }
  /// units: bytes of workspace for cub::DeviceReduce on d, at most: the number differs by card. It
  ///        is not part of peak_bytes; launches use it one after the other.
  static consteval std::int64_t cub_workspace(device d) {
    plan_view const p = view();
    constexpr auto extents = internal::extents_of_steps<Graph>();
    constexpr bool reproducible = numerics_of<typename Graph::policy>() == numerics::reproducible;
    std::int64_t most = 0;
    for (action const& a : p.actions) {
      if (a.kind != action_kind::launch || !p.steps[a.what].where.devices.contains(d)) continue;
      int const folds = library_kernel_of(p, a.what, extents.of, reproducible).folds;
      std::int64_t const bytes = folds > 0 ? folds * most_cub_totals * 16 + 256 : 0;
      if (bytes > most) most = bytes;
    }
    return most;
  }
  template <class Policy>
  static consteval std::int64_t cub_workspace() {
    return cub_workspace(Policy::value.at(0));
  }

  /// means: the place of the first root's value
  static consteval place result() { return arrays.roots[0].result; }
  /// means: the place of a step: by number, or the first of that name
  static consteval place device_of(int i) { return arrays.steps[i].where; }
  static consteval place device_of(std::string_view name) {
    for (step const& s : arrays.steps)
      if (s.name == name) return s.where;
    throw "locus: no step of this plan has that name; print plan_of<E>.explain()";
  }
  /// means: every kernel runs on that device
  template <class Policy>
  static consteval bool all_on() {
    for (step const& s : arrays.steps)
      if (s.region >= 0 && !(s.where.devices == Policy::value.devices)) return false;
    return true;
  }
  /// means: binding must check whether a destination overlaps an operand
  static consteval bool may_alias() { return locus::may_alias(arrays.view()); }

  /// means: the plan as text
  static constexpr auto const& explain() { return detail::plan_text<Graph>; }
  /// means: why the steps of that name run on their devices
  static constexpr auto why(std::string_view name) {
    text_buffer<1000> out;
    detail::write_why(out, arrays.view(), name);
    return out;
  }

 private:
  static consteval tally counts() {
    constexpr auto extents = internal::extents_of_steps<Graph>();
    return count_plan(arrays.view(), extents.of);
  }
  template <bool Known = is_static>
  static consteval void require_static() {
    static_assert(
        Known, "locus: an extent is open, so bytes are no constant; call bytes_moved(e), or assert "
               "counts such as copies()");
  }
  template <bool Known>
  static consteval void require_devices() {
    static_assert(Known,
                  "locus: this count depends on which devices AllGpus or GpuDevice<dyn> stand for; "
                  "call tally_of(e), or assert launches(), all_reduces()");
  }
  static consteval void require_halos() {
    constexpr auto extents = internal::extents_of_steps<Graph>();
    static_assert(knows_halos(arrays.view(), extents.of),
                  "locus: an extent is open, so the parts of a halo exchange are no constant; call "
                  "tally_of(e), or assert halo_exchanges(), launches()");
  }
  template <bool Reduced>
  static consteval tally counts_with_bytes() {
    constexpr auto extents = internal::extents_of_steps<Graph>();
    require_static<knows_bytes(arrays.view(), extents.of, Reduced)>();
    return counts();
  }
  static consteval work work_of_static() {
    require_static();
    require_devices<knows_replicas(arrays.view())>();
    constexpr auto extents = internal::extents_of_steps<Graph>();
    return count_work(arrays.view(), extents.of);
  }
};

/// means: the graph of one expression, evaluated (Destination = nowhere) or assigned
template <class E, class Destination = nowhere, placement_policy Policy = default_policy>
using graph_of = graph<Policy, root_of<expression_of_t<E>, Destination>>;

/// means: the plan of expression (or tensor) type E     fails: at compile time, when a pass refuses
///        it
template <class E, class Destination = nowhere, placement_policy Policy = default_policy>
  requires(internal::require_plan<graph_of<E, Destination, Policy>>())
inline constexpr plan_facts<graph_of<E, Destination, Policy>> plan_of{};

/// means: the place of the value of E after evaluation
template <class E, class Destination = nowhere, placement_policy Policy = default_policy>
inline constexpr place device_of = plan_of<E, Destination, Policy>.result();

}  // namespace locus
