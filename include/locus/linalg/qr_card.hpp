// SPDX-License-Identifier: Apache-2.0
// Orthonormal columns and an upper half on a GPU, by cuSOLVER.
#pragma once
#include <locus/linalg/folds_card.hpp>     // unless_finite
#include <locus/linalg/matrices_card.hpp>  // cusolver_table, for_each_matrix

namespace locus::linalg::host {
inline namespace LOCUS_MODE {
// qr.hpp defines it: what a recorder runs
template <class T>
void qr_of(std::int64_t m, std::int64_t n, T const* a, T* q, T* r);
}  // namespace LOCUS_MODE
}  // namespace locus::linalg::host

namespace locus::linalg::cards {
inline namespace LOCUS_MODE {

/// means: a = q r, for each matrix; the upper half of a becomes r
/// shape: a (all, m, n) and q (all, m, k), each matrix columns first; tau (k), infos (1)
template <class T>
struct qr_factors {
  static constexpr char const* name = "cusolverDnXgeqrf";
  using library = cusolver_table;
  int m, n;
  std::int64_t all;
  T *a, *q, *tau;
  std::int32_t* infos;

  int k() const { return m < n ? m : n; }
  algorithm_size size() const { return {m, n}; }
  void host() const {
    std::int64_t const whole = std::int64_t(m) * n, left = std::int64_t(m) * k(),
                       upper = std::int64_t(k()) * n;
    linalg::host::workspace<T> const memory(whole + left + upper);
    T *const rows = memory.data(), *const made = rows + whole, *const r = made + left;
    for (std::int64_t i = 0; i < all; ++i) {
      linalg::host::turn(a + i * whole, rows, n, m);
      linalg::host::qr_of<T>(m, n, rows, made, r);
      linalg::host::turn(made, q + i * left, m, k());
      for (int column = 0; column < n; ++column)
        for (int row = 0; row < k(); ++row)
          a[i * whole + column * std::int64_t(m) + row] = r[row * n + column];
    }
  }
  int card(void* memory, std::size_t* bytes, void* stream) const {
    auto const& solver = cusolver_table::instance().of<T>();
    return cuda_side::solver_handle::use(stream, [&](cuda_side::solver_handles const& with) {
      void* const handle = with.dense;
      int room = 0, other = 0;
      if (!memory) {
        int status = solver.room_of_geqrf(handle, m, n, a, m, &room);
        if (status == 0) status = solver.room_of_orgqr(handle, m, k(), k(), q, m, tau, &other);
        return say_room<T>(bytes, status, room < 0 || other < room ? room : other);
      }
      room = int(*bytes / sizeof(T));
      T* const work = static_cast<T*>(memory);
      return for_each_matrix(all, [&](std::int64_t i) {
        T* const one = a + i * m * n;
        T* const left = q + i * m * k();
        int status = solver.geqrf(handle, m, n, one, m, tau, work, room, infos);
        // the first k columns hold the reflections
        if (status == 0 && runtime::gpu_api->memcpy_async(
                               left, one, sizeof(T) * std::size_t(m) * std::size_t(k()), stream))
          status = cusolver_table::execution_failed;
        if (status == 0)
          status = solver.orgqr(handle, m, k(), k(), left, m, tau, work, room, infos);
        return status;
      });
    });
  }
};

/// Element i of r, rows first: the upper half of a, each row with the sign of its diagonal.
template <class T>
struct upper_half {
  std::int64_t m, n, k;
  T const *a, *found;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const one = i / (k * n), row = i / n % k, column = i % n;
    T const* const from = a + one * m * n;
    T const x = column < row ? T(0) : from[column * m + row];
    r[i] = (from[row * m + row] < 0 ? -x : x) + found[one];
  }
};
/// Element i of q, rows first: each column with the sign of that diagonal.
template <class T>
struct signed_columns {
  std::int64_t m, n, k;
  T const *a, *q, *found;
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const one = i / (m * k), row = i / k % m, column = i % k;
    T const x = q[(one * k + column) * m + row];
    to[i] = (a[one * m * n + column * m + column] < 0 ? -x : x) + found[one];
  }
};

/// means: as host::qr_of, for each matrix
template <class T>
void qr(card_context& here, std::int64_t m, std::int64_t n, std::int64_t all, T const* a, T* q,
        T* r) {
  std::int64_t const k = m < n ? m : n;
  if (all * k == 0) return;
  T const* const found = unless_finite(here, all, m * n, a);
  T* const columns = here.take<T>(all * m * n);
  T* const left = here.take<T>(all * m * k);
  T* const tau = here.take<T>(k);
  std::int32_t* const info = here.take<std::int32_t>(1);
  here.each(all * m * n, turned_copy<T>{m, n, a, found, columns});
  here.run(qr_factors<T>{int_of(m), int_of(n), all, columns, left, tau, info});
  here.each(all * k * n, upper_half<T>{m, n, k, columns, found, r});
  here.each(all * m * k, signed_columns<T>{m, n, k, columns, left, found, q});
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards
