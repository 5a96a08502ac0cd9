// SPDX-License-Identifier: Apache-2.0
// Arrays on the host as a sequence of batches, for fit(x, y, {.batch_size = 32, .shuffle = true}).
#pragma once
#include <tuple>    // tuple
#include <utility>  // swap

#include <locus/core/array.hpp>            // dynamic_array
#include <locus/nn/layers/batch_cast.hpp>  // copy_bytes
#include <locus/ops/philox.hpp>            // random_bits
#include <locus/tensor/in_row_order.hpp>   // in_row_order

LOCUS_COLD_BEGIN

namespace locus::nn {

namespace detail {

/// means: order = the numbers 0 to n - 1; shuffled, a permutation that depends on seed and epoch
///        only
/// after: Fisher and Yates, with Philox
inline void put_in_order(dynamic_array<std::int64_t>& order, bool shuffle, std::uint64_t seed,
                         std::uint64_t epoch) {
  std::int64_t const n = std::int64_t(order.size());
  for (std::int64_t i = 0; i < n; ++i) order[std::size_t(i)] = i;
  if (!shuffle) return;
  for (std::int64_t i = n - 1; i > 0; --i) {
    auto const j = random_bits(derived_seed(seed, epoch), i) % std::uint64_t(i + 1);
    std::swap(order[std::size_t(i)], order[std::size_t(j)]);
  }
}
inline void gather_rows(void* to, void const* from, std::int64_t const* order, std::int64_t rows,
                        std::int64_t row_bytes) {
  for (std::int64_t i = 0; i < rows; ++i)
    copy_bytes(static_cast<char*>(to) + i * row_bytes,
               static_cast<char const*>(from) + order[i] * row_bytes, row_bytes);
}
inline void require_rows(std::int64_t x, std::int64_t y, std::string_view what) {
  if (x == y) return;
  message text;
  throw shape_error(text << "locus: " << x << " examples come with " << y << " " << what
                         << "; each example needs one");
}

template <class X>
auto gathered(X const& x, std::int64_t const* order, std::int64_t rows) {
  static_assert(
      std::is_same_v<typename X::policy, CpuDevice>,
      "locus: arrays are cut into batches on the host; write fetch(x), or give a dataset");
  using T = typename X::value_type;
  shape s = x.extents().as_shape();
  std::int64_t const row = s.extent[0] ? s.size() / s.extent[0] : 0;
  s.extent[0] = rows;
  Tensor<T, Dextents<X::rank()>, CpuDevice> r{Dextents<X::rank()>(s)};
  gather_rows(r.data(), x.data(), order, rows, row * std::int64_t(sizeof(T)));
  return r;
}

}  // namespace detail

/// means: batches of arrays on the host: examples, targets, and perhaps a weight for each row; in a
///        new order in each pass if `shuffle`. The arrays must outlive it; those of another order in
///        memory are copied once
template <class X, class... Y>
class array_batches {
 public:
  array_batches(std::int64_t batch_size, bool shuffle, std::uint64_t seed, X const& x,
                Y const&... y)
      : arrays_(locus::internal::in_row_order(x), locus::internal::in_row_order(y)...),
        size_(batch_size), seed_(seed), shuffle_(shuffle) {
    int number = 0;
    (detail::require_rows(x.extent(0), y.extent(0), number++ == 0 ? "targets" : "weights"), ...);
    if (batch_size < 1) {
      message text;
      throw configuration_error(text << "locus: the batch size is " << batch_size
                                     << "; write a positive number");
    }
    order_.resize(std::size_t(x.extent(0)));
  }
  /// units: batches
  std::int64_t size() const { return (std::int64_t(order_.size()) + size_ - 1) / size_; }
  void seek_epoch(std::uint64_t n) { epoch_ = n; }

  class iterator {
   public:
    iterator(array_batches const& of, std::int64_t at) : of_(of), at_(at) {}
    auto operator*() const {
      auto const all = std::int64_t(of_.order_.size());
      std::int64_t const n = all - at_ < of_.size_ ? all - at_ : of_.size_;
      std::int64_t const* const order = &of_.order_[0] + at_;
      return std::apply(
          [&](auto const&... array) {
            return std::make_tuple(detail::gathered(array, order, n)...);
          },
          of_.arrays_);
    }
    iterator& operator++() {
      at_ += of_.size_;
      return *this;
    }
    bool operator!=(iterator const& end) const { return at_ < end.at_; }

   private:
    array_batches const& of_;
    std::int64_t at_;
  };
  iterator begin() {
    detail::put_in_order(order_, shuffle_, seed_, epoch_++);
    return {*this, 0};
  }
  iterator end() const { return {*this, std::int64_t(order_.size())}; }

 private:
  std::tuple<locus::internal::in_row_order_t<X>, locus::internal::in_row_order_t<Y>...> arrays_;
  std::int64_t size_;
  std::uint64_t seed_, epoch_ = 0;
  bool shuffle_;
  dynamic_array<std::int64_t> order_;
};

}  // namespace locus::nn

LOCUS_COLD_END
