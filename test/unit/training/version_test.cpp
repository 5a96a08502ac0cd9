// SPDX-License-Identifier: Apache-2.0
// The version of the training package is that of meson.build, and a trace names both versions.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <locus/training.hpp>

namespace {
std::string text_of(std::filesystem::path const& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
}  // namespace

TEST_CASE("the training package has the version that meson.build names") {
  std::string const version(locus::nn::version_text);
  CHECK(version == std::to_string(LOCUS_TRAINING_VERSION_MAJOR) + "." +
                       std::to_string(LOCUS_TRAINING_VERSION_MINOR) + "." +
                       std::to_string(LOCUS_TRAINING_VERSION_PATCH));
  std::string const build = text_of(std::filesystem::path(LOCUS_SOURCE_ROOT) / "meson.build");
  CHECK(build.find("training_version = '" + version + "'") != std::string::npos);
}

TEST_CASE("a trace names the versions of the core and of the training package") {
  std::filesystem::path const path =
      std::filesystem::temp_directory_path() / ("versions-" + std::to_string(getpid()) + ".json");
  locus::debugging::start_trace(path.string());
  locus::debugging::stop_trace();
  std::string const trace = text_of(path);
  std::filesystem::remove(path);
  auto const has = [&](char const* name, std::string_view version) {
    return trace.find('"' + std::string(name) + "\":\"" + std::string(version) + '"') !=
           std::string::npos;
  };
  CHECK(has("locus", locus::version_text));
  CHECK(has("locus training", locus::nn::version_text));
}
