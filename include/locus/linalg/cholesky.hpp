// SPDX-License-Identifier: Apache-2.0
// cholesky(a), cholesky_with_info(a). A program includes this header by name; <locus/locus.hpp> does
// not.
#pragma once
#include <utility>  // forward

#include <locus/linalg/lapack.hpp>         // lapack
#include <locus/linalg/matrices.hpp>       // takes_square_matrices, for_each_matrix
#include <locus/linalg/plain_kernels.hpp>  // plain::cholesky
#include <locus/ops/call.hpp>              // call
#if LOCUS_CUDA_KERNELS
#include <locus/linalg/cholesky_card.hpp>  // cards::cholesky
#endif

namespace locus {

namespace linalg {

namespace host {
inline namespace LOCUS_MODE {

/// means: l = the factor of a, zeros above its diagonal; NaN everywhere where there is none
/// returns: 0, or the number of rows of the first leading part that is not positive definite
template <class T>
int cholesky_of(std::int64_t n, T const* a, T* l) {
  int info = 0;
  if (auto const& library = lapack<T>(); library && n > 0) {
    locus::host::one_blas_thread const alone(locus::host::cblas());
    copy_as(a, l, n * n);
    int const size = static_cast<int>(n);
    library.potrf("U", &size, l, &size, &info, 1);  // columns first, the lower half is the upper
  } else {
    workspace<double> const memory(n * n);
    copy_as(a, memory.data(), n * n);
    info = plain::cholesky(n, memory.data());
    copy_as(memory.data(), l, n * n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    T const root = l[i * n + i];  // OpenBLAS lets a NaN pass
    if (info == 0 && !(root > 0 && root <= (std::numeric_limits<T>::max)()))
      info = static_cast<int>(i + 1);
    for (std::int64_t j = i + 1; j < n; ++j) l[i * n + j] = 0;
  }
  if (info != 0) fill_with_nan(l, n * n);
  return info;
}

/// means: s = (the half of P + Pt), turned back through l: the adjoint of a where g is that of l,
///        P the lower half of lt g with half of its diagonal
template <class T>
void cholesky_gradient(std::int64_t n, T const* g, T const* l, T* s) {
  workspace<double> const memory(n * n);
  double* const w = memory.data();
  auto const at = [n](auto* x, std::int64_t i, std::int64_t j) -> auto& { return x[i * n + j]; };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int64_t k = i; k < n; ++k) sum += double(at(l, k, i)) * double(at(g, k, j));
      at(w, i, j) = at(w, j, i) = sum / 2;
    }
  for (std::int64_t i = n; i-- > 0;)  // w = the inverse of lt, times w
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = at(w, i, j);
      for (std::int64_t k = i + 1; k < n; ++k) sum -= double(at(l, k, i)) * at(w, k, j);
      at(w, i, j) = sum / double(at(l, i, i));
    }
  for (std::int64_t i = 0; i < n; ++i)  // w = w, times the inverse of l
    for (std::int64_t j = n; j-- > 0;) {
      double sum = at(w, i, j);
      for (std::int64_t k = j + 1; k < n; ++k) sum -= at(w, i, k) * double(at(l, k, j));
      at(w, i, j) = sum / double(at(l, j, j));
    }
  copy_as(w, s, n * n);
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: the adjoint of a, which is symmetric, from g, that of l     shape: that of l
/// after: Murray, Differentiation of the Cholesky decomposition, 2016
template <int Rank>
struct cholesky_gradient_op {
  static constexpr call_rule rule{.name = "cholesky.gradient",
                                  .operands = {role_of(Rank), role_of(Rank)},
                                  .results = {role_of(Rank)},
                                  .tensorflow = "CholeskyGrad"};
  static constexpr shape infer(int, shape, shape l) { return l; }
  static constexpr std::int64_t operations(shape, shape, shape l) {
    return 2 * l.size() * l.from_right(0);
  }
  template <class T>
  void host(call_context const&, tile<T> s, tile<T const> g, tile<T const> l) const {
    std::int64_t const n = l.extent[Rank - 1], all = Rank == 3 ? l.extent[0] : 1;
    host::for_each_matrix(all, 2. * double(n * n * n), [&](std::int64_t k) {
      host::cholesky_gradient(n, g.data + k * n * n, l.data + k * n * n, s.data + k * n * n);
    });
  }
};

/// means: l[i, j] with a = l lt, and with Info, how each factorization ended
template <int Rank, bool Info>
struct cholesky_op {
  static constexpr call_rule rule{.name = "cholesky",
                                  .operands = {role_of(Rank)},
                                  .results = Info ? call_roles{role_of(Rank), role_of(Rank)}
                                                  : call_roles{role_of(Rank)},
                                  .tensorflow = "Cholesky",
                                  .stores_all = true};
  template <int Result, class T>
  using result = std::conditional_t<Result == 0, T, std::int32_t>;
  static constexpr shape infer(int r, shape a) {
    if (!may_be_square(a)) return no_shape;
    return r == 0 ? square(a) : shape{a.rank - 2, {a.extent[0]}};
  }
  static constexpr std::int64_t operations(shape, shape a) {
    return a.size() * a.from_right(0) / 3;
  }
  template <class T>
    requires(!Info)
  void host(call_context const&, tile<T> l, tile<T const> a) const {
    factor(l, static_cast<std::int32_t*>(nullptr), a);
  }
  template <class T>
    requires Info
  void host(call_context const&, tile<T> l, tile<std::int32_t> info, tile<T const> a) const {
    factor(l, info.data, a);
  }
  template <class T>
    requires(!Info)
  void card(card_context& here, tile<T> l, tile<T const> a) const;
  template <class T>
    requires Info
  void card(card_context& here, tile<T> l, tile<std::int32_t> info, tile<T const> a) const;
  template <class G, class Y, class A>
  static constexpr auto pullback(G const& g, Y const& y, A const&) {
    if constexpr (Info)
      return call(cholesky_gradient_op<Rank>{}, g, locus::result<0>(y));
    else
      return call(cholesky_gradient_op<Rank>{}, g, y);
  }

 private:
  template <class T>
  static void factor(tile<T> l, std::int32_t* info, tile<T const> a) {
    std::int64_t const n = a.extent[Rank - 1], all = Rank == 3 ? a.extent[0] : 1;
    host::for_each_matrix(all, double(n * n * n) / 3, [&](std::int64_t k) {
      int const ended = host::cholesky_of(n, a.data + k * n * n, l.data + k * n * n);
      if (info) info[k] = ended;
    });
  }
};

#if LOCUS_CUDA_KERNELS
template <int Rank, bool Info>
template <class T>
  requires(!Info)
void cholesky_op<Rank, Info>::card(card_context& here, tile<T> l, tile<T const> a) const {
  cards::cholesky(here, a.extent[Rank - 1], Rank == 3 ? a.extent[0] : 1, a.data, l.data,
                  static_cast<std::int32_t*>(nullptr));
}
template <int Rank, bool Info>
template <class T>
  requires Info
void cholesky_op<Rank, Info>::card(card_context& here, tile<T> l, tile<std::int32_t> info,
                                   tile<T const> a) const {
  cards::cholesky(here, a.extent[Rank - 1], Rank == 3 ? a.extent[0] : 1, a.data, l.data, info.data);
}
#endif

}  // namespace linalg

inline namespace LOCUS_MODE {

/// means: l, zero above its diagonal, with a = l lt; only the lower half of a is read. NaN in every
///        element where a matrix is not positive definite
/// shape: (n, n), or a batch (b, n, n) with one factor for each matrix; float or double
/// device: whole, or pieces of a batch along axis 0
/// cost:  one launch; n^3 / 3 operations for each matrix, by LAPACK where one is found
///        (LOCUS_CBLAS=none: by loops of locus), matrices of a batch on several threads; on GPUs by
///        cuSOLVER, or a round trip to the host where there is none
/// fails: at compile time, for other types and ranks, and for static extents that are not square;
///        shape_error, where extents are not square when they are bound
/// after: LAPACK's potrf, NumPy's cholesky; the derivative is symmetric
template <tensor_operand A>
constexpr auto cholesky(A&& a) {
  if constexpr (linalg::takes_square_matrices<A>())
    return call(linalg::cholesky_op<expression_of_t<A>::pattern.rank, false>{}, std::forward<A>(a));
}
/// means: auto [l, info] = cholesky_with_info(a): the same, and an int32 for each matrix: 0, or the
///        number of rows of the first leading part of it that is not positive definite
/// shape: info: (), or (b)     device, cost, fails, after: as cholesky
template <tensor_operand A>
constexpr auto cholesky_with_info(A&& a) {
  if constexpr (linalg::takes_square_matrices<A>())
    return call(linalg::cholesky_op<expression_of_t<A>::pattern.rank, true>{}, std::forward<A>(a));
}

}  // namespace LOCUS_MODE
}  // namespace locus
