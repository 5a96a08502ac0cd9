// SPDX-License-Identifier: Apache-2.0
// Mini-batches of tensors on the host, in an order that depends only on the seed and the epoch.
#pragma once
#include <locus/data/dataset.hpp>  // from_tensors

namespace locus::data {

/// How tensors are divided into batches.
/// units: rows in batch_size
struct batch_options {
  std::int64_t batch_size = 32;
  bool shuffle = true;          // another order in each epoch
  std::uint64_t seed = 1;       // decides the orders
  bool drop_remainder = false;  // the last batch may be short
};

/// means: batches of rows of several host tensors
/// shape: all tensors have the same number of rows; the first axis of a batch counts its rows, the
///        other axes are those of the tensors
/// cost:  the rows of a batch are copied when it is read
/// fails: shape_error, when the tensors differ in rows; configuration_error for a batch size below
///        1
/// after: tf.data.Dataset.from_tensor_slices(...).shuffle(rows).batch(n)
template <class... Tensors>
auto batches(batch_options const& options, Tensors const&... tensors) {
  auto const rows = from_tensors(tensors...);
  // without shuffle, a buffer of one element keeps the order
  return rows.shuffle({.buffer = options.shuffle ? unknown : 1, .seed = options.seed})
      .batch(options.batch_size, {.drop_remainder = options.drop_remainder});
}

/// fails: shape_error naming the record, for a label outside [0, classes)
template <class Labels>
void require_labels(Labels const& labels, std::int64_t classes) {
  for (std::int64_t i = 0; i < labels.size(); ++i)
    detail::require_label(labels.data()[i], i, classes);
}

}  // namespace locus::data
