// SPDX-License-Identifier: Apache-2.0
// In place of ../on_backends.hpp: one machine, whose cards are those that the CUDA runtime finds.
#pragma once
#include <on_cards.hpp>

#include <doctest/doctest.h>

#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace backends {
enum class kind { host, simulated, recorded, cards };
struct machine {
  kind how = kind::cards;
  int gpus = 4;  // PTX_CARDS
  unsigned seed = 0;
  bool has_gpu() const { return gpus > 0; }
};
inline constexpr machine all_machines[] = {{}}, few_machines[] = {{}};

template <class Body>
void run_on(machine const& m, Body&& body) {
  if constexpr (requires { body(m); })
    body(m);
  else
    body();
}
template <class Body>
void on_backends(Body&& body) {
  run_on({}, body);
}
template <class Body>
void on_few_backends(Body&& body) {
  run_on({}, body);
}
}  // namespace backends
using backends::on_backends;
using backends::on_few_backends;
