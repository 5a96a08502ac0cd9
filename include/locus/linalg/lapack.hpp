// SPDX-License-Identifier: Apache-2.0
// The LAPACK of this machine, found at the first factorization: the one that the program is linked
// with, else that of the BLAS in use, else liblapack. A program starts without any.
#pragma once
#include <dlfcn.h>  // dlopen, dlsym

#include <climits>      // INT_MAX
#include <cstddef>      // size_t
#include <string_view>  // string_view

#include <locus/core/environment.hpp>   // from_environment
#include <locus/core/error.hpp>         // shape_error
#include <locus/core/macros.hpp>        // LOCUS_COLD_BEGIN
#include <locus/engine/host/cblas.hpp>  // cblas

namespace locus::linalg {

/// means: the entry points for elements T; null where there is none. Matrices lie columns first;
///        the last arguments are lengths of texts
/// after: LAPACK, as Fortran's compilers call it
template <class T>
struct lapack_table {
  using length = std::size_t;
  void (*potrf)(char const* uplo, int const* n, T* a, int const* lda, int* info, length) = nullptr;
  void (*getrf)(int const* m, int const* n, T* a, int const* lda, int* pivots, int* info) = nullptr;
  void (*getrs)(char const* trans, int const* n, int const* right, T const* a, int const* lda,
                int const* pivots, T* b, int const* ldb, int* info, length) = nullptr;
  void (*geqrf)(int const* m, int const* n, T* a, int const* lda, T* tau, T* work, int const* room,
                int* info) = nullptr;
  void (*orgqr)(int const* m, int const* n, int const* k, T* a, int const* lda, T const* tau,
                T* work, int const* room, int* info) = nullptr;
  void (*syevd)(char const* vectors, char const* uplo, int const* n, T* a, int const* lda, T* w,
                T* work, int const* room, int* numbers, int const* room_of_numbers, int* info,
                length, length) = nullptr;
  void (*gesdd)(char const* vectors, int const* m, int const* n, T* a, int const* lda, T* s, T* u,
                int const* ldu, T* vt, int const* ldvt, T* work, int const* room, int* numbers,
                int* info, length) = nullptr;
  explicit operator bool() const {
    return potrf && getrf && getrs && geqrf && orgqr && syevd && gesdd;
  }
};

LOCUS_COLD_BEGIN
/// fails: shape_error, for an extent or a workspace of more elements than LAPACK's int can name
inline void require_room(std::string_view name, double elements) {
  if (elements < INT_MAX) return;
  message text;
  throw shape_error(text << "locus: " << name
                         << " of so large a matrix needs sizes that LAPACK cannot name; give "
                            "it fewer rows and columns");
}
/// means: opens a LAPACK; LOCUS_CBLAS=none asks for none
template <class T>
lapack_table<T> find_lapack() {
  lapack_table<T> t;
  char const* const wanted = from_environment("LOCUS_CBLAS");
  locus::host::cblas_table const& blas = locus::host::cblas();  // sets the threads of its library
  if (wanted && std::string_view(wanted) == "none") return t;
  auto const take = [&t](void* from) {
    auto const find = [from](auto& entry, char const* of_floats, char const* of_doubles) {
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(
          dlsym(from, sizeof(T) == sizeof(float) ? of_floats : of_doubles));
    };
    find(t.potrf, "spotrf_", "dpotrf_");
    find(t.getrf, "sgetrf_", "dgetrf_");
    find(t.getrs, "sgetrs_", "dgetrs_");
    find(t.geqrf, "sgeqrf_", "dgeqrf_");
    find(t.orgqr, "sorgqr_", "dorgqr_");
    find(t.syevd, "ssyevd_", "dsyevd_");
    find(t.gesdd, "sgesdd_", "dgesdd_");
    return bool(t);
  };
  if (take(RTLD_DEFAULT)) return t;
  for (char const* const name : {blas.library, "liblapack.so.3"})
    if (void* const handle = blas.sgemm ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr)
      if (take(handle)) return t;
  return {};
}
LOCUS_COLD_END

/// means: the LAPACK in use
template <class T>
lapack_table<T> const& lapack() {
  static lapack_table<T> const table = find_lapack<T>();
  return table;
}

}  // namespace locus::linalg
