// SPDX-License-Identifier: Apache-2.0
// Cholesky's factors on a GPU, by cuSOLVER.
#pragma once
#include <locus/linalg/folds_card.hpp>     // bad_roots_of
#include <locus/linalg/matrices_card.hpp>  // cusolver_table, for_each_matrix

namespace locus::linalg::host {
inline namespace LOCUS_MODE {
// cholesky.hpp defines it: what a recorder runs
template <class T>
int cholesky_of(std::int64_t n, T const* a, T* l);
}  // namespace LOCUS_MODE
}  // namespace locus::linalg::host

namespace locus::linalg::cards {
inline namespace LOCUS_MODE {

/// means: the lower half of each matrix of a, columns first, becomes its factor; a batch of small
///        matrices is one call
/// cost:  of the upper half cuSOLVER 12 takes three times as long
template <class T>
struct cholesky_factors {
  static constexpr char const* name = "cusolverDnXpotrf";
  static constexpr int largest_small = 512;
  using library = cusolver_table;
  int n;
  std::int64_t all;
  T* a;
  T** each;  // where each matrix lies
  std::int32_t* infos;

  bool is_one_call() const { return all > 1 && n <= largest_small && all <= 2147483647; }
  algorithm_size size() const { return {n, is_one_call()}; }
  void host() const {
    for (std::int64_t k = 0; k < all; ++k) {
      T* const one = a + k * n * n;
      std::int64_t const size = std::int64_t(n) * n;
      linalg::host::workspace<T> const memory(2 * size);
      T *const rows = memory.data(), *const l = rows + size;
      linalg::host::turn(one, rows, n, n);
      infos[k] = linalg::host::cholesky_of<T>(n, rows, l);
      linalg::host::turn(l, one, n, n);
    }
  }
  int card(void* memory, std::size_t* bytes, void* stream) const {
    auto const& solver = cusolver_table::instance().of<T>();
    constexpr int half = cusolver_table::lower;
    return cuda_side::solver_handle::use(stream, [&](cuda_side::solver_handles const& with) {
      void* const handle = with.dense;
      if (is_one_call())
        return memory ? solver.potrf_batched(handle, half, n, each, n, infos, int(all)) : 0;
      int room = 0;
      if (!memory) {
        int const status = solver.room_of_potrf(handle, half, n, a, n, &room);
        return say_room<T>(bytes, status, room);
      }
      room = int(*bytes / sizeof(T));
      return for_each_matrix(all, [&](std::int64_t k) {
        return solver.potrf(handle, half, n, a + k * n * n, n, static_cast<T*>(memory), room,
                            infos + k);
      });
    });
  }
};

/// Element i of the factors, rows first: 0 above the diagonal, NaN where there is none.
template <class T>
struct lower_half {
  std::int64_t n;
  std::int32_t const* infos;
  T const* columns;
  T* l;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const k = i / (n * n), row = i / n % n, column = i % n;
    T const x = column > row ? T(0) : columns[(k * n + column) * n + row];
    l[i] = infos[k] != 0 ? T(__builtin_nan("")) : x;
  }
};
/// The library's number for a matrix, or that of its first root that is none.
struct first_failure {
  std::int32_t const* roots;
  std::int32_t* infos;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    if (infos[k] == 0) infos[k] = roots[k];
  }
};

/// means: as host::cholesky_of, for each matrix; infos: null, or how each ended
template <class T>
void cholesky(card_context& here, std::int64_t n, std::int64_t all, T const* a, T* l,
              std::int32_t* infos) {
  if (all * n == 0) {
    if (infos) here.each(all, infos_for_caller{nullptr, infos});
    return;
  }
  if (!infos) infos = here.take<std::int32_t>(all);
  std::int64_t const size = n * n;
  T** const each = here.take<T*>(all);
  T* const columns = here.take<T>(all * size);
  here.each(all * size, turned_copy<T>{n, n, a, nullptr, columns});
  here.each(all, addresses<T>{size, columns, each});
  here.run(cholesky_factors<T>{int_of(n), all, columns, each, infos});
  here.each(all, first_failure{bad_roots_of(here, all, n, columns), infos});
  here.each(all * size, lower_half<T>{n, infos, columns, l});
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards
