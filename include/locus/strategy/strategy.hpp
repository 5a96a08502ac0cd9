// SPDX-License-Identifier: Apache-2.0
// strategy<Mirrored<...>>: one function on every replica, like tf.distribute.MirroredStrategy.
#pragma once
#include <algorithm>   // copy
#include <functional>  // invoke
#include <optional>    // optional

#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/context.hpp>   // replica_context, localizer
#include <locus/strategy/gathered.hpp>  // gathered, reduce_along

namespace locus {

namespace detail {

/// means: V is a tensor on one device, or an AnyTensor
template <class V>
consteval bool require_tensors() {
  constexpr bool tensors = is_own_tensor<V>;
  static_assert(tensors,
                "locus: replicas are reduced by sums and means of numbers and of tensors of "
                "numbers; write cast<float>(x), or reduce the members one by one");
  return tensors;
}
template <bool Owed>
consteval bool require_sum_owed() {
  static_assert(Owed,
                "locus: a value that is the same on each replica counts once: no sum over them "
                "and no join is owed; use it as it is");
  return Owed;
}
template <class X>
consteval bool require_no_variable() {
  static_assert(!is_variable<X>,
                "locus: a variable combines its copies when it is read; write v.read(), or "
                "v.local_results() for each of them");
  return !is_variable<X>;
}
/// means: x has a tensor as its part on each replica
template <class X>
consteval bool require_parts_of() {
  if constexpr (is_per_replica<X>)
    return require_tensors<typename X::value_type>();
  else if constexpr (require_no_variable<X>()) {
    constexpr bool cut = [] {
      if constexpr (is_distributed_tensor<X>())
        return X::where.is_sharded();
      else
        return false;
    }();
    return require_sum_owed<cut>();
  } else
    return false;
}
/// means: the strategy whose scope this thread is in
inline thread_local void const* strategy_in_scope = nullptr;

}  // namespace detail

/// means: runs functions once for each device of a list, and combines their results
/// device: those of Replicas; Mirrored<AllGpus>, the default, is every visible GPU, or one CPU
/// cost:  GPUs work at the same time, a thread for each; CPUs share the host's threads and work in
///        turn
/// fails: replica_error, naming the replica that threw; the strategy can be used again. A single
///        device is a list of one: types, places and errors are the same
/// after: tf.distribute.MirroredStrategy; decisions/34-strategies.md lists the calls that locus
///        refuses and TensorFlow does silently
template <device_policy Replicas = Mirrored<AllGpus>>
class strategy {
  static_assert((Replicas::value.is_mirrored() || Replicas::value.is_single()) &&
                    !open_device<Replicas>,
                "locus: a strategy runs on the devices of a list, or on one; write "
                "strategy<Mirrored<...>>");

 public:
  /// the place of mirrored tensors of this strategy
  using policy = std::conditional_t<Replicas::value.is_single(), Mirrored<Replicas>, Replicas>;

  explicit strategy(call_site where = call_site::here()) {
    runtime::devices("a strategy was made", where);
    devices_ = runtime::place_now(Replicas::value).devices.balanced(false);
    runtime::note_gpus<has_gpu(Replicas::value.devices)>();
    runtime::request_devices({devices_}, "a strategy", where);
  }
  /// units: replicas of all ranks
  int num_replicas_in_sync() const { return devices_.total(); }
  /// the devices of this rank
  device_list const& devices() const { return devices_; }

  /// means: while the object lives, this strategy is that of the thread; it may be entered twice
  /// fails: configuration_error inside the scope of another strategy, or inside a replica
  class [[nodiscard]] scope_guard {
   public:
    explicit scope_guard(strategy const& s) : before_(detail::strategy_in_scope) {
      detail::require_cross_replica("scope");
      if (before_ && before_ != &s)
        throw configuration_error("locus: the scope of a strategy was entered inside that of "
                                  "another one; end that first");
      detail::strategy_in_scope = &s;
    }
    scope_guard(scope_guard const&) = delete;
    ~scope_guard() { detail::strategy_in_scope = before_; }

   private:
    void const* before_;
  };
  scope_guard scope() const { return scope_guard(*this); }
  bool is_in_scope() const { return detail::strategy_in_scope == this; }

  /// means: f(x...) once for each replica. Each replica gets its own part of tensors over the
  ///        devices, of per_replica values and of variables; other values are copied. If the first
  ///        parameter of f is a replica_context, f gets it. The result has the structure that f
  ///        returns (tuples, arrays, vectors, maps and struct templates), with per_replica values
  ///        at its leaves
  /// device: parts are views on the replica's device; a per_replica tensor on another device is
  ///        copied there first. Tensors of the result are AnyTensors, on the devices where f left
  ///        them
  /// fails: replica_error; at compile time, where f returns an expression that borrows a tensor,
  ///        which may be destroyed when f ends: return eval(e), or move the tensor into the
  ///        expression
  template <class F, class... A>
  auto run(F&& f, A&&... a) const {
    detail::require_cross_replica("run");
    constexpr place p = Replicas::value;
    constexpr bool on_cpus = p.devices.is_all_gpus() || !has_only_gpus(p.devices),
                   on_gpus = p.devices.is_all_gpus() || has_gpu(p.devices);
    using Device = std::conditional_t<on_gpus, GpuDevice<dyn>, Cpu<dyn>>;
    internal::replica_team team(devices_, works_side_by_side());
    using Result =
        std::remove_cvref_t<decltype(call(f, std::declval<replica_context<Device>&>(), a...))>;
    auto on_each = [&](auto&& keep) {
      team.run([&](int r) {
        internal::replica_scope const inside(1);
        auto with = [&]<class D>(std::type_identity<D>) {
          replica_context<D> c(team, r);
          keep(r, c);
        };
        if constexpr (on_gpus)
          if (devices_[r].is_gpu()) return with(std::type_identity<GpuDevice<dyn>>{});
        if constexpr (on_cpus) with(std::type_identity<Cpu<dyn>>{});
      });
    };
    if constexpr (std::is_void_v<Result>) {
      on_each([&](int, auto& c) { call(f, c, a...); });
    } else if constexpr (detail::require_own_value<Result>()) {
      using Carried = decltype(internal::map_leaves(
          std::declval<Result&>(), std::declval<internal::carrier<Device> const&>()));
      std::optional<Carried> results[max_devices];
      on_each([&](int r, auto& c) {
        auto mine = call(f, c, a...);
        results[r].emplace(internal::map_leaves(
            mine, internal::carrier<typename std::remove_reference_t<decltype(c)>::policy>{c}));
      });
      std::vector<Carried*> all;
      for (int r = 0; r < devices_.size(); ++r) all.push_back(&*results[r]);
      return internal::regroup(all);
    }
  }
  /// means: a value for each replica of this rank: f(its number among those of all ranks)
  template <class F>
  auto values_from(F&& f) const {
    using Value = std::remove_cvref_t<decltype(f(0))>;
    if constexpr (detail::require_own_value<Value>()) {
      per_replica<Value> out;
      for (int r = 0; r < devices_.size(); ++r) out.push(f(devices_.before() + r));
      return out;
    }
  }

  /// means: the sum or mean of a value over the replicas, on the host; structures leaf by leaf
  /// shape: that of each replica's part
  /// fails: shape_error, where the parts differ in shape; at compile time, for the sum of a value
  ///        that all replicas share
  template <class Op, class X>
  auto reduce(Op, X const& x) const {
    detail::require_cross_replica("reduce");
    return internal::map_leaves(x, [&](auto const& leaf) { return reduce_leaf<Op>(leaf); });
  }
  /// means: the same, also along one or several axes: a mean divides by the number of all elements,
  ///        also where replicas have different numbers
  template <class Op, class X>
  auto reduce(Op op, X const& x, int axis) const {
    int const axes[] = {axis};
    return reduce(op, x, axes);
  }
  template <class Op, class X, std::size_t N>
  auto reduce(Op, X const& x, int const (&axes)[N]) const {
    detail::require_cross_replica("reduce");
    return internal::map_leaves(
        x, [&](auto const& leaf) { return reduce_axes<Op, int(N)>(leaf, axes); });
  }
  /// means: the parts of all replicas along an axis, one after another, on the host
  /// fails: shape_error, where another extent differs
  template <class X>
  auto gather(X const& x, int axis) const {
    detail::require_cross_replica("gather");
    return internal::map_leaves(x, [&](auto const& leaf) { return gather_leaf(leaf, axis); });
  }
  /// means: a vector with an entry for each replica, of the structure of x
  /// after: strategy.experimental_local_results
  template <class X>
  auto local_results(X const& x) const {
    auto of = [&](int r) {
      return internal::map_leaves(x, [r](auto const& leaf) {
        using Of = std::remove_cvref_t<decltype(leaf)>;
        if constexpr (detail::is_per_replica<Of>)
          return leaf[r];
        else if constexpr (detail::is_distributed_tensor<Of>())
          return piece_of(leaf, r);
        else if constexpr (detail::is_variable<Of>)
          return leaf.local_result(r);
        else
          return leaf;
      });
    };
    std::vector<decltype(of(0))> all;
    for (int r = 0; r < devices_.size(); ++r) all.push_back(of(r));
    return all;
  }

 private:
  static constexpr bool has_only_gpus(device_list const& all) {
    for (int r = 0; r < all.size(); ++r)
      if (!all[r].is_gpu()) return false;
    return true;
  }
  /// real and simulated GPUs have their own queues; devices of the host share its threads
  bool works_side_by_side() const {
    for (int r = 0; r < devices_.size(); ++r)
      if (runtime::find_device(devices_[r]).is_host()) return false;
    return true;
  }
  template <class X>
  static decltype(auto) local(auto& c, X& x) {
    if constexpr (internal::any_leaf<X, detail::is_divided>())
      return internal::map_leaves(
          x, detail::localizer<typename std::remove_cvref_t<decltype(c)>::policy>{c});
    else
      return std::as_const(x);
  }
  template <class F, class C, class... A>
  static decltype(auto) call(F& f, C& c, A&... a) {
    if constexpr (std::is_invocable_v<F&, C&, decltype(local(c, a))...>)
      return std::invoke(f, c, local(c, a)...);
    else
      return std::invoke(f, local(c, a)...);
  }
  template <class T, int Rank>
  static AnyTensor<T, Dextents<Rank>> host_tensor(std::vector<T> const& values, shape const& s) {
    Tensor<T, Dextents<Rank>, CpuDevice> t{Dextents<Rank>(s)};
    std::copy(values.begin(), values.end(), t.data());
    return t;
  }
  template <class X>
  static auto piece_of(X const& x, int r) {
    using T = typename X::value_type;
    internal::local_part const p = internal::part_of_block(*x.block.get(), r);
    return host_tensor<T, X::rank()>(detail::host_elements<T>(p), p.extents);
  }

  template <class Op, class X>
  auto reduce_leaf(X const& x) const {
    if constexpr (detail::is_per_replica<X>) {
      using V = typename X::value_type;
      detail::require_replicas(x.size(), devices_.size());
      if constexpr (number<V>) {
        if constexpr (detail::require_reduction<Op, V>()) {
          std::vector<V> mine;
          for (int r = 0; r < x.size(); ++r) mine.push_back(x[r]);
          return detail::reduce_numbers<Op, V>(mine, devices_, "reduce");
        }
      } else if constexpr (detail::require_tensors<V>())
        return reduce_tensors<Op, V::extents_type::rank(), V>(x);
    } else if constexpr (detail::is_distributed_tensor<X>()) {
      if constexpr (detail::require_sum_owed<!X::where.is_mirrored() || Op::is_mean>()) {
        if constexpr (X::where.is_mirrored())
          return to<CpuDevice>(x);
        else
          return reduce_tensors<Op, X::rank(), X>(x);
      }
    } else if constexpr (detail::require_no_variable<X>()) {
      if constexpr (detail::require_sum_owed<Op::is_mean>()) return x;
    }
  }
  template <class Op, int Rank, class V, class X>
  auto reduce_tensors(X const& x) const {
    using T = typename V::value_type;
    internal::local_parts const parts = internal::parts_of_value(x, devices_);
    Tensor<T, Dextents<Rank>, CpuDevice> out{Dextents<Rank>(parts.of[0].extents)};
    if constexpr (detail::require_reduction<Op, T>()) {
      internal::local_part const to_host{cpu(0), out.data(), parts.of[0].extents};
      if (parts.count_of_all() == 1)
        internal::copy_local(to_host.at, to_host.data, parts.of[0].at, parts.of[0].data,
                             out.size() * std::int64_t(sizeof(T)), "reduce");
      else if (detail::lie_apart(parts))
        internal::local_reduction(parts,
                                  detail::reduction_over<Op, T>("reduce", parts.count_of_all()))
            .to_one(to_host);
      else
        detail::reduce_along<Op>(parts, 0, out);
    }
    return out;
  }
  template <class Op, int N, class X>
  auto reduce_axes(X const& x, int const* axes) const {
    if constexpr (detail::is_per_replica<X>) detail::require_replicas(x.size(), devices_.size());
    if constexpr (detail::require_parts_of<X>()) {
      using V = detail::part_of_replica_t<X>;
      using T = typename V::value_type;
      constexpr int rank = V::extents_type::rank();
      static_assert(N <= rank,
                    "locus: more axes are named than a value of a replica has; name fewer");
      internal::local_parts const parts = internal::parts_of_value(x, devices_);
      axis_set const along = detail::axes_of(axes, N, rank);
      shape const result = reduced(parts.of[0].extents, along, false);
      Tensor<T, Dextents<rank - N>, CpuDevice> out{Dextents<rank - N>(result)};
      if constexpr (detail::require_reduction<Op, T>()) detail::reduce_along<Op>(parts, along, out);
      return out;
    }
  }
  template <class X>
  auto gather_leaf(X const& x, int axis) const {
    if constexpr (detail::is_per_replica<X>) {
      detail::require_replicas(x.size(), devices_.size());
      if constexpr (number<typename X::value_type>)
        return internal::gathered(x, axis, devices_);
      else if constexpr (detail::require_tensors<typename X::value_type>())
        return internal::gathered(x, axis, devices_);
    } else if constexpr (detail::require_parts_of<X>())
      return internal::gathered(x, axis, devices_);
  }
  device_list devices_{};
};

template <class Device>
template <class X>
auto replica_context<Device>::all_gather(X const& x, int axis) {
  return merge_call(
      [axis, over = devices()](auto const& all) {
        return internal::map_leaves(
            all, [&](auto const& leaf) { return internal::gathered(leaf, axis, over); });
      },
      x);
}

}  // namespace locus
