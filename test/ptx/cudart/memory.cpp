// SPDX-License-Identifier: Apache-2.0
// Blocks of cards and of the host, copies and fills.
#include <cstring>

#include "../counts/log.hpp"
#include "state.hpp"

using namespace ptx;
using namespace ptx::cudart;

namespace {

std::uint64_t number(void const* p) { return reinterpret_cast<std::uint64_t>(p); }
void check_range(void const* p, std::size_t n) {
  auto const a = number(p);
  device_memory const& m = device_memory::instance();
  require(n == 0 || p);
  device_memory::block b;
  if (n == 0 || !m.is_device(a) || (m.find(a, b) && b.holds(a, n))) return;
  std::fprintf(stderr, "ptx machine: a copy or a fill of %zu bytes leaves its block\n", n);
  throw refusal{cudaErrorInvalidValue};
}
bool is_known(void const* p) {
  device_memory::block b;
  return device_memory::instance().find(number(p), b);
}
void check_kind(void const* to, void const* from, cudaMemcpyKind kind) {
  device_memory const& m = device_memory::instance();
  auto const is_of_card = [&](void const* p) { return m.is_device(number(p)); };
  switch (kind) {
  case cudaMemcpyDefault: return;
  case cudaMemcpyHostToHost: return require(!is_of_card(to) && !is_of_card(from));
  case cudaMemcpyHostToDevice:
    return require(!is_of_card(from) && (is_of_card(to) || m.is_pinned(number(to))));
  case cudaMemcpyDeviceToHost:
    return require(!is_of_card(to) && (is_of_card(from) || m.is_pinned(number(from))));
  case cudaMemcpyDeviceToDevice:
    return require((is_of_card(to) || m.is_pinned(number(to))) &&
                   (is_of_card(from) || m.is_pinned(number(from))));
  default: throw refusal{cudaErrorInvalidMemcpyDirection};
  }
}
/// rows of so many bytes, so far apart
struct area {
  void const* at;
  std::size_t pitch;
  std::size_t bytes(std::size_t width, std::size_t rows) const {
    return rows && width ? pitch * (rows - 1) + width : 0;
  }
  std::uint64_t row(std::size_t r) const { return number(at) + r * pitch; }
};
cudaError_t copy(area to, area from, std::size_t width, std::size_t rows, cudaMemcpyKind kind,
                 cudaStream_t on, bool is_async) {
  require(rows < 2 || (to.pitch >= width && from.pitch >= width), cudaErrorInvalidPitchValue);
  std::size_t const n = from.bytes(width, rows);
  check_range(to.at, to.bytes(width, rows)), check_range(from.at, n);
  if (n == 0) return at(on), cudaSuccess;
  check_kind(to.at, from.at, kind);
  bool const from_pageable = !is_known(from.at), to_pageable = !is_known(to.at);
  auto const move = [=](std::uint64_t source) {
    device_memory& memory = device_memory::instance();
    if ((!from_pageable && !is_known(from.at)) || (!to_pageable && !is_known(to.at)))
      throw fault(cudaErrorIllegalAddress, "a copy runs when its memory was given back");
    for (std::size_t r = 0; r < rows; ++r) {
      std::memmove(memory.host(to.row(r)), memory.host(source + r * from.pitch), width);
      memory.copy_written(to.row(r), source + r * from.pitch, width);
    }
    counts::log::instance().add_copy(width * rows);
  };
  bool const is_captured = at(on).captured_by != nullptr;  // then memory is read by each launch
  if (is_async && from_pageable && all().facts.late &&
      !is_captured) {  // it was read when the call comes back
    auto const* const first = static_cast<char const*>(from.at);
    submit(on, [move, bytes = std::vector<char>(first, first + n)] { move(number(bytes.data())); });
  } else {
    submit(on, [=] { move(number(from.at)); });
  }
  if (!is_captured && (!is_async || to_pageable)) finish(at(on));
  return cudaSuccess;
}
cudaError_t copy(void* to, void const* from, std::size_t n, cudaMemcpyKind kind, cudaStream_t on,
                 bool is_async) {
  return copy(area{to, n}, area{from, n}, n, 1, kind, on, is_async);
}
cudaError_t fill(area to, int value, std::size_t width, std::size_t rows, cudaStream_t on) {
  require(rows < 2 || to.pitch >= width, cudaErrorInvalidPitchValue);
  check_range(to.at, to.bytes(width, rows));
  device_memory const& m = device_memory::instance();
  require(to.bytes(width, rows) == 0 || m.is_device(number(to.at)) || m.is_pinned(number(to.at)));
  submit(on, [=] {
    device_memory& memory = device_memory::instance();
    if (to.bytes(width, rows) && !is_known(to.at))
      throw fault(cudaErrorIllegalAddress, "a fill runs when its memory was given back");
    for (std::size_t r = 0; r < rows; ++r) {
      std::memset(memory.host(to.row(r)), value, width);
      memory.set_written(to.row(r), width);
    }
    counts::log::instance().add_copy(width * rows);
  });
  return cudaSuccess;
}
std::size_t pitch_of(std::size_t width) { return (width + 511) / 512 * 512; }
/// slices of rows, one behind the other
area slice_of(cudaPitchedPtr const& p, cudaPos const& first, std::size_t z) {
  std::size_t const row = (first.z + z) * p.ysize + first.y;
  return {static_cast<char const*>(p.ptr) + row * p.pitch + first.x, p.pitch};
}
cudaError_t copy(cudaMemcpy3DParms const* p, cudaStream_t on, bool is_async) {
  require(p);
  require(!p->srcArray && !p->dstArray, cudaErrorNotSupported);
  cudaExtent const& n = p->extent;
  for (auto const& [ptr, first] :
       {std::pair(&p->srcPtr, &p->srcPos), std::pair(&p->dstPtr, &p->dstPos)})
    require(first->x + n.width <= ptr->pitch && (n.depth < 2 || first->y + n.height <= ptr->ysize),
            cudaErrorInvalidPitchValue);
  for (std::size_t z = 0; z < n.depth; ++z)
    copy(slice_of(p->dstPtr, p->dstPos, z), slice_of(p->srcPtr, p->srcPos, z), n.width, n.height,
         p->kind, on, is_async);
  return cudaSuccess;
}
cudaError_t fill(cudaPitchedPtr const& p, int value, cudaExtent n, cudaStream_t on) {
  require(n.depth < 2 || n.height <= p.ysize, cudaErrorInvalidPitchValue);
  for (std::size_t z = 0; z < n.depth; ++z)
    fill(slice_of(p, {0, 0, 0}, z), value, n.width, n.height, on);
  return cudaSuccess;
}
cudaError_t take(state& s, void** p, std::size_t n) {
  require(p);
  refuse_while_capturing(is_unsafe_in, cudaErrorStreamCaptureUnsupported);
  *p = nullptr;
  if (n == 0) return cudaSuccess;
  device_memory& m = device_memory::instance();
  std::uint64_t const a =
      s.in_use[current] + n > s.facts.bytes ? 0 : m.allocate(n, current);  // overflow: n is huge
  if (a == 0 || n > s.facts.bytes) return cudaErrorMemoryAllocation;
  s.device_blocks[a] = {n, current};
  s.in_use[current] += n;
  return *p = reinterpret_cast<void*>(a), cudaSuccess;
}
cudaError_t take_host(state& s, void** p, std::size_t n, host_kind kind) {
  require(p);
  refuse_while_capturing(is_unsafe_in, cudaErrorStreamCaptureUnsupported);
  *p = nullptr;
  if (n == 0) return cudaSuccess;
  *p = n < s.facts.bytes ? std::aligned_alloc(256, (n + 255) / 256 * 256) : nullptr;
  if (!*p) return cudaErrorMemoryAllocation;
  device_memory::instance().add_host(*p, n);
  return s.host_blocks[*p] = {n, kind, current}, cudaSuccess;
}
/// false: it was not taken so
bool give_back_host(state& s, void* p, host_kind kind) {
  auto const found = s.host_blocks.find(p);
  if (found == s.host_blocks.end() || found->second.kind != kind) return false;
  finish_all();
  s.host_blocks.erase(found);
  device_memory::instance().remove_host(p);
  if (kind != host_kind::registered) std::free(p);
  return true;
}
void check_known(state& s, void* p) {
  require(!p || s.device_blocks.count(number(p)) ||
          (s.host_blocks.count(p) && s.host_blocks[p].kind == host_kind::managed));
}
void give_back(state& s, std::uint64_t a) {
  auto const found = s.device_blocks.find(a);
  if (found == s.device_blocks.end()) return;  // the card was reset
  s.in_use[found->second.second] -= found->second.first;
  s.device_blocks.erase(found);
  device_memory::instance().release(a);
}

}  // namespace

PTX_API cudaError_t cudaMalloc(void** p, std::size_t n) {
  return api([&](state& s) { return take(s, p, n); });
}
PTX_API cudaError_t cudaMallocPitch(void** p, std::size_t* pitch, std::size_t width,
                                    std::size_t rows) {
  return api([&](state& s) {
    require(pitch);
    *pitch = pitch_of(width);
    return take(s, p, *pitch * rows);
  });
}
PTX_API cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent n) {
  return api([&](state& s) {
    require(p);
    *p = {nullptr, pitch_of(n.width), n.width, n.height};
    return take(s, &p->ptr, p->pitch * n.height * n.depth);
  });
}
PTX_API cudaError_t cudaFree(void* p) {
  return api([&](state& s) {
    check_known(s, p);
    refuse_while_capturing(is_unsafe_in, cudaErrorStreamCaptureUnsupported);
    if (!p || give_back_host(s, p, host_kind::managed)) return cudaSuccess;
    finish_device(s.device_blocks[number(p)].second);
    give_back(s, number(p));
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t on) {
  return api([&](state& s) {
    refuse_captured(at(on).captured_by, cudaErrorStreamCaptureUnsupported);  // no nodes of memory
    return take(s, p, n);
  });
}
PTX_API cudaError_t cudaFreeAsync(void* p, cudaStream_t on) {
  return api([&](state& s) {
    require(!p || s.device_blocks.count(number(p)));
    refuse_captured(at(on).captured_by, cudaErrorStreamCaptureUnsupported);
    submit(on, [&s, p] { give_back(s, number(p)); });
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaHostAlloc(void** p, std::size_t n, unsigned flags) {
  return api([&](state& s) {
    require(flags <= (cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined));
    return take_host(s, p, n, host_kind::pinned);
  });
}
PTX_API cudaError_t cudaMallocHost(void** p, std::size_t n) {
  return api([&](state& s) { return take_host(s, p, n, host_kind::pinned); });
}
PTX_API cudaError_t cudaMallocManaged(void** p, std::size_t n, unsigned flags) {
  return api([&](state& s) {
    require(n > 0 && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost));
    return take_host(s, p, n, host_kind::managed);
  });
}
PTX_API cudaError_t cudaFreeHost(void* p) {
  return api([&](state& s) {
    require(!p || give_back_host(s, p, host_kind::pinned));
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaHostRegister(void* p, std::size_t n, unsigned) {
  return api([&](state& s) {
    require(p && n > 0);
    auto* const begin = static_cast<char*>(p);
    for (auto const& [at, b] : s.host_blocks)
      require(static_cast<char*>(at) >= begin + n || begin >= static_cast<char*>(at) + b.bytes,
              cudaErrorHostMemoryAlreadyRegistered);
    device_memory::instance().add_host(p, n);
    return s.host_blocks[p] = {n, host_kind::registered, current}, cudaSuccess;
  });
}
PTX_API cudaError_t cudaHostUnregister(void* p) {
  return api([&](state& s) {
    require(p);
    require(give_back_host(s, p, host_kind::registered), cudaErrorHostMemoryNotRegistered);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaHostGetDevicePointer(void** of_device, void* p, unsigned flags) {
  return api([&](state&) {
    require(of_device && flags == 0 && device_memory::instance().is_pinned(number(p)));
    return *of_device = p, cudaSuccess;
  });
}
PTX_API cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return api([&](state& s) {
    require(free && total);
    return *total = s.facts.bytes, *free = *total - s.in_use[current], cudaSuccess;
  });
}
PTX_API cudaError_t cudaMemcpy(void* to, void const* from, std::size_t n, cudaMemcpyKind kind) {
  return api([&](state&) { return copy(to, from, n, kind, nullptr, false); });
}
PTX_API cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t n, cudaMemcpyKind kind,
                                    cudaStream_t on) {
  return api([&](state&) { return copy(to, from, n, kind, on, true); });
}
PTX_API cudaError_t cudaMemcpyPeer(void* to, int to_device, void const* from, int from_device,
                                   std::size_t n) {
  return api([&](state&) {
    require_device(to_device), require_device(from_device);
    return copy(to, from, n, cudaMemcpyDefault, nullptr, false);
  });
}
PTX_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, void const* from, int from_device,
                                        std::size_t n, cudaStream_t on) {
  return api([&](state&) {
    require_device(to_device), require_device(from_device);
    return copy(to, from, n, cudaMemcpyDefault, on, true);
  });
}
PTX_API cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, void const* from,
                                 std::size_t from_pitch, std::size_t width, std::size_t rows,
                                 cudaMemcpyKind kind) {
  return api([&](state&) {
    require(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
    return copy(area{to, to_pitch}, area{from, from_pitch}, width, rows, kind, nullptr, false);
  });
}
PTX_API cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, void const* from,
                                      std::size_t from_pitch, std::size_t width, std::size_t rows,
                                      cudaMemcpyKind kind, cudaStream_t on) {
  return api([&](state&) {
    require(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
    return copy(area{to, to_pitch}, area{from, from_pitch}, width, rows, kind, on, true);
  });
}
PTX_API cudaError_t cudaMemcpy3D(cudaMemcpy3DParms const* p) {
  return api([&](state&) { return copy(p, nullptr, false); });
}
PTX_API cudaError_t cudaMemcpy3DAsync(cudaMemcpy3DParms const* p, cudaStream_t on) {
  return api([&](state&) { return copy(p, on, true); });
}
PTX_API cudaError_t cudaMemset3D(cudaPitchedPtr to, int v, cudaExtent n) {
  return api([&](state&) { return fill(to, v, n, nullptr); });
}
PTX_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int v, cudaExtent n, cudaStream_t on) {
  return api([&](state&) { return fill(to, v, n, on); });
}
PTX_API cudaError_t cudaMemset(void* to, int v, std::size_t n) {
  return api([&](state&) { return fill({to, n}, v, n, 1, nullptr); });
}
PTX_API cudaError_t cudaMemsetAsync(void* to, int v, std::size_t n, cudaStream_t on) {
  return api([&](state&) { return fill({to, n}, v, n, 1, on); });
}
PTX_API cudaError_t cudaMemset2D(void* to, std::size_t pitch, int v, std::size_t width,
                                 std::size_t rows) {
  return api([&](state&) { return fill({to, pitch}, v, width, rows, nullptr); });
}
PTX_API cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int v, std::size_t width,
                                      std::size_t rows, cudaStream_t on) {
  return api([&](state&) { return fill({to, pitch}, v, width, rows, on); });
}

namespace {
char* address_of(state& s, void const* symbol) {
  auto const found = s.variables.find(symbol);
  require(found != s.variables.end(), cudaErrorInvalidSymbol);
  program& p = program_of(*found->second.first);
  auto const variable = p.variables.find(found->second.second);
  require(variable != p.variables.end(), cudaErrorInvalidSymbol);
  return reinterpret_cast<char*>(variable->second);
}
}  // namespace
PTX_API cudaError_t cudaGetSymbolAddress(void** p, void const* symbol) {
  return api([&](state& s) {
    require(p);
    return *p = address_of(s, symbol), cudaSuccess;
  });
}
PTX_API cudaError_t cudaGetSymbolSize(std::size_t* n, void const* symbol) {
  return api([&](state& s) {
    require(n);
    device_memory::block b;
    require(device_memory::instance().find(number(address_of(s, symbol)), b));
    return *n = b.end - b.begin, cudaSuccess;
  });
}
PTX_API cudaError_t cudaMemcpyToSymbol(void const* symbol, void const* from, std::size_t n,
                                       std::size_t offset, cudaMemcpyKind kind) {
  return api([&](state& s) {
    return copy(address_of(s, symbol) + offset, from, n, kind, nullptr, false);
  });
}
PTX_API cudaError_t cudaMemcpyFromSymbol(void* to, void const* symbol, std::size_t n,
                                         std::size_t offset, cudaMemcpyKind kind) {
  return api(
      [&](state& s) { return copy(to, address_of(s, symbol) + offset, n, kind, nullptr, false); });
}
PTX_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, void const* p) {
  return api([&](state& s) {
    require(a && p);
    *a = {};
    a->type = cudaMemoryTypeUnregistered, a->device = cudaInvalidDeviceId;
    auto const above = s.device_blocks.upper_bound(number(p));
    auto host = s.host_blocks.upper_bound(const_cast<void*>(p));
    if (host != s.host_blocks.begin() && number(p) < number((--host)->first) + host->second.bytes) {
      a->type =
          host->second.kind == host_kind::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
      a->hostPointer = a->devicePointer = const_cast<void*>(p), a->device = host->second.device;
    } else if (above != s.device_blocks.begin()) {
      auto const& [begin, block] = *std::prev(above);
      if (number(p) < begin + block.first)
        a->type = cudaMemoryTypeDevice, a->device = block.second,
        a->devicePointer = const_cast<void*>(p);
    }
    return cudaSuccess;
  });
}
