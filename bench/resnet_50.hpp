// SPDX-License-Identifier: Apache-2.0
// ResNet-50 as a list of layers (He et al., CVPR 2016, table 1): the work of a step of training.
#pragma once
#include <locus/predict.hpp>

namespace resnet {

/// Convolutions with a normalisation behind each, a relu, and the last product.
class counter {
 public:
  explicit counter(std::int64_t rows) : rows_(double(rows)), step_(rows) {}

  /// K x K, from `in` to `out` channels, on results of size x size
  void convolution(int k, int in, int out, int size, int stride = 1) {
    double const weights = double(k) * k * in * out;
    double const before = double(in) * size * stride * size * stride,
                 after = double(out) * size * size;
    layers_[count_++] = {weights, 2. * out, before, after, 2. * weights * size * size, true};
  }
  void product(int in, int out) {
    layers_[count_++] = {double(in) * out, double(out),   double(in),
                         double(out),      2. * in * out, false};
  }
  locus::step_list run() {
    constexpr double element = 4;
    for (int k = 0; k < count_; ++k) {
      layer const& l = layers_[k];
      step_.kernel(l.is_convolution ? "conv2d" : "matmul", {0, rows_ * l.operations},
                   {element * l.weights, rows_ * element * (l.before + l.after)});
      // statistics of the batch, then scale, shift and relu: three passes
      if (l.is_convolution)
        step_.kernel("normalise", {0, rows_ * 4 * l.after}, {0, rows_ * element * 3 * l.after});
    }
    for (int k = count_; k-- > 0;) {
      layer const& l = layers_[k];
      if (l.is_convolution)
        step_.kernel("normalise", {0, rows_ * 8 * l.after}, {0, rows_ * element * 5 * l.after});
      step_.kernel(l.is_convolution ? "conv2d_kernel_gradient" : "matmul",
                   {0, rows_ * l.operations},
                   {element * l.weights, rows_ * element * (l.before + l.after)});
      step_.all_reduce(element * (l.weights + l.other));
      if (k > 0)
        step_.kernel(l.is_convolution ? "conv2d_input_gradient" : "matmul",
                     {0, rows_ * l.operations},
                     {element * l.weights, rows_ * element * (l.before + l.after)});
    }
    double all = 0;
    for (int k = 0; k < count_; ++k) all += layers_[k].weights + layers_[k].other;
    step_.update("update", 4 * all, 5 * element * all);  // momentum
    parameters = all;
    return step_;
  }
  double parameters = 0;

 private:
  struct layer {
    double weights = 0, other = 0, before = 0, after = 0, operations = 0;
    bool is_convolution = true;
  };
  double rows_;
  layer layers_[64]{};
  int count_ = 0;
  locus::step_list step_;
};

/// means: one step on so many images of 224 x 224 x 3
inline locus::step_list step(std::int64_t rows, double* parameters = nullptr) {
  counter c(rows);
  c.convolution(7, 3, 64, 112, 2);
  int in = 64;
  constexpr int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    int const inner = 64 << stage, out = 4 * inner, size = 56 >> stage;
    for (int k = 0; k < blocks[stage]; ++k) {
      int const stride = k == 0 && stage > 0 ? 2 : 1;
      c.convolution(1, in, inner, size * stride);
      c.convolution(3, inner, inner, size, stride);
      c.convolution(1, inner, out, size);
      if (k == 0) c.convolution(1, in, out, size, stride);
      in = out;
    }
  }
  c.product(2048, 1000);
  locus::step_list s = c.run();
  if (parameters) *parameters = c.parameters;
  return s;
}

}  // namespace resnet
