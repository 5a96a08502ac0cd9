// SPDX-License-Identifier: Apache-2.0
// Several passes as one, and parts of a pass: repeat, take, skip, shard.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/data/stage.hpp>   // opening
#include <optional>               // optional

LOCUS_LEAN_BEGIN

namespace locus::data::detail {

/// means: `passes` passes, each with its own order; endless if negative. A pass without elements
///        ends the sequence
/// fails: shape_error for a pass without elements in an endless sequence
template <class Up>
struct repeat_stage {
  using element = typename Up::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = Up::is_batched,
                        is_of_rank = Up::is_of_rank;
  Up up;
  std::int64_t passes;

  class cursor {
   public:
    cursor(repeat_stage const& s, opening const& o) : of_(s), begin_(o) {}
    std::optional<element> next() {
      for (;;) {
        if (!up_) {
          if (of_.passes >= 0 && pass_ == of_.passes) return std::nullopt;
          opening o = begin_;
          auto const n =
              static_cast<std::uint64_t>(of_.passes < 0 ? std::int64_t(1) << 32 : of_.passes);
          o.epoch = begin_.epoch * n + static_cast<std::uint64_t>(pass_);
          up_.emplace(of_.up, o);
          any_ = false;
        }
        if (std::optional<element> e = up_->at.next()) {
          any_ = true;
          return e;
        }
        if (!any_ && of_.passes < 0)
          throw shape_error(
              "locus: a dataset without elements is repeated for ever; look at what it reads");
        up_.reset();
        pass_ = any_ ? pass_ + 1 : of_.passes;
      }
    }

   private:
    struct inner {  // a cursor may be immovable
      inner(Up const& up, opening const& o) : at(up.open(o)) {}
      decltype(std::declval<Up const&>().open(opening{})) at;
    };
    repeat_stage const& of_;
    opening begin_;
    std::optional<inner> up_;
    std::int64_t pass_ = 0;
    bool any_ = false;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const { return times(up.size(), passes); }
  std::int64_t rows() const { return times(up.rows(), passes); }
};

/// every step-th element behind the skipped ones
template <class Up>
struct part_stage {
  using element = typename Up::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = Up::is_batched,
                        is_of_rank = Up::is_of_rank;
  Up up;
  std::int64_t skipped, taken, step = 1;  // taken < 0: all

  class cursor {
   public:
    cursor(part_stage const& s, opening const& o)
        : up_(s.up.open(o)), skip_(s.skipped), left_(s.taken), step_(s.step) {}
    std::optional<element> next() {
      for (; skip_ > 0; --skip_)
        if (!up_.next()) skip_ = 1, left_ = 0;
      if (left_ == 0) return std::nullopt;
      if (left_ > 0) --left_;
      skip_ = step_ - 1;
      return up_.next();
    }

   private:
    decltype(std::declval<Up const&>().open(opening{})) up_;
    std::int64_t skip_, left_, step_;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const {
    std::int64_t const behind = without_first(up.size(), skipped),
                       left = behind > 0 ? (behind - 1) / step + 1 : behind;
    return taken < 0 ? left : at_most(left, taken);
  }
  std::int64_t rows() const { return is_batched ? unknown : size(); }
};

}  // namespace locus::data::detail

LOCUS_LEAN_END
