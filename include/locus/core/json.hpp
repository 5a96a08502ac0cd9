// SPDX-License-Identifier: Apache-2.0
// Builds JSON text: members, items, and strings with every special character escaped.
#pragma once
#include <cstdint>      // int64_t
#include <string_view>  // string_view

#include <locus/core/array.hpp>   // dynamic_array
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus {

/// means: JSON text under construction; commas are added where they are needed
class json_text {
 public:
  json_text& open(char bracket);
  json_text& close(char bracket);
  /// the name of the next value
  json_text& name(std::string_view n);
  [[gnu::cold]] json_text& value(std::string_view s);
  json_text& value(std::int64_t v);
  /// units: v thousandths, written as a decimal fraction
  json_text& thousandths(std::int64_t v);
  json_text& member(std::string_view n, std::string_view v) { return name(n).value(v); }
  json_text& member(std::string_view n, std::int64_t v) { return name(n).value(v); }
  /// members or items that are JSON text already
  json_text& append(std::string_view members);
  json_text& raw(std::string_view s);

  std::string_view view() const { return {characters_.begin(), characters_.size()}; }
  void clear() { characters_.clear(), first_ = true; }
  /// the caller has saved the text so far; building continues with an empty buffer
  void restart() { characters_.clear(); }

 private:
  void separate();
  void write_number(std::int64_t v);
  void write_character(char c);
  dynamic_array<char> characters_;
  bool first_ = true;
};

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/core/bodies/json.hpp>  // bodies of the functions above
#endif
