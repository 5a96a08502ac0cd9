// SPDX-License-Identifier: Apache-2.0
// Stages of a dataset: descriptions that are copied freely, and the cursors that run through them.
#pragma once
#include <exception>  // exception_ptr
#include <utility>    // move

#include <locus/core/error.hpp>   // error
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES

namespace locus::data {

// A stage has
//   using element = std::tuple<...>;                what one step of a pass gives
//   static constexpr bool is_shuffled, is_batched;
//   auto open(opening const&) const -> a cursor     which looks at the stage; it may be immovable
//   std::int64_t size() const, rows() const;        elements and examples of one pass, or one of:
inline constexpr std::int64_t unknown = -1, infinite = -2;
// A cursor has std::optional<element> next(): empty for ever once a pass has ended.

/// How a pass begins.
struct opening {
  std::uint64_t epoch = 0;  // of the orders
  bool pinned = false;      // batches will be read by GPUs
};

/// Which element of a pass: what random numbers of a map are a function of.
struct position {
  std::uint64_t epoch = 0;
  std::int64_t element = 0;  // in the order in which elements come to the map
};

/// A function of the program's failed on one element.
struct element_error : error {
  element_error(message const& text, std::int64_t number, std::exception_ptr why)
      : error(text), element(number), cause(std::move(why)) {}
  std::int64_t element;
  std::exception_ptr cause;  // what the function threw
};

namespace detail {

/// inside a handler: what was thrown, with the number of the element
[[gnu::cold]] LOCUS_FUNCTION std::exception_ptr name_element(std::string_view what,
                                                             position const& at);

/// n > 0, or one of the words
constexpr std::int64_t at_most(std::int64_t size, std::int64_t n) {
  return size == unknown ? unknown : size == infinite || n < size ? n : size;
}
constexpr std::int64_t without_first(std::int64_t size, std::int64_t n) {
  return size < 0 ? size : size > n ? size - n : 0;
}
constexpr std::int64_t times(std::int64_t size, std::int64_t n) {
  std::int64_t all = 0;
  if (size <= 0 || n < 0) return size == 0 ? 0 : n < 0 ? infinite : size;
  return __builtin_mul_overflow(size, n, &all) ? infinite : all;  // nobody sees its end
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_number(std::string_view what, std::int64_t n,
                                                          std::string_view remedy);

}  // namespace detail

}  // namespace locus::data

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/data/bodies/stage.hpp>  // bodies of the functions above
#endif
