// SPDX-License-Identifier: Apache-2.0
// The kernels of transforms, of locus and of an FFTW where there is one, beside sums in long double: every length up to
// 64, products of all factors, primes beyond them, long lines; lines alone, in batches, beside each other.
#include <cstdio>
#include <doctest/doctest.h>

#include <child.hpp>

#include <locus/fft/fftw.hpp>
#include <locus/locus.hpp>

#include "transforms.hpp"

using namespace locus;
using namespace locus::fourier;
using transforms::lines;
using transforms::lines_of;
using transforms::wide_of;

namespace {

/// some numbers of the results, or all of a short line
std::vector<std::int64_t> places(std::int64_t n, std::int64_t of) {
  std::vector<std::int64_t> all;
  std::int64_t const step = n <= 100 ? 1 : n / 7;
  for (std::int64_t k = 0; k < of; k += step) all.push_back(k);
  if (all.back() != of - 1) all.push_back(of - 1);
  return all;
}
template <transform Kind, class From, class To>
bool compute(bool by_fftw, From const* from, To* to, line_grid const& grid) {
  if (by_fftw) return fftw_transform_lines<Kind>(from, to, grid);
  transform_lines<Kind>(from, to, grid);
  return true;
}

template <class T>
void check_lines(bool by_fftw, line_grid const& grid, std::uint64_t seed) {
  std::int64_t const n = grid.n, inner = grid.inner, half = n / 2 + 1, all = grid.lines() * n;
  CAPTURE(n);
  CAPTURE(grid.outer);
  CAPTURE(inner);
  CAPTURE(by_fftw);
  using number = locus::complex<T>;
  std::vector<number> x(std::size_t(all), 0), y = x, back = x;
  std::vector<T> r(std::size_t(all), 0), real_back = r;
  std::vector<number> halves(std::size_t(grid.lines() * half));
  transforms::fill(x.data(), all, seed);
  transforms::fill(r.data(), all, seed + 1);
  REQUIRE(compute<transform::forward>(by_fftw, x.data(), y.data(), grid));
  REQUIRE(compute<transform::inverse>(by_fftw, y.data(), back.data(), grid));
  REQUIRE(compute<transform::real>(by_fftw, r.data(), halves.data(), grid));
  REQUIRE(compute<transform::real_inverse>(by_fftw, halves.data(), real_back.data(), grid));
  lines const values = lines_of(x), reals = lines_of(r);
  lines found, wanted;
  long double energy = 0, energy_of_results = 0;
  for (std::int64_t o = 0; o < grid.outer; ++o)
    for (std::int64_t c = 0; c < inner; ++c) {
      for (std::int64_t k : places(n, n)) {
        found.push_back(wide_of(y[std::size_t((o * n + k) * inner + c)]));
        wanted.push_back(transforms::number_of(values, o, c, n, inner, k, false));
      }
      for (std::int64_t k : places(n, half)) {
        found.push_back(wide_of(halves[std::size_t((o * half + k) * inner + c)]));
        wanted.push_back(transforms::number_of(reals, o, c, n, inner, k, false));
      }
    }
  CHECK(transforms::distance(found, wanted) <= transforms::allowed<T>(n));
  CHECK(transforms::distance(lines_of(back), values) <= transforms::allowed<T>(n));
  CHECK(transforms::distance(lines_of(real_back), reals) <= transforms::allowed<T>(n));
  for (auto const& v : x) energy += std::norm(wide_of(v));
  for (auto const& v : y) energy_of_results += std::norm(wide_of(v));
  CHECK(std::fabs(double(energy_of_results / (energy * static_cast<long double>(n)) - 1)) <=
        transforms::allowed<T>(n));  // Parseval
}
void check_both(line_grid const& grid, std::uint64_t seed) {
  check_lines<double>(false, grid, seed);
  check_lines<float>(false, grid, seed);
  if (grid.inner == 1 && fftw<double>()) check_lines<double>(true, grid, seed);
  if (grid.inner == 1 && fftw<float>()) check_lines<float>(true, grid, seed);
}

}  // namespace

TEST_CASE("roots of unity are those of the C library, and exact in each eighth of a turn") {
  for (std::int64_t n : {1, 2, 3, 7, 8, 24, 1000, 10007}) {
    root_table const all(n);
    for (std::int64_t k = 0; k < n; ++k) {
      transforms::wide const want = transforms::root(k, n);
      CHECK(std::fabs(double(all(k).re - want.real())) < 2e-18);
      CHECK(std::fabs(double(all(k).im - want.imag())) < 2e-18);
      if (n % 4 == 0 && k % (n / 4) == 0) CHECK(std::fabs(all(k).re) + std::fabs(all(k).im) == 1);
    }
  }
}

TEST_CASE("transforms of every length up to 64 are sums of products with roots") {
  for (std::int64_t n = 1; n <= 64; ++n) {
    check_both({1, n, 1}, std::uint64_t(n));
    check_both({3, n, 1}, std::uint64_t(n));
    check_both({2, n, 5}, std::uint64_t(n));
  }
}

TEST_CASE("lines in batches, more than vectors have lanes, and columns beside each other") {
  for (std::int64_t n : {1, 2, 5, 8, 12, 37}) {
    check_both({67, n, 1}, 1);
    check_both({1, n, 67}, 2);
    check_both({2, n, 16}, 3);
  }
  check_both({2, 100, 33}, 4);
}

TEST_CASE("long lines: powers of all factors, primes, twice a prime") {
  for (std::int64_t n : {100, 127, 128, 243, 625, 1001, 1009, 1024, 2018, 4096, 10007, 12288}) {
    check_both({2, n, 1}, 5);
    if (n < 2000) check_both({1, n, 3}, 6);
  }
  check_both({1, 65536, 1}, 7);
}

TEST_CASE("no lines, or no numbers: nothing is written") {
  locus::complex<double>* const none = nullptr;
  for (line_grid const grid : {line_grid{0, 4, 1}, line_grid{3, 4, 0}, line_grid{3, 0, 1}}) {
    transform_lines<transform::forward>(none, none, grid);
    transform_lines<transform::inverse>(none, none, grid);
  }
}

TEST_CASE("many lengths: tables of the last ones are kept, all stay right") {
  for (int turn = 0; turn < 2; ++turn)
    for (std::int64_t n = 100; n < 180; n += 2) check_both({1, n, 1}, 8);
}

TEST_CASE("threads of a program transform lines of one length, and of others, at once") {
  std::vector<locus::complex<float>> x(64 * 360), want(x.size());
  transforms::fill(x.data(), std::int64_t(x.size()), 9);
  transform_lines<transform::forward>(x.data(), want.data(), {64, 360, 1});
  parallel_for(8, 4, [&](int task) {
    std::vector<locus::complex<float>> y(x.size());
    for (int turn = 0; turn < 4; ++turn) {
      std::int64_t const n = task % 2 == 0 ? 360 : 90 + 2 * task;
      fftw_transform_lines<transform::forward>(x.data(), y.data(), {20, n, 1});
      transform_lines<transform::forward>(x.data(), y.data(), {20, n, 1});
      if (n == 360)
        for (std::size_t k = 0; k < 20 * 360; ++k) REQUIRE(y[k] == want[k]);
    }
  });
}

TEST_CASE("kernels for fewer instructions than the processor has give the same sums") {
  char const* const sets[] = {"baseline", "avx2"};
  for (int k = 0; k < static_cast<int>(simd::instructions_of_processor()); ++k) {
    auto const seen = child::run("transforms of every length*,lines in batches*,long lines*",
                                 {std::string("LOCUS_INSTRUCTIONS=") + sets[k], "LOCUS_QUIET=1"});
    INFO(sets[k], ": ", seen.text);
    CHECK(seen.code == 0);
    CHECK(seen.says("3 passed"));
  }
}

TEST_CASE("a program that looks for an FFTW" * doctest::skip()) {
  for (int turn = 0; turn < 2; ++turn) std::printf("it has %s\n", fftw<double>().library);
}

TEST_CASE("LOCUS_FFT decides between FFTW and kernels of locus; a missing FFTW is named once") {
  char const* const program = "a program that looks for an FFTW";
  auto const own = child::run(program, {"LOCUS_FFT=own"});
  CHECK(own.code == 0);
  CHECK(own.count("it has none") == 2);
  CHECK(!own.says("locus: "));
  auto const wanted = child::run(program, {"LOCUS_FFT=fftw"});
  INFO(wanted.text);
  CHECK(wanted.code == 0);
  CHECK(wanted.count("locus: LOCUS_FFT is \"fftw\", and there is no libfftw3.so.3: transforms use "
                     "the kernels of locus; install FFTW 3, or unset LOCUS_FFT") ==
        (wanted.says("it has none") ? 1 : 0));
  auto const unset = child::run(program, {"LOCUS_FFT="});
  CHECK(unset.code == 0);
  CHECK(!unset.says("locus: "));
  CHECK(unset.says("it has none") == wanted.says("it has none"));
}

TEST_CASE("a real line has no imaginary parts at its ends: those that are there count as 0") {
  for (std::int64_t n : {1, 2, 7, 8, 96, 37}) {
    std::vector<locus::complex<double>> x(std::size_t(n / 2 + 1)), odd;
    transforms::fill(x.data(), n / 2 + 1, 10);
    odd = x;
    x[0] = x[0].real(), odd[0].im = 3;
    if (n % 2 == 0)
      x[std::size_t(n / 2)] = x[std::size_t(n / 2)].real(), odd[std::size_t(n / 2)].im = -2;
    std::vector<double> want(std::size_t(n), 0), found = want;
    transform_lines<transform::real_inverse>(x.data(), want.data(), {1, n, 1});
    transform_lines<transform::real_inverse>(odd.data(), found.data(), {1, n, 1});
    CHECK(found == want);
    if (fftw_transform_lines<transform::real_inverse>(odd.data(), found.data(), {1, n, 1}))
      for (std::int64_t k = 0; k < n; ++k)
        CHECK(std::fabs(found[std::size_t(k)] - want[std::size_t(k)]) < 1e-14);
  }
}
