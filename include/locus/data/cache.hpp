// SPDX-License-Identifier: Apache-2.0
// cache: later passes copy the elements that the first pass read.
#pragma once
#include <memory>    // shared_ptr
#include <mutex>     // mutex
#include <optional>  // optional
#include <vector>    // vector

#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/data/stage.hpp>   // opening

LOCUS_LEAN_BEGIN

namespace locus::data::detail {

/// means: the elements of the first pass that reaches its end are kept; later passes copy them
template <class Up>
struct cache_stage {
  static_assert(!Up::is_shuffled,
                "locus: cache() behind shuffle() would freeze one order for all epochs; write "
                "cache() first, then shuffle()");
  using element = typename Up::element;
  static constexpr bool is_shuffled = false, is_batched = Up::is_batched,
                        is_of_rank = Up::is_of_rank;
  using elements = std::vector<element>;
  struct store {
    std::mutex lock;
    std::shared_ptr<elements const> whole;
  };
  Up up;
  std::shared_ptr<store> kept = std::make_shared<store>();  // copies of the dataset share it

  class cursor {
   public:
    cursor(cache_stage const& s, opening const& o) : kept_(s.kept) {
      std::lock_guard hold(kept_->lock);
      whole_ = kept_->whole;
      if (!whole_) up_.emplace(s.up, o);
    }
    std::optional<element> next() {
      if (whole_) {
        if (at_ == whole_->size()) return std::nullopt;
        return (*whole_)[at_++];
      }
      if (ended_) return std::nullopt;
      if (std::optional<element> e = up_->at.next()) {
        read_.push_back(*e);
        return e;
      }
      ended_ = true;
      std::lock_guard hold(kept_->lock);
      if (!kept_->whole) kept_->whole = std::make_shared<elements const>(std::move(read_));
      return std::nullopt;
    }

   private:
    struct inner {
      inner(Up const& up, opening const& o) : at(up.open(o)) {}
      decltype(std::declval<Up const&>().open(opening{})) at;
    };
    std::shared_ptr<store> kept_;
    std::shared_ptr<elements const> whole_;
    std::optional<inner> up_;
    elements read_;
    std::size_t at_ = 0;
    bool ended_ = false;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const { return up.size(); }
  std::int64_t rows() const { return up.rows(); }
};

}  // namespace locus::data::detail

LOCUS_LEAN_END
