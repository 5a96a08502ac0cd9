// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: what it says, and what the driver makes of it without a word.
#pragma once
#include <cstdlib>  // getenv

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/text.hpp>    // find_char

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: CUDA_VISIBLE_DEVICES taken apart. The driver shows the cards that it lists, in its order
///        and numbered from 0; the first entry that it does not understand ends the list.
struct visible_variable {
  static constexpr char const* name = "CUDA_VISIBLE_DEVICES";
  bool is_set = false;
  std::string_view value;
  int listed = 0;              // entries before the end
  std::string_view malformed;  // the first that is no number, -1 or UUID, or that comes twice
  bool twice = false;
  bool renumbers = false;  // GPU:k is not the driver's card k
};

namespace detail {
LOCUS_FUNCTION std::string_view trimmed(std::string_view s);
/// means: a number from 0, or -1 where it is none
LOCUS_FUNCTION int small_number(std::string_view s);
inline bool begins_with(std::string_view s, std::string_view with) {
  return s.substr(0, with.size()) == with;
}
/// means: f(entry) for each part between commas, until it says false
template <class F>
void each_entry(std::string_view list, F&& f) {
  while (true) {
    std::size_t const comma = find_char(list, ',');
    if (!f(trimmed(list.substr(0, comma))) || comma == list.npos) return;
    list.remove_prefix(comma + 1);
  }
}
}  // namespace detail

LOCUS_FUNCTION visible_variable read_visible_variable(char const* value);
inline visible_variable read_visible_variable() {
  return read_visible_variable(std::getenv(visible_variable::name));
}

/// means: an entry, counted from 0; empty where there are not as many
LOCUS_FUNCTION std::string_view entry_of(visible_variable const& v, int number);
/// means: says which entries the driver dropped: it shows fewer cards than are listed
LOCUS_FUNCTION void tell_hidden(visible_variable const& v, int shown_by_driver);

/// fails: configuration_error naming variable, value and entry: the driver would hide cards silently
LOCUS_FUNCTION void require_visible_variable();

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/visible_variable.hpp>  // bodies of the functions above
#endif
