// SPDX-License-Identifier: Apache-2.0
// Variables of a strategy: a copy on each replica; equal after each write, or combined at each
// read.
#pragma once
#include <locus/strategy/strategy.hpp>  // strategy

namespace locus {

/// on_write: the copies stay equal; an assignment inside replicas combines the assigned values.
/// on_read: each replica writes its own copy; a read outside of replicas combines the copies.
enum class synchronization : unsigned char { on_write, on_read };
inline constexpr auto on_write = synchronization::on_write, on_read = synchronization::on_read;
enum class aggregation : unsigned char { none, sum, mean, only_first_replica };

namespace detail {
/// a value that can be assigned to a variable: an expression, a tensor on any place, a number
template <class X>
concept variable_value = operand<X> || is_any_tensor<std::remove_cvref_t<X>>;
template <class X>
constexpr int rank_of_value() {
  if constexpr (number<X>)
    return 0;
  else if constexpr (expression<X>)
    return X::pattern.rank;
  else
    return X::extents_type::rank();
}
template <class X>
struct value_of_variable {
  using type = typename X::value_type;
};
template <number X>
struct value_of_variable<X> {
  using type = X;
};
/// means: over ranks: part 0 of each rank gets the value of replica 0, which is on rank 0
template <class T>
void take_first_of_ranks(local_parts const& parts, std::string_view name) {
  if (!parts.lie_on_ranks()) return;
  local_part const& p = parts.of[0];
  auto value = host_elements<T>(p);
  std::int64_t const bytes = p.size() * std::int64_t(sizeof(T));
  share_from_first(name, value.data(), bytes);
  copy_local(p.at, p.data, cpu(0), value.data(), bytes, name);
  runtime::synchronize(runtime::mark(runtime::find_device(p.at), queue_kind::compute));
}
template <class T, int Rank, class X>
consteval bool require_variable_takes() {
  if constexpr (is_any_tensor<X>)
    return require_takes<
        T, Dextents<Rank>,
        Leaf<typename X::value_type, typename X::extents_type, CpuDevice, owned>>();
  else
    return require_takes<T, Dextents<Rank>, expression_of_t<X const&>>();
}
}  // namespace detail

/// means: numbers that training keeps beside its tensors: counters, sums of metrics, averages. Over
///        ranks each copy begins with the value of rank 0, and a read or a combined assignment is
///        one of all ranks
/// device: those of the strategy that made the variable
/// after: tf.Variable under a strategy, with TensorFlow's table of assignments; an assignment that
///        would make copies differ (on_write without an aggregation, inside a replica) does not
///        compile
template <class T, int Rank, class Replicas, synchronization Sync, aggregation How>
class variable {
  static_assert(How != aggregation::mean || is_floating_v<T>,
                "locus: a mean of integers over replicas is no integer; write cast<float>(x)");

 public:
  using is_variable = void;
  using value_type = T;
  using host_tensor = Tensor<T, Dextents<Rank>, CpuDevice>;

  template <detail::variable_value X>
  variable(strategy<Replicas> const& s, X const& initial) {
    host_tensor first = on_host(initial);
    if (runtime::lies_on_ranks(s.devices()))
      internal::share_from_first("the initial value of a variable", first.data(), bytes_of(first));
    place const over{s.devices(), distribution::mirrored};
    block_ = internal::make_storage(over, first.extents().as_shape(), element_of_v<T>, sizeof(T));
    internal::fill_storage(*block_.get(), first.data());
  }
  variable(variable const&) = delete;

  /// means: the combined value of all copies, on the host
  host_tensor read() const {
    detail::require_cross_replica("the value of a variable");
    static_assert(Sync == on_write || How != aggregation::none,
                  "locus: copies that each replica writes have no common value without an "
                  "aggregation; write aggregation::sum, mean or only_first_replica");
    constexpr bool folds = Sync == on_read && (How == aggregation::sum || How == aggregation::mean);
    host_tensor out{Dextents<Rank>(block_->extents)};
    internal::local_part const to{cpu(0), out.data(), block_->extents};
    if constexpr (folds) {
      using Op = across::operation<How == aggregation::mean>;
      internal::local_parts const all = copies();
      if (all.count_of_all() > 1) {
        internal::local_reduction(
            all, detail::reduction_over<Op, T>("reading a variable", all.count_of_all()))
            .to_one(to);
        return out;
      }
    }
    auto const first = detail::host_elements<T>(internal::part_of_block(*block_.get()));
    std::copy(first.begin(), first.end(), out.data());
    if (Sync == on_read && runtime::lies_on_ranks(block_->where.devices))
      internal::share_from_first("reading a variable", out.data(), bytes_of(out));
    return out;
  }
  /// means: every copy = x; for on_read with aggregation sum, each of the R copies = x / R, so that
  ///        read() returns x. An expression, or a tensor on another place, is copied to the host
  ///        first; a number fills all elements. Over ranks every rank assigns the same x
  /// fails: shape_error for other extents
  template <detail::variable_value X>
  void assign(X const& x) {
    assign(on_host(x));
  }
  void assign(host_tensor const& x) {
    detail::require_cross_replica("assign to a variable");
    static_assert(Sync == on_write || How != aggregation::none,
                  "locus: copies that each replica writes have no common value without an "
                  "aggregation; write aggregation::sum, mean or only_first_replica");
    require_extents(x.extents().as_shape());
    int const n = block_->where.global_count();
    if (Sync == on_write || How != aggregation::sum || n == 1)
      return internal::fill_storage(*block_.get(), x.data());
    std::vector<T> part(static_cast<std::size_t>(x.size()));
    for (int r = 0; r < block_->where.local_count(); ++r) {
      bool const takes_rest = std::is_integral_v<T> && block_->where.devices.before() + r == 0;
      for (std::size_t i = 0; i < part.size(); ++i) {
        part[i] = static_cast<T>(x.data()[i] / static_cast<T>(n));
        if (takes_rest) part[i] = static_cast<T>(x.data()[i] - part[i] * static_cast<T>(n - 1));
      }
      internal::local_part const p = internal::part_of_block(*block_.get(), r);
      internal::copy_local(p.at, p.data, cpu(0), part.data(), p.size() * std::int64_t(sizeof(T)),
                           "assigning a variable");
      runtime::synchronize(runtime::mark(runtime::find_device(p.at), queue_kind::compute));
    }
  }
  template <detail::variable_value X>
  void assign_add(X const& x) {
    add(on_host(x), T(1));
  }
  void assign_add(host_tensor const& x) { add(x, T(1)); }
  template <detail::variable_value X>
  void assign_sub(X const& x) {
    add(on_host(x), T(-1));
  }
  void assign_sub(host_tensor const& x) { add(x, T(-1)); }
  /// means: the copy of each replica of this rank     after: strategy.experimental_local_results(v)
  std::vector<host_tensor> local_results() const {
    std::vector<host_tensor> all;
    for (int r = 0; r < block_->where.local_count(); ++r) all.push_back(local_result(r));
    return all;
  }
  host_tensor local_result(int replica) const {
    auto const values = detail::host_elements<T>(internal::part_of_block(*block_.get(), replica));
    host_tensor t{Dextents<Rank>(block_->extents)};
    std::copy(values.begin(), values.end(), t.data());
    return t;
  }

  /// The variable inside one replica.
  template <class Device>
  class local {
   public:
    local(variable& of, replica_context<Device>& c) : of_(of), c_(c) {}
    /// means: the replica's copy as a view, for expressions
    auto read() const {
      return internal::view_of_piece<Device, T, Rank>(*of_.block_.get(), c_.index());
    }
    /// means: on_write: all replicas make this call, and every copy becomes the combination of
    ///        their values; on_read: the replica's own copy becomes x
    template <detail::variable_value X>
    void assign(X const& x) {
      write(combined(x));
    }
    template <detail::variable_value X>
    void assign_add(X const& x) {
      auto const delta = combined(x);
      write(eval(on<Device>(read() + delta, bound_device<Device>(c_.device()))));
    }
    template <detail::variable_value X>
    void assign_sub(X const& x) {
      auto const delta = combined(x);
      write(eval(on<Device>(read() - delta, bound_device<Device>(c_.device()))));
    }

   private:
    using own = Tensor<T, Dextents<Rank>, Device>;
    template <class X>
    own value_of(X const& x) const {
      bound_device<Device> const here(c_.device());
      if constexpr (number<X>) {
        static_assert(How != aggregation::sum || Sync == on_read,
                      "locus: a number is the same on each replica, and its sum over them R times "
                      "that; assign from outside, or a tensor of the replica's own");
        return eval(
            on<Device>(full<T>(Dextents<Rank>(of_.block_->extents), static_cast<T>(x)), here));
      } else {
        static_cast<void>(detail::require_variable_takes<T, Rank, X>());
        AnyTensor<T, Dextents<Rank>> any = [&] {
          if constexpr (expression<X>)
            return eval(on<Device>(x, here));
          else
            return to<Device>(x, here);
        }();
        own t = std::move(any).template as<Device>();
        of_.require_extents(t.extents().as_shape());
        return t;
      }
    }
    template <class X>
    own combined(X const& x) {
      own mine = value_of(x);
      if constexpr (Sync == on_write) {
        static_assert(
            How != aggregation::none,
            "locus: an assignment inside a replica without an aggregation lets the copies "
            "of the variable diverge; write aggregation::sum, mean or "
            "only_first_replica, or on_read");
        internal::local_part part = internal::part_of_block(*mine.block.get());
        c_.team().meet(c_.index(), "an assignment to a variable", of_.block_.get(), &part,
                       [&](void* const* all) -> std::shared_ptr<void> {
                         internal::local_parts parts;
                         parts.over = c_.devices();
                         for (int r = 0; r < c_.devices().size(); ++r)
                           parts.of[parts.count++] = *static_cast<internal::local_part*>(all[r]);
                         if constexpr (How == aggregation::only_first_replica) {
                           detail::take_first_of_ranks<T>(parts, "assigning a variable");
                           for (int r = 1; r < parts.count; ++r)
                             internal::copy_local(parts.of[r].at, parts.of[r].data, parts.of[0].at,
                                                  parts.of[0].data,
                                                  parts.of[0].size() * std::int64_t(sizeof(T)),
                                                  "assigning a variable");
                         } else
                           detail::reduce_parts<across::operation<How == aggregation::mean>, T>(
                               parts, "assigning a variable");
                         return nullptr;
                       });
      }
      return mine;
    }
    void write(own const& t) {
      internal::local_part const to = internal::part_of_block(*of_.block_.get(), c_.index());
      internal::copy_local(to.at, to.data, to.at, t.data(), to.size() * std::int64_t(sizeof(T)),
                           "assigning a variable");
    }
    variable& of_;
    replica_context<Device>& c_;
  };
  template <class Device>
  local<Device> on_replica(replica_context<Device>& c) {
    if (!(c.devices() == block_->where.devices))
      detail::refuse_devices(block_->where.devices, c.devices(), "a variable");
    return {*this, c};
  }

  /// means: the memory of all copies, for optimizers and checkpoints
  block_owner const& memory() const { return block_; }

 private:
  /// means: a value to assign, on the host; a number gets the variable's extents
  template <class X>
  host_tensor on_host(X const& x) const {
    if constexpr (number<X>) {
      host_tensor t{Dextents<Rank>(block_ ? block_->extents : shape{})};
      std::fill(t.data(), t.data() + t.size(), static_cast<T>(x));
      return t;
    } else {
      static_cast<void>(detail::require_variable_takes<T, Rank, X>());
      if constexpr (internal::is_any_tensor<X>)
        return AnyTensor<T, Dextents<Rank>>(x.template to<CpuDevice>()).template as<CpuDevice>();
      else
        return host_tensor(x);
    }
  }
  void add(host_tensor const& x, T sign) {
    static_assert(
        Sync == on_write || How != aggregation::sum,
        "locus: assign_add from outside to a sum over replicas would have to say to which "
        "of them; add inside a replica");
    host_tensor now = read();
    require_extents(x.extents().as_shape());
    for (std::int64_t i = 0; i < x.size(); ++i)
      now.data()[i] = static_cast<T>(now.data()[i] + sign * x.data()[i]);
    assign(now);
  }
  void require_extents(shape const& s) const {
    if (s == block_->extents) return;
    message text;
    throw shape_error(text << "locus: a value with extents " << s
                           << " is assigned to a variable with " << block_->extents
                           << "; write as many elements");
  }
  static std::int64_t bytes_of(host_tensor const& t) { return t.size() * std::int64_t(sizeof(T)); }
  internal::local_parts copies() const {
    internal::local_parts all;
    all.over = block_->where.devices;
    for (int r = 0; r < block_->where.local_count(); ++r)
      all.of[all.count++] = internal::part_of_block(*block_.get(), r);
    return all;
  }
  block_owner block_;
};

/// means: a variable of a strategy with the initial value of an expression, a tensor or a number:
///        auto steps = make_variable<on_read, aggregation::sum>(s, zeros<float>(dextents<1>(3)))
template <synchronization Sync, aggregation How, class Replicas, detail::variable_value X>
auto make_variable(strategy<Replicas> const& s, X const& initial) {
  using T = typename detail::value_of_variable<X>::type;
  return variable<T, detail::rank_of_value<X>(), Replicas, Sync, How>(s, initial);
}

}  // namespace locus
