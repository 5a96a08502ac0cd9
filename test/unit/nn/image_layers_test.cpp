// SPDX-License-Identifier: Apache-2.0
// Layers over images: gradients against central differences, and the same numbers for every number of
// replicas.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>
#include <random>
#include <vector>

#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv.hpp>
#include <locus/nn/layers/pool.hpp>

#include <message_of.hpp>
#include <replicas.hpp>
#include <worst_of.hpp>

namespace image_layers_test {

using namespace locus;

namespace {

using reals = std::vector<double>;

reals random_numbers(std::int64_t n, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> any(-1, 1);
  reals r(static_cast<std::size_t>(n));
  for (double& x : r) x = any(generator);
  return r;
}

template <class To>
To tensor_of(reals const& x, shape const& extents) {
  using Host = Tensor<double, typename To::extents_type>;
  Host host{typename To::extents_type(extents)};
  for (std::size_t i = 0; i < x.size(); ++i) host.data()[i] = x[i];
  return To(host);
}
template <class X>
reals numbers_of(X const& x) {
  auto const host = to<CpuDevice>(x);
  return reals(host.data(), host.data() + host.size());
}

/// What one step of a layer leaves.
struct outcome {
  reals y, dx;
  std::vector<reals> values, gradients;
};

/// a layer with random parameters on R replicas: forward, and backward for dy
template <class Replicas, class In, class Layer>
struct bench {
  using state = nn::state_of<Layer, double, In, Replicas>;
  using X = nn::batch_of<double, In::rank() + 1, Replicas>;
  using Y = decltype(std::declval<state&>().forward(
      std::declval<X const&>(), std::declval<typename state::kept&>(), nn::pass{}));
  state s;
  shape in;

  bench(Layer const& layer, shape const& one)
      : s(layer.template make<double, In, Replicas>(one, 5)), in(one) {
    unsigned seed = 100;
    s.for_each_parameter([&](auto& p) {
      reals v = random_numbers(p.size(), ++seed);
      if (std::string_view(p.name) == "moving_variance")
        for (double& e : v) e = 1.5 + e;
      p.value = tensor_of<Tensor<double, Dextents<1>, Replicas>>(v, {1, {p.size()}});
    });
  }
  static shape batch(std::int64_t rows, shape const& one) {
    shape s{one.rank + 1, {rows}};
    for (int a = 0; a < one.rank; ++a) s.extent[a + 1] = one.extent[a];
    return s;
  }
  outcome step(std::int64_t rows, reals const& x, reals const& dy, bool training = true,
               bool need_dx = true) {
    outcome r;
    typename state::kept kept;
    X const in_batch = tensor_of<X>(x, batch(rows, in));
    Y const y = s.forward(in_batch, kept, {.training = training, .step = 0, .seed = 1});
    r.y = numbers_of(y);
    if (training) {
      Y d = tensor_of<Y>(dy, batch(rows, s.output_extents()));
      r.dx = numbers_of(s.backward(in_batch, y, kept, std::move(d), need_dx));
    }
    s.for_each_parameter([&](auto& p) {
      r.values.push_back(numbers_of(p.value));
      if (training && p.trainable) r.gradients.push_back(numbers_of(p.gradient));
    });
    return r;
  }
};

double worst(reals const& a, reals const& b) {
  REQUIRE(a.size() == b.size());
  double r = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    r = worst_of(r, std::abs(a[i] - b[i]) / (1 + std::abs(b[i])));
  return r;
}

/// slopes of sum(dy * y) along a few coordinates of x and of each trained parameter
template <class Replicas, class In, class Layer>
outcome check_slopes(Layer const& layer, shape const& in, std::int64_t rows) {
  INFO("layer ", Layer::kind);
  bench<Replicas, In, Layer> b(layer, in);
  reals x = random_numbers(rows * in.size(), 1);
  reals const dy = random_numbers(rows * b.s.output_extents().size(), 2);
  outcome const got = b.step(rows, x, dy);
  auto loss = [&] {
    bench<Replicas, In, Layer> fresh(layer, in);
    int k = 0;
    fresh.s.for_each_parameter([&](auto& p) {
      if (p.trainable) {
        int n = 0;
        b.s.for_each_parameter([&](auto& q) {
          if (n++ == k) p.value = q.value;
        });
      }
      ++k;
    });
    typename decltype(b)::state::kept kept;
    auto const y =
        numbers_of(fresh.s.forward(tensor_of<typename decltype(b)::X>(x, b.batch(rows, in)), kept,
                                   {.training = true, .step = 0, .seed = 1}));
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  double const h = 1e-5;
  std::mt19937 pick(3);
  for (int i = 0; i < 6; ++i) {
    std::size_t const k = pick() % x.size();
    double const was = x[k];
    x[k] = was + h;
    double const up = loss();
    x[k] = was - h;
    double const slope = (up - loss()) / (2 * h);
    x[k] = was;
    CHECK(got.dx[k] == doctest::Approx(slope).epsilon(1e-6).scale(1));
  }
  std::size_t which = 0;
  b.s.for_each_parameter([&](auto& p) {
    if (!p.trainable) return;
    reals const gradient = got.gradients[which++];
    reals v = numbers_of(p.value);
    for (int i = 0; i < 4; ++i) {
      std::size_t const k = pick() % v.size();
      double const was = v[k];
      auto at = [&](double value) {
        v[k] = value;
        p.value = tensor_of<Tensor<double, Dextents<1>, Replicas>>(v, {1, {p.size()}});
        return loss();
      };
      double const up = at(was + h), slope = (up - at(was - h)) / (2 * h);
      at(was);
      CHECK(gradient[k] == doctest::Approx(slope).epsilon(1e-6).scale(1));
    }
  });
  return got;
}

template <class Replicas, class In, class Layer>
void check_same(Layer const& layer, shape const& in, std::int64_t rows, outcome const& one) {
  INFO(Layer::kind, " on ", Replicas::value.local_count(), " replicas, ", rows, " rows");
  auto compare = [&] {
    bench<Replicas, In, Layer> b(layer, in);
    outcome const got = b.step(rows, random_numbers(rows * in.size(), 1),
                               random_numbers(rows * b.s.output_extents().size(), 2));
    CHECK(worst(got.y, one.y) < 1e-12);
    CHECK(worst(got.dx, one.dx) < 1e-12);
    REQUIRE(got.gradients.size() == one.gradients.size());
    for (std::size_t k = 0; k < got.gradients.size(); ++k)
      CHECK(worst(got.gradients[k], one.gradients[k]) < 1e-12);
    for (std::size_t k = 0; k < got.values.size(); ++k)
      CHECK(worst(got.values[k], one.values[k]) < 1e-12);
  };
  on_few_backends(compare);  // a recorder runs the bodies for GPUs
}

using one_replica = replicas::mirrored<1>;
using three = replicas::mirrored<3>;
using image = Extents<dyn, dyn, dyn>;

// what windows make of extents: TensorFlow's padding, axis by axis; an open extent stays open
static_assert(nn::window_axes<2>{{{3, 2, 1}, {2, 1, 3}}, nn::padding::valid}.slid({3, {8, 9, 5}},
                                                                                  4) ==
              shape{3, {3, 6, 4}});
static_assert(nn::window_axes<2>{{{3, 2, 1}, {2, 1, 3}}, nn::padding::same}.slid({3, {dyn, 9, 5}},
                                                                                 dyn) ==
              shape{3, {dyn, 9, dyn}});
static_assert(nn::window_axes<1>{{{3, 2, 2}}, nn::padding::causal}.slid({2, {8, 5}}, 5) ==
              shape{2, {4, 5}});
static_assert(nn::window_axes<1>{{{3, 1, 2}}, nn::padding::valid}.has_room({2, {5, 1}}));
static_assert(!nn::window_axes<1>{{{3, 1, 2}}, nn::padding::valid}.has_room({2, {4, 1}}));
static_assert(
    nn::window_axes<2>{{{3, 1, 1}, {9, 1, 1}}, nn::padding::valid}.has_room({3, {3, dyn, 1}}));
static_assert(
    !nn::window_axes<2>{{{3, 1, 1}, {9, 1, 1}}, nn::padding::valid}.has_room({3, {3, 8, 1}}));

/// slopes on one replica, and the same numbers on three, with an uneven batch
template <class Layer>
void check_layer(Layer const& layer, shape const& in, std::int64_t rows = 7) {
  outcome const one = check_slopes<one_replica, image>(layer, in, rows);
  check_same<three, image>(layer, in, rows, one);
}

}  // namespace

TEST_CASE("Conv2D: slopes, and the same numbers on three and four replicas") {
  using nn::padding;
  nn::Conv2D<5, 3, 2, padding::same, 2> const layer{nn::tanh};
  outcome const one = check_slopes<one_replica, image>(layer, {3, {6, 7, 2}}, 7);
  check_same<three, image>(layer, {3, {6, 7, 2}}, 7, one);
  check_same<replicas::mirrored<4>, image>(layer, {3, {6, 7, 2}}, 7, one);
  // the same types, other sizes
  check_slopes<one_replica, image>(nn::Conv2D<6, 3, 3, padding::valid, 1, 2, 3>{nn::relu},
                                   {3, {8, 9, 3}}, 2);
  check_slopes<one_replica, image>(
      nn::Conv2D<40, 1>{nn::relu6}.without_bias().begin_with(nn::he_normal), {3, {4, 3, 35}}, 3);
  check_slopes<one_replica, image>(nn::DepthwiseConv2D<3, 3, padding::same, 2>{}.without_bias(),
                                   {3, {5, 6, 19}}, 3);
  check_slopes<one_replica, image>(nn::DepthwiseConv2D<2, 3, padding::valid, 1, 1, 2>{nn::relu},
                                   {3, {5, 6, 3}}, 3);
  using Out = nn::output_of<nn::Conv2D<8, 3, 3, padding::same, 2>, Extents<28, 29, 1>>;
  static_assert(std::is_same_v<Out, Extents<14, 15, 8>>);
  static_assert(std::is_same_v<nn::output_of<nn::DepthwiseConv2D<3>, Extents<dyn, 9, 4>>,
                               Extents<dyn, 7, 4>>);
}

TEST_CASE("a first layer needs no dx, and fewer rows than replicas are a batch") {
  bench<three, image, nn::Conv2D<2, 3>> b(nn::Conv2D<2, 3>{}, {3, {5, 5, 1}});
  outcome const r = b.step(2, random_numbers(50, 1), random_numbers(36, 2), true, false);
  CHECK(r.dx.empty());
  CHECK(r.gradients[1].size() == 2);
  CHECK(message_of<shape_error>([] {
          using layer = nn::Conv2D<2, 3>;
          (void)layer{}.make<double, image, one_replica>({3, {2, 5, 1}}, 1);
        }).find("nn::Conv2D does not fit images of extents [2,5,1]") != std::string::npos);
}

TEST_CASE("pools over images: slopes, and the same numbers on three replicas") {
  using nn::padding;
  check_layer(nn::MaxPool2D<2>{}, {3, {6, 7, 3}});
  check_slopes<one_replica, image>(nn::MaxPool2D<3, 3, 2, padding::same>{}, {3, {6, 7, 20}}, 2);
  check_layer(nn::AveragePool2D<3, 2, 2, padding::same>{}, {3, {6, 7, 3}});
  check_layer(nn::GlobalAveragePool2D{}, {3, {6, 7, 3}});
  check_layer(nn::GlobalMaxPool2D{}, {3, {6, 7, 3}});
  static_assert(
      std::is_same_v<nn::output_of<nn::MaxPool2D<2>, Extents<7, 6, 4>>, Extents<3, 3, 4>>);
  static_assert(
      std::is_same_v<nn::output_of<nn::GlobalMaxPool2D<true>, Extents<7, 6, 4>>, Extents<1, 1, 4>>);
}

TEST_CASE("BatchNorm: slopes, moving statistics, replicas") {
  shape const in{3, {4, 3, 5}};
  std::int64_t const rows = 7, pixels = rows * 12;
  outcome const one = check_slopes<one_replica, image>(nn::BatchNorm{}, in, rows);
  check_slopes<one_replica, image>(nn::BatchNorm{nn::relu6}, in, rows);
  outcome const cross =
      check_slopes<one_replica, image>(nn::BatchNorm<nn::cross_replica>{nn::relu}, in, rows);
  check_same<three, image>(nn::BatchNorm<nn::cross_replica>{nn::relu}, in, rows, cross);

  // Keras' arithmetic
  reals const x = random_numbers(rows * in.size(), 1);
  reals mean(5), variance(5);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % 5] += x[i] / double(pixels);
  for (std::size_t i = 0; i < x.size(); ++i)
    variance[i % 5] += (x[i] - mean[i % 5]) * (x[i] - mean[i % 5]) / double(pixels);
  reals const gamma = random_numbers(5, 101), beta = random_numbers(5, 102),
              moving = random_numbers(5, 103), spread = random_numbers(5, 104);
  for (std::size_t c = 0; c < 5; ++c) {
    CHECK(one.values[2][c] == doctest::Approx(.99 * moving[c] + .01 * mean[c]));
    CHECK(one.values[3][c] == doctest::Approx(.99 * (1.5 + spread[c]) + .01 * variance[c]));
    double const y = (x[c] - mean[c]) / std::sqrt(variance[c] + 1e-3) * gamma[c] + beta[c];
    CHECK(one.y[c] == doctest::Approx(y));
  }
  // each replica's own statistics; the moving mean is that of the three
  bench<three, image, nn::BatchNorm<>> b(nn::BatchNorm{}, in);
  outcome const each = b.step(rows, x, random_numbers(rows * in.size(), 2));
  constexpr place cut = rows_over<three>::value;
  for (std::size_t c = 0; c < 5; ++c) {
    double change = 0;
    std::int64_t end = 0;
    for (int r = 0; r < 3; ++r) {
      double own = 0;
      std::int64_t const begin = end;
      end += cut.piece_size(rows, r) * 12;
      for (std::int64_t i = begin; i < end; ++i) own += x[std::size_t(i) * 5 + c];
      change += (own / double(end - begin) - moving[c]) / 3;
    }
    CHECK(each.values[2][c] == doctest::Approx(moving[c] + .01 * change));
  }
  // a replica without rows changes nothing
  bench<three, image, nn::BatchNorm<>> few(nn::BatchNorm{}, in);
  reals const two(x.begin(), x.begin() + 2 * 60);
  outcome const some = few.step(2, two, random_numbers(2 * 60, 2));
  for (std::size_t c = 0; c < 5; ++c) {
    double change = 0;
    double const pieces = cut.piece_size(2, 1) > 0 ? 2 : 1;
    for (std::size_t i = 0; i < 24; ++i) change += (two[i * 5 + c] - moving[c]) / 24 * pieces / 3;
    CHECK(some.values[2][c] == doctest::Approx(moving[c] + .01 * change));
  }
  // used, not trained: the moving statistics, which stay
  bench<three, image, nn::BatchNorm<>> used(nn::BatchNorm{nn::relu}, in);
  outcome const y = used.step(rows, x, {}, false);
  for (std::size_t i = 0; i < x.size(); i += 7) {
    std::size_t const c = i % 5;
    double const v = (x[i] - moving[c]) / std::sqrt(1.5 + spread[c] + 1e-3) * gamma[c] + beta[c];
    CHECK(y.y[i] == doctest::Approx(v < 0 ? 0 : v));
  }
  CHECK(worst(y.values[2], moving) == 0);
}

}  // namespace image_layers_test
