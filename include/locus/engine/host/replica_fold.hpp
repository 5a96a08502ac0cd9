// SPDX-License-Identifier: Apache-2.0
// The fold over replicas on the host: for each block of elements, one loop over the block for each
// term.
#pragma once
#include <locus/core/macros.hpp>      // LOCUS_MODE, LOCUS_LOOPS_BEGIN
#include <locus/engine/host/map.hpp>  // threads_for
#include <locus/work/fold.hpp>        // fold_work

namespace locus {
namespace host {
inline namespace LOCUS_MODE {
inline constexpr std::int64_t fold_block = 512;

/// means: outs[r][i] = the fold of terms[0][i], terms[1][i], ... for i in [begin, begin + n); an
///        output may be a term
template <reduction R, class T>
void fold_replica_block(fold_work<R, T> const& w, std::int64_t begin, std::int64_t n) {
  using work = fold_work<R, T>;
  using value = typename work::value;
  value total[fold_block];
  LOCUS_LOOPS_BEGIN
  if (w.of.goes_on)
    for (std::int64_t i = 0; i < n; ++i)
      total[i] = static_cast<value const*>(w.of.terms[0])[begin + i];
  for (int r = w.of.goes_on; r < w.of.term_count; ++r) {
    T const* const term = static_cast<T const*>(w.of.terms[r]) + begin;
    if constexpr (work::may_scale)
      if (w.of.scaled == scaling::multiply_terms) {
        value products[fold_block];  // memory keeps each product apart from the sum that takes it
        for (std::int64_t i = 0; i < n; ++i)
          products[i] = static_cast<value>(term[i] * static_cast<value>(w.of.by));
        for (std::int64_t i = 0; i < n; ++i)
          total[i] = r == 0 ? products[i] : work::combine(total[i], products[i]);
        continue;
      }
    if (r == 0)
      for (std::int64_t i = 0; i < n; ++i) total[i] = term[i];
    else
      LOCUS_IVDEP
    for (std::int64_t i = 0; i < n; ++i) total[i] = work::combine(total[i], term[i]);
  }
  if (w.of.scaled == scaling::divide_sum)
    for (std::int64_t i = 0; i < n; ++i) total[i] = w.after(total[i]);
  if (w.of.to_go_on)
    for (std::int64_t i = 0; i < n; ++i) static_cast<value*>(w.of.outs[0])[begin + i] = total[i];
  for (int r = w.of.to_go_on; r < w.of.out_count; ++r) {
    T* const out = static_cast<T*>(w.of.outs[r]) + begin;
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(total[i]);
  }
  LOCUS_LOOPS_END
}
}  // namespace LOCUS_MODE
}  // namespace host

inline namespace LOCUS_MODE {

template <reduction R, class T>
void run_on_host(fold_work<R, T> const& w) {
  constexpr std::int64_t part = 1 << 15;
  std::int64_t const count = w.of.count;
  int const tasks = static_cast<int>((count + part - 1) / part);
  std::int64_t const bytes = count * std::int64_t(sizeof(T)) * (w.of.term_count + w.of.out_count);
  parallel_for(tasks, host::threads_for(bytes), [&](int task) {
    std::int64_t const end = (task + 1) * part < count ? (task + 1) * part : count;
    for (std::int64_t i = task * part; i < end; i += host::fold_block)
      host::fold_replica_block(w, i, i + host::fold_block < end ? host::fold_block : end - i);
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus
