// SPDX-License-Identifier: Apache-2.0
// A program without locus opens a plugin, lets it work, closes it, and does so again: the plugin stays loaded, since
// threads of its pool are in its code.
#include "part.hpp"

#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <thread>

/// means: null, or which of the steps went wrong
static char const* use_and_close(char const* file) {
  void* const plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return "the plugin was not opened";
  part_facts f{};
  reinterpret_cast<void (*)(part_facts*)>(dlsym(plugin, "part_plugin"))(&f);
  reinterpret_cast<void (*)()>(dlsym(plugin, "part_plugin_drop"))();
  if (f.sum != 36) return "the plugin computed another sum";
  if (dlclose(plugin) != 0) return "the plugin was not closed";
  void* const still = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (!still) return "the plugin is no longer loaded";
  return dlclose(still) == 0 ? nullptr : "the plugin was not closed again";
}

int main(int, char** arguments) {
  for (int time = 0; time < 3; ++time) {
    if (char const* const wrong = use_and_close(arguments[1])) return std::puts(wrong), 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}
