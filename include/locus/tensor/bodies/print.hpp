// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that tensor/print.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION
#include <locus/core/write_number.hpp>  // write_number
#include <locus/tensor/print.hpp>       // the declarations

namespace locus::detail {

LOCUS_FUNCTION text_sink& text_sink::operator<<(std::string_view s) {
  for (char c : s) chars_.push(c);
  return *this;
}

LOCUS_FUNCTION void measure(number_text& t) {
  std::size_t const e = find_char(t.view(), 'e'),
                    digits = e == std::string_view::npos ? t.view().size() : e;
  std::size_t const point = find_char(t.view().substr(0, digits), '.');
  t.before = static_cast<int>(point == std::string_view::npos ? digits : point);
  t.behind = point == std::string_view::npos ? 0 : static_cast<int>(digits - point) - 1;
  t.exponent = static_cast<int>(t.view().size() - digits);
}

LOCUS_FUNCTION number_text exact_text(double v, bool scientific, int behind) {
  number_text t;
  t.size = internal::write_number(t.text, sizeof t.text, scientific ? "%.*e" : "%.*f", behind, v);
  measure(t);
  return t;
}

LOCUS_FUNCTION number_text integer_text(std::int64_t v) {
  number_text t;
  t.size = std::snprintf(t.text, sizeof t.text, "%lld", static_cast<long long>(v));
  return t;
}
LOCUS_FUNCTION number_text integer_text(std::uint64_t v) {
  number_text t;
  t.size = std::snprintf(t.text, sizeof t.text, "%llu", static_cast<unsigned long long>(v));
  return t;
}

}  // namespace locus::detail
