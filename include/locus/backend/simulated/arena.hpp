// SPDX-License-Identifier: Apache-2.0
// The memory of a simulated GPU: one memory file mapped twice. Tensors hold addresses of the first
// mapping (the face), which is closed: every access faults. Kernels of the owning card get
// addresses of the second mapping (the back).
#pragma once
#include <cstddef>     // byte
#include <cstdint>     // int64_t
#include <cstring>     // memset
#include <sys/mman.h>  // mmap, memfd_create
#include <utility>     // exchange

#include <locus/core/array.hpp>   // dynamic_array
#include <locus/core/bytes.hpp>   // round_up
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::simulated {

/// The byte that fills freed memory: as a float it is NaN, as an integer -1.
inline constexpr int poison = 0xff;

/// A simulated GPU's memory: blocks of one reserved range of addresses.
class arena {
 public:
  static constexpr std::size_t address_space = std::size_t(1) << 36;  // reserved, not used

  arena() = default;
  arena(arena&& o) noexcept
      : face_(std::exchange(o.face_, nullptr)), back_(std::exchange(o.back_, nullptr)),
        bytes_(o.bytes_), used_(o.used_), free_(std::move(o.free_)) {}
  arena& operator=(arena&& o) noexcept;
  ~arena() { close_mappings(); }

  void open();
  /// an address of the face; null if the arena is full
  void* allocate(std::size_t bytes);
  void release(void* p, std::size_t bytes);
  bool holds(void const* p) const;
  /// the address in the second mapping of the bytes at p; p itself, if it lies outside of the arena
  void* behind(void* p) const {
    return holds(p) ? back_ + (static_cast<std::byte*>(p) - face_) : p;
  }
  /// means: opens or closes the face: for the recorder, whose kernels hold addresses of the face
  void open_face(bool open) const {
    if (face_) mprotect(face_, bytes_, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  void poison_range(void* p, std::size_t bytes) const {
    std::memset(behind(p), poison, rounded(bytes));
  }

 private:
  struct range {
    std::size_t offset = 0, bytes = 0;
  };
  static std::size_t rounded(std::size_t bytes) {
    return static_cast<std::size_t>(round_up(bytes ? static_cast<std::int64_t>(bytes) : 1));
  }
  bool try_open();
  void close_mappings();
  std::byte *face_ = nullptr, *back_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
  dynamic_array<range> free_;
};

}  // namespace locus::simulated

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/simulated/bodies/arena.hpp>  // bodies of the functions above
#endif
