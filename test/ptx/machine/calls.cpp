// SPDX-License-Identifier: Apache-2.0
// Calls of functions, those of the device's own library among them.
#include <bit>
#include <cstdio>
#include <cstring>

#include "machine.hpp"
#include "printf.hpp"

namespace ptx {

std::byte* warp::local(instruction const& i, std::uint64_t address, unsigned bytes,
                       int lane) const {
  if (address + bytes > local_size_ || address + bytes < address)
    fail(700, i, lane, "local memory is left: " + std::to_string(address));
  return const_cast<std::byte*>(locals_.data()) + std::size_t(lane) * local_size_ + address;
}

void warp::call(instruction const& i, mask m) {
  call_site const& site = in.of->code.calls[i.target];
  if (!site.to) {
    if (!runtime_call(i, site, m))
      fail(719, i, __builtin_ctz(m), "nothing is known of " + site.name);
    return;
  }
  frame* const caller = frame_;
  frame* const f = make_frame(*site.to, caller);
  f->back = pc_ + 1, f->site = &site, f->lanes = std::popcount(m);
  for (std::size_t k = 0; k < site.arguments.size(); ++k)
    each_lane(m, [&](int l) {
      auto const& to = site.to->params[k];
      std::memcpy(local(i, f->local_base + to.at, to.bytes, l),
                  local(i, caller->local_base + site.arguments[k], to.bytes, l), to.bytes);
    });
  each_lane(m, [&](int l) { frames[l] = f, pcs[l] = site.to->first; });
}

void warp::give_back(mask m) {
  frame* const f = frame_;
  if (!f->caller) return leave(m);
  instruction const& i = in.of->code.code[pc_];
  for (std::size_t k = 0; k < f->site->results.size(); ++k)
    each_lane(m, [&](int l) {
      auto const& from = f->of->returns[k];
      std::memcpy(local(i, f->caller->local_base + f->site->results[k], from.bytes, l),
                  local(i, f->local_base + from.at, from.bytes, l), from.bytes);
    });
  each_lane(m, [&](int l) { frames[l] = f->caller, pcs[l] = f->back; });
  f->lanes -= std::popcount(m);
  if (f->lanes == 0) free_.push_back(f);
}

/// What every device has: vprintf, __assertfail, malloc, free.
bool warp::runtime_call(instruction const& i, call_site const& site, mask m) {
  auto argument = [&](std::size_t k, int l) {
    std::uint64_t v = 0;
    std::memcpy(&v, local(i, frame_->local_base + site.arguments[k], 8, l), 8);
    return v;
  };
  auto give = [&](int l, std::uint64_t v, unsigned bytes) {
    if (!site.results.empty())
      std::memcpy(local(i, frame_->local_base + site.results[0], bytes, l), &v, bytes);
  };
  auto text = [&](std::uint64_t a, int l) {
    std::string s;
    for (;; ++a) {
      char const c = char(*memory(i, use::read, a, 1, l));
      if (c == 0) return s;
      s += c;
    }
  };
  if (site.name == "vprintf") {
    each_lane(m, [&](int l) {
      std::string const format = text(argument(0, l), l);
      std::uint64_t next = argument(1, l);
      auto word = [&](unsigned bytes) {
        next = (next + bytes - 1) / bytes * bytes;
        std::uint64_t v = 0;
        std::memcpy(&v, memory(i, use::read, next, bytes, l), bytes);
        next += bytes;
        return v;
      };
      std::string const out = formatted(format, word, [&](std::uint64_t a) { return text(a, l); });
      std::fwrite(out.data(), 1, out.size(), stdout);
      give(l, out.size(), 4);
    });
    return true;
  }
  if (site.name == "__assertfail") {
    int const l = __builtin_ctz(m);
    throw fault(710, text(argument(1, l), l) + ":" + std::to_string(std::uint32_t(argument(2, l))) +
                         ": " + text(argument(3, l), l) + ": assertion `" +
                         text(argument(0, l), l) + "` failed\n  " + where(i, l));
  }
  if (site.name == "malloc") {
    each_lane(m, [&](int l) { give(l, device_memory::instance().allocate(argument(0, l)), 8); });
    return true;
  }
  if (site.name == "free") {
    each_lane(m, [&](int l) {
      if (argument(0, l) && !device_memory::instance().release(argument(0, l)))
        fail(700, i, l, "free of what malloc did not give");
    });
    return true;
  }
  return false;
}

}  // namespace ptx
