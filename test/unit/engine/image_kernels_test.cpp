// SPDX-License-Identifier: Apache-2.0
// Pools of images on GPUs have the host's bits, ties and NaN included; a batch normalisation and its gradient have the
// host's numbers to rounding. Channels fill vectors or do not, images may begin anywhere, a batch may be empty.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include <locus/nn/batch_norm.hpp>
#include <locus/nn/pool2d_ops.hpp>
#include <oracle.hpp>

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
template <class A, class B>
bool same(A const& a, B const& b) {
  return a.size() == b.size() &&
         (a.size() == 0 ||
          std::memcmp(a.data(), b.data(), sizeof(*a.data()) * std::size_t(a.size())) == 0);
}
/// the same extents and numbers where the first one is `shift` numbers behind the beginning of an array
template <class T>
struct moved {
  Tensor<T, Dextents<1>, GpuDevice<0>> all;
  std::int64_t shift;
  Dextents<4> extents;
  moved(on_host<T, 4> const& x, std::int64_t by)
      : all(Dextents<1>(x.size() + by)), shift(by), extents(x.extents()) {
    on_host<T, 1> flat{Dextents<1>(x.size() + by)};
    for (std::int64_t i = 0; i < flat.size(); ++i)
      flat.data()[i] = i < by ? T(0) : x.data()[i - by];
    all = flat;
  }
  auto view() const { return reshape(slice(all, {shift, all.size()}), extents); }
};
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
void check_pools(nn::pool2d_window const& w, Dextents<4> const& in, std::int64_t shift) {
  oracle::random r(std::uint64_t(in.extent(1) + 7 * in.extent(3) + shift));
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
  moved<T> const x_there(x, shift), dy_there(dy, shift);
  auto const got = pools_on<T, GpuDevice<0>>(w, x_there.view(), dy_there.view(), image, in, out);
  CHECK(same(want.y, got.y));
  CHECK(same(want.y, got.alone));
  CHECK(same(want.winner, got.winner));
  CHECK(same(want.dx, got.dx));
  CHECK(same(want.mean, got.mean));
  CHECK(same(want.dmean, got.dmean));
}

template <class A, class B>
double worst(A const& a, B const& b) {
  REQUIRE(a.size() == b.size());
  double far = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    double const x = double(a.data()[i]), y = double(b.data()[i]);
    far = std::fmax(far, std::abs(x - y) / std::fmax(1., std::abs(x)));
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
      for (std::int64_t const channels : {1, 3, 4, 8, 17})
        for (std::int64_t const shift : {0, 1}) {
          CAPTURE(channels);
          CAPTURE(shift);
          check_pools<T>(w, Dextents<4>(3, 7, 6, channels), shift);
        }
      check_pools<T>(w, Dextents<4>(0, 7, 6, 4), 0);
      check_pools<T>(w, Dextents<4>(1, 3, 3, 4), 0);
    }
  });
}

TEST_CASE("windows wider than the image have no results, and no gradient") {
  on_few_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    nn::pool2d_window const w{{4, 4, 1}, {4, 4, 1}, nn::padding::valid};
    check_pools<float>(w, Dextents<4>(2, 3, 9, 4), 0);
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
