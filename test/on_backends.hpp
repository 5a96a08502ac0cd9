// SPDX-License-Identifier: Apache-2.0
// One test body over all three backends: the host with no GPU, simulated GPUs under several seeds,
// and the CUDA path over a recorder. Executors of checked builds compare their tally with the plan
// themselves.
#pragma once
#if !defined(LOCUS_CUDA_KERNELS) || !LOCUS_CUDA_KERNELS
#error "define LOCUS_CUDA_KERNELS to 1 before the first include: one unit covers all backends"
#endif
#include <doctest/doctest.h>

#include <locus/testing/recorder.hpp>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace backends {

enum class kind { host, simulated, recorded };

/// One machine that a body runs on.
struct machine {
  kind how = kind::host;
  int gpus = 0;
  unsigned seed = 0;
  bool has_gpu() const { return gpus > 0; }
};
inline constexpr machine all_machines[] = {
    {kind::host, 0, 0},      {kind::simulated, 2, 1}, {kind::simulated, 2, 2},
    {kind::simulated, 4, 3}, {kind::simulated, 4, 4}, {kind::recorded, 1, 0},
    {kind::recorded, 2, 0},  {kind::recorded, 4, 0},
};
/// one of each kind, for bodies with much data
inline constexpr machine few_machines[] = {
    {kind::host, 0, 0}, {kind::simulated, 2, 5}, {kind::recorded, 2, 0}};

template <class Body>
void run_on(machine const& m, Body&& body) {
  char const* const names[] = {"the host alone", "simulated GPUs", "a recorder"};
  std::string const where = names[static_cast<int>(m.how)];
  INFO("on ", where, ", ", m.gpus, " GPUs, seed ", m.seed);
  auto run = [&] {
    if constexpr (requires { body(m); })
      body(m);
    else
      body();
  };
  if (m.how == kind::simulated) {
    // of every fourth seed no card reaches another
    locus::testing::simulated_gpus const gpus{m.gpus, {.seed = m.seed, .peers = m.seed % 4 != 0}};
    run();
  } else if (m.how == kind::recorded) {
    locus::testing::recorder const cards{{.cards = m.gpus}};
    run();
  } else
    run();
}

template <class Body>
void on_backends(Body&& body) {
  for (machine const& m : all_machines) run_on(m, body);
}
template <class Body>
void on_few_backends(Body&& body) {
  for (machine const& m : few_machines) run_on(m, body);
}

}  // namespace backends

using backends::on_backends;
using backends::on_few_backends;
