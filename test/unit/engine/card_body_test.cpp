// SPDX-License-Identifier: Apache-2.0
// Called operations with a body for cards: workspace, loops and algorithms in the queue of each device; the host's
// body everywhere else. Memory is there before the first step, and whatever fails is given back.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <algorithm>
#include <numeric>

#include <locus/engine/gpu/selects.hpp>
#include <locus/engine/gpu/sorts.hpp>
#include <message_of.hpp>
#include <oracle.hpp>

namespace card_body_test {

using namespace locus;

namespace rooms {  // functors of kernels have names

using number = std::int32_t;

struct count_up {
  number* to;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = number(i); }
};
struct add_rank {
  number const* places;
  number* ranks;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { ranks[places[i]] = number(i); }
};

/// the numbers in rising order, and of each number its rank
struct Sorted {
  static constexpr call_rule rule{.name = "sorted",
                                  .operands = {call_role::whole},
                                  .results = {call_role::whole, call_role::whole}};
  template <int R, class T>
  using result = std::conditional_t<R == 0, T, number>;
  static constexpr shape infer(int, shape x) { return x; }
  template <class T>
  void host(call_context const&, tile<T> y, tile<number> ranks, tile<T const> x) const {
    std::vector<number> places(static_cast<std::size_t>(x.size()));
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](number a, number b) { return x[a] < x[b]; });
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (y.data) y[std::int64_t(i)] = x[places[i]];
      if (ranks.data) ranks[places[i]] = number(i);
    }
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<number> ranks, tile<T const> x) const {
    std::int64_t const n = x.size();
    number* const places = here.take<number>(n);
    number* const moved = here.take<number>(n);
    T* const sorted = y.data ? y.data : here.take<T>(n);
    here.each(n, count_up{places});
    here.run(cuda_side::sort_pairs<T, number>{n, x.data, places, sorted, moved});
    if (ranks.data) here.each(n, add_rank{moved, ranks.data});
  }
};

/// the same by an algorithm that no unit made
struct SortedFar : Sorted {
  template <class T>
  void card(card_context& here, tile<T> y, tile<number>, tile<T const> x) const {
    std::int64_t const n = x.size();
    auto* const places = here.take<std::int64_t>(n);
    here.each(n, count_up{reinterpret_cast<number*>(places)});
    here.run(cuda_side::sort_pairs<T, std::int64_t>{n, x.data, places, y.data, places});
  }
};

/// how many of the batch's numbers fall into each bin; element() is wrong on purpose
struct Counts {
  static constexpr call_rule rule{.name = "counts",
                                  .operands = {call_role::rows, call_role::whole},
                                  .results = {call_role::terms}};
  template <int, class T, class Level>
  using result = number;
  static constexpr shape infer(int, shape, shape levels) {
    return {1, {levels.extent[0] == dyn ? dyn : levels.extent[0] - 1}};
  }
  template <int, class T>
  LOCUS_HOST_DEVICE number element(std::int64_t, call_context const&, tile<number>, tile<T const>,
                                   tile<T const>) const {
    return -1;
  }
  template <class T>
  void card(card_context& here, tile<number> counts, tile<T const> x, tile<T const> levels) const {
    here.run(cuda_side::histogram<T>{x.size(), x.data, int(levels.size()) - 1, levels.data,
                                     counts.data});
  }
};

}  // namespace rooms

namespace {

template <class T, class Where>
using row = Tensor<T, Dextents<1>, Where>;

row<float, CpuDevice> counted(std::int64_t n) {
  row<float, CpuDevice> x{Dextents<1>(n)};
  for (std::int64_t i = 0; i < n; ++i) x.data()[i] = float((i * 7919 + 13) % 1009);
  return x;
}
template <class Where>
auto sorted_on(row<float, CpuDevice> const& x) {
  std::int64_t const n = x.size();
  row<float, Where> y{Dextents<1>(n)};
  row<std::int32_t, Where> ranks{Dextents<1>(n)};
  auto const both = call(rooms::Sorted{}, to<Where>(x));
  run(plan(into(y, result<0>(both)), into(ranks, result<1>(both))));
  return std::pair(to<CpuDevice>(y), to<CpuDevice>(ranks));
}

}  // namespace

TEST_CASE("a body for cards and the host's body find the same") {
  on_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    for (std::int64_t const n : {1, 33, 5000}) {
      auto const x = counted(n);
      auto const [y, ranks] = sorted_on<CpuDevice>(x);
      CHECK(std::is_sorted(y.data(), y.data() + n));
      auto const [z, places] = sorted_on<GpuDevice<0>>(x);
      CHECK(oracle::same_bits(y, z));
      CHECK(oracle::same_bits(ranks, places));
    }
  });
}

TEST_CASE("a result that nobody reads has no memory in a body for cards") {
  on_few_backends([&](backends::machine const& m) {
    if (!m.has_gpu()) return;
    auto const x = counted(700);
    auto const [y, ranks] = sorted_on<CpuDevice>(x);
    row<float, GpuDevice<0>> const there(x);
    CHECK(oracle::same_bits(ranks, to<CpuDevice>(result<1>(call(rooms::Sorted{}, there)))));
    CHECK(oracle::same_bits(y, to<CpuDevice>(result<0>(call(rooms::Sorted{}, there)))));
  });
}

TEST_CASE("terms of 1, 2 and 3 replicas: a replica without rows runs no body") {
  auto const check = []<class... Devices>(Mirrored<Devices...>, std::int64_t n) {
    row<float, CpuDevice> levels{Dextents<1>(8)};
    for (int b = 0; b < 8; ++b) levels.data()[b] = float(b) * 150;
    auto const x = counted(n);
    row<std::int32_t, CpuDevice> expected{Dextents<1>(7)};
    for (int b = 0; b < 7; ++b) {
      expected.data()[b] = 0;
      for (std::int64_t i = 0; i < n; ++i)
        expected.data()[b] += x.data()[i] >= levels.data()[b] && x.data()[i] < levels.data()[b + 1];
    }
    row<float, Sharded<0, Devices...>> const cut(x);
    row<float, Mirrored<Devices...>> const bounds(levels);
    CHECK(oracle::same_bits(expected, to<CpuDevice>(call(rooms::Counts{}, cut, bounds))));
  };
  using A = GpuDevice<0>;
  using B = GpuDevice<1>;
  using C = GpuDevice<2>;
  for (auto const& m : backends::all_machines)
    if (m.how != backends::kind::simulated && m.gpus >= 3)
      backends::run_on(m, [&] {
        for (std::int64_t const n : {0, 2, 999}) {
          CAPTURE(n);
          check(Mirrored<A>{}, n), check(Mirrored<A, B>{}, n), check(Mirrored<A, B, C>{}, n);
        }
      });
}

#if LOCUS_DEVICE_CODE  // over a recorder none is missing
TEST_CASE("an algorithm that no unit made: the host's body, and the remedy is named") {
  auto const x = counted(700);
  row<float, GpuDevice<0>> const there(x);
  auto const trips = runtime::host_round_trips;
  auto const y = to<CpuDevice>(result<0>(call(rooms::SortedFar{}, there)));
  CHECK(runtime::host_round_trips == trips + 1);
  CHECK(std::is_sorted(y.data(), y.data() + y.size()));
  config::set_soft_device_placement(false);
  auto const text = message_of<no_kernel_in_unit>(
      [&] { (void)to<CpuDevice>(result<0>(call(rooms::SortedFar{}, there))); });
  config::set_soft_device_placement(true);
  CAPTURE(text);
  CHECK(text.find("(sorted) on /GPU:0: no unit of this program made "
                  "cub::DeviceRadixSort::SortPairs") != std::string::npos);
  CHECK(text.find("LOCUS_INSTANTIATE_ALGORITHMS(element types) in one .cu that includes "
                  "<locus/cub.cuh>") != std::string::npos);
}
#endif

#if !LOCUS_DEVICE_CODE  // what only a recorder can do
TEST_CASE("on a card its body runs, not element() or host(), on the stream of each device") {
  testing::recorder record{{.cards = 2}};
  row<float, CpuDevice> levels{Dextents<1>(3)};
  for (int b = 0; b < 3; ++b) levels.data()[b] = float(b) * 500;
  row<float, Sharded<0, GpuDevice<0>, GpuDevice<1>>> const cut(counted(900));
  row<float, Mirrored<GpuDevice<0>, GpuDevice<1>>> const bounds(levels);
  auto const before = record.calls("cub::DeviceHistogram::HistogramRange");
  auto const counts = to<CpuDevice>(call(rooms::Counts{}, cut, bounds));
  CHECK(record.calls("cub::DeviceHistogram::HistogramRange") == before + 2);
  CHECK(counts(0) + counts(1) > 0);
}

TEST_CASE("the workspace of a body is counted, and there before the first step") {
  testing::recorder record;
  std::int64_t const n = 1000;
  row<float, GpuDevice<0>> x(counted(n)), y{Dextents<1>(n)}, z{Dextents<1>(n)};
  row<std::int32_t, GpuDevice<0>> ranks{Dextents<1>(n)};
  auto const both = call(rooms::Sorted{}, x);
  auto const step = plan(into(z, x + 1.f), into(y, result<0>(both)), into(ranks, result<1>(both)));
  auto const before = config::get_memory_info<GpuDevice<0>>().current;
  run(step);
  config::reset_memory_stats<GpuDevice<0>>();
  auto const obtained = record.calls("malloc_device"), asked = record.calls("algorithm_bytes");
  run(step);
  CHECK(record.calls("malloc_device") == obtained);
  CHECK(record.calls("algorithm_bytes") == asked);
  // two arrays of 4000 bytes, and what the sort asks for, in one block
  CHECK(config::get_memory_info<GpuDevice<0>>().peak == before + 2 * 4096 + 1024);
  CHECK(config::get_memory_info<GpuDevice<0>>().allocations == 1);
  // without that block nothing has been written
  runtime::planted.lack_memory = 0;
  z = x * 0.f;
  runtime::planted.lack_memory = 0;
  CHECK(message_of<out_of_memory>([&] { run(step); }).find("workspace") != std::string::npos);
  runtime::planted.lack_memory = -1;
  CHECK(fetch(sum(z)) == 0);
}

TEST_CASE("whichever call of a body fails, the step is named and nothing is kept") {
  int failures = 0;
  for (int k = -1;; ++k) {  // -1: none, and the workspace is known from then on
    testing::recorder record;
    row<float, GpuDevice<0>> const x(counted(300));
    record.fail_at(k);
    std::string const text =
        message_of<device_lost>([&] { (void)to<CpuDevice>(result<1>(call(rooms::Sorted{}, x))); });
    CAPTURE(record.failed_call());
    if (!record.failed() && k >= 0) break;
    if (record.failed_call() == "launch" || record.failed_call().starts_with("cub::")) {
      ++failures;
      CHECK(text.find("sorted") != std::string::npos);
      CHECK(text.find("/GPU:0") != std::string::npos);
    }
  }
  CHECK(failures == 3);
  CHECK(runtime::table.live_blocks == 0);
}
#endif

}  // namespace card_body_test
