// SPDX-License-Identifier: Apache-2.0
// Ids and indices in the texts of errors: their numbers, and where they stand.
#pragma once
#include <cstdint>      // int64_t
#include <string_view>  // string_view
#include <type_traits>  // is_unsigned

#include <locus/core/error.hpp>  // message
#include <locus/shape/tile.hpp>  // call_context

namespace locus::algorithms {

/// An id of any integer type.
struct id_number {
  std::int64_t bits;
  bool is_unsigned;
  template <class Id>
  constexpr id_number(Id id)
      : bits(static_cast<std::int64_t>(id)), is_unsigned(std::is_unsigned_v<Id>) {}

  void write(message& text) const {
    if (is_unsigned)
      text << static_cast<std::size_t>(bits);
    else
      text << bits;
  }
};

/// Where an id stands: among all ids, or among those that a replica has.
struct id_place {
  std::int64_t number = 0;
  int replica = -1;  // -1: among all

  constexpr id_place behind(std::int64_t ids) const { return {number + ids, replica}; }
  void write(message& text, std::string_view ids) const {
    text << " (element " << number << " of its " << ids;
    if (replica >= 0) text << " on replica " << replica;
    text << ")";
  }
};
/// means: the place of the first id that a kernel sees; whole: every replica has all ids; each: the ids of
///        a row; here.rows above 0: rows are cut. Otherwise only the kernel's replica is known
constexpr id_place first_place(call_context const& here, bool whole, std::int64_t each) {
  if (whole || here.replicas == 1) return {};
  return here.rows > 0 ? id_place{here.first_row * each} : id_place{0, here.replica};
}

}  // namespace locus::algorithms
