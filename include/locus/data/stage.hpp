// SPDX-License-Identifier: Apache-2.0
// Stages of a dataset: descriptions that can be copied, and the cursors that run through them.
#pragma once
#include <exception>  // exception_ptr
#include <utility>    // move

#include <locus/core/error.hpp>   // error
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES

namespace locus::data {

// A stage has
//   using element = std::tuple<...>;                one element of a pass
//   static constexpr bool is_shuffled, is_batched, is_of_rank;   of rank: a batch has rows of one rank
//   auto open(opening const&) const -> a cursor     which points to the stage; it may be immovable
//   std::int64_t size() const, rows() const;        elements and examples of one pass, or one of
inline constexpr std::int64_t unknown = -1, infinite = -2;
// A cursor has std::optional<element> next(), which stays empty after the end of the pass.

/// The arguments of a pass.
struct opening {
  std::uint64_t epoch = 0;  // decides the orders
  bool pinned = false;      // GPUs will read the batches
};

/// The number of an element in a pass; random numbers of a map depend on it.
struct position {
  std::uint64_t epoch = 0;
  std::int64_t element = 0;  // counted where the elements enter the map
};

/// A function of the program threw on one element.
struct element_error : error {
  element_error(message const& text, std::int64_t number, std::exception_ptr why)
      : error(text), element(number), cause(std::move(why)) {}
  std::int64_t element;
  std::exception_ptr cause;  // the exception of the function
};

namespace detail {

/// called in a handler: the current exception as an element_error with the number of the element
[[gnu::cold]] LOCUS_FUNCTION std::exception_ptr name_element(std::string_view what,
                                                             position const& at);

/// n > 0, `unknown` or `infinite`
constexpr std::int64_t at_most(std::int64_t size, std::int64_t n) {
  return size == unknown ? unknown : size == infinite || n < size ? n : size;
}
constexpr std::int64_t without_first(std::int64_t size, std::int64_t n) {
  return size < 0 ? size : size > n ? size - n : 0;
}
constexpr std::int64_t times(std::int64_t size, std::int64_t n) {
  std::int64_t all = 0;
  if (size <= 0 || n < 0) return size == 0 ? 0 : n < 0 ? infinite : size;
  return __builtin_mul_overflow(size, n, &all) ? infinite : all;  // too many to reach the end
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_number(std::string_view what, std::int64_t n,
                                                          std::string_view remedy);
/// does: what a stage does with a whole pass
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_no_end(std::string_view does,
                                                          std::string_view remedy);

}  // namespace detail

}  // namespace locus::data

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/data/bodies/stage.hpp>  // bodies of the functions above
#endif
