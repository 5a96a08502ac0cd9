// SPDX-License-Identifier: Apache-2.0
// locus on one GPU beside copies, hand-written kernels, CUB and cuBLAS. Lines of JSON on stdout; 77
// where no GPU answers, 1 where anything fell back or gave other numbers.
#include "card.cuh"
// locus comes first
#include <cuda_fp16.h>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_transform.cuh>

#include <cstdint>
#include <string>

namespace {

// by name: half of these names are also CUB's and Thrust's
using bench::copy_of, bench::Gpu, bench::other_memory, bench::stream;
using locus::all_close, locus::cast, locus::Dextents, locus::equal, locus::Extents, locus::into,
    locus::max, locus::ones, locus::plan, locus::reshape, locus::run, locus::slice, locus::softmax,
    locus::square, locus::sum, locus::seed, locus::Tensor, locus::uniform, locus::zeros;

template <class T>
using Vector = Tensor<T, Dextents<1>, Gpu>;
using Matrix = Tensor<float, Dextents<2>, Gpu>;
using Number = Tensor<float, Extents<>, Gpu>;

/// y[i] = f(x[i], z[i]), 16 bytes a thread where addresses allow it
template <class T, class F>
__global__ void by_hand(T* y, T const* __restrict__ x, T const* __restrict__ z, std::int64_t n,
                        F f) {
  constexpr int vector = 16 / int(sizeof(T));
  struct alignas(16) pack_of {
    T v[vector];
  };
  std::int64_t const i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
  if ((i + 1) * vector <= n) {
    pack_of const a = reinterpret_cast<pack_of const*>(x)[i],
                  b = reinterpret_cast<pack_of const*>(z)[i];
    pack_of r;
#pragma unroll
    for (int j = 0; j < vector; ++j) r.v[j] = f(a.v[j], b.v[j]);
    reinterpret_cast<pack_of*>(y)[i] = r;
  } else
    for (std::int64_t k = i * vector; k < n; ++k) y[k] = f(x[k], z[k]);
}
template <class T, class F>
__global__ void one_by_one(T* y, T const* __restrict__ x, std::int64_t n, F f) {
  std::int64_t const i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}
__global__ void row_by_hand(float4* y, float4 const* __restrict__ x, float4 const* __restrict__ row,
                            int columns) {
  std::int64_t const at = std::int64_t(blockIdx.y) * columns + blockIdx.x * 256 + threadIdx.x;
  if (blockIdx.x * 256 + threadIdx.x >= unsigned(columns)) return;
  float4 const a = x[at], b = row[blockIdx.x * 256 + threadIdx.x];
  y[at] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
__global__ void nothing(float*) {}

struct triad_fn {
  template <class T>
  __host__ __device__ T operator()(T x, T z) const {
    return T(2.5f) * x + z;
  }
};
struct product_fn {
  template <class T>
  __host__ __device__ T operator()(T x, T z) const {
    return T(x * z);
  }
};
struct twice_fn {
  __host__ __device__ float operator()(float x) const { return 2 * x; }
};
unsigned blocks_of(std::int64_t n, std::int64_t each) {
  return unsigned((n + 256 * each - 1) / (256 * each));
}

template <class T, class Theirs, class Expression, class F>
void two_inputs(char const* what, std::int64_t n, Expression expression, F f) {
  Vector<T> y{Dextents<1>(n)}, x{Dextents<1>(n)}, z{Dextents<1>(n)}, w{Dextents<1>(n)};
  x = cast<T>(uniform<float>(Dextents<1>(n), seed{1}, 1.f, 3.f));
  z = cast<T>(uniform<float>(Dextents<1>(n), seed{2}, 1.f, 3.f));
  auto* const to = reinterpret_cast<Theirs*>(w.data());
  auto const* const a = reinterpret_cast<Theirs const*>(x.data());
  auto const* const b = reinterpret_cast<Theirs const*>(z.data());
  bench::group g{"GPU element-wise", what,
                 std::to_string(n * std::int64_t(sizeof(T)) >> 20) + " MiB"};
  g.bytes = 3. * double(n) * sizeof(T);
  g.add("locus", "locus", 0, [&] { y = expression(x, z); });
  g.add("by hand", "rival", 1.0,
        [=] { by_hand<<<blocks_of(n, 16 / sizeof(T)), 256, 0, stream>>>(to, a, b, n, f); });
  g.add("cub::DeviceTransform", "rival", 1.0, [=] {
    bench::must(
        cub::DeviceTransform::Transform(::cuda::std::make_tuple(a, b), to, int(n), f, stream),
        "CUB");
  });
  g.add("copy", "limit", 0.92, copy_of(g.bytes));
  bench::run(g, stream);
  bench::check(all_close(cast<float>(y), cast<float>(w), 2e-3, 0), what);
}

void maps() {
  for (std::int64_t n : {std::int64_t(1) << 28, std::int64_t(1) << 22}) {
    two_inputs<float, float>(
        "a x + z, fp32", n, [](auto& x, auto& z) { return 2.5f * x + z; }, triad_fn{});
    two_inputs<locus::half, __half>(
        "a x + z, fp16", n, [](auto& x, auto& z) { return locus::half(2.5f) * x + z; }, triad_fn{});
    two_inputs<std::int8_t, std::int8_t>(
        "x z, int8", n, [](auto& x, auto& z) { return x * z; }, product_fn{});
  }
  std::int64_t const n = std::int64_t(1) << 28, columns = 8192;
  Vector<float> x{Dextents<1>(n)}, y{Dextents<1>(n)}, w{Dextents<1>(n)};
  x = uniform<float>(Dextents<1>(n), seed{3});
  w = zeros<float>(Dextents<1>(n));
  {
    bench::group g{"GPU element-wise", "y[0, n-1) = 2 x[1, n), fp32", "1024 MiB"};
    g.bytes = 8. * double(n - 1);
    g.add("locus", "locus", 0, [&] { run(into(slice(y, {0, n - 1}), 2.f * slice(x, {1, n}))); });
    g.add("by hand, one by one", "rival", 1.0, [&] {
      one_by_one<<<blocks_of(n - 1, 1), 256, 0, stream>>>(w.data(), x.data() + 1, n - 1,
                                                          twice_fn{});
    });
    g.add("cub::DeviceTransform", "rival", 1.0, [&] {
      bench::must(
          cub::DeviceTransform::Transform(x.data() + 1, w.data(), int(n - 1), twice_fn{}, stream),
          "CUB");
    });
    g.add("copy", "limit", 0.92, copy_of(g.bytes));
    bench::run(g, stream);
    bench::check(equal(slice(y, {0, n - 1}), slice(w, {0, n - 1})), "unaligned");
  }
  Matrix m{Dextents<2>(n / columns, columns)}, to{Dextents<2>(n / columns, columns)};
  Vector<float> row{Dextents<1>(columns)};
  m = uniform<float>(Dextents<2>(n / columns, columns), seed{4}),
  row = uniform<float>(Dextents<1>(columns), seed{5});
  bench::group g{"GPU element-wise", "matrix + row, fp32", "1024 MiB"};
  g.bytes = 8. * double(n);
  g.add("locus", "locus", 0, [&] { to = m + row; });
  g.add("by hand", "rival", 1.0, [&] {
    row_by_hand<<<dim3(unsigned(columns / 1024), unsigned(n / columns)), 256, 0, stream>>>(
        reinterpret_cast<float4*>(w.data()), reinterpret_cast<float4 const*>(m.data()),
        reinterpret_cast<float4 const*>(row.data()), int(columns / 4));
  });
  g.add("copy", "limit", 0.92, copy_of(g.bytes));
  bench::run(g, stream);
  bench::check(equal(reshape(to, Dextents<1>(n)), w), "broadcast");
}

void folds() {
  std::int64_t const n = std::int64_t(1) << 28, columns = 4096;
  Vector<float> x{Dextents<1>(n)};
  x = uniform<float>(Dextents<1>(n), seed{6});
  Number a, b, c, theirs;
  std::size_t scratch = 0;
  bench::must(cub::DeviceReduce::Sum(nullptr, scratch, x.data(), theirs.data(), n, stream), "CUB");
  auto sum_by_cub = [&] {
    bench::must(cub::DeviceReduce::Sum(other_memory, scratch, x.data(), theirs.data(), n, stream),
                "CUB");
  };
  bench::group one{"GPU folds", "sum, fp32", "1024 MiB"};
  one.bytes = 4. * double(n);
  one.add("locus", "locus", 0, [&] { a = sum(x); });
  one.add("cub::DeviceReduce", "rival", 1.0, sum_by_cub);
  one.add("copy", "limit", 0.9, copy_of(one.bytes));
  bench::run(one, stream);
  bench::check(all_close(a, theirs, 1e-5, 0), "sum");

  Tensor<float, Extents<std::int64_t(1) << 28>, Gpu> s;
  s = uniform<float>(Extents<std::int64_t(1) << 28>{}, seed{6});
  bench::group three{"GPU folds", "sum, max and sum of squares of one array", "1024 MiB"};
  three.bytes = 4. * double(n);
  three.add("locus", "locus", 0,
            [&] { run(plan(into(a, sum(s)), into(b, max(s)), into(c, sum(square(s))))); });
  three.add("cub, three passes", "rival", 2.0, [&] {
    for (int k = 0; k < 3; ++k) sum_by_cub();
  });
  three.add("copy", "limit", 0.9, copy_of(three.bytes));
  bench::run(three, stream);
  Number most, squares;
  most = max(x), squares = sum(square(x));
  bench::check(all_close(a, theirs, 1e-5, 0) && equal(b, most) && all_close(c, squares, 1e-5, 0),
               "three folds");

  Matrix m{Dextents<2>(n / columns, columns)}, to{Dextents<2>(n / columns, columns)};
  m = uniform<float>(Dextents<2>(n / columns, columns), seed{7});
  Vector<float> rows{Dextents<1>(n / columns)}, sums{Dextents<1>(columns)};
  bench::group by_row{"GPU folds", "sums of rows of 4096, fp32", "1024 MiB"};
  by_row.bytes = 4. * double(n);
  by_row.add("locus", "locus", 0, [&] { rows = sum<1>(m); });
  by_row.add("copy", "limit", 0.9, copy_of(by_row.bytes));
  bench::run(by_row, stream);
  bench::group by_column{"GPU folds", "sums of 4096 columns, fp32", "1024 MiB"};
  by_column.bytes = 4. * double(n);
  by_column.add("locus", "locus", 0, [&] { sums = sum<0>(m); });
  by_column.add("copy", "limit", 0.9, copy_of(by_column.bytes));
  bench::run(by_column, stream);
  bench::check(all_close(sum(rows), sum(sums), 1e-5, 0), "sums of rows and of columns");
  bench::group soft{"GPU folds", "softmax of rows of 4096, fp32", "1024 MiB"};
  soft.bytes = 8. * double(n);
  soft.add("locus", "locus", 0, [&] { to = softmax<1>(m); });
  soft.add("copy", "limit", 0.9, copy_of(soft.bytes));
  bench::run(soft, stream);
  rows = sum<1>(to);
  bench::check(all_close(rows, ones<float>(Dextents<1>(n / columns)), 1e-5, 0), "softmax");
}

void products() {
  bench::product<float>("matmul, fp32", "cublasSgemm", 4096, 1e-4,
                        [](bench::cublas const& blas, void* handle, int k, float const* b,
                           float const* a, float* to) {
                          float const one = 1, zero = 0;
                          return blas.sgemm(handle, 0, 0, k, k, k, &one, b, k, a, k, &zero, to, k);
                        });
}

/// what the host pays for a statement beside a launch of the same number of arguments
void launches() {
  Vector<float> y{Dextents<1>(1024)}, x{Dextents<1>(1024)};
  x = zeros<float>(Dextents<1>(1024));
  bench::group g{"GPU launches", "host time of y = a x + b, 1024 floats", "1 launch"};
  g.by_host = true;
  g.add("locus", "locus", 0, [&] { y = 2.5f * x + 1.5f; });
  g.add("bare launch", "limit", 1 / 1.2, [&] { nothing<<<1, 256, 0, stream>>>(y.data()); });
  bench::run(g, stream);
}

}  // namespace

int main() {
  return bench::on_card([] { maps(), folds(), products(), launches(); });
}
