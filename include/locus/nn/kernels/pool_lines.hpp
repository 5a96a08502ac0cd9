// SPDX-License-Identifier: Apache-2.0
// The pool behind a convolution along one axis: rows of results become rows of the pool while they
// lie in the first cache; and its gradient. Compiled for several instruction sets, as the tiles of
// a matrix product.
#pragma once
#include <cstdint>      // int32_t, int64_t
#include <type_traits>  // conditional

#include <locus/engine/host/isa_table.hpp>  // LOCUS_FOR_EACH_ISA

LOCUS_VECTORS_BEGIN
namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// means: y[i][j] = the largest of c[size i + p][j] + bias[j], p < size, at least 0 with relu;
///        winner[i][j] = 1 + the first p with that number, 0 where relu gives 0; NaN is larger than
///        all numbers
/// shape: c and bias are padded to whole registers; winner, if not null, as y
template <class T>
struct pool_call {
  T const* c;
  std::int64_t c_row;
  T const* bias;
  T* y;
  unsigned char* winner;
  std::int64_t y_row, rows, columns, size;
  bool relu;
};
/// means: the gradient of pool_call's c: d[size i + p][j] = winner[i][j] == 1 + p ? dy[i][j] : 0;
///        for a pool of one with relu, d = y != 0 ? dy : 0; bias[j] += the sum of d[...][j]
/// shape: d and bias are padded to whole registers
template <class T>
struct unpool_call {
  T const* dy;
  T const* y;
  unsigned char const* winner;
  T* d;
  T* bias;
  std::int64_t y_row, d_row, rows, columns, size;
};
namespace detail {

template <int Bytes>
using lane_number = std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>;

// Tails of rows are stored to memory and copied lane by lane from there: a register has no index.
template <class Isa>
struct pool_kernels;
#define LOCUS_POOL_LINES(isa, target)                                                            \
  template <>                                                                                    \
  struct pool_kernels<isa> {                                                                     \
    template <class T>                                                                           \
    target static void pool(pool_call<T> const& t) {                                             \
      using N = lane_number<int(sizeof(T))>;                                                     \
      constexpr int lanes = isa::bytes / int(sizeof(T));                                         \
      using reg = simd::vector<T, lanes>;                                                        \
      using number = simd::vector<N, lanes>;                                                     \
      using words = simd::vector<std::int32_t, lanes>; /* by steps: else lane by lane in g++ */  \
      using halves = simd::vector<unsigned short, lanes>;                                        \
      using marks = simd::vector<unsigned char, lanes>;                                          \
      typedef T memory __attribute__((vector_size(isa::bytes), aligned(sizeof(T)), may_alias));  \
      reg const zero{}; /* nvcc's front end gives up on number{} in an expression */             \
      number const none{};                                                                       \
      std::int64_t const columns = t.columns, size = t.size, c_row = t.c_row, y_row = t.y_row;   \
      bool const relu = t.relu;                                                                  \
      T const *c = t.c, *const biases = t.bias;                                                  \
      T* y = t.y;                                                                                \
      unsigned char* winner = t.winner;                                                          \
      for (std::int64_t i = t.rows; i > 0; --i) {                                                \
        for (std::int64_t j = 0; j < columns; j += lanes) {                                      \
          reg const bias = *reinterpret_cast<memory const*>(biases + j);                         \
          reg best = *reinterpret_cast<memory const*>(c + j);                                    \
          best += bias;                                                                          \
          number won = none + N(1);                                                              \
          for (std::int64_t p = 1; p < size; ++p) {                                              \
            reg v = *reinterpret_cast<memory const*>(c + p * c_row + j);                         \
            v += bias;                                                                           \
            number const larger =                                                                \
                ((number)(v > best) | (number)(v != v)) & (number)(best == best);                \
            best = larger ? v : best;                                                            \
            won = larger ? none + N(p + 1) : won;                                                \
          }                                                                                      \
          if (relu) {                                                                            \
            number const off = (number)(best <= zero);                                           \
            best = off ? zero : best;                                                            \
            won = off ? none : won;                                                              \
          }                                                                                      \
          marks const m = __builtin_convertvector(                                               \
              __builtin_convertvector(__builtin_convertvector(won, words), halves), marks);      \
          if (columns - j >= lanes) {                                                            \
            *reinterpret_cast<memory*>(y + j) = best;                                            \
            if (winner) __builtin_memcpy(winner + j, &m, lanes);                                 \
          } else {                                                                               \
            reg const last = best;                                                               \
            for (std::int64_t l = 0; l < columns - j; ++l) y[j + l] = last[l];                   \
            if (winner) __builtin_memcpy(winner + j, &m, std::size_t(columns - j));              \
          }                                                                                      \
        }                                                                                        \
        c += size * c_row, y += y_row;                                                           \
        if (winner) winner += y_row;                                                             \
      }                                                                                          \
    }                                                                                            \
    template <class T>                                                                           \
    target static void unpool(unpool_call<T> const& t) {                                         \
      using N = lane_number<int(sizeof(T))>;                                                     \
      constexpr int lanes = isa::bytes / int(sizeof(T));                                         \
      using reg = simd::vector<T, lanes>;                                                        \
      using number = simd::vector<N, lanes>;                                                     \
      using words = simd::vector<std::int32_t, lanes>;                                           \
      using halves = simd::vector<unsigned short, lanes>;                                        \
      using marks = simd::vector<unsigned char, lanes>;                                          \
      typedef T memory __attribute__((vector_size(isa::bytes), aligned(sizeof(T)), may_alias));  \
      reg const zero{}; /* nvcc's front end gives up on number{} in an expression */             \
      number const none{};                                                                       \
      std::int64_t const columns = t.columns, size = t.size, d_row = t.d_row, y_row = t.y_row;   \
      T const *dy = t.dy, *y = t.y;                                                              \
      unsigned char const* winner = t.winner;                                                    \
      T *d = t.d, *const bias = t.bias;                                                          \
      for (std::int64_t i = t.rows; i > 0; --i) {                                                \
        for (std::int64_t j = 0; j < columns; j += lanes) {                                      \
          reg g, on;                                                                             \
          marks m;                                                                               \
          if (columns - j >= lanes) {                                                            \
            g = *reinterpret_cast<memory const*>(dy + j);                                        \
            if (winner) __builtin_memcpy(&m, winner + j, lanes);                                 \
            if (y) on = *reinterpret_cast<memory const*>(y + j);                                 \
          } else {                                                                               \
            std::size_t const here = std::size_t(columns - j);                                   \
            reg some = zero, some_on = zero;                                                     \
            marks some_m{};                                                                      \
            __builtin_memcpy(&some, dy + j, here * sizeof(T));                                   \
            if (winner) __builtin_memcpy(&some_m, winner + j, here);                             \
            if (y) __builtin_memcpy(&some_on, y + j, here * sizeof(T));                          \
            g = some, on = some_on, m = some_m;                                                  \
          }                                                                                      \
          if (winner) {                                                                          \
            number const won = __builtin_convertvector(                                          \
                __builtin_convertvector(__builtin_convertvector(m, halves), words), number);     \
            g = won == none ? zero : g;                                                          \
            for (std::int64_t p = 0; p < size; ++p)                                              \
              *reinterpret_cast<memory*>(d + p * d_row + j) = won == none + N(p + 1) ? g : zero; \
          } else {                                                                               \
            if (y) g = on == zero ? zero : g;                                                    \
            *reinterpret_cast<memory*>(d + j) = g;                                               \
          }                                                                                      \
          *reinterpret_cast<memory*>(bias + j) += g;                                             \
        }                                                                                        \
        d += size * d_row, dy += y_row;                                                          \
        if (winner) winner += y_row;                                                             \
        if (y) y += y_row;                                                                       \
      }                                                                                          \
    }                                                                                            \
  };
LOCUS_FOR_EACH_ISA(LOCUS_POOL_LINES)
#undef LOCUS_POOL_LINES

}  // namespace detail

/// means: the functions of one instruction set
template <class T>
struct pool_lines {
  void (*pool)(pool_call<T> const&);
  void (*unpool)(unpool_call<T> const&);

  template <class Isa>
  static constexpr pool_lines of() {
    using by = detail::pool_kernels<Isa>;
    return {&by::template pool<T>, &by::template unpool<T>};
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
LOCUS_VECTORS_END
