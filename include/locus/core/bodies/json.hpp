// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that core/json.hpp declares.
#pragma once
#include <locus/core/json.hpp>       // the declarations
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/printable.hpp>  // utf8_length

LOCUS_COLD_BEGIN

namespace locus {

LOCUS_FUNCTION json_text& json_text::open(char bracket) {
  separate();
  characters_.push(bracket);
  first_ = true;
  return *this;
}

LOCUS_FUNCTION json_text& json_text::close(char bracket) {
  characters_.push(bracket);
  first_ = false;
  return *this;
}

LOCUS_FUNCTION json_text& json_text::name(std::string_view n) {
  value(n);
  characters_.push(':');
  first_ = true;
  return *this;
}

LOCUS_FUNCTION json_text& json_text::value(std::string_view s) {
  separate();
  characters_.push('"');
  for (std::size_t i = 0; i < s.size();) {
    std::size_t const n = detail::utf8_length(s, i);
    if (n == 0)
      raw("\\ufffd");
    else if (n > 1)
      raw(s.substr(i, n));
    else
      write_character(s[i]);
    i += n ? n : 1;
  }
  characters_.push('"');
  return *this;
}

LOCUS_FUNCTION json_text& json_text::value(std::int64_t v) {
  separate();
  write_number(v);
  return *this;
}

LOCUS_FUNCTION json_text& json_text::thousandths(std::int64_t v) {
  separate();
  std::int64_t const part = v % 1000 < 0 ? -(v % 1000) : v % 1000;
  if (v < 0 && v > -1000) characters_.push('-');
  write_number(v / 1000);
  characters_.push('.');
  for (std::int64_t unit = 100; unit > 0; unit /= 10)
    characters_.push(static_cast<char>('0' + part / unit % 10));
  return *this;
}

LOCUS_FUNCTION json_text& json_text::append(std::string_view members) {
  if (members.empty()) return *this;
  separate();
  return raw(members);
}

LOCUS_FUNCTION json_text& json_text::raw(std::string_view s) {
  for (char c : s) characters_.push(c);
  return *this;
}

LOCUS_FUNCTION void json_text::separate() {
  if (!first_) characters_.push(',');
  first_ = false;
}

LOCUS_FUNCTION void json_text::write_number(std::int64_t v) {
  char digits[20];
  int n = 0;
  if (v < 0) characters_.push('-');
  auto u = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  do digits[n++] = static_cast<char>('0' + u % 10);
  while (u /= 10);
  while (n) characters_.push(digits[--n]);
}

LOCUS_FUNCTION void json_text::write_character(char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  auto const u = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') characters_.push('\\');
  if (u >= 0x20 && u != 0x7f) {
    characters_.push(c);
    return;
  }
  raw("\\u00");
  characters_.push(hex[u >> 4]);
  characters_.push(hex[u & 15]);
}

}  // namespace locus

LOCUS_COLD_END
