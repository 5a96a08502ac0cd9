// SPDX-License-Identifier: Apache-2.0
// Memory of the host: aligned blocks that are kept for the next user, on huge pages where large.
#pragma once
#include <cstdint>     // int64_t
#include <cstdlib>     // aligned_alloc, free
#include <new>         // placement new
#include <sys/mman.h>  // madvise
#include <unistd.h>    // sysconf

#include <locus/core/config.hpp>  // LOCUS_ADDRESS_SANITIZER, LOCUS_LEAN_BEGIN
#include <locus/core/lock.hpp>    // mutex

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// means: free blocks by size class: four classes for each power of two
/// cost:  a lock and a list operation where a block of the class is free; first touch of fresh
///        pages costs ten times what a kept block costs
class host_pool {
 public:
  static constexpr std::size_t alignment = 256;
  static constexpr std::size_t huge = std::size_t(1) << 21;
  static constexpr std::size_t keep_at_most = std::size_t(1) << 32;  // bytes that wait for a user

  /// null where the system has no more
  void* allocate(std::size_t bytes) {
    int const c = class_of(bytes);
    std::size_t const size = size_of(c);
    {
      lock_guard hold(lock_);
      if (free_block* const b = free_[c]) {
        free_[c] = b->next, kept_ -= size;
        return b;
      }
    }
    if (refuses) return nullptr;
    std::size_t const align = size >= huge ? huge : alignment;
    void* const p = std::aligned_alloc(align, (size + align - 1) / align * align);
    if (p && size >= huge) madvise(p, size, MADV_HUGEPAGE);
    if (p) __atomic_add_fetch(&reserved_, size, __ATOMIC_RELAXED);
    return p;
  }
  void release(void* p, std::size_t bytes) noexcept {
    int const c = class_of(bytes);
    std::size_t const size = size_of(c);
    if (!LOCUS_ADDRESS_SANITIZER) {  // a kept block would hide a use after free
      lock_guard hold(lock_);
      if (kept_ + size <= keep_at_most) {
        free_[c] = new (p) free_block{free_[c]}, kept_ += size;
        return;
      }
    }
    __atomic_sub_fetch(&reserved_, size, __ATOMIC_RELAXED);
    std::free(p);
  }
  /// gives kept blocks back to the system
  void trim() noexcept {
    lock_guard hold(lock_);
    for (free_block*& head : free_)
      while (free_block* const b = head) head = b->next, std::free(b);
    __atomic_sub_fetch(&reserved_, kept_, __ATOMIC_RELAXED);
    kept_ = 0;
  }
  /// units: bytes that this pool has from the system, in use or kept
  std::size_t reserved() const { return __atomic_load_n(&reserved_, __ATOMIC_RELAXED); }
  bool refuses = false;  // for tests: the system has no more

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr int classes = 256;
  /// class 4 e + q holds blocks of (4 + q) * 2^e * 64 bytes
  static int class_of(std::size_t bytes) {
    std::size_t const units = bytes <= 256 ? 4 : (bytes + 63) / 64;
    int const e = 63 - __builtin_clzll(units) - 2;
    std::size_t const q = (units + (std::size_t(1) << e) - 1) >> e;  // 4 to 8
    return 4 * e + static_cast<int>(q) - 4;
  }
  static std::size_t size_of(int c) {
    return (std::size_t(4) + std::size_t(c) % 4) << (c / 4) << 6;
  }

  mutex lock_;
  free_block* free_[classes]{};
  std::size_t kept_ = 0, reserved_ = 0;
};
LOCUS_SHARED_STATE inline constinit host_pool host_memory;

/// units: bytes of memory that this machine has
inline std::int64_t physical_memory() {
  static std::int64_t const bytes = std::int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return bytes;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
