// SPDX-License-Identifier: Apache-2.0
// What a training step is made of, on one GPU, beside copies, CUB and cuBLAS; bench/gpu/peers.py adds PyTorch,
// whose convolutions are cuDNN's. Results of large images are too in locus, where cuDNN is found, beside products of
// cuBLAS. Lines of JSON on stdout; 77 where no GPU answers, 1 where anything fell back
// or gave other numbers.
#include "card.cuh"
// locus comes first
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv2d_ops.hpp>
#include <locus/nn/layers/embedding_ops.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/nn/optimizers/optimizer.hpp>
#include <locus/nn/optimizers/update.hpp>
#include <locus/thrust.hpp>

namespace {

// by name: half of these names are also CUB's and Thrust's
using bench::copy_of, bench::Gpu, bench::other_memory, bench::stream;
using locus::all_close, locus::argmax, locus::call, locus::cast, locus::Dextents, locus::equal,
    locus::Extents, locus::into, locus::normal, locus::plan, locus::result, locus::run, locus::seed,
    locus::sum, locus::Tensor, locus::transpose, locus::uniform, locus::with_thrust;
namespace nn = locus::nn;

using count = std::int64_t;
template <int Rank, class T = float>
using On = Tensor<T, Dextents<Rank>, Gpu>;

constexpr count n = count(1) << 26;  // 256 MiB of floats

On<1> numbers(count elements, unsigned number, float least = 0.f, float most = 1.f) {
  On<1> x{Dextents<1>(elements)};
  x = uniform<float>(Dextents<1>(elements), seed(number), least, most);
  return x;
}
/// locus, whoever else does it, and a copy of as many bytes
template <class F, class... Rivals>
void measure(char const* table, char const* what, double bytes, F f, Rivals&&... rivals) {
  bench::group g{table, what, "256 MiB"};
  g.bytes = bytes;
  g.add("locus", "locus", 0, f);
  (rivals(g), ...);
  g.add("copy", "limit", 0.8, copy_of(bytes));
  bench::run(g, stream);
}
/// an algorithm of CUB, asked for its workspace once
template <class F>
auto cub_rival(char const* name, F f) {
  return [name, f](bench::group& g) {
    std::size_t bytes = 0;
    bench::must(f(nullptr, bytes), name);
    char* const workspace = other_memory + (std::size_t(3) << 30);
    bench::check(bytes < std::size_t(1) << 30, name);
    g.add(name, "rival", 1.0, [=] {
      std::size_t size = bytes;
      bench::must(f(workspace, size), name);
    });
  };
}

struct row_begin {
  count columns;
  __host__ __device__ count operator()(count row) const { return row * columns; }
};
void rows_and_places() {
  for (count const columns : {64, 1000}) {
    count const rows = n / columns;
    On<2> m{Dextents<2>(rows, columns)};
    m = uniform<float>(Dextents<2>(rows, columns), seed{1});
    On<1> sums{Dextents<1>(rows)}, theirs{Dextents<1>(rows)};
    auto const begins =
        thrust::make_transform_iterator(thrust::counting_iterator<count>(0), row_begin{columns});
    float const* const from = m.data();
    float* const to = theirs.data();
    std::string const what = "sums of rows of " + std::to_string(columns) + ", fp32";
    measure(
        "GPU folds", what.c_str(), 4. * double(n), [&] { sums = sum<1>(m); },
        cub_rival("cub::DeviceSegmentedReduce", [=](void* w, std::size_t& bytes) {
          return cub::DeviceSegmentedReduce::Sum(w, bytes, from, to, rows, begins, begins + 1,
                                                 stream);
        }));
    bench::check(all_close(sums, theirs, 1e-5, 0), what.c_str());
  }
  On<1> const x = numbers(n, 2);
  Tensor<count, Extents<>, Gpu> place, index;
  On<1> most{Dextents<1>(1)};
  measure(
      "GPU folds", "argmax, fp32", 4. * double(n), [&] { place = argmax(x); },
      cub_rival("cub::DeviceReduce::ArgMax",
                [&, i = index.data(), v = most.data()](void* w, std::size_t& bytes) {
                  return cub::DeviceReduce::ArgMax(w, bytes, x.data(), v, i, n, stream);
                }));
  bench::check(equal(place, index), "argmax");
  On<1> sorted = numbers(n, 3), unsorted = numbers(n, 3), by_cub{Dextents<1>(n)};
  measure(
      "GPU algorithms", "sort, fp32", 8. * double(n),
      [&] {
        with_thrust(sorted, [](auto policy, auto first, auto last) { sort(policy, first, last); });
      },
      cub_rival("cub::DeviceRadixSort",
                [&, from = unsorted.data(), to = by_cub.data()](void* w, std::size_t& bytes) {
                  return cub::DeviceRadixSort::SortKeys(w, bytes, from, to, n, 0, 32, stream);
                }));
  bench::check(equal(sorted, by_cub), "sort");
}
void numbers_and_copies() {
  On<1> x{Dextents<1>(n)};
  measure("GPU element-wise", "uniform, fp32", 4. * double(n),
          [&] { x = uniform<float>(Dextents<1>(n), seed{7}, -1.f, 1.f); });
  measure("GPU element-wise", "normal, fp32", 4. * double(n),
          [&] { x = normal<float>(Dextents<1>(n), seed{9}); });
  count const side = 8192;
  On<2> m{Dextents<2>(side, side)}, to{Dextents<2>(side, side)};
  m = uniform<float>(Dextents<2>(side, side), seed{4});
  measure("GPU element-wise", "transpose, fp32", 8. * double(n), [&] { to = transpose(m); });
  bench::check(equal(transpose(to), m), "transpose");
}
void training() {
  {
    On<1> w = numbers(n, 1), kept[2] = {numbers(n, 2), numbers(n, 3)};
    On<1> const g = numbers(n, 4);
    nn::adam_rule<float> const rule = nn::detail::adam_of<float>(nn::Adam{}, nn::step_state{});
    measure("GPU training", "Adam, fp32", 28. * double(n),
            [&] { run(nn::update_plan<false>(rule, w, kept, std::make_index_sequence<2>{}, g)); });
  }
  {
    count const c = 64, batch = n / (1024 * c);
    On<4> image{Dextents<4>(batch, 32, 32, c)};
    image = uniform<float>(Dextents<4>(batch, 32, 32, c), seed{3});
    On<1> const mean = numbers(c, 1), variance = numbers(c, 2, 1.f, 2.f);
    On<1> a{Dextents<1>(c)}, b{Dextents<1>(c)};
    On<2> statistics{Dextents<2>(batch, 2 * c)};
    measure("GPU training", "batch statistics of 64 channels, fp32", 4. * double(n), [&] {
      auto const s = call(nn::batch_moments_op{}, image, mean, variance);
      run(plan(into(statistics, result<0>(s)), into(a, result<1>(s)), into(b, result<2>(s))));
    });
  }
  {
    count const rows = 65536, classes = 1000;
    On<2> logits{Dextents<2>(rows, classes)}, d{Dextents<2>(rows, classes)};
    logits = uniform<float>(Dextents<2>(rows, classes), seed{3}, -3.f, 3.f);
    On<1, std::int32_t> target{Dextents<1>(rows)};
    target = cast<std::int32_t>(uniform<float>(Dextents<1>(rows), seed{3}, 0.f, 999.f));
    Tensor<double, Dextents<2>, Gpu> values{Dextents<2>(rows, 1)};
    nn::SparseCategoricalCrossentropy const loss{nn::from_logits};
    using op = nn::detail::score_op<std::remove_const_t<decltype(loss)>,
                                    nn::detail::weights_of::none, false>;
    measure("GPU training", "cross-entropy of 1000 classes and its gradient, fp32",
            8. * double(rows * classes), [&] {
              auto const s = call(op{loss, {}}, logits, target);
              run(plan(into(d, result<0>(s)), into(values, result<1>(s))));
            });
  }
}
/// the same convolutions, without cuDNN
struct ProductConv2d : nn::conv2d_op {
  template <class T>
  void card(locus::card_context& here, locus::tile<T> y, locus::tile<T const> x,
            locus::tile<T const> w, locus::tile<T const> b) const {
    nn::cards::conv2d(here, nn::cards::window_slabs<T>(window.over(x)), y.data, x.data, w.data,
                      {b.data, false, T(0), T(0)});
  }
};
struct ProductKernelGradient : nn::conv2d_kernel_gradient_op {
  template <class T>
  void card(locus::card_context& here, locus::tile<T> dw, locus::tile<T const> x,
            locus::tile<T const> dy) const {
    nn::conv_geometry const g = window.over(x);
    nn::cards::conv_kernel_gradient<T>(
        here, nn::cards::window_slabs<T>(g), dw.data, nullptr, x.data,
        [&](count first, count) { return dy.data + first * g.filters; });
  }
};
/// a rival where cuDNN is found: otherwise locus does this itself
template <class F>
auto without_cudnn(F f) {
  return [f](bench::group& g) {
    if (locus::cuda_side::cudnn_table::instance().complete)
      g.add("locus by products of cuBLAS", "rival", 0, f);
  };
}
void layers() {
  {
    nn::conv_window window{{3, 1, 1}, {3, 1, 1}, nn::padding::same};
    count const c = 16, filters = 32, batch = 512;
    window.filters = filters;
    On<4> image{Dextents<4>(batch, 32, 32, c)}, to{Dextents<4>(batch, 32, 32, filters)};
    image = uniform<float>(Dextents<4>(batch, 32, 32, c), seed{3});
    On<1> const k = numbers(9 * c * filters, 5), bias = numbers(filters, 5);
    On<1> dk{Dextents<1>(9 * c * filters)};
    double const touched = 4. * double(batch * 1024 * (c + filters));
    measure(
        "GPU training", "conv2d 3 x 3, 16 to 32, fp32", touched,
        [&] { to = call(nn::conv2d_op{window, true}, image, k, bias); },
        without_cudnn([&] { to = call(ProductConv2d{{window, true}}, image, k, bias); }));
    measure(
        "GPU training", "conv2d 3 x 3, 16 to 32, gradient of its kernel, fp32", touched,
        [&] { dk = call(nn::conv2d_kernel_gradient_op{window}, image, to); },
        without_cudnn([&] { dk = call(ProductKernelGradient{{window}}, image, to); }));
  }
  {
    count const width = 256, words = 5000, lines = n / (256 * width);
    On<2, std::int32_t> tokens{Dextents<2>(lines, 256)};
    tokens = cast<std::int32_t>(uniform<float>(Dextents<2>(lines, 256), seed{3}, 0.f, 4999.f));
    On<1> const table = numbers(words * width, 5);
    On<3> to{Dextents<3>(lines, 256, width)};
    measure("GPU training", "embedding of 256 numbers, fp32", 8. * double(n),
            [&] { to = call(nn::embedding_op{width}, tokens, table); });
  }
}
/// beside cuBLAS' entry point that takes types, as locus calls it
template <class T>
void typed_product(char const* what, int type, count side, double tolerance) {
  using bench::cublas;
  bench::product<T>(what, "cublasGemmEx", side, tolerance,
                    [type](cublas const& blas, void* handle, int k, T const* b, T const* a, T* to) {
                      constexpr bool wide = sizeof(T) == 8;
                      std::conditional_t<wide, double, float> const one = 1, zero = 0;
                      return blas.gemm_of(handle, 0, 0, k, k, k, &one, b, type, k, a, type, k,
                                          &zero, to, type, k,
                                          wide ? cublas::compute_double : cublas::compute_float,
                                          cublas::any_algorithm);
                    });
}
void products() {
  using bench::cublas;
  typed_product<locus::half>("matmul, fp16", cublas::real_half, 8192, 2e-2);
  typed_product<locus::bfloat16>("matmul, bf16", cublas::real_bfloat16, 8192, 2e-2);
  typed_product<double>("matmul, fp64", cublas::real_double, 4096, 1e-12);
}

}  // namespace

int main() {
  return bench::on_card(
      [] { numbers_and_copies(), rows_and_places(), training(), layers(), products(); });
}
