// SPDX-License-Identifier: Apache-2.0
// What an address leads to, and whether a lane may use it.
#include <cstring>

#include "machine.hpp"

namespace ptx {

template <space S, warp::use U>
std::byte* warp::memory(instruction const& i, std::uint64_t a, unsigned bytes, int lane) {
  if (a & (bytes - 1)) fail(716, i, lane, "misaligned address " + std::to_string(a));
  if constexpr (S == space::shared) {
    return in.shared(*this, i, U, a, bytes, lane);
  } else if constexpr (S == space::local) {
    return local(i, a, bytes, lane);
  } else if constexpr (S == space::param) {
    if (a + bytes > in.of->params.size() || U != use::read)
      fail(700, i, lane, "past the parameters");
    return in.of->params.data() + a;
  } else {
    if (S == space::generic && (a & window_mask)) {
      if ((a & window_mask) == shared_window)
        return memory<space::shared, U>(i, a & ~window_mask, bytes, lane);
      if ((a & window_mask) == local_window)
        return memory<space::local, U>(i, a & ~window_mask, bytes, lane);
      if ((a & window_mask) == param_window)
        return memory<space::param, U>(i, a & ~window_mask, bytes, lane);
    }
    device_memory& all = device_memory::instance();
    if (options::instance().host_memory && !all.is_device(a)) return all.host(a);
    if (!seen_.holds(a, bytes) && (!all.find(a, seen_) || !seen_.holds(a, bytes) ||
                                   !all.reaches(in.of->device, seen_.owner))) {
      std::string what = "illegal address of " + std::to_string(bytes) + " bytes";
      if (device_memory::block b; seen_.holds(a, bytes))
        what = "memory of card " + std::to_string(seen_.owner) + ", which card " +
               std::to_string(in.of->device) + " does not reach (cudaDeviceEnablePeerAccess)";
      else if (all.find(a, b) || (a > 512 && all.find(a - 512, b)) || all.find(a + 512, b))
        what += ", " +
                (a >= b.end    ? std::to_string(a - b.end) + " past the end of"
                 : a < b.begin ? std::to_string(b.begin - a) + " before"
                               : std::string("across the end of")) +
                " a block of " + std::to_string(b.end - b.begin);
      fail(700, i, lane, what);
    }
    if (options::instance().check_unwritten && all.is_device(a)) {
      std::uint8_t* const w = all.written(a);
      if (U != use::read) {
        std::memset(w, 1, bytes);
      } else {
        for (unsigned b = 0; b < bytes; ++b)
          if (!w[b]) {
            in.of->report(finding::global_unwritten, *this, i, lane,
                          "byte " + std::to_string(a + b - seen_.begin) + " of a block of " +
                              std::to_string(seen_.end - seen_.begin));
            std::memset(w, 1, bytes);
            break;
          }
      }
    }
    if (in.among_others.is_on() && all.is_device(a))
      in.among_others.touch(*this, i,
                            U == use::read    ? block_order::use::read
                            : U == use::write ? block_order::use::write
                                              : block_order::use::atomic,
                            i.flag || U == use::atomic, all.touched(a), a, bytes, lane);
    return all.host(a);
  }
}
namespace {
template <warp::use U>
std::byte* memory_of(warp& w, instruction const& i, std::uint64_t a, unsigned bytes, int lane) {
  switch (i.where) {
  case space::shared: return w.memory<space::shared, U>(i, a, bytes, lane);
  case space::local: return w.memory<space::local, U>(i, a, bytes, lane);
  case space::param: return w.memory<space::param, U>(i, a, bytes, lane);
  case space::generic: return w.memory<space::generic, U>(i, a, bytes, lane);
  default: return w.memory<space::global, U>(i, a, bytes, lane);
  }
}
}  // namespace
std::byte* warp::memory(instruction const& i, use u, std::uint64_t a, unsigned bytes, int lane) {
  return u == use::read    ? memory_of<use::read>(*this, i, a, bytes, lane)
         : u == use::write ? memory_of<use::write>(*this, i, a, bytes, lane)
                           : memory_of<use::atomic>(*this, i, a, bytes, lane);
}

// what handlers use
#define PTX_MEMORY(S)                                                                              \
  template std::byte* warp::memory<space::S, warp::use::read>(instruction const&, std::uint64_t,   \
                                                              unsigned, int);                      \
  template std::byte* warp::memory<space::S, warp::use::write>(instruction const&, std::uint64_t,  \
                                                               unsigned, int);                     \
  template std::byte* warp::memory<space::S, warp::use::atomic>(instruction const&, std::uint64_t, \
                                                                unsigned, int);
PTX_MEMORY(generic)
PTX_MEMORY(global)
PTX_MEMORY(shared)
PTX_MEMORY(local)
PTX_MEMORY(param)

}  // namespace ptx
