// SPDX-License-Identifier: Apache-2.0
// families [ELEMENTS [LABEL]]: a statement of each family of kernels (or those whose label begins so), once under its
// label; prints the label, the bytes of its largest tensor, and the bytes that it must read and write. ELEMENTS (2^17)
// is about how many numbers a statement touches. PTX_COUNTS=file has the counts: tools/check_budgets.py holds them to
// budgets.txt, model/families.py says how long they take.
#include <locus/cuda.cuh>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <locus/nn/layers/batch_norm.hpp>
#include <locus/nn/layers/conv2d_ops.hpp>
#include <locus/nn/layers/embedding_ops.hpp>
#include <locus/nn/layers/pool2d_ops.hpp>
#include <locus/nn/losses/objective.hpp>
#include <locus/nn/optimizers/optimizer.hpp>
#include <locus/nn/optimizers/update.hpp>

#if !defined(FAMILIES_ARE_TIMED)  // bench/gpu/families.cu
#include "count.hpp"
#endif

namespace {
using namespace locus;
using Gpu = GpuDevice<0>;
using count = std::int64_t;
template <int Rank, class T = float>
using On = Tensor<T, Dextents<Rank>, Gpu>;

count n = count(1) << 17;
std::string only;

/// touched: numbers that are read or written, each once
template <class F>
void family(char const* label, count largest, count touched, F&& f) {
  if (std::string(label).rfind(only, 0) != 0) return;
  ptx_counts::measure(label, f);
  std::printf("%s\t%lld\t%lld\n", label, static_cast<long long>(largest) * 4,
              static_cast<long long>(touched) * 4);
}
On<1> numbers(count elements, unsigned number, float least = 0.f, float most = 1.f) {
  On<1> x{Dextents<1>(elements)};
  x = uniform<float>(Dextents<1>(elements), seed(number), least, most);
  return x;
}
On<2> matrix(count rows, count columns) {
  On<2> m{Dextents<2>(rows, columns)};
  m = uniform<float>(Dextents<2>(rows, columns), seed(4));
  return m;
}

void maps_and_copies() {
  On<1> x = numbers(n, 1), y = numbers(n, 2), z{Dextents<1>(n)};
  Tensor<float, Extents<>, Gpu> one;
  family("uniform", n, n, [&] { x = uniform<float>(Dextents<1>(n), seed(7), -1.f, 1.f); });
  family("normal", n, n, [&] { y = normal<float>(Dextents<1>(n), seed(9)); });
  family("2 x + y", n, 3 * n, [&] { z = 2.f * x + y; });
  family("slice copy, aligned", n / 2, n,
         [&] { run(into(slice(z, {0, n / 2}), slice(x, {n / 2, n}))); });
  family("slice 2 x[1,n)", n, 2 * n,
         [&] { run(into(slice(z, {0, n - 1}), 2.f * slice(x, {1, n}))); });
  family("sum", n, n, [&] { one = sum(x); });
  family("dropout", n, 2 * n, [&] {  // as the layer has it
    z = where(uniform<float>(x.extents(), seed(7)) >= 0.25f, x * (1 / 0.75f), 0.f);
  });
}
void rows_and_columns(count columns, bool with_maps) {
  count const rows = n / columns;
  On<2> const m = matrix(rows, columns);
  On<2> to{Dextents<2>(rows, columns)};
  On<1> const row = numbers(columns, 5);
  On<1> of_rows{Dextents<1>(rows)}, of_columns{Dextents<1>(columns)};
  Tensor<float, Extents<>, Gpu> one;
  auto const named = [&](char const* what, count touched, auto&& f) {
    char label[40];
    std::snprintf(label, sizeof label, "%s %d", what, static_cast<int>(columns));
    family(label, n, touched, f);
  };
  named("row sums", n, [&] { of_rows = sum<1>(m); });
  if (columns >= 64) named("softmax rows", 2 * n, [&] { to = softmax(m); });
  {  // tall enough for as many parts as a fold of columns may have
    On<2> tall{Dextents<2>(8 * rows, columns)};
    tall = full<float>(tall.extents(), 1.f);
    char label[40];
    std::snprintf(label, sizeof label, "column sums %d", static_cast<int>(columns));
    family(label, 8 * n, 8 * n, [&] { of_columns = sum<0>(tall); });
  }
  if (!with_maps) return;
  family("matrix + row", n, 2 * n, [&] { to = m + row; });
  family("sum of matrix * row", n, n, [&] { one = sum(m * row); });
  family("slice of columns", n, 2 * rows * 1000,
         [&] { run(into(slice(to, all_of, {0, 1000}), slice(m, all_of, {3000, 4000}))); });
}
void transposes() {
  count const side = count(1) << (std::bit_width(std::uint64_t(n)) - 1) / 2;
  On<2> const m = matrix(side, side);
  On<2> to{Dextents<2>(side, side)};
  family("transposed operand", side * side, 2 * side * side, [&] { to = m + transpose(m); });
  family("transpose", side * side, 2 * side * side, [&] { to = transpose(m); });
}
void training() {
  {
    On<1> w = numbers(n, 1), kept[2] = {numbers(n, 2), numbers(n, 3)}, g = numbers(n, 4);
    nn::adam_rule<float> const rule = nn::detail::adam_of<float>(nn::Adam{}, nn::step_state{});
    family("Adam", n, 7 * n,
           [&] { run(nn::update_plan<false>(rule, w, kept, std::make_index_sequence<2>{}, g)); });
  }
  {
    // sixteen times the others: a block of the columns reads a thousand rows in a large batch, and one
    // of eight times fewer rows costs more for each
    count const c = 64, batch = std::max<count>(1, n >> 12);
    On<4> image{Dextents<4>(batch, 32, 32, c)};
    image = uniform<float>(Dextents<4>(batch, 32, 32, c), seed(3));
    On<1> const mean = numbers(c, 1), variance = numbers(c, 2, 1.f, 2.f);
    On<1> a{Dextents<1>(c)}, b{Dextents<1>(c)};
    On<2> statistics{Dextents<2>(batch, 2 * c)};
    family("batch statistics", batch * 1024 * c, batch * 1024 * c, [&] {
      auto const s = call(nn::batch_moments_op{}, image, mean, variance);
      run(plan(into(statistics, result<0>(s)), into(a, result<1>(s)), into(b, result<2>(s))));
    });
  }
  {
    count const c = 64, batch = std::max<count>(1, n >> 16), size = batch * 1024 * c;
    Dextents<4> const all(batch, 32, 32, c);
    On<4> x{all}, dy{all}, to{all};
    x = uniform<float>(all, seed(3)), dy = uniform<float>(all, seed(4));
    On<2> statistics{Dextents<2>(batch, 2 * c)}, sums{Dextents<2>(batch, 2 * c)};
    statistics = uniform<float>(Dextents<2>(batch, 2 * c), seed(5), 0.5f, 1.f);
    sums = uniform<float>(Dextents<2>(batch, 2 * c), seed(6));
    On<1> const gamma = numbers(c, 1), beta = numbers(c, 2);
    family("batch norm", size, 2 * size,
           [&] { to = call(nn::batch_norm_op{}, x, statistics, gamma, beta); });
    family("batch norm gradient", size, 3 * size,
           [&] { to = call(nn::batch_norm_gradient_op{}, x, dy, statistics, sums, gamma, beta); });
  }
  {
    count const rows = n / 4096, classes = 1000;
    On<2> logits{Dextents<2>(rows, classes)}, d{Dextents<2>(rows, classes)};
    logits = uniform<float>(Dextents<2>(rows, classes), seed(3), -3.f, 3.f);
    On<1, std::int32_t> target{Dextents<1>(rows)};
    target = cast<std::int32_t>(uniform<float>(Dextents<1>(rows), seed(3), 0.f, 999.f));
    Tensor<double, Dextents<2>, Gpu> values{Dextents<2>(rows, 1)};
    nn::SparseCategoricalCrossentropy const loss{nn::from_logits};
    using op = nn::detail::score_op<std::remove_const_t<decltype(loss)>,
                                    nn::detail::weights_of::none, false>;
    family("sparse cross-entropy", rows * classes, 2 * rows * classes, [&] {
      auto const s = call(op{loss, {}}, logits, target);
      run(plan(into(d, result<0>(s)), into(values, result<1>(s))));
    });
  }
}
void layers() {
  {
    nn::conv_window window{{3, 1, 1}, {3, 1, 1}, nn::padding::same};
    count const c = 16, filters = 32, batch = std::max<count>(1, n >> 18);
    window.filters = filters;
    On<4> image{Dextents<4>(batch, 32, 32, c)}, to{Dextents<4>(batch, 32, 32, filters)};
    image = uniform<float>(Dextents<4>(batch, 32, 32, c), seed(3));
    On<1> const k = numbers(9 * c * filters, 5), bias = numbers(filters, 5);
    On<1> dk{Dextents<1>(9 * c * filters)};
    count const largest = batch * 1024 * filters, touched = largest + batch * 1024 * c;
    family("conv2d", largest, touched,
           [&] { to = call(nn::conv2d_op{window, true}, image, k, bias); });
    On<4> dx{Dextents<4>(batch, 32, 32, c)};
    shape const one{3, {32, 32, c}};
    family("conv2d input gradient", largest, touched,
           [&] { dx = call(nn::conv2d_input_gradient_op{window, one}, to, k); });
    family("conv2d kernel gradient", largest, touched,
           [&] { dk = call(nn::conv2d_kernel_gradient_op{window}, image, to); });
  }
  {
    count const width = 256, words = 5000, lines = std::max<count>(1, n >> 17);
    On<2, std::int32_t> tokens{Dextents<2>(lines, 256)};
    tokens = cast<std::int32_t>(uniform<float>(Dextents<2>(lines, 256), seed(3), 0.f, 4999.f));
    On<1> const table = numbers(words * width, 5);
    On<3> to{Dextents<3>(lines, 256, width)};
    family("embedding gather", lines * 256 * width, 2 * lines * 256 * width,
           [&] { to = call(nn::embedding_op{width}, tokens, table); });
  }
  {
    count const c = 64, batch = std::max<count>(1, n >> 16), size = batch * 1024 * c;
    nn::pool2d_window const window{{2, 2, 1}, {2, 2, 1}, nn::padding::valid};
    Dextents<4> const all(batch, 32, 32, c), pooled(batch, 16, 16, c);
    On<4> x{all}, dx{all}, y{pooled};
    On<4, std::uint8_t> winner{pooled};
    x = uniform<float>(all, seed(3));
    count const touched = size + size / 4 + size / 16;  // winners are bytes
    family("max pool", size, touched, [&] {
      auto const s = call(nn::max_pool2d_op{window}, x);
      run(plan(into(y, result<0>(s)), into(winner, result<1>(s))));
    });
    shape const one{3, {32, 32, c}};
    family("max pool gradient", size, touched,
           [&] { dx = call(nn::max_pool2d_gradient_op{window, one}, y, winner); });
  }
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) n = std::atoll(argv[1]);
  if (argc > 2) only = argv[2];
  if (n < 4096) return std::fprintf(stderr, "families: at least 4096 elements\n"), 1;
  ptx_counts::only_measured();
  maps_and_copies();
  for (count const columns : {4096, 1000, 999, 64, 16}) rows_and_columns(columns, columns == 4096);
  transposes();
  training();
  layers();
  cudaError_t const e = cudaDeviceSynchronize();
  if (e != cudaSuccess) std::fprintf(stderr, "families: %s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
