// SPDX-License-Identifier: Apache-2.0
// From the steps of a region to one kernel: its operands at each level, and its functor as a tree.
// Only here steps become types again.
#pragma once
#include <locus/backend/devices.hpp>     // find_device
#include <locus/engine/launch.hpp>       // launch_work, run_on_host
#include <locus/machine/machine_of.hpp>  // machine_of
#include <locus/plan/graph.hpp>          // unchecked_plan, flattened
#include <locus/run/call_tiles.hpp>      // call_tile, call_part
#include <locus/run/operands.hpp>        // region_facts, operand_placer
#include <locus/run/program.hpp>         // launch, frame
#include <locus/run/values.hpp>          // local_extents
#include <locus/work/call_work.hpp>      // call_work
#include <locus/work/ordered_work.hpp>   // ordered_sum_work
#include <locus/work/reducer.hpp>        // reducer, with_index_fn
#include <locus/work/rounding.hpp>       // functor_under
#include <locus/work/stage.hpp>          // stage, apply
#include <locus/work/work.hpp>           // map_work, reduce_work, rows_work, matmul_work

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

/// means: the fold of Op ignores NaN, and the steps behind the fold bring NaN back.
/// The requires-expression stands outside of region_code: inside of that class it was false for
/// nvcc's front end and true for the host compiler, and the host launched a kernel that nvcc had
/// not made.
template <class Op>
inline constexpr bool leaves_nan_out = requires { Op::named::leaves_nan_out; };

/// The code of the region that ends in step Root.
template <class Graph, int Root>
struct region_code {
  static constexpr auto const& arrays = unchecked_plan<Graph>;
  static constexpr plan_view p = arrays.view();
  using entries = typename flattened<Graph>::entries;
  static constexpr int steps = flattened<Graph>::steps;
  static constexpr numerics numbers = numerics_of<typename Graph::policy>();
  template <int Idx>
  using type_of = typename at_t<Idx, entries>::type;
  template <int Idx>
  using computed = compute_t<type_of<Idx>>;
  template <int Idx>
  using op_of = typename at_t<Idx, entries>::op;

  static constexpr short value_of(edge const& e) {
    return e.by >= 0 ? static_cast<short>(steps + e.by) : e.from;
  }
  /// means: step i is a node of the region's trees
  static constexpr bool is_member(short i) {
    return p.steps[i].region == Root && p.steps[i].kind != step_kind::matmul;
  }

  static constexpr region_facts facts = facts_of_region(p, Root);
  /// the number of pieces is that of the GPUs, or of the ranks, when the plan runs
  static constexpr bool open_pieces =
      p.steps[Root].where.devices.is_all_gpus() || p.steps[Root].where.devices.is_over_ranks();

  // ---- stages: trees over one kind of inputs that share values ----
  // Stage `elements` computes element outputs and the operands of all folds; stage K of a chain,
  // the operand of fold K; stage `end`, the results behind the folds.
  static constexpr int elements = -1, end = -2;
  /// the members that a stage computes, and the number of readers of each
  struct stage_facts {
    bool in[steps]{};
    int readers[steps]{};
    short slot_steps[steps]{};
    int slot_count = 0;
    constexpr int slot_of(short i) const {
      for (int k = 0; k < slot_count; ++k)
        if (slot_steps[k] == i) return k;
      return -1;
    }
  };
  /// means: adds the step behind edge e to the stage, if it is a member, with one more reader
  static constexpr void add_to(stage_facts& s, edge const& e) {
    if (!is_member(e.from) || e.by >= 0) return;
    ++s.readers[e.from];
    if (p.levels[e.from] != level::fold) s.in[e.from] = true;
  }
  static constexpr stage_facts find_stage(int stage) {
    stage_facts s;
    for (int k = 0; k < facts.fold_count; ++k)
      if (stage == k || (stage == elements && !facts.chained)) add_to(s, fold_edge(k));
    bool const writes_elements = stage == (facts.chained ? end : elements);
    for (int k = 0; k < facts.output_count; ++k)
      if (k < facts.element_outputs ? writes_elements : stage == end)
        add_to(s, edge{facts.outputs[k]});
    for (short i = Root; i >= 0; --i)
      if (s.in[i])
        for (edge const& e : p.operands(p.steps[i])) add_to(s, e);
    for (short i = 0; i <= Root; ++i)
      if (s.in[i] && s.readers[i] > 1) s.slot_steps[s.slot_count++] = i;
    return s;
  }
  template <int Stage>
  static constexpr stage_facts stage_of = find_stage(Stage);

  static void const* object(frame const& f, int i) { return f.objects[i]; }

  /// the functor of step Idx
  template <int Idx>
  static auto functor_of(frame const& f) {
    using F = typename kernel::functor_under<numbers, typename op_of<Idx>::functor>::type;
    if constexpr (std::is_empty_v<F> && std::is_default_constructible_v<F>)
      return F{};
    else
      return static_cast<op_of<Idx> const*>(object(f, Idx))->f;
  }
  /// member Idx in a stage: the value of a fold, a slot, or a tree
  template <int Stage, int Idx>
  static auto member(frame const& f) {
    using T = computed<Idx>;
    if constexpr (p.levels[Idx] == level::fold)
      return kernel::fold_value<facts.fold_number(Idx), T>{};
    else if constexpr (stage_of<Stage>.slot_of(Idx) >= 0)
      return kernel::slot_value<stage_of<Stage>.slot_of(Idx), T>{};
    else
      return tree<Stage, Idx>(f);
  }
  /// operand K of step Idx: a constant, an input, or a member
  template <int Stage, int Idx, int K>
  static auto operand(frame const& f) {
    constexpr edge e = p.edges[p.steps[Idx].first_edge + K];
    constexpr int from = e.from;
    using T = computed<from>;
    if constexpr (p.steps[from].kind == step_kind::scalar)
      return kernel::constant<T>{static_cast<op_of<from> const*>(object(f, from))->value};
    else if constexpr (!is_member(from) || e.by >= 0)
      return kernel::input<facts.number_of(value_of(e), level_read_by(p, Idx)), type_of<from>>{};
    else
      return member<Stage, from>(f);
  }
  /// the tree of a member step
  template <int Stage, int Idx>
  static auto tree(frame const& f) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return apply_of<computed<Idx>>(functor_of<Idx>(f), operand<Stage, Idx, int(K)>(f)...);
    }(std::make_index_sequence<std::size_t(p.steps[Idx].arity)>{});
  }
  template <class T, class F, class... Args>
  static auto apply_of(F functor, Args... args) {
    return kernel::apply<T, F, Args...>{functor, make_pack(args...)};
  }
  template <class Pack, class... Slots, class... Tops>
  static auto stage_from(Pack slot_trees, type_list<Slots...>, Tops... tops) {
    return kernel::stage<type_list<Slots...>, type_list<Tops...>>{slot_trees, make_pack(tops...)};
  }
  /// the stage whose results are the trees `tops`
  template <int Stage, class... Trees>
  static auto with_slots(frame const& f, Trees... tops) {
    return with_slots<Stage>(std::make_index_sequence<std::size_t(stage_of<Stage>.slot_count)>{}, f,
                             tops...);
  }
  template <int Stage, std::size_t... S, class... Trees>
  static auto with_slots(std::index_sequence<S...>, frame const& f, Trees... tops) {
    return stage_from(make_pack(tree<Stage, stage_of<Stage>.slot_steps[S]>(f)...),
                      type_list<decltype(tree<Stage, stage_of<Stage>.slot_steps[S]>(f))...>{},
                      tops...);
  }

  /// member Idx, rounded to the type that is stored
  template <int Stage, int Idx>
  static auto output(frame const& f) {
    auto tree = member<Stage, Idx>(f);
    if constexpr (is_narrow_v<type_of<Idx>>)
      return kernel::rounded<type_of<Idx>, decltype(tree)>{tree};
    else
      return tree;
  }

  // ---- operands ----
  template <int K, level At>
  static auto input_kind() {
    constexpr region_input in = facts.nth(K, At);
    if constexpr (in.is_index)
      return kernel::own_offset{};
    else
      return kernel::elements_of<type_of<in.from>>{};
  }
  template <level At, std::size_t... K>
  static auto input_kinds(std::index_sequence<K...>) {
    return type_list<decltype(input_kind<int(K), At>())...>{};
  }
  template <level At>
  using kinds = decltype(input_kinds<At>(std::make_index_sequence<std::size_t(facts.count(At))>{}));

  template <int Idx>
  static constexpr bool is_closure() {
    if constexpr (p.steps[Idx].kind == step_kind::map)
      return is_nvcc_closure<typename op_of<Idx>::functor>;
    else
      return false;
  }
  /// nvcc gives the host compiler a wrapper class instead of a lambda for both sides, and the
  /// wrapper is not trivially copyable; nvcc's own front end checks the assertion below with the
  /// lambda itself
  template <std::size_t... Idx>
  static constexpr bool has_closure(std::index_sequence<Idx...>) {
    return (is_closure<int(Idx)>() || ...);
  }
  template <class Work>
  static void send(launch const& what, Work const& work) {
    if constexpr (Work::has_cuda_kernel && !std::is_trivially_copyable_v<Work>)
      static_assert(has_closure(std::make_index_sequence<std::size_t(Root + 1)>{}),
                    "locus: a functor that runs on GPUs is copied as bytes; capture values, not "
                    "owners of memory");
    if constexpr (has_gpu(p.steps[Root].where.devices))
      launch_work(what.site, work);
    else
      run_on_host(work);
  }

  // ---- the kinds of kernels ----
  template <class Work>
  static void place_and_send(launch const& what, Work& work) {
    auto place_with = [&](region_facts const& here) {
      operand_placer const placer(*what.of, here, what.replica);
      work.over = placer.over;
      placer.place_all(work.operands);
      if constexpr (facts.fold_count == 0 && facts.space_place.is_sharded())
        if (what.is_part()) placer.take_rows(work.over, work.operands, what.begin, what.end);
    };
    if constexpr (open_pieces)
      place_with(facts.over(what.of->of->open));
    else
      place_with(facts);
    if constexpr (facts.product < 0)
      send(what, work);
    else if constexpr (is_product_with_row(p, facts.product))
      send_with_row(what, work);
    else
      send_in_panels(what, work);
  }
  template <class Work>
  static void send_in_panels(launch const& what, Work const& work) {
    constexpr int product = facts.product;
    constexpr array_view<edge> e = p.operands(p.steps[product]);
    frame const& f = *what.of;
    send(what, panel_work<type_of<product>, facts.number_of(product, level::element), Work>{
                   work, matrix_of(f.value(value_of(e[0]), what.replica)),
                   matrix_of(f.value(value_of(e[1]), what.replica))});
  }
  /// means: a library computes the product, its row and its relu in one kernel; without such a
  ///        kernel the map adds the row in place
  template <class Work>
  static void send_with_row(launch const& what, Work const& work) {
    constexpr int product = facts.product;
    constexpr array_view<edge> e = p.operands(p.steps[product]);
    frame const& f = *what.of;
    kernel::matrix const c = matrix_of(f.value(product, what.replica));
    bool added = false;
    kernel::product_row row;
    constexpr int added_row = 1 - facts.number_of(product, level::element);
    kernel::access const &of_row = work.operands[added_row], &to = work.operands[2];
    product_end const ends = end_of_product(f);
    bool const alone = c.columns <= 1 || of_row.stride[1] == 1;
    if (alone && c.data == to.data && ends != product_end::chosen)
      row = {of_row.data, ends == product_end::relu, &added};
    send(what, matmul_work<type_of<product>>{c,
                                             matrix_of(f.value(value_of(e[0]), what.replica)),
                                             matrix_of(f.value(value_of(e[1]), what.replica)),
                                             {},
                                             row});
    if (!added) send(what, work);
  }
  /// the operation behind the row; chosen: an operation that no library has
  static product_end end_of_product(frame const& f) {
    constexpr product_end known = p.steps[Root].ends;
    if constexpr (known == product_end::row)
      return product_end::none;
    else if constexpr (known == product_end::chosen) {
      product_end const now = functor_of<Root>(f).end_of_product();
      bool const keeps_nan = now != product_end::relu || numbers == numerics::relaxed;
      return keeps_nan ? now : product_end::chosen;
    } else
      return known;
  }
  static kernel::matrix matrix_of(local_value const& v, int rank = 2) {
    int const row = rank - 2, column = rank - 1;
    return {v.data, v.extents[row], v.extents[column], v.strides[row], v.strides[column]};
  }
  /// units: elements from one matrix of a batch to the next; 0: the whole batch uses one matrix
  static std::int64_t batch_step(local_value const& v, int rank) {
    return rank == 3 && v.extents[0] != 1 ? v.strides[0] : 0;
  }
  using element_outputs = std::make_index_sequence<std::size_t(facts.element_outputs)>;
  using row_outputs =
      std::make_index_sequence<std::size_t(facts.output_count - facts.element_outputs)>;
  using all_folds = std::make_index_sequence<std::size_t(facts.fold_count)>;
  template <int First, std::size_t... M>
  static auto output_types(std::index_sequence<M...>) {
    return type_list<type_of<facts.outputs[First + int(M)]>...>{};
  }
  using element_types = decltype(output_types<0>(element_outputs{}));
  using row_types = decltype(output_types<facts.element_outputs>(row_outputs{}));

  template <std::size_t... M>
  static void run_map(launch const& what, std::index_sequence<M...>) {
    auto stage = with_slots<elements>(*what.of, output<elements, facts.outputs[M]>(*what.of)...);
    map_work<decltype(stage), kinds<level::element>, element_types, facts.all_on_gpu> work(stage);
    place_and_send(what, work);
  }

  static constexpr edge fold_edge(int fold) {
    return p.edges[p.steps[facts.folds[fold]].first_edge];
  }
  template <int Fold>
  using operand_type = computed<fold_edge(Fold).from>;
  template <int Fold>
  using reducer_of = kernel::reducer<
      p.steps[facts.folds[Fold]].combines,
      std::conditional_t<facts.ranks, ranked<operand_type<Fold>>, operand_type<Fold>>>;
  /// the reducer of a row that lies whole on one replica
  template <int Fold>
  static auto row_reducer() {
    if constexpr (std::is_floating_point_v<operand_type<Fold>> &&
                  leaves_nan_out<op_of<facts.folds[Fold]>>)
      return std::type_identity<kernel::largest_number<operand_type<Fold>>>{};
    else
      return std::type_identity<reducer_of<Fold>>{};
  }
  /// means: the plan is reproducible, and the bits of the fold depend on the order of adding
  template <int Fold>
  static constexpr bool is_ordered_sum =
      numbers == numerics::reproducible && is_floating_v<operand_type<Fold>> &&
      p.steps[facts.folds[Fold]].combines == reduction::sum;
  /// the elements that a fold combines; of a first_max, with their numbers
  template <int Stage, int Fold>
  static auto folded(frame const& f) {
    auto values = operand<Stage, facts.folds[Fold], 0>(f);
    if constexpr (facts.ranks)
      return apply_of<ranked<operand_type<Fold>>>(
          kernel::with_index_fn{}, values,
          kernel::input<facts.count(level::element), std::int64_t>{});
    else
      return values;
  }
  /// the stage behind the folds: rows, or the elements of a chain
  template <std::size_t... M>
  static auto end_stage(frame const& f, std::index_sequence<M...>) {
    constexpr int first = facts.chained ? 0 : facts.element_outputs;
    return with_slots<end>(f, output<end, facts.outputs[first + int(M)]>(f)...);
  }
  /// the divisor of a mean: the elements of the whole fold, over all replicas; -1 for other folds
  template <int Fold>
  static double mean_count(frame const& f) {
    constexpr int step = facts.folds[Fold];
    if constexpr (!op_of<step>::averages)
      return -1;
    else {
      shape const& from = f.extents[fold_edge(Fold).from];
      double n = 1;
      for (int d = 0; d < from.rank; ++d)
        n *= has_axis(p.steps[step].axes, d) ? static_cast<double>(from.extent[d]) : 1;
      return n;
    }
  }
  /// means: the space has axes, and all of them are folded
  static constexpr bool folds_all = facts.fold_count > 0 && facts.axes != 0 &&
                                    facts.axes == all_axes(p.steps[facts.space_step].extents.rank);
  using fold_inputs =
      std::conditional_t<facts.ranks,
                         concatenate_t<kinds<level::element>, type_list<kernel::own_offset>>,
                         kinds<level::element>>;

  template <std::size_t... F, std::size_t... M>
  static void run_reduce(launch const& what, std::index_sequence<F...>, std::index_sequence<M...>) {
    frame const& f = *what.of;
    auto stage = with_slots<elements>(f, folded<elements, int(F)>(f)...,
                                      output<elements, facts.outputs[M]>(f)...);
    auto rest = end_stage(f, row_outputs{});
    if constexpr (is_ordered_sum<0>) {
      ordered_sum_work<operand_type<0>, decltype(stage), decltype(rest), fold_inputs,
                       kinds<level::row>, row_types, facts.all_on_gpu>
          work(stage, rest, mean_count<0>(f));
      place_and_send(what, work);
    } else {
      reduce_work<type_list<reducer_of<int(F)>...>, decltype(stage), decltype(rest), fold_inputs,
                  kinds<level::row>, element_types, row_types, facts.all_on_gpu, folds_all>
          work(stage, rest, {mean_count<int(F)>(f)...});
      place_and_send(what, work);
    }
  }
  template <int Fold>
  static auto row_fold_of(frame const& f, int replica) {
    auto stage = with_slots<Fold>(f, folded<Fold, Fold>(f));
    shape const& from = f.extents[fold_edge(Fold).from];
    std::int64_t extents[max_rank]{};
    constexpr edge e = fold_edge(Fold);
    constexpr place where = e.by >= 0 ? p.transfers[e.by].arrives : p.steps[e.from].where;
    local_extents(from, open_pieces ? f.of->open.of(where) : where, replica, extents);
    return host::row_fold<typename decltype(row_reducer<Fold>())::type, decltype(stage)>{
        stage, extents[from.rank - 1], mean_count<Fold>(f)};
  }
  template <std::size_t... F>
  static void run_rows(launch const& what, std::index_sequence<F...>) {
    constexpr bool writes_elements = facts.element_outputs > 0;
    using outputs = std::conditional_t<writes_elements, element_types, row_types>;
    frame const& f = *what.of;
    auto last = end_stage(f, std::make_index_sequence<std::size_t(facts.output_count)>{});
    rows_work<writes_elements, type_list<decltype(row_fold_of<int(F)>(f, 0))...>, decltype(last),
              kinds<level::element>, kinds<level::row>, outputs, facts.all_on_gpu>
        work(make_pack(row_fold_of<int(F)>(f, what.replica)...), last);
    place_and_send(what, work);
  }
  static void run_matmul(launch const& what) {
    using T = type_of<Root>;
    frame const& f = *what.of;
    constexpr array_view<edge> e = p.operands(p.steps[Root]);
    constexpr shape a = p.steps[e[0].from].extents, c = p.steps[Root].extents;
    constexpr int rank_a = a.rank, rank_b = p.steps[e[1].from].extents.rank;
    local_value const &z = f.value(Root, what.replica), &x = f.value(value_of(e[0]), what.replica),
                      &y = f.value(value_of(e[1]), what.replica);
    kernel::batch batch;
    if constexpr (c.rank == 3)
      batch = {z.extents[0], z.strides[0], batch_step(x, rank_a), batch_step(y, rank_b)};
    send(what, matmul_work_of<T, a, c>{matrix_of(z, c.rank), matrix_of(x, rank_a),
                                       matrix_of(y, rank_b), batch});
  }
  /// small static extents on one CPU get a kernel of their own; all other products of a type share
  /// one kernel
  template <class T, shape A, shape C>
  static constexpr auto find_matmul_work() {
    constexpr std::int64_t m = C.from_right(1), n = C.from_right(0), k = A.from_right(0);
    constexpr place where = p.steps[Root].where;
    if constexpr (where.is_single() && where.at(0).is_cpu() && A.is_static() && C.is_static() &&
                  host::has_static_product<T>(m, n, k))
      return std::type_identity<
          static_matmul_work<T, kernel::product_extents{int(m), int(n), int(k)}>>{};
    else
      return std::type_identity<matmul_work<T>>{};
  }
  template <class T, shape A, shape C>
  using matmul_work_of = typename decltype(find_matmul_work<T, A, C>())::type;

  // ---- calls ----
  template <std::size_t... R, std::size_t... K>
  static void run_call(launch const& what, std::index_sequence<R...>, std::index_sequence<K...>) {
    constexpr int first = first_result(p, Root);
    constexpr array_view<edge> e = p.operands(p.steps[first]);
    frame const& f = *what.of;
    call_work<typename op_of<first>::called, type_list<type_of<first + int(R)>...>,
              type_list<type_of<e[K].from>...>>
        work{static_cast<op_of<first> const*>(object(f, first))->op,
             call_part(f, short(first), what.replica)};
    int at = 0;
    ((work.tiles[at++] =
          call_tile(f, first + int(R), what.replica, p.steps[first + int(R)].stored)),
     ...);
    ((work.tiles[at++] = call_tile(f, value_of(e[K]), what.replica, true)), ...);
    send(what, work);
  }
  static void run_call(launch const& what) {
    run_call(what, std::make_index_sequence<std::size_t(p.steps[Root].call->rule.results.count)>{},
             std::make_index_sequence<std::size_t(p.steps[Root].call->rule.operands.count)>{});
  }

  static void run(launch const& what) {
    if constexpr (p.steps[Root].kind == step_kind::call)
      run_call(what);
    else if constexpr (p.steps[Root].kind == step_kind::matmul)
      run_matmul(what);
    else if constexpr (facts.fold_count == 0)
      run_map(what, element_outputs{});
    else if constexpr (!facts.chained)
      run_reduce(what, all_folds{}, element_outputs{});
    else
      run_rows(what, all_folds{});
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
