// SPDX-License-Identifier: Apache-2.0
// Cards, and what tests ask for.
#include <cstring>

#include "../counts/log.hpp"
#include "state.hpp"

using namespace ptx;
using namespace ptx::cudart;

namespace {
cudaError_t give(int* to, int value) {
  require(to);
  return *to = value, cudaSuccess;
}
}  // namespace

PTX_API cudaError_t cudaDriverGetVersion(int* v) {
  return question([&](state&) { return give(v, 13000); });
}
PTX_API cudaError_t cudaRuntimeGetVersion(int* v) {
  return question([&](state&) { return give(v, 13000); });
}
PTX_API cudaError_t cudaGetDeviceCount(int* n) {
  return question([&](state& s) {
    require(s.facts.devices > 0, cudaErrorNoDevice);
    return give(n, s.facts.devices);
  });
}
PTX_API cudaError_t cudaGetDevice(int* d) {
  return question([&](state&) { return give(d, current); });
}
PTX_API cudaError_t cudaSetDevice(int d) {
  return question([&](state&) {
    require_device(d);
    return current = d, cudaSuccess;
  });
}
PTX_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  return question([&](state& s) {
    require(p), require_device(device);
    machine_facts const& f = s.facts;
    *p = {};
    std::strcpy(p->name, "PTX machine");
    p->uuid.bytes[15] = char(device);
    p->totalGlobalMem = f.bytes, p->major = f.capability / 10, p->minor = f.capability % 10;
    p->multiProcessorCount = f.processors, p->warpSize = lane_count, p->maxThreadsPerBlock = 1024;
    p->sharedMemPerBlock = shared_without_asking, p->sharedMemPerBlockOptin = shared_of_a_block,
    p->sharedMemPerMultiprocessor = shared_of_a_processor;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536, p->maxThreadsPerMultiProcessor = 2048;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->pciDeviceID = device + 1, p->unifiedAddressing = p->managedMemory = p->concurrentKernels = 1,
    p->asyncEngineCount = 2, p->cooperativeLaunch = 1, p->l2CacheSize = 4 << 20;
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int device) {
  return question([&](state& s) {
    require(v && a > 0 && a < cudaDevAttrMax), require_device(device);
    machine_facts const& f = s.facts;
    switch (a) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *v = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *v = 64; break;
    case cudaDevAttrMaxGridDimX: *v = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *v = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = shared_without_asking; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = shared_of_a_block; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = shared_of_a_processor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *v = 1024; break;
    case cudaDevAttrWarpSize: *v = lane_count; break;
    case cudaDevAttrMultiProcessorCount: *v = f.processors; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *v = 32; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *v = 65536; break;
    case cudaDevAttrComputeCapabilityMajor: *v = f.capability / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *v = f.capability % 10; break;
    case cudaDevAttrL2CacheSize: *v = 4 << 20; break;
    case cudaDevAttrAsyncEngineCount: *v = 2; break;
    case cudaDevAttrManagedMemory:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrConcurrentKernels: *v = 1; break;
    default: *v = 0;
    }
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return question([&](state&) {
    require(can), require_device(device), require_device(peer);
    return *can = device != peer, cudaSuccess;
  });
}
PTX_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api([&](state&) {
    require(flags == 0), require_device(peer), require(peer != current, cudaErrorInvalidDevice);
    device_memory& m = device_memory::instance();
    require(!m.reaches(current, peer), cudaErrorPeerAccessAlreadyEnabled);
    return m.set_reach(current, peer, true), cudaSuccess;
  });
}
PTX_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api([&](state&) {
    require_device(peer);
    device_memory& m = device_memory::instance();
    require(peer != current && m.reaches(current, peer), cudaErrorPeerAccessNotEnabled);
    finish_device(current);
    return m.set_reach(current, peer, false), cudaSuccess;
  });
}
/// all that the card has is gone, its error as well
PTX_API cudaError_t cudaDeviceReset() {
  return question([&](state& s) {
    if (s.lost == cudaSuccess) finish_all();
    s.lost = last = cudaSuccess;
    for (auto it = s.device_blocks.begin(); it != s.device_blocks.end();) {
      auto const here = it++;
      if (here->second.second != current) continue;
      device_memory::instance().release(here->first);
      s.device_blocks.erase(here);
    }
    s.in_use[current] = 0;
    std::vector<stream*> const streams(s.streams.begin(), s.streams.end());
    for (stream* each : streams)
      if (each->device == current) forget_stream(*each);
    for (int other = 0; other < s.facts.devices; ++other)
      if (other != current) device_memory::instance().set_reach(current, other, false);
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaDeviceSynchronize() {
  return api([](state&) {
    refuse_while_capturing([](capture const&, stream const& s) { return s.device == current; },
                           cudaErrorStreamCaptureUnsupported);
    return finish_device(current), cudaSuccess;
  });
}

// ---- for tests ----
/// in a process that a test has forked: its number of cards, before it asks for them
PTX_API void ptx_set_cards(int n) {
  api([&](state& s) { return s.facts.devices = n, cudaSuccess; });
}
PTX_API std::uint64_t ptx_findings() {
  std::uint64_t n = 0;
  for (auto each : statistics::instance().findings) n += each;
  return n;
}
PTX_API std::uint64_t ptx_thread_instructions() { return statistics::instance().lane_instructions; }
PTX_API std::uint64_t ptx_launches() { return statistics::instance().launches; }
// counts of launches (../counts/log.hpp); what was launched before belongs to the label before
PTX_API void ptx_counts_on(int on) {
  api([&](state&) { return finish_all(), counts::log::instance().turn(on != 0), cudaSuccess; });
}
PTX_API void ptx_counts_label(char const* text) {
  api([&](state&) { return finish_all(), counts::log::instance().set_label(text), cudaSuccess; });
}
PTX_API void ptx_counts_forget() {
  api([&](state&) { return finish_all(), counts::log::instance().forget(), cudaSuccess; });
}
/// valid until the thread asks again
PTX_API char const* ptx_counts_kernels(char const* label) {
  static thread_local std::string text;
  text = counts::log::instance().kernels(label);
  return text.c_str();
}
PTX_API double ptx_counts(char const* label, char const* what) {
  api([&](state&) { return finish_all(), cudaSuccess; });
  return counts::log::instance().value(label, what);
}
/// after a kernel failed on purpose
PTX_API void ptx_forget() {
  all().lost = last = cudaSuccess;
  for (auto& each : statistics::instance().findings) each = 0;
}
