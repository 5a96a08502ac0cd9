// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/real_cusolver.hpp declares.
#pragma once
#include <locus/backend/cuda/open_library.hpp>    // open_library
#include <locus/backend/cuda/real_cusolver.hpp>   // the declarations
#include <locus/core/array.hpp>                   // dynamic_array
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/runtime/collective_settings.hpp>  // issue_lock

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

namespace detail {
/// means: takes the functions whose names begin with cusolverDnS or cusolverDnD
template <class T>
void take_solvers(void* library, cusolver_functions<T>& t) {
  auto const take = [library](auto& to, char const* of_floats, char const* of_doubles) {
    take_function(library, to, sizeof(T) == sizeof(float) ? of_floats : of_doubles);
  };
#define LOCUS_TAKE(to, name) take(t.to, "cusolverDnS" name, "cusolverDnD" name)
  LOCUS_TAKE(room_of_potrf, "potrf_bufferSize");
  LOCUS_TAKE(potrf, "potrf");
  LOCUS_TAKE(potrf_batched, "potrfBatched");
  LOCUS_TAKE(room_of_getrf, "getrf_bufferSize");
  LOCUS_TAKE(getrf, "getrf");
  LOCUS_TAKE(getrs, "getrs");
  LOCUS_TAKE(room_of_geqrf, "geqrf_bufferSize");
  LOCUS_TAKE(geqrf, "geqrf");
  LOCUS_TAKE(room_of_orgqr, "orgqr_bufferSize");
  LOCUS_TAKE(orgqr, "orgqr");
  LOCUS_TAKE(room_of_syevd, "syevd_bufferSize");
  LOCUS_TAKE(syevd, "syevd");
  LOCUS_TAKE(room_of_gesvdj_batched, "gesvdjBatched_bufferSize");
  LOCUS_TAKE(gesvdj_batched, "gesvdjBatched");
  LOCUS_TAKE(room_of_gesvdj, "gesvdj_bufferSize");
  LOCUS_TAKE(gesvdj, "gesvdj");
#undef LOCUS_TAKE
}
}  // namespace detail

LOCUS_FUNCTION cusolver_table const& cusolver_table::instance() {
  static cusolver_table const t = [] {
    cusolver_table found;
    void* const library =
        open_library({"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"});
    if (!library) return found;
    take_function(library, found.create, "cusolverDnCreate");
    take_function(library, found.set_stream, "cusolverDnSetStream");
    take_function(library, found.make_options, "cusolverDnCreateGesvdjInfo");
    if (take_function(library, found.room_of_syev_batched, "cusolverDnXsyevBatched_bufferSize") &&
        take_function(library, found.syev_batched, "cusolverDnXsyevBatched"))
      take_function(library, found.make_parameters, "cusolverDnCreateParams");
    detail::take_solvers(library, found.floats);
    detail::take_solvers(library, found.doubles);
    void* const blas = open_library({"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
    if (!blas) return found;
    take_function(blas, found.floats.getrf_batched, "cublasSgetrfBatched");
    take_function(blas, found.floats.getrs_batched, "cublasSgetrsBatched");
    take_function(blas, found.doubles.getrf_batched, "cublasDgetrfBatched");
    take_function(blas, found.doubles.getrs_batched, "cublasDgetrsBatched");
    return found;
  }();
  return t;
}

LOCUS_FUNCTION int solver_handle::of_current_card(solver_handle** handle) {
  static mutex making;
  static auto& by_card =
      *new dynamic_array<solver_handle*>;  // no destructor: cards are gone by then
  int card = 0;
  if (int const code = runtime::gpu_api->get_device(&card); code != 0) return code;
  lock_guard const hold(making);
  while (by_card.size() <= static_cast<std::size_t>(card)) by_card.push(nullptr);
  solver_handle*& mine = by_card[static_cast<std::size_t>(card)];
  cusolver_table const& t = cusolver_table::instance();
  if (!t.is_complete()) return cusolver_table::not_found;
  if (!mine) mine = new solver_handle;
  auto const make = [](int (*create)(void**), void*& made) {
    lock_guard const issuing(runtime::issue_lock);  // the libraries allocate memory
    return made || !create ? 0 : create(&made);
  };
  solver_handles& of = mine->of_;  // what a failed call made, the next one keeps
  int status = make(t.create, of.dense);
  if (status == 0) status = make(t.make_options, of.options);
  if (status == 0) status = make(t.make_parameters, of.parameters);
  if (status == 0 && t.floats.getrf_batched)
    status = of_blas(make(cublas_table::instance().create, of.blas));
  if (status != 0) return cusolver_table::not_found + status;
  return *handle = mine, 0;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END
