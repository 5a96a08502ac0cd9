// SPDX-License-Identifier: Apache-2.0
// The fold over replicas as a kernel: terms are combined in replica order, so that every replica,
// on every backend, gets the same bits.
#pragma once
#include <locus/backend/host/map.hpp>  // threads_for
#include <locus/core/config.hpp>       // LOCUS_MODE
#include <locus/device/device.hpp>     // max_devices
#include <locus/kernel/reducer.hpp>    // reducer

namespace locus {

/// The terms of one fold and where its result goes: one address of each replica.
struct replica_terms {
  void* terms[max_devices]{};
  void* outs[max_devices]{};
  int term_count = 0, out_count = 0;
  std::int64_t count = 0;  // elements
};

inline namespace LOCUS_MODE {

/// means: t = terms[0][i]; t = combine(t, terms[r][i]) for r = 1, 2, ...; outs[r][i] = t for all r
/// after: an all-reduce with one fixed order of its terms
template <reduction R, class T>
struct fold_work {
  static constexpr bool has_cuda_kernel = true;
  replica_terms of;

  LOCUS_HOST_DEVICE static constexpr T combine(T a, T b) {
    if constexpr (R == reduction::sum)
      return add_fn{}(a, b);
    else
      return kernel::reducer<R, T>::combine(a, b);
  }
  LOCUS_HOST_DEVICE void element(std::int64_t i) const {
    T t = static_cast<T const*>(of.terms[0])[i];
    for (int r = 1; r < of.term_count; ++r) t = combine(t, static_cast<T const*>(of.terms[r])[i]);
    for (int r = 0; r < of.out_count; ++r) static_cast<T*>(of.outs[r])[i] = t;
  }
  void on_host() const {
    constexpr std::int64_t part = 1 << 15;
    int const tasks = static_cast<int>((of.count + part - 1) / part);
    std::int64_t const bytes = of.count * std::int64_t(sizeof(T)) * (of.term_count + of.out_count);
    parallel_for(tasks, host::threads_for(bytes), [&](int task) {
      std::int64_t const end = (task + 1) * part < of.count ? (task + 1) * part : of.count;
      for (std::int64_t i = task * part; i < end; ++i) element(i);
    });
  }
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (void*& p : of.terms) visit(p);
    for (void*& p : of.outs) visit(p);
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus
