// SPDX-License-Identifier: Apache-2.0
// Searches in sorted elements as a step of a plan: the rule over replicas and the kernels of the
// host and of GPUs.
#pragma once
#include <locus/algorithms/sorted_place.hpp>  // place_in_sorted, places_in_sorted
#include <locus/algorithms/workspace.hpp>     // workspace
#include <locus/core/error.hpp>               // shape_error
#include <locus/core/macros.hpp>              // LOCUS_COLD_BEGIN
#include <locus/ops/call.hpp>                 // call_rule, call_cut, tile
#include <locus/runtime/threads.hpp>          // parallel_for, threads_worth

namespace locus::algorithms {

LOCUS_COLD_BEGIN
/// fails: shape_error, for element i, which is greater than the next
[[noreturn]] inline void refuse_unsorted(std::int64_t i) {
  message text;
  throw shape_error(text << "locus: search_sorted reads elements that are not sorted: element " << i
                         << " is greater than the one behind it; write search_sorted(sort<0>(s), "
                            "x)");
}
LOCUS_COLD_END

/// means: r[i...] = the number of elements of s in front of which x[i...] may not stand
/// device: as x, in pieces along any axis; pieces of s are gathered
/// fails: on the host, and on simulated GPUs, where Checked: shape_error for elements without order
/// after: NumPy's searchsorted
template <bool BehindEqual, bool Checked>
struct search_op {
  static constexpr call_rule rule{.name = "search_sorted",
                                  .operands = {call_role::whole, call_role::rows},
                                  .results = {call_role::rows},
                                  .tensorflow = BehindEqual ? "UpperBound" : "LowerBound",
                                  .fixed_bits = true};
  template <int, class T, class>
  using result = std::int64_t;
  static constexpr shape infer(int, shape s, shape x) { return s.rank == 1 ? x : no_shape; }
  static constexpr std::int64_t operations(shape const& r, shape, shape) { return 16 * r.size(); }
  static constexpr call_cut cut(call_axes const& found) {
    call_cut c{.fits = true};
    c.operands[0] = call_cut::whole, c.operands[1] = c.axis = found[1];
    return c;
  }
  template <class T>
  void host(call_context const&, tile<std::int64_t> r, tile<T const> s, tile<T const> x) const {
    std::int64_t const n = s.size(), size = x.size(), block = 4096;
    if constexpr (Checked)
      for (std::int64_t i = 0; i + 1 < n; ++i)
        if (comes_behind(s[i], s[i + 1])) refuse_unsorted(i);
    bool const many = size >= host::blocks_of_sorted && n >= 4 * host::blocks_of_sorted;
    host::workspace<T> const ends(many ? host::blocks_of_sorted : 0);
    host::sorted_elements<T> sorted{s.data, n};
    if (many) sorted = host::in_blocks(s.data, n, ends.data());
    parallel_for(static_cast<int>((size + block - 1) / block),
                 threads_worth(static_cast<float>(size) * 10), [&](int task) {
                   std::int64_t const first = task * block,
                                      rest = size - first < block ? size - first : block;
                   host::places_in_sorted<BehindEqual>(sorted, x.data + first, rest,
                                                       r.data + first);
                 });
  }
  /// means: one thread for each search
  template <int, class T>
  LOCUS_HOST_DEVICE std::int64_t element(std::int64_t i, call_context const&, tile<std::int64_t>,
                                         tile<T const> s, tile<T const> x) const {
    return place_in_sorted<BehindEqual>(s.data, s.size(), x.data[i]);
  }

 private:
  template <class T>
  static bool comes_behind(T a, T b) {
    auto const v = static_cast<compute_t<T>>(a), w = static_cast<compute_t<T>>(b);
    return is_nan(v) ? !is_nan(w) : v > w;
  }
};

}  // namespace locus::algorithms
