// SPDX-License-Identifier: Apache-2.0
// Reproducible plans have the same bits on the host with any number of threads, on simulated GPUs and
// over the recorder. The reference is written here in plain loops, whose roundings are forced through
// memory; the file is compiled with and without optimisation and with contraction forced on.
#if !defined(LOCUS_CUDA_KERNELS)
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#endif
#include <locus/testing/recorder.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>
#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

namespace {

template <class T>
T rounded(T x) {
  T volatile memory = x;
  return memory;
}

/// means: the order of work/ordered_sum.hpp, written down once more; `halves` wrong: another tree
template <class T>
double reference_sum(std::vector<T> const& v, bool right = true) {
  std::vector<double> totals;
  for (std::size_t c = 0; c == 0 || c < v.size(); c += 4096) {
    std::vector<T> lane(256, T(0));
    for (std::size_t i = c; i < v.size() && i < c + 4096; ++i)
      lane[i % 256] = rounded(T(lane[i % 256] + v[i]));
    std::vector<double> wide(lane.begin(), lane.end());
    if (right)
      for (std::size_t half = 128; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) wide[l] = rounded(wide[l] + wide[l + half]);
    else
      for (std::size_t l = 1; l < 256; ++l) wide[0] = rounded(wide[0] + wide[l]);
    totals.push_back(wide[0]);
  }
  return totals.size() == 1 ? totals[0] : reference_sum(totals, right);
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}
/// means: t on the host has the elements of v, to the bit
template <class Tensor, class T>
bool same_bits(Tensor const& t, std::vector<T> const& v) {
  auto const host = to<CpuDevice>(t);
  return std::size_t(host.size()) == v.size() &&
         (v.empty() || std::memcmp(host.data(), v.data(), v.size() * sizeof(T)) == 0);
}
/// the elements on GPU:0; tensors end before the devices change, vectors stay
template <class T, class E>
auto gpu_tensor(std::vector<T> const& v, E extents) {
  Tensor<T, E> t(extents);
  if (!v.empty()) std::memcpy(t.data(), v.data(), v.size() * sizeof(T));
  return to<GpuDevice<0>>(t);
}
template <class T>
auto gpu_tensor(std::vector<T> const& v) {
  return gpu_tensor(v, dextents<1>{std::int64_t(v.size())});
}

/// body() on the host with several numbers of threads, on simulated GPUs and over the recorder
template <class Body>
void everywhere(Body const& body) {
  for (int threads : {1, 2, 3, 7}) {
    CAPTURE(threads);
    config::set_intra_op_parallelism_threads(threads);
    body();
  }
  config::set_intra_op_parallelism_threads(0);
  {
    INFO("simulated");
    testing::simulated_gpus const gpus(1);
    body();
  }
  {
    INFO("recorded");
    testing::recorder const cuda;
    body();
  }
}

template <class T>
std::vector<T> values(std::int64_t n, unsigned seed) {
  Tensor<T, Dextents<1>> const t(uniform<T>(dextents<1>{n}, locus::seed{seed}) * T(1000) - T(300));
  std::vector<T> v(t.data(), t.data() + n);
  for (std::size_t i = 0; i < v.size();
       ++i)  // of many magnitudes, so that each order rounds otherwise
    v[i] *= T(1 << i * 7 % 24) / T(1 << 12);
  return v;
}

template <class T>
void check_elements(std::int64_t n) {
  auto const a = values<T>(n, 1), b = values<T>(n, 2), c = values<T>(n, 3);
  std::vector<T> expected;
  for (std::size_t i = 0; i < a.size(); ++i) {
    T const p = rounded(T(a[i] * b[i])), q = rounded(T(p + c[i]));
    T const s = rounded(T(b[i] * b[i])), d = rounded(T(s + T(1)));
    T const f = sizeof(T) == 4 ? T(__builtin_fmaf(float(a[i]), float(b[i]), float(c[i])))
                               : T(__builtin_fma(a[i], b[i], c[i]));
    T const r = rounded(T(sizeof(T) == 4 ? __builtin_sqrtf(float(d)) : __builtin_sqrt(d)));
    T const u = rounded(T(q / r)), v = rounded(T(u - f));
    expected.push_back(q < f ? v : u);
  }
  everywhere([&] {
    auto const g = gpu_tensor(a), h = gpu_tensor(b), k = gpu_tensor(c);
    auto const q = g * h + k;
    auto const f = fma(g, h, k);
    auto const u = q / sqrt(square(h) + T(1));
    CHECK(same_bits(eval<reproducible<>>(where(q < f, u - f, u)), expected));
  });
}

template <class T>
void check_sums(std::int64_t n) {
  CAPTURE(n);
  auto const a = values<T>(n, 4), b = values<T>(n, 5);
  std::vector<T> products;
  for (std::size_t i = 0; i < a.size(); ++i) products.push_back(rounded(T(a[i] * b[i])));
  T const dot = T(reference_sum(products)), mean_of = T(reference_sum(a) / double(n));
  everywhere([&] {
    auto const g = gpu_tensor(a), h = gpu_tensor(b);
    CHECK(same_bits(fetch<reproducible<>>(sum(g * h)), dot));
    if (n > 0) CHECK(same_bits(fetch<reproducible<>>(mean(g)), mean_of));
  });
}

}  // namespace

TEST_CASE("element-wise results have the bits that IEEE 754 says, whatever is fused elsewhere") {
  check_elements<float>(1003);
  check_elements<double>(517);
}

TEST_CASE("sums have the same bits on every backend and for every number of threads") {
  for (std::int64_t n : {0, 1, 255, 257, 4096, 4097, 70001}) check_sums<float>(n);
  for (std::int64_t n : {100, 300, 4000, 9000, 40000}) check_sums<double>(n);
}

TEST_CASE("the order matters: another tree gives other bits") {
  int differ = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    auto const v = values<double>(40000, seed);
    differ += reference_sum(v) != reference_sum(v, false);
  }
  CHECK(differ >= 2);
}

TEST_CASE("sums along any axes follow the same order") {
  std::int64_t const m = 45, n = 300, k = 37;
  auto const x = values<float>(m * n * k, 6);
  auto at = [&](std::int64_t i, std::int64_t j, std::int64_t l) {
    return x[std::size_t((i * n + j) * k + l)];
  };
  std::vector<float> rows, columns, middle;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<float> v;
      for (std::int64_t l = 0; l < k; ++l) v.push_back(at(i, j, l));
      rows.push_back(float(reference_sum(v)));
    }
  for (std::int64_t l = 0; l < k; ++l) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) v.push_back(at(i, j, l));
    columns.push_back(float(reference_sum(v)));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t l = 0; l < k; ++l) v.push_back(at(i, j, l));
    middle.push_back(2 * float(reference_sum(v)));
  }
  everywhere([&] {
    auto const g = gpu_tensor(x, dextents<3>{m, n, k});
    auto const in_row_order = eval<reproducible<>>(sum<2>(g));
    CHECK(same_bits(reshape(in_row_order, dextents<1>{m * n}), rows));
    CHECK(same_bits(eval<reproducible<>>(sum<0, 1>(g)), columns));
    CHECK(same_bits(eval<reproducible<>>(sum<0, 2>(g) * 2.f), middle));
  });
}

TEST_CASE("values less their mean, two kernels") {
  auto const a = values<float>(9001, 7);
  float const m = float(reference_sum(a) / 9001.);
  std::vector<float> expected;
  for (float v : a) expected.push_back(rounded(v - m));
  everywhere([&] {
    auto const g = gpu_tensor(a);
    CHECK(same_bits(eval<reproducible<>>(g - mean(g)), expected));
  });
}

TEST_CASE_TEMPLATE("terms of a mean over replicas are rounded before they are added", T, float,
                   double) {
  testing::simulated_gpus const gpus(3, {.cards = 1});
  constexpr std::int64_t n = 1000;
  Tensor<T, Dextents<1>, GpuDevice<0>> a(uniform<T>(dextents<1>(n), seed{1}));
  Tensor<T, Dextents<1>, GpuDevice<1>> b(uniform<T>(dextents<1>(n), seed{2}));
  Tensor<T, Dextents<1>, GpuDevice<2>> c(uniform<T>(dextents<1>(n), seed{3}));
  auto const x = to<CpuDevice>(a), y = to<CpuDevice>(b), z = to<CpuDevice>(c);
  collective::all_reduce<collective::mean_prescaled>(a, b, c);
  auto const mean = to<CpuDevice>(a);
  T const third = T(1. / 3);
  int differ = 0;
  for (std::int64_t i = 0; i < n; ++i)
    differ += !same_bits(T(mean(i)), rounded(rounded(x(i) * third) + rounded(y(i) * third)) +
                                         rounded(z(i) * third));
  CHECK(differ == 0);
}
