// SPDX-License-Identifier: Apache-2.0
// A program without locus opens a plugin, lets it work, closes it, and does so again: the plugin stays loaded, since
// threads of its pool are in its code.
#include "part.hpp"

#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <thread>

static int failures = 0;
static void check(bool holds, char const* what) {
  if (holds) return;
  std::printf("%s\n", what);
  ++failures;
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__)

int main(int, char** arguments) {
  for (int time = 0; time < 3; ++time) {
    void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != nullptr);
    if (!plugin) return 1;
    part_facts f{};
    reinterpret_cast<void (*)(part_facts*)>(dlsym(plugin, "part_plugin"))(&f);
    reinterpret_cast<void (*)()>(dlsym(plugin, "part_plugin_drop"))();
    CHECK(f.sum == 36);
    CHECK(dlclose(plugin) == 0);
    void* const still = dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD);
    CHECK(still != nullptr);
    if (still) dlclose(still);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
