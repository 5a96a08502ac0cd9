// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled for several sets of instructions: which one runs, what LOCUS_INSTRUCTIONS
// says of it, and results that do not depend on it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/locus.hpp>
#include <locus/nn/kernels/pool2d.hpp>
#include <locus/nn/optimizers/row_update.hpp>
#include <locus/nn/optimizers/update.hpp>

#include "child.hpp"

using namespace locus;

namespace {

using vector = Tensor<float, Dextents<1>>;
using matrix = Tensor<float, Dextents<2>>;

std::string bits(float x) {
  unsigned b;
  std::memcpy(&b, &x, sizeof b);
  char text[16];
  std::snprintf(text, sizeof text, "%08x ", b);
  return text;
}
struct own_functor {
  float operator()(float v) const { return v > 0.5f ? v + 1 : -v; }
};

/// scan(x), also over x itself, has the bits of plain loops over chunks in double
template <bool Product, class Scan>
void check_scans(matrix const& x, bool leaves_own_out, bool backwards, Scan const& scan) {
  std::int64_t const lines = x.extents().extent(0), n = x.extents().extent(1);
  std::int64_t const chunk = algorithms::scan_chunk(n);
  auto const combine = [](double t, float v) { return Product ? t * double(v) : t + double(v); };
  matrix want(x), over(x);
  for (std::int64_t o = 0; o < lines; ++o) {
    double start = Product;
    for (std::int64_t first = 0; first < n; first += chunk) {
      double t = start, all = Product;
      for (std::int64_t k = first; k < n && k < first + chunk; ++k) {
        std::int64_t const at = o * n + (backwards ? n - 1 - k : k);
        double const next = combine(t, x.data()[at]);
        want.data()[at] = float(leaves_own_out ? t : next);
        t = next, all = combine(all, x.data()[at]);
      }
      start = Product ? start * all : start + all;
    }
  }
  CAPTURE(n);
  CAPTURE(lines);
  for (int const threads : {1, 2}) {
    config::set_intra_op_parallelism_threads(threads);
    matrix const found(on<CpuDevice>(scan(x)));
    CHECK(std::memcmp(found.data(), want.data(), std::size_t(lines * n) * sizeof(float)) == 0);
  }
  over = on<CpuDevice>(scan(over));
  CHECK(std::memcmp(over.data(), want.data(), std::size_t(lines * n) * sizeof(float)) == 0);
}

/// the sets that this processor runs
std::vector<std::string> sets() {
  std::vector<std::string> all{"baseline"};
  auto const has = simd::instructions_of_processor();
  if (has >= simd::instructions::avx2) all.push_back("avx2");
  if (has >= simd::instructions::avx512) all.push_back("avx512");
  return all;
}

}  // namespace

TEST_CASE("what a plan that is reproducible gives" * doctest::skip()) {
  std::string out = "bits: ";
  for (std::int64_t const n : {1, 5, 17, 1003, 20011}) {
    vector const x(uniform<float>(dextents<1>(n), 1)), y(uniform<float>(dextents<1>(n), 2));
    vector z(zeros<float>(dextents<1>(n)));
    run<reproducible<>>(into(z, x * y - sqrt(x) / (y + 2.f)));
    for (std::int64_t i = 0; i < n; i += 1 + n / 7) out += bits(z(i));
    out += bits(fetch<reproducible<>>(sum(on<CpuDevice>(x * y))));
    out += bits(fetch<reproducible<>>(sum(on<CpuDevice>(x * y - z))));
  }
  matrix const m(uniform<float>(dextents<2>(301, 67), 3));
  vector columns(dextents<1>(67)), rows(dextents<1>(301));
  run<reproducible<>>(into(columns, sum<0>(m * m)));
  run<reproducible<>>(into(rows, sum<1>(m * m)));
  for (std::int64_t i = 0; i < 67; i += 5) out += bits(columns(i)) + bits(rows(4 * i));
  std::puts(out.c_str());
}
TEST_CASE("reproducible plans have the same bits with any instructions") {
  std::string first;
  for (auto const& set : sets()) {
    auto const r = child::run("what a plan that is reproducible gives",
                              {"LOCUS_INSTRUCTIONS=" + set, "LOCUS_QUIET=1"});
    CAPTURE(set);
    CAPTURE(r.text);
    REQUIRE(r.code == 0);
    auto const at = r.text.find("bits: ");
    REQUIRE(at != std::string::npos);
    std::string const line = r.text.substr(at, r.text.find('\n', at) - at);
    CHECK(line.size() > 300);
    if (first.empty()) first = line;
    CHECK(line == first);
  }
}

TEST_CASE("what runs beside a double" * doctest::skip()) {
  bool const wider = LOCUS_TARGETS == 3;
  auto const* const name = std::getenv("LOCUS_INSTRUCTIONS");
  int const level = std::string(name) == "avx512" ? 2 : std::string(name) == "avx2" ? 1 : 0;
  if (wider && level > LOCUS_OWN_INSTRUCTIONS)
    CHECK(simd::chosen_clone() == level - LOCUS_OWN_INSTRUCTIONS);
  for (std::int64_t const n : {1, 3, 8, 15, 16, 33, 100, 1003}) {
    vector const x(uniform<float>(dextents<1>(n), 1)), y(uniform<float>(dextents<1>(n), 2));
    vector z(zeros<float>(dextents<1>(n))), w(z);
    z = exp(-x * x) * sin(x) + log1p(y);
    w = map(own_functor{}, x) + exp(y);
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double const a = x(i), b = y(i);
      CHECK(std::abs(z(i) - (std::exp(-a * a) * std::sin(a) + std::log1p(b))) < 3e-7);
      CHECK(std::abs(w(i) - (double(own_functor{}(x(i))) + std::exp(b))) < 6e-7);
      total += a;
      // one element alone runs through the same code as all of them
      CHECK(bits(exp_fn{}(x(i))) == bits(eval(on<CpuDevice>(exp(x)))(i)));
    }
    CHECK(std::abs(fetch(on<CpuDevice>(sum(x))) - total) < 1e-6 * total);
    CHECK(fetch(on<CpuDevice>(max(x))) <= 1);
  }
  matrix const m(uniform<float>(dextents<2>(37, 53), 1));
  matrix const s(on<CpuDevice>(softmax(m)));
  vector const columns(on<CpuDevice>(sum<0>(m)));
  for (std::int64_t i = 0; i < 37; ++i) {
    double whole = 0, top = 0;
    for (std::int64_t j = 0; j < 53; ++j) whole += std::exp(double(m(i, j))), top += s(i, j);
    CHECK(std::abs(top - 1) < 1e-5);
    for (std::int64_t j = 0; j < 53; ++j)
      CHECK(std::abs(s(i, j) - std::exp(double(m(i, j))) / whole) < 1e-7);
  }
  for (std::int64_t j = 0; j < 53; ++j) {
    double whole = 0;
    for (std::int64_t i = 0; i < 37; ++i) whole += m(i, j);
    CHECK(std::abs(columns(j) - whole) < 1e-5);
  }
  nn::adam_rule<float> const rule{0.1f, 0.001f, 0.01f, 0.f, 1.f, 1e-7f};
  for (std::int64_t const n : {1, 7, 16, 67}) {
    std::vector<float> v[4];
    for (int k = 0; k < 4; ++k)
      for (std::int64_t i = 0; i < n; ++i) v[k].push_back(float(1 + (i * 7 + k * 3) % 11) / 8);
    auto expected = v[0];
    for (std::size_t i = 0; i < std::size_t(n); ++i) {
      float one[] = {v[0][i], v[1][i], v[2][i]};
      rule(one, v[3][i]);
      expected[i] = one[0];
    }
    nn::host::row_gradient<float, 3> t{{v[0].data(), v[1].data(), v[2].data()},
                                       {v[0].data(), v[1].data(), v[2].data()}};
    t.elements = n, t.dense = v[3].data();
    nn::host::update_rows(rule, t);
    for (std::size_t i = 0; i < std::size_t(n); ++i) CHECK(std::abs(v[0][i] - expected[i]) < 1e-6f);
  }
}
TEST_CASE("what scans give in the order of their chunks" * doctest::skip()) {
  for (std::int64_t const n :
       {1, 3, 4, 31, 64, 255, 256, 257, 1023, 1024, 2047, 2048, 2051, 5000, 70001})
    for (std::int64_t const lines : {1, 4, 7}) {
      matrix const x(uniform<float>(dextents<2>(lines, n), seed{std::uint64_t(n)}, -1, 1));
      matrix const y(exp(0.01f * x));
      check_scans<false>(x, false, false, [](auto const& a) { return cumsum<1>(a); });
      check_scans<false>(x, true, false, [](auto const& a) { return cumsum<1>(a, exclusive); });
      check_scans<false>(x, false, true, [](auto const& a) { return cumsum<1>(a, from_end); });
      check_scans<false>(x, true, true,
                         [](auto const& a) { return cumsum<1>(a, exclusive, from_end); });
      check_scans<true>(y, false, false, [](auto const& a) { return cumprod<1>(a); });
      check_scans<true>(y, true, true,
                        [](auto const& a) { return cumprod<1>(a, exclusive, from_end); });
    }
}
/// compress has the elements of the plain loop, then zeros
template <class T>
void check_compress(std::int64_t n, float part) {
  Tensor<T, Dextents<1>> x(n), got(n), want(zeros<T>(dextents<1>(n)));
  Tensor<bool, Dextents<1>> const mask(uniform<float>(dextents<1>(n), 5) < part);
  std::int64_t held = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x.data()[i] = T(3 * i % 101);
    if (mask(i)) want.data()[held++] = x.data()[i];
  }
  Tensor<std::int64_t, Extents<>> count;
  auto const [values, number] = compress(mask, x);
  run(into(got, values), into(count, number));
  CAPTURE(n);
  CHECK(count() == held);
  CHECK(std::memcmp(got.data(), want.data(), std::size_t(n) * sizeof(T)) == 0);
}
TEST_CASE("what compress keeps" * doctest::skip()) {
  for (std::int64_t const n : {1, 7, 8, 15, 16, 17, 1000, 1023, 1024, 1025, 2048, 70001})
    for (float const part : {-1.f, 0.1f, 0.5f, 0.9f, 2.f}) {
      check_compress<std::int8_t>(n, part), check_compress<float>(n, part);
      check_compress<std::int64_t>(n, part), check_compress<half>(n, part);
      check_compress<double>(n, part);
    }
}
TEST_CASE("kernels for each set of instructions beside a double, scans bit for bit, compress") {
  for (auto const& set : sets())
    for (auto const* const what :
         {"what runs beside a double", "what scans give in the order of their chunks",
          "what compress keeps"}) {
      auto const r = child::run(what, {"LOCUS_INSTRUCTIONS=" + set, "LOCUS_QUIET=1"});
      CAPTURE(set);
      CAPTURE(r.text);
      CHECK(r.code == 0);
    }
}

TEST_CASE("a word that LOCUS_INSTRUCTIONS does not know, and instructions that are not there") {
  using simd::choose_instructions, simd::instructions;
  CHECK(choose_instructions(nullptr, instructions::avx2) == instructions::avx2);
  CHECK(choose_instructions("", instructions::avx512) == instructions::avx512);
  CHECK(choose_instructions("baseline", instructions::avx512) == instructions::baseline);
  CHECK(choose_instructions("avx2", instructions::avx512) == instructions::avx2);
  CHECK_THROWS_WITH_AS(
      choose_instructions("sse9", instructions::avx512),
      "locus: LOCUS_INSTRUCTIONS is \"sse9\"; write baseline, avx2 or avx512, or unset it",
      configuration_error);
  CHECK_THROWS_WITH_AS(
      choose_instructions("avx512", instructions::avx2),
      "locus: LOCUS_INSTRUCTIONS is \"avx512\", which this processor does not have; write "
      "avx2 or less, or unset it",
      configuration_error);
}

TEST_CASE(
    "short rows: a fold that another step of its kernel reads has the bits of the fold alone") {
  for (std::int64_t n = 1; n <= 40; ++n) {
    CAPTURE(n);
    matrix const x(uniform<float>(dextents<2>(5, n), seed{1})),
        y(uniform<float>(dextents<2>(5, n), seed{2}));
    matrix const v(uniform<float>(dextents<2>(5, 1), seed{3}));
    matrix const soft(softmax(x)), less(softmax(x) - y), more(v * softmax(x) - y * v + x);
    matrix const sums(sum<1>(x, keep_dims));
    matrix const apart(x - y * sums), together(x - y * sum<1>(x, keep_dims));
    for (std::int64_t i = 0; i < 5 * n; ++i) {
      REQUIRE(std::isfinite(soft.data()[i]));
      REQUIRE(less.data()[i] == soft.data()[i] - y.data()[i]);
      float const of_row = v.data()[i / n];
      REQUIRE(more.data()[i] ==
              doctest::Approx(of_row * soft.data()[i] - y.data()[i] * of_row + x.data()[i])
                  .epsilon(1e-5));
      REQUIRE(together.data()[i] == apart.data()[i]);
    }
  }
}

TEST_CASE("a kernel of many operations may write over what it reads, in rows of any length") {
  auto const value = [](auto const& x, auto const& of_row) {
    return exp(-x * x) * sin(x + of_row) + log1p(x * of_row);
  };
  for (std::int64_t n : {1,   7,   15,  16,  17,  31,  32,  33,  48,  63, 65,
                         100, 255, 256, 257, 272, 273, 511, 513, 530, 800}) {
    matrix const x(uniform<float>(dextents<2>(3, n), seed{1}));
    matrix const of_row(uniform<float>(dextents<2>(3, 1), seed{2}));
    matrix apart(value(x, of_row)), in_place(x), one_by_one(x);
    in_place = value(in_place, of_row);
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        vector const here(full<float>(dextents<1>(1), x(r, c)));
        vector const single(value(here, of_row(r, 0)));
        one_by_one(r, c) = single(0);
      }
    CAPTURE(n);
    CHECK(std::memcmp(apart.data(), in_place.data(), std::size_t(3 * n) * sizeof(float)) == 0);
    CHECK(std::memcmp(apart.data(), one_by_one.data(), std::size_t(3 * n) * sizeof(float)) == 0);
  }
}
