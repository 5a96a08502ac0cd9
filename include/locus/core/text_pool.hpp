// SPDX-License-Identifier: Apache-2.0
// Stores each different text once.
#pragma once
#include <cstdint>      // uint64_t
#include <string_view>  // string_view

#include <locus/core/array.hpp>   // dynamic_array
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus {

/// means: number_of(text) is the same for equal texts; text(number) is the text
class text_pool {
 public:
  [[gnu::cold]] int number_of(std::string_view t);
  std::string_view text(int number) const;
  int size() const { return static_cast<int>(entries_.size()); }
  void clear() { characters_.clear(), entries_.clear(), slots_.clear(); }

 private:
  struct entry {
    std::size_t begin = 0, size = 0;
    std::uint64_t hash = 0;
  };
  /// after: FNV-1a
  static std::uint64_t hash_of(std::string_view t);
  void grow();
  dynamic_array<char> characters_;
  dynamic_array<entry> entries_;
  dynamic_array<int> slots_;  // number + 1; 0: free
};

}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/core/bodies/text_pool.hpp>  // bodies of the functions above
#endif
