// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI program as the ranks of locus. The only header that includes <mpi.h>.
#pragma once
// the old C++ interface of MPI needs a library of its own
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>              // duration
#include <climits>             // INT_MAX
#include <condition_variable>  // condition_variable
#include <csignal>             // signal
#include <cstdio>              // fputs
#include <exception>           // uncaught_exceptions
#include <functional>          // function
#include <list>                // list
#include <memory>              // unique_ptr
#include <mutex>               // mutex
#include <string>              // string
#include <thread>              // thread
#include <utility>             // exchange
#include <vector>              // vector

#include <locus/core/clock.hpp>               // seconds_now
#include <locus/run/join_ranks.hpp>           // join_ranks
#include <locus/runtime/blocking_caller.hpp>  // blocking_caller
#include <locus/runtime/carried_memory.hpp>   // carried_array
#include <locus/runtime/device_table.hpp>     // logical_device
#include <locus/runtime/processors.hpp>       // count_processors
#include <locus/runtime/signals.hpp>          // without_signals
#include <locus/runtime/threads.hpp>          // thread_limit
#include <locus/runtime/variables.hpp>        // mpi_memory_said

namespace locus::mpi {

namespace detail {

/// One message on the communicator for questions: the last collective of a rank.
struct letter {
  bool asks = false;  // the receiver answers
  int pid = 0;
  internal::rank_point at{};  // its last collective
};
/// A letter whose sending has not ended.
struct letter_under_way {
  letter what;
  MPI_Request request = MPI_REQUEST_NULL;
};
/// The last letter of a rank.
struct letter_heard {
  letter what{};
  double when = -1;
};

/// The state of the carrier: two communicators of its own, the hosts of the ranks, letters.
struct world_state {
  MPI_Comm comm = MPI_COMM_NULL, questions = MPI_COMM_NULL;
  int rank = 0, ranks = 1, local_rank = 0, local_ranks = 1;
  int processors = 1;             // of this rank
  bool one_thread = false;        // only the thread that made the world may call MPI
  bool any_thread = false;        // several threads may call MPI at once
  bool takes_gpu_memory = false;  // messages may lie in the memory of CUDA's GPUs
  std::unique_ptr<runtime::blocking_caller> blocking;  // made for the first large message
  pthread_t thread{};
  bool busy = false;                // a thread is in a function of the carrier
  std::vector<std::string> hosts;   // [rank]
  std::vector<letter_heard> heard;  // [rank]
  std::list<letter_under_way> sent;
  std::string error;  // the text of the last failure
};
LOCUS_SHARED_STATE inline world_state state;

inline runtime::rank_failure failure_of(int code) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  state.error.assign(text, std::size_t(length));
  return {runtime::rank_failed, -1, state.error.c_str()};
}

inline void send_letter(int to, bool asks) {
  letter_under_way& out = state.sent.emplace_back();
  out.what.asks = asks, out.what.pid = getpid(), out.what.at = internal::point_now();
  if (MPI_Isend(&out.what, sizeof(letter), MPI_BYTE, to, 0, state.questions, &out.request) !=
      MPI_SUCCESS)
    state.sent.pop_back();
}

/// means: keeps the letters that have come, and answers questions
inline void read_letters() {
  for (;;) {
    int there = 0;
    MPI_Status from;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, state.questions, &there, &from) != MPI_SUCCESS || !there)
      break;
    letter_heard& heard = state.heard[std::size_t(from.MPI_SOURCE)];
    // the letter is here: this call does not wait
    MPI_Recv(&heard.what, sizeof(letter), MPI_BYTE, from.MPI_SOURCE, 0, state.questions,
             MPI_STATUS_IGNORE);
    heard.when = seconds_now();
    if (heard.what.asks) send_letter(from.MPI_SOURCE, false);
  }
  std::erase_if(state.sent, [](letter_under_way& out) {
    int done = 0;
    return MPI_Test(&out.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
  });
}

/// means: the first rank that has sent no letter since `begin`, and in words where the others are
inline runtime::rank_failure who_is_late(double begin) {
  internal::rank_point const& mine = internal::point_now();
  int silent = -1, told = 0;
  message text;
  for (int r = 0; r < state.ranks; ++r) {
    letter_heard const& heard = state.heard[std::size_t(r)];
    bool const answers = heard.when >= begin;
    if (!answers && silent < 0) {
      silent = r;
      continue;  // the caller names it
    }
    if (r == state.rank) continue;
    if (++told > 8) {
      text << "; other ranks are not listed";
      break;
    }
    text << (told > 1 ? "; rank " : "rank ") << r << " on "
         << std::string_view(state.hosts[std::size_t(r)]);
    if (!answers) {
      text << " does not answer";
      continue;
    }
    text << " (process " << heard.what.pid << ") ";
    internal::rank_point const& other = heard.what.at;
    if (other.number == mine.number && other.plan == mine.plan) {
      text << "waits at the same place";
      continue;
    }
    text << (other.number < mine.number   ? "is behind"
             : other.number > mine.number ? "is ahead"
                                          : "is elsewhere")
         << ": its last is collective " << other.number << ", ";
    internal::write_point(text, other);
  }
  state.error = text.view();
  return {runtime::rank_late, silent, state.error.empty() ? nullptr : state.error.c_str()};
}

/// means: asks all ranks where they are, and listens for one second. A rank answers while it waits
///        for a collective
inline runtime::rank_failure ask_ranks(double begin) {
  for (int r = 0; r < state.ranks; ++r)
    if (r != state.rank) send_letter(r, true);
  double const asked = seconds_now();
  for (int silent = 1; silent > 0 && seconds_now() - asked < 1; usleep(500)) {
    read_letters();
    state.heard[std::size_t(state.rank)].when = seconds_now();
    silent = 0;
    for (letter_heard const& h : state.heard) silent += h.when < begin;
  }
  return who_is_late(begin);
}

/// means: waits until all requests have ended, and no longer than `seconds`; then it asks the ranks
// MPI has no deadlines. The calling thread drives MPI by MPI_Testall, as MPI_THREAD_FUNNELED allows
inline runtime::rank_failure wait_for(std::vector<MPI_Request>& all, double seconds) {
  std::vector<MPI_Status> ends(all.size());
  double const begin = seconds_now();
  double read = begin;
  for (long tries = 1;; ++tries) {
    int done = 0;
    int const code = MPI_Testall(int(all.size()), all.data(), &done, ends.data());
    if (code == MPI_ERR_IN_STATUS)
      for (MPI_Status const& end : ends)
        if (end.MPI_ERROR != MPI_SUCCESS && end.MPI_ERROR != MPI_ERR_PENDING)
          return failure_of(end.MPI_ERROR);
    if (code != MPI_SUCCESS) return failure_of(code);
    if (done) return {};
    if (tries % 64 != 0) continue;
    double const now = seconds_now();
    bool const asks = state.questions != MPI_COMM_NULL;
    if (seconds > 0 && now - begin > seconds)
      return asks ? ask_ranks(begin) : runtime::rank_failure{runtime::rank_late, -1, nullptr};
    if (asks && now - read > 1e-3) read = now, read_letters();
    sched_yield();
  }
}

inline constexpr std::int64_t large_message = 64 << 10;  // units: bytes

/// means: call() on the thread for blocking calls, for at most `seconds`
inline runtime::rank_failure call_blocking(std::function<int()> call, double seconds) {
  if (!state.blocking) {
    runtime::without_signals const for_the_program;
    state.blocking = std::make_unique<runtime::blocking_caller>();
  }
  double const begin = seconds_now();
  state.blocking->start(std::move(call));
  for (int code = MPI_SUCCESS;; read_letters()) {
    if (state.blocking->wait(1e-3, code)) return failure_of(code);
    if (seconds > 0 && seconds_now() - begin > seconds) return ask_ranks(begin);
  }
}

/// means: this thread may not call MPI
inline bool is_other_thread() {
  return state.one_thread && !pthread_equal(pthread_self(), state.thread);
}
inline runtime::rank_failure other_thread() {
  return {runtime::rank_failed, -1,
          "it is started for one thread, and this is another; run statements over ranks on the "
          "thread that made the world, or start MPI with MPI_THREAD_MULTIPLE"};
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
  runtime::rank_failure f = code == MPI_SUCCESS ? wait_for(requests, seconds) : failure_of(code);
  if (f.code == runtime::rank_failed && state.takes_gpu_memory) {
    state.error += "; LOCUS_MPI_GPU_MEMORY=0 keeps messages in host memory";
    f.more = state.error.c_str();
  }
  return f;
}

inline runtime::rank_failure broadcast(void* data, std::int64_t bytes, int root, double seconds) {
  if (state.any_thread && bytes >= large_message)
    return call_blocking(
        [data, bytes, root] {
          int code = MPI_SUCCESS;
          in_parts(data, bytes, [&](char* first, int n) {
            if (code == MPI_SUCCESS) code = MPI_Bcast(first, n, MPI_BYTE, root, state.comm);
          });
          return code;
        },
        seconds);
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
  runtime::carried_array<int> counts(ranks), offsets(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    counts[r] = int(ends[r] - begin_of(r)), offsets[r] = int(begin_of(r));
  std::vector<MPI_Request> requests(1);
  int const code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts.data(),
                                   offsets.data(), MPI_BYTE, state.comm, requests.data());
  runtime::rank_failure const f =
      code == MPI_SUCCESS ? wait_for(requests, seconds) : failure_of(code);
  if (f.code != runtime::rank_success) counts.keep(), offsets.keep();
  return f;
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
  if (state.any_thread && count * bytes >= large_message)
    return call_blocking(
        [data, count, bytes, of, by] {
          int code = MPI_SUCCESS;
          in_parts(data, count * bytes, [&](char* first, int n) {
            if (code == MPI_SUCCESS)
              code = MPI_Allreduce(MPI_IN_PLACE, first, n / bytes, of, by, state.comm);
          });
          return code;
        },
        seconds);
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
  in_parts(data, count * bytes, [&](char* first, int n) {
    if (code != MPI_SUCCESS) return;
    requests.emplace_back();
    code = MPI_Iallreduce(MPI_IN_PLACE, first, n / bytes, of, by, state.comm, &requests.back());
  });
  return code == MPI_SUCCESS ? wait_for(requests, seconds) : failure_of(code);
}

inline bool any_thread() { return state.any_thread; }
inline bool has_free_processor() { return state.processors > runtime::threads_of_pool(); }
inline char const* host_of(int rank) {
  return rank < int(state.hosts.size()) ? state.hosts[std::size_t(rank)].c_str() : "?";
}

/// means: MPI says that it takes the memory of CUDA's GPUs. Open MPI and MVAPICH have a function of
///        their own for that, and MPICH has another
inline bool says_it_takes_gpu_memory() {
#ifdef MPIX_GPU_SUPPORT_CUDA
  int takes = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes) == MPI_SUCCESS && takes != 0;
#else
  void* const ask = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  return ask && reinterpret_cast<int (*)()>(ask)() == 1;
#endif
}
// of Open MPI's functions, those that send, receive and block take such memory, and collectives of requests
// do not: messages alone lie there
inline bool takes_memory_of(logical_device const& d) {
  return state.takes_gpu_memory && d.is_card();
}

/// A function of the carrier, for one thread at a time: collectives of two threads would mix.
template <auto F>
struct by_one_thread;
template <class... A, runtime::rank_failure (*F)(A...)>
struct by_one_thread<F> {
  static runtime::rank_failure call(A... a) {
    if (is_other_thread()) return other_thread();
    struct turn {
      bool const mine = !__atomic_exchange_n(&state.busy, true, __ATOMIC_ACQUIRE);
      ~turn() {
        if (mine) __atomic_store_n(&state.busy, false, __ATOMIC_RELEASE);
      }
    } const now;
    if (now.mine) return F(a...);
    return {runtime::rank_failed, -1,
            "two threads of this rank run statements over ranks at once; run them on one thread"};
  }
};

inline constexpr runtime::rank_carrier carrier{by_one_thread<exchange>::call,
                                               by_one_thread<broadcast>::call,
                                               by_one_thread<all_gather>::call,
                                               by_one_thread<all_reduce>::call,
                                               host_of,
                                               any_thread,
                                               has_free_processor,
                                               "MPI",
                                               takes_memory_of};

[[noreturn]] inline void refuse(std::string_view why) {
  message text;
  throw configuration_error(text << "locus: an mpi::world cannot be made: " << why);
}
inline void require(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  failure_of(code);
  message text;
  refuse((text << call << ": " << std::string_view(state.error)).view());
}
/// units: seconds in which all ranks must come
inline double seconds_to_join() {
  return runtime::collective_deadline(&runtime::collective_deadlines::init);
}
/// fails: collective_error, if the ranks did not come in time
inline void require_in_time(runtime::rank_failure const& f, std::string_view call) {
  if (f.code == runtime::rank_success) return;
  message text;
  text << "locus: an mpi::world cannot be made: ";
  if (f.code != runtime::rank_late)
    throw collective_error(text << call << ": " << std::string_view(f.more), call, -1, -1, 0);
  double const limit = seconds_to_join();
  throw collective_error(text << "some rank of its communicator did not come in "
                              << static_cast<std::int64_t>(limit * 1000)
                              << " ms; every rank of the communicator makes the world; "
                                 "config::set_collective_timeout sets the time",
                         call, -1, -1, limit);
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
  state.one_thread = level < MPI_THREAD_SERIALIZED, state.thread = pthread_self();
  state.any_thread = level == MPI_THREAD_MULTIPLE;
  int const said = runtime::mpi_memory_said();
  state.takes_gpu_memory = said >= 0 ? said == 1 : says_it_takes_gpu_memory();
}

/// means: ends this process, unless the object ends in time: MPI_Init_thread has no deadline, and
///        waits for ever for a process that does not start MPI
class limit_of_start {
 public:
  limit_of_start() {
    runtime::without_signals const for_the_program;
    if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
  }
  limit_of_start(limit_of_start const&) = delete;
  ~limit_of_start() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard const hold(lock_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock hold(lock_);
    if (changed_.wait_for(hold, std::chrono::duration<double>(seconds_), [&] { return ended_; }))
      return;
    message text;
    text << "locus: an mpi::world cannot be made: MPI_Init_thread did not end in "
         << static_cast<std::int64_t>(seconds_ * 1000)
         << " ms; every process that mpirun starts makes the world; "
            "config::set_collective_timeout sets the time\n";
    std::fputs(text.c_str(), stderr);
    _exit(70);
  }
  double seconds_ = seconds_to_join();
  std::mutex lock_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

/// means: comm = a communicator of the same ranks. MPI_Comm_dup would have no deadline
inline void duplicate(MPI_Comm from, MPI_Comm& comm) {
  MPI_Comm made = MPI_COMM_NULL;
  std::vector<MPI_Request> request(1);
  require(MPI_Comm_idup(from, &made, request.data()), "MPI_Comm_idup");
  require_in_time(wait_for(request, seconds_to_join()), "MPI_Comm_idup");
  comm = made;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/// means: writes a line, and ends all ranks. The others have 0.5 s for lines of their own
[[noreturn]] inline void end_ranks(std::string_view why) {
  message text;
  text << why << "\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(nullptr);
  usleep(500000);
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarms;
  sigemptyset(&alarms), sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(3);  // MPICH's MPI_Abort does not return beside a rank that is stopped
  MPI_Abort(state.comm, 70);
  _exit(70);
}

}  // namespace detail

/// means: the ranks of an MPI communicator are the ranks of this program: Mirrored<Ranks<AllGpus>>
///        and Sharded<0, Ranks<AllGpus>> lie over all of them, until the world ends. Every rank runs
///        every statement over ranks
/// cost:  two communicators of its own. Loops of ranks that may use the same processors share them
/// fails: configuration_error: MPI is not started or has ended, or there is a world already;
///        collective_error: a rank does not come
/// after: the SPMD model of MPI
class [[nodiscard]] world {
 public:
  /// means: starts MPI, unless the program has done it, and ends it with the world then
  /// fails: where MPI does not start in time, since a process of the job does not start it: a line,
  ///        and the end of this process
  world(int& argc, char**& argv) {
    int started = 0, ended = 0, level = 0;
    MPI_Finalized(&ended);
    if (ended) detail::refuse("MPI_Finalize was called; make the world before that");
    MPI_Initialized(&started);
    if (!started) {
      detail::limit_of_start const limit;
      detail::require(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level),
                      "MPI_Init_thread");
      starts_ = true;
    }
    join(MPI_COMM_WORLD);
  }
  /// means: the world of the program's own communicator, which stays the program's
  explicit world(MPI_Comm comm) { join(comm); }
  world(world const&) = delete;
  /// means: waits until all ranks end their worlds; then the process is one rank again. Where a
  ///        rank is at another statement, after a failure between ranks, and while an exception
  ///        passes, it writes a line and ends all ranks: the others would wait for this one. The
  ///        line has the text of an exception of locus; that of another one is lost, unless a
  ///        handler inside the world writes it. A world of one rank ends without more
  ~world() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended) {
      std::fputs("locus: MPI_Finalize was called before the end of an mpi::world; end the world "
                 "first\n",
                 stderr);
      leave();
      return;
    }
    if (size() > 1) meet_the_last_time();
    detail::state.blocking.reset();
    MPI_Comm_free(&detail::state.questions);
    MPI_Comm_free(&detail::state.comm);
    leave();
    if (starts_) MPI_Finalize();
  }

  int rank() const { return detail::state.rank; }
  int size() const { return detail::state.ranks; }
  /// the number of this rank among those of its host
  int local_rank() const { return detail::state.local_rank; }
  std::string_view host() const { return detail::state.hosts[std::size_t(rank())]; }
  /// MPI reads and writes the memory of GPUs: rows of halos, scatters and gathers that NCCL does not
  /// carry need no copies in host memory. LOCUS_MPI_GPU_MEMORY=0 or 1 decides in place of MPI
  bool takes_gpu_memory() const { return detail::state.takes_gpu_memory; }
  /// the replicas of Ranks<AllGpus> on all ranks
  int replicas() const { return runtime::place_now(Ranks<AllGpus>::value).global_count(); }

 private:
  /// The first message of a rank: its host, its processors, its level of threads.
  struct origin {
    char host[MPI_MAX_PROCESSOR_NAME]{};
    cpu_set_t processors;
    bool any_thread = false;  // its MPI has the level MPI_THREAD_MULTIPLE
  };

  void join(MPI_Comm from) {
    if (runtime::ranks_by) detail::refuse("there is a world already; a program has one at a time");
    detail::require_mpi();
    if (from == MPI_COMM_NULL)
      detail::refuse("its communicator is MPI_COMM_NULL; only ranks of the communicator make a "
                     "world of it");
    int joins_groups = 0;
    MPI_Comm_test_inter(from, &joins_groups);
    if (joins_groups) detail::refuse("its communicator joins two groups; merge them first");
    detail::world_state& s = detail::state;
    try {
      detail::duplicate(from, s.comm);
      MPI_Comm_rank(s.comm, &s.rank);
      MPI_Comm_size(s.comm, &s.ranks);
      find_hosts(s);
      s.heard.resize(std::size_t(s.ranks));
      detail::duplicate(from, s.questions);
      internal::join_ranks(detail::carrier, s.rank, s.ranks);
    } catch (...) {
      for (MPI_Comm* const comm : {&s.questions, &s.comm})
        if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
      leave();
      throw;
    }
  }
  /// means: returns when all ranks end their worlds
  void meet_the_last_time() {
    if (std::uncaught_exceptions() > before_) {
      std::string_view const failure = internal::failure_of_ranks();
      message text;
      if (failure.empty()) {
        text << "locus: rank " << rank() << " on " << host()
             << " leaves the world with an exception; all ranks end";
        if (internal::last_error.which) {
          std::string_view why = internal::last_error.text.view();
          if (why.starts_with("locus: ")) why.remove_prefix(7);
          text << ": " << why;
        }
      } else
        text << failure;
      detail::end_ranks(text.view());
    }
    try {
      std::int64_t before = 0;
      internal::tell_ranks("end of the world", 0, before);
    } catch (std::exception const& e) {
      detail::end_ranks(e.what());
    }
  }
  void leave() {
    if (runtime::ranks_by == &detail::carrier) internal::leave_ranks();
    if (limits_) runtime::thread_limit = 0;
    detail::state = {};
  }
  void find_hosts(detail::world_state& s) {
    runtime::carried_array<origin> all(std::size_t(s.ranks));
    origin& mine = all[std::size_t(s.rank)];
    int length = 0;
    MPI_Get_processor_name(mine.host, &length);
    CPU_ZERO(&mine.processors);
    bool const knows_processors =
        sched_getaffinity(0, sizeof mine.processors, &mine.processors) == 0;
    mine.any_thread = std::exchange(s.any_thread, false);  // all ranks call MPI alike
    std::vector<std::int64_t> ends;
    for (int r = 1; r <= s.ranks; ++r) ends.push_back(std::int64_t(sizeof(origin)) * r);
    runtime::rank_failure const f =
        detail::all_gather(all.data(), ends.data(), detail::seconds_to_join());
    if (f.code != runtime::rank_success) all.keep();
    detail::require_in_time(f, "MPI_Iallgatherv");
    int sharing = 0;
    s.local_ranks = 0, s.any_thread = true;
    for (origin const& o : all) {
      s.any_thread = s.any_thread && o.any_thread;
      bool const here = std::string_view(o.host) == mine.host;
      if (&o == &mine) s.local_rank = s.local_ranks;
      s.local_ranks += here;
      sharing += here && CPU_EQUAL(&mine.processors, &o.processors);
      s.hosts.emplace_back(o.host);
    }
    s.processors = runtime::count_processors() / (sharing > 1 ? sharing : 1);
    if (knows_processors) share_processors(sharing);
  }
  /// means: ranks of one host that are bound to the same processors, or to none, share them
  void share_processors(int sharing) {
    if (sharing < 2 || runtime::limit_of_threads() > 0 || runtime::default_threads() > 0) return;
    int const each = runtime::threads_of_machine() / sharing;
    runtime::thread_limit = each < 1 ? 1 : each;
    limits_ = true;
  }

  bool starts_ = false, limits_ = false;
  int before_ = std::uncaught_exceptions();
};

}  // namespace locus::mpi
