// SPDX-License-Identifier: Apache-2.0
// Singular values and vectors on a GPU, by cuSOLVER.
#pragma once
#include <locus/linalg/folds_card.hpp>     // unless_finite, signs_of
#include <locus/linalg/matrices_card.hpp>  // cusolver_table, vectors_as_columns

namespace locus::linalg::host {
inline namespace LOCUS_MODE {
// svd.hpp defines it: what a recorder runs
template <class T>
void svd_of(std::int64_t m, std::int64_t n, T const* a, T* u, T* s, T* vt);
}  // namespace LOCUS_MODE
}  // namespace locus::linalg::host

namespace locus::linalg::cards {
inline namespace LOCUS_MODE {

/// means: a = u diag(s) vt, for each matrix; a is overwritten
/// shape: a (all, m, n), rows first; left: the vectors of u one behind the other (all, k, m),
///        s (all, k), vt (all, k, n), infos (all). A batch of small matrices is one call, with all vectors:
///        left (all, m, m), vt (all, n, n)
template <class T>
struct singular_vectors {
  static constexpr char const* name = "cusolverDnXgesvdj";
  using library = cusolver_table;
  int m, n;
  std::int64_t all;
  T *a, *left, *s, *vt;
  std::int32_t* infos;

  int k() const { return m < n ? m : n; }
  bool is_small_batch() const { return all > 1 && all <= 2147483647 && m <= 32 && n <= 32; }
  int lefts() const { return is_small_batch() ? m : k(); }
  int rights() const { return is_small_batch() ? n : k(); }
  algorithm_size size() const {
    return {m,
            is_small_batch() ? -(64 * all + n) : std::int64_t(n)};  // of a batch, its number, too
  }
  void host() const {
    linalg::host::workspace<T> const u(std::int64_t(m) * k());
    for (std::int64_t i = 0; i < all; ++i) {
      linalg::host::svd_of<T>(m, n, a + i * m * n, u.data(), s + i * k(), vt + i * rights() * n);
      linalg::host::turn(u.data(), left + i * lefts() * m, m, k());
      infos[i] = 0;
    }
  }
  int card(void* memory, std::size_t* bytes, void* stream) const {
    auto const& solver = cusolver_table::instance().of<T>();
    constexpr int vectors = cusolver_table::vectors;
    return cuda_side::solver_handle::use(stream, [&](cuda_side::solver_handles const& with) {
      void *const handle = with.dense, *const options = with.options;
      int room = 0;
      if (is_small_batch()) {
        int const each = int(all);
        int status = 0;
        if (!memory) {
          status = solver.room_of_gesvdj_batched(handle, vectors, n, m, a, n, s, vt, n, left, m,
                                                 &room, options, each);
          return say_room<T>(bytes, status, room);
        }
        return solver.gesvdj_batched(handle, vectors, n, m, a, n, s, vt, n, left, m,
                                     static_cast<T*>(memory), int(*bytes / sizeof(T)), infos,
                                     options, each);
      }
      if (!memory) {
        // columns first, this is a turned: its left vectors are vt, its right ones u
        int const status = solver.room_of_gesvdj(handle, vectors, 1, n, m, a, n, s, vt, n, left, m,
                                                 &room, options);
        return say_room<T>(bytes, status, room);
      }
      room = int(*bytes / sizeof(T));
      return for_each_matrix(all, [&](std::int64_t i) {
        return solver.gesvdj(handle, vectors, 1, n, m, a + i * m * n, n, s + i * k(),
                             vt + i * k() * n, n, left + i * k() * m, m, static_cast<T*>(memory),
                             room, infos + i, options);
      });
    });
  }
};

/// Element i of vt: each vector has the sign of its partner.
template <class T>
struct with_signs {
  std::int64_t length;
  T const* signs;
  T* x;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    if (signs[i / length] < 0) x[i] = -x[i];
  }
};

/// Element i of the first `count` of `there` vectors of each matrix.
template <class T>
struct first_vectors {
  std::int64_t length, count, there;
  T const* from;
  T* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const e = i % length, vector = i / length;
    to[i] = from[(vector / count * there + vector % count) * length + e];
  }
};

/// means: as host::svd_of, for each matrix
template <class T>
void svd(card_context& here, std::int64_t m, std::int64_t n, std::int64_t all, T const* a, T* u,
         T* s, T* vt) {
  std::int64_t const k = m < n ? m : n;
  if (all * k == 0) return;
  T const* const found = unless_finite(here, all, m * n, a);
  T* const copy = here.take<T>(all * m * n);
  std::int32_t* const infos = here.take<std::int32_t>(all);
  here.each(all * m * n, copied<T>{m * n, a, found, copy});
  singular_vectors<T> run{int_of(m), int_of(n), all, copy, nullptr, s, vt, infos};
  T* const left = run.left = here.take<T>(all * k * m);
  bool const has_more = run.is_small_batch() && m != n;
  T* const lefts = here.take<T>(has_more ? all * m * m : 0);
  T* const rights = here.take<T>(has_more ? all * n * n : 0);
  if (has_more) run.left = lefts, run.vt = rights;
  here.run(run);
  if (has_more) {
    here.each(all * k * m, first_vectors<T>{m, k, m, lefts, left});
    here.each(all * k * n, first_vectors<T>{n, k, n, rights, vt});
  }
  T const* const signs = signs_of(here, all * k, m, left);
  here.each(all * m * k, vectors_as_columns<T>{m, k, left, signs, u});
  here.each(all * k * n, with_signs<T>{n, signs, vt});
  here.each(all * m * k, nan_where<T>{m * k, found, infos, u});
  here.each(all * k, nan_where<T>{k, found, infos, s});
  here.each(all * k * n, nan_where<T>{k * n, found, infos, vt});
}

}  // namespace LOCUS_MODE
}  // namespace locus::linalg::cards
