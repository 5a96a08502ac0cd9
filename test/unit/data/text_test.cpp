// SPDX-License-Identifier: Apache-2.0
// Texts as numbers: what keras_preprocessing makes of the same texts.
#include <doctest/doctest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <locus/files/text.hpp>
#include <locus/locus.hpp>
#include <message_of.hpp>

namespace text_test {

using namespace locus;
using data::token_sequence;

namespace {
std::vector<std::string> const texts = {"The cat -- it's the cat's -- sat; THE END.\n",
                                        "a_b c/d (e) a\tb b! b? \"b\"", "",
                                        "the end of the cat, e.g. a cat"};

std::vector<token_sequence> sequences(data::tokenizer_options o) {
  data::tokenizer t(std::move(o));
  t.fit(texts);
  data::tokenizer const copy = t;  // stands by itself
  t = data::tokenizer();
  auto all = copy.sequences(texts);
  all.push_back(copy.sequence("zebra the end zebra"));
  return all;
}
using sequences_t = std::vector<token_sequence>;

std::vector<token_sequence> padded(data::padding_options const& o) {
  auto const t = data::pad_sequences({{1, 2, 3}, {}, {4, 5, 6, 7, 8}}, o);
  std::vector<token_sequence> rows;
  for (std::int64_t i = 0; i < t.extent(0); ++i)
    rows.emplace_back(t.data() + i * t.extent(1), t.data() + (i + 1) * t.extent(1));
  return rows;
}
}  // namespace

TEST_CASE("words by frequency, ties by first appearance: the numbers of Keras' Tokenizer") {
  CHECK(sequences({}) == sequences_t{{1, 3, 7, 1, 8, 9, 1, 5},
                                     {4, 2, 10, 11, 6, 4, 2, 2, 2, 2},
                                     {},
                                     {1, 5, 12, 1, 3, 6, 13, 4, 3},
                                     {1, 5}});
  CHECK(sequences({.words = 4}) ==
        sequences_t{{1, 3, 1, 1}, {2, 2, 2, 2, 2}, {}, {1, 1, 3, 3}, {1}});
  CHECK(sequences({.oov = "<oov>"}) == sequences_t{{2, 4, 8, 2, 9, 10, 2, 6},
                                                   {5, 3, 11, 12, 7, 5, 3, 3, 3, 3},
                                                   {},
                                                   {2, 6, 13, 2, 4, 7, 14, 5, 4},
                                                   {1, 2, 6, 1}});
  CHECK(sequences({.words = 4, .oov = "<oov>"}) == sequences_t{{2, 1, 1, 2, 1, 1, 2, 1},
                                                               {1, 3, 1, 1, 1, 1, 3, 3, 3, 3},
                                                               {},
                                                               {2, 1, 1, 2, 1, 1, 1, 1, 1},
                                                               {1, 2, 1, 1}});
  CHECK(sequences({.filters = "-", .lower = false}) == sequences_t{{3, 2, 4, 1, 5, 6, 7, 8},
                                                                   {9, 10, 11, 12, 13, 14, 15},
                                                                   {},
                                                                   {1, 16, 17, 1, 18, 19, 20, 2},
                                                                   {1, 16}});
}

TEST_CASE("a tokenizer knows its words, and how many rows an embedding needs") {
  data::tokenizer t;
  t.fit(texts);
  CHECK(t.vocabulary() == 14);  // 13 words and the padding
  CHECK(t.word(1) == "the");
  CHECK(t.number_of("cat's") == 8);
  CHECK(t.number_of("zebra") == 0);
  data::tokenizer few({.words = 4});
  few.fit(texts);
  CHECK(few.vocabulary() == 4);
  data::tokenizer fresh;
  CHECK(fresh.vocabulary() == 1);
  CHECK(fresh.sequence("the cat").empty());
}

TEST_CASE("sequences get one length: padded and cut in front, or behind") {
  using enum data::side_of_sequence;
  CHECK(padded({.length = 4}) == sequences_t{{0, 1, 2, 3}, {0, 0, 0, 0}, {5, 6, 7, 8}});
  CHECK(padded({.length = 4, .truncating = back}) ==
        sequences_t{{0, 1, 2, 3}, {0, 0, 0, 0}, {4, 5, 6, 7}});
  CHECK(padded({.length = 4, .padding = back}) ==
        sequences_t{{1, 2, 3, 0}, {0, 0, 0, 0}, {5, 6, 7, 8}});
  CHECK(padded({.length = 4, .padding = back, .truncating = back, .value = 9}) ==
        sequences_t{{1, 2, 3, 9}, {9, 9, 9, 9}, {4, 5, 6, 7}});
  CHECK(message_of([] { data::pad_sequences({}, {.length = 0}); }) ==
        "locus: sequences are padded to length 0; write a positive number");
}

TEST_CASE("sequences behind one another are taken apart, if their lengths say so") {
  Tensor<std::int32_t, Dextents<1>> const tokens{1, 2, 3, 4}, lengths{3, 0, 1}, more{3, 0, 2},
      less{3, 0}, negative{5, -1};
  CHECK(data::sequences_of(tokens, lengths) == sequences_t{{1, 2, 3}, {}, {4}});
  CHECK(message_of([&] { data::sequences_of(tokens, more); }) ==
        "locus: 3 sequences are 5 tokens long, and 4 are there; take both files of one conversion");
  CHECK(message_of<shape_error>([&] { data::sequences_of(tokens, less); }).find("3 tokens long") !=
        std::string::npos);
  CHECK_THROWS_AS(data::sequences_of(tokens, negative), shape_error);
}

TEST_CASE("the installed fortunes are what Keras makes of them") {
  std::string const folder = "/usr/share/games/fortunes";
  CHECK(
      message_of<bad_file>([] { data::read_fortunes("/nowhere/fortunes"); }) ==
      "locus: /nowhere/fortunes: expected files of fortunes, found none; install Debian's packages "
      "fortunes and fortunes-min, or name another folder");
  if (access((folder + "/zippy").c_str(), R_OK) != 0 ||
      access((folder + "/literature").c_str(), R_OK) != 0)
    return;
  auto const all = data::read_fortunes(folder, 50);
  data::tokenizer words;
  words.fit(all.texts);
  auto const x = data::pad_sequences(words.sequences(all.texts));
  std::uint32_t sum = 0;  // of Debian 12's packages
  for (std::int64_t i = 0; i < x.size(); ++i) sum = sum * 31 + std::uint32_t(x.data()[i]);
  if (all.texts.size() == 15167) {
    CHECK(all.classes.size() == 39);
    CHECK(words.vocabulary() == 32649);
    CHECK(sum == 1595778713u);
  }
  CHECK(all.labels.size() == all.texts.size());
  CHECK(all.labels.back() + 1 == std::int32_t(all.classes.size()));
}

}  // namespace text_test
