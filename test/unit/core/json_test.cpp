// SPDX-License-Identifier: Apache-2.0
// JSON texts: commas, numbers, and strings that nothing breaks out of.
#include <doctest/doctest.h>
#include <string>

#include <locus/core/json.hpp>

using locus::json_text;

TEST_CASE("members and items are separated, numbers are written as they are") {
  json_text t;
  t.open('{').member("a", 1).name("b").open('[').value(-2).value("x").open('[').close(']').close(
      ']');
  t.member("least", INT64_MIN).name("c").open('{').close('}').append("\"d\":true").close('}');
  CHECK(t.view() == R"({"a":1,"b":[-2,"x",[]],"least":-9223372036854775808,"c":{},"d":true})");
  json_text parts;
  parts.thousandths(1234567).thousandths(-5).thousandths(-1005).thousandths(0);
  CHECK(parts.view() == "1234.567,-0.005,-1.005,0.000");
  parts.clear();
  CHECK(parts.value(7).view() == "7");
}

TEST_CASE("no byte breaks out of a string, and what is no UTF-8 is replaced") {
  json_text t;
  t.value("a\"b\\c\n\x01\x7f");
  CHECK(t.view() == R"("a\"b\\c\u000a\u0001\u007f")");
  struct {
    std::string from, to;
  } const rows[] = {
      {"\xc3\xa4", "\xc3\xa4"},          // two bytes
      {"\xe2\x82\xac", "\xe2\x82\xac"},  // three
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"\xc3", "\\ufffd"},                                   // cut off
      {"\x80", "\\ufffd"},                                   // goes on from nothing
      {"\xc0\xaf", "\\ufffd\\ufffd"},                        // written too long
      {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},             // half of a pair
      {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},  // above the last character
      {"\xff", "\\ufffd"},
  };
  for (auto const& row : rows) {
    json_text s;
    CHECK(s.value(row.from).view() == "\"" + row.to + "\"");
  }
}
