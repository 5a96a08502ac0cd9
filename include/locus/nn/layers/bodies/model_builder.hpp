// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/layers/model_builder.hpp declares.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/layers/model_builder.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

LOCUS_FUNCTION std::string snake_case(std::string_view kind) {
  auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::string s;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    bool const word =
        i > 0 && upper(kind[i]) &&
        ((i + 1 < kind.size() && lower(kind[i + 1])) || (kind[i - 1] >= 'a' && kind[i - 1] <= 'z'));
    if (word) s += '_';
    s += upper(kind[i]) ? static_cast<char>(kind[i] - 'A' + 'a') : kind[i];
  }
  return s;
}

LOCUS_FUNCTION std::string making::name(std::string_view kind) {
  std::string base = snake_case(kind);
  for (auto& [known, count] : counts_)
    if (known == base) return base + "_" + std::to_string(count++);
  counts_.emplace_back(base, 1);
  return base;
}

LOCUS_FUNCTION bool making::is_new_in_cell(void const* parameter) {
  for (void const* const p : in_cells_)
    if (p == parameter) return false;
  in_cells_.push_back(parameter);
  return true;
}

}  // namespace locus::nn::detail

LOCUS_COLD_END
