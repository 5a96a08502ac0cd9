// SPDX-License-Identifier: Apache-2.0
// Kernels of images against loops in double, on random odd shapes.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <worst_of.hpp>

#include <locus/nn/kernels/depthwise.hpp>
#include <locus/nn/kernels/pool2d.hpp>

namespace {

using namespace locus::nn;
namespace k = locus::nn::host;
using locus::runtime::thread_limit;

struct threads_scope {
  int const before = thread_limit;
  explicit threads_scope(int n) { thread_limit = n; }
  ~threads_scope() { thread_limit = before; }
};

std::mt19937_64 generator(17);
std::int64_t pick(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
}
template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> r(static_cast<std::size_t>(n));
  std::uniform_real_distribution<double> any(-1, 1);
  for (T& x : r) x = static_cast<T>(any(generator));
  return r;
}
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// visit(input, kernel, output) of each product of a convolution
template <class Visit>
void for_each_product(conv_geometry const& g, Visit const& visit) {
  std::int64_t const cg = g.group_channels(), fg = g.group_filters();
  for (std::int64_t n = 0; n < g.images; ++n)
    for (std::int64_t oh = 0; oh < g.h.out; ++oh)
      for (std::int64_t ow = 0; ow < g.w.out; ++ow)
        for (std::int64_t kh = 0; kh < g.h.size; ++kh)
          for (std::int64_t kw = 0; kw < g.w.size; ++kw) {
            std::int64_t const ih = g.h.input(oh, kh), iw = g.w.input(ow, kw);
            if (!g.h.is_inside(ih) || !g.w.is_inside(iw)) continue;
            for (std::int64_t f = 0; f < g.filters; ++f)
              for (std::int64_t c = 0; c < cg; ++c)
                visit(((n * g.h.in + ih) * g.w.in + iw) * g.channels + f / fg * cg + c,
                      ((kh * g.w.size + kw) * cg + c) * g.filters + f,
                      ((n * g.h.out + oh) * g.w.out + ow) * g.filters + f);
          }
}

template <class T>
struct tolerance {
  static constexpr double value = sizeof(T) == 4 ? 3e-6 : 1e-14;
};
/// the largest difference, in units of what the sum of absolute products allows
template <class T>
double worst(std::vector<T> const& got, std::vector<double> const& want,
             std::vector<double> const& magnitude) {
  double r = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    r = worst_of(r, std::abs(double(got[i]) - want[i]) / (magnitude[i] + 1e-3));
  return r;
}

conv_geometry random_geometry(bool depthwise) {
  conv_geometry g;
  g.images = pick(1, 3);
  auto axis = [] {
    std::int64_t const size = pick(1, 5), stride = pick(1, 3);
    return slide(pick(5, 19), size, stride, pick(0, 2) ? 1 : pick(1, 3),
                 pick(0, 1) ? padding::same : padding::valid);
  };
  g.h = axis(), g.w = axis();
  if (depthwise) {
    g.groups = g.channels = pick(2, 40);
    g.filters = g.channels * (pick(0, 2) ? 1 : pick(1, 3));
  } else {
    g.groups = pick(0, 2) ? 1 : pick(1, 3);
    g.channels = g.groups * pick(1, 20), g.filters = g.groups * pick(1, 45);
  }
  return g;
}

template <class T>
void check_convolution(conv_geometry const& g) {
  CAPTURE(g.images);
  CAPTURE(g.h.in);
  CAPTURE(g.h.size);
  CAPTURE(g.h.stride);
  CAPTURE(g.h.dilation);
  CAPTURE(g.w.in);
  CAPTURE(g.w.size);
  CAPTURE(g.w.stride);
  CAPTURE(g.w.dilation);
  CAPTURE(g.h.before);
  CAPTURE(g.channels);
  CAPTURE(g.filters);
  CAPTURE(g.groups);
  auto const x = numbers<T>(g.input_size()), w = numbers<T>(g.kernel_size()),
             dy = numbers<T>(g.output_size()), bias = numbers<T>(g.filters);
  std::vector<double> y0(dy.size()), dx0(x.size()), dw0(w.size());
  auto my = y0, mx = dx0, mw = dw0;
  for (std::size_t i = 0; i < y0.size(); ++i) y0[i] = double(bias[i % at(g.filters)]), my[i] = 1;
  for_each_product(g, [&](std::int64_t i, std::int64_t j, std::int64_t o) {
    double const a = double(x[at(i)]), b = double(w[at(j)]), d = double(dy[at(o)]);
    y0[at(o)] += a * b, my[at(o)] += std::abs(a * b);
    dx0[at(i)] += d * b, mx[at(i)] += std::abs(d * b);
    dw0[at(j)] += a * d, mw[at(j)] += std::abs(a * d);
  });
  bool const by_channel = g.is_depthwise();
  std::vector<T> y[2], dx[2], dw[2];
  for (int several = 0; several < 2; ++several) {
    threads_scope const scope(several ? 3 : 1);
    y[several].assign(dy.size(), T(99)), dx[several].assign(x.size(), T(99));
    dw[several].assign(w.size(), T(99));
    T* const to = y[several].data();
    if (by_channel) {
      k::depthwise2d<T>(to, x.data(), w.data(), g, {bias.data(), false, T(0), T(0)});
      k::depthwise2d_input_gradient<T>(dx[several].data(), dy.data(), w.data(), g);
      k::depthwise2d_kernel_gradient<T>(dw[several].data(), x.data(), dy.data(), g);
    } else {
      k::conv2d<T>(to, x.data(), w.data(), g, {bias.data(), false, T(0), T(0)});
      k::conv2d_input_gradient<T>(dx[several].data(), dy.data(), w.data(), g);
      k::conv2d_kernel_gradient<T>(dw[several].data(), x.data(), dy.data(), g);
    }
  }
  double const limit = tolerance<T>::value;
  CHECK(worst(y[0], y0, my) < limit);
  CHECK(worst(dx[0], dx0, mx) < limit);
  CHECK(worst(dw[0], dw0, mw) < limit);
  CHECK(y[0] == y[1]);
  CHECK(dx[0] == dx[1]);
  CHECK(dw[0] == dw[1]);
  // the same with bounds: relu6
  for (T& v : y[0]) v = v < T(0) ? T(0) : v > T(0.5) ? T(0.5) : v;
  k::store_rule<T> const bounded{bias.data(), true, T(0), T(0.5)};
  if (by_channel)
    k::depthwise2d<T>(y[1].data(), x.data(), w.data(), g, bounded);
  else
    k::conv2d<T>(y[1].data(), x.data(), w.data(), g, bounded);
  CHECK(y[0] == y[1]);
}

}  // namespace

TEST_CASE("windows lie as TensorFlow pads them") {
  window_axis const even = slide(224, 3, 2, 1, padding::same);
  CHECK(even.out == 112);
  CHECK(even.before == 0);
  window_axis const odd = slide(7, 3, 2, 1, padding::same);
  CHECK(odd.out == 4);
  CHECK(odd.before == 1);
  CHECK(slide(28, 2, 1, 1, padding::same).before == 0);
  CHECK(slide(28, 5, 1, 1, padding::valid).out == 24);
  CHECK(slide(9, 3, 1, 3, padding::valid).out == 3);
  CHECK(slide(2, 3, 1, 1, padding::valid).out == 0);
  CHECK(slide(9, 3, 2, 2, padding::causal).before == 4);
  CHECK(slide(9, 3, 2, 2, padding::causal).out == 5);
  CHECK(slide(5, 1, 2, 1, padding::same).out == 3);
}

TEST_CASE("a convolution and its gradients are the sums of products, whatever the shape and the "
          "threads") {
  for (int i = 0; i < 40; ++i) check_convolution<float>(random_geometry(false));
  for (int i = 0; i < 20; ++i) check_convolution<double>(random_geometry(false));
  conv_geometry g;  // one window of one pixel; large enough for several bands and threads
  g.images = 3, g.h = slide(17, 1, 1, 1, padding::same), g.w = slide(19, 1, 1, 1, padding::same);
  g.channels = 70, g.filters = 100;
  check_convolution<float>(g);
  g.images = 20, g.h = slide(12, 3, 1, 1, padding::same), g.w = slide(300, 3, 1, 1, padding::same);
  g.channels = 3, g.filters = 33;
  check_convolution<float>(g);
}

TEST_CASE("a convolution of each channel by itself, with several filters for a channel") {
  for (int i = 0; i < 40; ++i) check_convolution<float>(random_geometry(true));
  for (int i = 0; i < 20; ++i) check_convolution<double>(random_geometry(true));
}

TEST_CASE("a convolution of nothing") {
  conv_geometry g;
  g.images = 0, g.h = g.w = slide(5, 3, 1, 1, padding::same), g.channels = 2, g.filters = 3;
  std::vector<float> w(54, 1.f), dw(54, 5.f);
  k::conv2d<float>(nullptr, nullptr, w.data(), g);
  k::conv2d_input_gradient<float>(nullptr, nullptr, w.data(), g);
  k::conv2d_kernel_gradient<float>(dw.data(), nullptr, nullptr, g);
  for (float v : dw) CHECK(v == 0.f);
  g.h = slide(2, 3, 1, 1, padding::valid), g.images = 1;
  std::vector<float> x(20, 1.f), dx(20, 5.f);
  k::conv2d_input_gradient<float>(dx.data(), nullptr, w.data(), g);
  for (float v : dx) CHECK(v == 0.f);
}

TEST_CASE("pools and their gradients") {
  for (int round = 0; round < 60; ++round) {
    pool_geometry g;
    g.images = pick(1, 3), g.channels = pick(1, 40);
    auto axis = [] {
      return slide(pick(4, 15), pick(1, 4), pick(1, 3), 1,
                   pick(0, 1) ? padding::same : padding::valid);
    };
    g.h = axis(), g.w = axis();
    auto x = numbers<float>(g.input_size()), dy = numbers<float>(g.output_size());
    for (float& v : x) v = std::round(v * 8) / 8;  // ties
    std::size_t const one = at(pick(0, g.input_size() - 1 - g.channels));
    x[one] = x[one + at(g.channels)] = std::numeric_limits<float>::quiet_NaN();  // the first wins
    std::vector<float> y(dy.size()), dx(x.size()), mean(dy.size()), dmean(x.size());
    std::vector<std::uint8_t> winner(dy.size());
    k::max_pool2d(y.data(), winner.data(), x.data(), g);
    k::max_pool2d_gradient(dx.data(), dy.data(), winner.data(), g);
    k::average_pool2d(mean.data(), x.data(), g);
    k::average_pool2d_gradient(dmean.data(), dy.data(), g);
    std::vector<double> dx0(x.size()), dmean0(x.size());
    for (std::int64_t o = 0; o < g.output_size(); ++o) {
      std::int64_t const c = o % g.channels, ow = o / g.channels % g.w.out,
                         oh = o / g.channels / g.w.out % g.h.out,
                         n = o / g.channels / g.w.out / g.h.out;
      std::vector<std::int64_t> inputs;
      for (std::int64_t a = 0; a < g.h.size; ++a)
        for (std::int64_t b = 0; b < g.w.size; ++b)
          if (g.h.is_inside(g.h.input(oh, a)) && g.w.is_inside(g.w.input(ow, b)))
            inputs.push_back(
                ((n * g.h.in + g.h.input(oh, a)) * g.w.in + g.w.input(ow, b)) * g.channels + c);
      std::int64_t best = inputs[0];
      double sum = 0;
      for (std::int64_t i : inputs) {
        sum += double(x[at(i)]);
        bool const nan = std::isnan(x[at(i)]) && !std::isnan(x[at(best)]);
        if (nan || x[at(i)] > x[at(best)]) best = i;
        dmean0[at(i)] += double(dy[at(o)]) / double(inputs.size());
      }
      dx0[at(best)] += double(dy[at(o)]);
      if (std::isnan(x[at(best)])) {
        CHECK(std::isnan(y[at(o)]));
        CHECK(std::isnan(mean[at(o)]));
      } else {
        CHECK(y[at(o)] == x[at(best)]);
        CHECK(std::abs(double(mean[at(o)]) - sum / double(inputs.size())) < 1e-6);
      }
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(std::abs(double(dx[i]) - dx0[i]) < 1e-5);
      CHECK(std::abs(double(dmean[i]) - dmean0[i]) < 1e-5);
    }
  }
}
