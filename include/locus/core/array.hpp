// SPDX-License-Identifier: Apache-2.0
// A growing array for what the run time keeps: <vector> costs every unit a tenth of a second.
#pragma once
#include <cstddef>  // size_t
#include <utility>  // move

namespace locus {

/// means: elements in order, growing at the end     cost: like std::vector
template <class T>
class dynamic_array {
 public:
  dynamic_array() = default;
  dynamic_array(dynamic_array const&) = delete;
  dynamic_array(dynamic_array&& o) noexcept
      : first_(std::exchange(o.first_, nullptr)), size_(std::exchange(o.size_, 0)),
        capacity_(std::exchange(o.capacity_, 0)) {}
  dynamic_array& operator=(dynamic_array&& o) noexcept {
    std::swap(first_, o.first_), std::swap(size_, o.size_), std::swap(capacity_, o.capacity_);
    return *this;
  }
  ~dynamic_array() { delete[] first_; }

  T& push(T value) {
    if (size_ == capacity_) grow(capacity_ ? 2 * capacity_ : 8);
    return first_[size_++] = std::move(value);
  }
  void resize(std::size_t n) {
    if (n > capacity_) grow(n);
    while (size_ < n) first_[size_++] = T{};
    size_ = n;
  }
  /// the last element takes the place of the i-th
  void remove(std::size_t i) {
    if (i + 1 != size_) first_[i] = std::move(first_[size_ - 1]);
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
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = std::move(first_[i]);
    delete[] std::exchange(first_, bigger);
    capacity_ = n;
  }
  T* first_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace locus
