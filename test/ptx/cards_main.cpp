// SPDX-License-Identifier: Apache-2.0
// Tests on cards that the PTX machine stands in for: it must have been asked, and have found nothing.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "ask.hpp"

int main(int argc, char** argv) {
  int const failed = doctest::Context(argc, argv).run();
  std::int64_t const launches = ptx_figure("ptx_launches"), findings = ptx_figure("ptx_findings");
  std::printf("%lld launches, %lld findings\n", static_cast<long long>(launches),
              static_cast<long long>(findings));
  return failed != 0 || launches <= 0 || findings != 0;
}
