// SPDX-License-Identifier: Apache-2.0
// Sums over replicas, and rows of all replicas, as parts of a loss: their values, and the gradients that pass
// through them.
#pragma once
#include <locus/grad/grad.hpp>          // grad_with
#include <locus/ops/views.hpp>          // slice
#include <locus/strategy/strategy.hpp>  // replica_context

namespace locus::nn {

/// means: the value of an expression, reduced over the replicas, as a tensor of each; made by nn::reduced(c, op, e)
template <class Op, class Device, expression E, class Value>
class reduced_value {
 public:
  reduced_value(E e, Value v) : e_(std::move(e)), value_(std::move(v)) {}
  /// means: the sum or mean, for the loss; name it there: named<"m">(r.value())
  Value const& value() const { return value_; }
  /// means: the gradient by w of the sum of all replicas' losses, as far as it comes through this value. g: the
  ///        gradient of this replica's loss by value(); all replicas call it
  /// cost:  an all-reduce of g
  template <tensor_operand G, tensor_operand W>
  auto gradient(replica_context<Device>& c, G const& g, W const& w) const {
    using T = typename Value::value_type;
    T const share = Op::is_mean ? T(1) / T(c.num_replicas_in_sync()) : T(1);
    bound_device<Device> const here(c.device());
    auto upstream = c.all_reduce(across::sum, eval(on<Device>(g * share, here)));
    return eval(on<Device>(grad_with(e_, upstream, w), here));
  }

 private:
  E e_;
  Value value_;
};

/// means: c.all_reduce(op, e), through which gradients pass: auto const m = nn::reduced(c, across::mean, e), then with
///        auto h = named<"m">(m.value()): grad(loss, w) + m.gradient(c, grad(loss, h), w)
/// shape: that of e, on each replica the same
/// fails: as all_reduce
/// after: the gradient of all_reduce in tf.distribute: an all-reduce by sum of the gradients above it
template <class Op, class Device, tensor_operand X>
auto reduced(replica_context<Device>& c, Op op, X const& x) {
  auto e = as_operand<void>(x);
  auto value = c.all_reduce(op, eval(on<Device>(x, bound_device<Device>(c.device()))));
  using E = decltype(e);
  return reduced_value<Op, Device, E, decltype(value)>(std::move(e), std::move(value));
}

/// means: the rows of an expression on all replicas, as a tensor of each; made by nn::gathered(c, e)
template <class Device, expression E, class Value>
class gathered_value {
 public:
  gathered_value(E e, Value v, range mine) : e_(std::move(e)), value_(std::move(v)), mine_(mine) {}
  /// means: all rows, for the loss
  Value const& value() const { return value_; }
  /// means: as gradient of reduced_value: every replica's loss reads the rows of this one
  /// cost:  an all-reduce of g
  template <tensor_operand G, tensor_operand W>
  auto gradient(replica_context<Device>& c, G const& g, W const& w) const {
    bound_device<Device> const here(c.device());
    auto const all = c.all_reduce(across::sum, eval(on<Device>(g, here)));
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
      auto const upstream = eval(on<Device>(slice(all, mine_, (void(Axis), all_of)...), here));
      return eval(on<Device>(grad_with(e_, upstream, w), here));
    }(std::make_index_sequence<std::size_t(Value::rank() - 1)>{});
  }

 private:
  E e_;
  Value value_;
  range mine_;
};

/// means: c.all_gather(e) along the first axis, through which gradients pass as through reduced(c, op, e)
/// shape: at least one axis; replicas may have different numbers of rows
template <class Device, tensor_operand X>
auto gathered(replica_context<Device>& c, X const& x) {
  auto e = as_operand<void>(x);
  auto const own = eval(on<Device>(x, bound_device<Device>(c.device())));
  auto const counts = to<CpuDevice>(c.all_gather(own.extent(0)));
  std::int64_t first = 0;
  for (int r = 0; r < c.replica_id(); ++r) first += counts.data()[r];
  auto value = c.all_gather(own);
  using E = decltype(e);
  return gathered_value<Device, E, decltype(value)>(std::move(e), std::move(value),
                                                    range{first, first + own.extent(0)});
}

}  // namespace locus::nn
