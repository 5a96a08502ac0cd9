// SPDX-License-Identifier: Apache-2.0
// The progress bar: nothing on a pipe, a redrawn line on a terminal, never a division by nothing.
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <locus/data/progress.hpp>

#include "child.hpp"

namespace progress_test {

using namespace locus;

namespace {
/// what f writes to stderr while that is a terminal; empty where there is none to be had
template <class F>
std::string on_terminal(F&& f) {
  int const ours = posix_openpt(O_RDWR | O_NOCTTY);
  if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0) return {};
  int const theirs = open(ptsname(ours), O_RDWR | O_NOCTTY), before = dup(2);
  dup2(theirs, 2);
  f();
  dup2(before, 2);
  close(before);
  fcntl(ours, F_SETFL, O_NONBLOCK);
  std::string text;
  char part[256];
  for (ssize_t n; (n = read(ours, part, sizeof part)) > 0;) text.append(part, std::size_t(n));
  close(theirs), close(ours);
  return text;
}
}  // namespace

TEST_CASE("a whole bar" * doctest::skip()) {
  data::progress_bar bar(938);
  for (int i = 0; i <= 938; ++i) bar.show(i, "loss 0.5");
}
TEST_CASE("a pipe is not filled with bars: one line at the end") {
  auto const seen = child::run("a whole bar");
  CHECK(seen.code == 0);
  CHECK(seen.count("938/938 [==============================]") == 1);
  CHECK(seen.says("s  loss 0.5\n"));
  CHECK(seen.count("/938") == 1);
  CHECK_FALSE(seen.says("\r"));
  CHECK_FALSE(seen.says("\033"));
}
TEST_CASE("a terminal shows how far it is") {
  auto const text = on_terminal([] {
    data::progress_bar bar(30);
    bar.show(15, "half");
    bar.show(16);  // too soon to be drawn
    bar.show(30, "done");
  });
  if (text.empty()) return;  // no terminal to be had
  CHECK(text.find("\r15/30 [===============>..............] 0.0 s  half\033[K") != text.npos);
  CHECK(text.find("16/30") == text.npos);
  CHECK(text.find("\r30/30 [==============================] 0.0 s  done\033[K\r\n") != text.npos);
}
TEST_CASE("a bar of nothing and a bar that is passed end well") {
  auto const text = on_terminal([] {
    data::progress_bar none(0);
    none.show(0);
    data::progress_bar two(2);
    two.show(5);
    CHECK(two.seconds() >= 0);
  });
  CHECK(text.size() < 400);
}

}  // namespace progress_test
