// SPDX-License-Identifier: Apache-2.0
// Streams run when somebody waits for them (PTX_LATE), or at once.
#include <chrono>

#include "state.hpp"

namespace ptx::cudart {

stream& at(cudaStream_t s) {
  if (s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread) {
    stream& found = all().default_streams[current];
    found.device = current;
    return found;
  }
  return *reinterpret_cast<stream*>(s);
}
void complete(stream& s, std::uint64_t ticket) {
  while (s.done < ticket && !s.tasks.empty()) {
    task t = std::move(s.tasks.front());
    s.tasks.pop_front();
    for (event const& e : t.waits)
      if (e.on) complete(*e.on, e.ticket);
    s.done = t.ticket;
    t.work();
  }
}
void finish(stream& s) {
  if (!s.waits.empty()) {
    s.tasks.push_back({std::move(s.waits), [] {}, ++s.given});
    s.waits.clear();
  }
  complete(s, s.given);
}
void submit(cudaStream_t on, std::function<void()> work) {
  stream& s = at(on);
  bool const is_default = &s == &all().default_streams[s.device];
  if (is_default) {  // it waits for all others, and they for it
    for (stream* each : all().streams)
      if (each->blocking && each->device == s.device) finish(*each);
  } else if (s.blocking) {
    stream& legacy = all().default_streams[s.device];
    finish(legacy);
  }
  s.tasks.push_back({std::move(s.waits), std::move(work), ++s.given});
  s.waits.clear();
  if (!all().facts.late || is_default) complete(s, s.given);
}
void finish_all() {
  for (stream* each : all().streams) finish(*each);
  for (auto& [device, s] : all().default_streams) finish(s);
}

}  // namespace ptx::cudart

using namespace ptx;
using namespace ptx::cudart;

PTX_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int) {
  return api([&](state& s) {
    auto* const fresh = new stream;
    fresh->device = current, fresh->blocking = !(flags & cudaStreamNonBlocking);
    s.streams.insert(fresh);
    return *out = reinterpret_cast<cudaStream_t>(fresh), cudaSuccess;
  });
}
PTX_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return cudaStreamCreateWithPriority(s, flags, 0);
}
PTX_API cudaError_t cudaStreamCreate(cudaStream_t* s) {
  return cudaStreamCreateWithPriority(s, 0, 0);
}
PTX_API cudaError_t cudaStreamDestroy(cudaStream_t on) {
  return api([&](state& s) {
    auto* const mine = reinterpret_cast<stream*>(on);
    if (!s.streams.count(mine)) return cudaErrorInvalidResourceHandle;
    finish(*mine);
    for (event* e : s.events)
      if (e->on == mine) e->on = nullptr;
    for (stream* each : s.streams) {
      auto const forget = [&](std::vector<event>& list) {
        for (event& e : list)
          if (e.on == mine) e.on = nullptr;
      };
      forget(each->waits);
      for (task& t : each->tasks) forget(t.waits);
    }
    s.streams.erase(mine);
    return delete mine, cudaSuccess;
  });
}
PTX_API cudaError_t cudaStreamSynchronize(cudaStream_t on) {
  return api([&](state&) { return finish(at(on)), cudaSuccess; });
}
PTX_API cudaError_t cudaStreamQuery(cudaStream_t on) { return cudaStreamSynchronize(on); }
PTX_API cudaError_t cudaStreamGetDevice(cudaStream_t on, int* device) {
  return *device = at(on).device, cudaSuccess;
}
PTX_API cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* s) {
  return *s = cudaStreamCaptureStatusNone, cudaSuccess;
}
PTX_API cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t e, unsigned) {
  return api([&](state&) {
    event const& what = *reinterpret_cast<event*>(e);
    if (what.on) at(on).waits.push_back(what);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  return api([&](state& s) {
    auto* const fresh = new event;
    s.events.insert(fresh);
    return *e = reinterpret_cast<cudaEvent_t>(fresh), cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
PTX_API cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return api([&](state& s) {
    auto* const mine = reinterpret_cast<event*>(e);
    if (s.events.erase(mine) == 0) return cudaErrorInvalidResourceHandle;
    return delete mine, cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t on) {
  return api([&](state& s) {
    auto* const mine = reinterpret_cast<event*>(e);
    submit(on, [&s, mine] {
      if (s.events.count(mine))
        mine->when = std::chrono::steady_clock::now().time_since_epoch().count();
    });
    mine->on = &at(on), mine->ticket = at(on).given;
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return api([&](state&) {
    event const& what = *reinterpret_cast<event*>(e);
    if (what.on) complete(*what.on, what.ticket);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
PTX_API cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  *ms = float(double(reinterpret_cast<event*>(b)->when - reinterpret_cast<event*>(a)->when) / 1e6);
  return cudaSuccess;
}
