// SPDX-License-Identifier: Apache-2.0
// A counted pointer: std::shared_ptr would cost every unit a third of a second to compile.
#pragma once
#include <utility>  // exchange, forward

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

inline void count_up(int& count) noexcept { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
/// means: --count, atomically; returns the new count
inline int count_down(int& count) noexcept {
  return __atomic_sub_fetch(&count, 1, __ATOMIC_ACQ_REL);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuse-after-free"  // g++ 12 does not follow the count
#endif
/// means: one value with several owners; the last owner destroys it
/// cost:  one allocation for the value and its count
template <class T>
class shared {
 public:
  shared() = default;
  template <class... Args>
  static shared make(Args&&... args) {
    shared s;
    s.cell_ = new cell{T(std::forward<Args>(args)...)};
    return s;
  }
  shared(shared const& o) noexcept : cell_(o.cell_) {
    if (cell_) count_up(cell_->count);
  }
  shared(shared&& o) noexcept : cell_(std::exchange(o.cell_, nullptr)) {}
  shared& operator=(shared o) noexcept {
    std::swap(cell_, o.cell_);
    return *this;
  }
  ~shared() {
    if (cell_ && count_down(cell_->count) == 0) delete cell_;
  }
  T const& operator*() const { return cell_->value; }
  T const* operator->() const { return &cell_->value; }
  T const* get() const { return cell_ ? &cell_->value : nullptr; }

 private:
  struct cell {
    T value;
    int count = 1;
  };
  cell* cell_ = nullptr;
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace locus
