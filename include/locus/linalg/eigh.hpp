// SPDX-License-Identifier: Apache-2.0
// eigh(a). A program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <numeric>  // iota
#include <utility>  // forward

#include <locus/linalg/lapack.hpp>         // lapack
#include <locus/linalg/matrices.hpp>       // takes_square_matrices, for_each_matrix
#include <locus/linalg/plain_kernels.hpp>  // plain::eigh
#include <locus/ops/arithmetic.hpp>        // *
#include <locus/ops/call.hpp>              // call
#include <locus/ops/matmul.hpp>            // matmul
#if LOCUS_CUDA_KERNELS
#include <locus/linalg/eigh_card.hpp>  // cards::eigh
#endif

namespace locus {

namespace linalg {

namespace host {
inline namespace LOCUS_MODE {

/// means: a v = v diag(w), w rising; the lower half of a is read     shape: a and v (n, n), w (n)
template <class T>
void eigh_of(std::int64_t n, T const* a, T* w, T* v) {
  auto const give = [=](auto* vectors, auto const* values, auto const& order) {
    for (std::int64_t k = 0; k < n; ++k) {
      auto* const vector = vectors + order[k] * n;
      orient(vector, n, vector, 0);
      w[k] = static_cast<T>(values[order[k]]);
      for (std::int64_t i = 0; i < n; ++i) v[i * n + k] = static_cast<T>(vector[i]);
    }
  };
  bool finite = true;
  for (std::int64_t i = 0; i < n; ++i) finite = finite && all_finite(a + i * n, i + 1);
  if (!finite) return fill_with_nan(w, n), fill_with_nan(v, n * n);
  workspace<std::int64_t> const order(n);
  std::iota(order.data(), order.data() + n, 0);
  if (auto const& library = lapack<T>(); library && n > 0) {
    locus::host::one_blas_thread const alone(locus::host::cblas());
    std::int64_t const room = 1 + 6 * n + 2 * n * n, room_of_numbers = 3 + 5 * n;
    require_room("eigh", double(room));
    workspace<T> const memory(n * n + n + room);
    workspace<int> const numbers(room_of_numbers);
    T *const vectors = memory.data(), *const values = vectors + n * n, *const work = values + n;
    int const size = int(n), wide = int(room), many = int(room_of_numbers);
    int ended = 0;
    copy_as(a, vectors, n * n);
    library.syevd("V", "U", &size, vectors, &size, values, work, &wide, numbers.data(), &many,
                  &ended, 1, 1);
    if (ended != 0) return fill_with_nan(w, n), fill_with_nan(v, n * n);
    give(vectors, values, order.data());
    return;
  }
  workspace<double> const memory(2 * n * n + n);
  double *const half = memory.data(), *const vectors = half + n * n,
                *const values = vectors + n * n;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      half[i * n + j] = double(a[j <= i ? i * n + j : j * n + i]);
      vectors[i * n + j] = i == j ? 1 : 0;
    }
  plain::eigh(n, half, vectors);
  for (std::int64_t i = 0; i < n; ++i) values[i] = half[i * n + i];
  std::stable_sort(order.data(), order.data() + n,
                   [=](std::int64_t i, std::int64_t j) { return values[i] < values[j]; });
  give(vectors, values, order.data());
}

}  // namespace LOCUS_MODE
}  // namespace host

template <int Rank>
struct eigh_op {
  static constexpr call_rule rule{.name = "eigh",
                                  .operands = {role_of(Rank)},
                                  .results = {role_of(Rank), role_of(Rank)},
                                  .tensorflow = "SelfAdjointEigV2",
                                  .stores_all = true};
  static constexpr shape infer(int result, shape a) {
    if (a.rank != Rank || !may_be_square(a)) return no_shape;
    a = square(a);
    return result == 0 ? in_batch_of(a, a.from_right(0)) : a;
  }
  static constexpr std::int64_t operations(shape, shape a) {
    return 9 * a.size() * a.from_right(0);
  }
  template <class T>
  void host(call_context const&, tile<T> w, tile<T> v, tile<T const> a) const {
    std::int64_t const n = a.extent[Rank - 1], all = Rank == 3 ? a.extent[0] : 1;
    host::for_each_matrix(all, 9. * double(n * n) * double(n), [&](std::int64_t k) {
      host::eigh_of(n, a.data + k * n * n, w.data + k * n, v.data + k * n * n);
    });
  }
  template <class T>
  void card(card_context& here, tile<T> w, tile<T> v, tile<T const> a) const;
  /// the adjoint of a, from that of w: v diag(g) vt
  template <class G, class Y, class A>
  static constexpr auto pullback(G const& g, Y const& y, A const&) {
    auto const v = locus::result<1>(y);
    return matmul(v * expand_dims<-2>(g), turned(v));
  }
};

#if LOCUS_CUDA_KERNELS
template <int Rank>
template <class T>
void eigh_op<Rank>::card(card_context& here, tile<T> w, tile<T> v, tile<T const> a) const {
  cards::eigh(here, a.extent[Rank - 1], Rank == 3 ? a.extent[0] : 1, a.data, w.data, v.data);
}
#endif

}  // namespace linalg

inline namespace LOCUS_MODE {

/// means: auto [w, v] = eigh(a): the eigenvalues of symmetric matrices in rising order, and their
///        vectors as columns of v, of length 1, the largest component of each positive; only the
///        lower half of a is read. NaN in every element where the half has an infinity or a NaN
/// shape: a (n, n) gives w (n) and v (n, n); or batches of them; float or double
/// device: whole, or pieces of a batch along axis 0
/// cost:  one launch; about 9 n^3 operations for each matrix, by LAPACK where one is found
///        (LOCUS_CBLAS=none: by loops of locus, which take about ten times as many), matrices of a
///        batch on several threads; on GPUs by cuSOLVER, or a round trip where there is none
/// fails: at compile time, for other types and ranks, and for static extents that are not square;
///        shape_error, where extents are not square when they are bound. Only w has a derivative
/// after: LAPACK's syevd, NumPy's eigh
template <tensor_operand A>
constexpr auto eigh(A&& a) {
  if constexpr (linalg::takes_square_matrices<A>())
    return call(linalg::eigh_op<expression_of_t<A>::pattern.rank>{}, std::forward<A>(a));
}

}  // namespace LOCUS_MODE
}  // namespace locus
