// SPDX-License-Identifier: Apache-2.0
// Ordinary statements, without a macro: which kernels run, and that the numbers are those of the host. A dense
// map is cub::DeviceTransform, a fold of a whole value cub::DeviceReduce. `using namespace locus` leaves half
// unambiguous, with CUDA's own in reach.
#include <worst_of.hpp>

#include <locus/cuda.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <locus/engine/gpu/scans.hpp>
#include <locus/engine/gpu/selects.hpp>
#include <locus/engine/gpu/sorts.hpp>
#include <locus/nn/layers/embedding_ops.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/nn/optimizers/optimizer.hpp>
#include <locus/nn/optimizers/update.hpp>

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
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
/// means: f(), under its label; which kernels it launched, and how often
template <class F>
std::string launched_by(char const* label, F&& f) {
  ptx_counts::measure(label, f);
  return ptx_counts::kernels(label);
}
/// means: the same, of statements: the log names the same kernels
template <class F>
std::string kernels_of(char const* label, F&& f) {
  std::string said;
  debugging::set_log_sink(
      [](log_event const& e, std::string_view, void* to) {
        if (e.kind == event_kind::step)
          *static_cast<std::string*>(to) += std::string(e.kernel) + "; ";
      },
      &said);
  debugging::set_log_device_placement(true, log_frequency::every);
  auto const names = launched_by(label, f);
  debugging::set_log_device_placement(false);
  debugging::set_log_sink(nullptr);
  MESSAGE(std::string(label) << ": " << names << "; the log: " << said);
  struct pair {
    char const *said, *kernel;
  };
  constexpr pair pairs[] = {{"cub::DeviceTransform", "transform_kernel<"},
                            {"cub::DeviceFor", "static_kernel<"},
                            {"cub::DeviceReduce", "DeviceReduce"},
                            {"line_map", "<line_map>"},
                            {"fold_rows", "<fold_rows>"}};
  for (pair const& one : pairs) {
    CAPTURE(one.said);
    CHECK(has(said, one.said) == has(names, one.kernel));
  }
  CHECK(!said.empty());
  return names;
}
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

// A type takes nvcc ten seconds and more: what runs for hours takes all, the others have vectors of 4, 8 and 16
// elements.
#if defined(LOCUS_LONG_TESTS)
#define MAPPED_TYPES float, double, half, bfloat16, std::int32_t, std::int64_t, std::int8_t
#define FOLDED_TYPES float, double, half, std::int32_t
#else
#define MAPPED_TYPES float, half, std::int8_t
#define FOLDED_TYPES float, half
#endif

TEST_CASE_TEMPLATE("dense maps are cub::DeviceTransform, to the bit what the host computes", T,
                   MAPPED_TYPES) {
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

TEST_CASE_TEMPLATE("functions of ours run on cards as on the host", T, float, double) {
  std::int64_t const n = 1000;
  Array<T, 1, CpuDevice> hx{dextents<1>(n)};
  for (std::int64_t i = 0; i < n; ++i) hx(i) = static_cast<T>(i - 300) / T(37);
  Array<T> const x = to<Gpu>(hx);
  Array<T> d{dextents<1>(n)}, t{dextents<1>(n)};
  d = digamma(x);
  t = trigamma(x);
  auto const got_d = fetch(d), got_t = fetch(t);
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    auto const off = [&](T got, T want) {
      return got == want ? 0 : double(std::fabs(got - want) / std::fmax(T(1), std::fabs(want)));
    };
    // at -1, -2, ... digamma is NaN, trigamma infinite
    bool const pole = std::isnan(digamma_fn{}(hx(i)));
    CHECK(std::isnan(got_d(i)) == pole);
    if (!pole) worst = worst_of(worst, off(got_d(i), digamma_fn{}(hx(i))));
    worst = worst_of(worst, off(got_t(i), trigamma_fn{}(hx(i))));
  }
  CHECK(worst < 8 * std::numeric_limits<T>::epsilon());
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
    worst = worst_of(worst, std::fabs(double(e(i)) / std::exp(double(hx(i))) - 1));
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
    difference = worst_of(difference, std::fabs(double(hx(i) - fy(i))));
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

namespace {
/// an algorithm by its entry in the table of CUDA's functions
template <class Algorithm>
void run_entry(Algorithm const& a) {
  auto& d = runtime::find_device(gpu(0));
  cuda_side::run_algorithm({&d, {0, Algorithm::name, d.name}, nullptr, 0, nullptr}, a);
}
}  // namespace

TEST_CASE("algorithms by their entries") {
  std::int64_t const n = 20000;
  auto const hx = drawn<float>(dextents<1>(n), 7);
  std::vector<float> numbers(hx.data(), hx.data() + n);
  Array<float> const x = to<Gpu>(hx);
  Array<float> sorted{dextents<1>(n)}, unique{dextents<1>(n)}, totals{dextents<1>(n)};
  Array<std::int64_t> found{dextents<1>(1)};
  Array<std::int32_t> first{dextents<1>(n)}, runs{dextents<1>(1)};

  CHECK(
      has(launched_by("sort",
                      [&] { run_entry(cuda_side::sort_keys<float>{n, x.data(), sorted.data()}); }),
          "DeviceRadixSort"));
  std::vector<float> rising = numbers;
  std::sort(rising.begin(), rising.end());
  auto const in_order = fetch(sorted);
  CHECK(std::equal(rising.begin(), rising.end(), in_order.data()));

  CHECK(has(launched_by("unique",
                        [&] {
                          run_entry(cuda_side::first_of_runs<float, std::int32_t>{
                              n, sorted.data(), unique.data(), first.data(), runs.data()});
                        }),
            "DeviceCompactInit"));
  rising.erase(std::unique(rising.begin(), rising.end()), rising.end());
  CHECK(fetch(runs)(0) == std::int32_t(rising.size()));
  auto const once = fetch(unique);
  CHECK(std::equal(rising.begin(), rising.end(), once.data()));

  int const bins = 10;
  Array<float, 1, CpuDevice> edges{dextents<1>(bins + 1)};
  for (int b = 0; b <= bins; ++b) edges(b) = -4.f + 0.8f * float(b);
  Array<float> const levels = to<Gpu>(edges);
  Array<std::int32_t> counts{dextents<1>(bins)};
  CHECK(has(launched_by("histogram",
                        [&] {
                          run_entry(cuda_side::histogram<float>{n, x.data(), bins, levels.data(),
                                                                counts.data()});
                        }),
            "DeviceHistogram"));
  auto const counted = fetch(counts);
  for (int b = 0; b < bins; ++b)
    CHECK(counted(b) == std::count_if(numbers.begin(), numbers.end(),
                                      [&](float v) { return v >= edges(b) && v < edges(b + 1); }));

  CHECK(has(launched_by("scan",
                        [&] {
                          run_entry(cuda_side::scan<false, reduction::sum, float>{n, x.data(),
                                                                                  totals.data()});
                        }),
            "DeviceScan"));
  auto const sums = fetch(totals);
  double total = 0, worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    total += double(numbers[std::size_t(i)]);
    worst = worst_of(worst, std::fabs(double(sums(i)) - total));
  }
  CHECK(worst < 1e-3);
}

TEST_CASE("statements of a training") {
  std::int64_t const words = 50, width = 16;
  auto const hg = drawn<float>(dextents<3>(8, 20, width), 8);
  Array<std::int32_t, 2, CpuDevice> spoken{dextents<2>(8, 20)};
  for (std::int64_t i = 0; i < spoken.size(); ++i) spoken.data()[i] = std::int32_t(i * 7 % words);
  Array<std::int32_t> rows{dextents<1>(160)};
  Array<float, 2> sums{dextents<2>(160, width)};
  auto const trips = runtime::host_round_trips;
  auto const gradient = call(nn::embedding_gradient_op{words}, to<Gpu>(spoken), to<Gpu>(hg));
  auto const names = kernels_of("embedding gradient", [&] {
    run(plan(into(rows, result<0>(gradient)), into(sums, result<1>(gradient))));
  });
  CHECK(has(names, "DeviceRadixSort"));
  CHECK(has(names, "DeviceCompactInit"));  // cub::DeviceSelect
  CHECK(runtime::host_round_trips == trips);
  auto const by_host = call(nn::embedding_gradient_op{words}, spoken, hg);
  Array<std::int32_t, 1, CpuDevice> want_rows{dextents<1>(160)};
  Array<float, 2, CpuDevice> want_sums{dextents<2>(160, width)};
  run(plan(into(want_rows, result<0>(by_host)), into(want_sums, result<1>(by_host))));
  CHECK(same(rows, want_rows));
  CHECK(same(sums, want_sums));

  std::int64_t const n = 4096;
  auto const hw = drawn<float>(dextents<1>(n), 21);
  Array<float> w = to<Gpu>(hw);
  Array<float> kept[2] = {to<Gpu>(drawn<float>(dextents<1>(n), 22)),
                          to<Gpu>(abs(drawn<float>(dextents<1>(n), 23)))};
  Array<float> const g = to<Gpu>(drawn<float>(dextents<1>(n), 24));
  Array<float, 1, CpuDevice> host_w = hw, host_kept[2] = {fetch(kept[0]), fetch(kept[1])};
  auto const rule = nn::detail::adam_of<float>(nn::Adam{}, nn::step_state{});
  auto const both = std::make_index_sequence<2>{};
  // an operation that is called: one kernel, whose threads take vectors of the weights
  CHECK(
      !has(kernels_of("Adam", [&] { run(nn::update_plan<false>(rule, w, kept, both, g)); }), ","));
  CHECK(ptx_counts::figure("Adam", "launches") == 1);
  run(nn::update_plan<false>(rule, host_w, host_kept, both, fetch(g)));
  auto const moved = fetch(w);
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i)
    worst = worst_of(worst, std::fabs(double(moved(i)) - double(host_w(i))));
  auto const first = fetch(kept[0]);
  for (std::int64_t i = 0; i < n; ++i)
    worst = worst_of(worst, std::fabs(double(first(i)) - double(host_kept[0](i))));
  CHECK(worst < 1e-6);

  std::int64_t const batch = 6, classes = 100;
  auto const hl = drawn<float>(dextents<2>(batch, classes), 31);
  Array<std::int32_t, 1, CpuDevice> right{dextents<1>(batch)};
  for (std::int64_t i = 0; i < batch; ++i) right(i) = std::int32_t(i * 17 % classes);
  nn::SparseCategoricalCrossentropy const loss{nn::from_logits};
  using score = nn::detail::score_op<std::remove_const_t<decltype(loss)>,
                                     nn::detail::weights_of::none, false>;
  auto const scored = call(score{loss, {}}, to<Gpu>(hl), to<Gpu>(right));
  Array<float, 2> slope{dextents<2>(batch, classes)};
  Tensor<double, Dextents<2>, Gpu> value{dextents<2>(batch, 1)};
  CHECK(has(kernels_of(
                "loss",
                [&] { run(plan(into(slope, result<0>(scored)), into(value, result<1>(scored)))); }),
            "team"));
  auto const losses = fetch(value);
  for (std::int64_t i = 0; i < batch; ++i) {
    double of = 0;
    for (std::int64_t c = 0; c < classes; ++c) of += std::exp(double(hl(i, c)));
    CHECK(near(losses(i, 0), std::log(of) - double(hl(i, right(i))), 1e-6));
  }
}

TEST_CASE("the workspace of CUB's folds has a bound in the plan") {
  auto const hx = drawn<double>(dextents<1>(1 << 19), 41);
  Tensor<double, Extents<1 << 19>, Gpu> const x(to<Gpu>(hx));
  Tensor<double, Extents<>, Gpu> s, m;
  Tensor<std::int64_t, Extents<>, Gpu> at;
  auto const held_by = [](auto const& step) {
    run(step);
    runtime::synchronize(runtime::find_device(gpu(0)));
    auto const before = runtime::find_device(gpu(0)).memory.in_use;
    config::detail::reset_memory(runtime::find_device(gpu(0)));
    run(step);
    return config::detail::read_memory(runtime::find_device(gpu(0))).peak - before;
  };
  auto const check = [&](auto const& step) {
    using Step = std::remove_cvref_t<decltype(step)>;
    auto const held = held_by(step);
    CHECK(held > Step::template peak_bytes<Gpu>());
    CHECK(held <= Step::template peak_bytes<Gpu>() + Step::template cub_workspace<Gpu>());
  };
  check(plan(into(s, sum(x))));
  check(plan(into(at, argmax(x))));
  let(x, [&](auto v) { check(plan(into(s, sum(v)), into(m, max(v * 2.)))); });
  using Map = decltype(plan(into(s, s * 2.)));
  static_assert(Map::cub_workspace<Gpu>() == 0);
}

TEST_CASE_TEMPLATE("whole folds of matrices and a row of all lines: each line, each column once", T,
                   float, half, double) {
  for (std::int64_t lines : {1, 2, 3, 4, 6, 8, 9, 24, 40})
    for (std::int64_t columns : {8, 64, 128, 256, 384, 768, 1000}) {
      CAPTURE(lines);
      CAPTURE(columns);
      // products are -1, 0 or 1 times a power of two of the line: their sum is exact
      Tensor<T, Dextents<2>, CpuDevice> m{dextents<2>(lines, columns)};
      Tensor<T, Dextents<1>, CpuDevice> row{dextents<1>(columns)};
      double want = 0, plain = 0;
      for (std::int64_t j = 0; j < columns; ++j) row(j) = T(float(int(j * 7 % 3) - 1));
      for (std::int64_t i = 0; i < lines; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          m(i, j) = T(float((i + j * j) % 5 == 0));
          want += double(float(m(i, j))) * double(float(row(j))), plain += double(float(m(i, j)));
        }
      Tensor<T, Dextents<2>, Gpu> const on = to<Gpu>(m);
      Array<T> const of_lines = to<Gpu>(row);
      CHECK(double(float(fetch(sum(on * of_lines)))) == double(float(T(want))));
      CHECK(double(float(fetch(sum(on)))) == double(float(T(plain))));
    }
}

TEST_CASE_TEMPLATE("whole folds: every size, addresses between vectors, several folds, NaN", T,
                   FOLDED_TYPES) {
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

TEST_CASE("maps of one space are one launch") {
  std::int64_t const n = 40960;
  auto const hx = drawn<float>(dextents<1>(n), 3), hy = drawn<float>(dextents<1>(n), 4);
  Array<float> const x = to<Gpu>(hx), y = to<Gpu>(hy);
  Array<float> z{dextents<1>(n)}, u{dextents<1>(n)};
  Array<float, 1, CpuDevice> want{dextents<1>(n)}, other{dextents<1>(n)};
  // maps of one space: both read x and y; they read nothing in common; each writes what the other reads
  auto const one_launch = [&](char const* label, auto&& f) {
    kernels_of(label, f);
    return ptx_counts::figure(label, "launches") == 1;
  };
  CHECK(one_launch("two maps", [&] { run(plan(into(z, x + y), into(u, x - 3.f * y))); }));
  want = hx + hy, other = hx - 3.f * hy;
  CHECK(same(z, want));
  CHECK(same(u, other));
  CHECK(one_launch("a swap", [&] { run(plan(into(z, u * 1.f), into(u, z * 1.f))); }));
  CHECK(same(u, want));
  CHECK(same(z, other));
  using Floats = Tensor<float, Extents<40960>, Gpu>;
  using Doubles = Tensor<double, Extents<40960>, Gpu>;
  Floats a(x), b;
  Doubles c(cast<double>(x)), d;
  CHECK(one_launch("unlike maps", [&] { run(plan(into(b, a + 1.f), into(d, c * 0.1))); }));
  want = hx + 1.f;
  Array<double, 1, CpuDevice> want_double{dextents<1>(n)};
  want_double = cast<double>(hx) * 0.1;
  CHECK(same(b, want));
  CHECK(same(d, want_double));
}
