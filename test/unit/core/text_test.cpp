// SPDX-License-Identifier: Apache-2.0
// Texts in constants, and the exceptions that carry them.
#include <doctest/doctest.h>

#include <limits>
#include <sstream>
#include <string>

#include <locus/core/error.hpp>
#include <locus/core/printable.hpp>
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

TEST_CASE("bytes of others are printable inside messages: no terminal obeys them") {
  auto const printable = [](std::string_view s) {
    text_buffer<256> out;
    write_printable(out, s);
    return std::string(out.view());
  };
  CHECK(printable("plain, é, 字, 🙂 \\ \"'") == "plain, é, 字, 🙂 \\ \"'");
  CHECK(printable("\x1b[31m\n\r\t\a\x7f") == "\\x1b[31m\\x0a\\x0d\\x09\\x07\\x7f");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xc2\x9b"
                  "31m \xc2\xa0") == "\\xc2\\x9b31m \xc2\xa0");  // CSI in one character
  CHECK(printable("\x9b \xff \xc3 \xe2\x82") == "\\x9b \\xff \\xc3 \\xe2\\x82");  // no UTF-8
  CHECK(printable("\xc0\x9b \xe0\x80\x9b \xed\xa0\x80") ==
        "\\xc0\\x9b \\xe0\\x80\\x9b \\xed\\xa0\\x80");  // too long ways to write one
  message text;
  text << "locus: a\x1b" << "b\nlocus: c";
  CHECK(error(text).what() == std::string("locus: a\\x1b"
                                          "b\\x0alocus: c"));
  CHECK(bad_file(std::string_view("\x07")).what() == std::string("\\x07"));
  for (int c = 0; c < 256; ++c) {
    std::string const one(1, char(c));
    for (char const p : printable("x" + one + "y")) CHECK((unsigned(p) & 0xffu) - 0x20 < 0x5f);
    CHECK(printable(printable(one)) == printable(one));
  }
}

TEST_CASE("of a long name a message shows both ends") {
  std::string const begin(90, 'b'), middle(5000, 'm'), end(90, 'e');
  CHECK(shown(begin).view() == begin);
  auto const cut = shown(begin + middle + end);
  CHECK(cut.view().starts_with(begin + "mmm"));
  CHECK(cut.view().ends_with("mmm" + end));
  CHECK(cut.contains(" ... "));
  CHECK(cut.view().size() == 205);
  for (std::size_t n : {199u, 254u, 255u, 256u, 257u, 300u, 1000u})
    for (char c : {'x', '\x1b', '\xff'}) {
      std::string const s(n, c);
      auto const all = shown(s);
      CHECK(all.view().size() <= 255);
      if (c == 'x' && n < 256) CHECK(all.view() == s);
    }
}

TEST_CASE("the youngest exception of locus that is not over is known while it passes") {
  struct asks {
    std::string& said;
    ~asks() { said = internal::last_error.which ? internal::last_error.text.view() : "none"; }
  };
  std::string said;
  try {
    asks const here{said};
    bad_file const before("locus: made and not thrown");
    throw bad_file("locus: it passes");
  } catch (error const& e) {
    CHECK(said == "locus: it passes");
    CHECK(internal::last_error.which == &e);
    error const copy = e;
    CHECK(internal::last_error.which == &copy);
  }
  CHECK(internal::last_error.which == nullptr);
  try {
    asks const here{said};
    throw 1;
  } catch (int) {
    CHECK(said == "none");
  }
}
