// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that watch/watch_variables.hpp declares.
#pragma once
#include <locus/core/environment.hpp>       // from_environment
#include <locus/core/macros.hpp>            // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/watch/log.hpp>              // open_json_log
#include <locus/watch/watch_variables.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION void read_log_variable() {
  char const* const variable = from_environment("LOCUS_LOG");
  if (!variable || !*variable) return;
  std::string_view rest = variable;
  auto const take = [&](std::string_view word) {
    bool const is = rest.substr(0, word.size()) == word;
    if (is) rest.remove_prefix(word.size());
    return is;
  };
  auto const how_often = take("every,") ? log_frequency::every : log_frequency::once;
  if (take("json:") && !rest.empty()) {
    named_by("LOCUS_LOG", variable, [&] { open_json_log(rest); });
  } else if (!(take("text") && rest.empty())) {
    message text;
    throw configuration_error(text << "locus: LOCUS_LOG is \"" << shown(variable).view()
                                   << "\"; write text or json:PATH, with every, in front of it "
                                      "for each time instead of once");
  }
  debugging::set_log_device_placement(true, how_often);
}

LOCUS_FUNCTION void require_path(char const* variable, std::string_view value,
                                 std::string_view remedy) {
  for (std::string_view const word : {"1", "true", "false", "yes", "no", "on", "off"}) {
    if (value != word) continue;
    message text;
    throw configuration_error(text << "locus: " << std::string_view(variable) << " is \"" << value
                                   << "\"; write " << remedy);
  }
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION char const* switch_variable(char const* name) {
  char const* const v = from_environment(name);
  return v && *v && !(v[0] == '0' && v[1] == '\0') ? v : nullptr;
}

}  // namespace locus::runtime

LOCUS_COLD_END
