// SPDX-License-Identifier: Apache-2.0
// Host memory that a library of messages may still use after a wait for it has failed: it stays.
#pragma once
#include <cstddef>  // size_t

#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus::runtime {

/// A wait between ranks has failed. The library may write to the host memory of the message, or of
/// any later one, when the other rank comes at last: host memory is no longer freed.
LOCUS_SHARED_STATE inline constinit bool keeps_host_memory = false;
inline void keep_host_memory() { __atomic_store_n(&keeps_host_memory, true, __ATOMIC_RELEASE); }
inline bool host_memory_is_kept() { return __atomic_load_n(&keeps_host_memory, __ATOMIC_RELAXED); }

/// means: n values of T, 0 at first, that a message may lie in. They stay behind a wait that failed:
///        where host memory is kept, or after keep()
template <class T>
class carried_array {
 public:
  explicit carried_array(std::size_t n) : first_(new T[n]{}), size_(n) {}
  carried_array(carried_array const&) = delete;
  ~carried_array() {
    if (!host_memory_is_kept()) delete[] first_;
  }
  void keep() { first_ = nullptr; }
  T* data() const { return first_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return first_[i]; }
  T* begin() const { return first_; }
  T* end() const { return first_ + size_; }

 private:
  T* first_;
  std::size_t size_;
};

}  // namespace locus::runtime
