// SPDX-License-Identifier: Apache-2.0
// The table of a model: its layers, what they make, and how many parameters they have.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/core/config.hpp>  // LOCUS_COLD_BEGIN
#include <locus/shape/shape.hpp>  // shape

LOCUS_COLD_BEGIN

namespace locus::nn {

/// One layer of a model.
struct layer_row {
  std::string name, kind;
  shape output;  // of one example
  std::int64_t parameters = 0, bytes = 0;
  std::int64_t frozen = 0, frozen_bytes = 0;  // of these, what is not trained
};

namespace detail {

/// 50,240
inline std::string with_commas(std::int64_t n) {
  std::string s = std::to_string(n);
  for (int at = int(s.size()) - 3; at > 0; at -= 3) s.insert(std::size_t(at), ",");
  return s;
}
/// 198.79 KB
inline std::string readable_size(std::int64_t bytes) {
  char const* const units[] = {"B", "KB", "MB", "GB", "TB"};
  double size = double(bytes);
  int k = 0;
  for (; k < 4 && size >= 1024; ++k) size /= 1024;
  auto const hundredths = static_cast<std::int64_t>(size * 100 + 0.5);
  std::string const below = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (below.size() < 2 ? "0" : "") + below + " " +
         units[k];
}
/// (None, 296, 64)
inline std::string shape_of_batch(shape const& example) {
  std::string s = "(None";
  for (int a = 0; a < example.rank; ++a)
    s +=
        ", " + (example.extent[a] == dyn ? std::string("None") : std::to_string(example.extent[a]));
  return s + ")";
}

/// a table of three columns, as Keras draws it
class layer_table {
 public:
  static constexpr std::size_t columns = 3;
  layer_table() { add("Layer (type)", "Output Shape", "Param #"); }
  void add(std::string a, std::string b, std::string c) {
    rows_.push_back({std::move(a), std::move(b), std::move(c)});
  }
  std::string text() const {
    std::size_t width[columns] = {31, 22, 13};
    for (auto const& r : rows_)
      for (std::size_t k = 0; k < columns; ++k)
        if (r.cell[k].size() > width[k]) width[k] = r.cell[k].size();
    std::string s = line(width, "┏", "━", "┳", "┓");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == 1) s += line(width, "┡", "━", "╇", "┩");
      if (i > 1) s += line(width, "├", "─", "┼", "┤");
      for (std::size_t k = 0; k < columns; ++k) {
        std::string const pad(width[k] - rows_[i].cell[k].size(), ' ');
        s += i == 0 ? "┃ " : "│ ";
        s += k + 1 == columns ? pad + rows_[i].cell[k] : rows_[i].cell[k] + pad;
        s += ' ';
      }
      s += i == 0 ? "┃\n" : "│\n";
    }
    return s + line(width, "└", "─", "┴", "┘");
  }

 private:
  struct row {
    std::string cell[columns];
  };
  static std::string line(std::size_t const* width, char const* left, char const* dash,
                          char const* cross, char const* right) {
    std::string s = left;
    for (std::size_t k = 0; k < columns; ++k) {
      for (std::size_t i = 0; i < width[k] + 2; ++i) s += dash;
      s += k + 1 < columns ? cross : right;
    }
    return s + "\n";
  }
  std::vector<row> rows_;
};

/// means: the summary of a model; optimizer_bytes < 0: there is no optimizer yet
/// after: keras.Model.summary
inline std::string summary_text(std::string_view model, std::vector<layer_row> const& layers,
                                std::int64_t optimizer_numbers = -1,
                                std::int64_t optimizer_bytes = 0) {
  layer_table table;
  std::int64_t all = 0, bytes = 0, frozen = 0, frozen_bytes = 0;
  for (layer_row const& r : layers) {
    table.add(r.name + " (" + r.kind + ")", shape_of_batch(r.output), with_commas(r.parameters));
    all += r.parameters, bytes += r.bytes, frozen += r.frozen, frozen_bytes += r.frozen_bytes;
  }
  auto const line = [](char const* what, std::int64_t n, std::int64_t size) {
    return std::string(" ") + what + " params: " + with_commas(n) + " (" + readable_size(size) +
           ")\n";
  };
  bool const trains = optimizer_numbers >= 0;
  std::string s = "Model: \"" + std::string(model) + "\"\n" + table.text();
  s += line("Total", all + (trains ? optimizer_numbers : 0), bytes + optimizer_bytes);
  s += line("Trainable", all - frozen, bytes - frozen_bytes);
  s += line("Non-trainable", frozen, frozen_bytes);
  if (trains) s += line("Optimizer", optimizer_numbers, optimizer_bytes);
  return s;
}

}  // namespace detail
}  // namespace locus::nn

LOCUS_COLD_END
