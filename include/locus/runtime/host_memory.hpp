// SPDX-License-Identifier: Apache-2.0
// Memory of the host: aligned blocks that are kept for the next user, on huge pages where large.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/lock.hpp>    // mutex
#include <locus/core/macros.hpp>  // LOCUS_ADDRESS_SANITIZER, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION

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
  void* allocate(std::size_t bytes);
  void release(void* p, std::size_t bytes) noexcept;
  /// gives kept blocks back to the system
  void trim() noexcept;
  /// units: bytes that this pool has from the system, in use or kept
  std::size_t reserved() const { return __atomic_load_n(&reserved_, __ATOMIC_RELAXED); }
  bool refuses = false;  // for tests: the system has no more

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr int classes = 256;
  /// class 4 e + q holds blocks of (4 + q) * 2^e * 64 bytes
  static int class_of(std::size_t bytes);
  static std::size_t size_of(int c) {
    return (std::size_t(4) + std::size_t(c) % 4) << (c / 4) << 6;
  }

  mutex lock_;
  free_block* free_[classes]{};
  std::size_t kept_ = 0, reserved_ = 0;
};
LOCUS_SHARED_STATE inline constinit host_pool host_memory;

/// units: bytes of memory that this machine has
LOCUS_FUNCTION std::int64_t physical_memory();

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/host_memory.hpp>  // bodies of the functions above
#endif
