// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/parallel.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION
#include <locus/nn/train/parallel.hpp>  // the declarations

namespace locus::nn {

LOCUS_FUNCTION std::vector<row_range> split_as_torch(std::int64_t rows, int devices) {
  std::vector<row_range> all;
  std::int64_t const most = (rows + devices - 1) / devices;
  for (std::int64_t at = 0; at < rows; at += most)
    all.push_back({at, rows - at < most ? rows - at : most});
  if (all.empty()) all.push_back({});
  return all;
}

LOCUS_FUNCTION std::vector<row_range> split_as_keras(std::int64_t rows, int devices) {
  std::vector<row_range> all;
  all.reserve(std::size_t(devices));
  for (int r = 0; r < devices; ++r)
    all.push_back(
        {rows / devices * r, r + 1 < devices ? rows / devices : rows - rows / devices * r});
  return all;
}

}  // namespace locus::nn

namespace locus::nn::detail {

LOCUS_FUNCTION std::string names_of(device_list const& all) {
  text_buffer<128> text;
  for (int r = 0; r < all.size(); ++r) text << (r ? " " : "") << all[r];
  return std::string(text.view());
}

}  // namespace locus::nn::detail
