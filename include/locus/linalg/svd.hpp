// SPDX-License-Identifier: Apache-2.0
// svd(a). A program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <numeric>  // iota
#include <utility>  // forward

#include <locus/linalg/lapack.hpp>         // lapack, require_room
#include <locus/linalg/matrices.hpp>       // takes_matrices, for_each_matrix
#include <locus/linalg/plain_kernels.hpp>  // plain::svd
#include <locus/ops/call.hpp>              // call
#if LOCUS_CUDA_KERNELS
#include <locus/linalg/svd_card.hpp>  // cards::svd
#endif

namespace locus {

namespace linalg {

namespace host {
inline namespace LOCUS_MODE {

/// means: a = u diag(s) vt by LAPACK; false where it did not converge
template <class T>
bool svd_by_library(std::int64_t m, std::int64_t n, T const* a, T* u, T* s, T* vt) {
  std::int64_t const k = (std::min)(m, n);
  require_room("svd", double((std::max)(m, n)));
  locus::host::one_blas_thread const alone(locus::host::cblas());
  workspace<T> const copy(m * n);
  workspace<int> const numbers(8 * k);
  copy_as(a, copy.data(), m * n);
  // columns first, this is a turned, n rows and m columns: its left vectors are vt, its right ones u
  int const rows = int(n), columns = int(m), both = int(k), ask = -1;
  int ended = 0;
  T wish = 0;
  auto const run = [&](T* work, int const* room) {
    lapack<T>().gesdd("S", &rows, &columns, copy.data(), &rows, s, vt, &rows, u, &both, work, room,
                      numbers.data(), &ended, 1);
  };
  run(&wish, &ask);
  require_room("svd", double(wish) * 1.000001);
  int const room = static_cast<int>(double(wish) * 1.000001) + 1;
  workspace<T> const work(room);
  run(work.data(), &room);
  return ended == 0;
}
/// means: the same by loops of locus
template <class T>
void svd_by_loops(std::int64_t m, std::int64_t n, T const* a, T* u, T* s, T* vt) {
  bool const is_tall = m >= n;
  std::int64_t const k = (std::min)(m, n), length = (std::max)(m, n);
  workspace<double> const memory(k * length + k * k + k);
  workspace<std::int64_t> const order(k);
  double *const w = memory.data(), *const v = w + k * length, *const values = v + k * k;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      w[is_tall ? j * length + i : i * length + j] = double(a[i * n + j]);
  for (std::int64_t i = 0; i < k * k; ++i) v[i] = i / k == i % k ? 1 : 0;
  plain::svd(k, length, w, values, v);
  std::iota(order.data(), order.data() + k, 0);
  std::stable_sort(order.data(), order.data() + k,
                   [=](std::int64_t i, std::int64_t j) { return values[i] > values[j]; });
  for (std::int64_t i = 0; i < k; ++i) {
    double const *const longer = w + order.data()[i] * length,
                        *const shorter = v + order.data()[i] * k,
                        *const left = is_tall ? longer : shorter,
                        *const right = is_tall ? shorter : longer;
    s[i] = static_cast<T>(values[order.data()[i]]);
    for (std::int64_t j = 0; j < m; ++j) u[j * k + i] = static_cast<T>(left[j]);
    for (std::int64_t j = 0; j < n; ++j) vt[i * n + j] = static_cast<T>(right[j]);
  }
}
/// shape: a (m, n), u (m, k), s (k), vt (k, n)
template <class T>
void svd_of(std::int64_t m, std::int64_t n, T const* a, T* u, T* s, T* vt) {
  std::int64_t const k = (std::min)(m, n);
  if (k == 0) return;
  bool ended = all_finite(a, m * n);
  if (ended && lapack<T>())
    ended = svd_by_library(m, n, a, u, s, vt);
  else if (ended)
    svd_by_loops(m, n, a, u, s, vt);
  if (!ended) return fill_with_nan(u, m * k), fill_with_nan(s, k), fill_with_nan(vt, k * n);
  workspace<T> const vector(m);
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < m; ++j) vector.data()[j] = u[j * k + i];
    orient(vector.data(), m, vt + i * n, n);
    for (std::int64_t j = 0; j < m; ++j) u[j * k + i] = vector.data()[j];
  }
}

}  // namespace LOCUS_MODE
}  // namespace host

template <int Rank>
struct svd_op {
  static constexpr call_rule rule{.name = "svd",
                                  .operands = {role_of(Rank)},
                                  .results = {role_of(Rank), role_of(Rank), role_of(Rank)},
                                  .tensorflow = "Svd",
                                  .stores_all = true};
  static constexpr shape infer(int result, shape a) {
    if (a.rank != Rank) return no_shape;
    std::int64_t const k = smaller_extent(a);
    return result == 0   ? in_batch_of(a, a.from_right(1), k)
           : result == 1 ? in_batch_of(a, k)
                         : in_batch_of(a, k, a.from_right(0));
  }
  static constexpr std::int64_t operations(shape, shape a) {
    return 14 * a.size() * smaller_extent(a);
  }
  template <class T>
  void host(call_context const&, tile<T> u, tile<T> s, tile<T> vt, tile<T const> a) const {
    std::int64_t const m = a.extent[Rank - 2], n = a.extent[Rank - 1], k = (std::min)(m, n),
                       all = Rank == 3 ? a.extent[0] : 1;
    host::for_each_matrix(all, 14. * double(m * n) * double(k), [&](std::int64_t i) {
      host::svd_of(m, n, a.data + i * m * n, u.data + i * m * k, s.data + i * k,
                   vt.data + i * k * n);
    });
  }
  template <class T>
  void card(card_context& here, tile<T> u, tile<T> s, tile<T> vt, tile<T const> a) const;
};

#if LOCUS_CUDA_KERNELS
template <int Rank>
template <class T>
void svd_op<Rank>::card(card_context& here, tile<T> u, tile<T> s, tile<T> vt,
                        tile<T const> a) const {
  cards::svd(here, a.extent[Rank - 2], a.extent[Rank - 1], Rank == 3 ? a.extent[0] : 1, a.data,
             u.data, s.data, vt.data);
}
#endif

}  // namespace linalg

inline namespace LOCUS_MODE {

/// means: auto [u, s, vt] = svd(a): a = matmul(u * s, vt), s falling and not negative, u with
///        orthonormal columns and vt with orthonormal rows; the largest component of each column of
///        u is positive. NaN in every element where an element of a is infinite or NaN
/// shape: a (m, n) gives u (m, k), s (k) and vt (k, n), k = min(m, n); or batches; float or double
/// device: whole, or pieces of a batch along axis 0
/// cost:  one launch; about 14 m n k operations for each matrix, by LAPACK where one is found
///        (LOCUS_CBLAS=none: by loops of locus, which take about ten times as many), matrices of a
///        batch on several threads; on GPUs by cuSOLVER, or a round trip where there is none
/// fails: at compile time, for other types and ranks; no derivative; shape_error, for sizes that
///        LAPACK's int cannot name
/// after: LAPACK's gesdd, NumPy's svd with full_matrices=False
template <tensor_operand A>
constexpr auto svd(A&& a) {
  if constexpr (linalg::takes_matrices<A>())
    return call(linalg::svd_op<expression_of_t<A>::pattern.rank>{}, std::forward<A>(a));
}

}  // namespace LOCUS_MODE
}  // namespace locus
