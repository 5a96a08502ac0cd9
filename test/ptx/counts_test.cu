// SPDX-License-Identifier: Apache-2.0
// Counts of CUDA kernels for which they are known by hand, as nvcc compiles them.
#include <doctest/doctest.h>

#include "access.cuh"
#include "count.hpp"

namespace {
using ptx_counts::figure;
using ptx_counts::measure;

int const n = 1 << 16, side = 256;

struct numbers {
  float* p = nullptr;
  explicit numbers(int count) {
    REQUIRE(cudaMalloc(&p, std::size_t(count) * 4) == cudaSuccess);
    REQUIRE(cudaMemset(p, 0, std::size_t(count) * 4) == cudaSuccess);
  }
  numbers(numbers const&) = delete;
  ~numbers() { cudaFree(p); }
};
void all_are(char const* label, std::initializer_list<std::pair<char const*, double>> expected) {
  CAPTURE(std::string(label));
  for (auto const& one : expected) {
    CAPTURE(std::string(one.first));
    CHECK(figure(label, one.first) == one.second);
  }
}
}  // namespace

TEST_CASE("copies of 1 to 16 bytes a lane") {
  numbers x(n), y(n);
  measure("1", [&] { copy_one<<<n / 256, 256>>>((char*)y.p, (char const*)x.p, n); });
  measure("4", [&] { copy_one<<<n / 256, 256>>>(y.p, x.p, n); });
  measure("16", [&] { copy_one<<<n / 1024, 256>>>((float4*)y.p, (float4 const*)x.p, n / 4); });
  all_are("1", {{"load_1", n / 32}, {"load_ratio", 1}, {"store_ratio", 1}, {"bytes_in_flight", 1}});
  all_are("4", {{"load_4", n / 32},
                {"store_4", n / 32},
                {"load_sectors", n / 8},
                {"store_whole", n / 8},
                {"waits", n / 32},
                {"bytes_in_flight", 4},
                {"divergent", 0},
                {"launches", 1},
                {"blocks", n / 256}});
  all_are("16", {{"load_16", n / 128},
                 {"store_16", n / 128},
                 {"load_ratio", 1},
                 {"store_ratio", 1},
                 {"load_unique_bytes", 4 * n},
                 {"waits", n / 128},
                 {"bytes_in_flight", 16}});
  CHECK(figure("16", "issue_slots") < figure("4", "issue_slots"));
  CHECK_THROWS_AS(figure("16", "load_sector"), std::invalid_argument);
}
TEST_CASE("strides, an offset") {
  numbers x(n + 1), y(n);
  measure("stride 2", [&] { copy_strided<<<n / 512, 256>>>(y.p, x.p, n, 2); });
  measure("stride 32", [&] { copy_strided<<<n / 32 / 256, 256>>>(y.p, x.p, n, 32); });
  measure("offset 1", [&] { copy_one<<<n / 256, 256>>>(y.p, x.p + 1, n); });
  all_are("stride 2", {{"load_ratio", 2}, {"store_ratio", 2}, {"store_partial", n / 8}});
  all_are("stride 32", {{"load_ratio", 8}, {"store_ratio", 8}, {"load_lines", n / 32}});
  all_are("offset 1", {{"load_sectors", 5 * n / 32},
                       {"load_misses", 33 * n / 256},  // of a block of 8 warps
                       {"load_unique", n / 8 + 1},
                       {"store_ratio", 1}});
}
TEST_CASE("transposes: naive, tiled, padded") {
  numbers x(n), y(n);
  dim3 const tiles(side / 32, side / 32), wide(32, 8);
  measure("naive", [&] { transpose_naive<<<tiles, dim3(32, 32)>>>(x.p, y.p, side); });
  measure("tiled", [&] { transpose_tiled<0><<<tiles, wide>>>(x.p, y.p, side); });
  measure("padded", [&] { transpose_tiled<1><<<tiles, wide>>>(x.p, y.p, side); });
  all_are("naive", {{"load_ratio", 1}, {"store_ratio", 8}, {"shared_requests", 0}});
  // stores take one turn, loads 32
  all_are("tiled", {{"load_ratio", 1},
                    {"store_ratio", 1},
                    {"shared_requests", 2 * n / 32},
                    {"shared_wavefronts", n / 32 * 33},
                    {"conflict_ratio", 16.5}});
  all_are("padded", {{"store_ratio", 1},
                     {"shared_wavefronts", 2 * n / 32},
                     {"conflict_ratio", 1},
                     {"warp_barrier", n / 128}});
}
TEST_CASE("a sum: shuffles, lanes that part, turns of a loop") {
  numbers x(n), y(64);
  measure("sum", [&] { sum_loop<int4><<<16, 256>>>((int const*)x.p, (int*)y.p, n); });
  all_are("sum", {{"load_unique_bytes", 4 * n},
                  {"load_16", n / 128},
                  {"store_requests", 16},
                  {"store_bytes", 64},
                  {"warp_shuffle", 16 * (8 * 5 + 5)},
                  {"warp_barrier", 16 * 8}});
}
TEST_CASE("atomics, copies by the host, labels, what is not measured") {
  numbers x(n), y(n);
  measure("atomics", [&] { add_one<<<n / 256, 256>>>((int*)x.p, 0); });
  measure("places", [&] { add_one<<<n / 256, 256>>>((int*)x.p, 1); });
  all_are("atomics", {{"atomic_sectors", n / 32}, {"load_requests", 0}, {"store_requests", 0}});
  all_are("places", {{"atomic_requests", n / 32}, {"atomic_sectors", n / 8}});
  measure("host", [&] { cudaMemcpy(y.p, x.p, n, cudaMemcpyDefault), cudaMemset(y.p, 0, 12); });
  all_are("host", {{"copies", 2}, {"copied_bytes", n + 12}, {"launches", 0}});
  add_one<<<1, 32>>>((int*)x.p, 0);
  CHECK(figure("", "atomic_requests") == 2 * n / 32);
  measure("places", [&] { add_one<<<1, 32>>>((int*)x.p, 1); });
  CHECK(figure("places", "launches") == 2);
  ptx_counts::forget();
  CHECK(figure("", "launches") == 0);
  cudaStream_t s;
  REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
  measure("late", [&] { add_one<<<1, 32, 0, s>>>((int*)x.p, 1); });  // it may run later
  measure("later", [&] { add_one<<<2, 32, 0, s>>>((int*)x.p, 1); });
  CHECK(figure("late", "blocks") == 1);
  CHECK(figure("later", "blocks") == 2);
  CHECK(cudaStreamDestroy(s) == cudaSuccess);
}
