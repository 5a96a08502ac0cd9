// SPDX-License-Identifier: Apache-2.0
// qr(a). A program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <algorithm>  // max, min
#include <climits>    // INT_MAX
#include <utility>    // forward

#include <locus/linalg/lapack.hpp>         // lapack, require_room
#include <locus/linalg/matrices.hpp>       // takes_matrices, for_each_matrix
#include <locus/linalg/plain_kernels.hpp>  // plain::qr
#include <locus/ops/call.hpp>              // call
#if LOCUS_CUDA_KERNELS
#include <locus/linalg/qr_card.hpp>  // cards::qr
#endif

namespace locus {

namespace linalg {

namespace host {
inline namespace LOCUS_MODE {

/// means: a = q r, the diagonal of r not negative     shape: a (m, n), q (m, k), r (k, n)
template <class T>
void qr_of(std::int64_t m, std::int64_t n, T const* a, T* q, T* r) {
  std::int64_t const k = (std::min)(m, n);
  if (!all_finite(a, m * n)) return fill_with_nan(q, m * k), fill_with_nan(r, k * n);
  if (auto const& library = lapack<T>(); library && k > 0) {
    require_room("qr", double((std::max)(m, n)));
    locus::host::one_blas_thread const alone(locus::host::cblas());
    // work for 64 columns at once, for fewer ones where an int cannot say so much
    std::int64_t const room =
        (std::min)(n * (std::min)(k, std::int64_t(64)), std::int64_t(INT_MAX));
    workspace<T> const memory(m * n + k + room);
    T *const columns = memory.data(), *const tau = columns + m * n, *const work = tau + k;
    int const rows = int(m), all = int(n), both = int(k), wide = int(room);
    int ended = 0;
    turn(a, columns, m, n);
    library.geqrf(&rows, &all, columns, &rows, tau, work, &wide, &ended);
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : columns[j * m + i];
    if (ended == 0) library.orgqr(&rows, &both, &both, columns, &rows, tau, work, &wide, &ended);
    if (ended != 0) return fill_with_nan(q, m * k), fill_with_nan(r, k * n);
    turn(columns, q, k, m);
  } else {
    workspace<double> const memory(m * n + m * k);
    double *const rows = memory.data(), *const made = rows + m * n;
    copy_as(a, rows, m * n);
    plain::qr(m, n, rows, made);
    copy_as(made, q, m * k);
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : T(rows[i * n + j]);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    if (!(r[i * n + i] < 0)) continue;
    for (std::int64_t j = i; j < n; ++j) r[i * n + j] = -r[i * n + j];
    for (std::int64_t j = 0; j < m; ++j) q[j * k + i] = -q[j * k + i];
  }
}

}  // namespace LOCUS_MODE
}  // namespace host

template <int Rank>
struct qr_op {
  static constexpr call_rule rule{.name = "qr",
                                  .operands = {role_of(Rank)},
                                  .results = {role_of(Rank), role_of(Rank)},
                                  .tensorflow = "Qr",
                                  .stores_all = true};
  static constexpr shape infer(int result, shape a) {
    if (a.rank != Rank) return no_shape;
    std::int64_t const k = smaller_extent(a);
    return result == 0 ? in_batch_of(a, a.from_right(1), k) : in_batch_of(a, k, a.from_right(0));
  }
  static constexpr std::int64_t operations(shape, shape a) {
    return 4 * a.size() * smaller_extent(a);
  }
  template <class T>
  void host(call_context const&, tile<T> q, tile<T> r, tile<T const> a) const {
    std::int64_t const m = a.extent[Rank - 2], n = a.extent[Rank - 1], k = (std::min)(m, n),
                       all = Rank == 3 ? a.extent[0] : 1;
    host::for_each_matrix(all, 4. * double(m * n) * double(k), [&](std::int64_t i) {
      host::qr_of(m, n, a.data + i * m * n, q.data + i * m * k, r.data + i * k * n);
    });
  }
  template <class T>
  void card(card_context& here, tile<T> q, tile<T> r, tile<T const> a) const;
};

#if LOCUS_CUDA_KERNELS
template <int Rank>
template <class T>
void qr_op<Rank>::card(card_context& here, tile<T> q, tile<T> r, tile<T const> a) const {
  cards::qr(here, a.extent[Rank - 2], a.extent[Rank - 1], Rank == 3 ? a.extent[0] : 1, a.data,
            q.data, r.data);
}
#endif

}  // namespace linalg

inline namespace LOCUS_MODE {

/// means: auto [q, r] = qr(a): a = matmul(q, r), q with orthonormal columns, r zero below its
///        diagonal, which is not negative: both are unique where a has full rank. NaN in every
///        element where an element of a is infinite or NaN
/// shape: a (m, n) gives q (m, k) and r (k, n), k = min(m, n); or batches of them; float or double
/// device: whole, or pieces of a batch along axis 0
/// cost:  one launch; about 4 m n k operations for each matrix, by LAPACK where one is found
///        (LOCUS_CBLAS=none: by loops of locus), matrices of a batch on several threads; on GPUs by
///        cuSOLVER, or a round trip to the host where there is none
/// fails: at compile time, for other types and ranks; no derivative; shape_error, for an extent
///        that LAPACK's int cannot name
/// after: LAPACK's geqrf and orgqr, NumPy's qr with mode reduced
template <tensor_operand A>
constexpr auto qr(A&& a) {
  if constexpr (linalg::takes_matrices<A>())
    return call(linalg::qr_op<expression_of_t<A>::pattern.rank>{}, std::forward<A>(a));
}

}  // namespace LOCUS_MODE
}  // namespace locus
