// SPDX-License-Identifier: Apache-2.0
// Streams that are captured into graphs, and launches of these: what was given to a captured stream runs with each
// launch, in the order in which it was given, or (PTX_LATE) in another one that the events of the capture allow.
#include <algorithm>
#include <thread>

#include "state.hpp"

namespace ptx::cudart {

/// Work, and the numbers of the works that it comes after.
struct captured_work {
  std::function<void()> run;
  std::vector<std::size_t> behind;
};
struct graph {
  std::vector<captured_work> works;
  void run(bool late) const;
};
struct capture {
  stream* origin;
  cudaStreamCaptureMode mode;
  std::thread::id by;
  bool broken = false;  // by a call that no capture allows
  graph made;
};
struct graph_exec {
  std::shared_ptr<graph const> what;
};

void graph::run(bool late) const {
  std::vector<bool> done(works.size());
  auto const is_ready = [&](std::size_t k) {
    return !done[k] && std::all_of(works[k].behind.begin(), works[k].behind.end(),
                                   [&](std::size_t b) { return done[b]; });
  };
  for (std::size_t left = works.size(); left > 0; --left) {
    std::size_t next = late ? works.size() - 1 : works.size() - left;
    while (!is_ready(next)) --next;
    works[next].run(), done[next] = true;
  }
}
void capture_work(stream& s, std::function<void()> work) {
  auto& works = s.captured_by->made.works;
  works.push_back({std::move(work), std::move(s.last)});
  s.last = {works.size() - 1};
}
void capture_wait(stream& s, event const& e) {
  if (!s.captured_by && !e.captured_by) return;
  if (s.captured_by != e.captured_by) {
    bool const joins = !s.captured_by && e.captured_by->origin;
    if (joins && is_default(s)) refuse_captured(e.captured_by, cudaErrorStreamCaptureImplicit);
    if (!joins && s.captured_by) s.captured_by->broken = true;
    require(joins, cudaErrorStreamCaptureIsolation);
    s.captured_by = e.captured_by, s.last.clear();
  }
  s.last.insert(s.last.end(), e.last.begin(), e.last.end());
}
void refuse_captured(std::shared_ptr<capture> const& c, cudaError_t code) {
  if (!c) return;
  c->broken = true;
  throw refusal{code};
}
void refuse_while_capturing(bool (*of)(capture const&, stream const&), cudaError_t code) {
  bool found = false;
  for (stream* each : all().streams)
    if (each->captured_by && of(*each->captured_by, *each))
      each->captured_by->broken = found = true;
  require(!found, code);
}
bool is_unsafe_in(capture const& c, stream const&) {
  return c.mode == cudaStreamCaptureModeGlobal ||
         (c.mode == cudaStreamCaptureModeThreadLocal && c.by == std::this_thread::get_id());
}
bool is_waited_for(capture const&, stream const& s) { return s.blocking && s.device == current; }
void leave_capture(stream& s) {
  if (s.captured_by && s.captured_by->origin == &s) s.captured_by->origin = nullptr;
  s.captured_by = nullptr, s.last.clear();
}

}  // namespace ptx::cudart

using namespace ptx;
using namespace ptx::cudart;

namespace {

/// the capture of a stream ends; null where it went wrong: then `code` says how
std::unique_ptr<graph> end(stream& s, cudaError_t& code) {
  std::shared_ptr<capture> const c = s.captured_by;
  auto const& works = c->made.works;
  std::vector<bool> joined(works.size());
  std::vector<std::size_t> next = s.last;
  while (!next.empty()) {
    std::size_t const k = next.back();
    next.pop_back();
    if (joined[k]) continue;
    joined[k] = true;
    next.insert(next.end(), works[k].behind.begin(), works[k].behind.end());
  }
  bool const all_joined = std::all_of(joined.begin(), joined.end(), [](bool b) { return b; });
  for (stream* each : all().streams)
    if (each->captured_by == c) leave_capture(*each);
  code = c->broken     ? cudaErrorStreamCaptureInvalidated
         : !all_joined ? cudaErrorStreamCaptureUnjoined
                       : cudaSuccess;
  return code == cudaSuccess ? std::make_unique<graph>(std::move(c->made)) : nullptr;
}

}  // namespace

PTX_API cudaError_t cudaStreamBeginCapture(cudaStream_t on, cudaStreamCaptureMode mode) {
  return api([&](state&) {
    require(!is_default(on), cudaErrorStreamCaptureUnsupported);
    require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed);
    stream& s = at(on);
    require(!s.captured_by, cudaErrorIllegalState);
    s.captured_by =
        std::make_shared<capture>(capture{&s, mode, std::this_thread::get_id(), false, {}});
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaStreamEndCapture(cudaStream_t on, cudaGraph_t* out) {
  return api([&](state& all_of) {
    require(out);
    *out = nullptr;
    stream& s = at(on);
    require(bool(s.captured_by), cudaErrorIllegalState);
    capture const& c = *s.captured_by;
    require(c.origin == &s, cudaErrorStreamCaptureUnmatched);
    require(c.mode == cudaStreamCaptureModeRelaxed || c.by == std::this_thread::get_id(),
            cudaErrorStreamCaptureWrongThread);
    cudaError_t code = cudaSuccess;
    if (auto made = end(s, code)) {
      *out = reinterpret_cast<cudaGraph_t>(made.get());
      all_of.graphs[*out] = std::move(made);
    }
    return code;
  });
}
PTX_API cudaError_t cudaStreamIsCapturing(cudaStream_t on, cudaStreamCaptureStatus* status) {
  return api([&](state& s) {
    require(status);
    if (is_default(on)) {  // asked, it ends no capture
      for (stream const* each : s.streams)
        require(!each->captured_by || !is_waited_for(*each->captured_by, *each),
                cudaErrorStreamCaptureImplicit);
      return *status = cudaStreamCaptureStatusNone, cudaSuccess;
    }
    auto const& c = at(on).captured_by;
    *status = !c          ? cudaStreamCaptureStatusNone
              : c->broken ? cudaStreamCaptureStatusInvalidated
                          : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t* nodes, std::size_t* n) {
  return api([&](state& s) {
    auto const found = s.graphs.find(g);
    require(n && found != s.graphs.end());
    require(!nodes, cudaErrorNotSupported);
    return *n = found->second->works.size(), cudaSuccess;
  });
}
PTX_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t g, unsigned long long) {
  return api([&](state& s) {
    auto const found = s.graphs.find(g);
    require(out && found != s.graphs.end());
    auto* const made = new graph_exec{found->second};
    s.graph_execs.insert(made);
    return *out = reinterpret_cast<cudaGraphExec_t>(made), cudaSuccess;
  });
}
PTX_API cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t on) {
  return api([&](state& s) {
    auto* const mine = reinterpret_cast<graph_exec*>(e);
    require(s.graph_execs.count(mine));
    submit(on, [what = mine->what, late = s.facts.late] { what->run(late); });
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  return api([&](state& s) {
    require(s.graphs.erase(g) == 1);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  return api([&](state& s) {
    auto* const mine = reinterpret_cast<graph_exec*>(e);
    require(s.graph_execs.erase(mine) == 1);
    return delete mine, cudaSuccess;
  });
}
