// SPDX-License-Identifier: Apache-2.0
// A program, two shared libraries and a plugin have one device table: its counters, its memory, its
// simulated GPUs and its configuration are the same for all.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "part.hpp"
#include <locus/locus.hpp>

using namespace locus;

static int failures = 0;
static void check(bool holds, char const* what, char const* part) {
  if (holds) return;
  std::printf("%s: %s\n", part, what);
  ++failures;
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__, name)

static void look_at(part const& p) {
  char const* const name = p.name;
  part_facts f{};
  std::int64_t const held = config::get_memory_info("/CPU:0").current;
  tally const done = testing::count([&] { p.report(&f); });
  CHECK(f.table == &runtime::table);
  CHECK(f.counters == &runtime::executed);
  CHECK(f.kernels == &runtime::kernels);
  CHECK(f.machine == &simulated::gpus());
  CHECK(f.threads == &runtime::host_memory);
  CHECK(f.sum == 36);
  CHECK(done.launches > 0);
  CHECK(done.copies > 0);
  CHECK(config::get_memory_info("/CPU:0").current - held == f.held_bytes);
  p.drop();
  CHECK(config::get_memory_info("/CPU:0").current == held);
  bool caught = false;
  try {
    p.misuse();
  } catch (error const& e) {
    caught = std::strstr(e.what(), "moved from") != nullptr;
  }
  CHECK(caught);
}
static part open_plugin(char const* file) {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::printf("%s\n", dlerror());
    ++failures;
    return {};
  }
  auto function = [&](char const* name) { return dlsym(handle, name); };
  return {file, reinterpret_cast<void (*)(part_facts*)>(function("part_plugin")),
          reinterpret_cast<void (*)()>(function("part_plugin_drop")),
          reinterpret_cast<void (*)()>(function("part_plugin_misuse"))};
}

/// the program is linked with two libraries, and opens the plugin
static void look_at_all(part const& plugin) {
  char const* const name = "program";
  part_facts f{};
  plugin.report(&f), plugin.drop();  // the plugin is first: it freezes the configuration
  bool frozen = false;
  try {
    config::set_logical_devices("CPU:0", {{}, {}});
  } catch (configuration_error const&) {
    frozen = true;
  }
  CHECK(frozen);
  auto const look = [&] {
    for (int k = 0; k < linked_part_count; ++k) look_at(linked_parts[k]);
    look_at(plugin);
  };
  look();
  testing::simulated_gpus two{2, {.seed = 3}};
  look();
}
/// the program has the plugin alone: one table, or an error that says how to make them one
static void look_at_pair(part const& plugin) {
  char const* const name = plugin.name;
  (void)config::count_logical_gpus();
  part_facts f{};
  try {
    plugin.report(&f);
    CHECK(f.table == &runtime::table);
    plugin.drop();
    look_at(plugin);
    std::printf("one table\n");
  } catch (configuration_error const& e) {
    CHECK(f.table != &runtime::table);
    CHECK(std::strstr(e.what(), "two device tables"));
    CHECK(std::strstr(e.what(), "-rdynamic"));
    CHECK(std::strstr(e.what(), plugin.name));
    std::printf("two tables, refused\n");
  }
}

int main(int count, char** words) {
  if (count != 2) return 2;
  part const plugin = open_plugin(words[1]);
  if (!plugin.report) return 1;
  if (linked_part_count > 0)
    look_at_all(plugin);
  else
    look_at_pair(plugin);
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
