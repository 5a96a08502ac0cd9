// SPDX-License-Identifier: Apache-2.0
// The environment variables that decide whether memory of GPUs grows.
#pragma once
#include <locus/core/config.hpp>       // LOCUS_COLD_BEGIN
#include <locus/core/environment.hpp>  // from_environment
#include <locus/core/error.hpp>        // configuration_error
#include <locus/runtime/log.hpp>       // warn

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: LOCUS_FORCE_GPU_ALLOW_GROWTH, else TF_FORCE_GPU_ALLOW_GROWTH: 1 true, 0 false, -1 not set
/// fails: configuration_error, where ours is neither; TensorFlow's is ignored then, as there, and
///        that is said
inline int forced_growth() {
  auto read = [](char const* variable) {
    char const* const v = from_environment(variable);
    std::string_view const value = v ? v : "";
    return value.empty() ? -1 : value == "true" ? 1 : value == "false" ? 0 : 2;
  };
  constexpr char const *ours = "LOCUS_FORCE_GPU_ALLOW_GROWTH",
                       *theirs = "TF_FORCE_GPU_ALLOW_GROWTH";
  int const mine = read(ours);
  if (mine == 2) {
    message text;
    throw configuration_error(text << "locus: " << std::string_view(ours) << " is \""
                                   << shown(from_environment(ours)).view()
                                   << "\"; write true or false, or unset it");
  }
  if (mine >= 0) return mine;
  int const other = read(theirs);
  if (other < 2) return other;
  log_line line;
  warn(line << "locus: " << std::string_view(theirs) << " is \""
            << shown(from_environment(theirs)).view()
            << "\" and ignored; write true or false, or unset it");
  return -1;
}

}  // namespace locus::runtime

LOCUS_COLD_END
