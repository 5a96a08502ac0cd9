// SPDX-License-Identifier: Apache-2.0
// Every function of the CUDA runtime that the machine stands in for: what it does, and the code that CUDA has for
// each misuse.
#include <cooperative_groups.h>
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "ask.hpp"
#include "on_card.hpp"

namespace {

__global__ void add_one(int* x, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) ++x[i];
}
__global__ void copy_one(int const* from, int* to) { *to = *from; }
/// each block adds up what all blocks wrote
__global__ void sum_of_all(int* of_blocks, int* sums) {
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  cooperative_groups::this_grid().sync();
  if (threadIdx.x != 0) return;
  int s = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) s += of_blocks[b];
  sums[blockIdx.x] = s;
}
__global__ void turn(int* x) {
  extern __shared__ int room[];
  room[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
__global__ void has_a_tile(float* x) {
  __shared__ float tile[1000];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[999 - threadIdx.x];
}
__global__ void reads_far(int const* from, int* to) { *to = *from; }
__device__ int numbers[8];
int not_a_symbol;

struct at_end_forget {
  ~at_end_forget() { ptx_forget(); }
};
/// the code, which is the last error, too
cudaError_t refused(cudaError_t e) {
  CHECK(cudaPeekAtLastError() == e);
  CHECK(cudaGetLastError() == e);
  CHECK(cudaGetLastError() == cudaSuccess);
  return e;
}
std::vector<int> counted(int n, int first = 0) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), first);
  return v;
}
struct stream_scope {
  cudaStream_t s = nullptr;
  explicit stream_scope(unsigned flags = cudaStreamNonBlocking) {
    REQUIRE(cudaStreamCreateWithFlags(&s, flags) == cudaSuccess);
  }
  stream_scope(stream_scope const&) = delete;
  ~stream_scope() { cudaStreamDestroy(s); }
};

}  // namespace

TEST_CASE("versions, cards and their attributes") {
  int v = 0, n = 0, d = -1;
  CHECK((cudaDriverGetVersion(&v) == cudaSuccess && v >= 13000));
  CHECK((cudaRuntimeGetVersion(&v) == cudaSuccess && v >= 13000));
  CHECK((cudaGetDeviceCount(&n) == cudaSuccess && n == 4));
  CHECK((cudaSetDevice(3) == cudaSuccess && cudaGetDevice(&d) == cudaSuccess && d == 3));
  std::thread([] {  // of each thread
    int mine = -1;
    CHECK((cudaGetDevice(&mine) == cudaSuccess && mine == 0));
  })
      .join();
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK(refused(cudaDriverGetVersion(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaRuntimeGetVersion(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaGetDeviceCount(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaGetDevice(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaSetDevice(4)) == cudaErrorInvalidDevice);
  CHECK(refused(cudaSetDevice(-1)) == cudaErrorInvalidDevice);
  cudaDeviceProp p;
  REQUIRE(cudaGetDeviceProperties(&p, 2) == cudaSuccess);
  CHECK((p.warpSize == 32 && p.uuid.bytes[15] == 2 && p.pciDeviceID == 3));
  CHECK(refused(cudaGetDeviceProperties(&p, 4)) == cudaErrorInvalidDevice);
  CHECK(refused(cudaGetDeviceProperties(nullptr, 0)) == cudaErrorInvalidValue);
  struct row {
    cudaDeviceAttr a;
    int value;
  };
  for (row const& r :
       {row{cudaDevAttrWarpSize, p.warpSize},
        {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
        {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
        {cudaDevAttrMaxSharedMemoryPerBlock, int(p.sharedMemPerBlock)},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, int(p.sharedMemPerBlockOptin)},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, int(p.sharedMemPerMultiprocessor)},
        {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
        {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
        {cudaDevAttrComputeCapabilityMajor, p.major},
        {cudaDevAttrComputeCapabilityMinor, p.minor},
        {cudaDevAttrL2CacheSize, p.l2CacheSize},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrIntegrated, 0}}) {
    CAPTURE(r.a);
    int found = -1;
    CHECK((cudaDeviceGetAttribute(&found, r.a, 1) == cudaSuccess && found == r.value));
  }
  CHECK(refused(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 9)) == cudaErrorInvalidDevice);
  CHECK(refused(cudaDeviceGetAttribute(&v, cudaDeviceAttr(0), 0)) == cudaErrorInvalidValue);
  CHECK(refused(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0)) == cudaErrorInvalidValue);
  CHECK(std::strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
  CHECK(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  CHECK(std::strcmp(cudaGetErrorString(cudaError_t(12345)), "unrecognized error code") == 0);
}
TEST_CASE("peers: a kernel reaches what its card may reach") {
  int can = -1;
  CHECK((cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess && can == 1));
  CHECK((cudaDeviceCanAccessPeer(&can, 1, 1) == cudaSuccess && can == 0));
  CHECK(refused(cudaDeviceCanAccessPeer(&can, 0, 4)) == cudaErrorInvalidDevice);
  CHECK(refused(cudaDeviceCanAccessPeer(nullptr, 0, 1)) == cudaErrorInvalidValue);
  CHECK(refused(cudaDeviceEnablePeerAccess(0, 0)) == cudaErrorInvalidDevice);  // itself
  CHECK(refused(cudaDeviceEnablePeerAccess(1, 1)) == cudaErrorInvalidValue);
  CHECK(refused(cudaDeviceDisablePeerAccess(1)) == cudaErrorPeerAccessNotEnabled);
  on_card<int> here(1);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  on_card<int> there(1);
  at_end_forget const forget;
  int const seven = 7;
  REQUIRE(cudaMemcpy(there.p, &seven, sizeof seven, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
  CHECK(refused(cudaDeviceEnablePeerAccess(1, 0)) == cudaErrorPeerAccessAlreadyEnabled);
  reads_far<<<1, 1>>>(there.p, here.p);
  CHECK(values(here.p, 1)[0] == 7);
  REQUIRE(cudaMemset(here.p, 0, sizeof(int)) == cudaSuccess);
  REQUIRE(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
  REQUIRE(cudaMemcpyPeer(here.p, 0, there.p, 1, sizeof(int)) == cudaSuccess);  // copies need none
  CHECK(values(here.p, 1)[0] == 7);
  CHECK(refused(cudaMemcpyPeer(here.p, 0, there.p, 4, 4)) == cudaErrorInvalidDevice);
  CHECK(refused(cudaMemcpyPeerAsync(here.p, -1, there.p, 1, 4, nullptr)) == cudaErrorInvalidDevice);
  reads_far<<<1, 1>>>(there.p, here.p);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
TEST_CASE("memory of cards: how much there is, whose it is, what is no memory") {
  std::size_t before = 0, now = 0, total = 0, on_another = 0;
  REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);
  {
    on_card<char> const r(1000);
    REQUIRE(cudaMemGetInfo(&now, &total) == cudaSuccess);
    CHECK(before - now >= 1000);
    REQUIRE(cudaSetDevice(1) == cudaSuccess);
    REQUIRE(cudaMemGetInfo(&on_another, &total) == cudaSuccess);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    CHECK(on_another == total);
    cudaPointerAttributes a;
    REQUIRE(cudaPointerGetAttributes(&a, r.p + 999) == cudaSuccess);
    CHECK((a.type == cudaMemoryTypeDevice && a.device == 0));
  }
  REQUIRE(cudaMemGetInfo(&now, &total) == cudaSuccess);
  CHECK(now == before);
  CHECK(refused(cudaMemGetInfo(nullptr, &total)) == cudaErrorInvalidValue);
  void* p = &now;
  CHECK((cudaMalloc(&p, 0) == cudaSuccess && p == nullptr));
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(refused(cudaMalloc(&p, std::size_t(1) << 62)) == cudaErrorMemoryAllocation);
  CHECK(refused(cudaMalloc(static_cast<void**>(nullptr), 4)) == cudaErrorInvalidValue);
  REQUIRE(cudaMalloc(&p, 64) == cudaSuccess);
  CHECK(refused(cudaFree(static_cast<char*>(p) + 4)) == cudaErrorInvalidValue);
  CHECK(refused(cudaFreeHost(p)) == cudaErrorInvalidValue);
  CHECK(cudaFree(p) == cudaSuccess);
  CHECK(refused(cudaFree(p)) == cudaErrorInvalidValue);
  CHECK(refused(cudaFree(&now)) == cudaErrorInvalidValue);
  cudaPointerAttributes a;
  REQUIRE(cudaPointerGetAttributes(&a, &now) == cudaSuccess);
  CHECK(a.type == cudaMemoryTypeUnregistered);
  CHECK(refused(cudaPointerGetAttributes(&a, nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaPointerGetAttributes(nullptr, &now)) == cudaErrorInvalidValue);
}
TEST_CASE("memory in the order of a stream") {
  stream_scope const s;
  int* p = nullptr;
  REQUIRE(cudaMallocAsync(&p, 16 * sizeof(int), s.s) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(p, 0, 16 * sizeof(int), s.s) == cudaSuccess);
  add_one<<<1, 32, 0, s.s>>>(p, 16);
  int back[16];
  REQUIRE(cudaMemcpyAsync(back, p, sizeof back, cudaMemcpyDeviceToHost, s.s) == cudaSuccess);
  REQUIRE(cudaFreeAsync(p, s.s) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(s.s) == cudaSuccess);
  CHECK((back[0] == 1 && back[15] == 1));
  CHECK(refused(cudaFreeAsync(p, s.s)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMallocAsync(&p, 4, reinterpret_cast<cudaStream_t>(&back))) ==
        cudaErrorInvalidResourceHandle);
}
TEST_CASE("memory of the host: pinned, managed, registered") {
  int *pinned = nullptr, *managed = nullptr, *other = nullptr;
  REQUIRE(cudaHostAlloc(&pinned, 64 * sizeof(int), cudaHostAllocPortable) == cudaSuccess);
  REQUIRE(cudaMallocHost(&other, 4) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&managed, 64 * sizeof(int)) == cudaSuccess);
  std::vector<int> mine(64);
  REQUIRE(cudaHostRegister(mine.data(), 64 * sizeof(int), cudaHostRegisterDefault) == cudaSuccess);
  cudaPointerAttributes a;
  for (int* const p : {pinned, mine.data(), managed}) {
    for (int i = 0; i < 64; ++i) p[i] = i;
    int* on_card = nullptr;
    if (p != managed) REQUIRE(cudaHostGetDevicePointer(&on_card, p, 0) == cudaSuccess);
    add_one<<<2, 32>>>(p == managed ? p : on_card, 64);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK((p[0] == 1 && p[63] == 64));
    REQUIRE(cudaPointerGetAttributes(&a, p + 63) == cudaSuccess);
    CHECK(a.type == (p == managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost));
  }
  CHECK(refused(cudaHostRegister(&mine[10], 4, 0)) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(refused(cudaHostRegister(nullptr, 4, 0)) == cudaErrorInvalidValue);
  CHECK(refused(cudaHostUnregister(pinned)) == cudaErrorHostMemoryNotRegistered);
  CHECK(refused(cudaFreeHost(mine.data())) == cudaErrorInvalidValue);
  CHECK(refused(cudaFreeHost(managed)) == cudaErrorInvalidValue);
  CHECK(refused(cudaFree(pinned)) == cudaErrorInvalidValue);
  CHECK(cudaHostUnregister(mine.data()) == cudaSuccess);
  CHECK(refused(cudaHostUnregister(mine.data())) == cudaErrorHostMemoryNotRegistered);
  int* unused = nullptr;
  CHECK(refused(cudaHostGetDevicePointer(&unused, mine.data(), 0)) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFreeHost(other) == cudaSuccess);
  CHECK(refused(cudaFreeHost(pinned)) == cudaErrorInvalidValue);
  CHECK(cudaFree(managed) == cudaSuccess);
  CHECK(refused(cudaFree(managed)) == cudaErrorInvalidValue);
  CHECK(refused(cudaHostAlloc(&pinned, 4, 0x100)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMallocManaged(&managed, 0)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMallocManaged(&managed, 4, 7)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMallocHost(&pinned, std::size_t(1) << 60)) == cudaErrorMemoryAllocation);
}
TEST_CASE("copies and fills, of rows as well") {
  std::vector<int> const source = counted(64);
  on_card<int> r(64);
  REQUIRE(cudaMemcpy(r.p, source.data(), 256, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(values(r.p, 64) == source);
  CHECK(refused(cudaMemcpy(r.p, source.data(), 256, cudaMemcpyDeviceToHost)) ==
        cudaErrorInvalidValue);
  CHECK(refused(cudaMemcpy(r.p, source.data(), 256, cudaMemcpyKind(9))) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(refused(cudaMemcpy(r.p + 1, source.data(), 256, cudaMemcpyDefault)) ==
        cudaErrorInvalidValue);
  CHECK(refused(cudaMemcpy(nullptr, source.data(), 4, cudaMemcpyDefault)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMemset(r.p, 0, 257)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMemset(nullptr, 0, 1)) == cudaErrorInvalidValue);
  REQUIRE(cudaMemset(r.p + 1, 0xff, 8) == cudaSuccess);
  CHECK(values(r.p, 4) == std::vector<int>{0, -1, -1, 3});
  // rows of 3 ints of 5 out of a pitch
  int* rows = nullptr;
  std::size_t pitch = 0;
  REQUIRE(cudaMallocPitch(&rows, &pitch, 5 * sizeof(int), 4) == cudaSuccess);
  CHECK((pitch >= 20 && pitch % 256 == 0));
  REQUIRE(cudaMemset2D(rows, pitch, 0, 20, 4) == cudaSuccess);
  REQUIRE(cudaMemcpy2D(rows + 1, pitch, source.data(), 16, 12, 4, cudaMemcpyHostToDevice) ==
          cudaSuccess);
  std::vector<int> back(20);
  REQUIRE(cudaMemcpy2D(back.data(), 20, rows, pitch, 20, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(back == std::vector<int>{0, 0, 1, 2, 0, 0, 4, 5, 6, 0, 0, 8, 9, 10, 0, 0, 12, 13, 14, 0});
  stream_scope const s;
  REQUIRE(cudaMemset2DAsync(rows, pitch, 0xff, 4, 4, s.s) == cudaSuccess);
  REQUIRE(cudaMemcpy2DAsync(back.data(), 20, rows, pitch, 20, 4, cudaMemcpyDefault, s.s) ==
          cudaSuccess);
  REQUIRE(cudaStreamSynchronize(s.s) == cudaSuccess);
  CHECK((back[0] == -1 && back[15] == -1 && back[16] == 12));
  CHECK(refused(cudaMemcpy2D(back.data(), 8, rows, pitch, 20, 4, cudaMemcpyDefault)) ==
        cudaErrorInvalidPitchValue);
  CHECK(refused(cudaMemcpy2DAsync(back.data(), 20, rows, 8, 20, 4, cudaMemcpyDefault, s.s)) ==
        cudaErrorInvalidPitchValue);
  CHECK(refused(cudaMemset2D(rows, 8, 0, 20, 4)) == cudaErrorInvalidPitchValue);
  CHECK(refused(cudaMemset2D(rows, pitch, 0, 20, 5)) == cudaErrorInvalidValue);
  CHECK(cudaFree(rows) == cudaSuccess);
}
TEST_CASE("boxes of three dimensions") {
  int const wide = 5, high = 3, deep = 4;
  std::vector<int> const source = counted(wide * high * deep);
  cudaExtent const all = make_cudaExtent(wide * sizeof(int), high, deep);
  cudaPitchedPtr box;
  REQUIRE(cudaMalloc3D(&box, all) == cudaSuccess);
  CHECK((box.pitch >= all.width && box.xsize == all.width && box.ysize == high));
  REQUIRE(cudaMemset3D(box, 0, all) == cudaSuccess);
  cudaPitchedPtr const from =
      make_cudaPitchedPtr(const_cast<int*>(source.data()), all.width, all.width, high);
  cudaMemcpy3DParms p{};  // two columns, two rows and three slices, one further in each direction
  p.srcPtr = from, p.dstPtr = box, p.kind = cudaMemcpyHostToDevice;
  p.srcPos = p.dstPos = make_cudaPos(sizeof(int), 1, 1);
  p.extent = make_cudaExtent(2 * sizeof(int), 2, 3);
  REQUIRE(cudaMemcpy3D(&p) == cudaSuccess);
  std::vector<int> back(source.size(), -1), right(source.size());
  for (int z = 1; z < 4; ++z)
    for (int y = 1; y < 3; ++y)
      for (int x = 1; x < 3; ++x) {
        auto const k = static_cast<std::size_t>((z * high + y) * wide + x);
        right[k] = source[k];
      }
  cudaMemcpy3DParms home{};
  home.srcPtr = box, home.dstPtr = make_cudaPitchedPtr(back.data(), all.width, all.width, high);
  home.extent = all, home.kind = cudaMemcpyDeviceToHost;
  stream_scope const s;
  REQUIRE(cudaMemcpy3DAsync(&home, s.s) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(s.s) == cudaSuccess);
  CHECK(back == right);
  REQUIRE(cudaMemset3DAsync(box, 0xff, make_cudaExtent(4, 1, deep), s.s) == cudaSuccess);
  REQUIRE(cudaMemcpy3DAsync(&home, s.s) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(s.s) == cudaSuccess);
  CHECK((back[0] == -1 && back[1] == 0 && back[wide * high] == -1 && back[wide] == 0));
  p.extent.width = 512;
  CHECK(refused(cudaMemcpy3D(&p)) == cudaErrorInvalidPitchValue);
  CHECK(refused(cudaMemcpy3D(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMemset3D(box, 0, make_cudaExtent(4, high + 1, deep))) ==
        cudaErrorInvalidPitchValue);
  CHECK(refused(cudaMalloc3D(nullptr, all)) == cudaErrorInvalidValue);
  CHECK(cudaFree(box.ptr) == cudaSuccess);
}
TEST_CASE("variables of device code") {
  std::vector<int> const source = counted(8, 5);
  std::vector<int> back(8);
  void* p = nullptr;
  std::size_t n = 0;
  CHECK((cudaGetSymbolSize(&n, numbers) == cudaSuccess && n == sizeof numbers));
  REQUIRE(cudaGetSymbolAddress(&p, numbers) == cudaSuccess);
  REQUIRE(cudaMemcpyToSymbol(numbers, source.data(), 32) == cudaSuccess);
  add_one<<<1, 32>>>(static_cast<int*>(p), 8);
  REQUIRE(cudaMemcpyFromSymbol(back.data(), numbers, 16, 8) == cudaSuccess);
  CHECK((back[0] == 8 && back[3] == 11));
  CHECK(refused(cudaMemcpyToSymbol(numbers, source.data(), 32, 4)) == cudaErrorInvalidValue);
  CHECK(refused(cudaMemcpyFromSymbol(back.data(), numbers, 36)) == cudaErrorInvalidValue);
  CHECK(refused(cudaGetSymbolAddress(&p, not_a_symbol)) == cudaErrorInvalidSymbol);
  CHECK(refused(cudaGetSymbolSize(&n, not_a_symbol)) == cudaErrorInvalidSymbol);
}
TEST_CASE("launches: sizes, shared memory, streams of other cards") {
  on_card<int> r(1024);
  std::vector<int> const source = counted(1024);
  REQUIRE(cudaMemcpy(r.p, source.data(), 4096, cudaMemcpyDefault) == cudaSuccess);
  int n = 1024;
  void* arguments[] = {&r.p, &n};
  auto const start = [&](dim3 blocks, dim3 threads, cudaStream_t on = nullptr) {
    return cudaLaunchKernel(reinterpret_cast<void const*>(add_one), blocks, threads, arguments, 0,
                            on);
  };
  CHECK(start(8, 128) == cudaSuccess);
  CHECK(values(r.p, 1024) == counted(1024, 1));
  CHECK(refused(start(0, 128)) == cudaErrorInvalidConfiguration);
  CHECK(refused(start(1, 1025)) == cudaErrorInvalidConfiguration);
  CHECK(refused(start(1, dim3(1, 1, 65))) == cudaErrorInvalidConfiguration);
  CHECK(refused(start(dim3(1, 65536), 1)) == cudaErrorInvalidConfiguration);
  CHECK(refused(cudaLaunchKernel(&not_a_symbol, 1, 1, arguments, 0, nullptr)) ==
        cudaErrorInvalidDeviceFunction);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  cudaStream_t of_one = nullptr;
  REQUIRE(cudaStreamCreate(&of_one) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK(refused(start(1, 1, of_one)) == cudaErrorInvalidResourceHandle);
  int d = -1;
  CHECK((cudaStreamGetDevice(of_one, &d) == cudaSuccess && d == 1));
  CHECK(cudaStreamDestroy(of_one) == cudaSuccess);
  CHECK(refused(start(1, 1, of_one)) == cudaErrorInvalidResourceHandle);
  // dynamic shared memory: 48 KiB without asking, what the kernel's own leaves of 227 KiB with it
  turn<<<1, 1024, 4096>>>(r.p);
  CHECK(values(r.p, 2) == std::vector<int>{1024, 1023});
  turn<<<1, 1024, 49156>>>(r.p);
  CHECK(refused(cudaPeekAtLastError()) == cudaErrorInvalidValue);
  REQUIRE(cudaFuncSetAttribute(turn, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000) ==
          cudaSuccess);
  turn<<<1, 1024, 100000>>>(r.p);
  CHECK(values(r.p, 2) == std::vector<int>{1, 2});
  CHECK(refused(cudaFuncSetAttribute(turn, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449)) ==
        cudaErrorInvalidValue);
  CHECK(refused(cudaFuncSetAttribute(turn, cudaFuncAttribute(77), 1)) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(turn, cudaFuncAttributePreferredSharedMemoryCarveout, 50) ==
        cudaSuccess);
  cudaFuncAttributes a;
  REQUIRE(cudaFuncGetAttributes(&a, turn) == cudaSuccess);
  CHECK((a.maxDynamicSharedSizeBytes == 100000 && a.sharedSizeBytes == 0));
  REQUIRE(cudaFuncGetAttributes(&a, has_a_tile) == cudaSuccess);
  CHECK((a.maxThreadsPerBlock == 1024 && a.sharedSizeBytes == 4000 && a.ptxVersion >= 75));
  CHECK(a.maxDynamicSharedSizeBytes == 49152 - 4000);
  CHECK(refused(cudaFuncGetAttributes(&a, reinterpret_cast<void const*>(&not_a_symbol))) ==
        cudaErrorInvalidDeviceFunction);
  // with a configuration as data
  cudaLaunchConfig_t c{};
  c.gridDim = 8, c.blockDim = 128;
  CHECK(cudaLaunchKernelExC(&c, reinterpret_cast<void const*>(add_one), arguments) == cudaSuccess);
  CHECK(values(r.p, 1)[0] == 2);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 2, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  c.attrs = &cluster, c.numAttrs = 1;
  CHECK(refused(cudaLaunchKernelExC(&c, reinterpret_cast<void const*>(add_one), arguments)) ==
        cudaErrorNotSupported);
  CHECK(refused(cudaLaunchKernelExC(nullptr, reinterpret_cast<void const*>(add_one), arguments)) ==
        cudaErrorInvalidValue);
}
TEST_CASE("occupancy, and launches whose blocks wait for each other") {
  int n = 0;
  auto const blocks = [&](void const* f, int threads, std::size_t shared) {
    REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, threads, shared) == cudaSuccess);
    int again = -1;
    REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                &again, f, threads, shared, cudaOccupancyDefault) == cudaSuccess);
    CHECK(n == again);
    return n;
  };
  auto const* const f = reinterpret_cast<void const*>(sum_of_all);
  CHECK(blocks(f, 1024, 0) == 2);
  CHECK(blocks(f, 256, 0) == 8);
  CHECK(blocks(f, 33, 0) == 32);
  CHECK(blocks(f, 256, 100000) == 2);
  CHECK(refused(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 0, 0)) ==
        cudaErrorInvalidValue);
  CHECK(refused(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, &not_a_symbol, 1, 0)) ==
        cudaErrorInvalidDeviceFunction);
  CHECK(refused(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, f, 1, 0, 9)) ==
        cudaErrorInvalidValue);
  int processors = 0;
  REQUIRE(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  unsigned const most = static_cast<unsigned>(processors) * 8;
  on_card<int> parts(most), sums(most);
  void* arguments[] = {&parts.p, &sums.p};
  REQUIRE(cudaLaunchCooperativeKernel(f, most, 256, arguments, 0, nullptr) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  int const right = static_cast<int>(most * (most + 1) / 2);
  CHECK(values(sums.p, most) == std::vector<int>(most, right));
  CHECK(refused(cudaLaunchCooperativeKernel(f, most + 1, 256, arguments, 0, nullptr)) ==
        cudaErrorCooperativeLaunchTooLarge);
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative, together.val.cooperative = 1;
  cudaLaunchConfig_t c{};
  c.gridDim = most + 1, c.blockDim = 256, c.attrs = &together, c.numAttrs = 1;
  CHECK(refused(cudaLaunchKernelExC(&c, f, arguments)) == cudaErrorCooperativeLaunchTooLarge);
}
TEST_CASE("streams and events: order, questions, times, handles that are none") {
  stream_scope const one, two;
  on_card<int> r(1);
  REQUIRE(cudaMemset(r.p, 0, sizeof(int)) == cudaSuccess);
  cudaEvent_t begin, middle, end, untimed;
  REQUIRE(cudaEventCreate(&begin) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&middle, cudaEventDefault) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&end, cudaEventBlockingSync) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  float ms = -1;
  CHECK(refused(cudaEventElapsedTime(&ms, begin, end)) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(begin) == cudaSuccess);  // never recorded: nothing to wait for
  REQUIRE(cudaEventRecord(begin, one.s) == cudaSuccess);
  for (int i = 0; i < 50; ++i) add_one<<<1, 1, 0, one.s>>>(r.p, 1);
  REQUIRE(cudaEventRecord(middle, one.s) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(two.s, middle, 0) == cudaSuccess);
  add_one<<<1, 1, 0, two.s>>>(r.p, 1);
  REQUIRE(cudaEventRecord(end, two.s) == cudaSuccess);
  int asked = 0;
  while (cudaEventQuery(end) == cudaErrorNotReady) ++asked;  // late streams are on their way
  CHECK(cudaGetLastError() == cudaSuccess);                  // that is no error
  CHECK(cudaEventQuery(end) == cudaSuccess);
  CHECK(cudaStreamQuery(two.s) == cudaSuccess);
  CHECK(values(r.p, 1)[0] == 51);
  float first = -1;
  REQUIRE(cudaEventElapsedTime(&first, begin, middle) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&ms, begin, end) == cudaSuccess);
  CHECK((first > 0 && ms > first));
  REQUIRE(cudaEventRecord(untimed, one.s) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(untimed) == cudaSuccess);
  CHECK(refused(cudaEventElapsedTime(&ms, begin, untimed)) == cudaErrorInvalidResourceHandle);
  CHECK(refused(cudaEventElapsedTime(nullptr, begin, end)) == cudaErrorInvalidValue);
  add_one<<<1, 1, 0, one.s>>>(r.p, 1);
  while (cudaStreamQuery(one.s) == cudaErrorNotReady) ++asked;
  CHECK(values(r.p, 1)[0] == 52);
  CHECK((asked > 0) == (std::getenv("PTX_LATE") != nullptr));
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusActive;
  CHECK((cudaStreamIsCapturing(one.s, &capturing) == cudaSuccess &&
         capturing == cudaStreamCaptureStatusNone));
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  cudaEvent_t of_one = nullptr;
  REQUIRE(cudaEventCreate(&of_one) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK(refused(cudaEventRecord(of_one, one.s)) == cudaErrorInvalidResourceHandle);
  cudaStream_t s = nullptr;
  CHECK(refused(cudaStreamCreateWithFlags(&s, 8)) == cudaErrorInvalidValue);
  CHECK(refused(cudaStreamCreateWithPriority(nullptr, 0, 0)) == cudaErrorInvalidValue);
  CHECK(refused(cudaStreamCreate(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaEventCreate(static_cast<cudaEvent_t*>(nullptr))) == cudaErrorInvalidValue);
  CHECK(refused(cudaEventCreateWithFlags(&untimed, 64)) == cudaErrorInvalidValue);
  CHECK(refused(cudaStreamIsCapturing(one.s, nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaStreamGetDevice(one.s, nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaStreamWaitEvent(one.s, end, 9)) == cudaErrorInvalidValue);
  for (cudaEvent_t const e : {begin, middle, end, untimed, of_one})
    CHECK(cudaEventDestroy(e) == cudaSuccess);
  CHECK(refused(cudaEventDestroy(end)) == cudaErrorInvalidResourceHandle);
  CHECK(refused(cudaEventRecord(end, one.s)) == cudaErrorInvalidResourceHandle);
  CHECK(refused(cudaEventQuery(end)) == cudaErrorInvalidResourceHandle);
  CHECK(refused(cudaEventSynchronize(end)) == cudaErrorInvalidResourceHandle);
  CHECK(refused(cudaStreamWaitEvent(one.s, end, 0)) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -1) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(s) == cudaSuccess);
  for (cudaError_t const e :
       {cudaStreamDestroy(s), cudaStreamSynchronize(s), cudaStreamQuery(s),
        cudaMemsetAsync(r.p, 0, 4, s), cudaMemcpyAsync(r.p, r.p, 4, cudaMemcpyDefault, s),
        cudaEventRecord(nullptr, s), cudaFreeAsync(r.p, s)})
    CHECK(e == cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();
}
TEST_CASE("memory that is given back while a late stream still needs it") {
  if (!std::getenv("PTX_LATE")) return;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  int* there = nullptr;
  REQUIRE(cudaMalloc(&there, 4) == cudaSuccess);
  REQUIRE(cudaMemset(there, 0, 4) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  on_card<int> here(1);
  stream_scope const s;
  at_end_forget const forget;
  REQUIRE(cudaMemcpyPeerAsync(here.p, 0, there, 1, 4, s.s) == cudaSuccess);
  REQUIRE(cudaFree(there) == cudaSuccess);  // waits for card 1 alone
  CHECK(cudaStreamSynchronize(s.s) == cudaErrorIllegalAddress);
}
TEST_CASE("graphs: what a stream was given while it was captured runs with each launch") {
  stream_scope const one, two;
  on_card<int> x(1), y(1), sum(1);
  for (int* p : {x.p, y.p, sum.p}) REQUIRE(cudaMemset(p, 0, sizeof(int)) == cudaSuccess);
  cudaEvent_t parted, joined;
  for (cudaEvent_t* e : {&parted, &joined})
    REQUIRE(cudaEventCreateWithFlags(e, cudaEventDisableTiming) == cudaSuccess);
  // x and y grow on streams of their own, and the sum comes after both
  auto const work = [&](bool waits = true) {
    add_one<<<1, 1, 0, one.s>>>(x.p, 1);
    REQUIRE(cudaEventRecord(parted, one.s) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(two.s, parted, 0) == cudaSuccess);
    copy_one<<<1, 1, 0, two.s>>>(x.p, y.p);
    REQUIRE(cudaEventRecord(joined, two.s) == cudaSuccess);
    if (waits) REQUIRE(cudaStreamWaitEvent(one.s, joined, 0) == cudaSuccess);
    copy_one<<<1, 1, 0, one.s>>>(y.p, sum.p);
  };
  REQUIRE(cudaStreamBeginCapture(one.s, cudaStreamCaptureModeGlobal) == cudaSuccess);
  work();
  cudaStreamCaptureStatus status{};
  for (stream_scope const* each : {&one, &two})
    CHECK((cudaStreamIsCapturing(each->s, &status) == cudaSuccess &&
           status == cudaStreamCaptureStatusActive));
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(one.s, &graph) == cudaSuccess);
  CHECK((cudaStreamIsCapturing(two.s, &status) == cudaSuccess &&
         status == cudaStreamCaptureStatusNone));
  CHECK(values(x.p, 1)[0] == 0);  // nothing ran
  std::size_t n = 0;
  CHECK((cudaGraphGetNodes(graph, nullptr, &n) == cudaSuccess && n == 3));
  cudaGraphExec_t ready = nullptr;
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(ready, two.s) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(two.s) == cudaSuccess);
  CHECK((values(x.p, 1)[0] == 3 && values(y.p, 1)[0] == 3 && values(sum.p, 1)[0] == 3));
  REQUIRE(cudaGraphExecDestroy(ready) == cudaSuccess);

  // what no capture allows ends it
  auto const ends = [&](auto&& call, cudaError_t code, auto mode) {
    REQUIRE(cudaStreamBeginCapture(one.s, mode) == cudaSuccess);
    add_one<<<1, 1, 0, one.s>>>(x.p, 1);
    CHECK(refused(call()) == code);
    cudaGraph_t none = graph;
    CHECK(refused(cudaStreamEndCapture(one.s, &none)) == cudaErrorStreamCaptureInvalidated);
    CHECK(none == nullptr);
  };
  auto const global = cudaStreamCaptureModeGlobal;
  ends([&] { return cudaStreamSynchronize(one.s); }, cudaErrorStreamCaptureUnsupported, global);
  ends([&] { return cudaStreamQuery(one.s); }, cudaErrorStreamCaptureUnsupported, global);
  ends([] { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported, global);
  void* room = nullptr;
  ends([&] { return cudaMalloc(&room, 4); }, cudaErrorStreamCaptureUnsupported, global);
  ends([&] { return cudaFree(y.p); }, cudaErrorStreamCaptureUnsupported, global);
  ends([&] { return cudaMallocHost(&room, 4); }, cudaErrorStreamCaptureUnsupported, global);
  ends([&] { return cudaMallocAsync(&room, 4, one.s); }, cudaErrorStreamCaptureUnsupported, global);
  for (auto const ask : {cudaEventQuery, cudaEventSynchronize})
    ends(
        [&] {
          REQUIRE(cudaEventRecord(parted, one.s) == cudaSuccess);
          return ask(parted);
        },
        cudaErrorCapturedEvent, global);
  ends(
      [&] {
        REQUIRE(cudaEventRecord(joined, two.s) == cudaSuccess);
        return cudaStreamWaitEvent(one.s, joined, 0);
      },
      cudaErrorStreamCaptureIsolation, global);
  // memory is another matter where the program says so
  REQUIRE(cudaStreamBeginCapture(one.s, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK((cudaMalloc(&room, 4) == cudaSuccess && cudaFree(room) == cudaSuccess));
  CHECK(refused(cudaStreamBeginCapture(one.s, global)) == cudaErrorIllegalState);
  REQUIRE(cudaStreamEndCapture(one.s, &graph) == cudaSuccess);
  CHECK((cudaGraphGetNodes(graph, nullptr, &n) == cudaSuccess && n == 0));
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  // a stream that never comes back, an end elsewhere, the null stream
  REQUIRE(cudaStreamBeginCapture(one.s, global) == cudaSuccess);
  work(false);
  CHECK(refused(cudaStreamEndCapture(two.s, &graph)) == cudaErrorStreamCaptureUnmatched);
  CHECK(refused(cudaStreamEndCapture(one.s, &graph)) == cudaErrorStreamCaptureUnjoined);
  CHECK(refused(cudaStreamEndCapture(one.s, &graph)) == cudaErrorIllegalState);
  // no default stream begins a capture or joins one, and each works as before
  for (cudaStream_t const own : {cudaStream_t(nullptr), cudaStreamLegacy, cudaStreamPerThread}) {
    CHECK(refused(cudaStreamBeginCapture(own, global)) == cudaErrorStreamCaptureUnsupported);
    ends(
        [&] {
          REQUIRE(cudaEventRecord(joined, one.s) == cudaSuccess);
          return cudaStreamWaitEvent(own, joined, 0);
        },
        cudaErrorStreamCaptureImplicit, global);
    CHECK((cudaStreamIsCapturing(own, &status) == cudaSuccess &&
           status == cudaStreamCaptureStatusNone));
    add_one<<<1, 1, 0, own>>>(x.p, 1);
    CHECK(cudaStreamSynchronize(own) == cudaSuccess);
  }
  CHECK(values(x.p, 1)[0] == 6);
  REQUIRE(cudaStreamBeginCapture(one.s, global) == cudaSuccess);
  std::thread([&] {
    CHECK(refused(cudaStreamEndCapture(one.s, &graph)) == cudaErrorStreamCaptureWrongThread);
  }).join();
  CHECK(cudaStreamIsCapturing(nullptr, &status) == cudaSuccess);  // one does not wait for it
  REQUIRE(cudaStreamEndCapture(one.s, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  stream_scope const blocking(cudaStreamDefault);
  REQUIRE(cudaStreamBeginCapture(blocking.s, global) == cudaSuccess);
  for (cudaStream_t const own : {cudaStream_t(nullptr), cudaStreamLegacy, cudaStreamPerThread})
    CHECK(refused(cudaStreamIsCapturing(own, &status)) == cudaErrorStreamCaptureImplicit);
  CHECK((cudaStreamIsCapturing(blocking.s, &status) == cudaSuccess &&
         status == cudaStreamCaptureStatusActive));  // it only asked
  CHECK(refused(cudaMemset(x.p, 0, 4)) == cudaErrorStreamCaptureImplicit);
  CHECK(refused(cudaStreamEndCapture(blocking.s, &graph)) == cudaErrorStreamCaptureInvalidated);
  CHECK(refused(cudaGraphDestroy(nullptr)) == cudaErrorInvalidValue);
  CHECK(refused(cudaGraphLaunch(nullptr, one.s)) == cudaErrorInvalidValue);
  for (cudaEvent_t e : {parted, joined}) CHECK(cudaEventDestroy(e) == cudaSuccess);
}
TEST_CASE("errors: some go, that of a kernel stays until the card is reset") {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, std::size_t(1) << 62) == cudaErrorMemoryAllocation);
  CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&p, 4) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);  // a later success does not hide it
  std::thread([] { CHECK(cudaGetLastError() == cudaSuccess); }).join();
  REQUIRE(cudaSetDevice(2) == cudaSuccess);
  int* mine = nullptr;
  REQUIRE(cudaMalloc(&mine, 4) == cudaSuccess);
  add_one<<<1, 32>>>(mine, 32);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  for (int twice = 0; twice < 2; ++twice) {
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaMemcpy(mine, &mine, 4, cudaMemcpyDefault) == cudaErrorIllegalAddress);
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
  }
  int d = -1;
  CHECK((cudaGetDevice(&d) == cudaSuccess && d == 2));
  CHECK(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
  std::size_t free = 0, total = 0;
  CHECK((cudaMemGetInfo(&free, &total) == cudaSuccess && free == total));
  CHECK(refused(cudaFree(mine)) == cudaErrorInvalidValue);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK(cudaFree(p) == cudaSuccess);
}
TEST_CASE("calls that fail on purpose: the n-th of a function, once") {
  at_end_forget const forget;
  void* p = nullptr;
  ptx_fail("cudaMalloc", 2, cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&p, 4) == cudaSuccess);
  CHECK(cudaFree(p) == cudaSuccess);
  CHECK(refused(cudaMalloc(&p, 4)) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&p, 4) == cudaSuccess);
  std::int64_t const before = ptx_calls("cudaFree");
  ptx_fail("cudaFree", 1, cudaErrorUnknown);
  CHECK(refused(cudaFree(p)) == cudaErrorUnknown);
  CHECK(cudaFree(p) == cudaSuccess);  // it was not given back before
  CHECK(ptx_calls("cudaFree") == before + 2);
  ptx_fail("cudaGetDevice", 1, cudaErrorNoDevice);
  ptx_fail(nullptr, 0, 0);  // nothing is planned any more
  int d = 0;
  CHECK(cudaGetDevice(&d) == cudaSuccess);
  ptx_fail("cudaLaunchKernel", 1, cudaErrorLaunchFailure);
  reads_far<<<1, 1>>>(nullptr, nullptr);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);  // as after a kernel
}
