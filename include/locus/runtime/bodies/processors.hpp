// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/processors.hpp declares.
#pragma once
#include <cstring>   // strchr
#include <dlfcn.h>   // dlsym
#include <unistd.h>  // read, close

#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/runtime/processors.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION int quota_of_v2(char const* folder) {
  char path[3200], text[64];
  std::snprintf(path, sizeof path, "%s/cpu.max", folder);
  long long quota = 0, period = 0;
  if (!read_start(path, text) || std::sscanf(text, "%lld %lld", &quota, &period) != 2)
    return 0;  // "max 100000"
  return processors_of_quota(quota, period);
}

LOCUS_FUNCTION int quota_of_v1(char const* folder) {
  char path[3200], quota[32], period[32];
  std::snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_start(path, quota)) return 0;
  std::snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  long long q = 0, p = 0;
  if (!read_start(path, period) || std::sscanf(quota, "%lld", &q) != 1 ||
      std::sscanf(period, "%lld", &p) != 1)
    return 0;
  return processors_of_quota(q, p);
}

LOCUS_FUNCTION int quota_of_groups(char const* groups, char const* mounts) {
  char text[8192];
  if (!read_start(groups, text)) return 0;
  int least = 0;
  auto take = [&least](int n) {
    if (n > 0 && (least == 0 || n < least)) least = n;
  };
  for (char* line = text; *line;) {  // "0::/a" or "4:cpu,cpuacct:/a"
    char* const end = std::strchr(line, '\n');
    if (end) *end = '\0';
    char* const names = std::strchr(line, ':');
    char* const group = names ? std::strchr(names + 1, ':') : nullptr;
    if (group && group[1] == '/') {
      std::string_view const list(names + 1, static_cast<std::size_t>(group - names - 1));
      char mount[1024];
      auto at = [&](std::string_view folder) {
        std::snprintf(mount, sizeof mount, "%s%.*s", mounts, static_cast<int>(folder.size()),
                      folder.data());
        return mount;
      };
      if (list.empty()) {
        take(least_quota(at(""), group + 1, quota_of_v2));
        take(least_quota(at("/unified"), group + 1, quota_of_v2));
      } else if (list == "cpu" || list.substr(0, 4) == "cpu," ||
                 list.find(",cpu,") != std::string_view::npos ||
                 (list.size() > 4 && list.substr(list.size() - 4) == ",cpu")) {
        take(least_quota(at("/cpu"), group + 1, quota_of_v1));
        take(least_quota(at("/cpu,cpuacct"), group + 1, quota_of_v1));
      }
    }
    if (!end) break;
    line = end + 1;
  }
  return least;
}

LOCUS_FUNCTION cpu_set_t allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  auto* const count = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_num_places"));
  auto* const size = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "omp_get_place_num_procs"));
  auto* const name =
      reinterpret_cast<void (*)(int, int*)>(dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids"));
  int const places = count && size && name ? count() : 0;
  for (int k = 0; k < places; ++k) {
    int ids[1024];
    int const n = size(k);
    if (n < 0 || n > 1024) continue;
    name(k, ids);
    for (int i = 0; i < n; ++i)
      if (ids[i] >= 0 && ids[i] < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(ids[i]), &set);
  }
  return set;
}

LOCUS_FUNCTION int count_processors() {
  cpu_set_t const set = allowed_processors();
  int n = CPU_COUNT(&set);
  if (n < 1) n = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // more than a set holds
  int const quota = quota_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
  if (quota > 0 && quota < n) n = quota;
  return n > 0 ? n : 1;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
