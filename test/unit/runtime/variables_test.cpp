// SPDX-License-Identifier: Apache-2.0
// Every variable of the environment that locus reads, with values that nobody understands: each is
// named with its value and the remedy when devices are first used, by an error that a program catches.
#include <algorithm>
#include <cstdio>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <locus/locus.hpp>

#include "child.hpp"

#ifndef LOCUS_SOURCE_ROOT
#define LOCUS_SOURCE_ROOT "."
#endif

using namespace locus;

namespace {

struct variable {
  char const* name;
  std::vector<char const*> wrong;
  char const* remedy;  // how the sentence ends
  bool at_once =
      true;  // as an error when devices are first used; else a line, and the program goes on
};
char const* const no_folder = "No such file or directory; name a file in a folder that is there";
std::vector<variable> const table = {
    {"LOCUS_NUM_THREADS", {"two", "-1", "1.5", "65537", " "}, "write a number from 0 to 65536"},
    {"LOCUS_THREADS", {"omp", "Pool", "2"}, "write pool or openmp"},
    {"LOCUS_MATMUL", {"onw", "openblas", "1"}, "write blas or own"},
    {"LOCUS_FFT", {"onw", "FFTW", "1", "libfftw3.so.3"}, "write own or fftw"},
    {"LOCUS_INSTRUCTIONS",
     {"AVX2", "sse", "avx512 "},
     "write baseline, avx2 or avx512, or unset it"},
    {"LOCUS_CUDNN",
     {"1", "on", "true", "none"},
     "write off or the path of a libcudnn.so.9, or unset it"},
    {"LOCUS_PEER_COPIES", {"no", "2", "-1"}, "write a number from 0 to 1"},
    {"LOCUS_NVTX", {"yes", "2"}, "write a number from 0 to 1"},
    {"LOCUS_CHECK_RANKS", {"off", "2"}, "write a number from 0 to 1"},
    {"LOCUS_OVERLAP_RANKS", {"on", "-1"}, "write a number from 0 to 1"},
    {"LOCUS_MPI_GPU_MEMORY", {"auto", "2"}, "write a number from 0 to 1"},
    {"LOCUS_QUIET", {"off", "yes", "2", "00"}, "write 0 or 1"},
    {"LOCUS_LOG_ALLOCATIONS", {"off", "true", "2"}, "write 0 or 1"},
    {"LOCUS_SIMULATED_GPUS", {"two", "-1", "17"}, "write a number from 0 to 16"},
    {"LOCUS_FORCE_GPU_ALLOW_GROWTH", {"1", "True", "no"}, "write true or false, or unset it"},
    {"LOCUS_LOG",
     {"txt", "every", "json:", "json", "text,every"},
     "write text or json:PATH, with "
     "every, in front of it for each time instead of once"},
    {"LOCUS_LOG", {"json:/nowhere/log"}, no_folder},
    {"LOCUS_TRACE", {"1", "true", "off"}, "write the path of a file"},
    {"LOCUS_TRACE", {"/nowhere/trace"}, no_folder},
    {"LOCUS_EXPLAIN", {"true", "yes", "off"}, "write 1 for stderr, or the path of a file"},
    {"LOCUS_EXPLAIN", {"/nowhere/plans"}, no_folder, false},  // when the program ends
    {"LOCUS_CBLAS",
     {"openblas", "/nowhere/libcblas.so", "None", "libc.so.6"},
     "write the path of a library, none, or unset it",
     false},
};

std::string setting_of(variable const& v, char const* value) {
  return std::string(v.name) + "=" + value;
}

/// means: the variables that the headers name in a text of their own
std::set<std::string> names_in_headers() {
  std::set<std::string> names;
  for (auto const& file :
       std::filesystem::recursive_directory_iterator(LOCUS_SOURCE_ROOT "/include")) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    for (auto at = text.find("\"LOCUS_"); at != text.npos; at = text.find("\"LOCUS_", at + 1)) {
      auto const end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
      if (end != text.npos && text[end] == '"') names.insert(text.substr(at + 1, end - at - 1));
    }
  }
  return names;
}

}  // namespace

TEST_CASE("each variable that a header names stands in the table") {
  if (!std::filesystem::exists(LOCUS_SOURCE_ROOT "/include/locus/locus.hpp")) {
    MESSAGE("skipped: no headers at " << LOCUS_SOURCE_ROOT << "/include");
    return;
  }
  std::set<std::string> const names = names_in_headers();
  CHECK(names.size() >= 13);
  for (std::string const& name : names) {
    INFO(name);
    CHECK(
        std::any_of(table.begin(), table.end(), [&](variable const& v) { return v.name == name; }));
  }
  for (variable const& v : table) {
    INFO(v.name);
    CHECK(names.count(v.name) == 1);
  }
}

TEST_CASE("a program that uses all that variables speak of" * doctest::skip()) {
  auto trial = [](char const* what, auto&& f) {
    try {
      f();
      std::printf("%s went on\n", what);
    } catch (configuration_error const& e) {
      std::printf("%s was told: %s\n", what, e.what());
    }
    std::fflush(stdout);
  };
  using Matrix = Tensor<float, Dextents<2>, CpuDevice>;
  trial("the list of devices", [] { config::list_logical_devices(); });
  for (int turn = 0; turn < 2; ++turn) {
    trial("a loop", [] {
      Matrix x(2048, 1024);
      x = 2.f * iota<float>(x.extents());
      CHECK(x(1, 1) == 2050);
    });
    trial("a product", [] {
      Matrix a(300, 300), r(300, 300);
      a = full<float>(a.extents(), 2);
      r = matmul(a, a);
      CHECK(r(7, 7) == 1200);
    });
    trial("a GPU", [] {
      Tensor<float, Dextents<1>, GpuDevice<0>> a(1 << 18);
      a = full<float>(a.extents(), 1);
      auto const b = to<CpuDevice>(eval(to<GpuDevice<1>>(a) + 1.f));
      CHECK(b.data()[3] == 2);
    });
  }
}

TEST_CASE("a value that nobody understands is named with its variable and the remedy") {
  for (variable const& v : table)
    for (char const* value : v.wrong) {
      std::vector<std::string> settings = {setting_of(v, value)};
      if (std::string(v.name) != "LOCUS_SIMULATED_GPUS")
        settings.push_back("LOCUS_SIMULATED_GPUS=2");
      auto const seen = child::run("a program that uses all that variables speak of", settings);
      INFO(settings[0]);
      INFO(seen.text);
      CHECK(seen.code == 0);
      CHECK(seen.signal == 0);
      if (v.at_once || v.name == std::string("LOCUS_CBLAS"))
        CHECK(seen.says(std::string(v.name) + " is \"" + value + "\""));
      CHECK(seen.says(v.name));
      CHECK(seen.says(value));
      CHECK(seen.says(v.remedy));
      CHECK(seen.count("went on") == (v.at_once ? 0 : 7));
      CHECK(seen.count("was told: locus: ") == (v.at_once ? 7 : 0));
      if (!v.at_once) CHECK(seen.count(v.remedy) == 1);
    }
}

TEST_CASE("an empty variable says nothing, and what is understood raises nothing") {
  std::set<std::string> names;
  for (variable const& v : table) names.insert(v.name);
  std::vector<std::string> settings;
  for (std::string const& name : names) settings.push_back(name + "=");
  auto const empty = child::run("a program that uses all that variables speak of", settings);
  INFO(empty.text);
  CHECK(empty.code == 0);
  CHECK(empty.count("went on") == 7);
  CHECK(empty.count("is \"") == 0);
  auto const said = child::run(
      "a program that uses all that variables speak of",
      {"LOCUS_NUM_THREADS=2", "LOCUS_THREADS=openmp", "LOCUS_MATMUL=own",
       "LOCUS_INSTRUCTIONS=baseline", "LOCUS_PEER_COPIES=0", "LOCUS_NVTX=0", "LOCUS_CHECK_RANKS=0",
       "LOCUS_OVERLAP_RANKS=1", "LOCUS_MPI_GPU_MEMORY=1", "LOCUS_QUIET=1",
       "LOCUS_LOG_ALLOCATIONS=0", "LOCUS_SIMULATED_GPUS=2", "LOCUS_FORCE_GPU_ALLOW_GROWTH=true",
       "LOCUS_TRACE=0", "LOCUS_EXPLAIN=0", "LOCUS_CBLAS=none", "LOCUS_CUDNN=off", "LOCUS_FFT=own"});
  INFO(said.text);
  CHECK(said.code == 0);
  CHECK(said.count("went on") == 7);
  CHECK(said.count("locus: ") == 0);
}
