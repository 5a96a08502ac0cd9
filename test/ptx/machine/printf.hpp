// SPDX-License-Identifier: Apache-2.0
// The text of a printf of device code.
#pragma once
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

namespace ptx {

/// word(bytes) gives the next argument, text(address) what %s points to
template <class Word, class Text>
std::string formatted(std::string const& format, Word&& word, Text&& text) {
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      out += format[at];
      continue;
    }
    std::string one = "%";
    int longs = 0;
    for (++at; at < format.size(); ++at) {
      char const c = format[at];
      if (c == 'l' || c == 'z' || c == 'j' || c == 't')
        longs += c == 'l' ? 1 : 2;
      else if (c == '*')
        one += std::to_string(int(word(4)));
      else if (one += c; std::string_view("diouxXcsfFeEgGaAp%").find(c) != std::string_view::npos)
        break;
      else if (c == 'h')
        one.pop_back();
    }
    char buffer[512];
    auto print = [&](auto value) {
      return std::snprintf(buffer, sizeof buffer, one.c_str(), value), out += buffer;
    };
    switch (one.back()) {
    case '%': out += '%'; break;
    case 's': print(text(word(8)).c_str()); break;
    case 'p': print(reinterpret_cast<void*>(word(8))); break;
    case 'c': print(int(word(4))); break;
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      if (longs) {
        one.insert(one.size() - 1, "ll");
        print(static_cast<long long>(word(8)));
      } else {
        print(int(word(4)));
      }
      break;
    default: print(std::bit_cast<double>(word(8)));
    }
  }
  return out;
}

}  // namespace ptx
