// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/host_memory.hpp declares.
#pragma once
#include <cstdlib>     // aligned_alloc, free
#include <new>         // placement new
#include <sys/mman.h>  // madvise
#include <unistd.h>    // sysconf

#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/runtime/host_memory.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void* host_pool::allocate(std::size_t bytes) {
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

LOCUS_FUNCTION void host_pool::release(void* p, std::size_t bytes) noexcept {
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

LOCUS_FUNCTION void host_pool::trim() noexcept {
  lock_guard hold(lock_);
  for (free_block*& head : free_)
    while (free_block* const b = head) head = b->next, std::free(b);
  __atomic_sub_fetch(&reserved_, kept_, __ATOMIC_RELAXED);
  kept_ = 0;
}

LOCUS_FUNCTION int host_pool::class_of(std::size_t bytes) {
  std::size_t const units = bytes <= 256 ? 4 : (bytes + 63) / 64;
  int const e = 63 - __builtin_clzll(units) - 2;
  std::size_t const q = (units + (std::size_t(1) << e) - 1) >> e;  // 4 to 8
  return 4 * e + static_cast<int>(q) - 4;
}

LOCUS_FUNCTION std::int64_t physical_memory() {
  static std::int64_t const bytes = std::int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return bytes;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
