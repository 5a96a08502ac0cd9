// SPDX-License-Identifier: Apache-2.0
// Texts as numbers, the way Keras makes them: words by frequency, sequences of equal length.
#pragma once
#include <string>         // string
#include <unordered_map>  // unordered_map
#include <utility>        // pair
#include <vector>         // vector

#include <locus/core/macros.hpp>    // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/tensor/tensor.hpp>  // Tensor

LOCUS_COLD_BEGIN

namespace locus::data {

using token_sequence = std::vector<std::int32_t>;

/// How texts become words, and words numbers. Keras' defaults.
struct tokenizer_options {
  std::int64_t words = -1;  // numbers below that are used, the most frequent words; -1: all
  std::string filters = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n";  // taken as blanks
  bool lower = true;     // ASCII letters; bytes of other letters stay as they are
  std::string oov = "";  // stands for words that are not known, as number 1; "": those are left out
};

/// means: the words of a text
LOCUS_FUNCTION std::vector<std::string> words_of(std::string_view text,
                                                 tokenizer_options const& o = {});

/// means: numbers for words: 1 for the most frequent one (of equally frequent ones the one that came
///        first), or for `oov`; 0 is left for padding
/// after: keras.preprocessing.text.Tokenizer
class tokenizer {
 public:
  explicit tokenizer(tokenizer_options options = {}) : o_(std::move(options)) {}

  /// means: counts words; numbers are those of all texts so far
  template <class Texts>
  void fit(Texts const& texts) {
    for (std::string_view text : texts)
      for (std::string& w : words_of(text, o_)) {
        auto const [at, fresh] = place_.try_emplace(w, counts_.size());
        if (fresh) counts_.push_back({std::move(w), 0});
        ++counts_[at->second].second;
      }
    put_in_order();
  }
  /// units: numbers in use, that of padding included: the rows of an embedding
  std::int64_t vocabulary() const;
  /// means: the number of a word, as it stands in texts; 0: it is not known
  std::int32_t number_of(std::string const& word) const;
  /// means: the word of a number from 1
  std::string const& word(std::int32_t number) const {
    return ordered_.at(static_cast<std::size_t>(number) - 1);
  }
  token_sequence sequence(std::string_view text) const;
  template <class Texts>
  std::vector<token_sequence> sequences(Texts const& texts) const {
    std::vector<token_sequence> all;
    for (std::string_view text : texts) all.push_back(sequence(text));
    return all;
  }

 private:
  void put_in_order();
  tokenizer_options o_;
  std::unordered_map<std::string, std::size_t> place_;        // in counts_
  std::vector<std::pair<std::string, std::int64_t>> counts_;  // in the order of the texts
  std::vector<std::string> ordered_;
  std::unordered_map<std::string, std::int32_t> number_;
};

/// Which end of a sequence gives way.
enum class side_of_sequence { front, back };

/// How sequences get one length. Keras' defaults, but for the length, which Keras takes from the data.
struct padding_options {
  std::int64_t length = 300;
  side_of_sequence padding = side_of_sequence::front;
  side_of_sequence truncating = side_of_sequence::front;
  std::int32_t value = 0;
};

/// means: row i is sequence i: padded, or the last numbers of it
/// after: keras.utils.pad_sequences
LOCUS_FUNCTION Tensor<std::int32_t, Dextents<2>, CpuDevice> pad_sequences(
    std::vector<token_sequence> const& sequences, padding_options const& o = {});

/// means: sequences that lie behind one another
/// fails: shape_error, when their lengths do not add up to the tokens
LOCUS_FUNCTION std::vector<token_sequence> sequences_of(
    Tensor<std::int32_t, Dextents<1>, CpuDevice> const& tokens,
    Tensor<std::int32_t, Dextents<1>, CpuDevice> const& lengths);

/// Texts and the class of each.
struct labelled_texts {
  std::vector<std::string> texts, classes;  // names of classes
  std::vector<std::int32_t> labels;         // [text]: which class
};

/// means: the fortunes of a folder, a class for each file that has at least so many; they are divided
///        by lines of one %
/// fails: bad_file, for a folder that is not there or has none
/// after: strfile(1); Debian's packages fortunes and fortunes-min: /usr/share/games/fortunes
LOCUS_FUNCTION labelled_texts read_fortunes(std::string const& folder, std::size_t at_least = 1);

}  // namespace locus::data

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/text.hpp>  // bodies of the functions above
#endif
