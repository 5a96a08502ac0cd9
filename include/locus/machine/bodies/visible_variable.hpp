// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that machine/visible_variable.hpp declares.
#pragma once
#include <locus/core/error.hpp>                // configuration_error
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/visible_variable.hpp>  // the declarations
#include <locus/watch/log.hpp>                 // warn

LOCUS_COLD_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION int small_number(std::string_view s) {
  int n = s.empty() || s.size() > 6 ? -1 : 0;
  for (char c : s) {
    if (n < 0 || c < '0' || c > '9') return -1;
    n = 10 * n + (c - '0');
  }
  return n;
}

LOCUS_FUNCTION visible_variable read_visible_variable(char const* value) {
  visible_variable v;
  if (!value) return v;
  v.is_set = true, v.value = value;
  if (detail::trimmed(v.value).empty()) return v;
  each_entry(v.value, [&](std::string_view entry) {
    if (entry == "-1" || entry == "NoDevFiles") return false;  // the usual way to hide all cards
    int const card = small_number(entry);
    bool const uuid = detail::begins_with(entry, "GPU-") || detail::begins_with(entry, "MIG-");
    int position = 0;
    each_entry(v.value, [&](std::string_view other) {
      v.twice = v.twice || (position < v.listed && other == entry);
      return ++position < v.listed;
    });
    if ((card < 0 && !uuid) || v.twice) {
      v.malformed = entry.empty() ? std::string_view("(nothing)") : entry;
      return false;
    }
    v.renumbers = v.renumbers || card != v.listed;
    ++v.listed;
    return true;
  });
  return v;
}

LOCUS_FUNCTION std::string_view entry_of(visible_variable const& v, int number) {
  std::string_view found;
  each_entry(v.value, [&](std::string_view entry) {
    if (number == 0) found = entry;
    return number-- > 0;
  });
  return found;
}

LOCUS_FUNCTION void tell_hidden(visible_variable const& v, int shown_by_driver) {
  if (v.listed <= shown_by_driver) return;
  std::string_view const first = entry_of(v, shown_by_driver);
  log_line line;
  warn(line << "locus: " << std::string_view(v.name) << " is \"" << shown(v.value).view()
            << "\", and the driver shows " << shown_by_driver << " of the " << v.listed
            << " cards that it lists: \"" << shown(first).view()
            << "\" and what follows is hidden; "
            << (detail::begins_with(first, "MIG-")
                    ? "a process sees one MIG device at most: write that"
                    : "write numbers or UUIDs of cards that nvidia-smi -L lists"));
}

LOCUS_FUNCTION void require_visible_variable() {
  visible_variable const v = read_visible_variable();
  if (v.malformed.empty()) return;
  message text;
  text << "locus: " << std::string_view(v.name) << " is \"" << shown(v.value).view()
       << "\": its entry \"" << shown(v.malformed).view() << "\" "
       << (v.twice ? "comes twice" : "is no card")
       << ", and the driver would hide cards without a word; write numbers from 0, or UUIDs "
          "(GPU-...), separated by commas";
  throw configuration_error(text);
}

}  // namespace locus::runtime

LOCUS_COLD_END
