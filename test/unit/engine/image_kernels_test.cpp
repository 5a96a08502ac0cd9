// SPDX-License-Identifier: Apache-2.0
// Pools of images on GPUs have the host's bits, ties and NaN included; a batch normalisation and its gradient have the
// host's numbers to rounding. Channels fill vectors or do not, images may begin anywhere, a batch may be empty.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>
#include <limits>

#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/pool2d_ops.hpp>
#include <oracle.hpp>
#include <worst_of.hpp>

namespace image_kernels_test {

using namespace locus;

namespace {

template <class T, int Rank>
using on_host = Tensor<T, Dextents<Rank>, CpuDevice>;

template <class T, int Rank>
on_host<T, Rank> random(oracle::random& r, Dextents<Rank> const& s, double low = -2,
                        double high = 2) {
  on_host<T, Rank> x{s};
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = r.value<T>(low, high);
  return x;
}
template <class T>
struct pool_results {
  on_host<T, 4> y, dx, mean, dmean, alone;
  on_host<std::uint8_t, 4> winner;
};
template <class T, class Where, class X, class Dy>
pool_results<T> pools_on(nn::pool2d_window const& w, X const& x, Dy const& dy, shape const& image,
                         Dextents<4> const& in, Dextents<4> const& out) {
  Tensor<T, Dextents<4>, Where> y{out}, alone{out}, mean{out}, dx{in}, dmean{in};
  Tensor<std::uint8_t, Dextents<4>, Where> winner{out};
  auto const both = call(nn::max_pool2d_op{w}, x);
  run(plan(into(y, result<0>(both)), into(winner, result<1>(both))));
  run(into(alone, result<0>(call(nn::max_pool2d_op{w}, x))));  // nobody reads the winners
  dx = call(nn::max_pool2d_gradient_op{w, image}, dy, winner);
  mean = call(nn::average_pool2d_op{w}, x);
  dmean = call(nn::average_pool2d_gradient_op{w, image}, dy);
  return {to<CpuDevice>(y),     to<CpuDevice>(dx),    to<CpuDevice>(mean),
          to<CpuDevice>(dmean), to<CpuDevice>(alone), to<CpuDevice>(winner)};
}
template <class T>
void check_pools(nn::pool2d_window const& w, Dextents<4> const& in) {
  oracle::random r(std::uint64_t(in.extent(1) + 7 * in.extent(3)));
  auto x = random<T, 4>(r, in);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = i % 53 == 20 ? std::numeric_limits<T>::quiet_NaN()
                               : std::round(x.data()[i] * 4) / 4;  // ties
  shape const image{3, {in.extent(1), in.extent(2), in.extent(3)}};
  auto const g = w.over(in.extent(0), in.extent(1), in.extent(2), in.extent(3));
  Dextents<4> const out(in.extent(0), g.h.out, g.w.out, in.extent(3));
  auto dy = random<T, 4>(r, out);
  if (dy.size() > 3) dy.data()[3] = T(-0.);
  auto const want = pools_on<T, CpuDevice>(w, x, dy, image, in, out);
  auto const got =
      pools_on<T, GpuDevice<0>>(w, to<GpuDevice<0>>(x), to<GpuDevice<0>>(dy), image, in, out);
  CHECK(oracle::same_bits(want.y, got.y));
  CHECK(oracle::same_bits(want.y, got.alone));
  CHECK(oracle::same_bits(want.winner, got.winner));
  CHECK(oracle::same_bits(want.dx, got.dx));
  CHECK(oracle::same_numbers(want.mean, got.mean));
  CHECK(oracle::same_bits(want.dmean, got.dmean));
}

template <class A, class B>
double worst(A const& a, B const& b) {
  REQUIRE(a.size() == b.size());
  double far = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    double const x = double(a.data()[i]), y = double(b.data()[i]);
    far = worst_of(far, std::abs(x - y) / std::fmax(1., std::abs(x)));
  }
  return far;
}
template <class T>
struct normal_results {
  on_host<T, 4> y, given, dx;
};
template <class T>
struct normal_numbers {
  on_host<T, 4> x, dy;
  on_host<T, 2> statistics, sums;
  on_host<T, 1> gamma, beta, mean, variance;
};
template <class Where, class T>
normal_results<T> normalised_on(nn::activation how, normal_numbers<T> const& n) {
  nn::detail::batch_norm_settings const linear;
  nn::detail::batch_norm_settings bounded;
  bounded.how = how;
  auto const x = to<Where>(n.x), dy = to<Where>(n.dy);
  auto const statistics = to<Where>(n.statistics), sums = to<Where>(n.sums);
  auto const gamma = to<Where>(n.gamma), beta = to<Where>(n.beta), mean = to<Where>(n.mean),
             variance = to<Where>(n.variance);
  Tensor<T, Dextents<4>, Where> y{n.x.extents()}, given{n.x.extents()}, dx{n.x.extents()};
  y = call(nn::batch_norm_op{bounded}, x, statistics, gamma, beta);
  given = call(nn::normalise_op{bounded}, x, gamma, beta, mean, variance);
  dx = call(nn::batch_norm_gradient_op{linear}, x, dy, statistics, sums, gamma, beta);
  return {to<CpuDevice>(y), to<CpuDevice>(given), to<CpuDevice>(dx)};
}
template <class T>
void check_normalised(nn::activation how, std::int64_t images, std::int64_t side, std::int64_t c) {
  oracle::random r(std::uint64_t(images + side + c));
  Dextents<4> const in(images, side, side, c);
  Dextents<2> const pairs(images, 2 * c);
  Dextents<1> const each(c);
  normal_numbers<T> const n{
      random<T, 4>(r, in),    random<T, 4>(r, in),          random<T, 2>(r, pairs, 0.5, 2),
      random<T, 2>(r, pairs), random<T, 1>(r, each),        random<T, 1>(r, each),
      random<T, 1>(r, each),  random<T, 1>(r, each, 0.1, 2)};
  auto const want = normalised_on<CpuDevice>(how, n);
  auto const got = normalised_on<GpuDevice<0>>(how, n);
  double const near = sizeof(T) == 4 ? 1e-5 : 1e-13;
  CHECK(worst(want.y, got.y) <= near);
  CHECK(worst(want.given, got.given) <= near);
  CHECK(worst(want.dx, got.dx) <= 10 * near);
}

}  // namespace

namespace shifted {  // functors of kernels have names

/// pools of four channels whose arrays begin one number behind where the tiles do
struct op {
  static constexpr nn::pool2d_window window{{2, 2, 1}, {2, 2, 1}, nn::padding::same};
  static constexpr nn::pool_geometry pools() { return window.over(2, 5, 6, 4); }
};
struct forward : op {
  static constexpr call_rule rule{
      .name = "shifted pools",
      .operands = {call_role::whole},
      .results = {call_role::whole, call_role::whole, call_role::whole}};
  template <int R, class T>
  using result = std::conditional_t<R == 1, std::uint8_t, T>;
  static constexpr shape infer(int, shape) { return {1, {pools().output_size() + 1}}; }
  template <class T>
  void host(call_context const&, tile<T> y, tile<std::uint8_t> winner, tile<T> mean,
            tile<T const> x) const {
    y[0] = mean[0] = T(7), winner[0] = 7;
    nn::host::max_pool2d(y.data + 1, winner.data + 1, x.data + 1, pools());
    nn::host::average_pool2d(mean.data + 1, x.data + 1, pools());
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T> mean,
            tile<T const> x) const {
    here.each(1, sevens<T>{y.data, mean.data, winner.data});
    nn::cards::max_pool2d(here, pools(), x.data + 1, y.data + 1, winner.data + 1);
    nn::cards::average_pool2d(here, pools(), x.data + 1, mean.data + 1);
  }
  template <class T>
  struct sevens {
    T *y, *mean;
    std::uint8_t* winner;
    LOCUS_HOST_DEVICE void operator()(std::int64_t) const { *y = *mean = T(7), *winner = 7; }
  };
};
struct backward : op {
  static constexpr call_rule rule{.name = "shifted slopes",
                                  .operands = {call_role::whole, call_role::whole},
                                  .results = {call_role::whole, call_role::whole}};
  template <int, class T, class>
  using result = T;
  static constexpr shape infer(int, shape, shape) { return {1, {pools().input_size() + 1}}; }
  template <class T>
  void host(call_context const&, tile<T> dx, tile<T> dmean, tile<T const> dy,
            tile<std::uint8_t const> winner) const {
    dx[0] = dmean[0] = T(7);
    nn::host::max_pool2d_gradient(dx.data + 1, dy.data + 1, winner.data + 1, pools());
    nn::host::average_pool2d_gradient(dmean.data + 1, dy.data + 1, pools());
  }
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T> dmean, tile<T const> dy,
            tile<std::uint8_t const> winner) const {
    here.each(1, sevens<T>{dx.data, dmean.data});
    nn::cards::max_pool2d_gradient(here, pools(), dy.data + 1, winner.data + 1, dx.data + 1);
    nn::cards::average_pool2d_gradient(here, pools(), dy.data + 1, dmean.data + 1);
  }
  template <class T>
  struct sevens {
    T *dx, *dmean;
    LOCUS_HOST_DEVICE void operator()(std::int64_t) const { *dx = *dmean = T(7); }
  };
};

template <class T>
struct results {
  on_host<T, 1> y, mean, dx, dmean;
  on_host<std::uint8_t, 1> winner;
};
template <class Where, class T>
results<T> on(on_host<T, 1> const& x, on_host<T, 1> const& dy) {
  using numbers = Tensor<T, Dextents<1>, Where>;
  numbers y{dy.extents()}, mean{dy.extents()}, dx{x.extents()}, dmean{x.extents()};
  Tensor<std::uint8_t, Dextents<1>, Where> winner{dy.extents()};
  auto const x_there = to<Where>(x), dy_there = to<Where>(dy);
  auto const all = call(forward{}, x_there);
  run(plan(into(y, result<0>(all)), into(winner, result<1>(all)), into(mean, result<2>(all))));
  auto const slopes = call(backward{}, dy_there, winner);
  run(plan(into(dx, result<0>(slopes)), into(dmean, result<1>(slopes))));
  return {to<CpuDevice>(y), to<CpuDevice>(mean), to<CpuDevice>(dx), to<CpuDevice>(dmean),
          to<CpuDevice>(winner)};
}

}  // namespace shifted

TEST_CASE_TEMPLATE("images that begin in the midst of 16 bytes have the host's bits", T, float,
                   double) {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    oracle::random r(3);
    auto const x = random<T, 1>(r, Dextents<1>(shifted::op::pools().input_size() + 1));
    auto const dy = random<T, 1>(r, Dextents<1>(shifted::op::pools().output_size() + 1));
    auto const want = shifted::on<CpuDevice, T>(x, dy), got = shifted::on<GpuDevice<0>, T>(x, dy);
    CHECK(oracle::same_bits(want.y, got.y));
    CHECK(oracle::same_bits(want.winner, got.winner));
    CHECK(oracle::same_numbers(want.mean, got.mean));
    CHECK(oracle::same_bits(want.dx, got.dx));
    CHECK(oracle::same_bits(want.dmean, got.dmean));
  });
}

TEST_CASE_TEMPLATE("pools of images have the host's bits on GPUs", T, float, double) {
  using enum nn::padding;
  nn::pool2d_window const windows[] = {
      {{2, 2, 1}, {2, 2, 1}, valid},                                   // side by side
      {{2, 2, 1}, {2, 2, 1}, same},    {{3, 2, 1}, {3, 2, 1}, same},   // they share inputs
      {{3, 1, 1}, {2, 1, 1}, valid},   {{1, 3, 1}, {2, 4, 1}, same},   // inputs between them
      {{1, 5, 1}, {1, 100, 1}, valid}, {{0, 1, 1}, {0, 1, 1}, valid},  // the whole image
  };
  on_few_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    int number = 0;
    for (nn::pool2d_window const& w : windows) {
      INFO("window ", number++);
      for (std::int64_t const channels : {1, 3, 4, 8, 17}) {
        CAPTURE(channels);
        check_pools<T>(w, Dextents<4>(3, 7, 6, channels));
      }
      check_pools<T>(w, Dextents<4>(0, 7, 6, 4));
      check_pools<T>(w, Dextents<4>(1, 3, 3, 4));
    }
  });
}

TEST_CASE_TEMPLATE("slopes of a maximum over whole images: ties and NaN share", T, float, double) {
  on_few_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const channels : {1, 3, 4, 8, 17})
      for (std::int64_t const images : {0, 1, 3}) {
        CAPTURE(channels);
        CAPTURE(images);
        oracle::random r{std::uint64_t(channels + images)};
        auto x = random<T, 4>(r, Dextents<4>(images, 5, 3, channels));
        auto y = random<T, 4>(r, Dextents<4>(images, 1, 1, channels));
        auto const dy = random<T, 4>(r, y.extents());
        for (std::int64_t i = 0; i < x.size(); ++i)
          x.data()[i] =
              i % 61 == 20 ? std::numeric_limits<T>::quiet_NaN() : std::round(x.data()[i]);
        y = max<1, 2>(x, keep_dims);
        auto const on = [&]<class Where>(Where) {
          auto const x_there = to<Where>(x), y_there = to<Where>(y), dy_there = to<Where>(dy);
          Tensor<T, Dextents<4>, Where> dx{x.extents()};
          dx = call(nn::global_max_gradient_op{}, x_there, y_there, dy_there);
          return to<CpuDevice>(dx);
        };
        CHECK(oracle::same_bits(on(CpuDevice{}), on(GpuDevice<0>{})));
      }
  });
}

TEST_CASE("windows wider than the image have no results, and no gradient") {
  on_few_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    nn::pool2d_window const w{{4, 4, 1}, {4, 4, 1}, nn::padding::valid};
    check_pools<float>(w, Dextents<4>(2, 3, 9, 4));
  });
}

TEST_CASE_TEMPLATE("a batch normalisation has the host's numbers on GPUs", T, float, double) {
  on_few_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    using enum nn::activation;
    for (std::int64_t const channels : {1, 3, 4, 8, 17, 64})
      for (std::int64_t const images : {0, 1, 5}) {
        CAPTURE(channels);
        CAPTURE(images);
        check_normalised<T>(linear, images, 3, channels);
        check_normalised<T>(relu6, images, 1, channels);
      }
    check_normalised<T>(relu, 7, 11, 8);
  });
}

}  // namespace image_kernels_test
