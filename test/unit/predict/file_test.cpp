// SPDX-License-Identifier: Apache-2.0
// Machines in files, predictions as text and as pictures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>
#include <unistd.h>

#include <locus/predict.hpp>

#include "../../message_of.hpp"
#include "../locale_with_comma.hpp"

namespace file_test {

using namespace locus;

namespace {

/// a file that is there as long as it lives
class written {
 public:
  explicit written(std::string const& text)
      : path("predict_file_test." + std::to_string(getpid()) + ".csv") {
    std::FILE* const f = std::fopen(path.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), f);
    std::fclose(f);
  }
  written(written const&) = delete;
  ~written() { std::remove(path.c_str()); }
  std::string path;
};

std::string const good = "# locus machine 1\n"
                         "# a comment\n"
                         "name,,,a host\n"
                         "replicas_per_node,,4,\n"
                         "overlaps,,0,\n"
                         "float_operations_per_second,,9e10,measured\n"
                         "double_operations_per_second,,4e10,measured\n"
                         "bytes_per_second,,1e10,measured\n"
                         "launch_seconds,,1e-6,measured, with a comma\n"
                         "kernel,conv2d,8e10,measured\n"
                         "slowdown,2,1.1,measured\n"
                         "slowdown,4,2.2,measured\n"
                         "memory_slowdown,4,4.4,measured\n"
                         "reduce,2:1000,1e-5,measured\n"
                         "reduce,2:100000,1e-4,measured\n"
                         "reduce,4:1000,3e-5,measured\n"
                         "read,4096,2e-6,measured\n"
                         "end,,,\n";

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
std::string error_of(std::string const& text) {
  written const f(text);
  return message_of<bad_file>([&] { static_cast<void>(machines::from_file(f.path)); });
}

}  // namespace

TEST_CASE("a machine in a file") {
  written const f(good);
  auto const m = machines::from_file(f.path);
  CHECK(m.name == "a host");
  CHECK(m.replicas_per_node == 4);
  CHECK(!m.overlaps);
  CHECK(m.float_operations_per_second.value == 9e10);
  CHECK(m.launch_seconds.source == "measured, with a comma");
  CHECK(m.kernel_count == 1);
  CHECK(m.shared_count == 2);
  CHECK(m.shared[1].memory_factor.value == 4.4);
  CHECK(m.reduce_count == 2);
  CHECK(m.reduces[0].count == 2);
  CHECK(m.reduces[1].at[0].seconds == 3e-5);
  CHECK(m.reads.count == 1);
  CHECK(m.reads.at[0].bytes == 4096);
  CHECK(m.reads.at[0].seconds == 2e-6);
  step_list s(4);
  s.measured("all", 1e-3).all_reduce(1000);
  CHECK(predict(s, m, {.replicas = 2}).seconds() == doctest::Approx(1.1e-3 + 1e-5));
}

TEST_CASE("files that are no machine say what is wrong, and where") {
  auto const says = [](std::string const& text, std::string const& what) {
    std::string const error = error_of(text);
    CHECK_MESSAGE(error.find(what) != std::string::npos, error);
  };
  says("", "it is empty");
  says("float_operations_per_second,,1,x\n", "the first line is not '# locus machine 1'");
  says(replaced(good, "end,,,\n", ""), "it was cut off");
  says(good.substr(0, good.size() - 1), "the last line has no end");
  says(good.substr(0, 160), "line 6");
  says(replaced(good, "bytes_per_second,,1e10,measured\n", ""), "bytes_per_second is missing");
  says(replaced(good, ",,1e10", ",,-1e10"), "'-1e10' is negative");
  says(replaced(good, ",,1e10", ",,nan"), "'nan' is no number");
  says(replaced(good, ",,1e10", ",,inf"), "'inf' is no number");
  says(replaced(good, ",,1e10", ",,1e10x"), "'1e10x' is no number");
  says(replaced(good, ",,1e10", ",,"), "'' is no number");
  says(replaced(good, ",,1e10", ",,0"), "bytes_per_second is missing");
  says(replaced(good, "1e10,measured", "1e10,"), "bytes_per_second has no source");
  says(replaced(good, "launch_seconds", "lunch_seconds"), "'lunch_seconds' is no constant");
  says(replaced(good, "replicas_per_node,,4", "replicas_per_node,,2.5"), "no number of replicas");
  says(replaced(good, "replicas_per_node,,4,", "nodes,,0,"),
       "'0' is no number of replicas or nodes");
  says(replaced(good, "replicas_per_node,,4", "replicas_per_node,,1e9"), "no number of replicas");
  says(replaced(good, "2:100000", "100000"), "not written replicas:bytes");
  says(replaced(good, "2:100000", "2:10"), "bytes do not rise");
  says(replaced(good, "slowdown,4", "slowdown,1"), "slowdown");
  says(replaced(good, "memory_slowdown,4", "memory_slowdown,2"), "does not stand behind");
  says(good + "nodes,,1,\n", "a line follows 'end'");
  says(std::string(2 << 20, 'x'), "more than 1 MiB");
  CHECK(message_of<bad_file>([] {
          static_cast<void>(machines::from_file("not/there.csv"));
        }).find("no file 'not/there.csv'") != std::string::npos);
}

TEST_CASE(
    "the text of a prediction says what it is, its bounds, its sources and what it leaves out") {
  step_list s(64);
  s.measured("forward", 3e-3)
      .measured("backward", 6e-3)
      .all_reduce(25e6)
      .measured("backward", 1e-3);
  auto const p = predict(s, machines::hgx_h200{.nodes = 8});
  std::ostringstream out;
  explain(out, p);
  std::string const text = out.str();
  CHECK(text.rfind("predicted, not measured: HGX H200, 8 nodes of 8 replicas", 0) == 0);
  for (std::string const row : {"| 1 | ", "| 2 | ", "| 64 | ", "| 1024 | "})
    CHECK_MESSAGE(text.find("\n" + row) != std::string::npos, row);
  for (std::string const word : {"compute", "all-reduce", "exposed", "stragglers", "input",
                                 "nccl-tests on 8 x H200", "data sheet", "assumed"})
    CHECK_MESSAGE(text.find(word) != std::string::npos, word);
  // each row has three bounds: of the step, of the exposed time, of the efficiency
  std::istringstream lines(text);
  int rows = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.size() > 2 && line[0] == '|' && line[2] >= '1' && line[2] <= '9') {
      ++rows;
      CHECK(std::count(line.begin(), line.end(), '[') == 3);
    }
  CHECK(rows == p.point_count);
  machines::description const m = p.machine;
  machines::for_each_constant(m, [&](std::string_view name, machines::constant const& c, bool) {
    if (c.value > 0)
      CHECK_MESSAGE(text.find(std::string(name) + " | ") != std::string::npos, std::string(name));
  });

  std::ostringstream three;  // replicas that are no power of two have a row, too
  explain(three, predict(s, machines::hgx_h200{}, {.replicas = 3}));
  CHECK(three.str().find("\n| 3 | ") != std::string::npos);
}

TEST_CASE("a file that anybody changed is a machine that can be predicted, or is refused") {
  std::mt19937 r(5);
  int read = 0, refused = 0;
  for (int k = 0; k < 1500; ++k) {
    std::string text = good;
    for (int changes = 1 + int(r() % 3); changes > 0; --changes) {
      std::size_t const at = r() % text.size();
      switch (r() % 4) {
      case 0: text[at] = char(r() % 256); break;
      case 1: text.erase(at, r() % 9); break;
      case 2: text.insert(at, good, r() % good.size(), r() % 30); break;
      default: text[at] = "0123456789.-e,:\n"[r() % 16];
      }
    }
    written const f(text);
    try {
      auto const m = machines::from_file(f.path);
      step_list s(1 << 20);
      s.kernel("conv2d", {0, 1e9}, {0, 1e6}).all_reduce(1e5);
      CHECK(predict(s, m, {.rows_of_all = std::int64_t(1) << 40}).seconds() >= 0);
      ++read;
    } catch (bad_file const&) {
      ++refused;
    }
  }
  CHECK(read > 50);
  CHECK(refused > 50);
}

TEST_CASE("the picture of a prediction") {
  step_list s(64);
  s.measured("backward", 6e-3).all_reduce(25e6);
  std::ostringstream out;
  explain_svg(out, predict(s, machines::hgx_h100{.nodes = 4}));
  std::string const text = out.str();
  CHECK(text.rfind("<svg", 0) == 0);
  CHECK(text.find("predicted, not measured") != std::string::npos);
  CHECK(text.find("</svg>") == text.size() - 7);
  CHECK(text.find("nan") == std::string::npos);
  locale_with_comma const here;  // a comma would end a number of the picture
  REQUIRE(here.was_set);
  std::ostringstream again;
  explain_svg(again, predict(s, machines::hgx_h100{.nodes = 4}));
  CHECK(again.str() == text);
}

}  // namespace file_test
