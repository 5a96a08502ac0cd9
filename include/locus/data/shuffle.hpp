// SPDX-License-Identifier: Apache-2.0
// Elements in an order that depends only on seed and epoch.
#pragma once
#include <optional>  // optional
#include <vector>    // vector

#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/data/stage.hpp>   // opening, random_bits
#include <locus/ops/philox.hpp>   // random_bits

LOCUS_LEAN_BEGIN

namespace locus::data {

/// How elements are shuffled.
struct shuffle_options {
  std::int64_t buffer = unknown;  // elements to choose from; unknown: a whole pass
  std::uint64_t seed = 1;         // decides the orders
  bool each_epoch = true;         // another order in each pass
};

namespace detail {

/// means: gives a random element of the buffer, and then fills the buffer with the next element of
///        the source. With a buffer as large as a pass, every order is equally likely.
/// after: tf.data's shuffle, with Philox
template <class Up>
struct shuffle_stage {
  using element = typename Up::element;
  static constexpr bool is_shuffled = true, is_batched = Up::is_batched,
                        is_of_rank = Up::is_of_rank;
  Up up;
  shuffle_options options;

  class cursor {
   public:
    cursor(shuffle_stage const& s, opening const& o)
        : up_(s.up.open(o)), seed_(s.options.seed), room_(s.options.buffer) {
      if (s.options.each_epoch) seed_ += o.epoch * 0x9E3779B97F4A7C15u;
      constexpr std::int64_t most = 1 << 20;  // further slots are made when they are needed
      if (std::int64_t const n = at_most(s.up.size(), room_ < 0 || room_ > most ? most : room_);
          n > 0)
        buffer_.reserve(static_cast<std::size_t>(n));
    }
    std::optional<element> next() {
      while (!ended_ && (room_ < 0 || std::int64_t(buffer_.size()) < room_)) {
        std::optional<element> e = up_.next();
        if (e)
          buffer_.push_back(*std::move(e));
        else
          ended_ = true;
      }
      if (buffer_.empty()) return std::nullopt;
      std::size_t const k = random_bits(seed_, drawn_++) % buffer_.size();
      std::optional<element> out(std::move(buffer_[k]));
      if (k + 1 != buffer_.size()) buffer_[k] = std::move(buffer_.back());
      buffer_.pop_back();
      return out;
    }

   private:
    decltype(std::declval<Up const&>().open(opening{})) up_;
    std::vector<element> buffer_;
    std::uint64_t seed_;
    std::int64_t room_, drawn_ = 0;
    bool ended_ = false;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const { return up.size(); }
  std::int64_t rows() const { return up.rows(); }
};

}  // namespace detail

}  // namespace locus::data

LOCUS_LEAN_END
