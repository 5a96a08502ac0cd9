// SPDX-License-Identifier: Apache-2.0
// A growing array for the run time: <vector> would cost every unit a tenth of a second to compile.
#pragma once
#include <cstddef>  // size_t

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus {

/// means: elements in order, growing at the end     cost: like std::vector
template <class T>
class dynamic_array {
 public:
  dynamic_array() = default;
  dynamic_array(dynamic_array const&) = delete;
  dynamic_array(dynamic_array&& o) noexcept { trade(o); }
  dynamic_array& operator=(dynamic_array&& o) noexcept {
    trade(o);
    return *this;
  }
  ~dynamic_array() { delete[] first_; }

  T& push(T value) {
    if (size_ == capacity_) grow(capacity_ ? 2 * capacity_ : 8);
    return first_[size_++] = static_cast<T&&>(value);
  }
  /// means: room for n elements: pushes up to n allocate nothing
  void reserve(std::size_t n) {
    if (n > capacity_) grow(n > 2 * capacity_ ? n : 2 * capacity_);
  }
  /// removes the first n; the others keep their order
  void drop_front(std::size_t n) {
    for (std::size_t i = n; i < size_; ++i) first_[i - n] = static_cast<T&&>(first_[i]);
    resize(size_ - n);
  }
  void resize(std::size_t n) {
    if (n > capacity_) grow(n);
    while (size_ < n) first_[size_++] = T{};
    size_ = n;
  }
  /// removes the i-th element; the last one takes its place
  void remove(std::size_t i) {
    if (i + 1 != size_) first_[i] = static_cast<T&&>(first_[size_ - 1]);
    first_[--size_] = T{};
  }
  void clear() { resize(0); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return first_[i]; }
  T const& operator[](std::size_t i) const { return first_[i]; }
  T* begin() { return first_; }
  T* end() { return first_ + size_; }
  T const* begin() const { return first_; }
  T const* end() const { return first_ + size_; }
  T& back() { return first_[size_ - 1]; }

 private:
  void grow(std::size_t n) {
    T* const bigger = new T[n]{};
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = static_cast<T&&>(first_[i]);
    delete[] first_;
    first_ = bigger, capacity_ = n;
  }
  /// (std::swap and std::exchange would instantiate a dozen traits for each type)
  void trade(dynamic_array& o) noexcept {
    T* const first = first_;
    std::size_t const size = size_, capacity = capacity_;
    first_ = o.first_, size_ = o.size_, capacity_ = o.capacity_;
    o.first_ = first, o.size_ = size, o.capacity_ = capacity;
  }
  T* first_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace locus

LOCUS_COLD_END
