// SPDX-License-Identifier: Apache-2.0
// solve(a, b), solve_with_info(a, b), inverse(a). A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/pack.hpp>             // make_pack
#include <locus/grad/forward.hpp>          // bind_as
#include <locus/linalg/lapack.hpp>         // lapack, require_room
#include <locus/linalg/matrices.hpp>       // takes_square_matrices, for_each_matrix
#include <locus/linalg/plain_kernels.hpp>  // plain::solve
#include <locus/ops/arithmetic.hpp>        // *, -
#include <locus/ops/call.hpp>              // call
#include <locus/ops/matmul.hpp>            // matmul
#if LOCUS_CUDA_KERNELS
#include <locus/linalg/solve_card.hpp>  // cards::solve
#endif

namespace locus {

namespace linalg {

namespace host {
inline namespace LOCUS_MODE {

/// means: x with a x = b; NaN everywhere where a is singular     shape: a (n, n), b and x (n, m)
/// returns: 0, or the number of the first column of a without a pivot
template <class T, class Right>
int solution_of(std::int64_t n, std::int64_t m, T const* a, Right const& right, T* x) {
  int info = 0;
  if (auto const& library = lapack<T>(); library && n > 0 && m > 0) {
    require_room("solve", double(m));
    locus::host::one_blas_thread const alone(locus::host::cblas());
    workspace<T> const memory(n * n + n * m);
    workspace<int> const pivots(n);
    T *const factors = memory.data(), *const columns = factors + n * n;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) columns[j * n + i] = right(i, j);
    turn(a, factors, n, n);  // columns first
    int const size = static_cast<int>(n), all = static_cast<int>(m);
    library.getrf(&size, &size, factors, &size, pivots.data(), &info);
    int ended = 0;
    if (info == 0)
      library.getrs("N", &size, &all, factors, &size, pivots.data(), columns, &size, &ended, 1);
    turn(columns, x, m, n);
  } else {
    workspace<double> const memory(n * n + n * m);
    double *const rows = memory.data(), *const found = rows + n * n;
    copy_as(a, rows, n * n);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) found[i * m + j] = static_cast<double>(right(i, j));
    info = plain::solve(n, m, rows, found);
    copy_as(found, x, n * m);
  }
  if (info != 0) fill_with_nan(x, n * m);
  return info;
}

}  // namespace LOCUS_MODE
}  // namespace host

/// means: with Columns: x with a x = b, where b has the rank Columns; without (0): the inverse of a
template <int Rank, int Columns, bool Info>
struct solve_op {
  static constexpr call_role role = role_of(Rank);
  static constexpr call_rule rule{.name = Columns ? "solve" : "inverse",
                                  .operands = Columns ? call_roles{role, role} : call_roles{role},
                                  .results = Info ? call_roles{role, role} : call_roles{role},
                                  .tensorflow = Columns ? "MatrixSolve" : "MatrixInverse",
                                  .stores_all = true};
  template <int Result, class T, class...>
  using result = std::conditional_t<Result == 0, T, std::int32_t>;

  static constexpr shape infer(int r, shape a) {
    if (!may_be_square(a)) return no_shape;
    return r == 0 ? square(a) : shape{a.rank - 2, {a.extent[0]}};
  }
  static constexpr shape infer(int r, shape a, shape b) {
    int const rows = Columns == 1 ? 0 : Rank - 2;
    if (!may_be_square(a) || b.rank != Columns) return no_shape;
    a = square(a);
    if (!may_be_equal(a.extent[Rank - 1], b.extent[rows])) return no_shape;
    if (Rank == 3 && !may_be_equal(a.extent[0], b.extent[0])) return no_shape;
    if (r == 1) return shape{a.rank - 2, {a.extent[0]}};
    if (b.extent[rows] == dyn) b.extent[rows] = a.extent[Rank - 1];
    if (Rank == 3 && b.extent[0] == dyn) b.extent[0] = a.extent[0];
    return b;
  }
  template <class... B>
  static constexpr std::int64_t operations(shape x, shape a, B...) {
    return a.size() * a.from_right(0) * 2 / 3 + 2 * x.size() * a.from_right(0);
  }
  template <class T, class... B>
    requires(!Info)
  void host(call_context const&, tile<T> x, tile<T const> a, B... b) const {
    solve_all(x, static_cast<std::int32_t*>(nullptr), a, b...);
  }
  template <class T, class... B>
    requires Info
  void host(call_context const&, tile<T> x, tile<std::int32_t> info, tile<T const> a,
            B... b) const {
    solve_all(x, info.data, a, b...);
  }
  template <class T, class... B>
    requires(!Info)
  void card(card_context& here, tile<T> x, tile<T const> a, B... b) const;
  template <class T, class... B>
    requires Info
  void card(card_context& here, tile<T> x, tile<std::int32_t> info, tile<T const> a, B... b) const;

  /// b's is y with at y = g, a's is -y xt
  template <class Id, class G, class Y, class A, class B>
    requires(Columns > 0)
  static constexpr auto pullback(G const& g, Y const& y, A const& a, B const&) {
    auto const back = internal::bind_as<Id>(call(solve_op<Rank, Columns, false>{}, turned(a), g));
    if constexpr (Columns == 1)
      return make_pack(-(expand_dims<-1>(back) * expand_dims<0>(value_of(y))), back);
    else
      return make_pack(-matmul(back, turned(value_of(y))), back);
  }
  template <class G, class Y, class A>
    requires(Columns == 0)
  static constexpr auto pullback(G const& g, Y const& y, A const&) {
    auto const back = turned(value_of(y));
    return -matmul(matmul(back, g), back);
  }

 private:
  template <class Y>
  static constexpr auto value_of(Y const& y) {
    if constexpr (Info)
      return locus::result<0>(y);
    else
      return y;
  }
  template <class T>
  static void solve_all(tile<T> x, std::int32_t* info, tile<T const> a) {
    std::int64_t const n = a.extent[Rank - 1];
    for_all(info, a, n, [&](std::int64_t k, T const* matrix) {
      auto const one = [](std::int64_t i, std::int64_t j) { return i == j ? T(1) : T(0); };
      return host::solution_of(n, n, matrix, one, x.data + k * n * n);
    });
  }
  template <class T>
  static void solve_all(tile<T> x, std::int32_t* info, tile<T const> a, tile<T const> b) {
    std::int64_t const n = a.extent[Rank - 1], m = Columns == 1 ? 1 : b.extent[Rank - 1];
    for_all(info, a, m, [&](std::int64_t k, T const* matrix) {
      T const* const from = b.data + k * n * m;
      auto const right = [=](std::int64_t i, std::int64_t j) { return from[i * m + j]; };
      return host::solution_of(n, m, matrix, right, x.data + k * n * m);
    });
  }
  template <class T, class F>
  static void for_all(std::int32_t* info, tile<T const> a, std::int64_t m, F const& f) {
    std::int64_t const n = a.extent[Rank - 1], all = Rank == 3 ? a.extent[0] : 1;
    host::for_each_matrix(all, double(n * n) * double(n + 2 * m), [&](std::int64_t k) {
      int const ended = f(k, a.data + k * n * n);
      if (info) info[k] = ended;
    });
  }
};

#if LOCUS_CUDA_KERNELS
namespace cards {
template <int Rank, int Columns, class T, class... B>
void solve_tiles(card_context& here, tile<T> x, std::int32_t* info, tile<T const> a, B... b) {
  std::int64_t const n = a.extent[Rank - 1], m = Columns == 1   ? 1
                                                 : Columns == 0 ? n
                                                                : x.extent[Rank - 1];
  T const* right = nullptr;
  ((right = b.data), ...);
  solve(here, n, m, Rank == 3 ? a.extent[0] : 1, a.data, right, x.data, info);
}
}  // namespace cards
template <int Rank, int Columns, bool Info>
template <class T, class... B>
  requires(!Info)
void solve_op<Rank, Columns, Info>::card(card_context& here, tile<T> x, tile<T const> a,
                                         B... b) const {
  cards::solve_tiles<Rank, Columns>(here, x, nullptr, a, b...);
}
template <int Rank, int Columns, bool Info>
template <class T, class... B>
  requires Info
void solve_op<Rank, Columns, Info>::card(card_context& here, tile<T> x, tile<std::int32_t> info,
                                         tile<T const> a, B... b) const {
  cards::solve_tiles<Rank, Columns>(here, x, info.data, a, b...);
}
#endif

template <class A, class B>
consteval bool takes_right_side() {
  if constexpr (takes_square_matrices<A>()) {
    constexpr int rank = expression_of_t<A>::pattern.rank,
                  columns = expression_of_t<B>::pattern.rank;
    constexpr bool has_rank = columns == rank || (rank == 2 && columns == 1),
                   same = std::is_same_v<element_of_t<A>, element_of_t<B>>;
    static_assert(has_rank, "locus: the right side of solve has as many axes as its matrices, or "
                            "one beside a single matrix; reshape it");
    static_assert(same, "locus: both sides of solve have the same element type; write "
                        "cast<double>(b)");
    return has_rank && same;
  } else
    return false;
}
template <bool Info, class A, class B>
constexpr auto solved(A&& a, B&& b) {
  if constexpr (takes_right_side<A, B>())
    return call(
        solve_op<expression_of_t<A>::pattern.rank, expression_of_t<B>::pattern.rank, Info>{},
        std::forward<A>(a), std::forward<B>(b));
}

}  // namespace linalg

inline namespace LOCUS_MODE {

/// means: x with matmul(a, x) = b; NaN in every element where a matrix is singular, that is, where a
///        pivot is exactly 0
/// shape: a (n, n), b (n, m) or (n); or batches (k, n, n) and (k, n, m); float or double. x: as b
/// device: whole, or pieces of both batches along axis 0
/// cost:  one launch; 2/3 n^3 + 2 n^2 m operations for each matrix, by LAPACK where one is found
///        (LOCUS_CBLAS=none: by loops of locus), matrices of a batch on several threads; on GPUs by
///        cuSOLVER, or a round trip to the host where there is none
/// fails: at compile time, for other types and ranks, and for static extents that do not fit;
///        shape_error, where extents do not fit when they are bound, and for more columns of b than
///        LAPACK's int can name
/// after: LAPACK's getrf and getrs, NumPy's solve
template <tensor_operand A, tensor_operand B>
constexpr auto solve(A&& a, B&& b) {
  return linalg::solved<false>(std::forward<A>(a), std::forward<B>(b));
}
/// means: auto [x, info] = solve_with_info(a, b): the same, and an int32 for each matrix: 0, or the
///        number of the first column without a pivot
/// shape: info: (), or (k)     device, cost, fails, after: as solve
template <tensor_operand A, tensor_operand B>
constexpr auto solve_with_info(A&& a, B&& b) {
  return linalg::solved<true>(std::forward<A>(a), std::forward<B>(b));
}
/// means: the inverse of a, which is solve(a, the identity); to solve equations is quicker and more
///        exact
/// shape: that of a     device, cost, fails, after: as solve
template <tensor_operand A>
constexpr auto inverse(A&& a) {
  if constexpr (linalg::takes_square_matrices<A>())
    return call(linalg::solve_op<expression_of_t<A>::pattern.rank, 0, false>{}, std::forward<A>(a));
}

}  // namespace LOCUS_MODE
}  // namespace locus
