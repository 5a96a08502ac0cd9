// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/simulated/task.hpp declares.
#pragma once
#include <locus/backend/simulated/task.hpp>  // the declarations
#include <locus/core/error.hpp>              // bad_access
#include <locus/core/macros.hpp>             // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::simulated {

LOCUS_FUNCTION void clock::join(clock const& o) {
  for (int q = 0; q < most_queues; ++q)
    if (o.of[q] > of[q]) of[q] = o.of[q];
}

LOCUS_FUNCTION bool failure::takes_in(short q, task const& t) {
  bool depends = has_reached({q, t.ticket});
  for (stamp const& s : t.waits) depends = depends || has_reached(s);
  if (depends) reaches(q, t.ticket);
  return depends;
}

LOCUS_FUNCTION inside::inside(mutex& m) : mutex_(m) {
  if (is_here)
    throw bad_access(
        "locus: a kernel of a simulated GPU uses locus itself; compute that before the plan");
  mutex_.lock();
  is_here = true;
}

LOCUS_FUNCTION inside::~inside() {
  is_here = false;
  mutex_.unlock();
}

}  // namespace locus::simulated

LOCUS_COLD_END
