// SPDX-License-Identifier: Apache-2.0
// Reads CUDA_VISIBLE_DEVICES, and finds entries that the driver drops silently.
#pragma once
#include <cstdlib>  // getenv

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/core/text.hpp>    // find_char

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: CUDA_VISIBLE_DEVICES, parsed. The driver shows the listed cards in the order of the list,
///        numbered from 0; the first entry that it does not understand ends the list.
struct visible_variable {
  static constexpr char const* name = "CUDA_VISIBLE_DEVICES";
  bool is_set = false;
  std::string_view value;
  int listed = 0;              // valid entries before the end of the list
  std::string_view malformed;  // the first entry that is neither number nor UUID, or a repeated one
  bool twice = false;
  bool renumbers = false;  // some GPU:k may not be the driver's card k
};

namespace detail {
LOCUS_FUNCTION std::string_view trimmed(std::string_view s);
}  // namespace detail

/// means: the number that the text writes, at least 0; -1 if it is not a number
LOCUS_FUNCTION int small_number(std::string_view s);

namespace detail {

inline bool begins_with(std::string_view s, std::string_view with) {
  return s.substr(0, with.size()) == with;
}

}  // namespace detail

/// means: calls f(entry) for each entry between commas, without spaces, until f returns false
template <class F>
void each_entry(std::string_view list, F&& f) {
  while (true) {
    std::size_t const comma = find_char(list, ',');
    if (!f(detail::trimmed(list.substr(0, comma))) || comma == list.npos) return;
    list.remove_prefix(comma + 1);
  }
}

LOCUS_FUNCTION visible_variable read_visible_variable(char const* value);
inline visible_variable read_visible_variable() {
  return read_visible_variable(std::getenv(visible_variable::name));
}

/// means: entry number `number`, counted from 0; empty if there are fewer
LOCUS_FUNCTION std::string_view entry_of(visible_variable const& v, int number);
/// means: warns if the driver shows fewer cards than are listed, and names the first hidden entry
LOCUS_FUNCTION void tell_hidden(visible_variable const& v, int shown_by_driver);

/// fails: configuration_error naming variable, value and the malformed entry: the driver would hide
///        cards silently
LOCUS_FUNCTION void require_visible_variable();

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/machine/bodies/visible_variable.hpp>  // bodies of the functions above
#endif
