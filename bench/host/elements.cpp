// SPDX-License-Identifier: Apache-2.0
// Elements of 16 and of 8 bits: half, bfloat16 and int8 beside Eigen's types and hand-written loops.
#include <memory>

#include <bench/harness.hpp>
#include <bench/host/loops.hpp>

#if defined(__F16C__)
#include <immintrin.h>
#endif
#if BENCH_EIGEN
#include <Eigen/Core>
#endif

using namespace locus;

namespace {

template <class T>
using Vector = Tensor<T, Dextents<1>>;

template <class T>
std::shared_ptr<Vector<T>> random(std::int64_t n, unsigned seed) {
  if constexpr (is_floating_v<T>)
    return std::make_shared<Vector<T>>(uniform<T>(dextents<1>{n}, locus::seed{seed}));
  else
    return std::make_shared<Vector<T>>(iota<T>(dextents<1>{n}, T(seed)));
}

/// y = x + z of 16-bit integers: the same bytes, one instruction
void same_bytes(void* y, void const* x, void const* z, std::size_t bytes) {
  typedef std::uint16_t vector __attribute__((vector_size(loops::width)));
  for (std::size_t i = 0; i < bytes / sizeof(vector); ++i)
    static_cast<vector*>(y)[i] =
        static_cast<vector const*>(x)[i] + static_cast<vector const*>(z)[i];
}
#if defined(__F16C__)
/// y = a x + z of halves by the instructions for them
void half_triad(half* y, half const* x, half const* z, float a, std::size_t n) {
  __m256 const factor = _mm256_set1_ps(a);
  auto load = [](half const* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)));
  };
  for (std::size_t i = 0; i < n; i += 8)
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(y + i),
        _mm256_cvtps_ph(_mm256_add_ps(_mm256_mul_ps(factor, load(x + i)), load(z + i)), 0));
}
#endif
#if defined(__AVX512F__)
void half_triad_512(half* y, half const* x, half const* z, float a, std::size_t n) {
  __m512 const factor = _mm512_set1_ps(a);
  auto load = [](half const* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)));
  };
  for (std::size_t i = 0; i < n; i += 16)
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(y + i),
        _mm512_cvtps_ph(_mm512_add_ps(_mm512_mul_ps(factor, load(x + i)), load(z + i)), 0));
}
#endif

#if BENCH_EIGEN
template <class T>
struct eigen_type {
  using type = T;
};
template <>
struct eigen_type<half> {
  using type = Eigen::half;
};
template <>
struct eigen_type<bfloat16> {
  using type = Eigen::bfloat16;
};
template <class T>
auto array(T* p, std::int64_t n) {
  using E = typename eigen_type<T>::type;
  return Eigen::Map<Eigen::Array<E, Eigen::Dynamic, 1>>(reinterpret_cast<E*>(p), n);
}
#endif

template <class T>
void add_groups(char const* name) {
  for (bench::level const l : bench::levels) {
    std::int64_t const n = l.bytes / std::int64_t(sizeof(T));
    auto const bytes = static_cast<double>(l.bytes);
    auto const whole = static_cast<std::size_t>(l.bytes);
    bench::add("elements", std::string(name) + ": y = 2.5 x + z", l.name, [=](bench::group& g) {
      auto const x = random<T>(n, 1), y = random<T>(n, 2), z = random<T>(n, 3);
      g.bytes(3 * bytes);
      auto const a = T(is_floating_v<T> ? 2.5f : 2.f);
      g.locus([=] { *y = a * *x + *z; });
#if BENCH_EIGEN  // seconds for a large array
      if (l.bytes < (1 << 20))
        g.rival("Eigen", 0.97, [=] {
          using E = typename eigen_type<T>::type;
          array(y->data(), n) = E(a) * array(x->data(), n) + array(z->data(), n);
        });
#endif
#if defined(__F16C__)
      if constexpr (std::is_same_v<T, half>)
        g.rival("loop, 8 at once", 0, [=] {
          half_triad(y->data(), x->data(), z->data(), a, static_cast<std::size_t>(n));
        });
#endif
#if defined(__AVX512F__)
      if constexpr (std::is_same_v<T, half>)
        g.rival("loop, 16 at once", 0.97, [=] {
          half_triad_512(y->data(), x->data(), z->data(), a, static_cast<std::size_t>(n));
        });
#endif
      g.limit("the same bytes", 0, [=] { same_bytes(y->data(), x->data(), z->data(), whole); });
    });
    bench::add("elements", std::string(name) + ": sum(x)", l.name, [=](bench::group& g) {
      auto const x = random<T>(n, 1);
      g.bytes(bytes);
      g.locus([=] {
        auto const s = fetch(on<CpuDevice>(sum(*x)));
        benchmark::DoNotOptimize(s);
      });
#if BENCH_EIGEN
      if (l.bytes < (1 << 20))
        g.rival("Eigen", 0.95, [=] {
          using Sum = std::conditional_t<is_floating_v<T>, float, std::int64_t>;
          auto const s = array(x->data(), n).template cast<Sum>().sum();
          benchmark::DoNotOptimize(s);
        });
#endif
    });
  }
}
template <class T>
void add_products(char const* name) {
  bench::add("elements", std::string(name) + ": a b", "512 x 512", [](bench::group& g) {
    using Matrix = Tensor<T, Extents<512, 512>>;
    Extents<512, 512> const e{};
    auto const a = std::make_shared<Matrix>(uniform<T>(e, seed{1})),
               b = std::make_shared<Matrix>(uniform<T>(e, seed{2})),
               c = std::make_shared<Matrix>(uniform<T>(e, seed{3}));
    using Floats = Tensor<float, Extents<512, 512>>;
    auto const fa = std::make_shared<Floats>(uniform<float>(e, seed{1})),
               fb = std::make_shared<Floats>(uniform<float>(e, seed{2})),
               fc = std::make_shared<Floats>(uniform<float>(e, seed{3}));
    g.operations(2. * 512 * 512 * 512);
    g.locus([=] { *c = matmul(*a, *b); });
    g.limit("the product of floats", 0, [=] { *fc = matmul(*fa, *fb); });
  });
}

bench::file const groups([] {
  add_groups<half>("half");
  add_groups<bfloat16>("bfloat16");
  add_groups<std::int8_t>("int8");
  add_products<half>("half");
  add_products<bfloat16>("bfloat16");
});

}  // namespace
