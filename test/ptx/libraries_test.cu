// SPDX-License-Identifier: Apache-2.0
// The stand-ins for cuBLAS and NCCL by themselves: numbers, codes, the order of streams, and each misuse planted.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "ask.hpp"
#include "count.hpp"
#include "on_card.hpp"

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
