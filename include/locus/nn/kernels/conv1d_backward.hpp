// SPDX-License-Identifier: Apache-2.0
// Gradients of conv1d: of weights, bias and x in one pass over an example. A chunk of rows of dy
// goes back through the pool into the first cache; while it lies there, it is added to the gradient
// of the weights and multiplied with the weights for dx.
#pragma once
#include <locus/nn/kernels/combine_rows.hpp>  // combine_set, list_of_nonzeros
#include <locus/nn/kernels/conv1d.hpp>        // conv1d_cut, windows_of
#include <locus/simd/packet.hpp>              // load, store, add

namespace locus::nn::host {
inline namespace LOCUS_MODE {

namespace one_axis {

/// The product that makes dx, if windows are contiguous and the stride is 1: `at_once` steps of x
/// are one row of the product, so that few channels also fill a register. Its left operand is rows
/// of d, from taps - 1 before the first step on; its right operand has the kernel once for each
/// step, moved by a row.
template <class T>
struct dx_cut {
  tile_set<T> const* set = nullptr;
  std::int64_t at_once = 0, width = 0, inner = 0;  // at_once == 0: dx is made by taps

  explicit dx_cut(conv1d_cut<T> const& cut) {
    conv_geometry const& s = cut.s;
    if (!is_contiguous(s) || s.h.stride != 1) return;
    tile_sets<T> const& sets = locus::host::tiles<T>();
    double best = 0;
    for (tile_set<T> const* one : {&sets.wide, &sets.narrow})
      for (std::int64_t n : {1, 2, 4}) {
        std::int64_t const wide = rounded(n * s.channels, one->lanes);
        // one register of columns needs more loads for each multiplication
        double const cost = double(wide / one->lanes) * double(s.h.size + n - 1) / double(n) *
                            (wide == one->lanes ? 1.1 : 1.0);
        if (set && cost >= best) continue;
        best = cost, set = one, at_once = n, width = wide;
      }
    inner = (s.h.size + at_once - 1) * cut.line;
  }
};

/// means: to[(m line + f) width + n channels + c] = w[taps - 1 + n - m][c][f]
template <class T>
void pack_for_dx(conv1d_cut<T> const& cut, dx_cut<T> const& dx, T const* w, T* to) {
  conv_geometry const& s = cut.s;
  __builtin_memset(static_cast<void*>(to), 0, sizeof(T) * std::size_t(dx.inner * dx.width));
  for (std::int64_t n = 0; n < dx.at_once; ++n)
    for (std::int64_t k = 0; k < s.h.size; ++k)
      for (std::int64_t c = 0; c < s.channels; ++c) {
        T const* const from = w + (k * s.channels + c) * s.filters;
        T* const row = to + (s.h.size - 1 + n - k) * cut.line * dx.width + n * s.channels + c;
        for (std::int64_t f = 0; f < s.filters; ++f) row[f * dx.width] = from[f];
      }
}

/// dx by taps: to[g][tap][f][c], channels filled up to whole registers
template <class T>
struct dx_by_taps {
  tile_set<T> const* set;
  std::int64_t width;

  explicit dx_by_taps(conv_geometry const& s) {
    tile_sets<T> const& sets = locus::host::tiles<T>();
    set = s.group_channels() > sets.narrow.lanes ? &sets.wide : &sets.narrow;
    width = rounded(s.group_channels(), set->lanes);
  }
  void pack(conv_geometry const& s, T const* w, T* to) const {
    std::int64_t const channels = s.group_channels(), filters = s.group_filters();
    for (std::int64_t g = 0; g < s.groups; ++g)
      for (std::int64_t k = 0; k < s.h.size; ++k)
        for (std::int64_t f = 0; f < filters; ++f, to += width)
          for (std::int64_t c = 0; c < width; ++c)
            to[c] = c < channels ? w[(k * channels + c) * s.filters + g * filters + f] : T(0);
  }
  /// means: dx += rows of d times the kernel, each at the steps of its window
  void add(conv1d_cut<T> const& cut, T const* d, T const* packed, std::int64_t row,
           std::int64_t rows, T* c, T* dx) const {
    conv_geometry const& s = cut.s;
    std::int64_t const channels = s.group_channels(), filters = s.group_filters();
    for (std::int64_t g = 0; g < s.groups; ++g)
      for (std::int64_t k = 0; k < s.h.size; ++k, packed += filters * width) {
        tile_call<T> const t{
            d + g * cut.width, packed, c, filters, cut.line, 1, width, width, false};
        locus::host::open_product(*set, t, rows, width);
        for (std::int64_t i = 0; i < rows; ++i) {
          std::int64_t const at = (row + i) * s.h.stride + k * s.h.dilation - s.h.before;
          if (at < 0 || at >= s.h.in) continue;
          T* const to = dx + at * s.channels + g * channels;
          for (std::int64_t j = 0; j < channels; ++j) to[j] += c[i * width + j];
        }
      }
  }
};

/// Behind a pool most numbers of d are 0. For long windows, rows of x and of the kernel are
/// combined for the numbers that are not 0: half the multiplications behind a pool of two, fewer
/// with relu.
template <class T>
struct by_nonzeros {
  tile_set<T> const* set;
  std::int64_t window;  // numbers, rounded up to registers
  bool weights, dx;

  by_nonzeros(conv_geometry const& s, bool wants_dx)
      : set(&locus::host::tiles<T>().wide), window(rounded(s.h.size * s.channels, set->lanes)),
        weights(s.pool > 1 && is_contiguous(s) && window >= 8 * set->lanes &&
                s.kernel_size() < 1 << 30),
        dx(wants_dx && weights && s.h.before == 0 && window == s.h.size * s.channels &&
           (s.used() - 1) * s.h.stride + s.h.span() <= s.h.in) {}
  void combine(combine_call<T> const& t) const {
    locus::host::isa_tables<combine_set<T>>().wide(t, window / set->lanes, set->lanes);
  }
  /// means: to = the transposed kernel: rows are filters
  void pack(conv_geometry const& s, T const* w, T* to) const {
    for (std::int64_t i = 0; i < window; ++i)
      for (std::int64_t f = 0; f < s.filters; ++f) to[f * window + i] = w[i * s.filters + f];
  }
};

/// A task of the backward pass; each task has its own gradient of weights and bias.
template <class T>
struct conv1d_gradient {
  conv1d_cut<T> cut;
  dx_cut<T> dx;
  dx_by_taps<T> taps;
  by_nonzeros<T> nonzeros;
  T const* packed_for_dx;
  bool wants_dx, wants_weights;

  std::int64_t weight_numbers() const {
    if (nonzeros.weights) return cut.s.filters * nonzeros.window;
    return cut.s.groups * cut.products * cut.inner_rows * cut.width;
  }
  std::int64_t own_numbers() const { return weight_numbers() + cut.line; }
  /// the rows of d in front of a chunk, and behind it, that the buffer also has
  std::int64_t history() const {
    return wants_dx && dx.at_once && !nonzeros.dx ? cut.s.h.size - 1 : 0;
  }
  std::int64_t d_numbers() const { return (cut.chunk() + 2 * history() + dx.at_once) * cut.line; }
  std::int64_t c_numbers() const {
    if (!wants_dx || nonzeros.dx) return 0;
    return dx.at_once ? ((cut.chunk() + history()) / dx.at_once + 1) * dx.width
                      : cut.chunk() * taps.width;
  }
  std::int64_t numbers() const {
    return d_numbers() + c_numbers() + cut.window_numbers(cut.chunk()) + 2 * list_numbers();
  }
  std::int64_t list_numbers() const {
    return !nonzeros.weights ? 0 : cut.s.filters > cut.chunk() ? cut.s.filters : cut.chunk();
  }

  /// means: own += windows^T d
  void add_weights(T const* windows, T const* d, std::int64_t rows, T* own) const {
    conv_geometry const& s = cut.s;
    std::int64_t const lanes = cut.set->lanes;
    for (std::int64_t g = 0; g < s.groups; ++g)
      for (std::int64_t p = 0; p < cut.products; ++p, own += cut.inner_rows * cut.width) {
        T const* const a = windows + p * s.h.dilation * s.channels + g * s.group_channels();
        for (std::int64_t j = 0; j < cut.width;) {
          int const registers = cut.width - j > lanes ? 2 : 1;
          T const* const from = d + g * cut.width + j;
          auto const& open = cut.set->open[registers - 1];
          int const most = open.rows[0];
          for (std::int64_t i = 0; i < cut.inner_rows;) {
            T* const to = own + i * cut.width + j;
            int const fewer = cut.inner_rows - i >= most ? 0 : 1;
            open.run[fewer](
                {a + i, from, to, rows, 1, s.h.stride * s.channels, cut.line, cut.width, true});
            i += fewer ? 4 : most;
          }
          j += registers * lanes;
        }
      }
  }
  /// means: dx of the steps whose last window lies in the chunk
  void make_dx(T const* d, std::int64_t row, std::int64_t rows, bool last, T* c, T* to) const {
    conv_geometry const& s = cut.s;
    std::int64_t const steps = rows + (last ? s.h.size - 1 : 0);
    std::int64_t const n = blocks_of(steps, dx.at_once);
    tile_call<T> const t{d, packed_for_dx, c,        dx.inner, dx.at_once * cut.line,
                         1, dx.width,      dx.width, false};
    locus::host::open_product(*dx.set, t, n, dx.width);
    for (std::int64_t i = 0; i < steps; i += dx.at_once) {
      std::int64_t first = row + i - s.h.before, here = least(dx.at_once, steps - i);
      T const* from = c + i / dx.at_once * dx.width;
      if (first < 0) here += first, from -= first * s.channels, first = 0;
      here = least(here, s.h.in - first);
      if (here > 0)
        __builtin_memcpy(static_cast<void*>(to + first * s.channels), from,
                         sizeof(T) * std::size_t(here * s.channels));
    }
  }

  /// means: as add_weights, and dx += rows of the kernel, for the numbers of d that are not 0
  void add_nonzeros(T const* windows, T const* d, std::int64_t row, std::int64_t rows, T* own,
                    T* to, T* value) const {
    conv_geometry const& s = cut.s;
    auto* const at = reinterpret_cast<std::int32_t*>(value + list_numbers());
    std::int64_t const step = s.h.stride * s.channels;
    for (std::int64_t f = 0; wants_weights && f < s.filters; ++f) {
      std::int64_t const n = list_of_nonzeros(d + f, cut.line, rows, 0, step, value, at);
      nonzeros.combine({own + f * nonzeros.window, windows, value, at, n});
    }
    for (std::int64_t i = 0; nonzeros.dx && i < rows; ++i) {
      std::int64_t const n =
          list_of_nonzeros(d + i * cut.line, 1, s.filters, 0, nonzeros.window, value, at);
      nonzeros.combine({to + (row + i) * step, packed_for_dx, value, at, n});
    }
  }

  /// means: dw = the gradient in the layout of the kernel; own == null: dw = 0
  void unpack(T const* own, T* dw) const {
    conv_geometry const& s = cut.s;
    std::int64_t const filters = s.group_filters();
    for (std::int64_t g = 0; g < s.groups; ++g)
      for (std::int64_t p = 0; p < cut.products; ++p)
        for (std::int64_t i = 0; i < cut.inner; ++i)
          for (std::int64_t f = 0; f < filters; ++f) {
            std::int64_t const from =
                nonzeros.weights ? f * nonzeros.window + i
                                 : ((g * cut.products + p) * cut.inner_rows + i) * cut.width + f;
            dw[(p * cut.inner + i) * s.filters + g * filters + f] = own ? own[from] : T(0);
          }
  }

  void one_example(T const* x, T const* end, T const* dy, T const* y, unsigned char const* winners,
                   T* own, T* memory, T* to) const {
    conv_geometry const& s = cut.s;
    std::int64_t const before = history();
    T *const d = memory, *const c = d + d_numbers(), *const copy = c + c_numbers(),
             *const list = copy + cut.window_numbers(cut.chunk());
    auto const unpool = cut.lines().unpool;
    auto const bytes = [&](std::int64_t rows) { return sizeof(T) * std::size_t(rows * cut.line); };
    __builtin_memset(static_cast<void*>(d), 0, bytes(before));
    if (wants_dx && (!dx.at_once || nonzeros.dx || s.used() < s.h.out || s.h.out == 0))
      __builtin_memset(static_cast<void*>(to), 0, sizeof(T) * std::size_t(s.h.in * s.channels));
    T* const now = d + before * cut.line;
    for (std::int64_t i = 0; i < s.used(); i += cut.chunk()) {
      std::int64_t const rows = least(cut.chunk(), s.used() - i);
      for (std::int64_t g = 0; g < s.groups; ++g) {
        std::int64_t const at = i / s.pool * s.filters + g * s.group_filters();
        unpool({dy + at, s.relu && s.pool == 1 ? y + at : nullptr,
                s.pool > 1 ? winners + at : nullptr, now + g * cut.width,
                own + weight_numbers() + g * cut.width, s.filters, cut.line, rows / s.pool,
                s.group_filters(), s.pool});
      }
      if (nonzeros.weights)
        add_nonzeros(windows_of(s, x, end, i, rows, copy), now, i, rows, own, to, list);
      else if (wants_weights)
        add_weights(windows_of(s, x, end, i, rows, copy), now, rows, own);
      if (!wants_dx || nonzeros.dx) continue;
      if (!dx.at_once) {
        taps.add(cut, now, packed_for_dx, i, rows, c, to);
        continue;
      }
      bool const last = i + rows == s.used();
      if (last)
        __builtin_memset(static_cast<void*>(now + rows * cut.line), 0, bytes(before + dx.at_once));
      make_dx(d, i, rows, last, c, to);
      __builtin_memmove(static_cast<void*>(d), d + rows * cut.line, bytes(before));
    }
  }
};

template <class T>
void add_to(T* to, T const* from, std::int64_t n) {
  constexpr int lanes = 64 / int(sizeof(T));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    simd::store(to + i, simd::add(simd::load<lanes>(to + i), simd::load<lanes>(from + i)));
  for (; i < n; ++i) to[i] += from[i];
}

/// means: the number of tasks for a batch; each has its own gradient of `numbers`: as many tasks as
///        64 MiB hold, at most 16
template <class T>
constexpr std::int64_t gradient_tasks(std::int64_t batch, std::int64_t numbers) {
  std::int64_t const room = (std::int64_t(64) << 20) / std::int64_t(sizeof(T)) / (numbers + 1);
  return least(least(batch, 16), room < 2 ? 2 : room);
}

}  // namespace one_axis

/// means: dw, dbias: the gradients of weights and bias, summed over the batch; dx: the gradient of
///        x
/// shape: as in conv1d. y is read with relu and without a pool, winners with a pool; an array that
///        is not read, and dw, dbias and dx, may be null
/// cost:  twice that of conv1d
template <class T>
void conv1d_backward(conv_geometry const& s, T const* x, T const* w, T const* y,
                     unsigned char const* winners, T const* dy, T* dw, T* dbias, T* dx) {
  std::int64_t const batch = s.images;
  one_axis::conv1d_cut<T> const cut(s);
  one_axis::conv1d_gradient<T> job{cut,
                                   one_axis::dx_cut<T>(cut),
                                   one_axis::dx_by_taps<T>(s),
                                   one_axis::by_nonzeros<T>(s, dx != nullptr),
                                   nullptr,
                                   dx != nullptr,
                                   dw != nullptr};
  std::int64_t const for_dx = !dx               ? 0
                              : job.nonzeros.dx ? s.kernel_size()
                              : job.dx.at_once  ? job.dx.inner * job.dx.width
                                                : s.h.size * s.filters * job.taps.width;
  std::int64_t const own = job.own_numbers(), tasks = one_axis::gradient_tasks<T>(batch, own);
  workspace<T> const memory(for_dx + own * tasks);
  T* const packed = memory.data();
  T* const gradients = packed + for_dx;
  if (!dx)
    ;
  else if (job.nonzeros.dx)
    job.nonzeros.pack(s, w, packed);
  else if (job.dx.at_once)
    one_axis::pack_for_dx(cut, job.dx, w, packed);
  else
    job.taps.pack(s, w, packed);
  job.packed_for_dx = packed;
  T const* const end = x + batch * s.h.in * s.channels;
  int const threads = locus::host::threads_for_product(2 * batch * s.used() * s.kernel_size());
  parallel_for(static_cast<int>(tasks), threads, [&](int task) {
    T* const mine = gradients + task * own;
    __builtin_memset(static_cast<void*>(mine), 0, sizeof(T) * std::size_t(own));
    workspace<T> const room(job.numbers());
    for (std::int64_t b = batch * task / tasks; b < batch * (task + 1) / tasks; ++b) {
      std::int64_t const at = b * s.rows() * s.filters;
      job.one_example(x + b * s.h.in * s.channels, end, dy + at, y ? y + at : nullptr,
                      winners ? winners + at : nullptr, mine, room.data(),
                      dx ? dx + b * s.h.in * s.channels : nullptr);
    }
  });
  // adds the terms of the tasks in order
  for (std::int64_t task = 1; task < tasks; ++task)
    one_axis::add_to(gradients, gradients + task * own, own);
  std::int64_t const filters = s.group_filters();
  if (dw) job.unpack(tasks ? gradients : nullptr, dw);
  if (dbias)
    for (std::int64_t g = 0; g < s.groups; ++g)
      for (std::int64_t f = 0; f < filters; ++f)
        dbias[g * filters + f] = tasks ? gradients[job.weight_numbers() + g * cut.width + f] : T(0);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
