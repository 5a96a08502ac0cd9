// SPDX-License-Identifier: Apache-2.0
// A short list as a value: the result of the listing functions, without <vector>.
#pragma once
#include <initializer_list>  // initializer_list

#include <locus/core/error.hpp>  // configuration_error

namespace locus {

/// means: up to Capacity values in order, in the object itself
/// fails: configuration_error, when there are more
template <class T, int Capacity>
class value_list {
 public:
  constexpr value_list() = default;
  constexpr value_list(T const& one) { push(one); }
  constexpr value_list(std::initializer_list<T> values) {
    for (T const& v : values) push(v);
  }
  template <class Range>
    requires requires(Range const& r) { T(*r.begin()), r.end(); }
  constexpr explicit(false) value_list(Range const& range) {
    for (auto const& v : range) push(T(v));
  }
  constexpr void push(T const& v) {
    if (size_ == Capacity) {
      message text;
      throw configuration_error(text << "locus: a list holds at most " << Capacity
                                     << " entries; write fewer");
    }
    values_[size_++] = v;
  }
  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](int i) { return values_[i]; }
  constexpr T const& operator[](int i) const { return values_[i]; }
  constexpr T const* begin() const { return values_; }
  constexpr T const* end() const { return values_ + size_; }
  friend constexpr bool operator==(value_list const& a, value_list const& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (!(a.values_[i] == b.values_[i])) return false;
    return true;
  }

 private:
  T values_[Capacity]{};
  int size_ = 0;
};

}  // namespace locus
