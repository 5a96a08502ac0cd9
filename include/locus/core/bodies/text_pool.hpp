// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that core/text_pool.hpp declares.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION
#include <locus/core/text_pool.hpp>  // the declarations

namespace locus {

LOCUS_FUNCTION int text_pool::number_of(std::string_view t) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  std::uint64_t const hash = hash_of(t);
  std::size_t at = hash % slots_.size();
  for (; slots_[at] != 0; at = (at + 1) % slots_.size()) {
    auto const number = static_cast<std::size_t>(slots_[at] - 1);
    if (entries_[number].hash == hash && text(slots_[at] - 1) == t) return slots_[at] - 1;
  }
  entries_.push({characters_.size(), t.size(), hash});
  for (char c : t) characters_.push(c);
  slots_[at] = static_cast<int>(entries_.size());
  return slots_[at] - 1;
}

LOCUS_FUNCTION std::string_view text_pool::text(int number) const {
  entry const& e = entries_[static_cast<std::size_t>(number)];
  return {characters_.begin() + e.begin, e.size};
}

LOCUS_FUNCTION std::uint64_t text_pool::hash_of(std::string_view t) {
  std::uint64_t h = 14695981039346656037u;
  for (char c : t) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

LOCUS_FUNCTION void text_pool::grow() {
  std::size_t const n = slots_.empty() ? 64 : 2 * slots_.size();
  slots_.clear();
  slots_.resize(n);
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    std::size_t at = entries_[k].hash % n;
    while (slots_[at] != 0) at = (at + 1) % n;
    slots_[at] = static_cast<int>(k) + 1;
  }
}

}  // namespace locus
