// SPDX-License-Identifier: Apache-2.0
// Text in constants: a string literal as a template argument, and a buffer of fixed size.
#pragma once
#include <cstddef>      // size_t
#include <cstdint>      // int64_t
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus {

/// A string literal as argument of a function template: on<"/GPU:0">(e).
template <std::size_t N>
struct fixed_string {
  char text[N]{};
  consteval fixed_string(char const (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// A text as a type, for class templates: nvcc 13 rejects fixed_string there.
template <char... Chars>
struct char_list {
  static constexpr char text[] = {Chars..., '\0'};
  static constexpr std::string_view view() { return {text, sizeof...(Chars)}; }
};

// A loop of our own: with -fsanitize=undefined g++ 12 refuses a constant string_view::find.
constexpr std::size_t find_char(std::string_view text, char c) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == c) return i;
  return std::string_view::npos;
}
constexpr bool contains_text(std::string_view text, std::string_view part) {
  for (std::size_t i = 0; i + part.size() <= text.size(); ++i) {
    std::size_t k = 0;
    while (k < part.size() && text[i + k] == part[k]) ++k;
    if (k == part.size()) return true;
  }
  return false;
}

/// means: the text written to it with <<, cut at its capacity; ends in a null character
/// cost:  no allocation, so that constant evaluation and error paths can use it
template <std::size_t Capacity>
class text_buffer {
 public:
  [[gnu::cold]] constexpr text_buffer& operator<<(std::string_view s) {
    for (char c : s)
      if (size_ + 1 < Capacity) data_[size_++] = c;
    return *this;
  }
  constexpr text_buffer& operator<<(std::int64_t v) {
    auto u = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
    if (v < 0) *this << "-";
    return write_digits(u);
  }
  constexpr text_buffer& operator<<(int v) { return *this << std::int64_t(v); }
  constexpr text_buffer& operator<<(std::size_t v) { return write_digits(v); }

  constexpr std::string_view view() const { return {data_, size_}; }
  constexpr char const* c_str() const { return data_; }
  constexpr bool contains(std::string_view s) const { return contains_text(view(), s); }
  friend constexpr bool operator==(text_buffer const& a, std::string_view b) {
    return a.view() == b;
  }

 private:
  [[gnu::cold]] constexpr text_buffer& write_digits(std::uint64_t u) {
    char digits[20]{};
    int n = 0;
    do digits[n++] = static_cast<char>('0' + u % 10);
    while (u /= 10);
    while (n) *this << std::string_view(&digits[--n], 1);
    return *this;
  }
  char data_[Capacity]{};
  std::size_t size_ = 0;
};

template <class Stream, std::size_t Capacity>
  requires requires(Stream& s) { s.write("", 0); }
Stream& operator<<(Stream& out, text_buffer<Capacity> const& text) {
  out.write(text.c_str(), static_cast<std::ptrdiff_t>(text.view().size()));
  return out;
}

}  // namespace locus

LOCUS_COLD_END
