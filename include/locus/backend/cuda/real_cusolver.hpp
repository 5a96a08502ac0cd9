// SPDX-License-Identifier: Apache-2.0
// cuSOLVER, and what cuBLAS has for batches of small systems, opened at the first factorization on a
// card, so that a program starts on machines without them. It needs no header of CUDA: handles are
// opaque, constants are copied from both.
#pragma once

#include <locus/backend/cuda/device_lost.hpp>  // is_sticky
#include <locus/backend/cuda/real_cublas.hpp>  // cublas_table
#include <locus/core/lock.hpp>                 // mutex, lock_guard
#include <locus/core/macros.hpp>               // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>          // cuda_api

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// The entry points of cuSOLVER for elements T: matrices lie columns first. A function `room_of_...`
/// gives the elements of the workspace of its neighbour.
template <class T>
struct cusolver_functions {
  int (*room_of_potrf)(void*, int half, int n, T*, int lda, int* room) = nullptr;
  int (*potrf)(void*, int half, int n, T*, int lda, T* work, int room, int* info) = nullptr;
  int (*potrf_batched)(void*, int half, int n, T** each, int lda, int* infos, int all) = nullptr;
  int (*room_of_getrf)(void*, int m, int n, T*, int lda, int* room) = nullptr;
  int (*getrf)(void*, int m, int n, T*, int lda, T* work, int* pivots, int* info) = nullptr;
  int (*getrs)(void*, int turned, int n, int right, T const*, int lda, int const* pivots, T*,
               int ldb, int* info) = nullptr;
  // of cuBLAS, for batches; null where there is none. The last int* is memory of the host
  int (*getrf_batched)(void*, int n, T* const* each, int lda, int* pivots, int* infos,
                       int all) = nullptr;
  int (*getrs_batched)(void*, int turned, int n, int right, T const* const* each, int lda,
                       int const* pivots, T* const* rights, int ldb, int* refused,
                       int all) = nullptr;
  int (*room_of_geqrf)(void*, int m, int n, T*, int lda, int* room) = nullptr;
  int (*geqrf)(void*, int m, int n, T*, int lda, T* tau, T* work, int room, int* info) = nullptr;
  int (*room_of_orgqr)(void*, int m, int n, int k, T const*, int lda, T const* tau,
                       int* room) = nullptr;
  int (*orgqr)(void*, int m, int n, int k, T*, int lda, T const* tau, T* work, int room,
               int* info) = nullptr;
  int (*room_of_syevd)(void*, int vectors, int half, int n, T const*, int lda, T const* w,
                       int* room) = nullptr;
  int (*syevd)(void*, int vectors, int half, int n, T*, int lda, T* w, T* work, int room,
               int* info) = nullptr;
  // of matrices with at most 32 rows and columns; all vectors
  int (*room_of_gesvdj_batched)(void*, int vectors, int m, int n, T const*, int lda, T const* s,
                                T const* u, int ldu, T const* v, int ldv, int* room, void* options,
                                int all) = nullptr;
  int (*gesvdj_batched)(void*, int vectors, int m, int n, T*, int lda, T* s, T* u, int ldu, T* v,
                        int ldv, T* work, int room, int* infos, void* options, int all) = nullptr;
  int (*room_of_gesvdj)(void*, int vectors, int economic, int m, int n, T const*, int lda,
                        T const* s, T const* u, int ldu, T const* v, int ldv, int* room,
                        void* options) = nullptr;
  int (*gesvdj)(void*, int vectors, int economic, int m, int n, T*, int lda, T* s, T* u, int ldu,
                T* v, int ldv, T* work, int room, int* info, void* options) = nullptr;
  bool is_complete() const {
    return room_of_potrf && potrf && potrf_batched && room_of_getrf && getrf && getrs &&
           room_of_geqrf && geqrf && room_of_orgqr && orgqr && room_of_syevd && syevd &&
           room_of_gesvdj && gesvdj && room_of_gesvdj_batched && gesvdj_batched;
  }
};

/// The entry points of cuSOLVER; its handles are opaque.
struct cusolver_table {
  // codes of this table: not_found, or not_found + a status of cuSOLVER; two of these
  static constexpr int not_found = 300000, invalid_value = 3, execution_failed = 6;
  // constants of cuSOLVER, cuBLAS and CUDA: vectors are wanted; which half is read; op(a) = a;
  // element types
  static constexpr int vectors = 1, lower = 0, upper = 1, as_it_is = 0, real_float = 0,
                       real_double = 1;
  static constexpr char const* missing =
      "no cuSOLVER library (libcusolver.so.12 or .11) was found; install it, or name its folder in "
      "LD_LIBRARY_PATH";
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*make_options)(void**) = nullptr;  // of gesvdj
  // since CUDA 12.6; null before: eigenvectors of a batch
  int (*make_parameters)(void**) = nullptr;
  int (*room_of_syev_batched)(void*, void* parameters, int vectors, int half, std::int64_t n,
                              int type, void const*, std::int64_t lda, int type_of_w, void const* w,
                              int sums, std::size_t* on_card, std::size_t* on_host,
                              std::int64_t all) = nullptr;
  int (*syev_batched)(void*, void* parameters, int vectors, int half, std::int64_t n, int type,
                      void*, std::int64_t lda, int type_of_w, void* w, int sums, void* on_card,
                      std::size_t, void* on_host, std::size_t, int* infos,
                      std::int64_t all) = nullptr;
  cusolver_functions<float> floats;
  cusolver_functions<double> doubles;

  bool is_complete() const {
    return create && set_stream && make_options && floats.is_complete() && doubles.is_complete();
  }
  template <class T>
  cusolver_functions<T> const& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return floats;
    else
      return doubles;
  }
  /// means: the library that dlopen or Python's packages have; incomplete: there is none
  static cusolver_table const& instance();
};

/// The handles of one card: of cuSOLVER, of cuBLAS (null: none), the options of gesvdj, the parameters of
/// syev_batched (null: there is none).
struct solver_handles {
  void *dense = nullptr, *blas = nullptr, *options = nullptr, *parameters = nullptr;
};
/// The handles of one card, which live as long as the process. Their stream is state of a handle: one
/// lock covers setting it and the calls.
class solver_handle {
 public:
  /// means: f(handles of the current card) on a stream
  /// returns: 0, or a code for describe_cusolver or for CUDA
  template <class F>
  static int use(void* stream, F const& f) {
    solver_handle* mine = nullptr;
    if (int const code = of_current_card(&mine); code != 0) return code;
    lock_guard const hold(mine->lock_);
    int status = cusolver_table::instance().set_stream(mine->of_.dense, stream);
    if (status == 0 && mine->of_.blas)
      status = of_blas(cublas_table::instance().set_stream(mine->of_.blas, stream));
    if (status == 0) status = f(mine->of_);
    if (status == 0) return 0;
    int const cause = runtime::gpu_api->peek_error();  // of a card that is lost
    return runtime::is_sticky(cause) ? cause : cusolver_table::not_found + status;
  }
  /// means: a status of cuBLAS as one of f, whose code is cuBLAS' own then
  static constexpr int of_blas(int status) {
    return status == 0 ? 0 : status + cublas_table::not_found - cusolver_table::not_found;
  }

 private:
  static int of_current_card(solver_handle** handle);
  solver_handles of_;
  mutex lock_;
};

/// means: the text of a cuSOLVER status, with advice; null for codes of other libraries
constexpr char const* describe_cusolver(int code) {
  if (code < cusolver_table::not_found || code >= cusolver_table::not_found + 100) return nullptr;
  switch (code - cusolver_table::not_found) {
  case 0: return cusolver_table::missing;
  case 1:
    return "CUSOLVER_STATUS_NOT_INITIALIZED: cuSOLVER could not begin on this card; look for a "
           "driver that is older than the library, and for memory that is used up";
  case 2:
    return "CUSOLVER_STATUS_ALLOC_FAILED: cuSOLVER found no memory on the card outside of what "
           "locus holds; lower the memory limit of the device, or leave memory growth on";
  case 3:
    return "CUSOLVER_STATUS_INVALID_VALUE: cuSOLVER refused a size or an address; give it smaller "
           "matrices";
  case 4: return "CUSOLVER_STATUS_ARCH_MISMATCH: cuSOLVER has no code for this card";
  case 6: return "CUSOLVER_STATUS_EXECUTION_FAILED: a kernel of cuSOLVER failed on the card";
  case 7: return "CUSOLVER_STATUS_INTERNAL_ERROR: cuSOLVER failed inside; update it";
  default: return "a status of cuSOLVER that this locus does not know; update locus";
  }
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_cusolver.hpp>  // bodies of the functions above
#endif
