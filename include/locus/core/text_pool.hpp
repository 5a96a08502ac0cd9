// SPDX-License-Identifier: Apache-2.0
// Texts that come again and again, each kept once.
#pragma once
#include <cstdint>      // uint64_t
#include <string_view>  // string_view

#include <locus/core/array.hpp>  // dynamic_array

namespace locus {

/// means: number_of(text) is the same for equal texts; text(number) is the text
class text_pool {
 public:
  [[gnu::cold]] int number_of(std::string_view t) {
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
  std::string_view text(int number) const {
    entry const& e = entries_[static_cast<std::size_t>(number)];
    return {characters_.begin() + e.begin, e.size};
  }
  int size() const { return static_cast<int>(entries_.size()); }
  void clear() { characters_.clear(), entries_.clear(), slots_.clear(); }

 private:
  struct entry {
    std::size_t begin = 0, size = 0;
    std::uint64_t hash = 0;
  };
  /// after: FNV-1a
  static std::uint64_t hash_of(std::string_view t) {
    std::uint64_t h = 14695981039346656037u;
    for (char c : t) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
  }
  void grow() {
    std::size_t const n = slots_.empty() ? 64 : 2 * slots_.size();
    slots_.clear();
    slots_.resize(n);
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      std::size_t at = entries_[k].hash % n;
      while (slots_[at] != 0) at = (at + 1) % n;
      slots_[at] = static_cast<int>(k) + 1;
    }
  }
  dynamic_array<char> characters_;
  dynamic_array<entry> entries_;
  dynamic_array<int> slots_;  // number + 1; 0: free
};

}  // namespace locus
