// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/real_nccl.hpp declares.
#pragma once
#include <locus/backend/cuda/open_library.hpp>  // open_library
#include <locus/backend/cuda/real_nccl.hpp>     // the declarations
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION nccl_library const& nccl_library::instance() {
  static nccl_library const found = open();
  return found;
}

LOCUS_FUNCTION nccl_library nccl_library::open() {
  nccl_library n;
  void* const handle = open_library({"libnccl.so.2", "libnccl.so"});
  if (!handle) return n;
  n.complete = true;
  auto const take = [&](auto& to, char const* name) {
    n.complete &= take_function(handle, to, name);
  };
  take(n.version, "ncclGetVersion"), take(n.make_id, "ncclGetUniqueId");
  take(n.init_rank, "ncclCommInitRankConfig"), take(n.async_state, "ncclCommGetAsyncError");
  take(n.abort, "ncclCommAbort"), take(n.destroy, "ncclCommDestroy");
  take(n.rank_count, "ncclCommCount"), take(n.rank_of, "ncclCommUserRank");
  take(n.card_of, "ncclCommCuDevice");
  take(n.group_start, "ncclGroupStart"), take(n.group_end, "ncclGroupEnd");
  take(n.all_reduce, "ncclAllReduce"), take(n.reduce, "ncclReduce");
  take(n.broadcast, "ncclBroadcast"), take(n.all_gather, "ncclAllGather");
  take(n.reduce_scatter, "ncclReduceScatter");
  take(n.send, "ncclSend"), take(n.receive, "ncclRecv");
  take(n.create_scaled_sum, "ncclRedOpCreatePreMulSum");
  take(n.destroy_op, "ncclRedOpDestroy");
  take(n.describe, "ncclGetErrorString"), take(n.last_error, "ncclGetLastError");
  return n;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END
