// SPDX-License-Identifier: Apache-2.0
// All functions of NCCL that locus calls, as one table: NCCL, opened at its first use, or a
// simulation. Handles are void pointers, so that calls need no header of NCCL or CUDA.
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // int32_t

#include <locus/core/hooks.hpp>   // nccl, forget_communicators
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// NCCL's element types, with its numbers; none: NCCL only moves it, as bytes.
enum class nccl_type : int {
  none = -1,
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
};
constexpr int bytes_of(nccl_type t) {
  constexpr int bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return t == nccl_type::none ? 0 : bytes[static_cast<int>(t)];
}
constexpr bool is_floating(nccl_type t) { return t >= nccl_type::float16; }

/// NCCL's operations, with its numbers; create_scaled_sum makes those from 5 on.
enum : int {
  nccl_sum = 0,
  nccl_prod = 1,
  nccl_max = 2,
  nccl_min = 3,
  nccl_avg = 4,
  nccl_first_made = 5
};

enum : int {
  nccl_success = 0,
  nccl_cuda_error = 1,
  nccl_system_error = 2,
  nccl_invalid_argument = 4,
  nccl_invalid_usage = 5,
  nccl_remote_error = 6,
  nccl_in_progress = 7,
  nccl_not_found = 100000,  // of locus: the library was not found
};

/// The id that all ranks pass to init_rank.
struct nccl_id {
  char bytes[128];
};

/// All functions return 0 for success, or a code that `describe` turns into text.
struct nccl_api {
  int (*version)(int* version);  // opens the library; 22809 is 2.28.9
  int (*make_id)(nccl_id* id);
  /// nonblocking: async_state tells when it has ended; the rank uses the current device
  int (*init_rank)(void** comm, int ranks, nccl_id const* id, int rank);
  int (*async_state)(void* comm, int* state);
  int (*abort)(void* comm);
  int (*destroy)(void* comm);
  int (*rank_count)(void* comm, int* ranks);
  int (*rank_of)(void* comm, int* rank);
  int (*card_of)(void* comm, int* card);
  int (*group_start)();
  int (*group_end)();
  int (*all_reduce)(void const* send, void* receive, std::size_t count, nccl_type type, int op,
                    void* comm, void* stream);
  int (*reduce)(void const* send, void* receive, std::size_t count, nccl_type type, int op,
                int root, void* comm, void* stream);
  int (*broadcast)(void const* send, void* receive, std::size_t count, nccl_type type, int root,
                   void* comm, void* stream);
  int (*all_gather)(void const* send, void* receive, std::size_t count, nccl_type type, void* comm,
                    void* stream);
  int (*reduce_scatter)(void const* send, void* receive, std::size_t count, nccl_type type, int op,
                        void* comm, void* stream);
  int (*send)(void const* data, std::size_t count, nccl_type type, int peer, void* comm,
              void* stream);
  int (*receive)(void* data, std::size_t count, nccl_type type, int peer, void* comm, void* stream);
  /// a sum of terms multiplied by *scalar, a value of that type on the host
  int (*create_scaled_sum)(int* op, void const* scalar, nccl_type type, void* comm);
  int (*destroy_op)(int op, void* comm);
  char const* (*describe)(int code);
  char const* (*last_error)(void* comm);  // NCCL's text for its last failure
};

}  // namespace locus::runtime

LOCUS_COLD_END
