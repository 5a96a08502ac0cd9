// SPDX-License-Identifier: Apache-2.0
// Batches: elements stacked into tensors along a new first axis.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/data/field.hpp>   // field, batch_tensor
#include <locus/data/stage.hpp>   // opening
#include <locus/shape/shape.hpp>  // shape
#include <optional>               // optional

namespace locus::data {

/// How elements are put into batches.
struct batch_rule {
  bool drop_remainder = false;  // the last batch of a pass may be short
};

namespace detail {

LOCUS_COLD_BEGIN
LOCUS_FUNCTION void release_pinned(tensor_block& b) noexcept;
/// means: memory for a batch on the host; with `pinned`, page-locked memory for GPUs, while some is
///        left
LOCUS_FUNCTION block_owner make_batch_storage(shape const& extents, element type, int element_bytes,
                                              bool pinned);
[[noreturn]] LOCUS_FUNCTION void refuse_extents(shape const& is, shape const& of_batch,
                                                int component, std::int64_t number);
[[noreturn]] LOCUS_FUNCTION void refuse_no_batch(std::int64_t elements, std::int64_t size);
LOCUS_COLD_END
LOCUS_LEAN_BEGIN

/// one component of a batch to which elements are added
template <class Field>
class column {
 public:
  using traits = field<Field>;
  using value_type = typename traits::value_type;
  using tensor = batch_tensor<Field>;
  static_assert(traits::exists,
                "locus: a batch is made of numbers, std::array, rows and host tensors; map() the "
                "elements to those first");

  void add(Field const& x, std::int64_t row, std::int64_t size, bool pinned, int component,
           std::int64_t number) {
    auto const e = traits::extents(x);
    if (row == 0) {
      row_ = e.as_shape();
      block_ = make(size, pinned);
      elements_ = row_.size();
    } else {
      if constexpr (!decltype(e)::pattern.is_static())
        if (!(e.as_shape() == row_)) refuse_extents(e.as_shape(), row_, component, number);
      if (row == block_->extents.extent[0]) move_to(size, row, pinned);
    }
    auto* const to = static_cast<value_type*>(block_->pieces[0].data) + row * elements_;
    if constexpr (traits::extents_type::rank() == 0)
      *to = *traits::data(x);
    else
      __builtin_memcpy(to, traits::data(x),
                       static_cast<std::size_t>(elements_) * sizeof(value_type));
  }
  /// its first rows as a tensor
  tensor take(std::int64_t rows, bool pinned) {
    if (rows < block_->extents.extent[0]) move_to(rows, rows, pinned);
    tensor t{typename tensor::unmade{}};
    t.block = std::move(block_);
    t.block->tensor = static_cast<tensor_base const*>(&t);
    return t;
  }

 private:
  /// its first rows, in memory for `size` rows
  void move_to(std::int64_t size, std::int64_t rows, bool pinned) {
    block_owner other = make(size, pinned);
    __builtin_memcpy(other->pieces[0].data, block_->pieces[0].data,
                     static_cast<std::size_t>(rows * elements_) * sizeof(value_type));
    block_ = std::move(other);
  }
  block_owner make(std::int64_t rows, bool pinned) const {
    shape s{row_.rank + 1, {rows}};
    for (int a = 0; a < row_.rank; ++a) s.extent[a + 1] = row_.extent[a];
    return make_batch_storage(s, element_of_v<value_type>, sizeof(value_type), pinned);
  }
  shape row_{};
  std::int64_t elements_ = 0;
  block_owner block_;
};

template <class Element>
struct batch_of_elements;
template <class... Fields>
struct batch_of_elements<std::tuple<Fields...>> {
  using columns = std::tuple<column<Fields>...>;
  using element = std::tuple<typename column<Fields>::tensor...>;
};

template <class Up>
struct batch_stage {
  using columns = typename batch_of_elements<typename Up::element>::columns;
  using element = typename batch_of_elements<typename Up::element>::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = true,
                        is_of_rank = Up::is_of_rank;
  Up up;
  std::int64_t batch_size;
  bool drop_remainder;

  class cursor {
   public:
    cursor(batch_stage const& s, opening const& o)
        : of_(s), room_(at_most(s.up.size(), s.batch_size)), pinned_(o.pinned), up_(s.up.open(o)) {
      if (room_ <= 0) room_ = s.batch_size;
    }
    std::optional<element> next() {
      if (ended_) return std::nullopt;
      std::int64_t n = 0;
      try {
        for (; n < of_.batch_size; ++n) {
          auto e = up_.next();
          if (!e) {
            ended_ = true;
            break;
          }
          if (n == room_) room_ = of_.batch_size;  // the source gives more than its size
          add(*e, n, std::make_index_sequence<std::tuple_size_v<columns>>{});
          ++number_;
        }
      } catch (...) {
        ended_ = true;
        throw;
      }
      if (n == 0 || (n < of_.batch_size && of_.drop_remainder)) {
        if (number_ < of_.batch_size && (number_ == 0 || of_.drop_remainder))
          refuse_no_batch(number_, of_.batch_size);
        return std::nullopt;
      }
      return std::apply([&](auto&... c) { return element(c.take(n, pinned_)...); }, columns_);
    }

   private:
    template <std::size_t... Idx>
    void add(typename Up::element const& e, std::int64_t row, std::index_sequence<Idx...>) {
      (std::get<Idx>(columns_).add(std::get<Idx>(e), row, room_, pinned_, int(Idx), number_), ...);
    }
    batch_stage const& of_;
    std::int64_t room_;  // rows: at most those of a pass, as its size says
    bool pinned_, ended_ = false;
    std::int64_t number_ = 0;
    decltype(std::declval<Up const&>().open(opening{})) up_;
    columns columns_;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const {
    std::int64_t const n = up.size();
    return n < 0 ? n : drop_remainder ? n / batch_size : n / batch_size + (n % batch_size != 0);
  }
  std::int64_t rows() const {
    std::int64_t const n = up.rows();
    if (n < 0 || !drop_remainder) return n;
    if constexpr (Up::is_batched) {  // nobody knows the rows of the batches that are dropped
      std::int64_t const batches = up.size();
      return batches >= 0 && batches % batch_size == 0 ? n : unknown;
    }
    return n / batch_size * batch_size;
  }
};

}  // namespace detail

}  // namespace locus::data

LOCUS_LEAN_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/data/bodies/batch.hpp>  // bodies of the functions above
#endif
