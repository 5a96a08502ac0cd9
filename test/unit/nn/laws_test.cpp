// SPDX-License-Identifier: Apache-2.0
// The law of called operations: the host's body and that for GPUs, of one element or of a team of threads, make
// the same results, on random shapes, with results that nobody reads and on a piece of the batch. Numbers are small and
// whole where only products are added, so that no order of adding shows.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>
#include <oracle.hpp>
#include <run_body.hpp>

#include <array>
#include <tuple>

#include <locus/locus.hpp>
#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv1d_ops.hpp>
#include <locus/nn/layers/conv2d_ops.hpp>
#include <locus/nn/layers/embedding_ops.hpp>
#include <locus/nn/layers/pool2d_ops.hpp>
#include <locus/nn/losses/loss.hpp>
#include <locus/nn/losses/metric.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/nn/optimizers/rule.hpp>
#include <locus/nn/optimizers/update.hpp>

#include "team_bodies.hpp"

namespace laws_test {

using namespace locus;
using namespace locus::nn;
using oracle::array;
using team_bodies::part_memory, team_bodies::tile_over;

namespace {

/// means: the results of the host's body; every element of them, and of the others' bodies, agrees
/// tolerance: 0, or of the larger of 1 and the value
template <class Op, class... T, std::size_t... R>
auto results_of(std::index_sequence<R...>, Op const& op, call_context const& here, double tolerance,
                array<T> const&... in) {
  using work =
      call_work<Op, type_list<locus::detail::call_result_t<Op, int(R), T...>...>, type_list<T...>>;
  shape const extents[] = {locus::detail::call_extents<Op>(
      &op, int(R), std::array{in.extents...}.data(), std::index_sequence_for<T...>{})...};
  for (shape const& s : extents) REQUIRE(fits(s));
  using Results = std::tuple<array<locus::detail::call_result_t<Op, int(R), T...>>...>;
  auto run = [&](unsigned read, bool host) {
    Results to{array<locus::detail::call_result_t<Op, int(R), T...>>(extents[R])...};
    work w(op, here);
    ((w.tiles[R] = tile_over((read >> R & 1) ? std::get<R>(to).cells.data() : nullptr, extents[R])),
     ...);
    int k = sizeof...(R);
    ((w.tiles[k++] = tile_over(in.cells.data(), in.extents)), ...);
    if (host || w.has_nothing_to_read())
      run_on_host(w);
    else if constexpr (Op::rule.by_teams)
      cuda_side::choose_teams(
          w.team(), [](std::int64_t bytes) { return part_memory(bytes); },
          [](auto const& body, unsigned blocks) {
            cuda_side::run_body<std::remove_cvref_t<decltype(body)>>(&body, blocks,
                                                                     cuda_side::block_threads);
          });
    else
      for (std::int64_t i = 0, n = w.size(); i < n; ++i) w.write_element(i);
    return to;
  };
  auto same = [&](auto const& a, auto const& b, int r) {
    INFO(Op::rule.name, ", result ", r, " of extents ", a.extents.size());
    double worst = 0;
    std::int64_t at = -1;
    for (std::int64_t i = 0; i < a.size(); ++i) {
      double const x = double(a[i]), y = double(b[i]);
      double const off =
          x == y || (x != x && y != y) ? 0 : std::abs(x - y) / std::max(1., std::abs(x));
      if (off > worst || off != off) worst = off, at = i;
    }
    CAPTURE(at);
    CHECK(worst <= tolerance);
  };
  constexpr unsigned all = (1u << sizeof...(R)) - 1;
  Results const want = run(all, true), elements = run(all, false);
  (same(std::get<R>(want), std::get<R>(elements), int(R)), ...);
  for (unsigned read = 1; read < all && !Op::rule.stores_all; ++read) {
    Results const part = run(read, true), few = run(read, false);
    (((read >> R & 1) ? (same(std::get<R>(want), std::get<R>(part), int(R)),
                         same(std::get<R>(want), std::get<R>(few), int(R)))
                      : void()),
     ...);
  }
  return want;
}
template <class Op, class... T>
auto agree(Op const& op, double tolerance, array<T> const&... in) {
  std::int64_t const rows = std::get<0>(std::tie(in...)).extents.extent[0];
  return results_of(std::make_index_sequence<std::size_t(Op::rule.results.count)>{}, op,
                    call_context{1, 3, 5, 5 + 2 * rows}, tolerance, in...);
}

/// whole numbers from -3 to 3
array<float> whole(oracle::random& r, shape const& s) {
  return oracle::make<float>(s, [&](std::int64_t const*) { return r.number(-3, 3); });
}
array<float> real(oracle::random& r, shape const& s, double low = -2, double high = 2) {
  return oracle::random_array<float>(r, s, low, high);
}
padding any_padding(oracle::random& r, bool causal = false) {
  return static_cast<padding>(r.number(0, causal ? 2 : 1));
}

void conv1d_laws(oracle::random& r) {
  conv_window w;
  w.h.size = r.number(1, 5), w.h.stride = r.number(1, 2), w.h.dilation = r.number(1, 2);
  w.groups = r.number(1, 2), w.filters = w.groups * r.number(1, 9), w.pool = r.number(1, 3);
  w.pad = any_padding(r, true), w.relu = r.number(0, 1) != 0;
  shape const in{3, {r.number(0, 4), r.number(20, 33), w.groups * r.number(1, 5)}};
  auto const x = whole(r, in);
  auto const weights = whole(r, {1, {w.over(in).kernel_size()}}), bias = whole(r, {1, {w.filters}});
  auto const [y, winners] = agree(conv1d_op{w, r.number(0, 1) != 0}, 0, x, weights, bias);
  auto const dy = whole(r, y.extents);
  if (w.pool > 1)
    agree(conv1d_gradient_op{w}, 0, x, weights, winners, dy);
  else
    agree(conv1d_gradient_op{w}, 0, x, weights, y, dy);
}

void conv2d_laws(oracle::random& r) {
  auto any = [&] { return window_steps{r.number(1, 4), r.number(1, 2), r.number(1, 2)}; };
  conv_window w{any(), any(), any_padding(r)};
  bool const depthwise = r.number(0, 2) == 0;
  std::int64_t const channels = r.number(1, 9) * 2;
  w.groups = depthwise ? channels : r.number(1, 2);
  w.filters = w.groups * r.number(1, depthwise ? 1 : 9);
  shape const in{4, {r.number(0, 3), r.number(7, 12), r.number(7, 12), channels}};
  auto const x = whole(r, in);
  auto const weights =
      whole(r, {1, {w.over(1, in.extent[1], in.extent[2], channels).kernel_size()}});
  activation const hows[] = {activation::linear, activation::relu, activation::relu6};
  auto const [y] =
      agree(conv2d_op{w, true, hows[r.number(0, 2)]}, 0, x, weights, whole(r, {1, {w.filters}}));
  auto const dy = whole(r, y.extents);
  agree(conv2d_input_gradient_op{w, {3, {in.extent[1], in.extent[2], channels}}}, 0, dy, weights);
  agree(conv2d_kernel_gradient_op{w}, 0, x, dy);
}

void pool2d_laws(oracle::random& r) {
  auto any = [&] { return window_steps{r.number(1, 4), r.number(1, 3), 1}; };
  pool2d_window w{any(), any(), any_padding(r)};
  if (r.number(0, 4) == 0) w = {{0, 1, 1}, {0, 1, 1}, padding::valid};
  shape const in{4, {r.number(0, 3), r.number(4, 11), r.number(4, 11), r.number(1, 19)}};
  shape const image{3, {in.extent[1], in.extent[2], in.extent[3]}};
  auto const x = whole(r, in);
  auto const [y, winners] = agree(max_pool2d_op{w}, 0, x);
  auto const dy = whole(r, y.extents);
  agree(max_pool2d_gradient_op{w, image}, 0, dy, winners);
  agree(average_pool2d_op{w}, 1e-6, x);
  agree(average_pool2d_gradient_op{w, image}, 1e-6, dy);
  auto const [best] = agree(average_pool2d_op{{{0, 1, 1}, {0, 1, 1}}}, 1e-6, x);
  auto const [largest, which] = agree(max_pool2d_op{{{0, 1, 1}, {0, 1, 1}}}, 0, x);
  agree(global_max_gradient_op{}, 1e-6, x, largest, whole(r, largest.extents));
}

void batch_norm_laws(oracle::random& r) {
  locus::nn::detail::batch_norm_settings s;
  activation const hows[] = {activation::linear, activation::relu, activation::relu6};
  s.how = hows[r.number(0, 2)];
  std::int64_t const c = r.number(1, 21);
  shape const in{4, {r.number(1, 4), r.number(1, 6), r.number(1, 6), c}}, each{1, {c}};
  auto const x = real(r, in), dy = real(r, in), gamma = real(r, each), beta = real(r, each);
  auto const mean = real(r, each), variance = real(r, each, 0.1, 2);
  auto const [statistics, by_mean, by_variance] =
      agree(batch_moments_op{s}, 1e-5, x, mean, variance);
  agree(normalise_op{s}, 1e-5, x, gamma, beta, mean, variance);
  // as many rows for each channel that a variance of 0 has no part in the gradient
  if (in.size() / c < 4) return;
  agree(batch_norm_op{s}, 1e-4, x, statistics, gamma, beta);
  locus::nn::detail::batch_norm_settings linear =
      s;  // bounds are steps: nothing to compare at them
  linear.how = activation::linear;
  auto const [sums, dgamma, dbeta] =
      agree(batch_norm_sums_op{linear}, 1e-4, x, dy, statistics, gamma, beta);
  agree(batch_norm_gradient_op{linear}, 1e-3, x, dy, statistics, sums, gamma, beta);
}

void update_laws(oracle::random& r) {
  std::int64_t const rows = r.number(1, 30), width = r.number(1, 9), n = rows * width;
  auto const w = real(r, {1, {n}}), g = real(r, {1, {n}});
  sgd_rule<float> const rule{.5f};
  agree(locus::nn::detail::update_op<sgd_rule<float>, false, false, 1>{rule}, 1e-6, w, g);
  agree(locus::nn::detail::update_op<rmsprop_rule<float>, false, false, 1>{{.1f, .9f, 1e-6f}}, 1e-5,
        w, real(r, {1, {n}}, 0, 2), g);
  array<std::int32_t> some({1, {rows}});
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < rows; ++k)
    if (r.number(0, 1)) some[count++] = static_cast<std::int32_t>(k);
  for (std::int64_t k = count; k < rows; ++k) some[k] = static_cast<std::int32_t>(rows);
  auto values = real(r, {2, {rows, width}});
  for (std::int64_t i = count * width; i < n; ++i) values[i] = 0;
  agree(locus::nn::detail::update_op<sgd_rule<float>, true, false, 1>{rule}, 1e-6, w, some, values);
}

void score_laws(oracle::random& r) {
  std::int64_t const classes = r.number(5, 40), rows = r.number(0, 70);
  auto const labels = oracle::make<std::int32_t>(
      {1, {rows}}, [&](std::int64_t const*) { return r.number(0, classes - 1); });
  auto const logits = real(r, {2, {rows, classes}}, -5, 5);
  using Loss = SparseCategoricalCrossentropy<from_logits_t>;
  using Score =
      locus::nn::detail::score_op<Loss, locus::nn::detail::weights_of::none, false,
                                  SparseCategoricalAccuracy, SparseTopKCategoricalAccuracy<5>>;
  agree(Score{}, 1e-5, logits, labels);
  // weights of classes, and metrics that read something else than the loss
  using Weighted = locus::nn::detail::score_op<Loss, locus::nn::detail::weights_of::classes, true,
                                               SparseCategoricalAccuracy>;
  agree(Weighted{}, 1e-5, logits, labels, real(r, {1, {classes}}, 0, 3),
        real(r, {2, {rows, classes}}, 0, 1));
}

}  // namespace

TEST_CASE("the bodies of each operation of layers agree") {
  struct {
    char const* name;
    void (*law)(oracle::random&);
  } const laws[] = {{"conv1d", conv1d_laws}, {"conv2d", conv2d_laws},
                    {"pool2d", pool2d_laws}, {"batch norm", batch_norm_laws},
                    {"update", update_laws}, {"score", score_laws}};
  for (auto const& each : laws)
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      oracle::random r(seed);
      INFO(each.name, ", seed ", seed);
      each.law(r);
    }
}

TEST_CASE("the parts of long columns are workspace, counted and there before the first step") {
  testing::recorder record;
  std::int64_t const rows = 1000, channels = 64;
  using matrix = Tensor<float, Dextents<2>, GpuDevice<0>>;
  using channel_row = Tensor<float, Dextents<1>, GpuDevice<0>>;
  matrix x{Dextents<2>(rows, channels)}, statistics{Dextents<2>(rows, 2 * channels)};
  x = uniform<float>(Dextents<2>(rows, channels), seed{1});
  channel_row mean{Dextents<1>(channels)}, variance{Dextents<1>(channels)};
  mean = locus::zeros<float>(Dextents<1>(channels)),
  variance = locus::ones<float>(Dextents<1>(channels));
  auto const c = call(batch_moments_op{}, x, mean, variance);
  auto const step = plan(into(statistics, result<0>(c)), into(mean, mean + result<1>(c)),
                         into(variance, variance + result<2>(c)));
  run(step);
  auto const before = config::get_memory_info<GpuDevice<0>>().current;
  config::reset_memory_stats<GpuDevice<0>>();
  auto const obtained = record.calls("malloc_device"), launches = record.calls("launch");
  run(step);
  CHECK(record.calls("malloc_device") == obtained);
  CHECK(record.calls("launch") == launches + 3);  // parts, their fold, and both sums
  // 8 parts of 128 rows, three doubles of each channel; and the two changes
  CHECK(config::get_memory_info<GpuDevice<0>>().peak == before + 8 * 64 * 24 + 2 * 256);
  runtime::planted.lack_memory = 1;  // the second block is the workspace
  CHECK_THROWS_AS(run(step), out_of_memory);
  runtime::planted.lack_memory = -1;
}

}  // namespace laws_test
