// SPDX-License-Identifier: Apache-2.0
// Nested lists of values: {{1, 2, 3}, {4, 5, 6}}.
#pragma once
#include <cstdint>           // int64_t
#include <initializer_list>  // initializer_list

#include <locus/core/error.hpp>   // shape_error
#include <locus/shape/shape.hpp>  // shape

namespace locus::detail {

/// std::initializer_list, nested Rank times, of T
template <class T, int Rank>
struct nested_list {
  using type = std::initializer_list<typename nested_list<T, Rank - 1>::type>;
};
template <class T>
struct nested_list<T, 0> {
  using type = T;
};

/// means: the extents of a nested list     fails: shape_error, when rows differ in length
template <int Rank, class List>
void measure(List const& list, shape& s, int axis, bool known) {
  if constexpr (Rank > 0) {
    auto const n = static_cast<std::int64_t>(list.size());
    if (known && s.extent[axis] != n) {
      message text;
      throw shape_error(text << "locus: rows of a nested list differ in length: " << s.extent[axis]
                             << " and " << n << " elements along axis " << axis
                             << "; write as many in each");
    }
    s.extent[axis] = n;
    bool first = !known;
    for (auto const& inner : list) {
      measure<Rank - 1>(inner, s, axis + 1, !first);
      first = false;
    }
  }
}
template <int Rank, class T, class List>
T* flatten_list(List const& list, T* to) {
  if constexpr (Rank == 0) {
    *to = list;
    return to + 1;
  } else {
    for (auto const& inner : list) to = flatten_list<Rank - 1>(inner, to);
    return to;
  }
}

}  // namespace locus::detail
