// SPDX-License-Identifier: Apache-2.0
// The gradient of an embedding on GPUs has the host's bits: keys, a sort, runs, sums in the order of the batch.
// A bad token counts as the size of the vocabulary, and nothing is written outside.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/nn/layers/embedding.hpp>
#include <oracle.hpp>

namespace embedding_gradient_test {

using namespace locus;

namespace {

template <class T, int Rank>
using host_array = Tensor<T, Dextents<Rank>, CpuDevice>;

template <class T>
struct batch {
  host_array<std::int32_t, 2> tokens;
  host_array<T, 3> dy;
  batch(std::int64_t rows, std::int64_t length, std::int64_t width, std::int64_t vocabulary)
      : tokens(Dextents<2>(rows, length)), dy(Dextents<3>(rows, length, width)) {
    oracle::random r(std::uint64_t(rows + length + width + vocabulary));
    for (std::int64_t i = 0; i < tokens.size(); ++i)
      tokens.data()[i] = static_cast<std::int32_t>(r.number(0, vocabulary - 1));
    for (std::int64_t i = 0; i < dy.size(); ++i) dy.data()[i] = r.value<T>(-1, 1);
  }
};
template <class Where, class T>
auto gradient_on(batch<T> const& b, std::int64_t vocabulary) {
  std::int64_t const n = b.tokens.size(), width = b.dy.extent(2);
  Tensor<std::int32_t, Dextents<1>, Where> rows{Dextents<1>(n)};
  Tensor<T, Dextents<2>, Where> sums{Dextents<2>(n, width)};
  auto const both =
      call(nn::embedding_gradient_op{vocabulary}, to<Where>(b.tokens), to<Where>(b.dy));
  run(plan(into(rows, result<0>(both)), into(sums, result<1>(both))));
  return std::pair(to<CpuDevice>(rows), to<CpuDevice>(sums));
}
template <class T>
void check(std::int64_t rows, std::int64_t length, std::int64_t width, std::int64_t vocabulary) {
  CAPTURE(rows);
  CAPTURE(length);
  CAPTURE(width);
  CAPTURE(vocabulary);
  batch<T> const b(rows, length, width, vocabulary);
  auto const [unique, sums] = gradient_on<CpuDevice>(b, vocabulary);
  auto const [there, sums_there] = gradient_on<GpuDevice<0>>(b, vocabulary);
  CHECK(oracle::same_bits(unique, there));
  CHECK(oracle::same_bits(sums, sums_there));
}

}  // namespace

TEST_CASE_TEMPLATE("the gradient of an embedding has the same bits on GPUs", T, float, double) {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    check<T>(1, 1, 1, 1);
    check<T>(0, 30, 7, 50);
    check<T>(4, 30, 7, 50);
    check<T>(3, 100, 5, 1);  // one token everywhere
    check<T>(8, 300, 7, 30979);
    check<T>(32, 600, 7, 30979);  // more tokens than one block sorts
    check<T>(3, 11, 33, 2147483647);
  });
}

TEST_CASE_TEMPLATE("rows of an embedding on GPUs: vectors, odd widths, tokens without a row", T,
                   half, float, double) {
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const width : {1, 3, 8, 64, 1000})
      for (std::int64_t const rows : {1, 5, 34}) {
        std::int64_t const vocabulary = 50, length = 7;
        CAPTURE(width);
        CAPTURE(rows);
        bool const refuses = m.how == backends::kind::simulated;  // it runs the host's body
        oracle::random r(std::uint64_t(width + rows));
        host_array<std::int32_t, 2> tokens{Dextents<2>(rows, length)};
        for (std::int64_t i = 0; i < tokens.size(); ++i)
          tokens.data()[i] = static_cast<std::int32_t>(r.number(0, vocabulary - 1));
        if (!refuses) tokens(0, 1) = -1, tokens(rows - 1, 4) = std::int32_t(vocabulary);
        host_array<T, 1> table{Dextents<1>(vocabulary * width)};
        for (std::int64_t i = 0; i < table.size(); ++i) table.data()[i] = T(float(i % 2039));
        using Gpu = GpuDevice<0>;
        Tensor<T, Dextents<3>, Gpu> y{Dextents<3>(rows, length, width)};
        auto const tokens_there = to<Gpu>(tokens);
        auto const table_there = to<Gpu>(table);
        y = call(nn::embedding_op{width}, tokens_there, table_there);
        auto const got = to<CpuDevice>(y);
        std::int64_t without = 0;  // elements of tokens without a row
        bool all = true;
        for (std::int64_t i = 0; i < y.size(); ++i) {
          std::int64_t const token = tokens.data()[i / width];
          auto const value = static_cast<float>(got.data()[i]);
          bool const has_row = token >= 0 && token < vocabulary;
          without += !has_row;
          all =
              all && (has_row ? value == static_cast<float>(table.data()[token * width + i % width])
                              : value != value);
        }
        CHECK(all);
        CHECK(without == (refuses ? 0 : 2 * width));
      }
  });
}

TEST_CASE("the plan places it on the GPU, and no host takes part") {
  using Tokens = Tensor<std::int32_t, Extents<4, 6>, GpuDevice<0>>;
  using Rows = Tensor<float, Extents<4, 6, 3>, GpuDevice<0>>;
  using Gradient = decltype(result<1>(
      call(nn::embedding_gradient_op{}, std::declval<Tokens&>(), std::declval<Rows&>())));
  static_assert(plan_of<Gradient>.fallbacks() == 0);
  on_few_backends([](backends::machine const& m) {
    if (!m.has_gpu()) return;
    auto const trips = runtime::host_round_trips;
    check<float>(4, 30, 7, 50);
    CHECK(runtime::host_round_trips == trips);
  });
}

TEST_CASE("an Embedding has the same gradient on 1, 2 and 3 replicas, bit for bit") {
  auto const on_replicas = []<class... Devices>(Mirrored<Devices...>) {
    std::int64_t const vocabulary = 40, width = 3;
    batch<float> const b(11, 6, width, vocabulary);
    auto const [unique, sums] = gradient_on<CpuDevice>(b, vocabulary);
    using Replicas = Mirrored<Devices...>;
    auto state = nn::Embedding<3, 6>{vocabulary}.make<float, Extents<6>, Replicas>({1, {6}}, 5);
    Tensor<std::int32_t, Dextents<2>, rows_over<Replicas>> const x(b.tokens);
    Tensor<float, Dextents<3>, rows_over<Replicas>> const dy(b.dy);
    nn::nothing kept;
    auto const y = state.forward(x, kept, {.training = true});
    state.backward(x, y, kept, dy, false);
    CHECK(oracle::same_bits(unique, to<CpuDevice>(state.embeddings.rows)));
    CHECK(oracle::same_bits(sums, to<CpuDevice>(state.embeddings.row_values)));
  };
  using A = GpuDevice<0>;
  using B = GpuDevice<1>;
  using C = GpuDevice<2>;
  for (auto const& m : backends::all_machines)
    if (m.gpus >= 3)
      backends::run_on(m, [&] {
        on_replicas(Mirrored<A>{}), on_replicas(Mirrored<A, B>{}), on_replicas(Mirrored<A, B, C>{});
      });
}

TEST_CASE("bad tokens count as the size of the vocabulary, and nothing is written outside") {
  auto const check_bad = [] {
    std::int64_t const vocabulary = 40, width = 16;
    batch<float> b(2, 9, width, vocabulary);
    std::int64_t const n = b.tokens.size();
    for (std::int64_t i = 0; i < n; ++i) b.tokens.data()[i] = static_cast<std::int32_t>(i % 5 * 9);
    std::int32_t const bad[] = {-7, 40, 43, INT32_MIN, INT32_MAX};
    for (int k = 0; k < 5; ++k) b.tokens.data()[3 * k] = bad[k];
    // what the good ones sum to, token by token
    std::vector<std::int32_t> expected;
    std::vector<float> expected_sums;
    for (std::int32_t token = 0; token < vocabulary; ++token) {
      std::vector<float> sum;
      for (std::int64_t i = 0; i < n; ++i) {
        if (b.tokens.data()[i] != token) continue;
        float const* const row = b.dy.data() + i * width;
        if (sum.empty())
          sum.assign(row, row + width);
        else
          for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
      }
      if (sum.empty()) continue;
      expected.push_back(token);
      expected_sums.insert(expected_sums.end(), sum.begin(), sum.end());
    }
    expected.resize(std::size_t(n), std::int32_t(vocabulary));
    expected_sums.resize(std::size_t(n * width), 0.f);
    using G0 = GpuDevice<0>;
    // the results lie between numbers that must stay
    Tensor<std::int32_t, Dextents<1>, G0> rows(iota<std::int32_t>(Dextents<1>(n + 2)));
    Tensor<float, Dextents<2>, G0> sums(iota<float>(Dextents<2>(n + 2, width)));
    auto const both = call(nn::embedding_gradient_op{vocabulary}, to<G0>(b.tokens), to<G0>(b.dy));
    run(plan(into(slice(rows, range{1, int(n) + 1}), result<0>(both)),
             into(slice(sums, range{1, int(n) + 1}, range{}), result<1>(both))));
    auto const r = to<CpuDevice>(rows);
    auto const s = to<CpuDevice>(sums);
    CHECK((r(0) == 0 && r(n + 1) == n + 1));
    CHECK(std::memcmp(r.data() + 1, expected.data(), expected.size() * 4) == 0);
    CHECK(std::memcmp(s.data() + width, expected_sums.data(), expected_sums.size() * 4) == 0);
    for (std::int64_t c = 0; c < width; ++c)
      CHECK((s(0, c) == float(c) && s(n + 1, c) == float((n + 1) * width + c)));
  };
  for (auto const& m :
       backends::few_machines)  // a simulated GPU runs the host's body, which names the token
    if (m.how != backends::kind::host && m.how != backends::kind::simulated)
      backends::run_on(m, check_bad);
}

}  // namespace embedding_gradient_test
