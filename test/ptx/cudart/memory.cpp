// SPDX-License-Identifier: Apache-2.0
// Blocks of cards and of the host, copies and fills.
#include <cstring>

#include "../counts/log.hpp"
#include "state.hpp"

using namespace ptx;
using namespace ptx::cudart;

namespace {

bool is_known_device(std::uint64_t a) { return device_memory::instance().is_device(a); }
void check_range(void const* p, std::size_t n) {
  auto const a = reinterpret_cast<std::uint64_t>(p);
  device_memory::block b;
  if (n && is_known_device(a) && !(device_memory::instance().find(a, b) && b.holds(a, n)))
    throw fault(cudaErrorInvalidValue,
                "a copy or a fill leaves its block: " + std::to_string(n) + " bytes");
}
void move(void* to, void const* from, std::size_t n) {
  device_memory& m = device_memory::instance();
  auto const a = reinterpret_cast<std::uint64_t>(to), b = reinterpret_cast<std::uint64_t>(from);
  std::memmove(m.host(a), m.host(b), n);
  m.copy_written(a, b, n);
  counts::log::instance().add_copy(n);
}
cudaError_t copy(void* to, void const* from, std::size_t n, cudaStream_t on, bool is_async) {
  check_range(to, n), check_range(from, n);
  auto const a = reinterpret_cast<std::uint64_t>(from), b = reinterpret_cast<std::uint64_t>(to);
  device_memory& m = device_memory::instance();
  bool const staged = is_async && !m.is_device(a) && !m.is_pinned(a);
  if (staged && all().facts.late) {
    std::vector<char> bytes(static_cast<char const*>(from), static_cast<char const*>(from) + n);
    submit(on, [to, bytes = std::move(bytes)] { move(to, bytes.data(), bytes.size()); });
  } else {
    submit(on, [=] { move(to, from, n); });
  }
  bool const to_pageable = !m.is_device(b) && !m.is_pinned(b);
  if (!is_async || to_pageable) finish(at(on));
  return cudaSuccess;
}
cudaError_t fill(void* to, int value, std::size_t n, cudaStream_t on) {
  check_range(to, n);
  submit(on, [=] {
    device_memory& m = device_memory::instance();
    auto const a = reinterpret_cast<std::uint64_t>(to);
    std::memset(m.host(a), value, n);
    m.set_written(a, n);
    counts::log::instance().add_copy(n);
  });
  return cudaSuccess;
}

}  // namespace

PTX_API cudaError_t cudaMalloc(void** p, std::size_t n) {
  return api([&](state& s) {
    device_memory& m = device_memory::instance();
    if (m.in_use() + n > s.facts.bytes) return cudaErrorMemoryAllocation;
    std::uint64_t const a = n ? m.allocate(n) : 0;
    if (n && !a) return cudaErrorMemoryAllocation;
    if (a) s.device_blocks[a] = {n, current};
    return *p = reinterpret_cast<void*>(a), cudaSuccess;
  });
}
PTX_API cudaError_t cudaFree(void* p) {
  return api([&](state& s) {
    if (!p) return cudaSuccess;
    finish_all();
    s.device_blocks.erase(reinterpret_cast<std::uint64_t>(p));
    return device_memory::instance().release(reinterpret_cast<std::uint64_t>(p))
               ? cudaSuccess
               : cudaErrorInvalidValue;
  });
}
PTX_API cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t) {
  return cudaMalloc(p, n);
}
PTX_API cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
PTX_API cudaError_t cudaHostAlloc(void** p, std::size_t n, unsigned) {
  return api([&](state& s) {
    *p = std::aligned_alloc(256, (n + 255) / 256 * 256);
    if (!*p) return cudaErrorMemoryAllocation;
    device_memory::instance().add_host(*p, n);
    return s.host_blocks[*p] = n, cudaSuccess;
  });
}
PTX_API cudaError_t cudaMallocHost(void** p, std::size_t n) { return cudaHostAlloc(p, n, 0); }
PTX_API cudaError_t cudaMallocManaged(void** p, std::size_t n, unsigned) {
  return cudaHostAlloc(p, n, 0);
}
PTX_API cudaError_t cudaFreeHost(void* p) {
  return api([&](state& s) {
    finish_all();
    if (s.host_blocks.erase(p) == 0) return p ? cudaErrorInvalidValue : cudaSuccess;
    device_memory::instance().remove_host(p);
    return std::free(p), cudaSuccess;
  });
}
PTX_API cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = all().facts.bytes, *free = *total - device_memory::instance().in_use();
  return cudaSuccess;
}
PTX_API cudaError_t cudaMemcpy(void* to, void const* from, std::size_t n, cudaMemcpyKind) {
  return api([&](state&) { return copy(to, from, n, nullptr, false); });
}
PTX_API cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t n, cudaMemcpyKind,
                                    cudaStream_t on) {
  return api([&](state&) { return copy(to, from, n, on, true); });
}
PTX_API cudaError_t cudaMemcpyPeerAsync(void* to, int, void const* from, int, std::size_t n,
                                        cudaStream_t on) {
  return api([&](state&) { return copy(to, from, n, on, true); });
}
PTX_API cudaError_t cudaMemset(void* to, int v, std::size_t n) {
  return api([&](state&) { return fill(to, v, n, nullptr); });
}
PTX_API cudaError_t cudaMemsetAsync(void* to, int v, std::size_t n, cudaStream_t on) {
  return api([&](state&) { return fill(to, v, n, on); });
}
PTX_API cudaError_t cudaGetSymbolAddress(void** p, void const* symbol) {
  return api([&](state& s) {
    auto const found = s.variables.find(symbol);
    if (found == s.variables.end()) return cudaErrorInvalidSymbol;
    return *p = reinterpret_cast<void*>(
               program_of(*found->second.first).variables[found->second.second]),
           cudaSuccess;
  });
}
PTX_API cudaError_t cudaMemcpyToSymbol(void const* symbol, void const* from, std::size_t n,
                                       std::size_t offset, cudaMemcpyKind) {
  void* p = nullptr;
  if (cudaError_t const e = cudaGetSymbolAddress(&p, symbol)) return e;
  return cudaMemcpy(static_cast<char*>(p) + offset, from, n, cudaMemcpyDefault);
}
PTX_API cudaError_t cudaMemcpyFromSymbol(void* to, void const* symbol, std::size_t n,
                                         std::size_t offset, cudaMemcpyKind) {
  void* p = nullptr;
  if (cudaError_t const e = cudaGetSymbolAddress(&p, symbol)) return e;
  return cudaMemcpy(to, static_cast<char*>(p) + offset, n, cudaMemcpyDefault);
}
PTX_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, void const* p) {
  std::lock_guard hold(all().lock);
  *a = {};
  auto const address = reinterpret_cast<std::uint64_t>(p);
  auto const above = all().device_blocks.upper_bound(address);
  a->type = cudaMemoryTypeUnregistered, a->device = cudaInvalidDeviceId;
  if (device_memory::instance().is_pinned(address)) {
    a->type = cudaMemoryTypeHost, a->hostPointer = a->devicePointer = const_cast<void*>(p),
    a->device = 0;
  } else if (above != all().device_blocks.begin()) {
    auto const& [begin, block] = *std::prev(above);
    if (address < begin + block.first)
      a->type = cudaMemoryTypeDevice, a->device = block.second,
      a->devicePointer = const_cast<void*>(p);
  }
  return cudaSuccess;
}
