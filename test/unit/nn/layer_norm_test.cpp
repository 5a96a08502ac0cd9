// SPDX-License-Identifier: Apache-2.0
// LayerNorm beside sums in long double and beside Keras' formula, gradients against central
// differences, the same numbers for 1 to 4 replicas, names of weights, what a step costs.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

#include <locus/nn/layers/conv.hpp>
#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/layer_norm.hpp>
#include <locus/nn/layers/network.hpp>
#include <locus/nn/layers/sequential.hpp>
#include <locus/nn/layers/simple_layers.hpp>

#include <replicas.hpp>
#include <worst_of.hpp>

namespace layer_norm_test {

using namespace locus;

namespace {

using All = Mirrored<AllGpus>;
using real = long double;
template <class T>
using list = std::vector<T>;

template <class T>
list<T> drawn(std::uint64_t seed, std::int64_t n, double low = -1, double high = 1) {
  oracle::random r(seed);
  list<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = r.value<T>(low, high);
  return v;
}
template <class To, class T>
To tensor_of(list<T> const& v, shape const& extents) {
  Tensor<T, typename To::extents_type> host{typename To::extents_type(extents)};
  std::memcpy(host.data(), v.data(), v.size() * sizeof(T));
  return To(host);
}
template <class X>
auto numbers_of(X const& x) {
  auto const host = to<CpuDevice>(x);
  return list<typename X::value_type>(host.data(), host.data() + host.size());
}

/// What a forward and a backward give.
template <class T>
struct passed {
  list<T> y, used, dx, gamma, beta;
  tally forward, use, backward;
};
template <class Replicas, class In, class T>
passed<T> pass_of(nn::LayerNorm const& layer, shape const& in, std::int64_t rows, list<T> const& x,
                  list<T> const& dy, list<T> const& gamma, list<T> const& beta) {
  auto state = layer.template make<T, In, Replicas>(in, 5);
  using state_type = decltype(state);
  using weight = typename nn::parameter<T, Replicas>::tensor;
  using batch = typename state_type::batch;
  if (layer.scale) state.gamma.value = tensor_of<weight>(gamma, {1, {state.gamma.size()}});
  if (layer.center) state.beta.value = tensor_of<weight>(beta, {1, {state.beta.size()}});
  shape s{in.rank + 1, {rows}};
  for (int a = 0; a < in.rank; ++a) s.extent[a + 1] = in.extent[a];
  batch const xs = tensor_of<batch>(x, s), ds = tensor_of<batch>(dy, s);
  typename state_type::kept kept;
  batch y(xs.extents()), dx(xs.extents());
  passed<T> p;
  p.forward = testing::count([&] { y = state.forward(xs, kept, {.training = true}); });
  p.backward = testing::count([&] { dx = state.backward(xs, y, kept, ds, true); });
  p.y = numbers_of(y), p.dx = numbers_of(dx);
  p.use = testing::count([&] { y = state.forward(xs, kept, {.training = false}); });
  p.used = numbers_of(y);
  p.gamma = numbers_of(state.gamma.gradient), p.beta = numbers_of(state.beta.gradient);
  return p;
}

/// The definition, row by row, and the derivative of sum(dy * y).
template <class T>
passed<real> defined(std::int64_t n, double epsilon, list<T> const& x, list<T> const& dy,
                     list<T> const& gamma, list<T> const& beta) {
  passed<real> p;
  p.y.resize(x.size()), p.dx.resize(x.size());
  p.gamma.resize(std::size_t(n)), p.beta.resize(std::size_t(n));
  std::size_t const width = std::size_t(n);
  for (std::size_t row = 0; row < x.size(); row += width) {
    real mean = 0, variance = 0, slope = 0, weighted = 0;
    for (std::size_t c = 0; c < width; ++c) mean += real(double(x[row + c])) / real(n);
    for (std::size_t c = 0; c < width; ++c) {
      real const d = real(double(x[row + c])) - mean;
      variance += d * d / real(n);
    }
    real const inverse = 1 / std::sqrt(variance + real(epsilon));
    for (std::size_t c = 0; c < width; ++c) {
      real const v = (real(double(x[row + c])) - mean) * inverse, d = real(double(dy[row + c]));
      p.y[row + c] = v * real(double(gamma[c])) + real(double(beta[c]));
      p.gamma[c] += d * v, p.beta[c] += d;
      slope += d * real(double(gamma[c])) / real(n);
      weighted += d * real(double(gamma[c])) * v / real(n);
    }
    for (std::size_t c = 0; c < width; ++c) {
      real const v = (real(double(x[row + c])) - mean) * inverse;
      real const d = real(double(dy[row + c])) * real(double(gamma[c]));
      p.dx[row + c] = (d - slope - v * weighted) * inverse;
    }
  }
  return p;
}
/// the largest difference, beside the largest number of the definition
template <class T>
double error_of(list<T> const& got, list<real> const& expected) {
  REQUIRE(got.size() == expected.size());
  real worst = 0, largest = 1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    real const d = std::fabs(real(double(got[i])) - expected[i]);
    worst = worst_of(worst, d);
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return double(worst / largest);
}

/// beside the definition: an error of a few roundings of T, on data whose mean is `offset`
template <class T, class In>
void check_definition(shape const& in, std::int64_t rows, double offset, double most) {
  INFO(row_of(element_of_v<T>).name, ", examples of extents ", in.extent[0], " ", in.extent[1], " ",
       in.extent[2], ", mean ", offset);
  std::int64_t const n = in.extent[in.rank - 1], size = rows * in.size();
  auto const x = drawn<T>(1, size, offset - 2, offset + 2), dy = drawn<T>(2, size);
  auto const gamma = drawn<T>(3, n, -2, 2), beta = drawn<T>(4, n);
  for (double const epsilon : {1e-3, 0.25}) {
    auto const e = defined(n, epsilon, x, dy, gamma, beta);
    auto const p =
        pass_of<CpuDevice, In>(nn::LayerNorm{}.with_epsilon(epsilon), in, rows, x, dy, gamma, beta);
    CHECK(error_of(p.y, e.y) <= most);
    CHECK(error_of(p.used, e.y) <= most);
    CHECK(error_of(p.dx, e.dx) <= most);
    CHECK(error_of(p.gamma, e.gamma) <= most);
    CHECK(error_of(p.beta, e.beta) <= most);
  }
}
template <class T>
void check_vectors(double most) {
  check_definition<T, Extents<dyn>>({1, {33}}, 7, 0, most);
  check_definition<T, Extents<dyn>>({1, {1}}, 5, 0, most);  // x is its mean: y is beta
}

template <class T>
double difference(list<T> const& a, list<T> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = worst_of(most, std::fabs(double(a[i]) - double(b[i])));
  return most;
}

}  // namespace

TEST_CASE("LayerNorm is its definition, for every element type and rank") {
  check_vectors<double>(4e-15);
  check_vectors<float>(2e-6);
  check_vectors<half>(2e-3);
  check_vectors<bfloat16>(1.6e-2);
  check_definition<double, Extents<dyn, dyn>>({2, {3, 130}}, 4, 0, 4e-15);
  check_definition<double, Extents<dyn, dyn, dyn>>({3, {2, 3, 5}}, 6, 0, 4e-15);
  static_assert(std::is_same_v<nn::output_of<nn::LayerNorm, Extents<7, dyn>>, Extents<7, dyn>>);
}

TEST_CASE("a mean that is large beside the deviation costs LayerNorm no more than x lost") {
  // 1000 +- 2: x - mean has 24 - 9 good bits
  check_definition<float, Extents<dyn>>({1, {64}}, 9, 1000, 2e-4);
  check_definition<double, Extents<dyn>>({1, {64}}, 9, 1e6, 2e-9);
}

TEST_CASE("LayerNorm makes what Keras' formula makes") {
  // keras.layers.LayerNormalization.call: moments, then x * inv + (beta - mean * inv)
  std::int64_t const rows = 6, steps = 4, n = 10;
  auto const x = drawn<double>(11, rows * steps * n, -3, 3),
             dy = drawn<double>(12, rows * steps * n);
  auto const gamma = drawn<double>(13, n), beta = drawn<double>(14, n);
  auto const compare = [&](nn::LayerNorm const& layer, bool scale, bool center) {
    auto const p =
        pass_of<CpuDevice, Extents<dyn, dyn>>(layer, {2, {steps, n}}, rows, x, dy, gamma, beta);
    double worst = 0;
    for (std::size_t row = 0; row < x.size(); row += std::size_t(n)) {
      double mean = 0, square = 0;
      for (std::size_t c = 0; c < std::size_t(n); ++c) mean += x[row + c] / double(n);
      for (std::size_t c = 0; c < std::size_t(n); ++c)
        square += (x[row + c] - mean) * (x[row + c] - mean) / double(n);
      for (std::size_t c = 0; c < std::size_t(n); ++c) {
        double inv = 1 / std::sqrt(square + 1e-3);
        if (scale) inv *= gamma[c];
        double res = -mean * inv;
        if (center) res += beta[c];
        worst = worst_of(worst, std::fabs(p.y[row + c] - (x[row + c] * inv + res)));
      }
    }
    CHECK(worst < 1e-13);
    CHECK(p.y == p.used);  // this program is built at -O0: no product is fused into a sum
  };
  compare(nn::LayerNorm{}, true, true);
  compare(nn::LayerNorm{}.without_scale(), false, true);
  compare(nn::LayerNorm{}.without_center(), true, false);
  compare(nn::LayerNorm{}.without_center().without_scale(), false, false);
}

TEST_CASE("gradients of LayerNorm are those of central differences") {
  shape const in{2, {3, 7}};
  std::int64_t const rows = 5, n = 7, size = rows * in.size();
  auto x = drawn<double>(21, size), dy = drawn<double>(22, size);
  auto gamma = drawn<double>(23, n), beta = drawn<double>(24, n);
  auto const pass = [&] {
    return pass_of<CpuDevice, Extents<dyn, dyn>>(nn::LayerNorm{}, in, rows, x, dy, gamma, beta);
  };
  auto const one = pass();
  auto const check = [&](list<double>& v, list<double> const& gradient) {
    for (std::size_t k = 0; k < v.size(); k += v.size() > 20 ? 13 : 1) {
      double const was = v[k], h = 1e-5;
      auto const loss_at = [&](double value) {
        v[k] = value;
        auto const y = pass().y;
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
        return sum;
      };
      double const slope = (loss_at(was + h) - loss_at(was - h)) / (2 * h);
      v[k] = was;
      CHECK(gradient[k] == doctest::Approx(slope).epsilon(1e-7).scale(1));
    }
  };
  check(x, one.dx), check(gamma, one.gamma), check(beta, one.beta);
}

TEST_CASE("LayerNorm: the same numbers on any number of replicas, and one all-reduce a step") {
  shape const in{2, {3, 9}};
  for (std::int64_t const rows : {7, 2}) {  // uneven, and fewer rows than replicas
    auto const x = drawn<double>(31, rows * 27), dy = drawn<double>(32, rows * 27);
    auto const gamma = drawn<double>(33, 9), beta = drawn<double>(34, 9);
    using In = Extents<dyn, dyn>;
    auto const one = pass_of<CpuDevice, In>(nn::LayerNorm{}, in, rows, x, dy, gamma, beta);
    auto const check = [&] {
      auto const many = pass_of<All, In>(nn::LayerNorm{}, in, rows, x, dy, gamma, beta);
      CHECK(difference(many.y, one.y) < 1e-14);
      CHECK(difference(many.used, one.used) < 1e-14);
      CHECK(difference(many.dx, one.dx) < 1e-14);
      CHECK(difference(many.gamma, one.gamma) < 1e-13);
      CHECK(difference(many.beta, one.beta) < 1e-13);
      CHECK(many.forward.all_reduces == 0);
      CHECK(many.forward.copies == 0);
      CHECK(many.forward.fallbacks + many.backward.fallbacks == 0);
    };
    for (int const replicas : {1, 2, 3, 4})
      backends::run_on({backends::kind::simulated, replicas, unsigned(replicas)}, check);
    backends::run_on({backends::kind::recorded, 2, 0}, check);
  }
  // gamma's and beta's gradients share a bucket
  testing::simulated_gpus const gpus{3};
  auto const x = drawn<float>(31, 7 * 27), w = drawn<float>(33, 9);
  auto const p =
      pass_of<replicas::mirrored<3>, Extents<dyn, dyn>>(nn::LayerNorm{}, in, 7, x, x, w, w);
  CHECK(p.forward.all_reduces == 0);
  CHECK(p.backward.all_reduces == 1);
  CHECK(p.use.launches == 1);
  CHECK(p.forward.launches == 3);
  CHECK(p.backward.launches == 2);
}

TEST_CASE("a first layer needs no dx, and a batch without rows is one") {
  auto state = nn::LayerNorm{}
                   .begin_with(nn::constant(2), nn::constant(.5))
                   .make<float, Extents<4>, CpuDevice>({1, {4}}, 5);
  using batch = decltype(state)::batch;
  decltype(state)::kept kept;
  for (std::int64_t const rows : {2, 0}) {
    auto const v = drawn<float>(41, rows * 4);
    batch const x = tensor_of<batch>(v, {2, {rows, 4}});
    auto const y = state.forward(x, kept, {.training = true});
    CHECK(y.extents() == x.extents());
    state.backward(x, y, kept, x, false);
    list<float> sums(4);
    for (std::size_t i = 0; i < v.size(); ++i) sums[i % 4] += v[i];
    CHECK(difference(numbers_of(state.beta.gradient), sums) < 1e-6);
  }
  CHECK(numbers_of(state.gamma.value) == list<float>(4, 2.f));
  CHECK(numbers_of(state.beta.value) == list<float>(4, .5f));
}

TEST_CASE(
    "LayerNorm stands behind Embedding, Conv1D and Dense, and its weights have Keras' names") {
  auto const model =
      nn::Sequential{nn::Embedding<6, 7>{11},          nn::LayerNorm{}, nn::Conv1D<5, 2>{nn::tanh},
                     nn::LayerNorm{}.without_center(), nn::Flatten{},   nn::Dense<8>{},
                     nn::LayerNorm{}.without_scale(),  nn::Dense<3>{}};
  testing::simulated_gpus const gpus{2};
  nn::Network<std::remove_cvref_t<decltype(model)>, double, All> net(model);
  std::string names;
  for (nn::stored const& w : net.weights()) names += w.name + " ";
  CHECK(names ==
        "embedding/embeddings layer_normalization/gamma layer_normalization/beta conv1d/kernel "
        "conv1d/bias layer_normalization_1/gamma dense/kernel dense/bias "
        "layer_normalization_2/beta dense_1/kernel dense_1/bias ");
  Tensor<std::int32_t, Dextents<2>> tokens(5, 7);
  for (std::int64_t i = 0; i < tokens.size(); ++i)
    tokens.data()[i] = static_cast<std::int32_t>(i * 5 % 11);
  auto const x = net.batch_of_examples(tokens);
  decltype(net)::kept_type kept{};
  nn::pass const p{.training = true, .step = 1, .seed = 2};
  auto const loss = [&] {
    auto const y = net.state().forward(x, kept, p);
    return fetch(sum(y * y * y));
  };
  {
    auto const y = net.state().forward(x, kept, p);
    net.state().backward(x, y, kept, decltype(net)::out_batch(3.0 * (y * y)), false);
  }
  double worst = 0, largest = 0;
  for (auto* const w : net.parameters()) {
    if (w->sparse) continue;
    auto const g = numbers_of(w->gradient);
    nn::stored const cell{"", w->extents, true, w->value.block.get()};
    list<double> values(std::size_t(w->size()));
    nn::read_values(cell, values.data());
    for (std::size_t i = 0; i < values.size(); i += 3) {
      double const v = values[i], h = 1e-5;
      values[i] = v + h, nn::write_values(cell, values.data());
      double const above = loss();
      values[i] = v - h, nn::write_values(cell, values.data());
      double const below = loss();
      values[i] = v, nn::write_values(cell, values.data());
      worst = worst_of(worst, std::fabs((above - below) / (2 * h) - g[i]));
      largest = std::max(largest, std::fabs(g[i]));
    }
  }
  CHECK(largest > 0.1);
  CHECK(worst < 1e-7 * largest);
}

}  // namespace layer_norm_test
