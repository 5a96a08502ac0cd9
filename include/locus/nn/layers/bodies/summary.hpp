// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/layers/summary.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/layers/summary.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn::detail {

LOCUS_FUNCTION std::string with_commas(std::int64_t n) {
  std::string s = std::to_string(n);
  for (int at = int(s.size()) - 3; at > 0; at -= 3) s.insert(std::size_t(at), ",");
  return s;
}

LOCUS_FUNCTION std::string readable_size(std::int64_t bytes) {
  char const* const units[] = {"B", "KB", "MB", "GB", "TB"};
  double size = double(bytes);
  int k = 0;
  for (; k < 4 && size >= 1024; ++k) size /= 1024;
  auto const hundredths = static_cast<std::int64_t>(size * 100 + 0.5);
  std::string const below = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (below.size() < 2 ? "0" : "") + below + " " +
         units[k];
}

LOCUS_FUNCTION std::string shape_of_batch(shape const& example) {
  std::string s = "(None";
  for (int a = 0; a < example.rank; ++a)
    s +=
        ", " + (example.extent[a] == dyn ? std::string("None") : std::to_string(example.extent[a]));
  return s + ")";
}

LOCUS_FUNCTION std::string layer_table::text() const {
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

LOCUS_FUNCTION std::string layer_table::line(std::size_t const* width, char const* left,
                                             char const* dash, char const* cross,
                                             char const* right) {
  std::string s = left;
  for (std::size_t k = 0; k < columns; ++k) {
    for (std::size_t i = 0; i < width[k] + 2; ++i) s += dash;
    s += k + 1 < columns ? cross : right;
  }
  return s + "\n";
}

LOCUS_FUNCTION std::string summary_text(std::string_view model,
                                        std::vector<layer_row> const& layers,
                                        std::int64_t optimizer_numbers,
                                        std::int64_t optimizer_bytes) {
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

}  // namespace locus::nn::detail

LOCUS_COLD_END
