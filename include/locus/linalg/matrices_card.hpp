// SPDX-License-Identifier: Apache-2.0
// Copies of matrices of a batch on a GPU, and calls of cuSOLVER for each of them.
#pragma once
#include <cstdint>  // int64_t

#include <locus/backend/cuda/real_cusolver.hpp>  // cusolver_table, solver_handle
#include <locus/core/error.hpp>                  // shape_error
#include <locus/core/macros.hpp>                 // LOCUS_HOST_DEVICE, LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/card_context.hpp>     // card_context
#include <locus/linalg/matrices.hpp>             // host::workspace, host::turn

namespace locus::linalg::cards {

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_extent(std::int64_t extent) {
  message text;
  throw shape_error(text << "locus: matrices with " << extent
                         << " rows or columns are too large for cuSOLVER, which takes at most "
                            "2147483647; give it parts of them");
}
LOCUS_COLD_END

/// means: an extent as cuSOLVER's int
inline int int_of(std::int64_t extent) {
  if (extent > 2147483647) refuse_extent(extent);
  return static_cast<int>(extent);
}

inline namespace LOCUS_MODE {

using cuda_side::algorithm_size;
using cuda_side::cusolver_table;

/// Element i of `to`: matrices as they are, each 0 where unless_finite found something in it.
template <class T>
struct copied {
  std::int64_t size;
  T const *from, *found;  // null: all are finite
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    bool const is_bad = found && found[i / size] != 0;  // a NaN is not 0
    to[i] = is_bad ? T(0) : from[i];
  }
};
/// Element i of `to`: the same, turned: from (rows, columns), to (columns, rows).
template <class T>
struct turned_copy {
  std::int64_t rows, columns;
  T const *from, *found;
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const size = rows * columns, k = i / size, e = i % size;
    bool const is_bad = found && found[k] != 0;
    to[i] = is_bad ? T(0) : from[k * size + e % rows * columns + e / rows];
  }
};
/// Element i of matrices whose columns are vectors (length, count), each with its sign.
template <class T>
struct vectors_as_columns {
  std::int64_t length, count;
  T const *vectors, *signs;
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const k = i / (length * count), row = i / count % length,
                       vector = k * count + i % count;
    T const x = vectors[vector * length + row];
    to[i] = signs[vector] < 0 ? -x : x;
  }
};

/// NaN in each of `size` numbers of a matrix without a result.
template <class T>
struct nan_where {
  std::int64_t size;
  T const* found;             // 0 or NaN for each matrix; null: not asked
  std::int32_t const* infos;  // 0: it has a result
  T* x;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const k = i / size;
    if (infos[k] != 0)
      x[i] = T(__builtin_nan(""));
    else if (found)
      x[i] += found[k];
  }
};

/// The numbers that the caller asked for; null: no matrix has an element.
struct infos_for_caller {
  std::int32_t const* from;
  std::int32_t* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const { to[k] = from ? from[k] : 0; }
};

/// Where each matrix of a batch lies.
template <class T>
struct addresses {
  std::int64_t size;
  T* a;
  T** each;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const { each[k] = a + k * size; }
};

/// means: f(k) for each matrix, until one of the calls of a library fails
/// returns: the status of that call, or 0
template <class F>
int for_each_matrix(std::int64_t matrices, F const& f) {
  for (std::int64_t k = 0; k < matrices; ++k)
    if (int const status = f(k); status != 0) return status;
  return 0;
}
/// means: writes the bytes of a workspace that cuSOLVER counts in elements
/// returns: a status; that of an invalid value where its int was too small for the number
template <class T>
int say_room(std::size_t* bytes, int status, int elements) {
  if (status != 0) return status;
  if (elements < 0) return cusolver_table::invalid_value;
  *bytes = sizeof(T) * static_cast<std::size_t>(elements);
  return 0;
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards
