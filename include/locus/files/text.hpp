// SPDX-License-Identifier: Apache-2.0
// Texts as numbers, as in Keras: words numbered by frequency, sequences of equal length.
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

/// How texts are split into words, and words numbered. Keras' defaults.
struct tokenizer_options {
  std::int64_t words = -1;  // only numbers below this are used, the most frequent words; -1: all
  std::string filters = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n";  // treated as blanks
  bool lower = true;     // ASCII letters; bytes of other letters stay as they are
  std::string oov = "";  // replaces unknown words, with number 1; "": they are left out
};

/// means: the words of a text
LOCUS_FUNCTION std::vector<std::string> words_of(std::string_view text,
                                                 tokenizer_options const& o = {});

/// means: numbers for words: 1 for the most frequent word, or for `oov` if it is set; of equally
///        frequent words the first one in the texts has the smaller number; 0 is for padding
/// after: keras.preprocessing.text.Tokenizer
class tokenizer {
 public:
  explicit tokenizer(tokenizer_options options = {}) : o_(std::move(options)) {}

  /// means: counts words; numbers follow from all texts so far
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
  /// units: numbers in use, 0 for padding included: the rows of an embedding
  std::int64_t vocabulary() const;
  /// means: the number of a word as sequences contain it; 0: not known
  std::int32_t number_of(std::string const& word) const;
  /// means: the word with a number from 1 on
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
  std::unordered_map<std::string, std::size_t> place_;        // index in counts_
  std::vector<std::pair<std::string, std::int64_t>> counts_;  // in order of first occurrence
  std::vector<std::string> ordered_;
  std::unordered_map<std::string, std::int32_t> number_;
};

/// The end of a sequence that is padded or cut.
enum class side_of_sequence { front, back };

/// How sequences get one length. Keras' defaults, except the length, which Keras takes from the
/// data.
struct padding_options {
  std::int64_t length = 300;
  side_of_sequence padding = side_of_sequence::front;
  side_of_sequence truncating = side_of_sequence::front;
  std::int32_t value = 0;
};

/// means: row i is sequence i: padded, or cut to `length` numbers
/// after: keras.utils.pad_sequences
LOCUS_FUNCTION Tensor<std::int32_t, Dextents<2>, CpuDevice> pad_sequences(
    std::vector<token_sequence> const& sequences, padding_options const& o = {});

/// means: splits `tokens`, sequences one after another, by their lengths
/// fails: shape_error, when the sum of the lengths is not the number of tokens
LOCUS_FUNCTION std::vector<token_sequence> sequences_of(
    Tensor<std::int32_t, Dextents<1>, CpuDevice> const& tokens,
    Tensor<std::int32_t, Dextents<1>, CpuDevice> const& lengths);

/// Texts and the class of each.
struct labelled_texts {
  std::vector<std::string> texts, classes;  // names of classes
  std::vector<std::int32_t> labels;         // [text]: index in classes
};

/// means: the fortunes in the files of a folder; each file with at least `at_least` fortunes is a
///        class. Lines of one % separate fortunes
/// fails: bad_file, for a missing folder or one without such a file
/// after: strfile(1); Debian's packages fortunes and fortunes-min: /usr/share/games/fortunes
LOCUS_FUNCTION labelled_texts read_fortunes(std::string const& folder, std::size_t at_least = 1);

}  // namespace locus::data

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/text.hpp>  // bodies of the functions above
#endif
