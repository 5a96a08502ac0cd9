// SPDX-License-Identifier: Apache-2.0
// Bytes from outside (files, variables, paths) as text that is safe for a terminal and a log.
#pragma once
#include <cstddef>      // size_t
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN
#include <locus/core/text.hpp>    // text_buffer

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {
/// means: the length of the UTF-8 sequence that begins at i; 0: none begins there
constexpr std::size_t utf8_length(std::string_view s, std::size_t i) {
  auto const at = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  unsigned const c = at(i);
  std::size_t const n = c < 0x80   ? 1
                        : c < 0xC2 ? 0
                        : c < 0xE0 ? 2
                        : c < 0xF0 ? 3
                        : c < 0xF5 ? 4
                                   : 0;
  if (n == 0 || i + n > s.size()) return 0;
  for (std::size_t k = 1; k < n; ++k)
    if ((at(i + k) & 0xC0u) != 0x80) return 0;
  bool const too_long = (c == 0xE0 && at(i + 1) < 0xA0) || (c == 0xF0 && at(i + 1) < 0x90);
  bool const no_character = (c == 0xED && at(i + 1) > 0x9F) || (c == 0xF4 && at(i + 1) > 0x8F);
  return too_long || no_character ? 0 : n;
}
/// means: control characters: C0, DEL, and C1, which UTF-8 writes as C2 80 to C2 9F
constexpr bool is_control(std::string_view character) {
  auto const c = static_cast<unsigned char>(character[0]);
  return c < 0x20 || c == 0x7f || (c == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}
}  // namespace detail

/// means: s, with \x1b in place of each byte of a control character and each byte that is no UTF-8,
///        so that nothing controls a terminal or begins a new line; printable text stays as it is
template <std::size_t N>
[[gnu::cold]] constexpr void write_printable(text_buffer<N>& out, std::string_view s) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (std::size_t i = 0; i < s.size();) {
    std::size_t const n = detail::utf8_length(s, i), all = n ? n : 1;
    std::string_view const character = s.substr(i, all);
    if (n > 0 && !detail::is_control(character))
      out << character;
    else
      for (char const c : character) {
        auto const u = static_cast<unsigned char>(c);
        out << "\\x" << hex.substr(u >> 4, 1) << hex.substr(u & 15, 1);
      }
    i += all;
  }
}

/// means: a path, a name or bytes of a file, for a message: printable, and of a long text only the
///        first and last 100 characters, so that the remedy after it is not cut off
[[gnu::cold]] constexpr text_buffer<256> shown(std::string_view s) {
  text_buffer<256> out;
  text_buffer<512> begin, end;
  write_printable(begin, s.substr(0, 256));
  if (s.size() < 256 && begin.view().size() < 256) {
    out << begin.view();
    return out;
  }
  write_printable(end, s.substr(s.size() > 100 ? s.size() - 100 : 0));
  std::string_view const last = end.view();
  out << begin.view().substr(0, 100) << " ... "
      << last.substr(last.size() > 100 ? last.size() - 100 : 0);
  return out;
}

}  // namespace locus

LOCUS_COLD_END
