// SPDX-License-Identifier: Apache-2.0
// Expressions of maps as iterators: algorithms of Thrust and of the standard library read them
// without a temporary tensor.
#pragma once
#include <cstddef>   // ptrdiff_t
#include <iterator>  // random_access_iterator_tag

#include <locus/expr/operand.hpp>           // as_operand
#include <locus/thrust/element_reader.hpp>  // reader_of

namespace locus {

inline namespace LOCUS_MODE {

/// means: the elements of an expression of maps, in row order, computed when they are read; on a
///        GPU, only kernels may read them. Its tensors must stay alive and in place.
/// after: thrust::transform_iterator
template <class Reader, class T>
struct element_iterator {
  using value_type = T;
  using reference = T;
  using pointer = void;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  Reader read;
  difference_type at = 0;

  LOCUS_HOST_DEVICE T operator*() const { return static_cast<T>(read(at)); }
  LOCUS_HOST_DEVICE T operator[](difference_type n) const { return static_cast<T>(read(at + n)); }
  LOCUS_HOST_DEVICE element_iterator& operator+=(difference_type n) {
    at += n;
    return *this;
  }
  LOCUS_HOST_DEVICE element_iterator& operator-=(difference_type n) { return *this += -n; }
  LOCUS_HOST_DEVICE element_iterator& operator++() { return *this += 1; }
  LOCUS_HOST_DEVICE element_iterator& operator--() { return *this += -1; }
  LOCUS_HOST_DEVICE element_iterator operator++(int) {
    element_iterator const before = *this;
    ++at;
    return before;
  }
  LOCUS_HOST_DEVICE element_iterator operator--(int) {
    element_iterator const before = *this;
    --at;
    return before;
  }
  LOCUS_HOST_DEVICE friend element_iterator operator+(element_iterator i, difference_type n) {
    return i += n;
  }
  LOCUS_HOST_DEVICE friend element_iterator operator+(difference_type n, element_iterator i) {
    return i += n;
  }
  LOCUS_HOST_DEVICE friend element_iterator operator-(element_iterator i, difference_type n) {
    return i -= n;
  }
  LOCUS_HOST_DEVICE friend difference_type operator-(element_iterator const& a,
                                                     element_iterator const& b) {
    return a.at - b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator==(element_iterator const& a, element_iterator const& b) {
    return a.at == b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator!=(element_iterator const& a, element_iterator const& b) {
    return a.at != b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator<(element_iterator const& a, element_iterator const& b) {
    return a.at < b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator>(element_iterator const& a, element_iterator const& b) {
    return b < a;
  }
  LOCUS_HOST_DEVICE friend bool operator<=(element_iterator const& a, element_iterator const& b) {
    return !(b < a);
  }
  LOCUS_HOST_DEVICE friend bool operator>=(element_iterator const& a, element_iterator const& b) {
    return !(a < b);
  }
};

}  // namespace LOCUS_MODE

namespace detail {
inline namespace LOCUS_MODE {
/// means: an iterator to the first element of an operand that is read
template <class X>
auto first_of(X const& x, operand_list& all) {
  auto const e = as_operand<void>(x);
  all.begin_operand();
  using reader = decltype(reader_of(e, all));
  return element_iterator<reader, typename std::remove_cvref_t<decltype(e)>::value_type>{
      reader_of(e, all)};
}
}  // namespace LOCUS_MODE
}  // namespace detail

}  // namespace locus
