// SPDX-License-Identifier: Apache-2.0
// What is counted of a launch. Sectors have 32 bytes, lines 128; requests are those of warps.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace ptx::counts {

// clang-format off
/// Figures, each with what it means. All are sums; README.md says more.
#define PTX_FIGURES(X) \
  X(launches, "kernels that ran") \
  X(blocks, "blocks of threads") \
  X(threads, "threads") \
  X(warps, "warps") \
  X(warp_instructions, "PTX instructions, once for each warp that reaches one") \
  X(thread_instructions, "the same, once for each lane that takes part") \
  X(issue_slots, "an estimate of machine instructions of warps: weights.cpp") \
  X(load_requests, "loads of global memory") \
  X(load_sectors, "distinct sectors of each load") \
  X(load_ideal, "sectors that the distinct bytes of each load would fill") \
  X(load_lines, "distinct lines of each load") \
  X(load_bytes, "distinct bytes of each load") \
  X(load_misses, "sectors that the first cache lacks") \
  X(load_near, "loads that the first cache has as a whole") \
  X(load_cached, "loads that miss it, of sectors that the launch read before") \
  X(load_unique, "sectors that the launch reads, each once") \
  X(load_unique_bytes, "bytes that the launch reads, each once, in words of 4") \
  X(store_requests, "stores to global memory") \
  X(store_sectors, "distinct sectors of each store") \
  X(store_ideal, "sectors that the distinct bytes of each store would fill") \
  X(store_lines, "distinct lines of each store") \
  X(store_bytes, "distinct bytes of each store") \
  X(store_whole, "sectors that one store writes as a whole") \
  X(store_unique, "sectors that the launch writes, each once") \
  X(store_unique_bytes, "bytes that the launch writes, each once, in words of 4") \
  X(store_partial, "sectors of which the launch writes a part") \
  X(load_1, "loads of 1 byte a lane") \
  X(load_2, "loads of 2 bytes a lane") \
  X(load_4, "loads of 4 bytes a lane") \
  X(load_8, "loads of 8 bytes a lane") \
  X(load_16, "loads of 16 bytes a lane, bulk copies too") \
  X(store_1, "stores of 1 byte a lane") \
  X(store_2, "stores of 2 bytes a lane") \
  X(store_4, "stores of 4 bytes a lane") \
  X(store_8, "stores of 8 bytes a lane") \
  X(store_16, "stores of 16 bytes a lane") \
  X(atomic_requests, "atomics and reductions of global memory") \
  X(atomic_sectors, "distinct sectors of each of them") \
  X(shared_requests, "loads, stores and atomics of shared memory") \
  X(shared_wavefronts, "turns that they take: a bank gives a word of 4 bytes in one") \
  X(shared_ideal, "turns that they would take without conflicts") \
  X(branches, "branches that warps reach") \
  X(divergent, "branches of which lanes of a warp part") \
  X(waits, "times that a warp waits for loads of global memory") \
  X(wait_loads, "loads on their way at these times") \
  X(wait_bytes, "bytes on their way at these times, of all lanes") \
  X(shared_waits, "times that a warp waits for shared memory alone") \
  X(prefetches, "prefetches") \
  X(copies, "copies and fills that the host asks for") \
  X(copied_bytes, "bytes that they write") \
  X(library_work, "products and collectives of CUDA's other libraries") \
  X(library_bytes, "bytes that they touch") \
  X(multiplications, "multiplications and additions of products")

/// Kinds of instructions, counted for warps and for threads. `moved` is what ptxas mostly removes.
#define PTX_KINDS(X) \
  X(integer) X(fp32) X(fp64) X(sfu) X(convert) X(control) X(moved) X(load_global) X(store_global) \
  X(load_shared) X(store_shared) X(load_local) X(store_local) X(shuffle) X(barrier) X(atomic) X(other)
// clang-format on

enum class figure : std::uint8_t {
#define X(NAME, MEANS) NAME,
  PTX_FIGURES(X)
#undef X
      count
};
enum class kind : std::uint8_t {
#define X(NAME) NAME,
  PTX_KINDS(X)
#undef X
      count
};
inline constexpr std::size_t figure_count = std::size_t(figure::count),
                             kind_count = std::size_t(kind::count);
inline constexpr char const* figure_names[] = {
#define X(NAME, MEANS) #NAME,
    PTX_FIGURES(X)
#undef X
};
inline constexpr char const* kind_names[] = {
#define X(NAME) #NAME,
    PTX_KINDS(X)
#undef X
};

struct figures {
  std::array<std::uint64_t, figure_count> of{};
  std::array<std::uint64_t, kind_count> warps_of{}, threads_of{};
  std::uint64_t& operator[](figure f) { return of[std::size_t(f)]; }
  std::uint64_t operator[](figure f) const { return of[std::size_t(f)]; }
  figures& operator+=(figures const& other) {
    for (std::size_t k = 0; k < figure_count; ++k) of[k] += other.of[k];
    for (std::size_t k = 0; k < kind_count; ++k)
      warps_of[k] += other.warps_of[k], threads_of[k] += other.threads_of[k];
    return *this;
  }
  double ratio(figure over, figure under) const {
    return (*this)[under] ? double((*this)[over]) / double((*this)[under]) : 0;
  }
};

}  // namespace ptx::counts
