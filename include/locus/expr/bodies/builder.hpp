// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that expr/builder.hpp declares.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION
#include <locus/expr/builder.hpp>  // the declarations

namespace locus {

LOCUS_FUNCTION void binder::set_devices(device_list const& placeholders, device_list const& actual,
                                        std::string_view who) const {
  if (!open->bind(placeholders, actual)) refuse_devices(placeholders, actual, who);
}

LOCUS_FUNCTION void binder::refuse_devices(device_list const& placeholders,
                                           device_list const& actual, std::string_view who) const {
  if (placeholders.is_over_ranks() && !open->ranks.has(actual)) refuse_other_world();
  place const as =
      placeholders.is_all_gpus() ? place{placeholders}.mirrored() : single(placeholders[0]);
  message text;
  text << "locus: one expression on two devices of " << as << ": " << open->of(as) << " and, for "
       << who << " (#" << int(at) << "), " << as.over(actual);
  if (placeholders.is_all_gpus())
    text << "; bring one over first, as in to<Mirrored<AllGpus>>(x)";
  else
    text << "; bring one over first, as in to<" << (placeholders[0].is_gpu() ? "GpuDevice" : "Cpu")
         << "<dyn>>(x, " << actual[0].ordinal() << ")";
  throw placement_error(text);
}

}  // namespace locus
