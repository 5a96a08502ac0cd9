// SPDX-License-Identifier: Apache-2.0
// A program that has more rights than who started it: no variable of his says what it opens or loads.
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <locus/core/environment.hpp>  // from_environment
#include <locus/engine/host/cblas.hpp>
#include <locus/machine/start_watching.hpp>
#include <locus/run/report.hpp>
#include <locus/runtime/variables.hpp>  // number_from_environment

#include "child.hpp"

using namespace locus;

TEST_CASE("a program that believes its environment" * doctest::skip()) {
  runtime::read_watch_variables();
  static_cast<void>(host::find_cblas());
  CHECK(runtime::number_from_environment("LOCUS_NUM_THREADS", 0, 9, 0) == 3);
  CHECK(from_environment("LOCUS_TRACE") != nullptr);
  detail::write_report_at_end(false);
}

TEST_CASE("a set-uid program reads no variable that names a file, a library or a number") {
  char folder[] = "/tmp/locus_environment_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  std::string const at = folder, program = at + "/program";
  REQUIRE(std::system(("cp /proc/" + std::to_string(getpid()) + "/exe " + program).c_str()) == 0);
  std::vector<std::string> const variables = {
      "LOCUS_LOG=json:" + at + "/log", "LOCUS_TRACE=" + at + "/trace",
      "LOCUS_EXPLAIN=" + at + "/plans", "LOCUS_CBLAS=" + at + "/library", "LOCUS_NUM_THREADS=3"};
  auto const there = [&](char const* file) { return access((at + "/" + file).c_str(), F_OK) == 0; };
  auto const run = [&] {
    return child::run("a program that believes its environment", variables, 60, program);
  };
  auto const plain = run();
  INFO(plain.text);
  CHECK(plain.code == 0);
  CHECK(plain.says("LOCUS_CBLAS is \"" + at + "/library\""));
  for (char const* file : {"log", "trace", "plans"}) {
    CHECK(there(file));
    std::remove((at + "/" + file).c_str());
  }
  constexpr uid_t somebody = 65534;
  if (geteuid() == 0) {
    chmod(folder, 0777);
    REQUIRE(chown(program.c_str(), somebody, somebody) == 0);
    REQUIRE(chmod(program.c_str(), 04755) == 0);
    auto const raised = run();  // now its user is not who starts it
    INFO(raised.text);
    if (raised.code == 0)
      MESSAGE("skipped: " << at << " is on a file system without set-uid");
    else {
      CHECK_FALSE(raised.says("LOCUS_CBLAS"));
      CHECK(raised.says("from_environment(\"LOCUS_TRACE\") != nullptr"));
      CHECK(raised.says("2 failed"));
      for (char const* file : {"log", "trace", "plans"}) CHECK_FALSE(there(file));
    }
  } else
    MESSAGE("skipped: only root can make a program of another user");
  CHECK(std::system(("rm -r " + at).c_str()) == 0);
}
