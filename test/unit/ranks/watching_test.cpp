// SPDX-License-Identifier: Apache-2.0
// The log and the trace of each rank: devices with the number of the rank, a file for each rank.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>

#include "on_ranks.hpp"

namespace watching_test {

using namespace rank_tests;

namespace {

std::string text_of(std::filesystem::path const& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
bool has(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("log lines name the rank, and each rank writes files of its own") {
  own_folder const here;
  std::string const& folder = here.path;
  auto const job = [&] {
    debugging::start_trace(folder + "/trace.json");
    debugging::set_log_device_placement(true);
    std::ostringstream lines;
    debugging::log_to(lines);
    Tensor<float, Dextents<1>, Sharded<0, Ranks<CpuDevice>>> x(
        uniform<float>(dextents<1>(8), seed{1}));
    float const first = fetch(sum(x));
    std::string const task = "/job:worker/replica:0/task:" + std::to_string(ranks::rank());
    doubles out{double(has(lines.str(), task + "/device:CPU:0")),
                double(has(lines.str(), "task:" + std::to_string(1 - ranks::rank()))),
                double(has(lines.str(), "a fold on the host of each rank, then among the ranks"))};
    debugging::log_to_json(folder + "/log.json");
    x = x + first;
    debugging::log_to_json(folder + "/with_%r.json");
    x = x * first;
    debugging::set_log_sink(nullptr);
    debugging::stop_trace();
    return out;
  };
  for (testing::rank_end const& e : testing::on_ranks(2, job)) {
    CHECK(e.error == "");
    CHECK(e.numbers == doubles{1, 0, 1});
  }
  for (std::string const r : {"0", "1"}) {
    CHECK(has(text_of(folder + "/log.json." + r), "\"rank\":" + r));
    CHECK(has(text_of(folder + "/with_" + r + ".json"), "\"rank\":" + r));
    std::string const trace = text_of(folder + "/trace.json." + r);
    CHECK(has(trace, ", rank " + r));
    CHECK(has(trace, "reduce"));
  }
  CHECK_FALSE(std::filesystem::exists(folder + "/log.json"));
}

TEST_CASE("lines on stderr begin with the number of the rank") {
  own_folder const here;
  std::string const& folder = here.path;
  auto const ends = testing::on_ranks(2, [&] {
    std::string const path = folder + "/" + std::to_string(ranks::rank());
    if (!std::freopen(path.c_str(), "w", stderr)) return doubles{-1};
    debugging::set_log_device_placement(true);
    Tensor<float, Dextents<1>, Mirrored<Ranks<CpuDevice>>> x(zeros<float>(dextents<1>(8)));
    x = x + 2.f;
    return doubles{};
  });
  for (testing::rank_end const& e : ends) CHECK(e.error == "");
  for (std::string const r : {"0", "1"}) CHECK(has(text_of(folder + "/" + r), "[" + r + "] "));
}

}  // namespace watching_test
