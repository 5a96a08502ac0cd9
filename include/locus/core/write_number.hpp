// SPDX-License-Identifier: Apache-2.0
// Numbers as text, with a point, whatever locale the program has set: a comma ends the path of an SVG.
#pragma once
#include <cstdarg>   // va_list
#include <cstddef>   // size_t
#include <cstdio>    // vsnprintf
#include <locale.h>  // newlocale, uselocale
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // the same on macOS
#endif

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::internal {

/// Its thread writes and reads numbers as the locale "C" does, during its lifetime.
class numbers_with_points {
 public:
  numbers_with_points() {
    static locale_t const c = newlocale(LC_ALL_MASK, "C", nullptr);
    before_ = uselocale(c);
  }
  numbers_with_points(numbers_with_points const&) = delete;
  ~numbers_with_points() { uselocale(before_); }

 private:
  locale_t before_;
};

/// means: snprintf in the locale "C"
[[gnu::format(printf, 3, 4)]] inline int write_number(char* text, std::size_t size,
                                                      char const* format, ...) {
  numbers_with_points const here;
  va_list numbers;
  va_start(numbers, format);
  int const written = std::vsnprintf(text, size, format, numbers);
  va_end(numbers);
  return written;
}

}  // namespace locus::internal

LOCUS_COLD_END
