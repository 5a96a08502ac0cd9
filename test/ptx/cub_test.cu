// SPDX-License-Identifier: Apache-2.0
// Kernels of CUB and Thrust beside the standard library.
#include <cub/cub.cuh>

#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {
struct triad {
  __host__ __device__ float operator()(float a, float b) const { return a + 3 * b; }
};
/// the two calls that an algorithm of CUB needs
template <class F>
void with_storage(F&& f) {
  std::size_t bytes = 0;
  REQUIRE(f(nullptr, bytes) == cudaSuccess);
  thrust::device_vector<char> room(bytes);
  REQUIRE(f(thrust::raw_pointer_cast(room.data()), bytes) == cudaSuccess);
}
template <class T>
std::vector<T> values(thrust::device_vector<T> const& v) {
  std::vector<T> r(v.size());
  thrust::copy(v.begin(), v.end(), r.begin());
  return r;
}
template <class T>
T* at(thrust::device_vector<T>& v) {
  return thrust::raw_pointer_cast(v.data());
}
}  // namespace

TEST_CASE("reduce, scan, sort, transform") {
  std::mt19937 random(1);
  for (int n : {1, 31, 1000, 4097, 60000}) {
    CAPTURE(n);
    std::vector<int> a(n), right(n), ids(n);
    for (int& v : a) v = static_cast<int>(random() % 50);  // floats add them up exactly
    thrust::device_vector<int> in(a.begin(), a.end()), out(n), one(1);
    with_storage(
        [&](void* p, std::size_t& b) { return cub::DeviceReduce::Sum(p, b, at(in), at(one), n); });
    CHECK(one[0] == std::accumulate(a.begin(), a.end(), 0));
    with_storage(
        [&](void* p, std::size_t& b) { return cub::DeviceReduce::Max(p, b, at(in), at(one), n); });
    CHECK(one[0] == *std::max_element(a.begin(), a.end()));
    with_storage([&](void* p, std::size_t& b) {
      return cub::DeviceScan::InclusiveSum(p, b, at(in), at(out), n);
    });
    std::partial_sum(a.begin(), a.end(), right.begin());
    CHECK(values(out) == right);
    std::vector<unsigned> keys(n);
    for (unsigned& v : keys) v = static_cast<unsigned>(random());
    std::iota(ids.begin(), ids.end(), 0);
    thrust::device_vector<unsigned> from(keys.begin(), keys.end()), to(n);
    thrust::device_vector<int> numbers(ids.begin(), ids.end()), moved(n);
    with_storage([&](void* p, std::size_t& b) {
      return cub::DeviceRadixSort::SortPairs(p, b, at(from), at(to), at(numbers), at(moved), n);
    });
    std::stable_sort(ids.begin(), ids.end(), [&](int x, int y) { return keys[x] < keys[y]; });
    CHECK(values(moved) == ids);
    thrust::device_vector<float> t(a.begin(), a.end());
    CHECK(thrust::reduce(t.begin(), t.end()) ==
          static_cast<float>(std::accumulate(a.begin(), a.end(), 0)));
    thrust::sort(t.begin(), t.end());
    auto const sorted = values(t);
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
    thrust::device_vector<float> x(a.begin(), a.end()), y(right.begin(), right.end()), z(n);
    REQUIRE(cub::DeviceTransform::Transform(cuda::std::make_tuple(at(x), at(y)), at(z), n,
                                            triad()) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    auto const found = values(z);
    int wrong = 0;
    for (int i = 0; i < n; ++i)
      wrong += found[i] != static_cast<float>(a[i]) + 3 * static_cast<float>(right[i]);
    CHECK(wrong == 0);
  }
}
TEST_CASE("a graph of CUB's kernels") {
  int const n = 40000;
  thrust::device_vector<int> x(n), sum(1);
  cudaStream_t s;
  REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
  std::size_t bytes = 0;
  REQUIRE(cub::DeviceReduce::Sum(nullptr, bytes, at(x), at(sum), n, s) == cudaSuccess);
  thrust::device_vector<char> room(bytes);
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cub::DeviceReduce::Sum(at(room), bytes, at(x), at(sum), n, s) == cudaSuccess);
  cudaGraph_t graph;
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  cudaGraphExec_t ready;
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  for (int each : {1, 3}) {
    thrust::fill(x.begin(), x.end(), each);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(cudaGraphLaunch(ready, s) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(s) == cudaSuccess);
    CHECK(sum[0] == each * n);
  }
  CHECK(cudaGraphExecDestroy(ready) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(s) == cudaSuccess);
}
