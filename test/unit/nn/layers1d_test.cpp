// SPDX-License-Identifier: Apache-2.0
// Layers along one axis: gradients against central differences in double, the same numbers for 1 to 4
// replicas, sparse gradients of an Embedding, what is refused.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <message_of.hpp>
#include <on_backends.hpp>
#include <oracle.hpp>
#include <worst_of.hpp>

#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/pool.hpp>

namespace layers1d_test {

using namespace locus;

namespace {

using All = Mirrored<AllGpus>;

template <class T, int Rank, class Where>
Tensor<T, Dextents<Rank>, Where> put(std::vector<T> const& v, shape const& s) {
  Tensor<T, Dextents<Rank>, CpuDevice> host{Dextents<Rank>(s)};
  std::memcpy(host.data(), v.data(), v.size() * sizeof(T));
  if constexpr (std::is_same_v<Where, CpuDevice>)
    return host;
  else
    return Tensor<T, Dextents<Rank>, Where>(host);
}
template <class Tensor>
auto get(Tensor const& t) {
  auto const host = to<CpuDevice>(t);
  using T = typename Tensor::value_type;
  return std::vector<T>(host.data(), host.data() + host.size());
}
std::vector<double> reals(std::uint64_t seed, std::int64_t n) {
  oracle::random r(seed);
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = r.real(-1, 1);
  return v;
}

/// what one forward and backward of a layer gave
struct passed {
  std::vector<double> y, dx;
  std::vector<std::vector<double>> gradients;
};
template <class Replicas, class Layer, class In>
passed pass_of(Layer const& layer, In, std::int64_t rows, std::vector<double> const& x,
               std::vector<double> const& dy, int part = -1,
               std::vector<double> const& values = {}) {
  shape const in = In::pattern;
  auto state = layer.template make<double, In, Replicas>(in, 5);
  int k = 0;
  state.for_each_parameter([&](auto& p) {
    if (k++ == part) p.value = put<double, 1, Replicas>(values, {1, {p.size()}});
  });
  shape s{in.rank + 1, {rows}};
  for (int a = 0; a < in.rank; ++a) s.extent[a + 1] = in.extent[a];
  auto const xs = put<double, In::rank() + 1, rows_over<Replicas>>(x, s);
  typename decltype(state)::kept kept;
  auto y = state.forward(xs, kept, {.training = true});
  passed p;
  p.y = get(y);
  if (dy.empty()) return p;
  using Y = decltype(y);
  auto d = put<double, Y::rank(), rows_over<Replicas>>(dy, y.extents().as_shape());
  p.dx = get(state.backward(xs, y, kept, std::move(d), true));
  state.for_each_parameter([&](auto& q) { p.gradients.push_back(get(q.gradient)); });
  return p;
}
double largest(std::vector<double> const& a, std::vector<double> const& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < a.size() && most < 1e9; ++i)
    most = worst_of(most, std::fabs(a[i] - b[i]));
  return most;
}
double product(std::vector<double> const& a, std::vector<double> const& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}

/// 1 to 4 simulated GPUs, and two over the recorder, which runs the bodies that GPUs run
template <class Body>
void on_replicas(Body const& body) {
  for (int replicas : {1, 2, 3, 4})
    backends::run_on({backends::kind::simulated, replicas, unsigned(replicas)}, body);
  backends::run_on({backends::kind::recorded, 2, 0}, body);
}

/// gradients along random directions, and replicas
template <class Layer, class In>
void check_layer(Layer const& layer, In in, std::int64_t rows) {
  std::int64_t const n = rows * In::pattern.size();
  auto const x = reals(1, n);
  auto const plain = pass_of<CpuDevice>(layer, in, rows, x, {});
  auto const dy = reals(2, std::int64_t(plain.y.size()));
  auto const one = pass_of<CpuDevice>(layer, in, rows, x, dy);
  double const h = 1e-6;
  auto const moved = [&](std::vector<double> const& v, std::vector<double> const& d, double by) {
    auto w = v;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += by * d[i];
    return w;
  };
  auto const along = reals(3, n);
  double const slope =
      (product(pass_of<CpuDevice>(layer, in, rows, moved(x, along, h), {}).y, dy) -
       product(pass_of<CpuDevice>(layer, in, rows, moved(x, along, -h), {}).y, dy)) /
      (2 * h);
  CHECK(product(one.dx, along) == doctest::Approx(slope).epsilon(1e-6));
  for (std::size_t k = 0; k < one.gradients.size(); ++k) {
    auto const size = std::int64_t(one.gradients[k].size());
    auto const w = reals(7 + k, size), d = reals(17 + k, size);
    auto const here = pass_of<CpuDevice>(layer, in, rows, x, dy, int(k), w);
    auto const at = [&](double by) {
      return product(pass_of<CpuDevice>(layer, in, rows, x, {}, int(k), moved(w, d, by)).y, dy);
    };
    CHECK(product(here.gradients[k], d) ==
          doctest::Approx((at(h) - at(-h)) / (2 * h)).epsilon(1e-6));
  }
  on_replicas([&] {
    auto const many = pass_of<All>(layer, in, rows, x, dy);
    CHECK(largest(many.y, one.y) < 1e-12);
    CHECK(largest(many.dx, one.dx) < 1e-12);
    for (std::size_t k = 0; k < one.gradients.size(); ++k)
      CHECK(largest(many.gradients[k], one.gradients[k]) < 1e-12);
  });
}

}  // namespace

TEST_CASE("gradients of Conv1D are those of central differences, for any number of replicas") {
  check_layer(nn::Conv1D<6, 3>{nn::relu}, Extents<11, 5>{}, 7);
  check_layer(nn::Conv1D<4, 2, nn::padding::same, 2>{nn::tanh}, Extents<7, 3>{}, 3);
  check_layer(nn::Conv1D<4, 3, nn::padding::causal, 1, 2, 2>{}.without_bias(), Extents<6, 4>{}, 5);
}

TEST_CASE("gradients of pools along one axis are those of central differences") {
  check_layer(nn::MaxPool1D<3, 2, nn::padding::same>{}, Extents<8, 5>{}, 4);
  check_layer(nn::AveragePool1D<3, 1, nn::padding::same>{}, Extents<7, 3>{}, 5);
  check_layer(nn::GlobalMaxPool1D{}, Extents<6, 3>{}, 3);
  check_layer(nn::GlobalAveragePool1D{}, Extents<6, 3>{}, 3);
}

TEST_CASE("a Conv1D and the MaxPool1D behind it are one kernel with the same numbers") {
  auto const check_pair = [](auto conv, auto pool, auto in) {
    using pair = nn::fused_pair<decltype(conv), decltype(pool)>;
    static_assert(pair::exists);
    using In = decltype(in);
    check_layer(pair::of(conv, pool), in, 5);
    auto const x = reals(1, 5 * In::pattern.size());
    auto const first = pass_of<CpuDevice>(conv, in, 5, x, {});
    using Between = nn::output_of<decltype(conv), In>;
    auto const apart = pass_of<CpuDevice>(pool, Between{}, 5, first.y, {});
    auto const together = pass_of<CpuDevice>(pair::of(conv, pool), in, 5, x, {});
    CHECK(largest(apart.y, together.y) < 1e-14);
    // back through the pool, then through the convolution
    auto const dy = reals(2, std::int64_t(apart.y.size()));
    auto const back = pass_of<CpuDevice>(pool, Between{}, 5, first.y, dy);
    auto const one = pass_of<CpuDevice>(conv, in, 5, x, back.dx);
    auto const fused = pass_of<CpuDevice>(pair::of(conv, pool), in, 5, x, dy);
    CHECK(largest(one.dx, fused.dx) < 1e-13);
    CHECK(largest(one.gradients[0], fused.gradients[0]) < 1e-13);
    CHECK(largest(one.gradients[1], fused.gradients[1]) < 1e-13);
  };
  check_pair(nn::Conv1D<6, 3>{nn::relu}, nn::MaxPool1D<2>{}, Extents<12, 4>{});
  check_pair(nn::Conv1D<5, 2>{nn::tanh}, nn::MaxPool1D<3>{}, Extents<9, 3>{});
  static_assert(!nn::fused_pair<nn::Conv1D<5, 2>, nn::MaxPool1D<3, 1>>::exists);
}

TEST_CASE("an Embedding gives rows, and as gradient sorted row numbers with their sums") {
  std::vector<std::int32_t> const tokens{4, 1, 4, 0, 4, 1, 6, 6, 2, 4};  // 5 examples of 2
  auto const dy = reals(9, 10 * 3);
  auto const run = [&]<class Replicas>(std::type_identity<Replicas>) {
    nn::Embedding<3, 2> const layer{8};
    auto state = layer.make<double, Extents<2>, Replicas>({1, {2}}, 5);
    auto const x = put<std::int32_t, 2, rows_over<Replicas>>(tokens, {2, {5, 2}});
    nn::nothing kept;
    auto const y = state.forward(x, kept, {.training = true});
    auto const table = get(state.embeddings.value), is = get(y);
    for (std::size_t i = 0; i < 30; ++i)
      CHECK(is[i] == table[std::size_t(tokens[i / 3]) * 3 + i % 3]);
    CHECK((table[0] != 0 && std::fabs(table[5]) <= 0.05));
    state.backward(x, y, kept, put<double, 3, rows_over<Replicas>>(dy, {3, {5, 2, 3}}), false);
    auto const rows = get(state.embeddings.rows);
    auto const sums = get(state.embeddings.row_values);
    CHECK(rows == std::vector<std::int32_t>{0, 1, 2, 4, 6, 8, 8, 8, 8, 8});
    for (std::size_t r = 0; r < 10; ++r)
      for (std::size_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (std::size_t i = 0; i < 10; ++i)
          if (rows[r] == tokens[i]) sum += dy[i * 3 + c];
        CHECK(sums[r * 3 + c] == sum);
      }
    CHECK(state.embeddings.gradient.size() == 0);
  };
  run(std::type_identity<CpuDevice>{});
  on_replicas([&] { run(std::type_identity<All>{}); });
}

TEST_CASE("a token that no row of an Embedding belongs to is named with its place") {
  std::vector<std::int32_t> const tokens{0, 1, 2, 3, 4, 8, 1, 1, 1, 1};
  auto state = nn::Embedding<3, 2>{8}.make<double, Extents<2>, CpuDevice>({1, {2}}, 5);
  auto const x = put<std::int32_t, 2, rows_over<CpuDevice>>(tokens, {2, {5, 2}});
  nn::nothing kept;
  std::string const text = message_of<shape_error>([&] { state.forward(x, kept, {}); });
  CHECK(text.find("token 8 at position 1 of example 2") != std::string::npos);
  CHECK(text.find("rows 0 to 7") != std::string::npos);
  CHECK(!message_of<shape_error>([] {
           nn::Embedding<3, 2>{0}.make<double, Extents<2>, CpuDevice>({1, {2}}, 5);
         }).empty());
}

TEST_CASE("examples that are shorter than the window are refused when a layer is made") {
  std::string const text = message_of<shape_error>(
      [] { nn::Conv1D<4, 5>{}.make<double, Extents<dyn, 3>, CpuDevice>({2, {4, 3}}, 1); });
  CHECK(text.find("a window has 5 steps") != std::string::npos);
}

}  // namespace layers1d_test
