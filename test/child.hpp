// SPDX-License-Identifier: Apache-2.0
// A test case in a process of its own: for programs that end badly, and for what stderr shows.
// Such a case is marked with doctest::skip(), so that it runs only here.
#pragma once
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace child {

struct result {
  int code = -1;      // what it returned
  int signal = 0;     // what ended it
  bool hung = false;  // it was still running after the deadline
  std::string text;   // what it wrote
  bool says(std::string const& part) const { return text.find(part) != std::string::npos; }
  int count(std::string const& part) const {
    int n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
};

/// means: this program again, with one test case alone; environment: "NAME=value" in addition,
///        LOCUS_QUIET is not set; or a copy of this program
inline result run(std::string const& test_case, std::vector<std::string> const& environment = {},
                  int seconds = 60, std::string const& program = "/proc/self/exe") {
  auto const name_of = [](std::string const& setting) {
    return setting.substr(0, setting.find('=') + 1);
  };
  std::vector<std::string> settings = environment;
  for (char** e = environ; *e; ++e) {
    std::string const setting = *e;
    bool keep = name_of(setting) != "LOCUS_QUIET=";
    for (auto const& ours : environment) keep = keep && name_of(setting) != name_of(ours);
    if (keep) settings.push_back(setting);
  }
  std::string const filter = "--test-case=" + test_case;
  std::vector<char*> arguments, variables;
  for (char const* a : {"child", filter.c_str(), "--no-skip", "--no-version", "--no-colors"})
    arguments.push_back(const_cast<char*>(a));
  for (auto& s : settings) variables.push_back(s.data());
  arguments.push_back(nullptr), variables.push_back(nullptr);

  int ends[2];
  result r;
  if (pipe(ends) != 0) return r;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  posix_spawn_file_actions_adddup2(&files, ends[1], 2);
  posix_spawn_file_actions_addclose(&files, ends[0]);
  posix_spawn_file_actions_addclose(&files, ends[1]);
  pid_t process = 0;
  int const spawned =
      posix_spawn(&process, program.c_str(), &files, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (spawned != 0) {
    close(ends[0]);
    return r;
  }
  for (char part[4096];;) {
    pollfd wait{ends[0], POLLIN, 0};
    if (poll(&wait, 1, 1000 * seconds) == 0) {
      r.hung = true;
      kill(process, SIGKILL);
    }
    auto const n = read(ends[0], part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    r.text.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  if (WIFEXITED(status)) r.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
  return r;
}

}  // namespace child
