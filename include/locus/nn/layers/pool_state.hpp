// SPDX-License-Identifier: Apache-2.0
// States of pools. A pool along one axis is a pool over images that are one pixel high.
#pragma once
#include <locus/nn/layers/layer.hpp>       // batch_of, batch_with
#include <locus/nn/layers/pool2d_ops.hpp>  // max_pool2d_op, average_pool2d_op, global_max_gradient_op
#include <locus/ops/reduce.hpp>            // max
#include <locus/tensor/eval.hpp>           // run
#include <locus/tensor/relabel.hpp>        // relabel

namespace locus::nn {

/// A pool that takes batches of rank From and makes batches of rank To. A batch of images has rank
/// 4; a batch of lower rank lacks the axes of the image in front.
template <class T, int From, int To, class Replicas>
struct pool_over_images {
  using in_batch = batch_of<T, From, Replicas>;
  using out_batch = batch_of<T, To, Replicas>;
  using images = batch_of<T, 4, Replicas>;
  pool2d_window window;
  shape in;  // one image

  shape output_extents() const {
    auto const g = window.over(1, in.extent[0], in.extent[1], in.extent[2]);
    return example<To>({3, {g.h.out, g.w.out, g.channels}});
  }
  template <class F>
  void for_each_parameter(F&&) {}

 protected:
  template <int Rank>
  static shape example(shape const& image) {
    shape s{Rank - 1, {}};
    for (int a = 0; a < s.rank; ++a) s.extent[a] = image.extent[a + 4 - Rank];
    return s;
  }
  static decltype(auto) as_images(in_batch const& x) {
    if constexpr (From == 4)
      return (x);
    else
      return seen_as<images>(x);
  }
  static out_batch as_results(images&& y) {
    if constexpr (To == 4)
      return std::move(y);
    else
      return seen_as<out_batch>(y);
  }
  static in_batch as_inputs(images&& dx) {
    if constexpr (From == 4)
      return std::move(dx);
    else
      return seen_as<in_batch>(dx);
  }
  in_batch no_rows() const { return batch_with<in_batch>(0, example<From>(in)); }

  /// means: the memory of x as a batch of another rank; axes of extent 1 are added or dropped
  template <class Batch, class X>
  static Batch seen_as(X const& x) {
    constexpr int rank = Batch::extents_type::rank(), more = rank - X::extents_type::rank();
    shape s{rank, {x.extent(0)}};
    for (int a = 1; a < rank; ++a) s.extent[a] = a > more ? x.extent(a - more) : 1;
    return locus::internal::relabel<Batch>(x, s);
  }
};

/// The state of a pool over examples of N axes. With Max a forward pass keeps its winners for the
/// backward pass.
template <class T, int N, bool Max, class Replicas>
struct pool_state : pool_over_images<T, N + 2, N + 2, Replicas> {
  using base = pool_over_images<T, N + 2, N + 2, Replicas>;
  using batch = typename base::in_batch;
  using images = typename base::images;
  using marks = batch_of<std::uint8_t, 4, Replicas>;
  static constexpr bool reads_x = false, reads_y = false;
  struct winners {
    marks of = batch_with<marks>(0, {3, {}});
  };
  using kept = std::conditional_t<Max, winners, nothing>;
  using base::window, base::in;

  batch forward(batch const& x, [[maybe_unused]] kept& k, [[maybe_unused]] pass const& p) {
    if constexpr (!Max)
      return base::as_results(images(call(average_pool2d_op{window}, base::as_images(x))));
    else {
      auto const pooled = call(max_pool2d_op{window}, base::as_images(x));
      shape const example = window.axes().slid(in, in.extent[2]);
      images y = batch_with<images>(x.extent(0), example);
      if (p.training) {
        k.of = batch_with<marks>(x.extent(0), example);
        run(plan(into(y, result<0>(pooled)), into(k.of, result<1>(pooled))));
      } else
        y = result<0>(pooled);
      return base::as_results(std::move(y));
    }
  }
  batch backward(batch const&, batch const&, [[maybe_unused]] kept& k, batch dy, bool need_dx) {
    if (!need_dx) return this->no_rows();
    auto const& d = base::as_images(dy);
    if constexpr (Max)
      return base::as_inputs(images(call(max_pool2d_gradient_op{window, in}, d, k.of)));
    else
      return base::as_inputs(images(call(average_pool2d_gradient_op{window, in}, d)));
  }
};

/// The state of a pool over whole examples of N axes. Rank: of a batch of results: 2, or 4 if the
/// axes stay.
template <class T, int N, int Rank, bool Max, class Replicas>
struct global_pool_state : pool_over_images<T, N + 2, Rank, Replicas> {
  using base = pool_over_images<T, N + 2, Rank, Replicas>;
  using typename base::in_batch, typename base::out_batch, typename base::images;
  using kept = nothing;
  static constexpr bool reads_x = Max, reads_y = Max;
  using base::window, base::in;

  out_batch forward(in_batch const& x, kept&, pass const&) {
    auto const& from = base::as_images(x);
    if constexpr (Max)
      return base::as_results(images(max<1, 2>(from, keep_dims)));
    else
      return base::as_results(images(call(average_pool2d_op{window}, from)));
  }
  in_batch backward(in_batch const& x, out_batch const& y, kept&, out_batch dy, bool need_dx) {
    if (!need_dx) return this->no_rows();
    images const d = base::template seen_as<images>(dy);
    if constexpr (Max)
      return base::as_inputs(images(call(global_max_gradient_op{}, base::as_images(x),
                                         base::template seen_as<images>(y), d)));
    else
      return base::as_inputs(images(call(average_pool2d_gradient_op{window, in}, d)));
  }
};

}  // namespace locus::nn
