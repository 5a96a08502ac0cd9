// SPDX-License-Identifier: Apache-2.0
// optimizer: the steps of an optimizer over tensors and variables of a program's own loop, outside and
// inside of replicas.
#pragma once
#include <array>   // array
#include <string>  // string, to_string
#include <tuple>   // tuple

#include <locus/grad/gradients.hpp>              // gradients
#include <locus/nn/layers/embedding_ops.hpp>     // embedding_gradient_op
#include <locus/nn/optimizers/row_gradient.hpp>  // row_gradient
#include <locus/nn/optimizers/updater.hpp>       // updater
#include <locus/ops/run_time_extents.hpp>        // shape_now
#include <locus/strategy/gathered.hpp>           // gathered
#include <locus/strategy/variable.hpp>           // variable, replica_context
#include <locus/strategy/write_copies.hpp>       // write_copies
#include <locus/tensor/relabel.hpp>              // relabel_memory

namespace locus::nn {

namespace detail {

/// element, rank, policy and memory of what an optimizer updates
template <class W>
struct weight_facts {
  static_assert(always_false<W>,
                "locus: an optimizer updates tensors and variables of a strategy; give it those, "
                "as in nn::optimizer{nn::Adam{}, w, b}");
};
template <class T, class E, class Where>
struct weight_facts<Tensor<T, E, Where>> {
  using element = T;
  using policy = Where;
  static constexpr int rank = E::rank();
  static block_owner const& memory(Tensor<T, E, Where> const& w) { return w.block; }
};
template <class T, int Rank, class Replicas, synchronization Sync, aggregation How>
struct weight_facts<variable<T, Rank, Replicas, Sync, How>> {
  static_assert(Sync == on_write,
                "locus: an optimizer keeps the copies of a variable equal, and this one has copies "
                "of their own; write make_variable<on_write, aggregation::mean>");
  using element = T;
  using policy = typename strategy<Replicas>::policy;
  static constexpr int rank = Rank;
  static block_owner const& memory(variable<T, Rank, Replicas, Sync, How> const& w) {
    return w.memory();
  }
};

}  // namespace detail

/// means: a variable of a strategy for checkpoints, with a name
/// shape: its extents     device: the file does not depend on the number of replicas
/// after: a variable in tf.train.Checkpoint
template <class T, int Rank, class Replicas, synchronization Sync, aggregation How>
stored stored_of(std::string name, variable<T, Rank, Replicas, Sync, How> const& v) {
  static_assert(
      Sync == on_write,
      "locus: the copies of a variable that each replica writes are combined when they are "
      "read; store v.read(), and assign it after loading");
  tensor_block* const memory = v.memory().get();
  return {std::move(name), memory->extents, true, memory};
}

namespace detail {

/// means: f(g...) for the gradients g, also if they come as one tuple or as the result of grad
template <class F, class... G>
auto with_each(F&& f, G const&... g) {
  return f(g...);
}
template <class F, class... G>
auto with_each(F&& f, std::tuple<G...> const& g) {
  return std::apply(f, g);
}
template <class F, class... G>
auto with_each(F&& f, gradients<G...> const& g) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return f(get<K>(g)...);
  }(std::index_sequence_for<G...>{});
}

}  // namespace detail

/// means: an optimizer for a loop of the program's own: nn::optimizer adam{nn::Adam{}, w, b}, then in
///        each step adam.apply_gradients(grad(loss, w, b)). It refers to the weights, which must
///        outlive it, and owns their slots
/// shape: weights of any ranks and one element type
/// device: weights lie on one device, are mirrored, or are variables of a strategy, all on the same
///        devices; slots and gradients lie there too, equal on every replica
/// cost:  for each step, one plan that computes the gradients, with their all-reduces in one bucket,
///        and the kernels of nn::updater. The memory of a dense gradient stays for the next step
/// fails: configuration_error for invalid options; shape_error for a gradient of other extents than
///        its weight
/// after: optimizer.apply_gradients of Keras; PyTorch binds the weights in the same way
template <class Optimizer, class... Weights>
class optimizer {
  static_assert(sizeof...(Weights) > 0,
                "locus: an optimizer without weights; write nn::optimizer{nn::Adam{}, w, b}");
  using first = detail::weight_facts<at_t<0, type_list<Weights...>>>;
  using T = typename first::element;
  using Where = typename first::policy;
  static_assert((std::is_same_v<T, typename detail::weight_facts<Weights>::element> && ...),
                "locus: the weights of one optimizer have one element type; make an optimizer for "
                "each");
  static_assert((std::is_same_v<Where, typename detail::weight_facts<Weights>::policy> && ...),
                "locus: the weights of one optimizer lie on the same devices; make an optimizer "
                "for each place");
  static_assert(is_floating_v<T>,
                "locus: a step of an optimizer is no integer; give it weights of floats");
  static_assert(!Where::value.is_sharded() && !open_device<Where>,
                "locus: an optimizer updates weights on one named device, or mirrored ones; write "
                "to<GpuDevice<0>>(w), or to<Mirrored<...>>(w)");
  static constexpr std::size_t count = sizeof...(Weights);
  using flat = Tensor<T, Dextents<1>, Where>;
  using parameter_type = parameter<T, Where>;

 public:
  explicit optimizer(Optimizer how, Weights&... weights)
      : updater_(std::move(how)), weights_(&weights...) {
    look_at_weights();
    updater_.prepare(*this);
  }
  optimizer(optimizer const&) = delete;

  /// means: one step from the gradients of all weights, in the order of the weights: the result of
  ///        grad(loss, w...), a tuple, or one by one; expressions or tensors, and for a table of which
  ///        few rows were read, gradient_of_rows(i, g). Gradients over cut batches are added over the
  ///        replicas
  /// fails: placement_error inside a replica, which gives its context
  template <class... G>
  void apply_gradients(G const&... gradients) {
    locus::internal::require_all_replicas("apply_gradients");
    detail::with_each(
        [this]<class... E>(E const&... e) {
          if constexpr (require_gradients<E...>()) {
            look_at_weights();
            note_names();
            write_gradients(std::index_sequence_for<E...>{}, e...);
            updater_.step(*this);
          }
        },
        gradients...);
  }
  /// means: the same inside strategy.run, by all replicas: their gradients are added, and every copy
  ///        makes the same step. Divide the loss of a replica by the rows of the whole batch
  /// fails: placement_error, where another replica makes no such call, or for weights of other
  ///        devices
  /// after: apply_gradients in a replica of TensorFlow: all-reduce by sum, then an update in a
  ///        merge_call
  template <class Device, class... G>
  void apply_gradients(replica_context<Device>& c, G const&... gradients) {
    detail::with_each(
        [&]<class... E>(E const&... e) {
          if constexpr (require_gradients<E...>())
            apply_of_replica(c, std::index_sequence_for<E...>{}, e...);
        },
        gradients...);
  }

  /// steps that were made
  std::int64_t iterations() const { return updater_.iterations(); }
  double learning_rate() const { return updater_.learning_rate(); }
  /// means: replaces the optimizer's learning rate from the next step on
  void set_learning_rate(rate r) { updater_.set_learning_rate(std::move(r)); }
  Optimizer const& options() const { return updater_.optimizer(); }
  /// means: swaps weights and their moving averages; a second call undoes the first
  /// cost:  one kernel for each weight
  void swap_averages() {
    look_at_weights();
    updater_.swap_elements_of_averages(*this);
  }

  // ---- a checkpoint: nn::save_checkpoint(path, adam), nn::load_checkpoint(path, adam) ----
  /// means: the names of the weights in checkpoints and for ExcludeFromDecay; without this call weight_0,
  ///        weight_1, ...
  /// fails: configuration_error, if ExcludeFromDecay names none of them
  template <class... Name>
  void name_weights(Name const&... names) {
    static_assert(sizeof...(Name) == count,
                  "locus: an optimizer names each of its weights, in their order; write "
                  "name_weights(\"w\", \"b\")");
    names_ = {std::string(names)...};
    if constexpr (updater<Optimizer, T, Where>::excludes) updater_.name_parameters(all_names());
  }
  std::vector<stored> weights() {
    look_at_weights();
    std::vector<stored> all;
    all.reserve(count);
    for (std::size_t k = 0; k < count; ++k)
      all.push_back({name_of(k), parameters_[k].extents, true, seen_[k].get()});
    return all;
  }
  std::vector<stored> optimizer_state() {
    std::vector<stored> all;
    for (std::size_t k = 0; k < count; ++k) {
      auto const of = updater_.stored_of(k, parameters_[k], name_of(k));
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }
  std::vector<counter> counters() { return updater_.counters(); }
  std::vector<setting> settings() { return updater_.settings(); }

  /// the weights as a model, for nn::updater
  template <class F>
  void for_each_parameter(F&& f) {
    for (parameter_type& p : parameters_) f(p);
  }

 private:
  template <class... E>
  static consteval bool require_gradients() {
    constexpr bool one_each = sizeof...(E) == count;
    static_assert(one_each, "locus: an optimizer takes one gradient for each of its weights, in "
                            "their order; write apply_gradients(grad(loss, w, b))");
    return one_each;
  }
  std::string name_of(std::size_t k) const {
    return names_[k].empty() ? "weight_" + std::to_string(k) : names_[k];
  }
  std::vector<detail::named_extents> all_names() const {
    std::vector<detail::named_extents> all;
    for (std::size_t k = 0; k < count; ++k) all.push_back({name_of(k), parameters_[k].extents});
    return all;
  }
  void note_names() {
    if (!updater_.has_names()) updater_.name_parameters(all_names());
  }
  template <std::size_t K>
  using facts_of = detail::weight_facts<at_t<int(K), type_list<Weights...>>>;
  template <std::size_t K>
  using gradient_of = Tensor<T, Dextents<facts_of<K>::rank>, Where>;

  /// means: the parameters see the weights' memory of now: an assignment may have given them other
  void look_at_weights() {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (look_at_weight<K>(), ...);
    }(std::make_index_sequence<count>{});
  }
  template <std::size_t K>
  void look_at_weight() {
    auto const& w = *std::get<K>(weights_);
    block_owner const& memory = facts_of<K>::memory(w);
    if (memory.get() == seen_[K].get()) return;
    parameter_type& p = parameters_[K];
    p.extents = memory->extents, p.name = "weight", p.value = flat_of(memory);
    seen_[K] = memory;
  }
  /// means: the memory of a dense gradient
  template <std::size_t K>
  gradient_of<K>& dense_gradient() {
    parameter_type& p = parameters_[K];
    auto& g = std::get<K>(gradients_);
    if (!g.block.get() || !(g.block->extents == p.extents)) {
      g = gradient_of<K>(typename gradient_of<K>::extents_type(p.extents));
      p.gradient = flat_of(g.block);
    }
    p.sparse = false;
    return g;
  }
  static flat flat_of(block_owner const& memory) {
    return locus::internal::relabel_memory<flat>(memory, {1, {memory->extents.size()}});
  }

  // ---- memory for a gradient: a tensor, or for rows of a table a tuple of their numbers and values ----
  /// means: f(element type, extents) for each of these tensors
  template <std::size_t K, class E, class F>
  auto with_memory(E const& e, F const& f) const {
    shape const all = parameters_[K].extents;
    if constexpr (!detail::is_row_gradient<E>)
      return f(std::type_identity<T>{}, Dextents<facts_of<K>::rank>(all));
    else {
      using Ids = decltype(e.indices);
      using G = decltype(e.rows);
      constexpr bool is_table = facts_of<K>::rank == 2;
      static_assert(is_table,
                    "locus: gradient_of_rows is the gradient of a table of two axes; give another "
                    "weight grad(loss, w)");
      shape const numbers = locus::internal::shape_now(e.indices),
                  rows = locus::internal::shape_now(e.rows);
      for (int a = 0; a < numbers.rank; ++a)
        if (numbers.extent[a] != rows.extent[a]) detail::refuse_count(numbers, rows);
      if (rows.extent[rows.rank - 1] != all.extent[1])
        detail::refuse_width(rows.extent[rows.rank - 1], all.extent[1]);
      return std::tuple(f(std::type_identity<std::int32_t>{}, Dextents<Ids::pattern.rank>(numbers)),
                        f(std::type_identity<T>{}, Dextents<G::pattern.rank>(rows)));
    }
  }
  /// means: what writes a gradient there; here: a change of the expressions
  template <class To, class E, class F>
  static auto writes(To& to, E const& e, F const& here) {
    if constexpr (detail::is_row_gradient<E>)
      return std::tuple(into(std::get<0>(to), here(e.indices)),
                        into(std::get<1>(to), here(e.rows)));
    else
      return std::tuple(into(to, here(e)));
  }
  template <class... Writes>
  static void run_all(std::tuple<Writes...> const& all) {
    std::apply([](auto const&... w) { run(plan(w...)); }, all);
  }
  /// means: the gradient of table K = the sums of these rows, which all replicas have
  template <std::size_t K, class Indices, class Rows>
  void sum_rows(Indices const& indices, Rows const& rows) {
    parameter_type& p = parameters_[K];
    std::int64_t const n = indices.size();
    p.sparse = true;
    if (p.rows.extent(0) != n || p.row_values.extent(1) != p.extents.extent[1]) {
      p.rows = Tensor<std::int32_t, Dextents<1>, Where>(Dextents<1>(n));
      p.row_values = Tensor<T, Dextents<2>, Where>(Dextents<2>(n, p.extents.extent[1]));
    }
    auto const sums = call(embedding_gradient_op{p.extents.extent[0]}, indices, rows);
    run(plan(into(p.rows, result<0>(sums)), into(p.row_values, result<1>(sums))));
  }

  template <std::size_t... K, class... E>
  void write_gradients(std::index_sequence<K...>, E const&... e) {
    auto const as_is = [](auto const& x) -> auto const& { return x; };
    auto read = std::make_tuple(rows_memory<K>(e)...);
    run_all(std::tuple_cat([&] {
      if constexpr (detail::is_row_gradient<E>)
        return writes(std::get<K>(read), e, as_is);
      else
        return writes(dense_gradient<K>(), e, as_is);
    }()...));
    (
        [&] {
          if constexpr (detail::is_row_gradient<E>)
            sum_rows<K>(std::get<0>(std::get<K>(read)), std::get<1>(std::get<K>(read)));
        }(),
        ...);
  }
  struct no_rows {};
  template <std::size_t K, class E>
  auto rows_memory(E const& e) const {
    if constexpr (detail::is_row_gradient<E>)
      return with_memory<K>(e, []<class N, class To>(std::type_identity<N>, To const& extents) {
        return Tensor<N, To, Where>(extents);
      });
    else
      return no_rows{};
  }
  template <class Device, std::size_t... K, class... E>
  void apply_of_replica(replica_context<Device>& c, std::index_sequence<K...>, E const&... e) {
    bound_device<Device> const at(c.device());
    auto mine = std::make_tuple(
        with_memory<K>(e, [&c]<class N, class To>(std::type_identity<N>, To const& extents) {
          return Tensor<N, To, Device>(c.device(), extents);
        })...);
    auto const here = [&at](auto const& x) { return on<Device>(x, at); };
    run_all(std::tuple_cat(writes(std::get<K>(mine), e, here)...));
    // braces: all replicas make their collectives in one order
    std::tuple<decltype(together(c, std::get<K>(mine)))...> const sums{
        together(c, std::get<K>(mine))...};
    c.merge_call(
        [this, &c](auto const&... all) {
          look_at_weights();
          note_names();
          (take_together<K>(c.devices(), all), ...);
          updater_.step(*this);
        },
        std::get<K>(sums)...);
  }
  /// means: sums of dense gradients; rows stay those of each replica
  template <class Device, class Mine>
  static auto together(replica_context<Device>& c, Mine const& mine) {
    if constexpr (requires { std::tuple_size<Mine>::value; })
      return mine;
    else
      return c.all_reduce(across::sum, mine);
  }
  template <std::size_t K, class Sums>
  void take_together(device_list const& replicas, per_replica<Sums> const& all) {
    locus::internal::write_copies(*dense_gradient<K>().block.get(), replicas, all,
                                  "apply_gradients");
  }
  template <std::size_t K, class Indices, class Rows>
  void take_together(device_list const& replicas, std::tuple<Indices, Rows> const& all) {
    sum_rows<K>(locus::internal::gathered(std::get<0>(all), 0, replicas),
                locus::internal::gathered(std::get<1>(all), 0, replicas));
  }
  updater<Optimizer, T, Where> updater_;
  std::tuple<Weights*...> weights_;
  std::array<block_owner, count> seen_{};
  std::array<std::string, count> names_{};
  std::array<parameter_type, count> parameters_{};
  typename decltype([]<std::size_t... K>(std::index_sequence<K...>) {
    return std::type_identity<std::tuple<gradient_of<K>...>>{};
  }(std::make_index_sequence<count>{}))::type gradients_ =
      empty_gradients(std::make_index_sequence<count>{});
  template <std::size_t... K>
  static std::tuple<gradient_of<K>...> empty_gradients(std::index_sequence<K...>) {
    return {gradient_of<K>(typename gradient_of<K>::unmade{})...};
  }
};
template <class Optimizer, class... Weights>
optimizer(Optimizer, Weights&...) -> optimizer<Optimizer, Weights...>;

}  // namespace locus::nn
