// SPDX-License-Identifier: Apache-2.0
// Signals: none reaches a thread that the program does not know of, and no call that one breaks into
// fails or loses what it was to write.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <locus/data/progress.hpp>
#include <locus/runtime/atomic_file.hpp>
#include <locus/runtime/input_file.hpp>
#include <locus/runtime/signals.hpp>
#include <locus/runtime/threads.hpp>
#include <locus/watch/log.hpp>
#include <signal_storm.hpp>

#include "child.hpp"

using namespace locus;

namespace {

/// File functions of which each call is broken into once before it does anything.
struct interrupted {
  inline static int calls = 0;
  static bool now() {
    if (calls++ % 2 != 0) return false;
    errno = EINTR;
    return true;
  }
  static constexpr runtime::file_functions functions{
      [](char const* path, int flags, mode_t mode) {
        return now() ? -1 : runtime::system_files.open(path, flags, mode);
      },
      [](char const* path, struct stat* what) {
        return now() ? -1 : runtime::system_files.look(path, what);
      },
      [](int file, struct stat* what) {
        return now() ? -1 : runtime::system_files.status(file, what);
      },
      [](int file, mode_t mode) { return now() ? -1 : runtime::system_files.permit(file, mode); },
      [](int file, void const* from, std::size_t bytes) -> ssize_t {
        return now() ? -1 : runtime::system_files.write(file, from, bytes);
      },
      [](int file) { return now() ? -1 : runtime::system_files.sync(file); },
      [](int file) {  // Linux has closed it all the same
        return calls += 2, runtime::system_files.close(file), errno = EINTR, -1;
      },
      [](char const* from, char const* to) { return runtime::system_files.rename(from, to); }};
  interrupted() { calls = 0, runtime::files = &functions; }
  interrupted(interrupted const&) = delete;
  ~interrupted() { runtime::files = &runtime::system_files; }
};

}  // namespace

TEST_CASE("a program with workers that holds a signal back" * doctest::skip()) {
  static pthread_t volatile taken_by{};
  static int volatile taken = 0;
  taken = 0;
  struct sigaction ours{}, before{};
  ours.sa_handler = [](int) {
    taken_by = pthread_self();
    taken = taken + 1;
  };
  sigaction(SIGUSR2, &ours, &before);
  parallel_for(64, 4, [](int) {});
  sigset_t mine, old;
  sigemptyset(&mine), sigaddset(&mine, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mine, &old);
  kill(getpid(), SIGUSR2);
  usleep(20000);
  CHECK(taken == 0);
  parallel_for(64, 4, [](int) {});
  usleep(1000);
  CHECK(taken == 0);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  CHECK(taken == 1);
  CHECK(pthread_equal(taken_by, pthread_self()));
  sigaction(SIGUSR2, &before, nullptr);
}
TEST_CASE("a signal that the program holds back reaches no thread of the pool") {
  // in a process of its own: threads of OpenMP, which other tests begin, are not ours
  auto const seen =
      child::run("a program with workers that holds a signal back", {"LOCUS_THREADS=pool"});
  INFO(seen.text);
  CHECK(seen.code == 0);
  CHECK(seen.signal == 0);
}

TEST_CASE("a thread made without signals takes faults and its profiler's clock alone") {
  sigset_t in_thread, before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  {
    runtime::without_signals const hold_back;
    std::thread([&] { pthread_sigmask(SIG_BLOCK, nullptr, &in_thread); }).join();
  }
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int const s :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGWINCH})
    CHECK(sigismember(&in_thread, s) == 1);
  for (int const s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE, SIGPROF})
    CHECK(sigismember(&in_thread, s) == 0);
  for (int s = 1; s < NSIG; ++s) CHECK(sigismember(&after, s) == sigismember(&before, s));
}

TEST_CASE("a file is saved and read whatever calls a signal breaks into") {
  char folder[] = "/tmp/locus_signals_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  std::string const path = std::string(folder) + "/file";
  for (std::string const text : {"first", "the second one"}) {
    {
      interrupted const all;
      runtime::atomic_file f(path);
      f.write(text.data(), text.size());
      f.commit();
      CHECK(interrupted::calls > 10);
    }
    std::string is(text.size(), ' ');
    runtime::input_file f(path);
    CHECK(f.size() == text.size());
    CHECK(f.read(is.data(), is.size()));
    CHECK(is == text);
    CHECK(access((path + ".part").c_str(), F_OK) != 0);
  }
  unlink(path.c_str()), rmdir(folder);
}

TEST_CASE("lines and bars are whole on a full pipe while signals come") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  fcntl(ends[1], F_SETPIPE_SZ, 4096);
  int const before = dup(2);
  std::string text;
  constexpr int lines = 300;
  int came = 0;
  {
    std::thread reader;
    {
      runtime::without_signals const hold_back;
      reader = std::thread([&] {
        char part[512];
        usleep(50000);
        for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0; usleep(200))
          text.append(part, std::size_t(n));
      });
    }
    dup2(ends[1], 2);
    close(ends[1]);
    {
      signal_storm const storm;
      for (int k = 0; k < lines; ++k) {
        log_line line;
        runtime::write_line(line << "line " << k << " and a text that makes it long enough");
        data::progress_bar(1).show(1, "a bar");
      }
      came = storm.came();
    }
    dup2(before, 2);
    close(before);
    reader.join();
  }
  close(ends[0]);
  CHECK(came > 20);
  std::string rest = text;
  for (int k = 0; k < lines; ++k) {
    std::string const line =
        "line " + std::to_string(k) + " and a text that makes it long enough\n";
    REQUIRE(rest.starts_with(line));
    std::size_t const end = rest.find('\n', line.size());
    REQUIRE(end != rest.npos);
    CHECK(rest.substr(line.size(), end - line.size()) ==
          "1/1 [==============================] 0.0 s  a bar");
    rest.erase(0, end + 1);
  }
  CHECK(rest.empty());
}
