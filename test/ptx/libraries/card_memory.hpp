// SPDX-License-Identifier: Apache-2.0
// Numbers in the memory of a card, as a stand-in's work of a stream reaches them.
#pragma once
#include <cstdint>
#include <vector>

#include "../cudart/library.hpp"

namespace stand_ins {

using numbers = std::vector<double>;

struct card_memory {
  int card;
  char const* who;  // the library, for findings

  template <class T>
  numbers read(T const* from, std::int64_t n) const {
    if (n == 0) return {};
    auto const* const p =
        static_cast<T const*>(ptx_reach(from, std::size_t(n) * sizeof(T), card, true, who));
    return numbers(p, p + n);
  }
  template <class T>
  void write(T* to, numbers const& values) const {
    if (values.empty()) return;
    std::size_t const bytes = values.size() * sizeof(T);
    auto* const p = static_cast<T*>(ptx_reach(to, bytes, card, false, who));
    for (std::size_t i = 0; i < values.size(); ++i) p[i] = static_cast<T>(values[i]);
    ptx_wrote(to, bytes);
  }
  /// the k-th address of a list on the card
  template <class T>
  T* address(T* const* list, int k) const {
    return *static_cast<T* const*>(ptx_reach(list + k, sizeof(T*), card, true, who));
  }
};

}  // namespace stand_ins
