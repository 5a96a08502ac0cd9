// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution's kernel on GPUs, as a fold of columns: columns are weights, rows
// are pixels of the output. Neighbouring threads have neighbouring filters, and so neighbouring
// elements of dy.
#pragma once
#include <locus/engine/gpu/lines.hpp>    // quotient
#include <locus/engine/gpu/vectors.hpp>  // vector_of
#include <locus/nn/kernels/window.hpp>   // conv_geometry

namespace locus::nn::detail {

template <class T>
struct kernel_gradient_team {
  static constexpr int vector = cuda_side::vector_elements<T>, batch = 4;
  struct total {
    double sum;
  };
  /// a weight: its tap, and its channel and filter
  struct weight {
    std::int64_t kh, kw, c, f;
  };
  struct weights {
    std::int64_t first;
    weight at;  // of the first
  };
  conv_geometry of;
  std::int64_t rows, columns;
  cuda_side::quotient in_line, in_image;  // divide by pixels of a line, by lines of an image
  bool are_vectors;                       // neighbouring weights differ in their filters alone
  T const *x, *dy;
  T* dw;

  LOCUS_HOST_DEVICE static total identity() { return {0}; }
  LOCUS_HOST_DEVICE static total combine(total const& a, total const& b) { return {a.sum + b.sum}; }
  LOCUS_HOST_DEVICE static std::int64_t zeros() { return 0; }
  LOCUS_HOST_DEVICE void zero(std::int64_t) const {}
  LOCUS_HOST_DEVICE void finish(std::int64_t i, total const& t) const {
    dw[i] = static_cast<T>(t.sum);
  }
  LOCUS_HOST_DEVICE weights at(std::int64_t i) const { return {i, find(i)}; }
  template <int Batch>
  LOCUS_HOST_DEVICE void add(total* to, weights const& here, std::int64_t row,
                             std::int64_t down) const {
    if (are_vectors) {
      T sums[vector]{};
      for (int i = 0; i < Batch; ++i) {
        std::int64_t const pixel = row + i * down, from = input(here.at, pixel);
        auto const g = *reinterpret_cast<cuda_side::vector_of<T, vector> const*>(
            dy + pixel * of.filters + here.at.f);
        if (from >= 0)
          for (int j = 0; j < vector; ++j) sums[j] += x[from] * g.element[j];
      }
      for (int j = 0; j < vector; ++j) to[j].sum += double(sums[j]);
    } else
      for (int j = 0; j < vector && here.first + j < columns; ++j) {
        weight const one = find(here.first + j);
        T sum = T(0);
        for (int i = 0; i < Batch; ++i) {
          std::int64_t const pixel = row + i * down, from = input(one, pixel);
          if (from >= 0) sum += x[from] * dy[pixel * of.filters + one.f];
        }
        to[j].sum += double(sum);
      }
  }

 private:
  LOCUS_HOST_DEVICE weight find(std::int64_t i) const {
    std::int64_t const each = of.group_channels(), f = i % of.filters, k = i / of.filters;
    return {k / each / of.w.size, k / each % of.w.size, k % each + f / of.group_filters() * each,
            f};
  }
  /// means: the index of the element of x that is multiplied with the weight at a pixel of dy; -1:
  ///        none
  LOCUS_HOST_DEVICE std::int64_t input(weight const& one, std::int64_t pixel) const {
    std::int64_t line = in_line.divide(pixel);  // pixel: in its line
    std::int64_t const image = in_image.divide(line), ih = of.h.input(line, one.kh),
                       iw = of.w.input(pixel, one.kw);
    return of.h.is_inside(ih) && of.w.is_inside(iw)
               ? ((image * of.h.in + ih) * of.w.in + iw) * of.channels + one.c
               : -1;
  }
};

}  // namespace locus::nn::detail
