// SPDX-License-Identifier: Apache-2.0
// What an instruction is and what it costs to issue: one table.
#pragma once
#include "../machine/program.hpp"
#include "figures.hpp"

namespace ptx::counts {

struct weight {
  kind is = kind::other;
  std::uint16_t tenths = 10;  // of an issue slot
};
/// What stands around a statement.
struct surroundings {
  statement const *before = nullptr, *earlier = nullptr;  // the two in front of it
  bool reads_special = false;                             // %tid and its like
};
weight weight_of(instruction const& i, statement const& s, surroundings const& around);

}  // namespace ptx::counts
