// SPDX-License-Identifier: Apache-2.0
// Programs of CUDA as people write them: launches, calls, copies, streams, events, several cards, and errors.
#include <doctest/doctest.h>

#undef NDEBUG
#include <cassert>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

#include "ask.hpp"
#include "on_card.hpp"

namespace {

__global__ void saxpy(int n, float a, float const* x, float* y) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void sum(int n, float const* x, float* out) {
  __shared__ float part[32];
  float s = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    s += x[i];
  for (unsigned d = 16; d != 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
  for (unsigned d = 16; d != 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (threadIdx.x == 0) atomicAdd(out, s);
}
__host__ __device__ double turned(double v, int i) {
  switch (i % 6) {
  case 0: return v + exp(1.);
  case 1: return v * 2;
  case 2: return v - 7;
  case 3: return -v;
  case 4: return sqrt(fabs(v));
  default: return 1e6 * v;
  }
}
__noinline__ __host__ __device__ double deep(double x, int depth) {
  return depth == 0 ? x : deep(sin(x), depth - 1) + depth;
}
__global__ void functions(double* y, long long const* a, long long const* b, long long* q, int n) {
  int const i = static_cast<int>(threadIdx.x);
  if (i < n) y[i] = turned(deep(y[i], i % 4), i), q[i] = a[i] / b[i] * 1000 + a[i] % b[i];
}
__global__ void write_number(int* x, int value) { *x = value; }
__global__ void says(int* lengths) {
  lengths[threadIdx.x] = printf("%d of %s: %.2f %c|%5lld|%%\n", static_cast<int>(threadIdx.x),
                                "four", threadIdx.x * 0.5, 'a' + static_cast<int>(threadIdx.x),
                                -7ll * static_cast<int>(threadIdx.x));
}
__global__ void insists(int const* x) { assert(x[threadIdx.x] < 3); }
__global__ void keeps_lists(int* sums) {
  int const n = static_cast<int>(threadIdx.x) + 1;
  auto* const list = static_cast<int*>(malloc(sizeof(int) * static_cast<unsigned>(n)));
  for (int i = 0; i < n; ++i) list[i] = i * n;
  int s = 0;
  for (int i = 0; i < n; ++i) s += list[i];
  free(list);
  sums[threadIdx.x] = s;
}
__constant__ int table[4] = {3, 1, 4, 1};
__device__ int counter = 5;
__managed__ int shared_count = 40;
__managed__ float shared_row[8];
__global__ void writes_managed() {
  atomicAdd(&shared_count, 1);
  shared_row[threadIdx.x] += 2.f * threadIdx.x;
}
__global__ void symbols(int* out) { out[threadIdx.x] = table[threadIdx.x % 4] + counter; }

}  // namespace

TEST_CASE("saxpy and a sum by shuffles, shared memory and atomics") {
  int const n = 1 << 18;
  std::vector<float> x(n), y(n);
  double right = 0;
  for (int i = 0; i < n; ++i)
    x[i] = static_cast<float>(i % 17), y[i] = static_cast<float>(i % 5), right += 2.f * x[i] + y[i];
  on_card<float> dx(x), dy(y), ds(std::vector<float>{0});
  saxpy<<<(n + 255) / 256, 256>>>(n, 2.f, dx.p, dy.p);
  sum<<<16, 256>>>(n, dy.p, ds.p);
  auto const found = dy.values();
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += found[i] != 2.f * x[i] + y[i];
  CHECK(wrong == 0);
  CHECK(ds.values()[0] == doctest::Approx(right).epsilon(1e-6));
}
TEST_CASE("functions, recursion, a table of branches, division of 64 bits") {
  int const n = 100;
  std::vector<double> v(n);
  std::vector<long long> a(n), b(n);
  for (int i = 0; i < n; ++i)
    v[i] = i * 1e3 * i, a[i] = i * 1234567891011ll * (i % 2 ? -1 : 1),
    b[i] = i % 3 ? 7 - 2 * i : 77777777777ll;
  on_card<double> dv(v);
  on_card<long long> da(a), db(b), dq(n);
  functions<<<1, 128>>>(dv.p, da.p, db.p, dq.p, n);
  auto const found = dv.values();
  auto const q = dq.values();
  for (int i = 0; i < n; ++i) {
    CHECK(found[i] == doctest::Approx(turned(deep(v[i], i % 4), i)).epsilon(1e-12));
    CHECK(q[i] == a[i] / b[i] * 1000 + a[i] % b[i]);
  }
}
TEST_CASE("symbols") {
  on_card<int> out(4);
  symbols<<<1, 4>>>(out.p);
  CHECK(out.values() == std::vector<int>{8, 6, 9, 6});
  int const nine = 9;
  CHECK(cudaMemcpyToSymbol(counter, &nine, sizeof nine) == cudaSuccess);
  symbols<<<1, 4>>>(out.p);
  CHECK(out.values() == std::vector<int>{12, 10, 13, 10});
  int back = 0;
  CHECK(cudaMemcpyFromSymbol(&back, counter, sizeof back) == cudaSuccess);
  CHECK(back == 9);
}
TEST_CASE("managed variables: the host and a kernel use one place") {
  CHECK(shared_count == 40);  // before any kernel ran
  shared_row[7] = 1;
  writes_managed<<<1, 8>>>();
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(shared_count == 48);
  CHECK((shared_row[0] == 0 && shared_row[3] == 6 && shared_row[7] == 15));
  cudaPointerAttributes of;
  REQUIRE(cudaPointerGetAttributes(&of, &shared_count) == cudaSuccess);
  CHECK(of.type == cudaMemoryTypeManaged);
}
TEST_CASE("streams, events, cards") {
  int cards = 0;
  REQUIRE(cudaGetDeviceCount(&cards) == cudaSuccess);
  REQUIRE(cards == 4);
  CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  on_card<int> first(1);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  on_card<int> second(1);
  cudaPointerAttributes where;
  REQUIRE(cudaPointerGetAttributes(&where, second.p) == cudaSuccess);
  CHECK((where.type == cudaMemoryTypeDevice && where.device == 1));
  cudaStream_t one, two;
  REQUIRE(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking) == cudaSuccess);
  cudaEvent_t written;
  REQUIRE(cudaEventCreateWithFlags(&written, cudaEventDisableTiming) == cudaSuccess);
  write_number<<<1, 1, 0, one>>>(second.p, 42);
  REQUIRE(cudaEventRecord(written, one) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(two, written, 0) == cudaSuccess);
  REQUIRE(cudaMemcpyPeerAsync(first.p, 0, second.p, 1, sizeof(int), two) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(two) == cudaSuccess);
  CHECK(first.values()[0] == 42);
  CHECK(cudaEventDestroy(written) == cudaSuccess);
  CHECK(cudaStreamDestroy(one) == cudaSuccess);
  CHECK(cudaStreamDestroy(two) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}
TEST_CASE("calls that fail, and a kernel that ends the context") {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, std::size_t(1) << 46) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
  on_card<int> out(4);
  symbols<<<1, 2048>>>(out.p);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  symbols<<<1, 8>>>(out.p);  // four threads too many
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaMalloc(&p, 4) == cudaErrorIllegalAddress);  // it stays
  ptx_forget();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
TEST_CASE("printf, memory and assertions of device code") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file);
  on_card<int> lengths(4);
  std::fflush(stdout);
  int const out = dup(1);
  dup2(fileno(file), 1);
  says<<<1, 4>>>(lengths.p);
  cudaError_t const e = cudaDeviceSynchronize();
  std::fflush(stdout);
  dup2(out, 1), close(out);
  REQUIRE(e == cudaSuccess);
  std::rewind(file);
  auto const said = lengths.values();
  for (int i = 0; i < 4; ++i) {
    char expected[100], found[100] = "";
    std::snprintf(expected, sizeof expected, "%d of four: %.2f %c|%5d|%%\n", i, i * 0.5, 'a' + i,
                  -7 * i);
    REQUIRE(std::fgets(found, sizeof found, file));
    CHECK(std::string(found) == expected);
    CHECK(said[i] == static_cast<int>(std::string(found).size()));
  }
  std::fclose(file);
  on_card<int> sums(64);
  keeps_lists<<<1, 64>>>(sums.p);
  auto const found = sums.values();
  for (int i = 0; i < 64; ++i) CHECK(found[i] == (i + 1) * (i * (i + 1) / 2));
  on_card<int> x(std::vector<int>{0, 1, 2, 3});
  insists<<<1, 3>>>(x.p);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  insists<<<1, 4>>>(x.p);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  ptx_forget();
}
