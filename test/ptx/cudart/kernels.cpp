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
namespace {
/// the host finds managed variables where kernels do
void place_managed(fat_binary& b) {
  for (auto const& v : all().managed) {
    auto const found = b.loaded->variables.find(v.name);
    if (v.in != &b || found == b.loaded->variables.end()) continue;
    device_memory::block there;
    device_memory::instance().find(found->second, there);
    *v.host = reinterpret_cast<void*>(found->second);
    all().host_blocks[*v.host] = {there.end - there.begin, host_kind::managed, 0};
  }
}
}  // namespace
program& program_of(fat_binary& b) {
  if (!b.tried) {
    b.tried = true;
    b.texts = texts_of(b.data, b.problem);
    std::string const* best = nullptr;
    for (auto const& t : b.texts)
      if (target_of(t) <= all().facts.capability && (!best || target_of(t) > target_of(*best)))
        best = &t;
    if (best)
      b.loaded = load(*best), place_managed(b);
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

struct launch_configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t on;
};
dimensions of(dim3 d) { return {d.x, d.y, d.z}; }

thread_local std::vector<launch_configuration> configurations;

[[noreturn]] void refuse(std::string const& why) {
  std::fprintf(stderr, "ptx machine: %s\n", why.c_str());
  throw refusal{cudaErrorInvalidDeviceFunction};
}
struct kernel {
  kernel_entry& entry;
  program& code;
  program_function const& function;
  /// bytes that its own variables take in each block
  std::size_t own_shared() const {
    std::size_t n = 0;
    for (variable const& v : function.source->variables)
      if (v.where == space::shared && !v.is_extern)
        n = (n + v.align - 1) / v.align * v.align + v.bytes;
    return n;
  }
  std::size_t dynamic_shared() const {
    return entry.dynamic_shared ? entry.dynamic_shared : shared_without_asking - own_shared();
  }
  int blocks_at_once(int threads, std::size_t shared) const {
    int const warps = (threads + lane_count - 1) / lane_count;
    std::size_t const each = own_shared() + shared + 1024;
    return std::min({32, 2048 / lane_count / warps, int(shared_of_a_processor / each)});
  }
};
/// a kernel by its symbol, or by a handle of __cudaGetKernel
kernel kernel_of(state& s, void const* symbol) {
  kernel_entry* k = find_kernel(symbol);
  if (!k)
    for (auto& [key, each] : s.kernels)
      if (&each == symbol) k = &each;
  if (!k) refuse("nvcc's front end made no device code for a kernel that the host calls");
  program& p = program_of(*k->in);
  program_function const* const f = p.find(k->name);
  if (!f) refuse("its module has no kernel " + k->name);
  return {*k, p, *f};
}
cudaError_t launch(state& s, void const* symbol, dim3 blocks, dim3 threads, void** args,
                   std::size_t shared, cudaStream_t on, bool all_at_once = false) {
  kernel const k = kernel_of(s, symbol);
  std::uint64_t const n = of(threads).count();
  require(n > 0 && n <= 1024 && threads.z <= 64 && of(blocks).count() > 0 &&
              blocks.x <= 0x7fffffff && blocks.y <= 65535 && blocks.z <= 65535,
          cudaErrorInvalidConfiguration);
  require(shared <= k.dynamic_shared());
  require(!all_at_once || of(blocks).count() <= std::uint64_t(s.facts.processors) *
                                                    std::uint64_t(k.blocks_at_once(int(n), shared)),
          cudaErrorCooperativeLaunchTooLarge);
  int const device = at(on).device;
  require(device == current, cudaErrorInvalidResourceHandle);
  auto g = std::make_shared<grid>(grid{k.code,
                                       k.function,
                                       of(blocks),
                                       of(threads),
                                       {},
                                       std::uint32_t(shared),
                                       ++s.launches,
                                       device});
  g->params.resize(k.function.param_bytes);
  for (std::size_t a = 0; a < k.function.params.size(); ++a)
    std::memcpy(g->params.data() + k.function.params[a].at, args[a], k.function.params[a].bytes);
  submit(on, [g, all_at_once] {
    device_memory& m = device_memory::instance();
    if (all_at_once) {
      g->workspace = m.allocate(8);
      std::memset(m.host(g->workspace), 0, 8);
      m.set_written(g->workspace, 8);
    }
    g->run(all_at_once);
    if (all_at_once) m.release(g->workspace);
  });
  return cudaSuccess;
}

void say_at_exit() {
  counts::log::instance().say_at_exit();
  statistics const& s = statistics::instance();
  if (options::instance().say_speed)
    std::fprintf(stderr,
                 "ptx machine: %llu launches, %llu works of libraries, %.3g warp instructions, "
                 "%.3g thread instructions in "
                 "%.3f s: %.0f million a second\n",
                 static_cast<unsigned long long>(s.launches),
                 static_cast<unsigned long long>(s.library_work), double(s.instructions),
                 double(s.lane_instructions), s.seconds,
                 s.seconds > 0 ? double(s.lane_instructions) / s.seconds / 1e6 : 0.);
  if (!options::instance().without.what.empty())
    std::fprintf(stderr, "ptx machine: PTX_WITHOUT: %llu were left out\n",
                 static_cast<unsigned long long>(s.left_out));
  for (std::size_t k = 0; k < std::size(finding_names); ++k)
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
/// before the host first uses a managed variable
PTX_API char __cudaInitModule(void** handle) {
  std::lock_guard hold(all().lock);
  auto* const b = reinterpret_cast<fat_binary*>(handle);
  return program_of(*b), 1;
}
PTX_API void __cudaRegisterFunction(void** handle, char const* host, char*, char const* name, int,
                                    uint3*, uint3*, dim3*, dim3*, int*) {
  all().kernels[host] = {reinterpret_cast<fat_binary*>(handle), name};
}
PTX_API void __cudaRegisterVar(void** handle, char* host, char*, char const* name, int, std::size_t,
                               int, int) {
  all().variables[host] = {reinterpret_cast<fat_binary*>(handle), name};
}
PTX_API void __cudaRegisterManagedVar(void** handle, void** host, char*, char const* name, int,
                                      std::size_t, int, int) {
  all().managed.push_back({reinterpret_cast<fat_binary*>(handle), host, name});
}
PTX_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                             CUstream_st* on) {
  configurations.push_back({grid, block, shared, on});
  return 0;
}
PTX_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                                               void* on) {
  if (configurations.empty()) return note(cudaErrorMissingConfiguration);
  launch_configuration const c = configurations.back();
  configurations.pop_back();
  *grid = c.grid, *block = c.block, *shared = c.shared, *static_cast<cudaStream_t*>(on) = c.on;
  return cudaSuccess;
}
PTX_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* symbol) {
  std::lock_guard hold(all().lock);
  kernel_entry* const k = find_kernel(symbol);
  *kernel = reinterpret_cast<cudaKernel_t>(k);
  return k ? cudaSuccess : note(cudaErrorInvalidDeviceFunction);
}
PTX_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                       std::size_t shared, cudaStream_t on) {
  return api([&](state& s) { return launch(s, kernel, grid, block, args, shared, on); },
             "cudaLaunchKernel");
}
PTX_API cudaError_t cudaLaunchKernel(void const* f, dim3 grid, dim3 block, void** args,
                                     std::size_t shared, cudaStream_t on) {
  return api([&](state& s) { return launch(s, f, grid, block, args, shared, on); });
}
PTX_API cudaError_t cudaLaunchCooperativeKernel(void const* f, dim3 grid, dim3 block, void** args,
                                                std::size_t shared, cudaStream_t on) {
  return api([&](state& s) { return launch(s, f, grid, block, args, shared, on, true); });
}
PTX_API cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* c, void const* f, void** args) {
  return api([&](state& s) {
    require(c);
    bool all_at_once = false;
    for (unsigned k = 0; k < c->numAttrs; ++k) {
      cudaLaunchAttribute const& a = c->attrs[k];
      if (a.id == cudaLaunchAttributeCooperative) all_at_once = a.val.cooperative != 0;
      require(a.id != cudaLaunchAttributeClusterDimension ||
                  a.val.clusterDim.x * a.val.clusterDim.y * a.val.clusterDim.z <= 1,
              cudaErrorNotSupported);
    }
    return launch(s, f, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream, all_at_once);
  });
}
PTX_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, void const* f) {
  return api([&](state& s) {
    require(a);
    kernel const k = kernel_of(s, f);
    *a = {};
    a->maxThreadsPerBlock = 1024, a->numRegs = 32;
    a->sharedSizeBytes = k.own_shared(), a->localSizeBytes = k.function.local_bytes;
    a->maxDynamicSharedSizeBytes = int(k.dynamic_shared());
    a->ptxVersion = target_of(k.code.text), a->binaryVersion = s.facts.capability;
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaFuncSetAttribute(void const* f, cudaFuncAttribute a, int value) {
  return api([&](state& s) {
    kernel const k = kernel_of(s, f);
    if (a == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      require(value >= 0 && std::size_t(value) + k.own_shared() <= shared_of_a_block);
      k.entry.dynamic_shared = std::size_t(value);
    } else {
      require(a == cudaFuncAttributePreferredSharedMemoryCarveout && value >= -1 && value <= 100);
    }
    return cudaSuccess;
  });
}
PTX_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, void const* f,
                                                                           int threads,
                                                                           std::size_t shared,
                                                                           unsigned flags) {
  return api([&](state& s) {
    require(n && threads > 0 && flags <= cudaOccupancyDisableCachingOverride);
    return *n = kernel_of(s, f).blocks_at_once(threads, shared), cudaSuccess;
  });
}
PTX_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void const* f,
                                                                  int threads, std::size_t shared) {
  return api([&](state& s) {
    require(n && threads > 0);
    return *n = kernel_of(s, f).blocks_at_once(threads, shared), cudaSuccess;
  });
}
