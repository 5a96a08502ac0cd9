// SPDX-License-Identifier: Apache-2.0
// What a fuzz target is, and what every one of them demands.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <locus/core/error.hpp>

namespace fuzz {

/// Bytes of an enemy, given to one reader. It returns, or throws a locus::error.
struct target {
  char const* name;
  void (*run)(std::string_view bytes);
};
extern target const file_targets[9];
extern target const word_targets[4];

/// means: the program ends here, and the input that led here is kept
[[noreturn]] inline void found(char const* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}
inline void demand(bool so, char const* what) {
  if (!so) found(what);
}
inline bool is_printable(std::string_view s) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    auto const c = static_cast<unsigned char>(s[i]);
    if (c < 0x20 || c == 0x7f) return false;
    if (c == 0xc2 && i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) < 0xa0) return false;
  }
  return true;
}
/// means: f() is done, or refused as locus refuses: a sentence of its own that no terminal obeys
template <class F>
bool done_or_refused(F&& f) {
  try {
    f();
    return true;
  } catch (locus::error const& e) {
    std::string_view const text = e.what();
    demand(text.starts_with("locus: "), "a message without its first word");
    demand(is_printable(text), "a message that commands a terminal");
    demand(text.find("; ") != text.npos || text.find(". ") != text.npos,
           "a message without a remedy");
    return false;
  }
}
/// means: the first byte of an input, taken off: which of several forms it has
inline unsigned form_of(std::string_view& bytes) {
  if (bytes.empty()) return 0;
  unsigned const form = static_cast<unsigned char>(bytes[0]);
  bytes.remove_prefix(1);
  return form;
}

}  // namespace fuzz
