// SPDX-License-Identifier: Apache-2.0
// In place of libnccl.so.2: collectives by NCCL's rules, as simulated GPUs have them, among the cards of the PTX
// machine. Operations of all ranks meet on the streams that they are given. Between processes the carrier of the
// program brings them, which the program shows by a function `ptx_ranks`.
#include <dlfcn.h>
#include <memory>
#include <mutex>

#include <locus/backend/simulated/fake_nccl.hpp>
#include <locus/machine/launch_site.hpp>

#include "../cudart/library.hpp"

#define NCCL_API extern "C" __attribute__((visibility("default")))

namespace {

struct engine {
  static int current() { return ptx_card_of_stream(nullptr); }
  static int card_of_stream(void* s) { return ptx_card_of_stream(s); }
  static int card_of(void const* p) { return ptx_card_of(p); }
  static void* reach(void*, void* p) { return ptx_host(p); }
  template <class Work>
  struct task {
    locus::touched memory;
    int card;
    Work work;
    static void run(void* data) {
      std::unique_ptr<task> const t(static_cast<task*>(data));
      if (t->memory.bytes)
        ptx_reach(t->memory.first, t->memory.bytes, t->card, !t->memory.writes, "NCCL");
      t->work();
      if (t->memory.writes) ptx_wrote(t->memory.first, t->memory.bytes);
    }
  };
  template <class Work>
  static void enqueue(void* s, locus::touched const& memory, Work work) {
    auto* const t = new task<Work>{memory, ptx_card_of_stream(s), std::move(work)};
    ptx_submit(s, task<Work>::run, t, "NCCL", memory.bytes, 0);
  }
  static void join(void* const* streams, int n) { ptx_join(streams, n); }
  static void finish(void* const* streams, int n) { ptx_finish(streams, n); }
};
using fake = locus::simulated::fake_nccl<engine>;
constexpr locus::runtime::nccl_api table = fake::table();
using type = locus::runtime::nccl_type;

std::mutex& lock() {
  static std::mutex& m = *new std::mutex;
  return m;
}
template <class... A, class... B>
int call(char const* function, int (*f)(A...), B... b) {
  std::lock_guard const hold(lock());
  int const planned = ptx_called(function);
  return planned != 0 ? planned : f(b...);
}

/// means: this library sees the ranks of the program
void look_at_ranks() {
  using show = void (*)(locus::runtime::rank_carrier const** by, locus::rank_numbers* ranks);
  if (auto* const f = reinterpret_cast<show>(dlsym(RTLD_DEFAULT, "ptx_ranks")))
    f(&locus::runtime::ranks_by, &locus::runtime::this_rank);
}

}  // namespace

NCCL_API int ncclGetVersion(int* v) { return call("ncclGetVersion", table.version, v); }
NCCL_API int ncclGetUniqueId(locus::runtime::nccl_id* id) {
  look_at_ranks();
  return call("ncclGetUniqueId", table.make_id, id);
}
NCCL_API int ncclCommInitRankConfig(void** comm, int ranks, locus::runtime::nccl_id id, int rank,
                                    void*) {
  look_at_ranks();
  return call("ncclCommInitRankConfig", table.init_rank, comm, ranks, &id, rank);
}
NCCL_API int ncclCommGetAsyncError(void* c, int* state) {
  return call("ncclCommGetAsyncError", table.async_state, c, state);
}
NCCL_API int ncclCommAbort(void* c) { return call("ncclCommAbort", table.abort, c); }
NCCL_API int ncclCommDestroy(void* c) { return call("ncclCommDestroy", table.destroy, c); }
NCCL_API int ncclCommCount(void* c, int* n) {
  return call("ncclCommCount", table.rank_count, c, n);
}
NCCL_API int ncclCommUserRank(void* c, int* r) {
  return call("ncclCommUserRank", table.rank_of, c, r);
}
NCCL_API int ncclCommCuDevice(void* c, int* card) {
  return call("ncclCommCuDevice", table.card_of, c, card);
}
NCCL_API int ncclGroupStart() { return call("ncclGroupStart", table.group_start); }
NCCL_API int ncclGroupEnd() { return call("ncclGroupEnd", table.group_end); }
NCCL_API int ncclAllReduce(void const* s, void* r, std::size_t n, int t, int op, void* c, void* q) {
  return call("ncclAllReduce", table.all_reduce, s, r, n, type(t), op, c, q);
}
NCCL_API int ncclReduce(void const* s, void* r, std::size_t n, int t, int op, int root, void* c,
                        void* q) {
  return call("ncclReduce", table.reduce, s, r, n, type(t), op, root, c, q);
}
NCCL_API int ncclBroadcast(void const* s, void* r, std::size_t n, int t, int root, void* c,
                           void* q) {
  return call("ncclBroadcast", table.broadcast, s, r, n, type(t), root, c, q);
}
NCCL_API int ncclAllGather(void const* s, void* r, std::size_t n, int t, void* c, void* q) {
  return call("ncclAllGather", table.all_gather, s, r, n, type(t), c, q);
}
NCCL_API int ncclReduceScatter(void const* s, void* r, std::size_t n, int t, int op, void* c,
                               void* q) {
  return call("ncclReduceScatter", table.reduce_scatter, s, r, n, type(t), op, c, q);
}
NCCL_API int ncclSend(void const* d, std::size_t n, int t, int peer, void* c, void* q) {
  return call("ncclSend", table.send, d, n, type(t), peer, c, q);
}
NCCL_API int ncclRecv(void* d, std::size_t n, int t, int peer, void* c, void* q) {
  return call("ncclRecv", table.receive, d, n, type(t), peer, c, q);
}
NCCL_API int ncclRedOpCreatePreMulSum(int* op, void* scalar, int t, int on_host, void* c) {
  return on_host == 1
             ? call("ncclRedOpCreatePreMulSum", table.create_scaled_sum, op, scalar, type(t), c)
             : int(locus::runtime::nccl_invalid_argument);
}
NCCL_API int ncclRedOpDestroy(int op, void* c) {
  return call("ncclRedOpDestroy", table.destroy_op, op, c);
}
NCCL_API char const* ncclGetErrorString(int code) { return table.describe(code); }
NCCL_API char const* ncclGetLastError(void* c) { return table.last_error(c); }
