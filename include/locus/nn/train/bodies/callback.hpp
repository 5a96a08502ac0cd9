// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/callback.hpp declares.
#pragma once
#include <locus/core/error.hpp>         // configuration_error
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/nn/train/callback.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::nn {

LOCUS_FUNCTION void logs::set(std::string_view name, double value) {
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == name) {
      values[k] = value;
      return;
    }
  names.emplace_back(name), values.push_back(value);
}

LOCUS_FUNCTION bool logs::has(std::string_view name) const {
  for (auto const& n : names)
    if (n == name) return true;
  return false;
}

LOCUS_FUNCTION double logs::operator[](std::string_view name) const {
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == name) return values[k];
  message text;
  text << "locus: nothing is logged as '" << name << "'; there is";
  for (auto const& n : names) text << " " << std::string_view(n);
  throw configuration_error(text);
}

LOCUS_FUNCTION std::vector<double> history::operator[](std::string_view name) const {
  std::vector<double> column;
  for (logs const& e : epochs)
    if (e.has(name)) column.push_back(e[name]);
  if (column.empty()) static_cast<void>((epochs.empty() ? logs{} : epochs.back())[name]);
  return column;
}

LOCUS_FUNCTION void training::refuse_averages() {
  throw configuration_error(
      "locus: the optimizer of this training keeps no averages of weights; wrap it, as in "
      "nn::MovingAverage{nn::Adam{}, 0.99}");
}

}  // namespace locus::nn

LOCUS_COLD_END
