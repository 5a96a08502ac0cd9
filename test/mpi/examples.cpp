// SPDX-License-Identifier: Apache-2.0
// Example 04, 07 or 08 over the ranks of an MPI program: the device list is another one, and nothing else.
// EXAMPLE is its number, ELEMENT the element type of its network. The arguments are those of the example;
// behind each line of losses rank 0 writes the numbers of the line with all their bits. At the end each rank
// writes to stderr how many of its plans did what they say, and what the PTX machine saw, if it is there.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <type_traits>
#include <unistd.h>

#include <locus/cuda.cuh>
#include <locus/data/batches.hpp>
#include <locus/data/dataset.hpp>
#include <locus/data/progress.hpp>
#include <locus/files/idx.hpp>
#include <locus/files/text.hpp>
#include <locus/mpi.hpp>
#if EXAMPLE != 4
#include <locus/nn/nn.hpp>
#endif

#include "../ptx/ask.hpp"
#include "../ptx/ranks_of_program.hpp"

namespace {

/// a line as printf writes it, and a line of its doubles
template <class... A>
std::string with_all_bits(char const* format, A... all) {
  char text[400];
  std::string line(text, std::size_t(std::snprintf(text, sizeof text, format, all...)));
  line += "bits";
  auto const put = [&](auto v) {
    if constexpr (std::is_same_v<decltype(v), double>)
      line.append(text, std::size_t(std::snprintf(text, sizeof text, " %a", v)));
  };
  (put(all), ...);
  return line += "\n";
}

/// Plans that did what they say, and others.
struct counted_plans final : locus::internal::plan_listener {
  int same = 0, others = 0;
  void ran(locus::plan_run const& run) override {
    locus::tally const says = locus::count_plan(run.plan, run.extents);
    auto const equal = [&](auto count) { return says.*count == run.done.*count; };
    using counts = locus::tally;
    bool const all = equal(&counts::launches) && equal(&counts::all_reduces) &&
                     equal(&counts::other_reductions) && equal(&counts::bytes_reduced) &&
                     equal(&counts::halo_exchanges) && run.done.fallbacks == 0;
    ++(all ? same : others);
  }
};

/// The world around main, which is that of the example.
struct around_main {
  int count = 0;
  char** words = nullptr;
  locus::mpi::world world{count, words};
  counted_plans plans;
  around_main() {
    // floats, and all with ORDER=ranked: the bits of one process; doubles: as MPI or NCCL adds
    char const* const order = std::getenv("ORDER");
    if (std::is_same_v<ELEMENT, float> || (order && std::string(order) == "ranked"))
      locus::config::set_reduction_order(locus::reduction_order::ranked);
    if (world.rank() > 0 && !std::freopen("/dev/null", "w", stdout)) std::abort();
  }
  ~around_main() {
    std::fflush(stdout);
    std::fprintf(stderr, "rank %d: %d plans as they say, %d otherwise\n", world.rank(), plans.same,
                 plans.others);
    if (ptx_figure("ptx_launches") < 0) return;
    std::fprintf(stderr, "rank %d: %lld launches on cards, %lld findings, %s NCCL\n", world.rank(),
                 static_cast<long long>(ptx_figure("ptx_launches")),
                 static_cast<long long>(ptx_figure("ptx_findings")),
                 ptx_calls("ncclAllReduce") > 0 ? "with" : "without");
  }
};
around_main const around;

/// whatever devices main names
template <class...>
using on_all_ranks = locus::Mirrored<locus::Ranks<locus::AllGpus>>;

}  // namespace

#define printf(...) fputs(with_all_bits(__VA_ARGS__).c_str(), stdout)
#if EXAMPLE == 4
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define Mirrored on_all_ranks
#define float ELEMENT
#include "../../examples/04_mirrored_fashion_mnist.cpp"
#else
#define compile compile<Mirrored<Ranks<AllGpus>>, ELEMENT>
#if EXAMPLE == 7
#include "../../examples/07_text_cnn.cpp"
#else
#include "../../examples/08_fashion_mnist_cnn.cpp"
#endif
#endif
