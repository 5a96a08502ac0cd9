// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI program as the ranks of locus. The only header that includes <mpi.h>.
#pragma once
// the old C++ interface of MPI needs a library of its own
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <climits>    // INT_MAX
#include <exception>  // uncaught_exceptions
#include <string>     // string
#include <vector>     // vector

#include <locus/core/clock.hpp>       // seconds_now
#include <locus/run/join_ranks.hpp>   // join_ranks
#include <locus/runtime/threads.hpp>  // thread_limit

namespace locus::mpi {

namespace detail {

/// What the carrier needs of MPI: a communicator of its own, and the hosts of the ranks.
struct world_state {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, ranks = 1, local_rank = 0, local_ranks = 1;
  std::vector<std::string> hosts;  // [rank]
  std::string error;               // MPI's text for its last failure
};
inline world_state state;

inline runtime::rank_failure failure_of(int code) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  state.error.assign(text, std::size_t(length));
  return {runtime::rank_failed, -1, state.error.c_str()};
}

/// means: waits until all requests have ended, and no longer than `seconds`
// MPI has no deadlines. The calling thread drives MPI by MPI_Testall, as MPI_THREAD_FUNNELED allows
inline runtime::rank_failure wait_for(std::vector<MPI_Request>& all, double seconds) {
  double const begin = seconds_now();
  for (long tries = 1;; ++tries) {
    int done = 0;
    int const code = MPI_Testall(int(all.size()), all.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return failure_of(code);
    if (done) return {};
    if (tries % 64 != 0) continue;
    if (seconds > 0 && seconds_now() - begin > seconds) return {runtime::rank_late, -1, nullptr};
    sched_yield();
  }
}

inline constexpr std::int64_t most_bytes = std::int64_t(1) << 30;  // of one call: counts are int

/// means: call(first, bytes) for parts of at most 1 GiB
template <class Call>
void in_parts(void* data, std::int64_t bytes, Call const& call) {
  for (std::int64_t at = 0; at == 0 || at < bytes; at += most_bytes) {
    std::int64_t const left = bytes - at;
    call(static_cast<char*>(data) + at, static_cast<int>(left < most_bytes ? left : most_bytes));
  }
}

inline constexpr int tag = 7;

inline runtime::rank_failure exchange(runtime::rank_message const* all, int count, double seconds) {
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  for (int k = 0; k < count; ++k)
    in_parts(all[k].data, all[k].bytes, [&](char* first, int n) {
      if (code != MPI_SUCCESS) return;
      requests.emplace_back();
      code = all[k].is_sent
                 ? MPI_Isend(first, n, MPI_BYTE, all[k].peer, tag, state.comm, &requests.back())
                 : MPI_Irecv(first, n, MPI_BYTE, all[k].peer, tag, state.comm, &requests.back());
    });
  if (code != MPI_SUCCESS) return failure_of(code);
  return wait_for(requests, seconds);
}

inline runtime::rank_failure broadcast(void* data, std::int64_t bytes, int root, double seconds) {
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  in_parts(data, bytes, [&](char* first, int n) {
    if (code != MPI_SUCCESS) return;
    requests.emplace_back();
    code = MPI_Ibcast(first, n, MPI_BYTE, root, state.comm, &requests.back());
  });
  if (code != MPI_SUCCESS) return failure_of(code);
  return wait_for(requests, seconds);
}

inline runtime::rank_failure all_gather(void* data, std::int64_t const* ends, double seconds) {
  auto const ranks = std::size_t(state.ranks);
  auto const begin_of = [&](std::size_t r) { return r > 0 ? ends[r - 1] : 0; };
  if (ends[ranks - 1] > INT_MAX) {  // offsets are int
    for (std::size_t r = 0; r < ranks; ++r)
      if (runtime::rank_failure const f = broadcast(static_cast<char*>(data) + begin_of(r),
                                                    ends[r] - begin_of(r), int(r), seconds);
          f.code != runtime::rank_success)
        return f;
    return {};
  }
  std::vector<int> counts, offsets;
  for (std::size_t r = 0; r < ranks; ++r)
    counts.push_back(int(ends[r] - begin_of(r))), offsets.push_back(int(begin_of(r)));
  std::vector<MPI_Request> requests(1);
  int const code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts.data(),
                                   offsets.data(), MPI_BYTE, state.comm, requests.data());
  return code == MPI_SUCCESS ? wait_for(requests, seconds) : failure_of(code);
}

inline MPI_Datatype type_of(element e) {
  switch (e) {
  case element::f32: return MPI_FLOAT;
  case element::f64: return MPI_DOUBLE;
  case element::i32: return MPI_INT32_T;
  case element::i64: return MPI_INT64_T;
  case element::u32: return MPI_UINT32_T;
  case element::u64: return MPI_UINT64_T;
  default: return MPI_DATATYPE_NULL;
  }
}
inline MPI_Op op_of(reduction op) {
  switch (op) {
  case reduction::sum: return MPI_SUM;
  case reduction::product: return MPI_PROD;
  case reduction::max: return MPI_MAX;
  case reduction::min: return MPI_MIN;
  default: return MPI_OP_NULL;
  }
}

inline runtime::rank_failure all_reduce(void* data, std::int64_t count, element type, reduction op,
                                        double seconds) {
  MPI_Datatype const of = type_of(type);
  MPI_Op const by = op_of(op);
  if (of == MPI_DATATYPE_NULL || by == MPI_OP_NULL) return {runtime::rank_no_kernel, -1, nullptr};
  int bytes = 0;
  MPI_Type_size(of, &bytes);
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  in_parts(data, count * bytes, [&](char* first, int n) {
    if (code != MPI_SUCCESS) return;
    requests.emplace_back();
    code = MPI_Iallreduce(MPI_IN_PLACE, first, n / bytes, of, by, state.comm, &requests.back());
  });
  return code == MPI_SUCCESS ? wait_for(requests, seconds) : failure_of(code);
}

inline char const* host_of(int rank) {
  return rank < int(state.hosts.size()) ? state.hosts[std::size_t(rank)].c_str() : "?";
}

inline constexpr runtime::rank_carrier carrier{exchange,   broadcast, all_gather,
                                               all_reduce, host_of,   "MPI"};

[[noreturn]] inline void refuse(std::string_view why) {
  message text;
  throw configuration_error(text << "locus: an mpi::world cannot be made: " << why);
}
inline void require(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  failure_of(code);
  message text;
  throw configuration_error(text << "locus: an mpi::world cannot be made: " << call << ": "
                                 << std::string_view(state.error));
}

/// means: MPI runs, and this thread may call it
inline void require_mpi() {
  int started = 0, ended = 0, level = MPI_THREAD_SINGLE, on_main = 1;
  MPI_Finalized(&ended);
  if (ended) refuse("MPI_Finalize was called; make the world before that");
  MPI_Initialized(&started);
  if (!started)
    refuse("MPI is not started; call MPI_Init_thread first, or write mpi::world world(argc, argv)");
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&on_main);
  if (level < MPI_THREAD_SERIALIZED && !on_main)
    refuse("MPI is started for its main thread; make the world there, or start MPI with "
           "MPI_THREAD_MULTIPLE");
}

}  // namespace detail

/// means: the ranks of an MPI communicator are the ranks of this program: Mirrored<Ranks<AllGpus>>
///        and Sharded<0, Ranks<AllGpus>> lie over all of them, until the world ends. Every rank runs
///        every statement over ranks
/// cost:  a communicator of its own. Loops of ranks that may use the same processors share them
/// fails: configuration_error: MPI is not started or has ended, or there is a world already;
///        collective_error: a rank does not come
/// after: the SPMD model of MPI
class world {
 public:
  /// means: starts MPI, unless the program has done it, and ends it with the world then
  world(int& argc, char**& argv) {
    int started = 0, ended = 0, level = 0;
    MPI_Finalized(&ended);
    if (ended) detail::refuse("MPI_Finalize was called; make the world before that");
    MPI_Initialized(&started);
    if (!started) {
      detail::require(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level),
                      "MPI_Init_thread");
      starts_ = true;
    }
    join(MPI_COMM_WORLD);
  }
  /// means: the world of the program's own communicator, which stays the program's
  explicit world(MPI_Comm comm) { join(comm); }
  world(world const&) = delete;
  /// means: the process is one rank again. While an exception passes, all ranks end: the others
  ///        would wait for this one
  ~world() {
    if (std::uncaught_exceptions() > before_) {
      message text;
      text << "locus: rank " << rank() << " on " << host()
           << " leaves the world with an exception; all ranks end\n";
      std::fputs(text.c_str(), stderr);
      MPI_Abort(detail::state.comm, 70);
    }
    internal::leave_ranks();
    if (limits_) runtime::thread_limit = 0;
    MPI_Comm_free(&detail::state.comm);
    detail::state = {};
    if (starts_) MPI_Finalize();
  }

  int rank() const { return detail::state.rank; }
  int size() const { return detail::state.ranks; }
  /// the number of this rank among those of its host
  int local_rank() const { return detail::state.local_rank; }
  std::string_view host() const { return detail::state.hosts[std::size_t(rank())]; }
  /// the replicas of Ranks<AllGpus> on all ranks
  int replicas() const { return runtime::place_now(Ranks<AllGpus>::value).global_count(); }

 private:
  void join(MPI_Comm from) {
    detail::require_mpi();
    if (runtime::ranks_by) detail::refuse("there is a world already; a program has one at a time");
    if (from == MPI_COMM_NULL) detail::refuse("its communicator is MPI_COMM_NULL");
    detail::world_state& s = detail::state;
    detail::require(MPI_Comm_dup(from, &s.comm), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(s.comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(s.comm, &s.rank);
    MPI_Comm_size(s.comm, &s.ranks);
    try {
      find_hosts(s);
      share_processors(s);
      internal::join_ranks(detail::carrier, s.rank, s.ranks);
    } catch (...) {
      MPI_Comm_free(&s.comm);
      s = {};
      throw;
    }
  }
  static void find_hosts(detail::world_state& s) {
    char name[MPI_MAX_PROCESSOR_NAME]{};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    std::vector<char> names(std::size_t(s.ranks) * sizeof name);
    detail::require(
        MPI_Allgather(name, sizeof name, MPI_BYTE, names.data(), sizeof name, MPI_BYTE, s.comm),
        "MPI_Allgather");
    for (int r = 0; r < s.ranks; ++r)
      s.hosts.emplace_back(names.data() + std::size_t(r) * sizeof name);
    MPI_Comm local;
    detail::require(
        MPI_Comm_split_type(s.comm, MPI_COMM_TYPE_SHARED, s.rank, MPI_INFO_NULL, &local),
        "MPI_Comm_split_type");
    MPI_Comm_rank(local, &s.local_rank);
    MPI_Comm_size(local, &s.local_ranks);
    MPI_Comm_free(&local);
  }
  /// means: ranks of one host that are bound to the same processors, or to none, share them
  void share_processors(detail::world_state const& s) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return;
    std::vector<cpu_set_t> all(std::size_t(s.ranks));
    detail::require(
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, s.comm),
        "MPI_Allgather");
    int sharing = 0;
    for (int r = 0; r < s.ranks; ++r)
      sharing += s.hosts[std::size_t(r)] == s.hosts[std::size_t(s.rank)] &&
                 CPU_EQUAL(&mine, &all[std::size_t(r)]);
    if (sharing < 2 || runtime::limit_of_threads() > 0 || runtime::default_threads() > 0) return;
    int const each = runtime::threads_of_machine() / sharing;
    runtime::thread_limit = each < 1 ? 1 : each;
    limits_ = true;
  }

  bool starts_ = false, limits_ = false;
  int before_ = std::uncaught_exceptions();
};

}  // namespace locus::mpi
