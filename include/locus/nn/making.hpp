// SPDX-License-Identifier: Apache-2.0
// While a model is made: names for its layers, and the states that stand at several places.
#pragma once
#include <memory>   // shared_ptr
#include <string>   // string
#include <utility>  // pair
#include <vector>   // vector

#include <locus/core/config.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

/// means: "MaxPooling1D" as Keras names a layer of it: "max_pooling1d"
inline std::string snake_case(std::string_view kind) {
  auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::string s;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    bool const word =
        i > 0 && upper(kind[i]) &&
        ((i + 1 < kind.size() && lower(kind[i + 1])) || (kind[i - 1] >= 'a' && kind[i - 1] <= 'z'));
    if (word) s += '_';
    s += upper(kind[i]) ? static_cast<char>(kind[i] - 'A' + 'a') : kind[i];
  }
  return s;
}

/// A state that several places of a model share.
struct shared_cell {
  void const* layer;  // the description's identity
  void const* type;   // of the cell
  std::shared_ptr<void> cell;
};

/// What the layers of one model have in common while they are made.
class making {
 public:
  making() : outer_(current()) { current() = this; }
  making(making const&) = delete;
  ~making() { current() = outer_; }
  static making*& current() {
    static thread_local making* now = nullptr;
    return now;
  }
  /// means: "dense", "dense_1", ...
  std::string name(std::string_view kind) {
    std::string base = snake_case(kind);
    for (auto& [known, count] : counts_)
      if (known == base) return base + "_" + std::to_string(count++);
    counts_.emplace_back(base, 1);
    return base;
  }
  std::vector<shared_cell> cells;

 private:
  making* outer_;
  std::vector<std::pair<std::string, int>> counts_;
};

}  // namespace locus::nn::detail

LOCUS_COLD_END
