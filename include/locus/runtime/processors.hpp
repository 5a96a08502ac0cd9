// SPDX-License-Identifier: Apache-2.0
// The processors that this process may use: its affinity, and at most the quota of its control
// groups (containers, batch systems).
#pragma once
#include <cstdio>       // snprintf
#include <fcntl.h>      // open
#include <sched.h>      // sched_getaffinity
#include <string_view>  // string_view
#include <unistd.h>     // close

#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION

LOCUS_LEAN_BEGIN
namespace locus::runtime {

/// means: reads the first bytes of a file, null terminated     false: no such file
template <std::size_t N>
bool read_start(char const* path, char (&text)[N]) {
  int const file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::size_t have = 0;
  for (ssize_t n = 0; have < N - 1 && (n = read(file, text + have, N - 1 - have)) > 0;)
    have += static_cast<std::size_t>(n);
  close(file);
  text[have] = '\0';
  return have > 0;
}

/// means: quota / period, the processors that a control group allows, rounded up; 0: no limit
constexpr int processors_of_quota(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  long long const n = (quota + period - 1) / period;
  return n > 1 << 16 ? 0 : static_cast<int>(n);
}

/// means: the smallest quota of a group and of the groups that contain it; 0: none
/// mount: the folder of all groups; group: "/a/b", as in /proc/self/cgroup. In a container the
///        mount may be the group itself, without a folder of its name: then the quota of the mount
///        counts.
template <class Ask>
int least_quota(char const* mount, std::string_view group, Ask const& ask) {
  int least = 0;
  for (;;) {
    if (group == "/") group = "";
    char folder[3072];
    int const n = std::snprintf(folder, sizeof folder, "%s%.*s", mount,
                                static_cast<int>(group.size()), group.data());
    if (n > 0 && n < int(sizeof folder))
      if (int const here = ask(folder); here > 0 && (least == 0 || here < least)) least = here;
    if (group.empty()) return least;
    group = group.substr(0, group.rfind('/'));
  }
}
LOCUS_FUNCTION int quota_of_v2(char const* folder);
LOCUS_FUNCTION int quota_of_v1(char const* folder);

/// means: the number of processors that the control groups of this process allow, versions 1 and 2;
///        0: all
/// groups: /proc/self/cgroup; mounts: /sys/fs/cgroup
LOCUS_FUNCTION int quota_of_groups(char const* groups, char const* mounts);

/// means: the processors on which threads of this process may run. An OpenMP that binds threads
///        (OMP_PROC_BIND) binds the first thread to one processor before main; then the processors
///        are those of OpenMP's places.
LOCUS_FUNCTION cpu_set_t allowed_processors();

/// means: how many threads can run at the same time, by affinity and control groups; at least 1
LOCUS_FUNCTION int count_processors();

}  // namespace locus::runtime
LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/processors.hpp>  // bodies of the functions above
#endif
