// SPDX-License-Identifier: Apache-2.0
// Streams run when somebody waits for them (PTX_LATE), or at once.
#include <chrono>

#include "state.hpp"

namespace ptx::cudart {

bool is_default(cudaStream_t s) {
  return s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread;
}
bool is_default(stream const& s) { return &s == &all().default_streams[s.device]; }
stream& at(cudaStream_t s) {
  if (is_default(s)) {
    stream& found = all().default_streams[current];
    found.device = current;
    refuse_while_capturing(is_waited_for, cudaErrorStreamCaptureImplicit);
    return found;
  }
  auto* const mine = reinterpret_cast<stream*>(s);
  require(all().streams.count(mine), cudaErrorInvalidResourceHandle);
  return *mine;
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
  if (s.captured_by) return capture_work(s, std::move(work));
  bool const waits_for_all = is_default(s);
  if (waits_for_all) {  // and they wait for it
    for (stream* each : all().streams)
      if (each->blocking && each->device == s.device) finish(*each);
  } else if (s.blocking) {
    stream& legacy = all().default_streams[s.device];
    finish(legacy);
  }
  s.tasks.push_back({std::move(s.waits), std::move(work), ++s.given});
  s.waits.clear();
  if (all().facts.late && !waits_for_all) return;
  try {
    complete(s, s.given);
  } catch (fault const& what) {  // the call that gave the work knows nothing of it
    lose(what);
  }
}
void finish_device(int device) {
  for (stream* each : all().streams)
    if (each->device == device) finish(*each);
  finish(all().default_streams[device]);
}
void finish_all() {
  for (int d = 0; d < all().facts.devices; ++d) finish_device(d);
}
void forget_stream(stream& mine) {
  for (event* e : all().events)
    if (e->on == &mine) e->on = nullptr;
  for (stream* each : all().streams) {
    auto const forget = [&](std::vector<event>& list) {
      for (event& e : list)
        if (e.on == &mine) e.on = nullptr;
    };
    forget(each->waits);
    for (task& t : each->tasks) forget(t.waits);
  }
  leave_capture(mine);
  all().streams.erase(&mine);
  delete &mine;
}

}  // namespace ptx::cudart

using namespace ptx;
using namespace ptx::cudart;

namespace {

event& at(cudaEvent_t e) {
  auto* const mine = reinterpret_cast<event*>(e);
  require(all().events.count(mine), cudaErrorInvalidResourceHandle);
  return *mine;
}
cudaError_t make(cudaStream_t* out, unsigned flags) {
  require(out && (flags & ~unsigned(cudaStreamNonBlocking)) == 0);
  auto* const fresh = new stream;
  fresh->device = current, fresh->blocking = !(flags & cudaStreamNonBlocking);
  all().streams.insert(fresh);
  return *out = reinterpret_cast<cudaStream_t>(fresh), cudaSuccess;
}
cudaError_t make(cudaEvent_t* out, unsigned flags) {
  require(out && flags <= (cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess));
  auto* const fresh = new event;
  fresh->device = current, fresh->timed = !(flags & cudaEventDisableTiming);
  all().events.insert(fresh);
  return *out = reinterpret_cast<cudaEvent_t>(fresh), cudaSuccess;
}
/// A question takes one task further, so that who asks again and again gets there.
cudaError_t reached(stream& s, std::uint64_t ticket) {
  if (s.done >= ticket) return cudaSuccess;
  complete(s, s.done + 1);
  return cudaErrorNotReady;
}

}  // namespace

PTX_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return api([&](state&) { return make(s, flags); });
}
PTX_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return api([&](state&) { return make(s, flags); });
}
PTX_API cudaError_t cudaStreamCreate(cudaStream_t* s) {
  return api([&](state&) { return make(s, 0u); });
}
PTX_API cudaError_t cudaStreamDestroy(cudaStream_t on) {
  return api([&](state& s) {
    auto* const mine = reinterpret_cast<stream*>(on);
    require(s.streams.count(mine), cudaErrorInvalidResourceHandle);
    finish(*mine);
    return forget_stream(*mine), cudaSuccess;
  });
}
PTX_API cudaError_t cudaStreamSynchronize(cudaStream_t on) {
  return api([&](state&) {
    stream& s = at(on);
    refuse_captured(s.captured_by, cudaErrorStreamCaptureUnsupported);
    return finish(s), cudaSuccess;
  });
}
PTX_API cudaError_t cudaStreamQuery(cudaStream_t on) {
  return api([&](state&) {
    stream& s = at(on);
    refuse_captured(s.captured_by, cudaErrorStreamCaptureUnsupported);
    if (s.tasks.empty()) finish(s);
    return reached(s, s.given);
  });
}
PTX_API cudaError_t cudaStreamGetDevice(cudaStream_t on, int* device) {
  return api([&](state&) {
    require(device);
    return *device = at(on).device, cudaSuccess;
  });
}
PTX_API cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t e, unsigned flags) {
  return api([&](state&) {
    require(flags == 0);
    event const& what = at(e);
    stream& s = at(on);
    if (s.captured_by || what.captured_by)
      capture_wait(s, what);
    else if (what.on)
      s.waits.push_back(what);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  return api([&](state&) { return make(e, flags); });
}
PTX_API cudaError_t cudaEventCreate(cudaEvent_t* e) {
  return api([&](state&) { return make(e, 0u); });
}
PTX_API cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return api([&](state& s) {
    event* const mine = &at(e);
    s.events.erase(mine);
    return delete mine, cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t on) {
  return api([&](state& s) {
    event* const mine = &at(e);
    stream& where = at(on);
    require(where.device == mine->device, cudaErrorInvalidResourceHandle);
    mine->captured_by = where.captured_by, mine->last = where.last;
    if (where.captured_by) return cudaSuccess;
    submit(on, [&s, mine] {
      if (s.events.count(mine))
        mine->when = std::chrono::steady_clock::now().time_since_epoch().count();
    });
    mine->on = &where, mine->ticket = where.given;
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return api([&](state&) {
    event const& what = at(e);
    refuse_captured(what.captured_by, cudaErrorCapturedEvent);
    if (what.on) complete(*what.on, what.ticket);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventQuery(cudaEvent_t e) {
  return api([&](state&) {
    event const& what = at(e);
    refuse_captured(what.captured_by, cudaErrorCapturedEvent);
    return what.on ? reached(*what.on, what.ticket) : cudaSuccess;
  });
}
PTX_API cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  return api([&](state&) {
    require(ms);
    for (event* const e : {&at(a), &at(b)}) {
      require(e->timed && e->ticket > 0, cudaErrorInvalidResourceHandle);
      if (e->on && e->on->done < e->ticket) return cudaErrorNotReady;
    }
    *ms = float(double(at(b).when - at(a).when) / 1e6);
    return cudaSuccess;
  });
}
