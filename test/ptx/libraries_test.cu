// SPDX-License-Identifier: Apache-2.0
// The stand-ins for cuBLAS and NCCL by themselves: numbers, codes, the order of streams, and each misuse planted.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include <locus/backend/cuda/real_cublas.hpp>

#include "ask.hpp"
#include "count.hpp"
#include "on_card.hpp"

// locus and the stand-ins write NVIDIA's numbers down: here they stand beside the toolkit's headers
namespace {
using blas_numbers = locus::cuda_side::cublas_table;
using light = locus::cuda_side::cublaslt_table;
using light_answer = locus::cuda_side::cublaslt_answer;
static_assert(light::transpose_a == CUBLASLT_MATMUL_DESC_TRANSA &&
              light::transpose_b == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(light::epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              light::row_pointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(light::adds_row == CUBLASLT_EPILOGUE_BIAS &&
              light::adds_row_then_relu == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(light::most_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              light::reductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(light::alignment_a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              light::alignment_d == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(light::sums_as_computed == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(light::invalid_value == CUBLAS_STATUS_INVALID_VALUE &&
              light::not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(sizeof(light_answer) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              sizeof(light_answer::algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(offsetof(light_answer, workspace_bytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(light_answer, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(blas_numbers::real_half == CUDA_R_16F && blas_numbers::real_bfloat16 == CUDA_R_16BF &&
              blas_numbers::real_float == CUDA_R_32F && blas_numbers::real_double == CUDA_R_64F);
static_assert(blas_numbers::compute_float == CUBLAS_COMPUTE_32F &&
              blas_numbers::compute_double == CUBLAS_COMPUTE_64F &&
              blas_numbers::compute_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
}  // namespace

namespace {

template <class F>
F* of_library(char const* library, char const* name) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  bool found = handle != nullptr;
  REQUIRE(found);
  auto* const f = reinterpret_cast<F*>(dlsym(handle, name));
  found = f != nullptr;
  REQUIRE(found);
  return f;
}
struct blas {
  int (*create)(void**) = of_library<int(void**)>("libcublas.so.13", "cublasCreate_v2");
  int (*destroy)(void*) = of_library<int(void*)>("libcublas.so.13", "cublasDestroy_v2");
  int (*set_stream)(void*, void*) = of_library<int(void*, void*)>("libcublas.so.13",
                                                                  "cublasSetStream_v2");
  int (*set_math_mode)(void*, int) = of_library<int(void*, int)>("libcublas.so.13",
                                                                 "cublasSetMathMode");
  int (*set_workspace)(void*, void*, std::size_t) =
      of_library<int(void*, void*, std::size_t)>("libcublas.so.13", "cublasSetWorkspace_v2");
  int (*batch)(void*, int, int, int, int, int, void const*, void const*, int, int, long long,
               void const*, int, int, long long, void const*, void*, int, int, long long, int, int,
               int) =
      of_library<int(void*, int, int, int, int, int, void const*, void const*, int, int, long long,
                     void const*, int, int, long long, void const*, void*, int, int, long long, int,
                     int, int)>("libcublas.so.13", "cublasGemmStridedBatchedEx");
  int (*gemm)(void*, int, int, int, int, int, void const*, void const*, int, int, void const*, int,
              int, void const*, void*, int, int, int, int) =
      of_library<int(void*, int, int, int, int, int, void const*, void const*, int, int,
                     void const*, int, int, void const*, void*, int, int, int, int)>(
          "libcublas.so.13", "cublasGemmEx");
  void* handle = nullptr;
  blas() { REQUIRE(create(&handle) == 0); }
  ~blas() { CHECK(destroy(handle) == 0); }
};
template <class T>
double number(T v) {
  if constexpr (std::is_same_v<T, __half>)
    return __half2float(v);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __bfloat162float(v);
  else
    return double(v);
}
template <class T>
T as(double v) {
  if constexpr (std::is_same_v<T, __half>)
    return __double2half(v);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __double2bfloat16(v);
  else
    return T(v);
}
struct kind {
  int type, sums;
};
template <class T>
constexpr kind kind_of = std::is_same_v<T, double>   ? kind{1, 70}
                         : std::is_same_v<T, float>  ? kind{0, 68}
                         : std::is_same_v<T, __half> ? kind{2, 68}
                                                     : kind{14, 68};
template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<T> v(n);
  for (T& e : v) e = as<T>(double(bits() % 2001) / 1000 - 1);
  return v;
}
/// how much more there is to find than a moment ago
std::int64_t new_findings(std::function<void()> const& f) {
  std::int64_t const before = ptx_figure("ptx_findings");
  f();
  return ptx_figure("ptx_findings") - before;
}

}  // namespace

TEST_CASE_TEMPLATE("products of each type, transposed, in batches, with alpha and beta", T, float,
                   double, __half, __nv_bfloat16) {
  blas b;
  REQUIRE(b.set_math_mode(b.handle, 16) == 0);
  double const unit = std::is_same_v<T, double>   ? 1e-14
                      : std::is_same_v<T, float>  ? 1e-6
                      : std::is_same_v<T, __half> ? 1e-3
                                                  : 8e-3;
  int const m = 7, n = 5, k = 9, batch = 3, lda = 11, ldb = 13, ldc = 8;
  for (int ta : {0, 1})
    for (int tb : {0, 1}) {
      CAPTURE(ta);
      CAPTURE(tb);
      long long const as_ = 200, bs = 150, cs = 50;
      auto const a = random_values<T>(600, 1), x = random_values<T>(450, 2),
                 before = random_values<T>(150, 3);
      on_card<T> da(a), dx(x), dc(before);
      double const alpha = 2, beta = 0.5;
      float const alpha_float = 2, beta_float = 0.5;
      bool const wide = std::is_same_v<T, double>;
      void const *pa = wide ? static_cast<void const*>(&alpha) : &alpha_float,
                 *pb = wide ? static_cast<void const*>(&beta) : &beta_float;
      auto const [type, sums] = kind_of<T>;
      REQUIRE(b.batch(b.handle, ta, tb, m, n, k, pa, da.p, type, lda, as_, dx.p, type, ldb, bs, pb,
                      dc.p, type, ldc, cs, batch, sums, -1) == 0);
      auto const c = dc.values();
      for (int e = 0; e < batch; ++e)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < ldc; ++i) {
            std::size_t const at = std::size_t(e * cs + j * ldc + i);
            if (i >= m) {
              CHECK(std::memcmp(&c[at], &before[at], sizeof(T)) == 0);
              continue;
            }
            double sum = 0;
            for (int l = 0; l < k; ++l)
              sum += number(a[std::size_t(e * as_ + (ta ? l + i * lda : i + l * lda))]) *
                     number(x[std::size_t(e * bs + (tb ? j + l * ldb : l + j * ldb))]);
            CHECK(number(c[at]) ==
                  doctest::Approx(alpha * sum + beta * number(before[at])).epsilon(unit * 4));
          }
    }
}
TEST_CASE("what cuBLAS refuses") {
  blas b;
  on_card<float> a(std::vector<float>(64)), c(64);
  float const one = 1, zero = 0;
  auto const gemm = [&](void* h, int m, int n, int k, int lda, int ldb, int ldc, int type = 0,
                        int sums = 68, void const* alpha = nullptr, void const* at = nullptr) {
    return b.gemm(h, 0, 1, m, n, k, alpha ? alpha : &one, at ? at : a.p, type, lda, a.p, type, ldb,
                  &zero, c.p, type, ldc, sums, -1);
  };
  CHECK(gemm(b.handle, 4, 4, 4, 4, 4, 4) == 0);
  CHECK(gemm(nullptr, 4, 4, 4, 4, 4, 4) == 1);
  CHECK(gemm(b.handle, -1, 4, 4, 4, 4, 4) == 7);
  CHECK(gemm(b.handle, 4, 4, 4, 3, 4, 4) == 7);
  CHECK(gemm(b.handle, 4, 4, 4, 4, 3, 4) == 7);
  CHECK(gemm(b.handle, 4, 4, 4, 4, 4, 3) == 7);
  CHECK(gemm(b.handle, 0, 4, 4, 1, 4, 1) == 0);
  CHECK(gemm(b.handle, 4, 4, 4, 4, 4, 4, 0, 70) == 15);
  CHECK(gemm(b.handle, 4, 4, 4, 4, 4, 4, 2, 77) == 15);
  CHECK(b.gemm(b.handle, 0, 0, 4, 4, 4, &one, nullptr, 0, 4, a.p, 0, 4, &zero, c.p, 0, 4, 68, -1) ==
        7);
  CHECK(b.gemm(b.handle, 0, 0, 4, 4, 4, nullptr, a.p, 0, 4, a.p, 0, 4, &zero, c.p, 0, 4, 68, -1) ==
        7);
  CHECK(b.gemm(b.handle, 2, 0, 4, 4, 4, &one, a.p, 0, 4, a.p, 0, 4, &zero, c.p, 0, 4, 68, -1) == 7);
  CHECK(b.set_math_mode(b.handle, 1 << 20) == 7);
  CHECK(b.set_workspace(b.handle, c.p, 256) == 0);
  CHECK(b.set_workspace(b.handle, nullptr, 256) == 7);
  CHECK(b.destroy(&b) == 1);
  ptx_fail("cublasGemmEx", 1, 14);
  CHECK(gemm(b.handle, 4, 4, 4, 4, 4, 4) == 14);
  CHECK(gemm(b.handle, 4, 4, 4, 4, 4, 4) == 0);
}
TEST_CASE("a product that leaves its memory, or reads what nobody wrote") {
  blas b;
  on_card<float> a(std::vector<float>(64)), c(64), fresh(64);
  float const one = 1, zero = 0;
  auto const gemm = [&](void const* at, int n) {
    CHECK(b.gemm(b.handle, 0, 0, 8, n, 8, &one, at, 0, 8, a.p, 0, 8, &zero, c.p, 0, 8, 68, -1) ==
          0);
    return cudaDeviceSynchronize();
  };
  CHECK(gemm(a.p, 8) == cudaSuccess);
  CHECK(new_findings([&] { CHECK(gemm(fresh.p, 8) == cudaSuccess); }) > 0);
  ptx_forget();
  CHECK(gemm(a.p, 9) == cudaErrorIllegalAddress);
  ptx_forget();
  CHECK(gemm(a.p + 1, 8) == cudaErrorIllegalAddress);
  ptx_forget();
}
TEST_CASE("a product is counted by its sizes, and reads what it adds to") {
  blas b;
  on_card<float> a(std::vector<float>(48)), c(std::vector<float>(48));
  float const one = 1, zero = 0;
  ptx_counts::only_measured();
  ptx_counts::measure("product", [&] {
    CHECK(b.gemm(b.handle, 0, 0, 2, 3, 4, &one, a.p, 0, 2, a.p, 0, 4, &zero, c.p, 0, 2, 68, -1) ==
          0);
  });
  ptx_counts::measure("batch that adds", [&] {
    CHECK(b.batch(b.handle, 0, 0, 2, 3, 4, &one, a.p, 0, 2, 8, a.p, 0, 4, 12, &one, c.p, 0, 2, 6, 2,
                  68, -1) == 0);
  });
  CHECK(ptx_counts::figure("product", "library_work") == 1);
  CHECK(ptx_counts::figure("product", "multiplications") == 24);
  CHECK(ptx_counts::figure("product", "library_bytes") == 4 * (8 + 12 + 6));
  CHECK(ptx_counts::figure("batch that adds", "library_work") == 1);
  CHECK(ptx_counts::figure("batch that adds", "multiplications") == 48);
  CHECK(ptx_counts::figure("batch that adds", "library_bytes") == 2 * 4 * (8 + 12 + 2 * 6));
}
namespace {
/// One product with a row by cuBLASLt, which is found through cuBLAS: c = a x, column-major, of m rows.
template <class T>
struct light_product {
  template <class F>
  static F* take(char const* name) {
    return of_library<F>("libcublas.so.13", name);
  }
  int (*make_product)(void**, int, int) = take<int(void**, int, int)>("cublasLtMatmulDescCreate");
  int (*end_product)(void*) = take<int(void*)>("cublasLtMatmulDescDestroy");
  int (*set_product)(void*, int, void const*, std::size_t) =
      take<int(void*, int, void const*, std::size_t)>("cublasLtMatmulDescSetAttribute");
  int (*make_layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) =
      take<int(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>(
          "cublasLtMatrixLayoutCreate");
  int (*end_layout)(void*) = take<int(void*)>("cublasLtMatrixLayoutDestroy");
  int (*make_preference)(void**) = take<int(void**)>("cublasLtMatmulPreferenceCreate");
  int (*end_preference)(void*) = take<int(void*)>("cublasLtMatmulPreferenceDestroy");
  int (*set_preference)(void*, int, void const*, std::size_t) =
      take<int(void*, int, void const*, std::size_t)>("cublasLtMatmulPreferenceSetAttribute");
  int (*ask)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*) =
      take<int(void*, void*, void*, void*, void*, void*, void*, int, void*, int*)>(
          "cublasLtMatmulAlgoGetHeuristic");
  int (*multiply)(void*, void*, void const*, void const*, void*, void const*, void*, void const*,
                  void const*, void*, void*, void*, void const*, void*, std::size_t, void*) =
      take<int(void*, void*, void const*, void const*, void*, void const*, void*, void const*,
               void const*, void*, void*, void*, void const*, void*, std::size_t, void*)>(
          "cublasLtMatmul");
  struct answer {
    std::uint64_t algorithm[8];
    std::size_t workspace;
    int status;
    float waves;
    int reserved[4];
  };

  blas b;
  int m, n, k;
  int sums = kind_of<T>.sums;
  int epilogue = 4, transposes = 0, wanted = 1;
  unsigned alignment = 16, reductions = 2;
  std::size_t bytes = 0, given = 0;
  void* workspace = nullptr;
  void* product = nullptr;
  void *a_layout = nullptr, *x_layout = nullptr, *c_layout = nullptr;
  void* stream = nullptr;
  answer found{};

  light_product(int rows, int columns, int deep) : m(rows), n(columns), k(deep) {}
  ~light_product() {
    if (product) CHECK(end_product(product) == 0);
    for (void* l : {a_layout, x_layout, c_layout})
      if (l) CHECK(end_layout(l) == 0);
  }
  int prepare(void const* row, int leading = 0) {
    auto const [type, unused] = kind_of<T>;
    if (int const code = make_product(&product, sums, std::is_same_v<T, double> ? 1 : 0))
      return code;
    unsigned const what = unsigned(epilogue);
    REQUIRE(set_product(product, 7, &what, 4) == 0);
    REQUIRE(set_product(product, 8, &row, 8) == 0);
    REQUIRE(set_product(product, 3, &transposes, 4) == 0);
    REQUIRE(make_layout(&a_layout, type, transposes ? k : m, transposes ? m : k,
                        leading ? leading : (transposes ? k : m)) == 0);
    REQUIRE(make_layout(&x_layout, type, k, n, k) == 0);
    REQUIRE(make_layout(&c_layout, type, m, n, m) == 0);
    void* preference = nullptr;
    REQUIRE(make_preference(&preference) == 0);
    REQUIRE(set_preference(preference, 1, &bytes, 8) == 0);
    REQUIRE(set_preference(preference, 3, &reductions, 4) == 0);
    for (int p = 5; p <= 8; ++p) REQUIRE(set_preference(preference, p, &alignment, 4) == 0);
    int count = 0;
    int const code = ask(b.handle, product, a_layout, x_layout, c_layout, c_layout, preference,
                         wanted, &found, &count);
    CHECK(end_preference(preference) == 0);
    CHECK((code != 0 || (count == 1 && found.status == 0)));
    return code;
  }
  int run(T const* a, T const* x, T* c) {
    std::conditional_t<std::is_same_v<T, double>, double, float> const one = 1, zero = 0;
    return multiply(b.handle, product, &one, a, a_layout, x, x_layout, &zero, c, c_layout, c,
                    c_layout, found.algorithm, workspace, given, stream);
  }
};
}  // namespace

TEST_CASE_TEMPLATE("products with a row and a relu by cuBLASLt", T, float, double, __half,
                   __nv_bfloat16) {
  double const unit = std::is_same_v<T, double>   ? 1e-14
                      : std::is_same_v<T, float>  ? 1e-6
                      : std::is_same_v<T, __half> ? 1e-3
                                                  : 8e-3;
  int const m = 8, n = 5, k = 16;
  auto const a = random_values<T>(m * k, 1), x = random_values<T>(k * n, 2),
             row = random_values<T>(m, 3);
  on_card<T> da(a), dx(x), dr(row), dc(m * n);
  for (int epilogue : {1, 2, 4, 6})
    for (int turned : {0, 1}) {
      CAPTURE(epilogue);
      light_product<T> l(m, n, k);
      l.epilogue = epilogue, l.transposes = turned;
      REQUIRE(l.prepare(dr.p) == 0);
      REQUIRE(l.run(da.p, dx.p, dc.p) == 0);
      auto const c = dc.values();
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
          double sum = epilogue & 4 ? number(row[std::size_t(i)]) : 0;
          for (int e = 0; e < k; ++e)
            sum += number(a[std::size_t(turned ? e + i * k : i + e * m)]) *
                   number(x[std::size_t(e + j * k)]);
          if ((epilogue & 2) && sum < 0) sum = 0;
          CHECK(std::fabs(number(c[std::size_t(i + j * m)]) - sum) <= unit * 16);
        }
    }
}
TEST_CASE("what cuBLASLt refuses") {
  on_card<float> a(std::vector<float>(4096)), r(std::vector<float>(64)), c(4096);
  auto const code = [&](auto&& change, int leading = 0) {
    light_product<float> l(8, 8, 8);
    change(l);
    return l.prepare(r.p, leading);
  };
  CHECK(code([](auto&) {}) == 0);
  CHECK(code([](auto& l) { l.sums = 70; }) == 15);       // doubles of floats
  CHECK(code([](auto& l) { l.epilogue = 128; }) == 15);  // none that locus uses
  CHECK(code([](auto& l) { l.wanted = 0; }) == 7);
  CHECK(code([](auto&) {}, 7) == 7);
  {
    light_product<float> l(8, 8, 8);
    CHECK(l.prepare(nullptr) == 7);  // no row
  }
  ptx_fail("cublasLtMatmulAlgoGetHeuristic", 1, 15);
  CHECK(code([](auto&) {}) == 15);
  light_product<float> l(8, 8, 8);
  REQUIRE(l.prepare(r.p) == 0);
  CHECK(l.run(a.p, a.p, c.p) == 0);
  CHECK(l.run(a.p + 1, a.p, c.p) == 7);  // less than the alignment that was asked for
  ptx_fail("cublasLtMatmul", 1, 14);
  CHECK(l.run(a.p, a.p, c.p) == 14);
  l.found.algorithm[1] ^= 1;  // an algorithm of another shape
  CHECK(l.run(a.p, a.p, c.p) == 7);
  // a deep product takes workspace, where there is some
  light_product<float> deep(8, 8, 128);
  deep.bytes = 1024;
  REQUIRE(deep.prepare(r.p) == 0);
  CHECK(deep.found.workspace == 512);
  CHECK(deep.run(a.p, a.p, c.p) == 7);
  on_card<float> parts(256);
  deep.workspace = parts.p, deep.given = 256;
  CHECK(deep.run(a.p, a.p, c.p) == 7);
  deep.given = 1024;
  CHECK(deep.run(a.p, a.p, c.p) == 0);
  light_product<float> poor(8, 8, 128);
  REQUIRE(poor.prepare(r.p) == 0);
  CHECK(poor.found.workspace == 0);
  CHECK(poor.run(a.p, a.p, c.p) == 0);
  // a row that ends before its matrix does
  on_card<float> few(std::vector<float>(4));
  light_product<float> wrong(8, 8, 8);
  REQUIRE(wrong.prepare(few.p) == 0);
  CHECK(wrong.run(a.p, a.p, c.p) == 0);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  ptx_forget();
}
TEST_CASE("sums of halves in parts keep their type, where that is asked for") {
  std::vector<__half> numbers(512 * 8, as<__half>(1.)), zeros(8, as<__half>(0.));
  for (int e = 0; e < 512; ++e) numbers[std::size_t(e)] = as<__half>(e ? 1. / 64 : 2048);
  on_card<__half> a(numbers), r(zeros), c(64);
  for (unsigned const reductions : {2u, 7u}) {
    light_product<__half> l(8, 8, 512);
    l.reductions = reductions, l.transposes = 1;
    REQUIRE(l.prepare(r.p) == 0);
    REQUIRE(l.run(a.p, a.p, c.p) == 0);
    // 2048 + 511 / 64; a part of one is lost beside 2048 among halves
    CHECK(number(c.values()[8]) == (reductions == 2 ? 2056 : 2048));
  }
}
TEST_CASE("a product with a row is counted by its sizes, and waits for its stream") {
  on_card<float> a(std::vector<float>(64)), r(std::vector<float>(8)), c(64);
  light_product<float> l(8, 4, 8);
  REQUIRE(l.prepare(r.p) == 0);
  ptx_counts::measure("product and row", [&] { CHECK(l.run(a.p, a.p, c.p) == 0); });
  CHECK(ptx_counts::figure("product and row", "library_work") == 1);
  CHECK(ptx_counts::figure("product and row", "multiplications") == 8 * 4 * 8);
  CHECK(ptx_counts::figure("product and row", "library_bytes") == 4 * (64 + 32 + 32 + 8));
  cudaStream_t s = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
  l.stream = s;
  std::vector<float> const numbers(64, 2.f), rows(8, 3.f);
  REQUIRE(cudaMemcpyAsync(a.p, numbers.data(), 256, cudaMemcpyDefault, s) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(r.p, rows.data(), 32, cudaMemcpyDefault, s) == cudaSuccess);
  CHECK(l.run(a.p, a.p, c.p) == 0);
  float back[32];
  REQUIRE(cudaMemcpyAsync(back, c.p, sizeof back, cudaMemcpyDefault, s) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(s) == cudaSuccess);
  CHECK((back[0] == 35 && back[31] == 35));
  CHECK(cudaStreamDestroy(s) == cudaSuccess);
}
TEST_CASE("products come in the order of their stream") {
  blas b;
  cudaStream_t s = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(b.set_stream(b.handle, s) == 0);
  on_card<float> a(std::vector<float>(4)), c(std::vector<float>(4)), d(std::vector<float>(4));
  std::vector<float> const numbers{1, 2, 3, 4};
  REQUIRE(cudaMemcpyAsync(a.p, numbers.data(), 16, cudaMemcpyDefault, s) == cudaSuccess);
  float const one = 1, zero = 0;
  auto const gemm = [&](float const* x, float* to) {
    return b.gemm(b.handle, 0, 0, 2, 2, 2, &one, x, 0, 2, x, 0, 2, &zero, to, 0, 2, 68, -1);
  };
  CHECK(gemm(a.p, c.p) == 0);
  CHECK(gemm(c.p, d.p) == 0);
  float back[4];
  REQUIRE(cudaMemcpyAsync(back, d.p, sizeof back, cudaMemcpyDefault, s) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(s) == cudaSuccess);
  CHECK((back[0] == 199 && back[1] == 290 && back[2] == 435 && back[3] == 634));
  CHECK(cudaStreamDestroy(s) == cudaSuccess);
  CHECK(b.set_stream(b.handle, s) == 7);
}
TEST_CASE("two threads with one handle, and a handle away from its card") {
  blas b;
  on_card<float> a(std::vector<float>(4)), c(4);
  float const one = 1, zero = 0;
  cudaStream_t s[2];
  for (auto& each : s)
    REQUIRE(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking) == cudaSuccess);
  auto const gemm = [&] {
    CHECK(b.gemm(b.handle, 0, 0, 2, 2, 2, &one, a.p, 0, 2, a.p, 0, 2, &zero, c.p, 0, 2, 68, -1) ==
          0);
  };
  CHECK(new_findings([&] {
          CHECK(b.set_stream(b.handle, s[0]) == 0);
          gemm();
          std::thread([&] {
            CHECK(b.set_stream(b.handle, s[1]) == 0);
            gemm();
          }).join();
        }) == 0);  // one after the other
  CHECK(new_findings([&] {
          CHECK(b.set_stream(b.handle, s[0]) == 0);
          std::thread([&] { CHECK(b.set_stream(b.handle, s[1]) == 0); }).join();
          gemm();
        }) > 0);
  CHECK(b.set_stream(b.handle, s[0]) == 0);
  CHECK(new_findings([&] {
          REQUIRE(cudaSetDevice(1) == cudaSuccess);
          gemm();
          REQUIRE(cudaSetDevice(0) == cudaSuccess);
        }) > 0);
  for (auto each : s) CHECK(cudaStreamDestroy(each) == cudaSuccess);
  ptx_forget();
}
TEST_CASE("halves that are added as halves, where that is not forbidden") {
  int const k = 1024;
  std::vector<__half> x(k, as<__half>(1)), y(k, as<__half>(1.0 / 512 + 1));
  on_card<__half> a(x), d(y), c(1);
  float const one = 1, zero = 0;
  double right = 0;
  for (__half const& v : y) right += number(v);
  auto const found = [&](int mode) {
    blas b;
    REQUIRE(b.set_math_mode(b.handle, mode) == 0);
    REQUIRE(b.gemm(b.handle, 0, 0, 1, 1, k, &one, a.p, 2, 1, d.p, 2, k, &zero, c.p, 2, 1, 68, -1) ==
            0);
    return number(c.values()[0]);
  };
  CHECK(std::fabs(found(16) - right) <= 0.5);
  CHECK(std::fabs(found(0) - right) > 0.5);
}
TEST_CASE("NCCL: all ranks meet on their streams; what differs among them is refused") {
  struct id {
    char bytes[128];
  } one;
  auto* const start = of_library<int()>("libnccl.so.2", "ncclGroupStart");
  auto* const end = of_library<int()>("libnccl.so.2", "ncclGroupEnd");
  auto* const init =
      of_library<int(void**, int, id, int, void*)>("libnccl.so.2", "ncclCommInitRankConfig");
  auto* const state = of_library<int(void*, int*)>("libnccl.so.2", "ncclCommGetAsyncError");
  auto* const all_reduce = of_library<int(void const*, void*, std::size_t, int, int, void*, void*)>(
      "libnccl.so.2", "ncclAllReduce");
  auto* const destroy = of_library<int(void*)>("libnccl.so.2", "ncclCommDestroy");
  REQUIRE(of_library<int(id*)>("libnccl.so.2", "ncclGetUniqueId")(&one) == 0);
  void* ranks[2];
  float* data[2];
  cudaStream_t s[2];
  REQUIRE(start() == 0);
  for (int r = 0; r < 2; ++r) {
    REQUIRE(cudaSetDevice(r) == cudaSuccess);
    REQUIRE(init(&ranks[r], 2, one, r, nullptr) == 0);
    REQUIRE(cudaMalloc(&data[r], 16) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&s[r], cudaStreamNonBlocking) == cudaSuccess);
  }
  (void)end();
  for (void* const r : ranks)
    for (int now = 7; now == 7;) REQUIRE(state(r, &now) == 0);
  auto const sums = [&](std::size_t second, int from = 0) {
    REQUIRE(start() == 0);
    for (int r = 0; r < 2; ++r) {
      std::vector<float> const mine{float(r + 1), 10, 100, 1000};
      REQUIRE(cudaMemcpyAsync(data[r], mine.data(), 16, cudaMemcpyDefault, s[r]) == cudaSuccess);
      (void)all_reduce(data[r ^ from], data[r ^ from], r ? second : 4, 7, 0, ranks[r], s[r]);
    }
    return end();
  };
  CHECK(sums(4) == 0);
  for (int r = 0; r < 2; ++r) {
    float back[4];
    REQUIRE(cudaMemcpyAsync(back, data[r], 16, cudaMemcpyDefault, s[r]) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(s[r]) == cudaSuccess);
    CHECK((back[0] == 3 && back[1] == 20 && back[3] == 2000));
  }
  CHECK(sums(3) == 5);  // another count: the real one hangs
  ptx_fail("ncclGroupEnd", 1, 1);
  CHECK(sums(4) == 1);
  for (int r = 0; r < 2; ++r) {
    REQUIRE(cudaSetDevice(r) == cudaSuccess);
    CHECK(destroy(ranks[r]) == 0);
    CHECK(cudaStreamDestroy(s[r]) == cudaSuccess);
    CHECK(cudaFree(data[r]) == cudaSuccess);
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}
__global__ void nothing() {}
TEST_CASE("a launch, for the count of launches") {
  nothing<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
