// SPDX-License-Identifier: Apache-2.0
// Sources of elements: rows of host tensors, numbers, functions of the program.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/data/field.hpp>   // example, row_extents, as_element
#include <locus/data/stage.hpp>   // opening
#include <optional>               // optional

LOCUS_LEAN_BEGIN

namespace locus::data {

namespace detail {

/// the elements of a tensor, with an owner of their memory
template <class T>
struct rows_of_tensor {
  using value_type = typename T::value_type;
  using extents_type = typename row_extents<typename T::extents_type>::type;
  using field = std::conditional_t<T::rank() == 1, value_type, example<value_type, extents_type>>;

  explicit rows_of_tensor(T const& t) : block(t.block), data(t.data()) {
    shape s{t.rank() - 1, {}};
    row = 1;
    for (int a = 0; a < s.rank; ++a) row *= s.extent[a] = t.extent(a + 1);
    extents = extents_type(s);
  }
  field operator[](std::int64_t i) const {
    if constexpr (T::rank() == 1)
      return data[i];
    else
      return field(data + i * row, extents);
  }
  block_owner block;
  value_type const* data;
  std::int64_t row;
  extents_type extents;
};

template <class... Tensors>
struct tensor_source {
  using element = std::tuple<typename rows_of_tensor<Tensors>::field...>;
  static constexpr bool is_shuffled = false, is_batched = false, is_of_rank = false;
  std::tuple<rows_of_tensor<Tensors>...> tensors;
  std::int64_t count;

  struct cursor {
    tensor_source const* of;
    std::int64_t at = 0;
    std::optional<element> next() {
      if (at == of->count) return std::nullopt;
      std::int64_t const i = at++;
      return std::apply([i](auto const&... t) { return element(t[i]...); }, of->tensors);
    }
  };
  cursor open(opening const&) const { return {this}; }
  std::int64_t size() const { return count; }
  std::int64_t rows() const { return count; }
};

struct range_source {
  using element = std::tuple<std::int64_t>;
  static constexpr bool is_shuffled = false, is_batched = false, is_of_rank = false;
  std::int64_t count;

  struct cursor {
    std::int64_t at, end;
    std::optional<element> next() {
      if (at == end) return std::nullopt;
      return element(at++);
    }
  };
  cursor open(opening const&) const { return {0, count}; }
  std::int64_t size() const { return count; }
  std::int64_t rows() const { return count; }
};

/// fails: shape_error
[[noreturn, gnu::cold]] inline void refuse_size(std::int64_t size, std::int64_t given) {
  message text;
  throw shape_error(text << "locus: a generator of " << size << " elements gave " << given
                         << " in a pass; give from_generator the number of elements of each pass, "
                            "or leave it out");
}

template <class Make>
auto begin_generator(Make const& make, std::uint64_t epoch) {
  if constexpr (std::is_invocable_v<Make const&, std::uint64_t>)
    return make(epoch);
  else
    return make();
}

template <class Make>
struct generator_source {
  using generator = decltype(begin_generator(std::declval<Make const&>(), 0));
  using result = std::invoke_result_t<generator&>;
  static constexpr bool gives_optional = requires(result r) {
    *r;
    bool(r);
  };
  static_assert(gives_optional,
                "locus: a generator returns std::optional of an element, empty at its end; "
                "from_generator takes a function that makes one for each pass");
  using element = as_element_t<decltype(*std::declval<result&>())>;
  static constexpr bool is_shuffled = false, is_batched = false, is_of_rank = false;
  Make make;
  std::int64_t count;

  struct cursor {
    generator pull;
    std::int64_t count, given = 0;
    bool ended = false;
    std::optional<element> next() {
      if (ended) return std::nullopt;
      ended = true;  // an exception leaves it true
      result r = pull();
      if (r) ++given;
      if (count >= 0 && (r ? given > count : given < count)) refuse_size(count, given);
      if (!r) return std::nullopt;
      ended = false;
      return element(*std::move(r));
    }
  };
  cursor open(opening const& o) const { return {begin_generator(make, o.epoch), count}; }
  std::int64_t size() const { return count; }
  std::int64_t rows() const { return count; }
};

/// fails: shape_error
[[gnu::cold]] inline void require_equal_rows(std::int64_t first, std::int64_t other) {
  if (first == other) return;
  message text;
  throw shape_error(text << "locus: tensors of one dataset have " << first << " and " << other
                         << " rows; each row needs one entry in every tensor");
}

}  // namespace detail

}  // namespace locus::data

LOCUS_LEAN_END
