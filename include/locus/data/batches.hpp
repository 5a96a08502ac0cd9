// SPDX-License-Identifier: Apache-2.0
// Mini-batches of tensors on the host, in an order that the seed alone decides.
#pragma once
#include <tuple>    // tuple
#include <utility>  // swap

#include <locus/core/array.hpp>     // dynamic_array
#include <locus/core/error.hpp>     // shape_error
#include <locus/ops/philox.hpp>     // random_bits
#include <locus/tensor/tensor.hpp>  // Tensor

namespace locus::data {

/// How a dataset is cut into batches.
/// units: rows in batch_size
struct batch_options {
  std::int64_t batch_size = 32;
  bool shuffle = true;          // another order in each epoch
  std::uint64_t seed = 1;       // that the orders are functions of
  bool drop_remainder = false;  // the last batch may be short
};

namespace detail {
/// the extents of a batch: those of the whole with an open first axis
template <class E>
struct batch_extents;
template <std::int64_t First, std::int64_t... Rest>
struct batch_extents<Extents<First, Rest...>> {
  using type = Extents<dyn, Rest...>;
};
}  // namespace detail

/// means: rows of several host tensors, in batches of equal rows: for (auto& [x, label] : batches)
/// shape: the first axis is the batch's, the others are those of the tensors
/// cost:  each batch is copied together from its rows
/// fails: shape_error, when the tensors differ in rows or the batch size is not positive
template <class... Tensors>
class Batches {
 public:
  template <class T>
  using batch_of =
      Tensor<typename T::value_type, typename detail::batch_extents<typename T::extents_type>::type,
             CpuDevice>;

  Batches(batch_options const& options, Tensors const&... tensors)
      : options_(options), tensors_(&tensors...) {
    static_assert(
        sizeof...(Tensors) > 0,
        "locus: batches of nothing; name at least one tensor, as in batches({}, x, label)");
    std::int64_t const rows[] = {tensors.extent(0)...};
    rows_ = rows[0];
    for (std::int64_t n : rows)
      if (n != rows_) {
        message text;
        throw shape_error(text << "locus: tensors of one dataset have " << rows_ << " and " << n
                               << " rows; each row needs one entry in every tensor");
      }
    if (options.batch_size <= 0) {
      message text;
      throw shape_error(text << "locus: the batch size is " << options.batch_size
                             << "; write a positive number");
    }
    order_.resize(static_cast<std::size_t>(rows_));
    next_epoch();
  }

  std::int64_t rows() const { return rows_; }
  /// units: batches of one epoch
  std::int64_t size() const {
    std::int64_t const b = options_.batch_size;
    return options_.drop_remainder ? rows_ / b : (rows_ + b - 1) / b;
  }
  /// means: another order of the rows, a function of the seed and the number of the epoch
  /// after: Fisher and Yates, with Philox
  void next_epoch() {
    for (std::int64_t i = 0; i < rows_; ++i) order_[static_cast<std::size_t>(i)] = i;
    if (options_.shuffle)
      for (std::int64_t i = rows_ - 1; i > 0; --i) {
        auto const j = random_bits(options_.seed + epoch_ * 0x9E3779B97F4A7C15u, i) %
                       static_cast<std::uint64_t>(i + 1);
        std::swap(order_[static_cast<std::size_t>(i)], order_[j]);
      }
    ++epoch_;
  }

  auto batch(std::int64_t number) const {
    std::int64_t const begin = number * options_.batch_size;
    std::int64_t const n =
        rows_ - begin < options_.batch_size ? rows_ - begin : options_.batch_size;
    return std::apply(
        [&](auto const*... t) {
          return std::tuple<batch_of<Tensors>...>(rows_of(*t, begin, n)...);
        },
        tensors_);
  }

  class iterator {
   public:
    iterator(Batches const& of, std::int64_t at) : of_(&of), at_(at) {}
    auto operator*() const { return of_->batch(at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(iterator const& o) const { return at_ != o.at_; }

   private:
    Batches const* of_;
    std::int64_t at_;
  };
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size()}; }

 private:
  template <class T>
  batch_of<T> rows_of(T const& whole, std::int64_t begin, std::int64_t n) const {
    using Batch = batch_of<T>;
    shape s = whole.extents().as_shape();
    std::int64_t const row = s.extent[0] ? s.size() / s.extent[0] : 0;
    s.extent[0] = n;
    Batch out{typename Batch::extents_type(s)};
    for (std::int64_t i = 0; i < n; ++i)
      __builtin_memcpy(out.data() + i * row,
                       whole.data() + order_[static_cast<std::size_t>(begin + i)] * row,
                       static_cast<std::size_t>(row) * sizeof(typename T::value_type));
    return out;
  }
  batch_options options_;
  std::tuple<Tensors const*...> tensors_;
  std::int64_t rows_ = 0;
  std::uint64_t epoch_ = 0;
  dynamic_array<std::int64_t> order_;
};

/// means: batches of the rows of several host tensors, which must outlive them
/// shape: all tensors have as many rows
/// cost:  the order of the rows; rows are copied when a batch is asked for
/// fails: shape_error, as Batches
/// after: tf.data.Dataset.from_tensor_slices(...).shuffle(rows).batch(n)
template <class... Tensors>
auto batches(batch_options const& options, Tensors const&... tensors) {
  return Batches<Tensors...>(options, tensors...);
}

/// fails: shape_error naming the record, for a label outside [0, classes)
template <class Labels>
void require_labels(Labels const& labels, int classes) {
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    auto const label = static_cast<std::int64_t>(labels.data()[i]);
    if (label >= 0 && label < classes) continue;
    message text;
    throw shape_error(text << "locus: label " << label << " of record " << i << " is outside [0, "
                           << classes << "); drop the record or name more classes");
  }
}

}  // namespace locus::data
