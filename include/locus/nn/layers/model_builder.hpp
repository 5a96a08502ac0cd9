// SPDX-License-Identifier: Apache-2.0
// Used while a model is made: names for its layers, and states that stand at several places of the
// model.
#pragma once
#include <memory>   // shared_ptr
#include <string>   // string
#include <utility>  // pair
#include <vector>   // vector

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION, LOCUS_SHARED_STATE

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

/// means: Keras' name for a layer of that kind: "max_pooling1d" for "MaxPooling1D"
LOCUS_FUNCTION std::string snake_case(std::string_view kind);

/// A state that several places of a model share.
struct shared_cell {
  void const* layer;  // the description's identity
  void const* type;   // of the cell
  std::shared_ptr<void> cell;
};

/// The names and shared states of one model while its layers are made. An object is current during
/// its lifetime.
class making {
 public:
  making() : outer_(current()) { current() = this; }
  making(making const&) = delete;
  ~making() { current() = outer_; }
  LOCUS_SHARED_STATE static making*& current() {
    static thread_local making* now = nullptr;
    return now;
  }
  /// means: the next name for a layer of that kind: "dense", "dense_1", ...
  std::string name(std::string_view kind);
  std::vector<shared_cell> cells;
  /// means: no cell has taken the parameter with this address; now one has
  bool is_new_in_cell(void const* parameter);

 private:
  making* outer_;
  std::vector<std::pair<std::string, int>> counts_;
  std::vector<void const*> in_cells_;
};

}  // namespace locus::nn::detail

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/layers/bodies/model_builder.hpp>  // bodies of the functions above
#endif
