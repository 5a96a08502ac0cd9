// SPDX-License-Identifier: Apache-2.0
// In place of libcusolver.so.12: the factorizations that locus calls, in the order of a handle's stream, computed in
// double. What the real one refuses is refused; a handle away from its card, and a workspace that is too small, are
// findings.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include <locus/linalg/plain_kernels.hpp>

#include "../cudart/library.hpp"
#include "elimination.hpp"

#define SOLVER_API extern "C" __attribute__((visibility("default")))

namespace {

// cuSOLVER's numbers
enum : int { success = 0, not_initialized = 1, invalid_value = 3, execution_failed = 6 };
enum : int { lower = 0, upper = 1 };

using stand_ins::numbers, stand_ins::at;
namespace plain = locus::linalg::plain;

struct handle {
  int card = ptx_card_of_stream(nullptr);
  void* stream = nullptr;
};
std::mutex& lock() {
  static std::mutex& m = *new std::mutex;
  return m;
}
std::map<void*, std::unique_ptr<handle>>& handles() {
  static auto& all = *new std::map<void*, std::unique_ptr<handle>>;
  return all;
}

struct memory : stand_ins::card_memory {
  void end(int* info, int with) const { write(info, numbers{double(with)}); }
};
using work = std::function<void(memory const&)>;

/// f in the order of the handle's stream
int start(char const* function, void* h, int room, int needed, std::size_t bytes, work f) {
  if (int const planned = ptx_called(function)) return planned;
  std::lock_guard const hold(lock());
  auto const found = handles().find(h);
  if (found == handles().end()) return not_initialized;
  handle const& mine = *found->second;
  if (ptx_card_of_stream(nullptr) != mine.card)
    ptx_report("a handle of cuSOLVER is used while another card is the current one");
  if (room < needed) return invalid_value;
  struct task {
    work f;
    memory of;
  };
  auto* const t = new task{std::move(f), {{mine.card, "cuSOLVER"}}};
  auto const run = [](void* data) {
    std::unique_ptr<task> const one(static_cast<task*>(data));
    one->f(one->of);
  };
  if (ptx_submit(mine.stream, run, t, function, bytes, 0) == 0) return success;
  delete t;
  return execution_failed;
}
int say(int* room, int elements) { return room ? (*room = elements, success) : invalid_value; }
bool is_matrix(int m, int n, int lda) { return m >= 0 && n >= 0 && lda >= std::max(1, m); }

numbers turned(numbers const& a, int rows, int columns) {
  numbers t(a.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      t[std::size_t(i) * std::size_t(columns) + std::size_t(j)] =
          a[std::size_t(j) * std::size_t(rows) + std::size_t(i)];
  return t;
}

template <class T>
void factor(memory const& here, int n, T* a, int* info) {
  numbers rows = turned(here.read(a, std::int64_t(n) * n), n, n);
  int const ended = plain::cholesky(n, rows.data());
  here.write(a, turned(rows, n, n));
  here.end(info, ended);
}
template <class T>
int potrf(char const* name, void* h, int half, int n, T* a, int lda, int room, int* info) {
  if (!is_matrix(n, n, lda) || lda != n || half != lower) return invalid_value;
  return start(name, h, room, n, std::size_t(n) * std::size_t(n) * sizeof(T),
               [=](memory const& here) { factor(here, n, a, info); });
}
template <class T>
int potrf_batched(char const* name, void* h, int half, int n, T** each, int lda, int* infos,
                  int all) {
  if (!is_matrix(n, n, lda) || lda != std::max(1, n) || half != lower || all < 0)
    return invalid_value;
  return start(name, h, 0, 0, std::size_t(all) * std::size_t(n) * std::size_t(n) * sizeof(T),
               [=](memory const& here) {
                 for (int k = 0; k < all; ++k) factor(here, n, here.address(each, k), infos + k);
               });
}
template <class T>
int getrf(char const* name, void* h, int m, int n, T* a, int lda, int* pivots, int* info) {
  if (!is_matrix(m, n, lda) || m != n || lda != m || !pivots) return invalid_value;
  return start(name, h, 0, 0, std::size_t(n) * std::size_t(n) * sizeof(T), [=](memory const& here) {
    numbers x = here.read(a, std::int64_t(n) * n), rows;
    int const ended = stand_ins::eliminate(n, x, rows);
    here.write(a, x), here.write(pivots, rows), here.end(info, ended);
  });
}
template <class T>
int getrs(char const* name, void* h, int turns, int n, int right, T const* a, int lda,
          int const* pivots, T* b, int ldb, int* info) {
  if (!is_matrix(n, right, ldb) || lda != n || ldb != n || turns != 0 || right == 0)
    return invalid_value;
  return start(name, h, 0, 0, std::size_t(n) * std::size_t(n + right) * sizeof(T),
               [=](memory const& here) {
                 numbers x = here.read(a, std::int64_t(n) * n),
                         y = here.read(b, std::int64_t(n) * right), rows = here.read(pivots, n);
                 stand_ins::substitute(n, right, x, rows, y);
                 here.write(b, y), here.end(info, 0);
               });
}
/// rows j to the end of columns first to last of x lose tau v (vt x); v: column j of a, 1 at its head
void reflect(numbers& a, int m, int j, double tau, numbers& x, int first, int last) {
  for (int c = first; c < last; ++c) {
    double sum = at(x, m, j, c);
    for (int i = j + 1; i < m; ++i) sum += at(a, m, i, j) * at(x, m, i, c);
    at(x, m, j, c) -= tau * sum;
    for (int i = j + 1; i < m; ++i) at(x, m, i, c) -= tau * sum * at(a, m, i, j);
  }
}
template <class T>
int geqrf(char const* name, void* h, int m, int n, T* a, int lda, T* tau, int room, int* info) {
  if (!is_matrix(m, n, lda) || lda != m) return invalid_value;
  return start(name, h, room, n, std::size_t(m) * std::size_t(n) * sizeof(T),
               [=](memory const& here) {
                 int const k = std::min(m, n);
                 numbers x = here.read(a, std::int64_t(m) * n), taus(std::size_t(k), 0.);
                 for (int j = 0; j < k; ++j) {
                   double sum = 0;
                   for (int i = j + 1; i < m; ++i) sum += at(x, m, i, j) * at(x, m, i, j);
                   if (sum == 0) continue;  // nothing to reflect, as LAPACK has it
                   double const head = at(x, m, j, j), length = std::sqrt(head * head + sum),
                                end = head > 0 ? -length : length;
                   taus[std::size_t(j)] = (end - head) / end;
                   for (int i = j + 1; i < m; ++i) at(x, m, i, j) /= head - end;
                   reflect(x, m, j, taus[std::size_t(j)], x, j + 1, n);
                   at(x, m, j, j) = end;
                 }
                 here.write(a, x), here.write(tau, taus), here.end(info, 0);
               });
}
template <class T>
int orgqr(char const* name, void* h, int m, int n, int k, T* a, int lda, T const* tau, int room,
          int* info) {
  if (!is_matrix(m, n, lda) || lda != m || n > m || k != n) return invalid_value;
  return start(
      name, h, room, n, std::size_t(m) * std::size_t(n) * sizeof(T), [=](memory const& here) {
        numbers x = here.read(a, std::int64_t(m) * n), taus = here.read(tau, k), q(x.size(), 0.);
        for (int i = 0; i < n; ++i) at(q, m, i, i) = 1;
        for (int j = k; j-- > 0;) reflect(x, m, j, taus[std::size_t(j)], q, 0, n);
        here.write(a, q), here.end(info, 0);
      });
}
/// the upper half of a becomes the vectors of the whole matrix, w their values
template <class T>
void eigenvectors(memory const& here, int n, T* a, T* w, int* info) {
  numbers x = here.read(a, std::int64_t(n) * n), v(x.size(), 0.), values, sorted;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) at(x, n, j, i) = at(x, n, i, j);
  for (int i = 0; i < n; ++i) at(v, n, i, i) = 1;
  plain::eigh(n, x.data(), v.data());
  std::vector<int> order(std::size_t(n), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int i, int j) { return at(x, n, i, i) < at(x, n, j, j); });
  for (int const k : order) {
    values.push_back(at(x, n, k, k));
    for (int i = 0; i < n; ++i) sorted.push_back(at(v, n, i, k));
  }
  here.write(a, sorted), here.write(w, values), here.end(info, 0);
}
template <class T>
int syevd(char const* name, void* h, int vectors, int half, int n, T* a, int lda, T* w, int room,
          int* info) {
  if (!is_matrix(n, n, lda) || lda != n || half != upper || vectors != 1) return invalid_value;
  return start(name, h, room, n * n, std::size_t(n) * std::size_t(n) * sizeof(T),
               [=](memory const& here) { eigenvectors(here, n, a, w, info); });
}
/// a = u diag(s) vt; every: all vectors of u and v, otherwise as many as s has
template <class T>
void singular_vectors(memory const& here, int m, int n, T* a, T* s, T* u, T* v, int* info,
                      bool every) {
  int const k = std::min(m, n), length = std::max(m, n);
  numbers x = here.read(a, std::int64_t(m) * n), w = m >= n ? x : turned(x, m, n),
          other(std::size_t(k) * std::size_t(k), 0.), values(std::size_t(k), 0.);
  for (int i = 0; i < k; ++i) at(other, k, i, i) = 1;
  plain::svd(k, length, w.data(), values.data(), other.data());
  std::vector<int> order(std::size_t(k), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int i, int j) { return values[std::size_t(i)] > values[std::size_t(j)]; });
  numbers sorted, longer, shorter;
  for (int const i : order) {
    sorted.push_back(values[std::size_t(i)]);
    for (int c = 0; c < length; ++c) longer.push_back(at(w, length, c, i));
    for (int c = 0; c < k; ++c) shorter.push_back(at(other, k, c, i));
  }
  if (every) longer.resize(std::size_t(length) * std::size_t(length), 0.5);  // any numbers
  here.write(s, sorted);
  here.write(u, m >= n ? longer : shorter), here.write(v, m >= n ? shorter : longer);
  here.end(info, 0);
}
template <class T>
int gesvdj(char const* name, void* h, int vectors, int economic, int m, int n, T* a, int lda, T* s,
           T* u, int ldu, T* v, int ldv, int room, int* info, void* options) {
  if (!is_matrix(m, n, lda) || lda != m || ldu != m || ldv != n || vectors != 1 || economic != 1 ||
      !options)
    return invalid_value;
  return start(name, h, room, m + n, std::size_t(m) * std::size_t(n) * sizeof(T),
               [=](memory const& here) { singular_vectors(here, m, n, a, s, u, v, info, false); });
}
template <class T>
int gesvdj_batched(char const* name, void* h, int vectors, int m, int n, T* a, int lda, T* s, T* u,
                   int ldu, T* v, int ldv, int room, int* infos, void* options, int all) {
  if (!is_matrix(m, n, lda) || lda != m || ldu != m || ldv != n || vectors != 1 || !options ||
      m > 32 || n > 32 || all < 0)
    return invalid_value;
  return start(name, h, room, m + n, std::size_t(all) * std::size_t(m) * std::size_t(n) * sizeof(T),
               [=](memory const& here) {
                 for (int k = 0; k < all; ++k)
                   singular_vectors(here, m, n, a + k * m * n, s + k * std::min(m, n),
                                    u + k * m * m, v + k * n * n, infos + k, true);
               });
}

}  // namespace

SOLVER_API int cusolverDnCreate(void** h) {
  if (!h) return invalid_value;
  if (int const planned = ptx_called("cusolverDnCreate")) return planned;
  std::lock_guard const hold(lock());
  auto fresh = std::make_unique<handle>();
  *h = fresh.get();
  handles()[*h] = std::move(fresh);
  return success;
}
SOLVER_API int cusolverDnSetStream(void* h, void* stream) {
  if (int const planned = ptx_called("cusolverDnSetStream")) return planned;
  std::lock_guard const hold(lock());
  auto const found = handles().find(h);
  if (found == handles().end()) return not_initialized;
  if (ptx_card_of_stream(stream) != found->second->card) return invalid_value;
  return found->second->stream = stream, success;
}
SOLVER_API int cusolverDnCreateGesvdjInfo(void** options) {
  static int one = 0;
  return options ? (*options = &one, success) : invalid_value;
}

#define SOLVERS(T, letter)                                                                         \
  SOLVER_API int cusolverDn##letter##potrf_bufferSize(void*, int, int n, T*, int, int* room) {     \
    return say(room, n);                                                                           \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##potrf(void* h, int half, int n, T* a, int lda, T*, int room,  \
                                           int* info) {                                            \
    return potrf("cusolverDnXpotrf", h, half, n, a, lda, room, info);                              \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##potrfBatched(void* h, int half, int n, T** each, int lda,     \
                                                  int* infos, int all) {                           \
    return potrf_batched("cusolverDnXpotrfBatched", h, half, n, each, lda, infos, all);            \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##getrf_bufferSize(void*, int, int n, T*, int, int* room) {     \
    return say(room, n);                                                                           \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##getrf(void* h, int m, int n, T* a, int lda, T*, int* pivots,  \
                                           int* info) {                                            \
    return getrf("cusolverDnXgetrf", h, m, n, a, lda, pivots, info);                               \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##getrs(void* h, int turns, int n, int right, T const* a,       \
                                           int lda, int const* pivots, T* b, int ldb, int* info) { \
    return getrs("cusolverDnXgetrs", h, turns, n, right, a, lda, pivots, b, ldb, info);            \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##geqrf_bufferSize(void*, int, int n, T*, int, int* room) {     \
    return say(room, n);                                                                           \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##geqrf(void* h, int m, int n, T* a, int lda, T* tau, T*,       \
                                           int room, int* info) {                                  \
    return geqrf("cusolverDnXgeqrf", h, m, n, a, lda, tau, room, info);                            \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##orgqr_bufferSize(void*, int, int n, int, T const*, int,       \
                                                      T const*, int* room) {                       \
    return say(room, n);                                                                           \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##orgqr(void* h, int m, int n, int k, T* a, int lda,            \
                                           T const* tau, T*, int room, int* info) {                \
    return orgqr("cusolverDnXorgqr", h, m, n, k, a, lda, tau, room, info);                         \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##syevd_bufferSize(void*, int, int, int n, T const*, int,       \
                                                      T const*, int* room) {                       \
    return say(room, n * n);                                                                       \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##syevd(void* h, int vectors, int half, int n, T* a, int lda,   \
                                           T* w, T*, int room, int* info) {                        \
    return syevd("cusolverDnXsyevd", h, vectors, half, n, a, lda, w, room, info);                  \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##gesvdjBatched_bufferSize(                                     \
      void*, int, int m, int n, T const*, int, T const*, T const*, int, T const*, int, int* room,  \
      void*, int) {                                                                                \
    return say(room, m + n);                                                                       \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##gesvdjBatched(                                                \
      void* h, int vectors, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* v, int ldv, T*,   \
      int room, int* infos, void* options, int all) {                                              \
    return gesvdj_batched("cusolverDnXgesvdjBatched", h, vectors, m, n, a, lda, s, u, ldu, v, ldv, \
                          room, infos, options, all);                                              \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##gesvdj_bufferSize(void*, int, int, int m, int n, T const*,    \
                                                       int, T const*, T const*, int, T const*,     \
                                                       int, int* room, void*) {                    \
    return say(room, m + n);                                                                       \
  }                                                                                                \
  SOLVER_API int cusolverDn##letter##gesvdj(void* h, int vectors, int economic, int m, int n,      \
                                            T* a, int lda, T* s, T* u, int ldu, T* v, int ldv, T*, \
                                            int room, int* info, void* options) {                  \
    return gesvdj("cusolverDnXgesvdj", h, vectors, economic, m, n, a, lda, s, u, ldu, v, ldv,      \
                  room, info, options);                                                            \
  }
SOLVERS(float, S)
SOLVERS(double, D)

SOLVER_API int cusolverDnCreateParams(void** parameters) {
  static int one = 0;
  return parameters ? (*parameters = &one, success) : invalid_value;
}
SOLVER_API int cusolverDnXsyevBatched_bufferSize(void*, void* parameters, int, int, std::int64_t n,
                                                 int, void const*, std::int64_t, int, void const*,
                                                 int, std::size_t* on_card, std::size_t* on_host,
                                                 std::int64_t) {
  if (!parameters || !on_card || !on_host) return invalid_value;
  return *on_card = std::size_t(n) * 8, *on_host = 0, success;
}
SOLVER_API int cusolverDnXsyevBatched(void* h, void* parameters, int vectors, int half,
                                      std::int64_t n, int type, void* a, std::int64_t lda,
                                      int type_of_w, void* w, int sums, void*, std::size_t room,
                                      void*, std::size_t, int* infos, std::int64_t all) {
  if (!parameters || vectors != 1 || half != upper || lda != n || type != type_of_w ||
      sums != type || type > 1 || room < std::size_t(n) * 8)
    return invalid_value;
  auto const run = [=]<class T>(T) {
    return start("cusolverDnXsyevBatched", h, 0, 0, std::size_t(all * n * n) * sizeof(T),
                 [=](memory const& here) {
                   for (std::int64_t k = 0; k < all; ++k)
                     eigenvectors(here, int(n), static_cast<T*>(a) + k * n * n,
                                  static_cast<T*>(w) + k * n, infos + k);
                 });
  };
  return type == 0 ? run(float()) : run(double());
}
