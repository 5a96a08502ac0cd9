// SPDX-License-Identifier: Apache-2.0
// Generators: Philox against its published answers, uniform and normal numbers, their moments, and
// the same numbers on every device, under every cut and for every number of threads.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <algorithm>
#include <vector>

#include <on_backends.hpp>
#include <oracle.hpp>
#include <worst_of.hpp>

namespace generators_test {

using namespace locus;
using oracle::array;

namespace {

// z with Phi(-|z|) = (bits / 2^12 + 1/2) 2^-53, negative where the lowest bit is 0, solved in 40
// digits: mpmath.findroot(lambda t: erfc(t / sqrt(2)) / 2 - tail, guess)
struct normal_answer {
  std::uint64_t bits;
  double z;
};
constexpr normal_answer normal_answers[] = {
    {0x0000000000000000u, -8.2923610758135955382},
    {0x0000000000001001u, 8.1607078408585831755},
    {0x0000000000005001u, 8.0022918218527893224},
    {0x00000000003e8000u, -7.3347380140439433241},
    {0x00000000f4240000u, -6.3452637406857323492},
    {0x000003b9aca00000u, -5.1798666228140721202},
    {0x000e8d4a51000000u, -3.6925180166482462082},
    {0x05af3107a4000000u, -2.2868520450190278992},
    {0x4000000003039001u, 1.1503493803693499207},
    {0x26737e506339a000u, -1.4388261350142418721},
    {0x8000000000000000u, -0.67448975019608156852},
    {0xc00000000004d001u, 0.31863936396435247226},
    {0xfffffffffffff001u, 1.3914582123358834611e-16},
    {0xfff0000000000000u, -0.0003059849015801319977},
    {0x1333333333333001u, 1.7804643416920251102},
    {0x1333333333334000u, -1.7804643416920237523},
};

/// the moments of many numbers, added in long double
struct moments {
  long double mean = 0, variance = 0, skew = 0, kurtosis = 0;
  template <class Tensor>
  explicit moments(Tensor const& t) {
    auto const n = static_cast<long double>(t.size());
    for (std::int64_t i = 0; i < t.size(); ++i) mean += t.data()[i] / n;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      long double const d = t.data()[i] - mean;
      variance += d * d / n, skew += d * d * d / n, kurtosis += d * d * d * d / n;
    }
    skew /= std::pow(variance, 1.5L), kurtosis /= variance * variance;
  }
};

void require_moments(moments const& u, moments const& z) {
  CHECK(std::fabs(u.mean - 0.5L) < 5 * 0.28868L / 1024);  // five standard errors of 2^20 numbers
  CHECK(std::fabs(u.variance - 1 / 12.L) < 5 * 0.07454L / 1024);
  CHECK(std::fabs(z.mean) < 5 / 1024.L);
  CHECK(std::fabs(z.variance - 1) < 5 * 1.4142L / 1024);
  CHECK(std::fabs(z.skew) < 5 * 2.4495L / 1024);
  CHECK(std::fabs(z.kurtosis - 3) < 5 * 4.899L / 1024);
}
/// between the numbers' distribution and the one they should have
template <class Tensor, class F>
double largest_gap(Tensor const& t, F const& distribution) {
  std::vector<double> x(t.data(), t.data() + t.size());
  std::sort(x.begin(), x.end());
  double gap = 0, n = double(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const p = distribution(x[i]);
    gap = worst_of(gap, std::fmax(double(i + 1) / n - p, p - double(i) / n));
  }
  return gap;
}

}  // namespace

TEST_CASE("Philox-4x32-10 gives the answers of its authors") {
  // Random123 1.14, tests/kat_vectors
  auto same = [](philox_block const& is, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                 std::uint32_t d) {
    return is.word[0] == a && is.word[1] == b && is.word[2] == c && is.word[3] == d;
  };
  std::uint32_t const f = 0xffffffff;
  CHECK(same(philox({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  CHECK(same(philox({{f, f, f, f}}, f, f), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  CHECK(same(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
             0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
  static_assert(random_bits(0, 0) == 0x6627e8d5e169c58d);
  static_assert(random_bits(0, 1) == 0xbc57ac4c9b00dbd8);
  // the counter is i / 2, low word first; the key is the seed, low word first
  std::int64_t const i = (std::int64_t(5) << 33) + 2 * 77 + 1;
  philox_block const b = philox({{77, 5, 0, 0}}, 0x9abcdef0, 0x12345678);
  CHECK(random_bits(0x123456789abcdef0, i) == (std::uint64_t(b.word[2]) << 32 | b.word[3]));
  // a word of its own for each element: the counter is i / 4
  static_assert(random_word(0, 0) == 0x6627e8d5 && random_word(0, 1) == 0xe169c58d);
  static_assert(random_word(0, 2) == 0xbc57ac4c && random_word(0, 3) == 0x9b00dbd8);
  for (int k = 0; k < 4; ++k)
    CHECK(random_word(0x123456789abcdef0, (std::int64_t(5) << 34) + 4 * 77 + k) == b.word[k]);
}
TEST_CASE("pairs of normal floats are those of Box and Muller to 5 ulp") {
  long double const pi = 3.14159265358979323846264338327950288L;
  auto const agrees = [&](std::uint32_t a, std::uint32_t b) {
    auto const u = static_cast<long double>(std::fma(float(a), 0x1p-32f, 0x1p-33f));
    long double const r = std::sqrt(-2 * std::log(u)), t = 2 * pi * b / 4294967296.L;
    normal_pair const z = box_muller(a, b);
    return oracle::agree(z.first, r * std::cos(t), 6e-7, 1e-25) &&
           oracle::agree(z.second, r * std::sin(t), 6e-7, 1e-25);
  };
  oracle::random r(2);
  for (int k = 0; k < 200000; ++k) {
    auto const a = static_cast<std::uint32_t>(r.bits()) >> k % 32;
    auto const b = static_cast<std::uint32_t>(r.bits()) >> k / 32 % 32;
    if (b << 2 == 0) continue;  // below
    CAPTURE(a);
    CAPTURE(b);
    REQUIRE(agrees(a, b));
    REQUIRE(agrees(~a, ~b));
  }
  // the ends of both, and of each quarter
  normal_pair const most = box_muller(0, 0), least = box_muller(0xffffffff, 7);
  CHECK(oracle::agree(most.first, std::sqrt(66 * std::log(2.L)), 3e-7, 0));
  CHECK(most.second == 0.f);
  CHECK((least.first == 0.f && least.second == 0.f));
  float const size = box_muller(12345, 0).first;
  for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
    normal_pair const z = box_muller(12345, quarter << 30);
    CHECK(z.first == (quarter == 0 ? size : quarter == 2 ? -size : 0.f));
    CHECK(z.second == (quarter == 1 ? size : quarter == 3 ? -size : 0.f));
  }
}
TEST_CASE("normal numbers are the inverse of the distribution function to 15 digits") {
  for (auto const& answer : normal_answers) {
    auto const bits = answer.bits;
    CAPTURE(bits);
    CHECK(oracle::agree(inverse_normal(bits), static_cast<long double>(answer.z), 4e-16, 2e-17));
  }
  oracle::random r(1);  // and back again, through the C library's erfc
  for (int k = 0; k < 20000; ++k) {
    std::uint64_t const bits = r.bits() >> r.number(0, 40);
    long double const tail = (static_cast<long double>(bits >> 12) + 0.5L) * 0x1p-53L;
    long double const z = std::fabs(static_cast<long double>(inverse_normal(bits)));
    long double const back = std::erfc(z / std::sqrt(2.L)) / 2;
    long double const slope = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846L);
    REQUIRE(std::fabs(back - tail) <= slope * (z * 6e-16L + 1e-16L));
  }
}
TEST_CASE("uniform and normal are functions of seed and index alone, on every backend") {
  shape const s{2, {37, 1001}};
  std::uint64_t const seed = 0xfedcba9876543210;
  auto const unit = oracle::make<float>(s, [&](std::int64_t const* i) {
    return static_cast<float>(random_word(seed, i[0] * 1001 + i[1]) >> 8) * 0x1p-24f;
  });
  auto const wide = oracle::make<double>(s, [&](std::int64_t const* i) {
    double const u = static_cast<double>(random_bits(seed, i[0] * 1001 + i[1]) >> 11) * 0x1p-53;
    return std::fma(u, 5., -2.);
  });
  auto const bell = oracle::make<double>(s, [&](std::int64_t const* i) {
    return std::fma(inverse_normal(random_bits(seed, i[0] * 1001 + i[1])), 0.5, 3.);
  });
  auto const narrow = oracle::make<float>(s, [&](std::int64_t const* i) {
    std::int64_t const n = i[0] * 1001 + i[1];
    normal_pair const z = box_muller(random_word(seed, n & ~1), random_word(seed, n | 1));
    return n % 2 == 0 ? z.first : z.second;
  });
  on_backends([&] {
    for (int threads : {1, 2}) {
      config::set_intra_op_parallelism_threads(threads);
      Dextents<2> const e(37, 1001);
      Tensor<float, Dextents<2>> const u(on<GpuDevice<0>>(uniform<float>(e, locus::seed{seed})));
      Tensor<double, Dextents<2>> const d(
          on<GpuDevice<1>>(uniform<double>(e, locus::seed{seed}, -2, 3)));
      Tensor<double, Dextents<2>> const n(
          on<GpuDevice<0>>(normal<double>(e, locus::seed{seed}, 3, 0.5)));
      Tensor<float, Dextents<2>> const here(normal<float>(e, locus::seed{seed}));
      CHECK(oracle::difference(u, unit) == "");
      CHECK(oracle::difference(d, wide) == "");
      CHECK(oracle::difference(n, bell) == "");
      CHECK(oracle::difference(here, narrow) == "");
      Tensor<float, Dextents<2>> const turned(
          on<GpuDevice<0>>(transpose(uniform<float>(e, locus::seed{seed}))));
      bool same = true;
      for (int i = 0; i < 37; ++i)
        for (int j = 0; j < 1001; ++j) same = same && turned(j, i) == unit[i * 1001 + j];
      CHECK(same);
      using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
      using Columns = Sharded<1, GpuDevice<0>, GpuDevice<1>>;
      CHECK(oracle::difference(fetch(to<Rows>(uniform<float>(e, locus::seed{seed}))), unit) == "");
      Tensor<float, Dextents<2>, Columns> ones_in_columns(37, 1001);
      ones_in_columns = ones<float>(e);
      CHECK(oracle::difference(fetch(ones_in_columns * uniform<float>(e, locus::seed{seed})),
                               unit) == "");
    }
    config::set_intra_op_parallelism_threads(0);
  });
}
TEST_CASE("uniform numbers are below `high`, whatever rounding does") {
  static_assert(last_before(0.f, 1.f) == 1.f - 0x1p-24f && last_before(-1., 0.) < 0.);
  static_assert(last_before(2.f, 2.f) == 2.f && last_before(-2.f, -1.f) == -1.f - 0x1p-23f);
  Dextents<1> const many(1 << 20);
  on_few_backends([&] {
    auto const t = fetch(on<GpuDevice<0>>(uniform<float>(many, seed{3}, 1000, 1001)));
    float low = 2000, high = 0;
    for (std::int64_t i = 0; i < t.size(); ++i)
      low = std::fmin(low, t(i)), high = std::fmax(high, t(i));
    CHECK(low == 1000.f);
    CHECK(high == 1001.f - 0x1p-14f);
  });
}
TEST_CASE("uniform numbers of a range keep their bits") {
  auto const hash = []<class T>(T low, T high) {
    Tensor<T, Dextents<1>> const x(uniform<T>(dextents<1>(4099), seed{11}, low, high));
    std::uint64_t sum = 14695981039346656037u;  // FNV-1a
    auto const* const bytes = reinterpret_cast<unsigned char const*>(x.data());
    for (std::size_t k = 0; k < 4099 * sizeof(T); ++k) sum = (sum ^ bytes[k]) * 1099511628211u;
    return sum;
  };
  CHECK(hash(0.f, 1.f) == 0xcc5c6b0b625b559d);
  CHECK(hash(-1.f, 1.f) == 0xb6774f33f969a022);
  CHECK(hash(1000.f, 1001.f) == 0x6e54f4ea0dca3a39);
  CHECK(hash(-1e38f, 1e38f) == 0x715c28b9b91f5650);
  CHECK(hash(0.f, 0x1p-102f) == 0xfa8e3ac7d50e9c5c);
  CHECK(hash(-0x1p-60f, 0x1.8p-61f) == 0x342d07dcf82e04ea);
  CHECK(hash(half(0.f), half(1.f)) == 0x6eeb4beb91db9b2b);
  CHECK(hash(half(-3.f), half(0x1p-24f)) == 0xd0b40b123a5185cc);
  CHECK(hash(bfloat16(-1.f), bfloat16(1.f)) == 0x916a1d34f2e63f41);
  CHECK(hash(bfloat16(0.f), bfloat16(0x1p-90f)) == 0x679a7bece0d6c27b);
  CHECK(hash(0., 1.) == 0x57ac4efb9b6b07ba);
  CHECK(hash(-2., 3e300) == 0x613227d14ea109ab);
}
TEST_CASE("uniform numbers of a range near 0 fill it as those of others") {
  std::int64_t const n = 4099;
  on_few_backends([&] {
    for (float const high : {1e-20f, 0x1p-103f, 1e-37f, 1e-38f, 0x1.8p-130f, 0x1p-147f}) {
      CAPTURE(high);
      auto const x = fetch(on<GpuDevice<0>>(uniform<float>(dextents<1>(n), seed{11}, 0, high)));
      float const last = last_before(0.f, high);
      bool all = true;
      for (std::int64_t i = 0; i < n; ++i) {
        double const part = static_cast<double>(random_word(11, i) >> 8) * 0x1p-24;
        all = all && x(i) == std::min(static_cast<float>(part * static_cast<double>(high)), last);
      }
      CHECK(all);
    }
    bfloat16 const most(0x1p-120f);
    auto const narrow =
        fetch(on<GpuDevice<0>>(uniform<bfloat16>(dextents<1>(n), seed{11}, bfloat16(0.f), most)));
    double mean = 0;
    for (std::int64_t i = 0; i < n; ++i)
      mean += static_cast<double>(static_cast<float>(narrow(i))) / static_cast<double>(n);
    CHECK(std::fabs(mean * 0x1p120 - 0.5) < 0.02);
  });
}
TEST_CASE("2^20 numbers have the moments of their distribution") {
  Dextents<1> const many(1 << 20);
  for (std::uint64_t const seed : {1u, 2u, 3u}) {
    moments const u(fetch(uniform<double>(many, locus::seed{seed})));
    moments const z(fetch(normal<double>(many, locus::seed{seed})));
    require_moments(u, z);
    auto const unit = fetch(uniform<float>(many, locus::seed{seed}));
    auto const bell = fetch(normal<float>(many, locus::seed{seed}));
    require_moments(moments(unit), moments(bell));
    // Kolmogorov and Smirnov: exceeded once in 10^6 samples
    CHECK(largest_gap(unit, [](double x) { return x; }) < 2.69 / 1024);
    CHECK(largest_gap(bell, [](double x) { return std::erfc(-x / std::sqrt(2.)) / 2; }) <
          2.69 / 1024);
    long double product = 0, squares = 0;  // the two of a pair have one radius
    for (std::int64_t i = 0; i < bell.size(); i += 2) {
      long double const a = bell(i), b = bell(i + 1);
      product += a * b, squares += (a * a - 1) * (b * b - 1);
    }
    CHECK(std::fabs(product) < 5 * 724.1L);
    CHECK(std::fabs(squares) < 5 * 2 * 724.1L);
  }
  auto const a = fetch(uniform<float>(many, seed{1})), b = fetch(uniform<float>(many, seed{2}));
  double together = 0, along = 0;
  int equal_ones = 0;
  for (std::int64_t i = 0; i + 1 < a.size(); ++i) {
    together += (double(a(i)) - 0.5) * (double(b(i)) - 0.5);
    along += (double(a(i)) - 0.5) * (double(a(i + 1)) - 0.5);
    equal_ones += a(i) == b(i);
  }
  CHECK(std::fabs(together) < 5 * 1024 / 12.);  // seeds and neighbours are independent
  CHECK(std::fabs(along) < 5 * 1024 / 12.);
  CHECK(equal_ones < 5);
}
TEST_CASE("full, zeros, ones and iota of every kind of element") {
  on_few_backends([] {
    Dextents<2> const e(3, 70);
    shape const s{2, {3, 70}};
    auto nth = [](std::int64_t const* i) { return i[0] * 70 + i[1]; };
    auto same = [&](auto const& t, auto f) {
      using T = typename std::remove_cvref_t<decltype(t)>::value_type;
      CHECK(oracle::difference(fetch(t), oracle::make<T>(s, f)) == "");
    };
    same(eval(full<double>(e, 0.1)), [](auto) { return 0.1; });
    same(eval(zeros<std::uint8_t>(e)), [](auto) { return 0; });
    same(eval(ones<bool>(e)), [](auto) { return true; });
    same(eval(iota<std::int64_t>(e, -7, 3)), [&](auto i) { return nth(i) * 3 - 7; });
    same(eval(iota<std::int32_t>(e, 2147483647)),  // it wraps
         [&](auto i) { return static_cast<std::int32_t>(2147483647u + unsigned(nth(i))); });
    same(eval(iota<float>(e, 0.1f, 0.1f)),
         [&](auto i) { return std::fma(double(nth(i)), double(0.1f), double(0.1f)); });
    same(eval(cast<std::int32_t>(iota<float>(e, 0, 0.5f))), [&](auto i) { return nth(i) / 2; });
    same(eval(cast<std::int64_t>(iota<float>(e, 0, 0.5f))), [&](auto i) { return nth(i) / 2; });
    same(eval(cast<double>(iota<float>(e, 0, 0.5f))), [&](auto i) { return double(nth(i)) / 2; });
  });
}

TEST_CASE("a range that is none, and moments that are none, are refused by name") {
  Extents<4> const e;
  float const nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity(),
              most = std::numeric_limits<float>::max();
  auto const refuses = [](auto const& make, std::string_view part) {
    try {
      static_cast<void>(make());
    } catch (configuration_error const& error) {
      return std::string_view(error.what()).find(part) != std::string_view::npos;
    }
    return false;
  };
  for (auto const& range :
       {std::pair{1.f, 0.f}, {nan, 1.f}, {0.f, nan}, {0.f, inf}, {-inf, 0.f}, {-most, most}})
    CHECK(refuses([&] { return uniform<float>(e, seed{1}, range.first, range.second); },
                  "smaller one first"));
  CHECK(refuses([&] { return uniform<double>(e, seed{1}, 2.0, 1.0); }, "from 2 to 1"));
  CHECK(refuses([&] { return uniform<half>(e, seed{1}, half(2), half(1)); }, "from 2 to 1"));
  for (auto const& moments_of :
       {std::pair{0.f, -1.f}, {nan, 1.f}, {0.f, nan}, {inf, 1.f}, {0.f, inf}})
    CHECK(refuses([&] { return normal<float>(e, seed{1}, moments_of.first, moments_of.second); },
                  "at least 0"));
  auto const same = fetch(uniform<float>(e, seed{1}, 3.f, 3.f));
  auto const mean = fetch(normal<float>(e, seed{1}, 3.f, 0.f));
  for (int i = 0; i < 4; ++i) CHECK((same(i) == 3.f && mean(i) == 3.f));
}
TEST_CASE("a seed is any integer, and a type of its own where a range follows") {
  static_assert(!std::is_convertible_v<int, seed> && !std::is_constructible_v<seed, double>);
  CHECK(equal(normal<double>(Extents<40>{}, 7), normal<double>(Extents<40>{}, seed{7})));
  CHECK(seed{-1}.value == ~std::uint64_t(0));
  CHECK(equal(uniform<float>(Extents<40>{}, seed{7}),
              uniform<float>(Extents<40>{}, seed{std::uint64_t(7)})));
}

}  // namespace generators_test
