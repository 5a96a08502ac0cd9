// SPDX-License-Identifier: Apache-2.0
// A team of threads whose totals do not fit into the memory that a block shares.
// expect: locus: the threads of a block would share more than 49,152 bytes; fold fewer values in one statement, or give a call's team smaller totals
#define LOCUS_CUDA_KERNELS 1
#include <locus/locus.hpp>
#include <locus/testing/recorder.hpp>
using namespace locus;

template <int Bytes>
struct team_of_columns {
  struct total {
    char of[Bytes];
  };
  static constexpr int vector = 1, batch = 1;
  std::int64_t rows, columns;
  LOCUS_HOST_DEVICE static int at(std::int64_t) { return 0; }
  template <int Batch, class Totals>
  LOCUS_HOST_DEVICE static void add(Totals&, int, std::int64_t, std::int64_t) {}
  LOCUS_HOST_DEVICE static total identity() { return {}; }
  LOCUS_HOST_DEVICE static total combine(total const& a, total const&) { return a; }
  LOCUS_HOST_DEVICE static void finish(std::int64_t, total const&) {}
  LOCUS_HOST_DEVICE static std::int64_t zeros() { return 0; }
  LOCUS_HOST_DEVICE static void zero(std::int64_t) {}
};
template <int Bytes>
struct Histogram {
  static constexpr call_rule rule{.name = "histogram",
                                  .operands = {call_role::whole},
                                  .results = {call_role::whole},
                                  .by_teams = true};
  static constexpr shape infer(int, shape x) { return x; }
  template <class T>
  void host(call_context const&, tile<T>, tile<T const>) const {}
  template <class T>
  auto team(call_context const&, tile<T>, tile<T const> x) const {
    return team_of_columns<Bytes>{x.extent[0], x.extent[1]};
  }
};
Tensor<float, Extents<4, 4>, GpuDevice<0>> x;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(call(Histogram<200>{}, x)); }
#else
auto proper() { return eval(call(Histogram<192>{}, x)); }
#endif
