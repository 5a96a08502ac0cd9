// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include "../counts/log.hpp"
#include "state.hpp"

using namespace ptx;
using namespace ptx::cudart;

namespace {
std::uint64_t number(void const* p) { return reinterpret_cast<std::uint64_t>(p); }
void say(finding what, std::string const& more) {
  ++statistics::instance().findings[std::size_t(what)];
  std::fprintf(stderr, "ptx machine: %s: %s\n", finding_names[std::size_t(what)], more.c_str());
  if (options::instance().abort) std::abort();
}
}  // namespace

PTX_API int ptx_submit(void* on, void (*work)(void*), void* data, char const* name,
                       std::size_t bytes, std::size_t multiplications) {
  return api([&](state&) {
    submit(static_cast<cudaStream_t>(on), [=] {
      ++statistics::instance().library_work;
      counts::log::instance().add_library(name, bytes, multiplications);
      work(data);
    });
    return cudaSuccess;
  });
}
PTX_API void* ptx_reach(void const* p, std::size_t bytes, int card, bool reads, char const* who) {
  device_memory& m = device_memory::instance();
  device_memory::block b;
  if (!m.find(number(p), b) || !b.holds(number(p), bytes))
    throw fault(cudaErrorIllegalAddress,
                std::string(who) + " leaves its memory: " + std::to_string(bytes) + " bytes");
  if (!m.reaches(card, b.owner))
    throw fault(cudaErrorIllegalAddress, std::string(who) + ": memory of card " +
                                             std::to_string(b.owner) + ", which card " +
                                             std::to_string(card) + " does not reach");
  if (reads && options::instance().check_unwritten && m.is_device(number(p))) {
    std::uint8_t const* const w = m.written(number(p));
    for (std::size_t k = 0; k < bytes; ++k)
      if (!w[k]) {
        say(finding::global_unwritten, std::string(who) + " reads byte " +
                                           std::to_string(number(p) + k - b.begin) +
                                           " of a block of " + std::to_string(b.end - b.begin));
        break;
      }
  }
  return m.host(number(p));
}
PTX_API void* ptx_host(void const* p) { return device_memory::instance().host(number(p)); }
PTX_API void ptx_join(void* const* streams, int n) {
  std::lock_guard hold(all().lock);
  for (int k = 0; k < n; ++k)
    for (int other = 0; other < n; ++other) {
      stream& s = at(static_cast<cudaStream_t>(streams[other]));
      event reached;
      reached.on = &s, reached.ticket = s.given;
      if (other != k) at(static_cast<cudaStream_t>(streams[k])).waits.push_back(reached);
    }
}
PTX_API int ptx_finish(void* const* streams, int n) {
  return api([&](state&) {
    for (int k = 0; k < n; ++k) finish(at(static_cast<cudaStream_t>(streams[k])));
    return cudaSuccess;
  });
}
PTX_API void ptx_wrote(void const* p, std::size_t bytes) {
  device_memory::instance().set_written(number(p), bytes);
}
PTX_API int ptx_card_of(void const* p) {
  std::lock_guard hold(all().lock);
  device_memory::block b;
  return device_memory::instance().find(number(p), b) ? b.owner : -1;
}
PTX_API int ptx_card_of_stream(void* on) {
  std::lock_guard hold(all().lock);
  auto* const s = static_cast<stream*>(on);
  return !s ? current : all().streams.count(s) ? s->device : -1;
}
PTX_API int ptx_called(char const* function) {
  std::lock_guard hold(all().lock);
  return planned_failure(function);
}
PTX_API void ptx_report(char const* what) {
  std::lock_guard hold(all().lock);
  say(finding::misused_library, what);
}
