// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/write_results.hpp declares.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/run/write_results.hpp>     // the declarations
#include <locus/runtime/stream_scope.hpp>  // guest

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void results::write_targets() {
  if (p_.may_alias) set_aside();
  for (int k = 0; k < plan_.roots.count; ++k) {
    root const& me = plan_.roots[k];
    target const& to = targets_[k];
    int const v = value_of(me), rank = rank_of(v);
    for (int r = 0; r < to.where.count(); ++r) {
      logical_device& d = runtime::find_device(to.where.at(r));
      if (same_layout(value(v, r), to.locals[r], rank)) {
        if (!leaves_beside(v, r, d)) wait_for(v, r, d);  // it arrived in the destination itself
        continue;
      }
      step_record const record{me.from, "write", d.name};
      runtime::running_scope const scope(&record);
      carry({&d, &to.locals[r]}, {&d, &value(v, r), v, r}, rank, plan_.steps[me.from].element_bytes,
            record);
    }
  }
}

LOCUS_FUNCTION void results::foresee_targets() {
  if (!p_.may_alias) return;
  for (int k = 0; k < plan_.roots.count; ++k) {
    int const v = value_of(plan_.roots[k]);
    for (int r = 0; r < targets_[k].where.count(); ++r)
      if (must_set_aside(k, r))
        will_need(runtime::find_device(targets_[k].where.at(r)),
                  size_of(value(v, r), rank_of(v)) * source_of(v).element_bytes);
  }
}

LOCUS_FUNCTION bool results::leaves_beside(int v, int r, logical_device& d) {
  stamp const when = a_.ready[index(v, r)];
  if (is_step(v) || !when.is_set() || d.how == backing::host || d.beside_user || runtime::guest)
    return false;
  if (plan_.transfers[v - plan_.steps.count].how != transfer_kind::all_reduce) return false;
  byte_range const range = bytes_of(v, r);
  runtime::leave_arrival({&d, static_cast<char const*>(range.first), range.bytes, when});
  forget_in_flight(d, range);
  return true;
}

LOCUS_FUNCTION bool results::must_set_aside(int k, int r) const {
  int const v = value_of(plan_.roots[k]);
  target const& to = targets_[k];
  return !to.no_alias && !same_layout(value(v, r), to.locals[r], rank_of(v)) &&
         is_written(bytes_of(v, r));
}

LOCUS_FUNCTION void results::set_aside() {
  for (int k = 0; k < plan_.roots.count; ++k) {
    int const v = value_of(plan_.roots[k]), rank = rank_of(v);
    int const element_bytes = source_of(v).element_bytes;
    target const& to = targets_[k];
    for (int r = 0; r < to.where.count(); ++r) {
      if (!must_set_aside(k, r)) continue;
      logical_device& d = runtime::find_device(to.where.at(r));
      local_value const from = value(v, r);
      std::int64_t const bytes = size_of(from, rank) * element_bytes;
      void* const memory = take_reserve(d, bytes);
      local_layout layout;
      local_value const aside = dense_value(memory, whole_of(v), place_of(v), r, layout);
      step_record const record{plan_.roots[k].from, "set aside", d.name};
      runtime::running_scope const scope(&record);
      carry({&d, &aside}, {&d, &from, v, r}, rank, element_bytes, record);
      value(v, r) = dense_value(memory, whole_of(v), place_of(v), r, a_.layouts[index(v, r)]);
    }
  }
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
