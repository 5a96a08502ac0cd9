// SPDX-License-Identifier: Apache-2.0
// Cards, errors, and what tests ask for.
#include <cstring>

#include "../counts/log.hpp"
#include "state.hpp"

using namespace ptx;
using namespace ptx::cudart;

PTX_API cudaError_t cudaDriverGetVersion(int* v) { return *v = 13000, cudaSuccess; }
PTX_API cudaError_t cudaRuntimeGetVersion(int* v) { return *v = 13000, cudaSuccess; }
PTX_API cudaError_t cudaGetDeviceCount(int* n) { return *n = all().facts.devices, cudaSuccess; }
PTX_API cudaError_t cudaGetDevice(int* d) { return *d = current, cudaSuccess; }
PTX_API cudaError_t cudaSetDevice(int d) {
  if (d < 0 || d >= all().facts.devices) return note(cudaErrorInvalidDevice);
  return current = d, cudaSuccess;
}
PTX_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device < 0 || device >= all().facts.devices) return note(cudaErrorInvalidDevice);
  machine_facts const& f = all().facts;
  *p = {};
  std::strcpy(p->name, "PTX machine");
  p->uuid.bytes[15] = char(device);
  p->totalGlobalMem = f.bytes, p->major = f.capability / 10, p->minor = f.capability % 10;
  p->multiProcessorCount = f.processors, p->warpSize = lane_count, p->maxThreadsPerBlock = 1024;
  p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 232448,
  p->sharedMemPerMultiprocessor = 233472;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536, p->maxThreadsPerMultiProcessor = 2048;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->pciDeviceID = device + 1, p->unifiedAddressing = 1, p->concurrentKernels = 1,
  p->asyncEngineCount = 2;
  return cudaSuccess;
}
PTX_API cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  machine_facts const& f = all().facts;
  switch (a) {
  case cudaDevAttrMaxThreadsPerBlock:
  case cudaDevAttrMaxBlockDimX:
  case cudaDevAttrMaxBlockDimY: *v = 1024; break;
  case cudaDevAttrMaxBlockDimZ: *v = 64; break;
  case cudaDevAttrMaxGridDimX: *v = 0x7fffffff; break;
  case cudaDevAttrMaxGridDimY:
  case cudaDevAttrMaxGridDimZ: *v = 65535; break;
  case cudaDevAttrMaxSharedMemoryPerBlock: *v = 49152; break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = 232448; break;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = 233472; break;
  case cudaDevAttrWarpSize: *v = lane_count; break;
  case cudaDevAttrMultiProcessorCount: *v = f.processors; break;
  case cudaDevAttrMaxThreadsPerMultiProcessor: *v = 2048; break;
  case cudaDevAttrMaxBlocksPerMultiprocessor: *v = 32; break;
  case cudaDevAttrMaxRegistersPerBlock:
  case cudaDevAttrMaxRegistersPerMultiprocessor: *v = 65536; break;
  case cudaDevAttrComputeCapabilityMajor: *v = f.capability / 10; break;
  case cudaDevAttrComputeCapabilityMinor: *v = f.capability % 10; break;
  case cudaDevAttrL2CacheSize: *v = 4 << 20; break;
  case cudaDevAttrCooperativeLaunch:
  case cudaDevAttrUnifiedAddressing:
  case cudaDevAttrConcurrentKernels: *v = 1; break;
  default: *v = 0;
  }
  return cudaSuccess;
}
PTX_API cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 1, cudaSuccess; }
PTX_API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
PTX_API cudaError_t cudaDeviceReset() { return cudaSuccess; }
PTX_API cudaError_t cudaDeviceSynchronize() {
  return api([](state&) { return finish_all(), cudaSuccess; });
}

// ---- errors ----
PTX_API cudaError_t cudaGetLastError() {
  cudaError_t const e = last;
  last = all().lost;
  return e;
}
PTX_API cudaError_t cudaPeekAtLastError() { return last; }
PTX_API char const* cudaGetErrorString(cudaError_t e) {
  switch (int(e)) {
  case 0: return "no error";
  case 1: return "invalid argument";
  case 2: return "out of memory";
  case 9: return "invalid configuration argument";
  case 98: return "invalid device function";
  case 200: return "device kernel image is invalid";
  case 700: return "an illegal memory access was encountered";
  case 710: return "device-side assert triggered";
  case 716: return "misaligned address";
  case 719: return "unspecified launch failure";
  case 801: return "operation not supported";
  default: return "an error";
  }
}
PTX_API char const* cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }

// ---- for tests ----
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
