// SPDX-License-Identifier: Apache-2.0
// Texts in constants, and the exceptions that carry them.
#include <doctest/doctest.h>

#include <limits>
#include <sstream>
#include <string>

#include <locus/core/error.hpp>
#include <locus/core/text.hpp>

using namespace locus;

namespace {
consteval auto written() {
  text_buffer<64> out;
  out << "a" << -7 << std::size_t(34) << std::int64_t(12) << "";
  return out;
}
static_assert(written() == "a-73412");
static_assert(written().contains("-73") && !written().contains("b") && written().contains(""));
static_assert(fixed_string("GPU:0").view() == "GPU:0" && fixed_string("").view().empty());
static_assert(char_list<'x', 'y'>::view() == "xy" && char_list<>::view().empty());
static_assert(find_char("a:b", ':') == 1 && find_char("ab", ':') == std::string_view::npos);
static_assert(contains_text("abcd", "cd") && !contains_text("abcd", "ce") &&
              !contains_text("", "a"));

template <class T>
std::string number(T v) {
  text_buffer<40> out;
  out << v;
  return std::string(out.view());
}
}  // namespace

TEST_CASE("numbers are written as the standard library writes them") {
  std::int64_t const some[] = {0,
                               1,
                               -1,
                               9,
                               10,
                               -10,
                               1234567890123,
                               std::numeric_limits<std::int64_t>::max(),
                               std::numeric_limits<std::int64_t>::min()};
  for (std::int64_t v : some) CHECK(number(v) == std::to_string(v));
  CHECK(number(std::numeric_limits<int>::min()) == std::to_string(std::numeric_limits<int>::min()));
  CHECK(number(std::numeric_limits<std::size_t>::max()) ==
        std::to_string(std::numeric_limits<std::size_t>::max()));
}

TEST_CASE("a text that is too long is cut and still ends in a null character") {
  text_buffer<8> out;
  out << "12345" << "6789" << 10;
  CHECK(out.view() == "1234567");
  CHECK(std::string(out.c_str()) == "1234567");
  out << "more";
  CHECK(out.view() == "1234567");
}

TEST_CASE("a text goes into any stream that can write") {
  std::ostringstream stream;
  text_buffer<20> out;
  out << "seven " << 7;
  stream << out << "!";
  CHECK(stream.str() == "seven 7!");
}

TEST_CASE("every exception of locus is an error of locus and of the standard library") {
  auto caught_as_error = [](auto const& thrown) {
    try {
      throw thrown;
    } catch (error const& e) {
      return std::string(e.what());
    }
  };
  message text;
  text << "locus: two " << 2;
  CHECK(caught_as_error(shape_error(text)) == "locus: two 2");
  CHECK(caught_as_error(placement_error("a")) == "a");
  CHECK(caught_as_error(unknown_device("b")) == "b");
  CHECK(caught_as_error(bad_access("c")) == "c");
  CHECK(caught_as_error(out_of_memory("d")) == "d");
  CHECK(caught_as_error(device_lost("e")) == "e");
  CHECK(caught_as_error(no_kernel_in_unit("f")) == "f");
  CHECK(caught_as_error(bad_file("g")) == "g");
  CHECK(caught_as_error(configuration_error("h")) == "h");
  CHECK_THROWS_AS(throw shape_error("i"), std::exception);
  error first("gone");
  error const copy = first;
  first = error("new");
  CHECK(std::string(copy.what()) == "gone");  // the text is inside, not pointed to
}
