// SPDX-License-Identifier: Apache-2.0
// What nvcc's code registers before main, and launches of it.
#include <algorithm>
#include <cstring>

#include "../counts/log.hpp"
#include "state.hpp"

namespace ptx::cudart {

state& all() {
  static state& s = *new state;
  return s;
}
thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

namespace {
/// the PTX texts of a fat binary: entries of kind 1, not compressed
std::vector<std::string> texts_of(void const* data, std::string& problem) {
  struct header {
    std::uint32_t magic;
    std::uint16_t version, bytes;
    std::uint64_t size;
  } all_of;
  std::memcpy(&all_of, data, sizeof all_of);
  std::vector<std::string> found;
  if (all_of.magic != 0xba55ed50) return problem = "an unknown kind of fat binary", found;
  auto const* at = static_cast<char const*>(data) + all_of.bytes;
  auto const* const end = at + all_of.size;
  while (at < end) {
    struct entry {
      std::uint16_t kind, version;
      std::uint32_t header_bytes;
      std::uint64_t size;
      std::uint32_t compressed_size, unknown;
      std::uint16_t minor, major;
      std::uint32_t arch;
    } e;
    std::memcpy(&e, at, sizeof e);
    char const* const text = at + e.header_bytes;
    if (e.kind == 1) {
      std::string s(text, strnlen(text, e.size));
      if (s.find(".version") != s.npos && e.compressed_size == 0)
        found.push_back(std::move(s));
      else
        problem = "its PTX is compressed: pass --no-compress to nvcc";
    }
    at = text + e.size;
  }
  if (found.empty() && problem.empty()) problem = "it has no PTX: pass -arch=compute_75 to nvcc";
  return found;
}
}  // namespace
int target_of(std::string const& text) {
  std::size_t const at = text.find(".target sm_");
  return at == text.npos ? 0 : std::atoi(text.c_str() + at + 11);
}
program& program_of(fat_binary& b) {
  if (!b.tried) {
    b.tried = true;
    b.texts = texts_of(b.data, b.problem);
    std::string const* best = nullptr;
    for (auto const& t : b.texts)
      if (target_of(t) <= all().facts.capability && (!best || target_of(t) > target_of(*best)))
        best = &t;
    if (best)
      b.loaded = load(*best);
    else if (b.problem.empty())
      b.problem = "its PTX is for newer devices";
  }
  if (!b.loaded) throw std::runtime_error("a fat binary cannot run: " + b.problem);
  return *b.loaded;
}
kernel_entry* find_kernel(void const* symbol) {
  auto const found = all().kernels.find(symbol);
  return found == all().kernels.end() ? nullptr : &found->second;
}

}  // namespace ptx::cudart

using namespace ptx;
using namespace ptx::cudart;

namespace {

dimensions of(dim3 d) { return {d.x, d.y, d.z}; }

cudaError_t refused(std::string const& why) {
  std::fprintf(stderr, "ptx machine: %s\n", why.c_str());
  return cudaErrorInvalidDeviceFunction;
}
cudaError_t launch(void const* symbol, dim3 blocks, dim3 threads, void** args, std::size_t shared,
                   cudaStream_t on, bool all_at_once = false) {
  return api([&](state& s) {
    kernel_entry* k = find_kernel(symbol);
    if (!k) {  // a handle of __cudaGetKernel
      for (auto& [key, each] : s.kernels)
        if (&each == symbol) k = &each;
    }
    if (!k) return refused("nvcc's front end made no device code for a kernel that the host calls");
    program& p = program_of(*k->in);
    program_function const* const entry = p.find(k->name);
    if (!entry) return refused("its module has no kernel " + k->name);
    std::uint64_t const n = of(threads).count();
    if (n == 0 || n > 1024 || of(blocks).count() == 0 || blocks.y > 65535 || blocks.z > 65535)
      return cudaErrorInvalidConfiguration;
    auto g = std::make_shared<grid>(
        grid{p, *entry, of(blocks), of(threads), {}, std::uint32_t(shared), ++s.launches});
    g->params.resize(entry->param_bytes);
    for (std::size_t a = 0; a < entry->params.size(); ++a)
      std::memcpy(g->params.data() + entry->params[a].at, args[a], entry->params[a].bytes);
    submit(on, [g, all_at_once] { g->run(all_at_once); });
    return cudaSuccess;
  });
}

void say_at_exit() {
  counts::log::instance().say_at_exit();
  statistics const& s = statistics::instance();
  if (options::instance().say_speed)
    std::fprintf(stderr,
                 "ptx machine: %llu launches, %.3g warp instructions, %.3g thread instructions in "
                 "%.3f s: %.0f million a second\n",
                 static_cast<unsigned long long>(s.launches), double(s.instructions),
                 double(s.lane_instructions), s.seconds,
                 s.seconds > 0 ? double(s.lane_instructions) / s.seconds / 1e6 : 0.);
  for (std::size_t k = 0; k < 5; ++k)
    if (s.findings[k])
      std::fprintf(stderr, "ptx machine: %s: %llu times\n", finding_names[k],
                   static_cast<unsigned long long>(s.findings[k]));
}

}  // namespace

PTX_API void** __cudaRegisterFatBinary(void* wrapper) {
  static bool const once = (std::atexit(say_at_exit), true);
  (void)once;
  struct wrapped {
    int magic, version;
    void const* data;
    void* more;
  };
  auto made = std::make_unique<fat_binary>();
  made->data = static_cast<wrapped*>(wrapper)->data;
  fat_binary* const b = made.get();
  all().binaries.push_back(std::move(made));
  return reinterpret_cast<void**>(b);
}
PTX_API void __cudaRegisterFatBinaryEnd(void**) {}
PTX_API void __cudaUnregisterFatBinary(void**) {}
PTX_API char __cudaInitModule(void**) { return 1; }
PTX_API void __cudaRegisterFunction(void** handle, char const* host, char*, char const* name, int,
                                    uint3*, uint3*, dim3*, dim3*, int*) {
  all().kernels[host] = {reinterpret_cast<fat_binary*>(handle), name};
}
PTX_API void __cudaRegisterVar(void** handle, char* host, char*, char const* name, int, std::size_t,
                               int, int) {
  all().variables[host] = {reinterpret_cast<fat_binary*>(handle), name};
}
PTX_API void __cudaRegisterManagedVar(void**, void**, char*, char const*, int, std::size_t, int,
                                      int) {}
PTX_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                             CUstream_st* on) {
  all().configurations.push_back({grid, block, shared, on});
  return 0;
}
PTX_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                                               void* on) {
  if (all().configurations.empty()) return cudaErrorMissingConfiguration;
  launch_configuration const c = all().configurations.back();
  all().configurations.pop_back();
  *grid = c.grid, *block = c.block, *shared = c.shared, *static_cast<cudaStream_t*>(on) = c.on;
  return cudaSuccess;
}
PTX_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* symbol) {
  kernel_entry* const k = find_kernel(symbol);
  *kernel = reinterpret_cast<cudaKernel_t>(k);
  return k ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
PTX_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                       std::size_t shared, cudaStream_t on) {
  return launch(kernel, grid, block, args, shared, on);
}
PTX_API cudaError_t cudaLaunchKernel(void const* f, dim3 grid, dim3 block, void** args,
                                     std::size_t shared, cudaStream_t on) {
  return launch(f, grid, block, args, shared, on);
}
PTX_API cudaError_t cudaLaunchCooperativeKernel(void const* f, dim3 grid, dim3 block, void** args,
                                                std::size_t shared, cudaStream_t on) {
  return launch(f, grid, block, args, shared, on, true);
}
PTX_API cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* c, void const* f, void** args) {
  return launch(f, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream);
}
PTX_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, void const* f) {
  return api([&](state& s) {
    kernel_entry* k = find_kernel(f);
    for (auto& [key, each] : s.kernels)
      if (&each == f) k = &each;
    if (!k) return cudaErrorInvalidDeviceFunction;
    program& p = program_of(*k->in);
    if (!p.find(k->name)) return cudaErrorInvalidDeviceFunction;
    *a = {};
    a->maxThreadsPerBlock = 1024, a->numRegs = 32;
    a->maxDynamicSharedSizeBytes = 49152;
    a->ptxVersion = target_of(p.text), a->binaryVersion = s.facts.capability;
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaFuncSetAttribute(void const*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
PTX_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, void const*,
                                                                           int threads, std::size_t,
                                                                           unsigned) {
  return *n = threads > 0 ? std::min(32, 2048 / threads) : 0, cudaSuccess;
}
PTX_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void const*, int threads,
                                                                  std::size_t) {
  return *n = threads > 0 ? std::min(32, 2048 / threads) : 0, cudaSuccess;
}
