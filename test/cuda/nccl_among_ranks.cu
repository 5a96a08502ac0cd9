// SPDX-License-Identifier: Apache-2.0
// NCCL among the cards of several ranks: processes that share one card and that NCCL takes for hosts
// of their own (NCCL_HOSTID; a test's trick, never for real nodes), beside the CPU of one process.
// With arguments each rank has as many cards of the PTX machine. Exit status 77: no GPU or no NCCL here.
#include <locus/cuda.cuh>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include <locus/algorithms/by_functor.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/testing/ranks.hpp>

#include "../ptx/ask.hpp"
#include "../ptx/ranks_of_program.hpp"
#include "../rank_programs.hpp"

using namespace rank_programs;

namespace {

int failures = 0;
void check(bool ok, std::string const& what) {
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
}

template <class T, class List>
void sums(doubles& out) {
  double const most = sizeof(T) == 2 ? 1.1 : 1000.;  // sums of a column are exact in T
  Tensor<T, Dextents<2>, Sharded<0, List>> const x(
      cast<T>(floor(most * uniform<double>(dextents<2>(1001, 37), seed{1}))));
  put(out, to<Mirrored<List>>(sum<0>(x))), put(out, to<Mirrored<List>>(max<0>(x)));
  if (sizeof(T) > 2) put(out, to<Mirrored<List>>(sum(x)));
}
/// a row of totals for each replica travels; whole numbers, so that the cut does not matter
template <class List>
void scans(doubles& out) {
  auto const last = host_device([] LOCUS_HOST_DEVICE(double a, double b) { return b > 0 ? b : a; });
  Tensor<double, Dextents<2>, Sharded<0, List>> const x(
      floor(100. * uniform<double>(dextents<2>(1001, 3), seed{5}) - 50.));
  put(out, cumsum<0>(x)), put(out, cumsum<0>(x, exclusive, from_end)), put(out, cummax<0>(x));
  put(out, scan<0>(x, last)), put(out, reduce<0>(x, last, 7.));
}
template <class List, class One>
doubles numbers_of() {
  doubles out;
  sums<double, List>(out), sums<float, List>(out), sums<std::int32_t, List>(out);
  sums<half, List>(out), sums<bfloat16, List>(out);
  scans<List>(out), stencil<List>(out), training<List>(out), moves<List, One>(out);
  return out;
}
/// the numbers, then the cards of all ranks, 1 if NCCL has joined them, and what the PTX machine found
doubles by_nccl() {
  doubles out = numbers_of<Ranks<AllGpus>, GpuDevice<0>>();
  bool joined = false;
  for (detail::communicator_set* s : detail::communicators().sets)
    joined = joined || (s->joins_processes() && s->tried && !s->is_broken());
  out.push_back(runtime::this_rank.all_gpus);
  out.push_back(joined), out.push_back(double(ptx_figure("ptx_findings")));
  return out;
}
/// rank 1 is killed: what rank 0 is told of a sum, and whether it took less than a minute
doubles beside_a_dead_rank() {
  config::set_collective_timeout(5);
  Tensor<double, Dextents<1>, Sharded<0, Ranks<AllGpus>>> const x(
      uniform<double>(dextents<1>(1000), seed{1}));
  doubles out;
  put(out, to<Mirrored<Ranks<AllGpus>>>(sum(x)));
  if (runtime::this_rank.rank == 1) raise(SIGKILL);
  put(out, to<Mirrored<Ranks<AllGpus>>>(sum(x)));
  return out;
}

std::vector<int> cards_of_ranks;  // of the PTX machine
void as_a_host_of_its_own(int rank) {
  setenv("NCCL_HOSTID", ("locus-test-" + std::to_string(rank)).c_str(), 1);
  for (char const* off : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) setenv(off, "1", 1);
  setenv("NCCL_NET", "Socket", 1), setenv("NCCL_MAX_CTAS", "1", 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  if (rank < int(cards_of_ranks.size())) ptx_set_cards(cards_of_ranks[std::size_t(rank)]);
}

void compare(int ranks, doubles const& right) {
  auto const ends =
      testing::on_ranks(ranks, by_nccl, {.before = as_a_host_of_its_own, .seconds = 200});
  double most = 0;
  int cards = cards_of_ranks.empty() ? ranks : 0;
  for (int const n : cards_of_ranks) cards += n;
  for (testing::rank_end const& e : ends) {
    check(e.is_good() && e.numbers.size() == right.size() + 3, "a rank: " + e.error);
    if (!e.is_good()) continue;
    check(e.numbers[right.size()] == cards, "the cards of the ranks");
    check(e.numbers[right.size() + 1] == 1, "NCCL joins the ranks");
    check(e.numbers.back() == (cards_of_ranks.empty() ? -1 : 0), "findings of the PTX machine");
    for (std::size_t i = 0; i < right.size(); ++i) {
      double const far = std::abs(e.numbers[i] - right[i]) / (1 + std::abs(right[i]));
      if (most == most && !(far <= most)) most = far;  // NaN stays
    }
  }
  check(most < 1e-9, "numbers of the ranks");
  std::printf("%d ranks by NCCL: %zu numbers, at most %.1e from those of the CPU\n", ranks,
              right.size(), most);
}
void kill_a_rank() {
  double const begin = seconds_now();
  auto const ends =
      testing::on_ranks(2, beside_a_dead_rank, {.before = as_a_host_of_its_own, .seconds = 100});
  double const took = seconds_now() - begin;
  check(ends[1].status != 0 && !ends[1].is_good(), "rank 1 was killed");
  check(ends[0].status == 0 && ends[0].error.starts_with("locus: ") && took < 60,
        "rank 0 is told: " + ends[0].error);
  std::printf("a killed rank: after %.1f s the other ends with: %s\n", took, ends[0].error.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  for (int k = 1; k < argc; ++k) cards_of_ranks.push_back(std::atoi(argv[k]));
  // a process that has asked for cards cannot fork: a rank asks
  auto const there = testing::on_ranks(1, [] {
    int version = 0;
    return doubles{
        double(config::count_logical_gpus() > 0 && runtime::nccl->version(&version) == 0)};
  });
  check(there[0].is_good(), "a rank asks for cards and NCCL: " + there[0].error);
  if (there[0].numbers != doubles{1}) {
    check(cards_of_ranks.empty(), "the PTX machine has cards and NCCL");
    std::puts("skipped: no GPU, or no NCCL, is here");
    return failures != 0 ? 1 : 77;
  }
  auto const right = testing::on_ranks(1, numbers_of<CpuDevice, CpuDevice>, {.seconds = 200});
  check(right[0].is_good(), "one process: " + right[0].error);
  if (argc > 1) {
    compare(argc - 1, right[0].numbers);
  } else {
    compare(2, right[0].numbers), compare(3, right[0].numbers), kill_a_rank();
  }
  std::printf("%d failed\n", failures);
  return failures != 0;
}
