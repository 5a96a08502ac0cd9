// SPDX-License-Identifier: Apache-2.0
// The table of a model: its layers, their output extents, and their numbers of parameters.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/shape/shape.hpp>  // shape

LOCUS_COLD_BEGIN

namespace locus::nn {

/// One layer of a model.
struct layer_row {
  std::string name, kind;
  shape output;  // of one example
  std::int64_t parameters = 0, bytes = 0;
  std::int64_t frozen = 0, frozen_bytes = 0;  // the part that is not trained
};

namespace detail {

/// means: "50,240"
LOCUS_FUNCTION std::string with_commas(std::int64_t n);
/// means: "198.79 KB"
LOCUS_FUNCTION std::string readable_size(std::int64_t bytes);
/// means: "(None, 296, 64)"
LOCUS_FUNCTION std::string shape_of_batch(shape const& example);

/// a table of three columns, as Keras draws it
class layer_table {
 public:
  static constexpr std::size_t columns = 3;
  layer_table() { add("Layer (type)", "Output Shape", "Param #"); }
  void add(std::string a, std::string b, std::string c) {
    rows_.push_back({std::move(a), std::move(b), std::move(c)});
  }
  std::string text() const;

 private:
  struct row {
    std::string cell[columns];
  };
  static std::string line(std::size_t const* width, char const* left, char const* dash,
                          char const* cross, char const* right);
  std::vector<row> rows_;
};

/// means: the summary of a model; optimizer_bytes < 0: there is no optimizer yet
/// after: keras.Model.summary
LOCUS_FUNCTION std::string summary_text(std::string_view model,
                                        std::vector<layer_row> const& layers,
                                        std::int64_t optimizer_numbers = -1,
                                        std::int64_t optimizer_bytes = 0);

}  // namespace detail
}  // namespace locus::nn

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/layers/bodies/summary.hpp>  // bodies of the functions above
#endif
