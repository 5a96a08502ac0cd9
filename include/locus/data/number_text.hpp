// SPDX-License-Identifier: Apache-2.0
// The digits of a number, for the text of an error.
#pragma once
#include <charconv>     // to_chars
#include <string_view>  // string_view
#include <type_traits>  // is_integral

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::internal {

/// The shortest digits that name a number of any element type.
class number_text {
 public:
  template <class V>
  explicit number_text(V v) {
    if constexpr (std::is_integral_v<V>)
      end_ = std::to_chars(digits_, digits_ + sizeof digits_, +v).ptr;
    else
      end_ = std::to_chars(digits_, digits_ + sizeof digits_, static_cast<double>(v)).ptr;
  }
  number_text(number_text const&) = delete;
  std::string_view view() const { return {digits_, end_}; }

 private:
  char digits_[32];
  char* end_;
};

}  // namespace locus::internal
