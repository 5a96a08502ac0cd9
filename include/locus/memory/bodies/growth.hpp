// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/growth.hpp declares.
#pragma once
#include <locus/core/environment.hpp>  // from_environment
#include <locus/core/error.hpp>        // configuration_error
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/memory/growth.hpp>     // the declarations
#include <locus/watch/log.hpp>         // warn

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION int read_growth(char const* variable) {
  char const* const v = from_environment(variable);
  std::string_view const value = v ? v : "";
  return value.empty() ? -1 : value == "true" ? 1 : value == "false" ? 0 : 2;
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION int growth_variables() {
  return 4 * detail::read_growth("LOCUS_FORCE_GPU_ALLOW_GROWTH") +
         detail::read_growth("TF_FORCE_GPU_ALLOW_GROWTH");
}

LOCUS_FUNCTION int forced_growth() {
  constexpr char const *ours = "LOCUS_FORCE_GPU_ALLOW_GROWTH",
                       *theirs = "TF_FORCE_GPU_ALLOW_GROWTH";
  int const mine = detail::read_growth(ours);
  if (mine == 2) {
    message text;
    throw configuration_error(text << "locus: " << std::string_view(ours) << " is \""
                                   << shown(from_environment(ours)).view()
                                   << "\"; write true or false, or unset it");
  }
  if (mine >= 0) return mine;
  int const other = detail::read_growth(theirs);
  if (other < 2) return other;
  log_line line;
  warn(line << "locus: " << std::string_view(theirs) << " is \""
            << shown(from_environment(theirs)).view()
            << "\" and ignored; write true or false, or unset it");
  return -1;
}

}  // namespace locus::runtime

LOCUS_COLD_END
