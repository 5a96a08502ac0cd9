// SPDX-License-Identifier: Apache-2.0
// Where messages go: stderr, each line once.
#pragma once
#include <cstdio>   // fwrite
#include <cstdlib>  // getenv

#include <locus/core/text.hpp>  // text_buffer

namespace locus {

using log_line = text_buffer<1024>;

/// How often the placement log speaks of one step of one call site.
enum class log_frequency : unsigned char { off, once, every };

namespace runtime {

inline constinit log_frequency placement_log = log_frequency::off;

inline bool is_quiet() {
  static bool const quiet = [] {
    char const* const v = std::getenv("LOCUS_QUIET");
    return v && *v && *v != '0';
  }();
  return quiet;
}
inline void write_line(log_line& line) {
  line << "\n";
  std::fwrite(line.c_str(), 1, line.view().size(), stderr);
}
/// said unless LOCUS_QUIET is set
inline void warn(log_line& line) {
  if (!is_quiet()) write_line(line);
}

}  // namespace runtime

namespace debugging {
/// means: steps, copies and fallbacks are written to stderr, once for each call site or every time;
///        the creation of a tensor each time
/// after: tf.debugging.set_log_device_placement
inline void set_log_device_placement(bool on, log_frequency how_often = log_frequency::once) {
  runtime::placement_log = on ? how_often : log_frequency::off;
}
}  // namespace debugging

}  // namespace locus
