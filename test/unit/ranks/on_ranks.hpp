// SPDX-License-Identifier: Apache-2.0
// One function on several ranks, with the replicas of each, beside the same function on one.
#pragma once
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <string>

#include <locus/tensor/any_tensor.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/ranks.hpp>

namespace rank_tests {

using namespace locus;
using doubles = std::vector<double>;

/// the replicas of each rank: 0 is a rank without GPUs, whose replica is its CPU
inline std::vector<std::vector<int>> const layouts = {
    {0}, {2}, {0, 0}, {1, 1}, {3, 1}, {0, 2, 1}, {2, 0, 0, 3}, {0, 0, 0, 0}};

/// a folder for the files of a test, made and removed by the parent of the ranks
struct own_folder {
  std::string const path = [] {
    char name[] = "/tmp/locus-ranks-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  own_folder() = default;
  own_folder(own_folder const&) = delete;
  ~own_folder() { std::filesystem::remove_all(path); }
};

inline std::string written(std::vector<int> const& layout) {
  std::string text = "GPUs of the ranks:";
  for (int const gpus : layout) text += " " + std::to_string(gpus);
  return text;
}
inline int replicas_of(std::vector<int> const& layout) {
  int all = 0;
  for (int const gpus : layout) all += gpus > 0 ? gpus : 1;
  return all;
}

/// means: calls check(end) for what each rank of each layout returned
template <class F, class Check>
void on_all_layouts(F const& f, Check const& check, bool adds = true) {
  for (std::vector<int> const& layout : layouts) {
    INFO(written(layout));
    auto const ends = testing::on_ranks(int(layout.size()), f, {.gpus = layout, .adds = adds});
    for (std::size_t r = 0; r < ends.size(); ++r) {
      INFO("rank ", r);
      REQUIRE(ends[r].error == "");
      REQUIRE(ends[r].status == 0);
      check(layout, ends[r].numbers);
    }
  }
}

/// means: adds the elements of a tensor, which may be on any devices
template <class X>
void put(doubles& to, X const& x) {
  auto const host = locus::to<CpuDevice>(x);
  for (std::int64_t i = 0; i < host.size(); ++i) {
    auto const v = host.data()[i];
    if constexpr (requires { v.real(); }) {
      to.push_back(double(v.real())), to.push_back(double(v.imag()));
    } else
      to.push_back(static_cast<double>(v));
  }
}

}  // namespace rank_tests
