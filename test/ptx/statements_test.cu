// SPDX-License-Identifier: Apache-2.0
// Ordinary statements, without a macro: which kernels run, and that the numbers are those of the host. A dense
// map is cub::DeviceTransform, a fold of a whole value cub::DeviceReduce.
#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "count.hpp"

using namespace locus;

namespace {

using Gpu = GpuDevice<0>;
template <class T, int Rank = 1, class Where = Gpu>
using Array = Tensor<T, Dextents<Rank>, Where>;

template <class T, class E>
Tensor<T, E, CpuDevice> drawn(E const& extents, unsigned seed) {
  Tensor<T, E, CpuDevice> x(extents);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < x.size(); ++i)
    if constexpr (std::is_integral_v<T>)
      x.data()[i] = T(random() % 200) - T(100);
    else
      x.data()[i] = T(float(int(random() % 4001) - 2000) / 512.f);
  return x;
}
/// means: f(), under its label; which kernels it launched, and how often
template <class F>
std::string kernels_of(char const* label, F&& f) {
  ptx_counts::measure(label, f);
  auto const names = ptx_counts::kernels(label);
  MESSAGE(std::string(label) << ": " << names);
  return names;
}
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
bool is_transform(std::string const& names) {
  return names.substr(0, 17) == "transform_kernel<" && !has(names, ",");
}
bool is_reduce(std::string const& names) {
  return names.substr(0, 12) == "DeviceReduce" && !has(names, "fold_");
}
/// bits, of a map
template <class X, class Y>
bool same(X const& gpu, Y const& host) {
  auto const a = fetch(gpu);
  bool all = a.size() == host.size();
  for (std::int64_t i = 0; all && i < a.size(); ++i)
    all = std::memcmp(&a.data()[i], &host.data()[i], sizeof a.data()[i]) == 0 ||
          (a.data()[i] != a.data()[i] && host.data()[i] != host.data()[i]);
  return all;
}
bool near(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

}  // namespace

TEST_CASE_TEMPLATE("dense maps are cub::DeviceTransform, to the bit what the host computes", T,
                   float, double, half, bfloat16, std::int32_t, std::int64_t, std::int8_t) {
  for (std::int64_t n : {1, 7, 16, 1000, 1024, 100003, 131072, 200001}) {
    CAPTURE(n);
    auto const x = drawn<T>(dextents<1>(n), 1), y = drawn<T>(dextents<1>(n), 2);
    Array<T, 1, CpuDevice> want{dextents<1>(n)};
    want = x * y + x;
    Array<T> const a = to<Gpu>(x), b = to<Gpu>(y);
    Array<T> c{dextents<1>(n)};
    auto const names = kernels_of(
        ("map " + std::to_string(n) + " of " + std::to_string(sizeof(T)) + typeid(T).name())
            .c_str(),
        [&] { c = a * b + a; });
    CHECK(same(c, want));
    if (n % 16 == 0) CHECK(is_transform(names));
    CHECK(has(names, "transform_kernel") ==
          (n % 16 == 0 || n > 131072 || n * std::int64_t(sizeof(T)) % 16 == 0));
    c = c - b;  // in place
    want = want - y;
    CHECK(same(c, want));
  }
}

TEST_CASE("statements") {
  std::int64_t const n = 40960;
  auto const hx = drawn<float>(dextents<1>(n), 3), hy = drawn<float>(dextents<1>(n), 4);
  Array<float> const x = to<Gpu>(hx);
  Array<float> y = to<Gpu>(hy), z{dextents<1>(n)}, u{dextents<1>(n)};
  Array<float, 1, CpuDevice> want{dextents<1>(n)}, other{dextents<1>(n)};

  CHECK(is_transform(kernels_of("y = a x + y", [&] { y = 2.f * x + y; })));
  want = 2.f * hx + hy;
  CHECK(same(y, want));
  CHECK(is_transform(kernels_of("exp", [&] { z = exp(x); })));
  want = exp(hx);
  auto const e = fetch(z);
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i)
    worst = std::max(worst, std::fabs(double(e(i)) / std::exp(double(hx(i))) - 1));
  CHECK(worst < 3e-7);
  Array<half> h{dextents<1>(n)};
  Array<half, 1, CpuDevice> want_half{dextents<1>(n)};
  CHECK(is_transform(kernels_of("cast to half", [&] { h = cast<half>(x); })));
  want_half = cast<half>(hx);
  CHECK(same(h, want_half));
  CHECK(has(kernels_of("fill", [&] { z = full<float>(z.extents(), 3.f); }), "static_kernel"));
  want = full<float>(want.extents(), 3.f);
  CHECK(same(z, want));
  CHECK(has(kernels_of("iota", [&] { z = 0.5f * iota<float>(z.extents()); }), "static_kernel"));
  want = 0.5f * iota<float>(want.extents());
  CHECK(same(z, want));
  CHECK(is_transform(kernels_of("two results", [&] {
    let(x * 2.f, [&](auto v) { run(plan(into(z, v + 1.f), into(u, v * v))); });
  })));
  want = hx * 2.f + 1.f, other = (hx * 2.f) * (hx * 2.f);
  CHECK(ptx_counts::figure("two results", "launches") == 1);
  CHECK(same(z, want));
  CHECK(same(u, other));

  double total = 0, product = 0, largest = -1e30, difference = 0;
  std::int64_t at = 0;
  auto const fy = fetch(y);
  for (std::int64_t i = 0; i < n; ++i) {
    total += double(hx(i)), product += double(hx(i)) * double(fy(i));
    if (double(hx(i)) > largest) largest = double(hx(i)), at = i;
    difference = std::max(difference, std::fabs(double(hx(i) - fy(i))));
  }
  float r = 0;
  CHECK(is_reduce(kernels_of("sum", [&] { r = fetch(sum(x)); })));
  CHECK(near(double(r), total, 1e-6));
  CHECK(is_reduce(kernels_of("sum(x y)", [&] { r = fetch(sum(x * y)); })));
  CHECK(near(double(r), product, 1e-6));
  Tensor<float, Extents<>, Gpu> mean_of, max_of;
  CHECK(is_reduce(kernels_of("mean and max together", [&] {
    let(x, [&](auto v) { run(plan(into(mean_of, mean(v)), into(max_of, max(v)))); });
  })));
  CHECK(ptx_counts::figure("mean and max together", "launches") == 2);  // parts, and what they make
  CHECK(near(double(fetch(mean_of)), total / double(n), 1e-6));
  CHECK(double(fetch(max_of)) == largest);
  std::int64_t found = -1;
  CHECK(is_reduce(kernels_of("argmax", [&] { found = fetch(argmax(x)); })));
  CHECK(found == at);
  CHECK(is_reduce(kernels_of("max(abs(x - y))", [&] { r = fetch(max(abs(x - y))); })));
  CHECK(double(r) == difference);

  auto const hm = drawn<float>(dextents<2>(300, 128), 5);
  auto const hr = drawn<float>(dextents<1>(128), 6);
  Array<float, 2> const m = to<Gpu>(hm);
  Array<float> const row = to<Gpu>(hr);
  Array<float, 2> grid(m.extents());
  Array<float, 2, CpuDevice> want_grid(hm.extents());
  CHECK(has(kernels_of("matrix + row", [&] { grid = m + row; }), "line_map"));
  want_grid = hm + hr;
  CHECK(same(grid, want_grid));
  double squares = 0;
  for (std::int64_t i = 0; i < 300; ++i)
    for (std::int64_t j = 0; j < 128; ++j) {
      double const d = double(hm(i, j)) - double(hr(j));
      squares += d * d;
    }
  CHECK(is_reduce(
      kernels_of("a residual behind a map", [&] { r = fetch(sqrt(sum((m - row) * (m - row)))); })));
  CHECK(near(double(r), std::sqrt(squares), 1e-6));
  CHECK(has(kernels_of("row sums", [&] { static_cast<void>(fetch(sum<1>(m))); }), "fold_rows"));
}

TEST_CASE_TEMPLATE("whole folds: every size, addresses between vectors, several folds, NaN", T,
                   float, double, half, std::int32_t) {
  double const tolerance = std::is_same_v<T, half>     ? 2e-3
                           : std::is_same_v<T, double> ? 1e-12
                                                       : 2e-6;
  for (std::int64_t n : {0, 1, 5, 37, 1000, 4099, 100003})
    for (std::int64_t shift : {0, 1, 3}) {
      CAPTURE(n);
      CAPTURE(shift);
      auto const hx = drawn<T>(dextents<1>(n + 3), 11), hy = drawn<T>(dextents<1>(n + 3), 12);
      Array<T> const gx = to<Gpu>(hx), gy = to<Gpu>(hy);
      auto const x = slice(gx, range{shift, shift + n}),
                 y = slice(gy, range{2 * shift % 3, 2 * shift % 3 + n});
      double total = 0, product = 0;
      double least = 1e30, most = -1e30;
      for (std::int64_t i = 0; i < n; ++i) {
        double const a = double(float(hx(shift + i))), b = double(float(hy(2 * shift % 3 + i)));
        total += a, product += double(float(T(a * b)));
        least = std::min(least, a), most = std::max(most, a);
      }
      CHECK(near(double(fetch(sum(x))), double(T(total)), tolerance));
      CHECK(near(double(fetch(sum(x * y))), double(T(product)), 4 * tolerance));
      if (n == 0) continue;
      CHECK(double(fetch(max(x))) == most);
      CHECK(double(fetch(min(x))) == least);
      CHECK(double(float(hx(shift + fetch(argmax(x))))) == most);
      Tensor<decltype(fetch(sum(x))), Extents<>, Gpu> s, q;
      Tensor<T, Extents<>, Gpu> m;
      let(x,
          [&](auto v) { run(plan(into(s, sum(v)), into(q, sum(v) + sum(y)), into(m, max(v)))); });
      CHECK(double(fetch(s)) == double(fetch(sum(x))));
      CHECK(double(fetch(m)) == most);
      if constexpr (is_floating_v<T>) {
        auto host = fetch(gx);
        host(shift + n / 2) = T(NAN);
        Array<T> const bad = to<Gpu>(host);
        auto const with = slice(bad, range{shift, shift + n});
        CHECK(std::isnan(double(fetch(max(with)))));
        CHECK(std::isnan(double(fetch(sum(with)))));
        CHECK(fetch(argmax(with)) == n / 2);
      }
    }
}
