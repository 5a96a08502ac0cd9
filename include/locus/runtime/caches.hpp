// SPDX-License-Identifier: Apache-2.0
// The caches of the host's processor.
#pragma once
#include <cstdint>   // int64_t
#include <cstdlib>   // strtoll
#include <fcntl.h>   // open
#include <unistd.h>  // read, close

#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus::runtime {

/// means: bytes of the cache that is the last before memory, as one core sees it; 32 MiB where the
///        system does not say
/// cost:  one look into /sys, once; sysconf adds up the caches of all cores, and knows none on ARM
inline std::int64_t find_last_level_cache() {
  std::int64_t largest = 0;
  char path[] = "/sys/devices/system/cpu/cpu0/cache/index0/size";
  for (char& digit = path[40]; digit <= '9'; ++digit) {
    int const file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) break;
    char text[24]{};
    if (read(file, text, sizeof text - 1) > 0) {
      char* unit = nullptr;
      std::int64_t const number = std::strtoll(text, &unit, 10);
      std::int64_t const n = *unit == 'K' ? number << 10 : *unit == 'M' ? number << 20 : number;
      if (n > largest) largest = n;
    }
    close(file);
  }
  return largest > 0 ? largest : std::int64_t(32) << 20;
}
LOCUS_SHARED_STATE inline std::int64_t last_level_cache() {
  static std::int64_t const bytes = find_last_level_cache();
  return bytes;
}

}  // namespace locus::runtime
