// SPDX-License-Identifier: Apache-2.0
// Copies within the host's memory: large ones on all threads, cut as element-wise loops are cut, so
// that each core copies the bytes in its cache. The C library stores past the caches where that
// pays.
#pragma once
#include <cstddef>  // size_t
#include <cstring>  // memcpy

#include <locus/core/macros.hpp>      // LOCUS_LEAN_BEGIN
#include <locus/runtime/threads.hpp>  // pool_threads_worth, thread_pool

LOCUS_LEAN_BEGIN
namespace locus::runtime {

[[gnu::noinline]] inline void copy_in_parts(char* to, char const* from, std::size_t bytes,
                                            int threads) {
  auto const parts = static_cast<std::size_t>(threads);
  struct part_copy {
    char* to;
    char const* from;
    std::size_t bytes, each;
  } const all{to, from, bytes, ((bytes + parts - 1) / parts + 8191) / 8192 * 8192};
  auto const copy = [](void const* context, int task) {
    auto const& c = *static_cast<part_copy const*>(context);
    std::size_t const begin = static_cast<std::size_t>(task) * c.each;
    if (begin >= c.bytes) return;
    std::size_t const n = c.bytes - begin < c.each ? c.bytes - begin : c.each;
    std::memcpy(c.to + begin, c.from + begin, n);
  };
  parallel_job job;
  job.start(threads);
  job.body = copy, job.context = &all, job.tasks = threads, job.record = running;
  if (!thread_pool::instance().run(job)) std::memcpy(to, from, bytes);
}

/// means: memcpy
/// cost:  one pass, on as many threads as pay
inline void copy_bytes(void* to, void const* from, std::size_t bytes) {
  int const threads =
      bytes < (1u << 18) ? 1 : pool_threads_worth(2e-2f * static_cast<float>(bytes));
  if (threads == 1)
    std::memcpy(to, from, bytes);
  else
    copy_in_parts(static_cast<char*>(to), static_cast<char const*>(from), bytes, threads);
}

}  // namespace locus::runtime
LOCUS_LEAN_END
