// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of symmetric matrices on a GPU, by cuSOLVER.
#pragma once
#include <locus/linalg/folds_card.hpp>     // unless_finite, signs_of
#include <locus/linalg/matrices_card.hpp>  // cusolver_table, for_each_matrix

namespace locus::linalg::host {
inline namespace LOCUS_MODE {
// eigh.hpp defines it: what a recorder runs
template <class T>
void eigh_of(std::int64_t n, T const* a, T* w, T* v);
}  // namespace LOCUS_MODE
}  // namespace locus::linalg::host

namespace locus::linalg::cards {
inline namespace LOCUS_MODE {

/// means: a v = v diag(w), for each matrix, of which the lower half is read; v replaces a. A batch is one
///        call, where cuSOLVER has it
/// shape: a (all, n, n), rows first, then vectors one behind the other; w (all, n), infos (all)
template <class T>
struct eigenvectors {
  static constexpr char const* name = "cusolverDnXsyevd";
  using library = cusolver_table;
  int n;
  std::int64_t all;
  T *a, *w;
  std::int32_t* infos;

  algorithm_size size() const { return {n, all}; }
  void host() const {
    std::int64_t const square = std::int64_t(n) * n;
    linalg::host::workspace<T> const v(square);
    for (std::int64_t k = 0; k < all; ++k) {
      linalg::host::eigh_of<T>(n, a + k * square, w + k * n, v.data());
      linalg::host::turn(v.data(), a + k * square, n, n);
      infos[k] = 0;
    }
  }
  int card(void* memory, std::size_t* bytes, void* stream) const {
    auto const& solver = cusolver_table::instance().of<T>();
    constexpr int half = cusolver_table::upper,  // of columns: the lower half of rows
        vectors = cusolver_table::vectors;
    return cuda_side::solver_handle::use(stream, [&](cuda_side::solver_handles const& with) {
      void* const handle = with.dense;
      if (all > 1 && with.parameters) {
        auto const& table = cusolver_table::instance();
        constexpr int type =
            sizeof(T) == sizeof(float) ? cusolver_table::real_float : cusolver_table::real_double;
        std::size_t on_card = 0, on_host = 0;
        int const status =
            table.room_of_syev_batched(handle, with.parameters, vectors, half, n, type, a, n, type,
                                       w, type, &on_card, &on_host, all);
        if (status != 0) return status;
        if (on_host == 0) {  // memory of the host would have to outlive this call
          if (!memory) return *bytes = on_card, 0;
          return table.syev_batched(handle, with.parameters, vectors, half, n, type, a, n, type, w,
                                    type, memory, *bytes, nullptr, 0, infos, all);
        }
      }
      int room = 0;
      if (!memory) {
        int const status = solver.room_of_syevd(handle, vectors, half, n, a, n, w, &room);
        return say_room<T>(bytes, status, room);
      }
      room = int(*bytes / sizeof(T));
      return for_each_matrix(all, [&](std::int64_t k) {
        return solver.syevd(handle, vectors, half, n, a + k * n * n, n, w + k * n,
                            static_cast<T*>(memory), room, infos + k);
      });
    });
  }
};

/// Element i of a copy: the lower half, and 0 above it, which no function reads.
template <class T>
struct lower_copy {
  std::int64_t n;
  T const* a;
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    to[i] = i % n <= i / n % n ? a[i] : T(0);
  }
};
/// means: as host::eigh_of, for each matrix
template <class T>
void eigh(card_context& here, std::int64_t n, std::int64_t all, T const* a, T* w, T* v) {
  if (all * n == 0) return;
  T* const half = here.take<T>(all * n * n);
  T* const vectors = here.take<T>(all * n * n);
  std::int32_t* const infos = here.take<std::int32_t>(all);
  here.each(all * n * n, lower_copy<T>{n, a, half});
  T const* const found = unless_finite(here, all, n * n, half);
  here.each(all * n * n, copied<T>{n * n, half, found, vectors});
  here.run(eigenvectors<T>{int_of(n), all, vectors, w, infos});
  T const* const signs = signs_of(here, all * n, n, vectors);
  here.each(all * n * n, vectors_as_columns<T>{n, n, vectors, signs, v});
  here.each(all * n * n, nan_where<T>{n * n, found, infos, v});
  here.each(all * n, nan_where<T>{n, found, infos, w});
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards
