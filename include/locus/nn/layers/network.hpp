// SPDX-License-Identifier: Apache-2.0
// Network: a model with its weights on devices: predictions, summary, weights by name.
#pragma once
#include <locus/nn/layers/batch_cast.hpp>        // batch_as
#include <locus/nn/layers/checkpoint_entry.hpp>  // stored
#include <locus/nn/layers/sequential.hpp>        // Sequential
#include <locus/nn/layers/summary.hpp>           // summary_text
#include <locus/runtime/ranks.hpp>               // lies_on_ranks
#include <locus/tensor/explain.hpp>              // write_to

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {
/// the list of devices of a model: Mirrored<...>; one device is a list of one
template <class Strategy>
struct replicas_of {
  static_assert(always_false<Strategy>,
                "locus: a model lies on one device or mirrored on several; write CpuDevice, "
                "GpuDevice<0> or Mirrored<...>");
};
template <class... Devices>
struct replicas_of<Mirrored<Devices...>> {
  using type = Mirrored<Devices...>;
};
template <single_device Device>
struct replicas_of<Device> {
  using type = Mirrored<Device>;
};
}  // namespace detail
/// means: Mirrored<...> with the devices of a strategy
template <class Strategy>
using replicas_of_t = typename detail::replicas_of<Strategy>::type;

/// The number of examples in one batch, for predict and evaluate on arrays.
struct batch_size {
  std::int64_t batch_size = 32;
};

/// means: a model with its weights, equal on every device of Replicas
/// fails: at compile time, if extents do not fit; the constructor, with shape_error, for extents
///        that are dyn
template <class Model, class T, class Replicas>
class Network {
 public:
  using model_type = Model;
  using value_type = T;
  using replicas = Replicas;
  using input = typename Model::template input_type<>;  // a static_assert, if the model has none
  using state_type = state_of<Model, T, input, Replicas>;
  using kept_type = typename state_type::kept;
  using in_batch = typename state_type::in_batch;
  using out_batch = typename state_type::out_batch;
  using parameter_type = parameter<T, Replicas>;
  static constexpr int links = state_type::size;

  explicit Network(Model const& model)
      : model_(model), input_(model.input_extents()), state_(made(model)) {
    for_each_index<links>([&](auto k) {
      first_[k] = int(parameters_.size());
      get<std::size_t(k)>(state_.states).for_each_parameter([&](parameter_type& p) {
        parameters_.push_back(&p);
      });
    });
    first_[links] = int(parameters_.size());
  }
  Network(Network const&) = delete;

  Model const& model() const { return model_; }
  std::string_view name() const { return model_.name; }
  shape const& input_extents() const { return input_; }
  shape output_extents() const { return state_.output_extents(); }
  state_type& state() { return state_; }
  /// every weight, in the order of the layers; the weights of link k begin at first(k)
  std::vector<parameter_type*> const& parameters() const { return parameters_; }
  int first(int link) const { return first_[link]; }
  /// means: the weights lie on several ranks
  bool is_over_ranks() const {
    return !parameters_.empty() &&
           runtime::lies_on_ranks(parameters_[0]->value.block->where.devices);
  }
  /// units: replicas of all ranks
  int replica_count() const {
    return parameters_.empty() ? 1 : parameters_[0]->value.block->where.global_count();
  }

  /// means: x as a batch of the model's element type, on its replicas
  /// fails: shape_error, if the examples have other extents
  template <class X>
  in_batch batch_of_examples(X const& x) const {
    detail::require_examples(x.extents().as_shape(), input_);
    return batch_as<typename in_batch::value_type, in_batch::rank(), Replicas>(x);
  }
  /// means: the result of the model for a batch; forward also tells `watch` the result of each
  ///        layer
  template <class X>
  out_batch operator()(X const& x) {
    return forward(x, nullptr);
  }
  template <class X>
  out_batch forward(X const& x, pass_watch* watch) {
    kept_type k{};
    return state_.forward(batch_of_examples(x), k, pass{.watch = watch});
  }
  /// means: a batch of zeros
  auto zero_batch(std::int64_t rows) const {
    return detail::zero_array<typename in_batch::value_type, in_batch::rank()>(
        detail::with_rows(input_, rows));
  }

  /// means: the result of the model for each row, in order, on the host
  template <class X>
  Tensor<T, Dextents<out_batch::rank()>, CpuDevice> predict(X const& x, batch_size const& o = {}) {
    rows_collector<T, out_batch::rank()> all(output_extents(), x.extent(0));
    for_each_slice(x, o.batch_size, [&](auto const& part) { all.add((*this)(part)); });
    return all.take();
  }

  /// means: every weight with its name, "dense_1/kernel"
  std::vector<stored> weights() {
    std::vector<stored> all;
    state_.visit([&](layer_label const& l, auto& s) {
      s.for_each_parameter([&](parameter_type& p) {
        all.push_back({l.name + "/" + p.name, p.extents, p.trainable, p.value.block.get()});
      });
    });
    return all;
  }
  std::vector<layer_row> layers() {
    std::vector<layer_row> rows;
    state_.visit([&](layer_label const& l, auto& s) {
      layer_row r{l.name, l.kind, s.output_extents()};
      s.for_each_parameter([&](parameter_type& p) { count(r, p); });
      if (l.second_kind) {
        if constexpr (requires { s.first_extents(); }) r.output = s.first_extents();
        rows.push_back(r);
        rows.push_back({l.second_name, l.second_kind, s.output_extents()});
      } else
        rows.push_back(r);
    });
    return rows;
  }

 private:
  static state_type made(Model const& model) {
    detail::making names;
    return model.template make<T, input, Replicas>(model.input_extents(), model.seed);
  }
  static void count(layer_row& r, parameter_type const& p) {
    std::int64_t const n = p.size(), bytes = n * std::int64_t(sizeof(T));
    r.parameters += n, r.bytes += bytes;
    if (!p.trainable) r.frozen += n, r.frozen_bytes += bytes;
  }
  Model model_;
  shape input_;
  state_type state_;
  std::vector<parameter_type*> parameters_;
  int first_[links + 1];
};

/// means: the table of a model, as Keras prints it
template <class Stream, class Model, class T, class Replicas>
void summary(Stream& out, Network<Model, T, Replicas>& network) {
  locus::internal::write_to(out, detail::summary_text(network.name(), network.layers()));
}
template <class Stream, class... Layers>
void summary(Stream& out, Sequential<Layers...> const& model) {
  Network<Sequential<Layers...>, float, Mirrored<CpuDevice>> network(model);
  summary(out, network);
}

}  // namespace locus::nn

LOCUS_COLD_END
