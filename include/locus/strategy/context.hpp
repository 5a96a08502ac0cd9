// SPDX-License-Identifier: Apache-2.0
// replica_context: the argument by which a function under strategy.run knows its replica and takes
// part in collectives. Also: how arguments become the values of one replica, and how results are
// collected.
#pragma once

#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/borrows.hpp>          // borrows_a_tensor
#include <locus/strategy/replica_sums.hpp>     // reduce_parts
#include <locus/strategy/replica_threads.hpp>  // replica_team
#include <locus/tensor/view.hpp>               // view

namespace locus {

template <class Device>
class replica_context;

namespace detail {

/// 0: this thread runs no replica; functions for all replicas together are refused inside one
inline thread_local int inside_replica = 0;

}  // namespace detail

namespace internal {

/// means: inside the scope this thread works for one replica
class [[nodiscard]] replica_scope {
 public:
  explicit replica_scope(int inside) : before_(inside_replica) { inside_replica = inside; }
  replica_scope(replica_scope const&) = delete;
  ~replica_scope() { inside_replica = before_; }

 private:
  int before_;
};

}  // namespace internal

namespace detail {

LOCUS_FUNCTION void require_cross_replica(std::string_view what);

template <class... What>
inline constexpr char meeting_tag = 0;

/// each replica gets its own part of such a value; values of other types are copied whole
template <class X>
struct is_divided {
  static constexpr bool value = is_per_replica<X> || is_distributed_tensor<X>() || is_variable<X>;
};

}  // namespace detail

namespace internal {

/// means: an expression that holds the address of a tensor, which may be destroyed before the
///        expression runs
template <class X>
struct is_borrowing {
  static constexpr bool value = [] {
    if constexpr (expression<X>)
      return borrows_a_tensor<X>;
    else if constexpr (is_per_replica<X>)
      return any_leaf<typename X::value_type, locus::internal::is_borrowing>();
    else
      return false;
  }();
};

}  // namespace internal

namespace detail {

/// means: a function may return a Result: nothing in it points to the function's local variables
template <class Result>
consteval bool require_own_value() {
  constexpr bool owns = !any_leaf<Result, is_borrowing>();
  static_assert(
      owns, "locus: a function of a strategy returns an expression that borrows a tensor, which "
            "may be dead by then; write return eval(on<policy>(e, c.device())), or move the "
            "tensor into the expression, as in return std::move(t) * 2.f");
  return owns;
}
LOCUS_FUNCTION void require_replicas(int have, int want);
/// means: the memory of a Tensor or an AnyTensor     fails: bad_access, after it was moved from
template <class X>
tensor_block const& block_of(X const& x) {
  if (!x.block)
    throw bad_access("locus: the tensor of a replica was moved from and is used again; assign a "
                     "tensor to it first");
  return *x.block.get();
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_devices(device_list const& have,
                                                           device_list const& want,
                                                           std::string_view what);

}  // namespace detail

namespace internal {

/// means: a view of one piece of a tensor, on its device
template <class Device, class T, int Rank>
auto view_of_piece(tensor_block const& b, int piece) {
  local_part const p = part_of_block(b, piece);
  return view<Device>(static_cast<T const*>(p.data), Dextents<Rank>(p.extents), layout_right{},
                      bound_device<Device>(p.at));
}

}  // namespace internal

namespace detail {

/// means: the part of a value for replica c: a view of its piece or copy, its own entry, or the
///        value
template <class Device>
struct localizer {
  replica_context<Device>& c;
  template <class X>
  decltype(auto) operator()(X& x) const {
    using Of = std::remove_cv_t<X>;
    int const r = c.index();
    if constexpr (is_per_replica<Of>) {
      require_replicas(x.size(), c.devices().size());
      using V = typename Of::value_type;
      if constexpr (is_own_tensor<V>)
        return view_of_piece<Device, typename V::value_type, V::extents_type::rank()>(
            c.brought_here(block_of(x[r])), 0);
      else
        return map_leaves(x[r], *this);
    } else if constexpr (is_distributed_tensor<Of>()) {
      device_list const where = x.block.get()->where.devices.balanced(false);
      if (!(where == c.devices())) refuse_devices(where, c.devices(), "a tensor");
      return view_of_piece<Device, typename Of::value_type, Of::rank()>(*x.block.get(), r);
    } else if constexpr (is_variable<Of>)
      return x.on_replica(c);
    else
      return Of(x);
  }
};

}  // namespace detail

namespace internal {

/// means: x as a value that outlives its replica: a tensor as an AnyTensor, moved or copied
template <class Device>
struct carrier {
  replica_context<Device> const& c;
  template <class X>
  auto operator()(X& x) const {
    using Of = std::remove_cv_t<X>;
    bound_device<Device> const here(c.device());
    if constexpr (expression<Of>) {
      return any(eval(on<Device>(x, here)));
    } else if constexpr (tensor<Of>) {
      static_assert(Of::where.is_single(),
                    "locus: a replica returns tensors of its own, not one over all replicas; "
                    "return its piece");
      if constexpr (std::is_base_of_v<tensor_base, Of> && !std::is_const_v<X>)
        return any(std::move(x));
      else
        return any(to<Device>(x, here));
    } else
      return Of(x);
  }
  template <class T, class E, class Where>
  static auto any(Tensor<T, E, Where>&& t) {
    return AnyTensor<T, Dextents<E::rank()>>(std::move(t));
  }
};

}  // namespace internal

namespace detail {

/// means: a collected value as one replica's own: its entry, with tensors copied to its device
template <class Device>
struct giver {
  replica_context<Device> const& c;
  template <class X>
  auto operator()(X& x) const {
    using Of = std::remove_cv_t<X>;
    if constexpr (is_per_replica<Of>)
      return map_leaves(x[c.index()], *this);
    else if constexpr (is_any_tensor<Of>)
      return x.template to<Device>(bound_device<Device>(c.device()));
    else
      return Of(x);
  }
};

}  // namespace detail

/// means: the replica that a function runs for
/// Device: GpuDevice<dyn> or Cpu<dyn>, so that one function, and one plan, serves all ordinals
template <class Device>
class replica_context {
 public:
  using policy = Device;
  replica_context(internal::replica_team& team, int replica) : team_(team), replica_(replica) {}
  replica_context(replica_context const&) = delete;

  /// means: the number of this replica among those of all ranks, and how many there are
  int replica_id() const { return devices().before() + replica_; }
  int num_replicas_in_sync() const { return devices().total(); }
  /// means: the number of this replica among those of its rank
  int index() const { return replica_; }
  locus::device device() const { return team_.devices()[replica_]; }
  device_list const& devices() const { return team_.devices(); }

  /// means: the sum or mean of the values x of all replicas, on each of them; structures leaf by
  ///        leaf
  /// cost:  a fold on the card, NCCL, or a fold on the host: collective/choice.hpp decides by the
  ///        devices
  /// fails: shape_error, where extents differ; placement_error, where another replica makes no such
  ///        call. At compile time, for a tensor on other devices: it is not the replica's own, and
  ///        the sum would count it R times
  template <class Op, class X>
  auto all_reduce(Op, X const& x) {
    return internal::map_leaves(x, [&](auto const& leaf) { return all_reduce_leaf<Op>(leaf); });
  }
  /// means: the rows of x of all replicas, one after another along an axis, on each replica
  template <class X>
  auto all_gather(X const& x, int axis = 0);

  /// means: f(values...) runs once for all replicas, with per_replica values; each replica gets its
  ///        part of the result
  /// fails: the exception of f; placement_error, where another replica makes no such call
  /// after: tf.distribute.ReplicaContext.merge_call
  template <class F, class... A>
  auto merge_call(F&& f, A&&... a) {
    internal::carrier<Device> const carry{*this};
    using Carried = std::tuple<decltype(internal::map_leaves(std::as_const(a), carry))...>;
    Carried mine{internal::map_leaves(std::as_const(a), carry)...};
    using Result =
        decltype(std::apply(f, internal::regroup(std::declval<std::vector<Carried*>&>())));
    if constexpr (!std::is_void_v<Result>)
      static_cast<void>(detail::require_own_value<std::remove_cvref_t<Result>>());
    auto const result =
        team_.meet(replica_, "merge_call", &detail::meeting_tag<Carried, Result>, &mine,
                   [&](void* const* all) -> std::shared_ptr<void> {
                     internal::replica_scope const outside(0);
                     std::vector<Carried*> parts;
                     for (int r = 0; r < team_.replicas(); ++r)
                       parts.push_back(static_cast<Carried*>(all[r]));
                     auto grouped = internal::regroup(parts);
                     if constexpr (std::is_void_v<Result>) {
                       std::apply(f, std::move(grouped));
                       return nullptr;
                     } else
                       return std::make_shared<Result>(std::apply(f, std::move(grouped)));
                   });
    if constexpr (!std::is_void_v<Result>)
      return internal::map_leaves(*static_cast<Result*>(result.get()),
                                  detail::giver<Device>{*this});
  }
  internal::replica_team& team() { return team_; }
  /// means: b, if it is on this replica's device, else a copy there, which lives as long as this
  ///        object
  tensor_block const& brought_here(tensor_block const& b) {
    place const here = single(device());
    // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): blocks of tensors, no temporaries
    if (b.where == here) return b;
    brought_.push_back(internal::make_storage(here, b.extents, b.type, b.element_bytes));
    internal::move_block(b, *brought_.back().get());
    return *brought_.back().get();
  }

 private:
  template <class Op, class X>
  auto all_reduce_leaf(X const& x) {
    if constexpr (number<X>) {
      if constexpr (detail::require_reduction<Op, X>()) {
        X mine = x;
        auto const result = team_.meet(replica_, "all_reduce", &detail::meeting_tag<Op, X>, &mine,
                                       [&](void* const* all) -> std::shared_ptr<void> {
                                         std::vector<X> values;
                                         for (int r = 0; r < team_.replicas(); ++r)
                                           values.push_back(*static_cast<X*>(all[r]));
                                         return std::make_shared<X>(detail::reduce_numbers<Op, X>(
                                             values, devices(), "all_reduce"));
                                       });
        return *static_cast<X*>(result.get());
      }
    } else {
      constexpr bool own = [] {
        if constexpr (tensor<X>) return std::is_same_v<typename X::policy, Device>;
        return expression<X>;
      }();
      static_assert(own,
                    "locus: all_reduce of a tensor that is no replica's own would count it once "
                    "for each replica; pass it to run, or use it as it is");
      if constexpr (own) {
        auto const at = bound_device<Device>(device());
        auto mine = [&] {
          if constexpr (tensor<X>)
            return to<Device>(x, at);
          else
            return eval(on<Device>(x, at));
        }();
        using T = typename decltype(mine)::value_type;
        if constexpr (detail::require_reduction<Op, T>()) {
          internal::local_part part = internal::part_of_block(*mine.block.get());
          team_.meet(replica_, "all_reduce", &detail::meeting_tag<Op, T>, &part,
                     [&](void* const* all) -> std::shared_ptr<void> {
                       internal::local_parts parts;
                       parts.over = devices();
                       for (int r = 0; r < team_.replicas(); ++r)
                         parts.of[parts.count++] = *static_cast<internal::local_part*>(all[r]);
                       detail::reduce_parts<Op, T>(parts, "all_reduce");
                       return nullptr;
                     });
          return mine;
        }
      }
    }
  }
  internal::replica_team& team_;
  int replica_;
  std::vector<block_owner> brought_;
};

}  // namespace locus

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/bodies/context.hpp>  // bodies of the functions above
#endif
