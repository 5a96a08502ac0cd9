// SPDX-License-Identifier: Apache-2.0
// The memory of a simulated GPU: one memory file mapped twice. Tensors hold addresses of the first
// mapping (the face), which nobody may ever touch; a kernel of the owning device gets the second.
#pragma once
#include <cstddef>     // byte
#include <cstdint>     // uintptr_t
#include <cstring>     // memset
#include <sys/mman.h>  // mmap, memfd_create
#include <unistd.h>    // ftruncate
#include <utility>     // exchange, swap

#include <locus/core/array.hpp>   // dynamic_array
#include <locus/core/bytes.hpp>   // round_up
#include <locus/core/config.hpp>  // LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>   // error

LOCUS_COLD_BEGIN

namespace locus::simulated {

/// What memory holds that nobody has written: as a float it is NaN, as an integer -1.
inline constexpr int poison = 0xff;

class arena {
 public:
  static constexpr std::size_t address_space = std::size_t(1) << 36;  // reserved, not used

  arena() = default;
  arena(arena&& o) noexcept
      : face_(std::exchange(o.face_, nullptr)), back_(std::exchange(o.back_, nullptr)),
        bytes_(o.bytes_), used_(o.used_), free_(std::move(o.free_)) {}
  arena& operator=(arena&& o) noexcept {
    std::swap(face_, o.face_), std::swap(back_, o.back_), std::swap(bytes_, o.bytes_),
        std::swap(used_, o.used_);
    free_ = std::move(o.free_);
    return *this;
  }
  ~arena() { close_mappings(); }

  void open() {
    if (face_) return;
    for (bytes_ = address_space; bytes_ >= (std::size_t(1) << 28);
         bytes_ /= 4)  // less where it is scarce
      if (try_open()) return;
    throw error("locus: no address space for a simulated GPU; raise the limit on virtual memory "
                "(ulimit -v)");
  }
  /// an address of the face; null where the arena is full
  void* allocate(std::size_t bytes) {
    bytes = rounded(bytes);
    for (std::size_t i = 0; i < free_.size(); ++i) {
      range& r = free_[i];
      if (r.bytes < bytes) continue;
      std::byte* const p = face_ + r.offset;
      r.offset += bytes, r.bytes -= bytes;
      if (r.bytes == 0) free_.remove(i);
      return p;
    }
    if (used_ + bytes > bytes_) return nullptr;
    std::byte* const p = face_ + used_;
    used_ += bytes;
    return p;
  }
  void release(void* p, std::size_t bytes) {
    range r{static_cast<std::size_t>(static_cast<std::byte*>(p) - face_), rounded(bytes)};
    for (std::size_t i = 0; i < free_.size();) {  // joined with free neighbours
      range const o = free_[i];
      bool const before = o.offset + o.bytes == r.offset, after = r.offset + r.bytes == o.offset;
      if (!before && !after) {
        ++i;
        continue;
      }
      if (before) r.offset = o.offset;
      r.bytes += o.bytes;
      free_.remove(i);
      i = 0;
    }
    if (r.offset + r.bytes == used_)
      used_ = r.offset;
    else
      free_.push(r);
  }
  bool holds(void const* p) const {  // while another thread may open it
    std::byte const* const face = __atomic_load_n(&face_, __ATOMIC_ACQUIRE);
    return face && p >= face && p < face + bytes_;
  }
  /// the address under which the owning device's kernels reach what lies at p
  void* behind(void* p) const {
    return holds(p) ? back_ + (static_cast<std::byte*>(p) - face_) : p;
  }
  /// opens or closes the face itself: for a recorder, whose kernels hold addresses of the face
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
  bool try_open() {
    int const file = memfd_create("locus simulated gpu", MFD_CLOEXEC);
    if (file < 0) return false;
    bool ok = ftruncate(file, static_cast<off_t>(bytes_)) == 0;
    auto map = [&](int rights) {
      void* const p = mmap(nullptr, bytes_, rights, MAP_SHARED | MAP_NORESERVE, file, 0);
      return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
    };
    std::byte* const face = ok ? map(PROT_NONE) : nullptr;
    back_ = ok ? map(PROT_READ | PROT_WRITE) : nullptr;
    close(file);
    __atomic_store_n(&face_, face, __ATOMIC_RELEASE);
    ok = face && back_;
    if (!ok) close_mappings();
    return ok;
  }
  void close_mappings() {
    if (face_) munmap(face_, bytes_);
    if (back_) munmap(back_, bytes_);
    face_ = back_ = nullptr;
  }
  std::byte *face_ = nullptr, *back_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
  dynamic_array<range> free_;
};

}  // namespace locus::simulated

LOCUS_COLD_END
