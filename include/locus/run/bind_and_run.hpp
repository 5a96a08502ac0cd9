// SPDX-License-Identifier: Apache-2.0
// The code of a graph: its constant program, and the arrays of one run on the stack.
#pragma once
#include <locus/backend/gpus.hpp>            // note_gpus
#include <locus/collective/fold.hpp>         // fold_replicas
#include <locus/plan/plan.hpp>               // plan_facts, require_plan
#include <locus/run/broken_guard.hpp>        // note_unfused, refuse_extents
#include <locus/run/crossing.hpp>            // crossing
#include <locus/run/open_plan.hpp>           // fill_in
#include <locus/run/region.hpp>              // region_code
#include <locus/run/requests.hpp>            // hold_to_requests
#include <locus/run/run.hpp>                 // run_plan, crossings, reductions
#include <locus/run/statement_of_maps.hpp>   // map_statement
#include <locus/run/statement_of_parts.hpp>  // part_statement
#include <locus/run/statement_of_plan.hpp>   // plan_statement
#include <locus/run/statement_of_roots.hpp>  // roots_statement

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

template <class Graph>
struct graph_code {
  static constexpr auto const& arrays = unchecked_plan<Graph>;
  static constexpr int steps = flattened<Graph>::steps, transfers = arrays.transfer_count;
  static constexpr int values = steps + transfers;
  using entries = typename flattened<Graph>::entries;
  using lets = typename Graph::lets;

  static constexpr int find_replicas() {
    int n = 1;
    for (step const& s : arrays.steps) n = s.where.local_count() > n ? s.where.local_count() : n;
    for (int t = 0; t < transfers; ++t)
      n = arrays.transfers[t].arrives.local_count() > n ? arrays.transfers[t].arrives.local_count()
                                                        : n;
    return n;
  }
  static constexpr int replicas = find_replicas();
  static constexpr bool find_folds() {
    for (int t = 0; t < transfers; ++t)
      if (is_reduction(arrays.transfers[t].how)) return true;
    return false;
  }
  static constexpr bool folds = find_folds();
  static constexpr bool find_gpus() {
    for (step const& s : arrays.steps)
      if (has_gpu(s.where.devices)) return true;
    for (int t = 0; t < transfers; ++t)
      if (has_gpu(arrays.transfers[t].arrives.devices)) return true;
    for (root const& r : arrays.roots)
      if (has_gpu(r.result.devices) || has_gpu(r.destination.devices)) return true;
    return false;
  }
  static constexpr bool names_gpu = find_gpus();
  static constexpr bool is_static = all_static<Graph>();
  static constexpr bool is_open = has_open_places(arrays.view());
  /// the graph computes nothing: its root is a view of one tensor on an open device. The
  /// destination may be another device of that kind
  static constexpr bool find_whether_views() {
    plan_view const p = arrays.view();
    int leaves = 0;
    for (step const& s : p.steps) {
      leaves += s.kind == step_kind::leaf;
      if (s.kind != step_kind::leaf && !(s.is_view() && s.region < 0)) return false;
    }
    return leaves == 1 && p.roots.count == 1 && p.transfers.count == 0 && p.actions.count == 0 &&
           p.roots[0].result.is_single() && p.roots[0].result.is_open();
  }
  static constexpr bool only_views = find_whether_views();
  static constexpr bool has_requests = detail::has_requests(arrays.view());
  struct nothing {};
  using devices_of_run = std::conditional_t<is_open, open_devices, nothing>;

  struct tables {
    void (*launches[steps])(launch const&){};
    void (*folds[transfers + 1])(launch_site const&, replica_terms const&){};
    slot memory_slots[values + 1]{};
    shape extents[steps]{};
  };
  template <int Idx>
  static constexpr void add_launch(tables& t) {
    constexpr step const& s = arrays.steps[Idx];
    if constexpr (s.region == Idx && s.kind != step_kind::concatenate &&
                  s.kind != step_kind::reshape)
      t.launches[Idx] = &region_code<Graph, Idx>::run;
  }
  template <int T>
  static constexpr void add_fold(tables& t) {
    constexpr transfer_kind how = arrays.transfers[T].how;
    constexpr int from = arrays.transfers[T].from;
    if constexpr (how == transfer_kind::all_reduce || how == transfer_kind::reduce ||
                  how == transfer_kind::reduce_scatter)
      t.folds[T] = &fold_replicas<arrays.steps[from].where.op, typename at_t<from, entries>::type>;
  }
  static constexpr tables make_tables() {
    tables t;
    [&]<std::size_t... Idx>(std::index_sequence<Idx...>) {
      (add_launch<int(Idx)>(t), ...);
    }(std::make_index_sequence<steps>{});
    [&]<std::size_t... T>(std::index_sequence<T...>) {
      (add_fold<int(T)>(t), ...);
    }(std::make_index_sequence<transfers>{});
    for (int v = 0; v < values; ++v) t.memory_slots[v] = arrays.memory_slots[v];
    for (int i = 0; i < steps; ++i) t.extents[i] = arrays.steps[i].extents;
    return t;
  }
  static constexpr tables all = make_tables();
  static constexpr tally planned = count_plan(arrays.view(), all.extents);

  static constexpr program make_program() {
    program p;
    p.plan = view_with_second<Graph>();
    p.memory_slots = {const_cast<slot*>(all.memory_slots), values};
    p.extents = is_static ? all.extents : nullptr;
    p.replicas = replicas;
    p.launches = all.launches;
    p.folds = all.folds;
    if constexpr (transfers > 0) p.crossings = &detail::crossings;
    if constexpr (folds) p.reductions = &detail::reductions;
    p.may_alias = locus::may_alias(arrays.view());
    p.over_ranks = reaches_ranks(arrays.view());
    p.planned = planned;
    return p;
  }

  static constexpr program code = make_program();

  /// means: binds the expressions of the lets, which the roots contain, then the roots
  template <class... Lets, class... Es>
  static void bind_all(binder& b, type_list<Lets...>, Es const&... es) {
    if constexpr (sizeof...(Lets) > 0) {
      void const* cells[sizeof...(Lets)]{};
      (find_lets_in<lets>(es, cells), ...);
      int k = 0;
      (static_cast<typename Lets::expression_type const*>(cells[k++])->bind(b), ...);
    }
    (es.bind(b), ...);
  }

  /// means: calls see(seen_plan) for the plan with the extents, addresses and devices that the
  ///        leaves have now; targets: the destinations, or null. Runs nothing
  template <class See, class... Es>
  static auto look(target const* targets, See const& see, Es const&... es) {
    local_value values_of[values * replicas];
    shape extents[steps];
    void const* objects[steps];
    devices_of_run open;
    binder b{values_of, extents, objects, replicas};
    if constexpr (is_open) b.open = &open, open.ranks = runtime::this_rank;
    bind_all(b, lets{}, es...);
    infer_extents(arrays.view(), extents, objects);
    if constexpr (has_second_plan<Graph>)
      if (find_broken(arrays.view().guards, extents))
        return graph_code<second_graph<Graph>>::look(targets, see, es...);
    if constexpr (is_open) {
      auto bound = arrays;
      if (open.all_gpus.size() == 0) open.all_gpus = runtime::visible_gpus();
      if constexpr (only_views)
        if (targets && !(targets[0].where == open.of(arrays.roots[0].result))) {
          crossing const across(value_that_crosses(extents, open), targets[0].where);
          return see(seen_plan{across.plan(), open, across.counts()});
        }
      for (int k = 0; k < flattened<Graph>::roots && targets; ++k)
        bind_target(b, arrays.roots[k], targets[k]);
      open_devices with_names = open;  // a device that only a destination names stays open
      if (open.gpu.is_none()) with_names.gpu = open_gpu;
      if (open.cpu.is_none()) with_names.cpu = open_cpu;
      fill_in(bound.view(), with_names);
      plan_view const plan = bound.view();
      return see(seen_plan{plan, open, count_bound(plan, values_of, extents, objects)});
    } else {
      plan_view const plan = arrays.view();
      return see(seen_plan{plan, {}, count_bound(plan, values_of, extents, objects)});
    }
  }

  /// means: runs the plan: binds leaves and operations, asks for each root's destination, walks the
  ///        actions. find_target(k, extents, where): the destination of root k, a target; `where`
  ///        is open if only the destination names the device. site: the call site of the statement
  template <class FindTarget, class... Es>
  static void run(call_site site, FindTarget const& find_target, Es const&... es) {
    if constexpr (internal::require_plan<Graph>())
      run(std::index_sequence_for<Es...>{}, site, find_target, es...);
  }

 private:
  static tally count_bound(plan_view const& plan, local_value* values_of, shape const* extents,
                           void const* const* objects) {
    slot memory_slots[values];
    return count_run(plan, values_of, replicas, extents, objects, {memory_slots, values});
  }
  template <std::size_t... K, class FindTarget, class... Es>
  static void run(std::index_sequence<K...>, call_site site, FindTarget const& find_target,
                  Es const&... es) {
    runtime::note_gpus<names_gpu>();
    local_value values_of[values * replicas];
    shape extents[is_static ? 1 : steps];
    void const* objects[steps];
    devices_of_run open;
    binder b{values_of, is_static ? nullptr : extents, objects, replicas};
    if constexpr (is_open) b.open = &open, open.ranks = runtime::this_rank;
    bind_all(b, lets{}, es...);
    if constexpr (!is_static) infer_extents(code.plan, extents, objects);
    shape const* const known = is_static ? code.extents : extents;
    if constexpr (arrays.guard_count > 0)
      if (guard const* const broken = find_broken(code.plan.guards, known)) {
        if constexpr (!has_second_plan<Graph>) refuse_extents(code.plan, *broken, known);
        note_unfused(code.plan, *broken, known, site);
        if constexpr (has_second_plan<Graph>)
          return graph_code<second_graph<Graph>>::run(site, find_target, es...);
      }
    if constexpr (is_open)
      if (open.all_gpus.size() == 0) open.all_gpus = runtime::visible_gpus();
    if constexpr (has_requests)
      if (!runtime::placement_is_soft()) {
        runtime::devices();
        if constexpr (is_open)
          hold_to_requests(code.plan, open, site);
        else
          hold_to_requests(code.plan, {}, site);
      }
    target const targets[] = {
        find_target(int(K), known[code.plan.roots[K].from], place_of_root<int(K)>(open))...};
    if constexpr (only_views)
      if (!(targets[0].where == open.of(code.plan.roots[0].result)))
        return cross(values_of, known, objects, open, targets[0], site);
    if constexpr (is_open) (bind_target(b, code.plan.roots[K], targets[K]), ...);
    if constexpr (plan_statement<Graph>::possible)
      if (plan_statement<Graph>::run(code, values_of, known, objects, targets[0])) return;
    if constexpr (roots_statement<Graph>::possible)
      if (roots_statement<Graph>::run(code, values_of, known, objects, targets)) return;
    local_layout layouts[values * replicas];
    stamp ready[values * replicas];
    slot memory_slots[is_static ? 1 : values];
    run_arrays const run_in{values_of, layouts, ready, known, memory_slots, objects};
    run_watch seen;
    seen.site = site;
    if (unsigned const watchers = runtime::watched()) {
      static plan_record record{&code, value_of_policy<typename Graph::policy>()};
      seen = watch_run(watchers, record, site);
    }
    if constexpr (is_open) {
      auto bound = arrays;
      program with_devices = code;
      with_devices.plan = bound.view(), with_devices.extents = nullptr;
      with_devices.plan.launches_otherwise = code.plan.launches_otherwise;
      with_devices.open = open;
      fill_in(with_devices.plan, open);
      run_arrays run_bound = run_in;
      run_bound.memory_slots = bound.memory_slots;
      detail::run_plan(with_devices, run_bound, targets, seen);
    } else
      detail::run_plan(code, run_in, targets, seen);
  }
  template <int K>
  static place place_of_root(devices_of_run const& open) {
    constexpr place where = arrays.roots[K].result;
    if constexpr (where.is_open())
      return open.of(where).at(0).is_none() ? where : open.of(where);
    else
      return where;
  }
  /// the value of the only root, on the device of its tensor
  static step value_that_crosses(shape const* extents, devices_of_run const& open) {
    short const i = arrays.roots[0].from;
    step s = arrays.steps[i];
    s.where = open.of(s.where), s.extents = extents[i];
    return s;
  }
  /// means: copies the elements of a view to the destination on another device
  [[gnu::cold]] static void cross(local_value* values_of, shape const* extents,
                                  void const* const* objects, devices_of_run const& open,
                                  target const& to, call_site site) {
    local_layout layouts[steps];
    plan_view const p = arrays.view();
    for (short i = 0; i < steps; ++i)
      if (p.steps[i].is_view())
        values_of[i] = view_value(p, i, 0, values_of[p.operands(p.steps[i])[0].from], extents,
                                  objects, layouts[i]);
    crossing(value_that_crosses(extents, open), to.where)
        .run(&values_of[arrays.roots[0].from], to, site);
  }
  static void bind_target(binder& b, root const& r, target const& to) {
    b.at = r.from;
    if (r.result.is_open()) b.set_devices(r.result.devices, to.where.devices, "the destination");
  }
};

/// means: runs the plan of Graph: see graph_code::run
template <class Graph, class FindTarget, class... Es>
void run_graph(call_site site, FindTarget const& find_target, Es const&... es) {
  if constexpr (is_local_statement<Graph>)
    map_statement<Graph>::run(site, find_target, es...);
  else if constexpr (is_statement_of_parts<Graph>)
    part_statement<Graph>::run(
        find_target, [&](auto const& find) { graph_code<Graph>::run(site, find, es...); }, es...);
  else
    graph_code<Graph>::run(site, find_target, es...);
}

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
