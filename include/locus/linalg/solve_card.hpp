// SPDX-License-Identifier: Apache-2.0
// Linear equations on a GPU, by cuSOLVER.
#pragma once
#include <locus/linalg/matrices_card.hpp>  // cusolver_table, for_each_matrix

namespace locus::linalg::host {
inline namespace LOCUS_MODE {
// solve.hpp defines it: what a recorder runs
template <class T, class Right>
int solution_of(std::int64_t n, std::int64_t m, T const* a, Right const& right, T* x);
}  // namespace LOCUS_MODE
}  // namespace locus::linalg::host

namespace locus::linalg::cards {
inline namespace LOCUS_MODE {

/// means: b becomes x with a x = b, for each matrix; a is overwritten
/// shape: a (all, n, n) and b (all, n, m), each matrix columns first; pivots (all, n), infos (all + 1);
///        each_a, each_b: where the matrices lie
template <class T>
struct equations {
  static constexpr char const* name = "cusolverDnXgetrf";
  static constexpr int largest_small = 256;  // of a batch: cuBLAS solves it in two calls
  using library = cusolver_table;
  int n, m;
  std::int64_t all;
  T *a, *b;
  T **each_a, **each_b;
  std::int32_t *pivots, *infos;

  bool is_small_batch() const { return all > 1 && all <= 2147483647 && n <= largest_small; }
  algorithm_size size() const { return {n, is_small_batch()}; }
  void host() const {
    std::int64_t const square = std::int64_t(n) * n, wide = std::int64_t(n) * m;
    linalg::host::workspace<T> const memory(square + 2 * wide);
    T *const rows = memory.data(), *const right = rows + square, *const x = right + wide;
    for (std::int64_t k = 0; k < all; ++k) {
      linalg::host::turn(a + k * square, rows, n, n);
      linalg::host::turn(b + k * wide, right, m, n);
      infos[k] = linalg::host::solution_of<T>(
          n, m, rows, [&](std::int64_t i, std::int64_t j) { return right[i * m + j]; }, x);
      linalg::host::turn(x, b + k * wide, n, m);
    }
  }
  int card(void* memory, std::size_t* bytes, void* stream) const {
    auto const& solver = cusolver_table::instance().of<T>();
    return cuda_side::solver_handle::use(stream, [&](cuda_side::solver_handles const& with) {
      void* const handle = with.dense;
      int room = 0;
      if (with.blas && is_small_batch()) {
        if (!memory) return 0;
        int status = solver.getrf_batched(with.blas, n, each_a, n, pivots, infos, int(all));
        int refused = 0;
        if (status == 0 && m > 0)
          status = solver.getrs_batched(with.blas, cusolver_table::as_it_is, n, m, each_a, n,
                                        pivots, each_b, n, &refused, int(all));
        return cuda_side::solver_handle::of_blas(status);
      }
      if (!memory) {
        int const status = solver.room_of_getrf(handle, n, n, a, n, &room);
        return say_room<T>(bytes, status, room);
      }
      return for_each_matrix(all, [&](std::int64_t k) {
        T* const factors = a + k * n * n;
        int const status =
            solver.getrf(handle, n, n, factors, n, static_cast<T*>(memory), pivots, infos + k);
        return status != 0 || m == 0 ? status
                                     : solver.getrs(handle, cusolver_table::as_it_is, n, m, factors,
                                                    n, pivots, b + k * n * m, n, infos + all);
      });
    });
  }
};

/// Element i of identities, each (n, n).
template <class T>
struct identities {
  std::int64_t n;
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    to[i] = i / n % n == i % n ? T(1) : T(0);
  }
};
/// means: as host::solution_of, for each matrix; b: null: x becomes the inverse of a, m is n; said:
///        null, or how each ended
template <class T>
void solve(card_context& here, std::int64_t n, std::int64_t m, std::int64_t all, T const* a,
           T const* b, T* x, std::int32_t* said) {
  if (all * n == 0) {
    if (said) here.each(all, infos_for_caller{nullptr, said});
    return;
  }
  T* const factors = here.take<T>(all * n * n);
  T* const columns = m == 1 ? x : here.take<T>(all * n * m);
  T** const each_a = here.take<T*>(all);
  T** const each_b = here.take<T*>(all);
  std::int32_t* const pivots = here.take<std::int32_t>(all * n);
  std::int32_t* const infos = here.take<std::int32_t>(all + 1);
  here.each(all * n * n, turned_copy<T>{n, n, a, nullptr, factors});
  if (!b)
    here.each(all * n * m, identities<T>{n, columns});
  else
    here.each(all * n * m, turned_copy<T>{n, m, b, nullptr, columns});
  here.each(all, addresses<T>{n * n, factors, each_a});
  here.each(all, addresses<T>{n * m, columns, each_b});
  here.run(
      equations<T>{int_of(n), int_of(m), all, factors, columns, each_a, each_b, pivots, infos});
  if (columns != x) here.each(all * n * m, turned_copy<T>{m, n, columns, nullptr, x});
  here.each(all * n * m, nan_where<T>{n * m, nullptr, infos, x});
  if (said) here.each(all, infos_for_caller{infos, said});
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards
