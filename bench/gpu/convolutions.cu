// SPDX-License-Identifier: Apache-2.0
// Convolutions of fp32 images and their gradients on one GPU: rows of a table, microseconds (median of 9). The library of
// the second column computes all of them: cuDNN where LOCUS_CUDNN is its path, cuBLAS where it is off. 77 where no
// GPU answers.
#include "card.cuh"
// locus comes first
#include <algorithm>
#include <cstdio>
#include <vector>

#include <locus/nn/layers/conv2d_ops.hpp>

namespace {
using namespace locus;
using count = std::int64_t;
template <int Rank>
using On = Tensor<float, Dextents<Rank>, GpuDevice<0>>;

struct layer {
  count batch, side, channels, filters, window, stride;
};
constexpr layer layers[] = {
    {256, 28, 1, 32, 3, 1},    {256, 14, 32, 64, 3, 1},  {512, 32, 16, 32, 3, 1},
    {64, 112, 3, 64, 7, 2},    {128, 56, 64, 64, 3, 1},  {128, 56, 64, 64, 1, 1},
    {128, 28, 128, 128, 3, 1}, {128, 28, 64, 64, 5, 1},  {128, 14, 256, 256, 3, 1},
    {128, 28, 128, 256, 3, 2}, {128, 7, 512, 512, 3, 1},
};

template <class F>
double microseconds(F&& f) {
  cudaEvent_t begin, end;
  bench::must(cudaEventCreate(&begin), "an event"), bench::must(cudaEventCreate(&end), "an event");
  std::vector<float> all;
  for (int k = 0; k < 11; ++k) {
    bench::must(cudaEventRecord(begin, bench::stream), "an event");
    for (int j = 0; j < 3; ++j) f();
    bench::must(cudaEventRecord(end, bench::stream), "an event");
    bench::must(cudaEventSynchronize(end), "an event");
    float ms = 0;
    bench::must(cudaEventElapsedTime(&ms, begin, end), "an event");
    if (k >= 2) all.push_back(ms / 3 * 1000);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  return double(bench::median(std::vector<double>(all.begin(), all.end())));
}
void measure(layer const& l) {
  nn::conv_window window{{l.window, l.stride, 1}, {l.window, l.stride, 1}, nn::padding::same};
  window.filters = l.filters;
  count const out = (l.side + l.stride - 1) / l.stride,
              weights = l.window * l.window * l.channels * l.filters;
  On<4> x{Dextents<4>(l.batch, l.side, l.side, l.channels)}, dx{x.extents()},
      y{Dextents<4>(l.batch, out, out, l.filters)};
  x = uniform<float>(x.extents(), seed(3)), y = uniform<float>(y.extents(), seed(4));
  On<1> k{Dextents<1>(weights)}, dk{Dextents<1>(weights)}, bias{Dextents<1>(l.filters)};
  k = uniform<float>(k.extents(), seed(5)), bias = uniform<float>(bias.extents(), seed(6));
  locus::shape const one{3, {l.side, l.side, l.channels}};
  double const slopes =
      microseconds([&] { dk = call(nn::conv2d_kernel_gradient_op{window}, x, y); });
  double const back =
      microseconds([&] { dx = call(nn::conv2d_input_gradient_op{window, one}, y, k); });
  double const forth = microseconds([&] { y = call(nn::conv2d_op{window, true}, x, k, bias); });
  double const work = 2. * double(l.batch * out * out) * double(weights);
  bool const by_cudnn =
      locus::runtime::cudnn_said() && locus::cuda_side::cudnn_table::instance().complete;
  auto const number = [](count n) { return static_cast<long long>(n); };
  std::printf("| %lld x %lld x %lld x %lld, %lld filters of %lld x %lld, stride %lld | %.1f Gflop "
              "| %s | %.0f | %.0f | %.0f |\n",
              number(l.batch), number(l.side), number(l.side), number(l.channels),
              number(l.filters), number(l.window), number(l.window), number(l.stride), work / 1e9,
              by_cudnn ? "cuDNN" : "cuBLAS", forth, back, slopes);
}
}  // namespace

int main() {
  return bench::on_card([] {
    for (layer const& l : layers) measure(l);
  });
}
