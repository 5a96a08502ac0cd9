// SPDX-License-Identifier: Apache-2.0
#include "device_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace ptx {

namespace {
std::uint64_t reserve(std::uint64_t bytes, int access) {
  void* const p = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("ptx machine: no address space");
  return reinterpret_cast<std::uint64_t>(p);
}
}  // namespace

device_memory& device_memory::instance() {
  static device_memory& m = *new device_memory;  // programs free at exit, too
  return m;
}

device_memory::device_memory() {
  face_ = reserve(size, PROT_NONE);
  to_data_ = reserve(size, PROT_READ | PROT_WRITE) - face_;
  to_written_ = reserve(size, PROT_READ | PROT_WRITE) - face_;
  to_touched_ = reserve(size * sizeof(touched_byte), PROT_READ | PROT_WRITE);
  next_ = face_ + 512;
}
void device_memory::forget_touched() {
  madvise(reinterpret_cast<void*>(to_touched_), size * sizeof(touched_byte), MADV_DONTNEED);
}

std::uint64_t device_memory::allocate(std::uint64_t bytes, int owner) {
  std::uint64_t const taken = (bytes + 511) / 256 * 256;  // 256 bytes and more lie between two
  if (taken > size || next_ + taken > face_ + size) return 0;
  std::uint64_t const a = next_;
  next_ += taken;
  blocks_[a] = {a + bytes, owner};
  std::memset(host(a), 0xd5, bytes < 4096 ? bytes : 4096);  // not the zeros of fresh pages
  return a;
}

bool device_memory::release(std::uint64_t address) {
  auto const found = blocks_.find(address);
  if (found == blocks_.end() || !is_device(address)) return false;
  std::uint64_t const first = (found->first + 4095) / 4096 * 4096,
                      last = found->second.first / 4096 * 4096;
  if (last > first) {
    madvise(host(first), last - first, MADV_DONTNEED);
    madvise(written(first), last - first, MADV_DONTNEED);
    madvise(touched(first), (last - first) * sizeof(touched_byte), MADV_DONTNEED);
  }
  blocks_.erase(found);
  return true;
}

void device_memory::add_host(void* p, std::uint64_t bytes) {
  auto const a = reinterpret_cast<std::uint64_t>(p);
  blocks_[a] = {a + bytes, -1};
}
std::uint64_t device_memory::take_host(std::uint64_t bytes) {
  void* const p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p) throw std::runtime_error("ptx machine: no memory for a managed variable");
  return add_host(p, bytes), reinterpret_cast<std::uint64_t>(p);
}
bool device_memory::remove_host(void* p) {
  auto const a = reinterpret_cast<std::uint64_t>(p);
  return !is_device(a) && blocks_.erase(a) == 1;
}
bool device_memory::is_pinned(std::uint64_t a) const {
  block b;
  return !is_device(a) && find(a, b);
}
bool device_memory::find(std::uint64_t a, block& found) const {
  auto const above = blocks_.upper_bound(a);
  if (above == blocks_.begin()) return false;
  auto const& [begin, rest] = *std::prev(above);
  if (a >= rest.first) return false;
  found = {begin, rest.first, rest.second};
  return true;
}
void device_memory::set_reach(int card, int owner, bool may) {
  if (may)
    reach_.insert({card, owner});
  else
    reach_.erase({card, owner});
}
void device_memory::set_written(std::uint64_t a, std::uint64_t bytes) {
  if (is_device(a)) std::memset(written(a), 1, bytes);
}
void device_memory::copy_written(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  if (is_device(to) && is_device(from))
    std::memmove(written(to), written(from), bytes);
  else
    set_written(to, bytes);
}

}  // namespace ptx
