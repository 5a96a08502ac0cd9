// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/simulated/arena.hpp declares.
#pragma once
#include <unistd.h>  // ftruncate

#include <locus/backend/simulated/arena.hpp>  // the declarations
#include <locus/core/error.hpp>               // error
#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::simulated {

LOCUS_FUNCTION arena& arena::operator=(arena&& o) noexcept {
  std::swap(face_, o.face_), std::swap(back_, o.back_), std::swap(bytes_, o.bytes_),
      std::swap(used_, o.used_);
  free_ = std::move(o.free_);
  return *this;
}

LOCUS_FUNCTION void arena::open() {
  if (face_) return;
  for (bytes_ = address_space; bytes_ >= (std::size_t(1) << 28);
       bytes_ /= 4)  // less where address space is scarce
    if (try_open()) return;
  throw error("locus: no address space for a simulated GPU; raise the limit on virtual memory "
              "(ulimit -v)");
}

LOCUS_FUNCTION void* arena::allocate(std::size_t bytes) {
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

LOCUS_FUNCTION void arena::release(void* p, std::size_t bytes) {
  range r{static_cast<std::size_t>(static_cast<std::byte*>(p) - face_), rounded(bytes)};
  for (std::size_t i = 0; i < free_.size();) {  // joins the range with free neighbours
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

LOCUS_FUNCTION bool arena::holds(void const* p) const {  // while another thread may open it
  std::byte const* const face = __atomic_load_n(&face_, __ATOMIC_ACQUIRE);
  return face && p >= face && p < face + bytes_;
}

LOCUS_FUNCTION bool arena::try_open() {
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

LOCUS_FUNCTION void arena::close_mappings() {
  if (face_) munmap(face_, bytes_);
  if (back_) munmap(back_, bytes_);
  face_ = back_ = nullptr;
}

}  // namespace locus::simulated

LOCUS_COLD_END
