// SPDX-License-Identifier: Apache-2.0
// Ranks for tests: processes of this computer, joined by sockets, without MPI.
#pragma once
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>    // errno
#include <csignal>   // kill
#include <cstdio>    // fflush
#include <cstring>   // memcpy
#include <optional>  // optional
#include <string>    // string
#include <vector>    // vector

#include <locus/core/clock.hpp>              // seconds_now
#include <locus/run/join_ranks.hpp>          // join_ranks
#include <locus/testing/simulated_gpus.hpp>  // simulated_gpus

namespace locus::testing {

/// The result of a rank, or its end.
struct rank_end {
  std::vector<double> numbers;  // that the function returned
  std::string error;            // the text of its exception
  int status = 0;               // of the process: 0, or as waitpid gives it
  bool is_good() const { return status == 0 && error.empty(); }
};

/// The options of on_ranks.
struct rank_options {
  std::vector<int> gpus{};             // simulated GPUs of each rank; empty: none
  int cards = 0;                       // on which the GPUs of a rank lie; 0: each on its own
  void (*before)(int rank) = nullptr;  // runs in the process of a rank before it joins
  bool adds = true;                    // the carrier has an all_reduce of its own
  bool takes_gpus = false;             // messages may lie in the memory of simulated GPUs
  double seconds = 60;                 // after which ranks that still run are killed
  double delay = 0;                    // of each all-reduce of the carrier, in seconds
};

namespace detail {

/// The sockets of one rank to the others.
struct rank_sockets {
  int rank = 0, ranks = 1;
  std::vector<int> to;  // [rank]
};
inline rank_sockets sockets;
inline double delay_of_all_reduce = 0;  // units: seconds
inline bool takes_gpus = false;

/// means: a message may lie in the memory of a simulated GPU
inline bool takes_memory_of(logical_device const& d) { return takes_gpus && d.is_simulated(); }
/// means: the address at which this process reads what lies at p. Kernels alone read the memory of a simulated GPU
inline void* reach(void* p) { return takes_gpus ? simulated::gpus().behind(p) : p; }

/// One message under way: its length goes first.
struct message_under_way {
  runtime::rank_message what;
  std::int64_t length = what.bytes, done = 0;  // of the length and the bytes
  static constexpr std::int64_t header = sizeof(std::int64_t);
  bool is_over() const { return done == header + what.bytes; }
  char* next() {
    return done < header ? reinterpret_cast<char*>(&length) + done
                         : static_cast<char*>(reach(what.data)) + (done - header);
  }
  std::size_t left() const {
    return static_cast<std::size_t>(done < header ? header - done : header + what.bytes - done);
  }
};

/// means: moves bytes of a message until the socket blocks; false: the other process ended
inline bool move_on(message_under_way& m, int socket) {
  while (!m.is_over()) {
    ssize_t const n = m.what.is_sent ? send(socket, m.next(), m.left(), MSG_NOSIGNAL | MSG_DONTWAIT)
                                     : recv(socket, m.next(), m.left(), MSG_DONTWAIT);
    if (n > 0) {
      m.done += n;
      if (!m.what.is_sent && m.done == m.header && m.length != m.what.bytes) return true;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  return true;
}

inline runtime::rank_failure exchange(runtime::rank_message const* all, int count, double seconds) {
  std::vector<message_under_way> left;
  left.reserve(std::size_t(count));
  for (int k = 0; k < count; ++k) left.push_back({all[k]});
  double const begin = seconds_now();
  for (;;) {
    std::vector<pollfd> waits;
    int of_peer = -1;
    for (std::size_t k = 0; k < left.size(); ++k) {
      bool first = !left[k].is_over();  // the earlier messages of this pair go first
      for (std::size_t j = 0; j < k && first; ++j)
        first = left[j].is_over() || left[j].what.peer != left[k].what.peer ||
                left[j].what.is_sent != left[k].what.is_sent;
      if (!first) continue;
      int const peer = left[k].what.peer, socket = sockets.to[std::size_t(peer)];
      if (!move_on(left[k], socket)) return {runtime::rank_gone, peer, nullptr};
      if (!left[k].what.is_sent && left[k].done >= left[k].header &&
          left[k].length != left[k].what.bytes)
        return {runtime::rank_differs, peer, nullptr};
      if (left[k].is_over()) {
        waits.push_back({socket, POLLOUT, 0});  // the next message of the pair may go
        continue;
      }
      of_peer = peer;
      waits.push_back({socket, short(left[k].what.is_sent ? POLLOUT : POLLIN), 0});
    }
    if (of_peer < 0 && waits.empty()) return {};
    double const over = seconds_now() - begin;
    if (seconds > 0 && over > seconds) return {runtime::rank_late, of_peer, nullptr};
    poll(waits.data(), waits.size(), 50);
  }
}

inline runtime::rank_failure broadcast(void* data, std::int64_t bytes, int root, double seconds) {
  std::vector<runtime::rank_message> all;
  for (int r = 0; r < sockets.ranks; ++r)
    if (r != sockets.rank && (sockets.rank == root || r == root))
      all.push_back({r, data, bytes, sockets.rank == root});
  return exchange(all.data(), int(all.size()), seconds);
}

inline runtime::rank_failure all_gather(void* data, std::int64_t const* ends, double seconds) {
  std::vector<runtime::rank_message> all;
  auto const add = [&](int of, int peer, bool is_sent) {
    std::int64_t const begin = of > 0 ? ends[of - 1] : 0;
    all.push_back({peer, static_cast<char*>(data) + begin, ends[of] - begin, is_sent});
  };
  for (int r = 0; r < sockets.ranks; ++r)
    if (r != sockets.rank) add(sockets.rank, r, true), add(r, r, false);
  return exchange(all.data(), int(all.size()), seconds);
}

/// means: sums of doubles, from the last rank to the first, so that their bits differ from those of
///        the other order
inline runtime::rank_failure all_reduce(void* data, std::int64_t count, element type, reduction op,
                                        double seconds) {
  if (type != element::f64 || op != reduction::sum) return {runtime::rank_no_kernel, -1, nullptr};
  if (delay_of_all_reduce > 0) usleep(static_cast<useconds_t>(1e6 * delay_of_all_reduce));
  auto const ranks = std::size_t(sockets.ranks), n = std::size_t(count);
  std::vector<double> all(ranks * n);
  std::vector<std::int64_t> ends;
  for (std::size_t r = 1; r <= ranks; ++r) ends.push_back(std::int64_t(r * n * sizeof(double)));
  std::memcpy(all.data() + std::size_t(sockets.rank) * n, data, n * sizeof(double));
  runtime::rank_failure const f = all_gather(all.data(), ends.data(), seconds);
  if (f.code != runtime::rank_success) return f;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t r = ranks; r-- > 0;) sum += all[r * n + i];
    static_cast<double*>(data)[i] = sum;
  }
  return {};
}
inline char const* host_of(int) { return "this computer"; }
inline bool any_thread() { return true; }
inline bool has_free_processor() { return false; }

inline constexpr runtime::rank_carrier carrier_that_adds{
    exchange,   broadcast,          all_gather, all_reduce,     host_of,
    any_thread, has_free_processor, "sockets",  takes_memory_of},
    carrier_of_bytes{exchange,   broadcast,          all_gather, nullptr,        host_of,
                     any_thread, has_free_processor, "sockets",  takes_memory_of};

/// means: the whole of a rank's process: joins the others, runs f, writes what it returned
template <class F>
[[noreturn]] void be_rank(F const& f, rank_options const& options, int report) {
  rank_end end;
  try {
    delay_of_all_reduce = options.delay;
    if (options.before) options.before(sockets.rank);
    takes_gpus = options.takes_gpus;
    runtime::rank_of_files = {sockets.rank, sockets.ranks};
    std::optional<simulated_gpus> cards;
    int const gpus = options.gpus.empty() ? 0 : options.gpus[std::size_t(sockets.rank)];
    if (gpus > 0) cards.emplace(gpus, runtime::simulated_options{.cards = options.cards});
    internal::join_ranks(options.adds ? carrier_that_adds : carrier_of_bytes, sockets.rank,
                         sockets.ranks);
    end.numbers = f();
    internal::leave_ranks();
  } catch (std::exception const& e) {
    end.error = e.what();
  }
  auto const put = [&](void const* p, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      ssize_t const n = ::write(report, static_cast<char const*>(p) + at, bytes - at);
      if (n <= 0) _exit(3);
      at += std::size_t(n);
    }
  };
  std::size_t const sizes[] = {end.numbers.size(), end.error.size()};
  put(sizes, sizeof sizes);
  put(end.numbers.data(), sizes[0] * sizeof(double));
  put(end.error.data(), sizes[1]);
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace detail

/// means: `count` child processes are the ranks of one program; each runs f, which returns a
///        vector of doubles; result r is that of rank r
/// cost:  a process for each rank
/// fails: configuration_error, if this process has used devices: it forks
template <class F>
std::vector<rank_end> on_ranks(int count, F const& f, rank_options const& options = {}) {
  if (runtime::table.started || runtime::table.built)
    throw configuration_error(
        "locus: on_ranks forks, and this process has used devices; call it before that");
  auto const n = std::size_t(count);
  if (!options.gpus.empty() && options.gpus.size() != n)
    throw configuration_error(
        "locus: on_ranks: the list of GPUs has another length than the number of ranks; write one "
        "number for each rank, 0 for none");
  std::vector<std::vector<int>> ends(n, std::vector<int>(n, -1));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        throw configuration_error("locus: on_ranks: the system has no more sockets");
      ends[a][b] = pair[0], ends[b][a] = pair[1];
    }
  std::vector<int> reports(n), children(n);
  std::fflush(nullptr);  // a rank must not write what this process has written
  for (std::size_t r = 0; r < n; ++r) {
    int report[2];
    if (pipe(report) != 0) throw configuration_error("locus: on_ranks: no more pipes");
    children[r] = fork();
    if (children[r] == 0) {
      close(report[0]);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          if (a != r && ends[a][b] >= 0) close(ends[a][b]);
      detail::sockets = {int(r), count, ends[r]};
      detail::be_rank(f, options, report[1]);
    }
    close(report[1]);
    reports[r] = report[0];
  }
  for (auto const& of : ends)
    for (int const e : of)
      if (e >= 0) close(e);
  std::vector<rank_end> all(n);
  double const begin = seconds_now();
  for (std::size_t r = 0; r < n; ++r) {
    std::string bytes;
    char part[4096];
    for (bool open = true; open;) {
      pollfd waits{reports[r], POLLIN, 0};
      if (poll(&waits, 1, 100) == 1) {
        ssize_t const got = ::read(reports[r], part, sizeof part);
        open = got > 0;
        if (open) bytes.append(part, std::size_t(got));
      } else if (seconds_now() - begin > options.seconds) {
        for (int const child : children) kill(child, SIGKILL);
      }
    }
    close(reports[r]);
    std::size_t sizes[2]{};
    waitpid(children[r], &all[r].status, 0);
    if (bytes.size() >= sizeof sizes) std::memcpy(sizes, bytes.data(), sizeof sizes);
    if (bytes.size() != sizeof sizes + sizes[0] * sizeof(double) + sizes[1]) {
      if (all[r].status == 0)
        all[r].error = "locus: on_ranks: the rank ended inside of its function";
      continue;
    }
    all[r].numbers.resize(sizes[0]);
    if (sizes[0] > 0)
      std::memcpy(all[r].numbers.data(), bytes.data() + sizeof sizes, sizes[0] * sizeof(double));
    all[r].error = bytes.substr(sizeof sizes + sizes[0] * sizeof(double), sizes[1]);
  }
  return all;
}

}  // namespace locus::testing
