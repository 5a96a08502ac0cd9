// SPDX-License-Identifier: Apache-2.0
// Convolutions on a GPU: by cuDNN where it is found and computes them, else as products of cuBLAS.
// For a product the windows of a slab of pixels become rows of a matrix in workspace; windows of
// one pixel are a matrix already.
#pragma once
#include <locus/core/macros.hpp>                // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>    // card_context
#include <locus/engine/gpu/lines.hpp>           // quotient
#include <locus/engine/gpu/vectors.hpp>         // vector_of, store_whole
#include <locus/nn/kernels/conv2d.hpp>          // store_rule
#include <locus/nn/kernels/conv_cudnn.hpp>      // conv_cudnn
#include <locus/nn/kernels/window.hpp>          // conv_geometry
#include <locus/nn/kernels/window_kernels.hpp>  // sum_windows
#include <locus/nn/kernels/window_slabs.hpp>    // window_slabs, input_slabs

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// y = bounds(y + bias)
template <class T, int Size>
struct finish_sums {
  using packet = cuda_side::vector_of<T, Size>;
  T* y;
  host::store_rule<T> rule;
  cuda_side::quotient in_filters;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t f = i;
    in_filters.divide(f);
    packet v = *reinterpret_cast<packet const*>(y + i * Size);
    for (int j = 0; j < Size; ++j) {
      T& e = v.element[j];
      if (rule.bias) e += rule.bias[f * Size + j];
      if (rule.clamp) e = e < rule.low ? rule.low : e > rule.high ? rule.high : e;
    }
    cuda_side::store_whole(y + i * Size, v);
  }
};

template <class T>
struct fill {
  T* to;
  T with;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = with; }
};

/// the kernel's matrix of the first group: rows are elements of the window and channels, columns
/// are filters
template <class T>
kernel::matrix kernel_matrix(T const* kernel, conv_geometry const& g) {
  return {const_cast<T*>(kernel), g.h.size * g.w.size * g.group_channels(), g.group_filters(),
          g.filters, 1};
}
/// a matrix of n rows and the filters of the first group
template <class T>
kernel::matrix filter_rows(T const* data, std::int64_t n, conv_geometry const& g) {
  return {const_cast<T*>(data), n, g.group_filters(), g.filters, 1};
}

/// means: the larger number of the rows of a slab by cuBLAS and by cuDNN
template <class T>
std::int64_t most_rows(std::int64_t rows, conv_cudnn<T> const* cudnn) {
  return cudnn && cudnn->pixels() > rows ? cudnn->pixels() : rows;
}

/// means: by_cudnn(); if it returns false, by_products(workspace of n numbers). The workspace is
///        taken before cuDNN is called, unless cuDNN has computed such a call before
template <class T, class ByCudnn, class ByProducts>
void by_either(card_context& here, conv_cudnn<T> const* cudnn, std::int64_t n,
               ByCudnn const& by_cudnn, ByProducts const& by_products) {
  bool const is_sure = cudnn && !cudnn->may_refuse();
  T* const memory = is_sure ? nullptr : here.take<T>(n);
  if (cudnn && by_cudnn()) return;
  by_products(is_sure ? here.take<T>(n) : memory);
}

/// means: sums(first pixel) = x * kernel for the pixels of each slab, and then done(first pixel,
///        pixels); by cuDNN (its slabs have other sizes), else by products
template <class T, class Sums, class Done>
void convolve(card_context& here, window_slabs<T> const& slabs, conv_cudnn<T>* cudnn, T const* x,
              T const* kernel, Sums const& sums, Done const& done) {
  conv_geometry const& g = slabs.of;
  auto const by_cudnn = [&] { return cudnn->convolve(x, kernel, sums, done); };
  by_either(here, cudnn, slabs.memory(), by_cudnn, [&](T* memory) {
    slabs.each([&](std::int64_t first, std::int64_t n) {
      here.multiply<T>(filter_rows(sums(first), n, g), slabs.windows(here, x, memory, first, n),
                       kernel_matrix(kernel, g),
                       {g.groups, g.group_filters(), slabs.group_step(), g.group_filters()});
      done(first, n);
    });
  });
}

/// means: as host::conv2d, to rounding
/// cost:  a product and, with bias or bounds, a kernel over y for each slab; windows of more than
///        one pixel are written and read once, in at most 64 MiB of workspace, or in the workspace
///        of one pixel's windows if that is larger. By cuDNN: its workspace, and the kernel over y
template <class T>
void conv2d(card_context& here, window_slabs<T> const& slabs, T* y, T const* x, T const* kernel,
            host::store_rule<T> const& rule, conv_cudnn<T>* cudnn = nullptr) {
  conv_geometry const& g = slabs.of;
  auto const sums = [&](std::int64_t first) { return y + first * g.filters; };
  convolve(here, slabs, cudnn, x, kernel, sums, [&](std::int64_t first, std::int64_t n) {
    if (!rule.bias && !rule.clamp) return;
    auto const finish = [&]<int Size>(std::integral_constant<int, Size>) {
      std::int64_t const in_row = g.filters / Size, vectors = n * in_row;
      here.each(vectors, finish_sums<T, Size>{sums(first), rule, {in_row, vectors}});
    };
    if (cuda_side::are_vectors(g.filters, y))
      finish(std::integral_constant<int, cuda_side::vector_elements<T>>{});
    else
      finish(std::integral_constant<int, 1>{});
  });
}

/// means: as host::conv2d_kernel_gradient, to rounding, where dy(first pixel, pixels) are rows of
///        filters; and dbias = the sums of dy's columns. Either may be null
/// after: slabs follow from the shape and are added in order. The library decides the order of sums
///        within a slab: one card and one version of cuBLAS, or of cuDNN, give the same bits in
///        every run
template <class T, class Gradient>
void conv_kernel_gradient(card_context& here, window_slabs<T> const& slabs, T* dkernel, T* dbias,
                          T const* x, Gradient const& dy, conv_cudnn<T>* cudnn = nullptr) {
  conv_geometry const& g = slabs.of;
  if (slabs.pixels() == 0) {
    if (dkernel) here.each(g.kernel_size(), fill<T>{dkernel, T(0)});
    if (dbias) here.each(g.filters, fill<T>{dbias, T(0)});
    return;
  }
  std::int64_t const most = most_rows(slabs.rows, cudnn);
  T* const ones = here.take<T>(dbias ? most : 0);
  if (dbias) here.each(most, fill<T>{ones, T(1)});
  auto const sum_rows = [&](T const* rows, std::int64_t first, std::int64_t n) {
    if (dbias)
      here.multiply<T>({dbias, 1, g.filters, g.filters, 1}, {ones, 1, n, n, 1},
                       {const_cast<T*>(rows), n, g.filters, g.filters, 1}, {}, first > 0);
  };
  auto const by_cudnn = [&] { return dkernel && cudnn->kernel_gradient(dkernel, x, dy, sum_rows); };
  by_either(here, cudnn, dkernel ? slabs.memory() : 0, by_cudnn, [&](T* memory) {
    slabs.each([&](std::int64_t first, std::int64_t n) {
      T const* const rows = dy(first, n);
      if (dkernel)
        here.multiply<T>(
            kernel_matrix(dkernel, g), slabs.windows(here, x, memory, first, n).transposed(),
            filter_rows(rows, n, g),
            {g.groups, g.group_filters(), slabs.group_step(), g.group_filters()}, first > 0);
      sum_rows(rows, first, n);
    });
  });
}

/// means: as host::conv2d_input_gradient, to rounding; dy as in conv_kernel_gradient
/// cost:  a product and a kernel over dx for each slab. Windows of more than one pixel are written
///        and read once (less than twice where slabs cut images), in at most 64 MiB of workspace,
///        or, if that is larger, in the workspace of the windows of 2 n - 1 lines of dy, where a
///        window spans n lines
template <class T, class Gradient>
void conv_input_gradient(card_context& here, input_slabs<T> const& slabs, T* dx, Gradient const& dy,
                         T const* kernel, conv_cudnn<T>* cudnn = nullptr) {
  conv_geometry const& g = slabs.of;
  if (g.input_size() == 0) return;
  std::int64_t const columns = slabs.row / g.groups;
  auto const by_cudnn = [&] { return cudnn->input_gradient(dx, dy, kernel); };
  auto const by_products = [&](T* memory) {
    slabs.each([&](input_slab const& s) {
      std::int64_t const first = (s.image * g.h.out + s.low) * g.w.out,
                         n = s.images * (s.high - s.low) * g.w.out;
      T* const windows = g.is_pointwise() ? dx + first * g.channels : memory;
      if (n > 0)
        here.multiply<T>({windows, n, columns, slabs.row, 1}, filter_rows(dy(first, n), n, g),
                         kernel_matrix(kernel, g).transposed(),
                         {g.groups, columns, g.group_filters(), g.group_filters()});
      if (g.is_pointwise()) return;
      auto const sum = [&]<int Size>(std::integral_constant<int, Size>) {
        here.each(s.images * s.lines * g.w.in * g.channels / Size,
                  sum_windows<T, Size>(g, s, windows, dx));
      };
      if (cuda_side::are_vectors(g.group_channels(), dx, windows))
        sum(std::integral_constant<int, cuda_side::vector_elements<T>>{});
      else
        sum(std::integral_constant<int, 1>{});
    });
  };
  by_either(here, cudnn, slabs.memory(), by_cudnn, by_products);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
