// SPDX-License-Identifier: Apache-2.0
// The table of NCCL's functions, from libnccl.so.2, opened at the first call. Without the library,
// each call returns a code with a text, so that a program starts on machines without it.
#pragma once
#include <cstdlib>  // abort

#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/nccl_api.hpp>  // nccl_api

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// The entry points of NCCL. The configuration has the layout of NCCL 2.14, which later versions
/// accept.
struct nccl_library {
  struct config {
    std::size_t size = sizeof(config);
    unsigned magic = 0xcafebeef, version = 21400;
    int blocking = 0;
  };
  int (*version)(int*) = nullptr;
  int (*make_id)(runtime::nccl_id*) = nullptr;
  int (*init_rank)(void**, int, runtime::nccl_id, int, config*) = nullptr;
  int (*async_state)(void*, int*) = nullptr;
  int (*abort)(void*) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*rank_count)(void*, int*) = nullptr;
  int (*rank_of)(void*, int*) = nullptr;
  int (*card_of)(void*, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(void const*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*reduce)(void const*, void*, std::size_t, int, int, int, void*, void*) = nullptr;
  int (*broadcast)(void const*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*all_gather)(void const*, void*, std::size_t, int, void*, void*) = nullptr;
  int (*reduce_scatter)(void const*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*send)(void const*, std::size_t, int, int, void*, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*create_scaled_sum)(int*, void*, int, int, void*) = nullptr;
  int (*destroy_op)(int, void*) = nullptr;
  char const* (*describe)(int) = nullptr;
  char const* (*last_error)(void*) = nullptr;
  bool complete = false;

  static nccl_library const& instance();

 private:
  static nccl_library open();
};

namespace detail {
/// f(library), or the code for a missing library
template <class F>
int with_nccl(F&& f) {
  nccl_library const& n = nccl_library::instance();
  return n.complete ? f(n) : int(runtime::nccl_not_found);
}
}  // namespace detail

inline constexpr runtime::nccl_api real_nccl = {
    .version =
        [](int* v) {
          return detail::with_nccl([&](nccl_library const& n) { return n.version(v); });
        },
    .make_id =
        [](runtime::nccl_id* id) {
          return detail::with_nccl([&](nccl_library const& n) { return n.make_id(id); });
        },
    .init_rank =
        [](void** comm, int ranks, runtime::nccl_id const* id, int rank) {
          return detail::with_nccl([&](nccl_library const& n) {
            nccl_library::config c;
            return n.init_rank(comm, ranks, *id, rank, &c);
          });
        },
    .async_state = [](void* comm,
                      int* state) { return nccl_library::instance().async_state(comm, state); },
    .abort = [](void* comm) { return nccl_library::instance().abort(comm); },
    .destroy = [](void* comm) { return nccl_library::instance().destroy(comm); },
    .rank_count =
        [](void* comm, int* n) {
          return detail::with_nccl([&](nccl_library const& l) { return l.rank_count(comm, n); });
        },
    .rank_of =
        [](void* comm, int* rank) {
          return detail::with_nccl([&](nccl_library const& l) { return l.rank_of(comm, rank); });
        },
    .card_of =
        [](void* comm, int* card) {
          return detail::with_nccl([&](nccl_library const& l) { return l.card_of(comm, card); });
        },
    .group_start =
        [] { return detail::with_nccl([](nccl_library const& n) { return n.group_start(); }); },
    .group_end =
        [] { return detail::with_nccl([](nccl_library const& n) { return n.group_end(); }); },
    .all_reduce =
        [](void const* s, void* r, std::size_t n, runtime::nccl_type t, int op, void* c, void* q) {
          return nccl_library::instance().all_reduce(s, r, n, int(t), op, c, q);
        },
    .reduce =
        [](void const* s, void* r, std::size_t n, runtime::nccl_type t, int op, int root, void* c,
           void* q) { return nccl_library::instance().reduce(s, r, n, int(t), op, root, c, q); },
    .broadcast =
        [](void const* s, void* r, std::size_t n, runtime::nccl_type t, int root, void* c,
           void* q) { return nccl_library::instance().broadcast(s, r, n, int(t), root, c, q); },
    .all_gather =
        [](void const* s, void* r, std::size_t n, runtime::nccl_type t, void* c, void* q) {
          return nccl_library::instance().all_gather(s, r, n, int(t), c, q);
        },
    .reduce_scatter =
        [](void const* s, void* r, std::size_t n, runtime::nccl_type t, int op, void* c, void* q) {
          return nccl_library::instance().reduce_scatter(s, r, n, int(t), op, c, q);
        },
    .send = [](void const* d, std::size_t n, runtime::nccl_type t, int peer, void* c,
               void* q) { return nccl_library::instance().send(d, n, int(t), peer, c, q); },
    .receive = [](void* d, std::size_t n, runtime::nccl_type t, int peer, void* c,
                  void* q) { return nccl_library::instance().receive(d, n, int(t), peer, c, q); },
    .create_scaled_sum =
        [](int* op, void const* scalar, runtime::nccl_type t, void* c) {
          int const on_host = 1;
          return nccl_library::instance().create_scaled_sum(op, const_cast<void*>(scalar), int(t),
                                                            on_host, c);
        },
    .destroy_op = [](int op, void* c) { return nccl_library::instance().destroy_op(op, c); },
    .describe =
        [](int code) {
          nccl_library const& n = nccl_library::instance();
          if (code == runtime::nccl_not_found || !n.complete)
            return "no NCCL library (libnccl.so.2, 2.14 or later) was found; install it";
          return n.describe(code);
        },
    .last_error =
        [](void* comm) {
          nccl_library const& n = nccl_library::instance();
          return n.complete ? n.last_error(comm) : "";
        },
};

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_nccl.hpp>  // bodies of the functions above
#endif
