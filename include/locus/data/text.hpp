// SPDX-License-Identifier: Apache-2.0
// Texts as numbers, the way Keras makes them: words by frequency, sequences of equal length.
#pragma once
#include <cstdlib>        // qsort
#include <dirent.h>       // scandir
#include <string>         // string
#include <unordered_map>  // unordered_map
#include <utility>        // pair
#include <vector>         // vector

#include <locus/data/gzip_file.hpp>  // gzip_file
#include <locus/tensor/tensor.hpp>   // Tensor

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
inline std::vector<std::string> words_of(std::string_view text, tokenizer_options const& o = {}) {
  std::vector<std::string> words;
  std::string word;
  auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (char c : text) {
    if (c == ' ' || find_char(o.filters, c) != std::string_view::npos)
      end_word();
    else
      word += o.lower && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  end_word();
  return words;
}

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
  std::int64_t vocabulary() const {
    std::int64_t const all = std::int64_t(ordered_.size()) + 1;
    return o_.words > 0 && o_.words < all ? o_.words : all;
  }
  /// means: the number of a word, as it stands in texts; 0: it is not known
  std::int32_t number_of(std::string const& word) const {
    auto const at = number_.find(word);
    return at == number_.end() ? 0 : at->second;
  }
  /// means: the word of a number from 1
  std::string const& word(std::int32_t number) const {
    return ordered_.at(static_cast<std::size_t>(number) - 1);
  }
  token_sequence sequence(std::string_view text) const {
    token_sequence s;
    bool const marks = !o_.oov.empty();
    for (std::string const& w : words_of(text, o_)) {
      std::int32_t const n = number_of(w);
      if (n > 0 && (o_.words <= 0 || n < o_.words))
        s.push_back(n);
      else if (marks)
        s.push_back(1);
    }
    return s;
  }
  template <class Texts>
  std::vector<token_sequence> sequences(Texts const& texts) const {
    std::vector<token_sequence> all;
    for (std::string_view text : texts) all.push_back(sequence(text));
    return all;
  }

 private:
  void put_in_order() {
    struct place {
      std::int64_t count, first;
    };
    std::vector<place> order;
    order.reserve(counts_.size());
    for (auto const& [word, count] : counts_) order.push_back({count, std::int64_t(order.size())});
    if (!order.empty())
      std::qsort(order.data(), order.size(), sizeof(place), [](void const* x, void const* y) {
        auto const &a = *static_cast<place const*>(x), &b = *static_cast<place const*>(y);
        if (a.count != b.count) return a.count > b.count ? -1 : 1;
        return a.first < b.first ? -1 : 1;
      });
    ordered_.clear(), number_.clear();
    if (!o_.oov.empty()) ordered_.push_back(o_.oov);
    for (place const& p : order) ordered_.push_back(counts_[std::size_t(p.first)].first);
    for (std::size_t k = 0; k < ordered_.size(); ++k)
      number_[ordered_[k]] = static_cast<std::int32_t>(k + 1);
  }
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
inline Tensor<std::int32_t, Dextents<2>, CpuDevice> pad_sequences(
    std::vector<token_sequence> const& sequences, padding_options const& o = {}) {
  if (o.length < 1) {
    message text;
    throw configuration_error(text << "locus: sequences are padded to length " << o.length
                                   << "; write a positive number");
  }
  Tensor<std::int32_t, Dextents<2>, CpuDevice> t(std::int64_t(sequences.size()), o.length);
  std::int32_t* row = t.data();
  for (token_sequence const& s : sequences) {
    auto const n = std::int64_t(s.size()), kept = n < o.length ? n : o.length;
    std::int64_t const from = o.truncating == side_of_sequence::front ? n - kept : 0,
                       to = o.padding == side_of_sequence::front ? o.length - kept : 0;
    for (std::int64_t i = 0; i < o.length; ++i)
      row[i] = i >= to && i < to + kept ? s[std::size_t(from + i - to)] : o.value;
    row += o.length;
  }
  return t;
}

/// means: sequences that lie behind one another
/// fails: shape_error, when their lengths do not add up to the tokens
inline std::vector<token_sequence> sequences_of(
    Tensor<std::int32_t, Dextents<1>, CpuDevice> const& tokens,
    Tensor<std::int32_t, Dextents<1>, CpuDevice> const& lengths) {
  std::vector<token_sequence> all;
  std::int64_t at = 0;
  auto refuse = [&](std::int64_t wanted) {
    message text;
    throw shape_error(text << "locus: " << lengths.size() << " sequences are " << wanted
                           << " tokens long, and " << tokens.size()
                           << " are there; take both files of one conversion");
  };
  for (std::int64_t i = 0; i < lengths.size(); ++i) {
    std::int64_t const n = lengths.data()[i];
    if (n < 0 || n > tokens.size() - at) refuse(at + n);
    all.emplace_back(tokens.data() + at, tokens.data() + at + n);
    at += n;
  }
  if (at != tokens.size()) refuse(at);
  return all;
}

/// Texts and the class of each.
struct labelled_texts {
  std::vector<std::string> texts, classes;  // names of classes
  std::vector<std::int32_t> labels;         // [text]: which class
};

/// means: the fortunes of a folder, a class for each file that has at least so many; they are divided
///        by lines of one %
/// fails: bad_file, for a folder that is not there or has none
/// after: strfile(1); Debian's packages fortunes and fortunes-min: /usr/share/games/fortunes
inline labelled_texts read_fortunes(std::string const& folder, std::size_t at_least = 1) {
  auto const is_text = [](dirent const* e) -> int {
    std::string_view const name = e->d_name;
    return !name.starts_with('.') && !name.ends_with(".dat") && !name.ends_with(".u8");
  };
  auto const by_name = [](dirent const** a, dirent const** b) {  // in no locale
    return __builtin_strcmp((*a)->d_name, (*b)->d_name);
  };
  std::vector<std::string> names;
  dirent** files = nullptr;
  int const n = scandir(folder.c_str(), &files, is_text, by_name);
  for (int i = 0; i < n; ++i) names.emplace_back(files[i]->d_name), std::free(files[i]);
  std::free(static_cast<void*>(files));
  labelled_texts all;
  for (std::string const& name : names) {
    std::vector<std::string> found(1);
    std::string path = folder;
    path.append("/").append(name);
    detail::gzip_file file(path);
    for (std::string line; file.read_line(line);) {
      if (line == "%") {
        found.emplace_back();
      } else {
        found.back() += line;
        found.back() += '\n';
      }
    }
    if (found.back().empty()) found.pop_back();
    if (found.size() < at_least || found.empty()) continue;
    all.labels.insert(all.labels.end(), found.size(), std::int32_t(all.classes.size()));
    all.classes.push_back(name);
    for (std::string& text : found) all.texts.push_back(std::move(text));
  }
  if (all.texts.empty()) {
    message text;
    throw bad_file(text << "locus: " << shown(folder).view()
                        << ": expected files of fortunes, found none; install Debian's packages "
                           "fortunes and fortunes-min, or name another folder");
  }
  return all;
}

}  // namespace locus::data

LOCUS_COLD_END
