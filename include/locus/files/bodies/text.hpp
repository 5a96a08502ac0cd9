// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/text.hpp declares.
#pragma once
#include <dirent.h>  // scandir

#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/files/gzip_file.hpp>  // gzip_file
#include <locus/files/text.hpp>       // the declarations

LOCUS_COLD_BEGIN

namespace locus::data {

LOCUS_FUNCTION std::vector<std::string> words_of(std::string_view text,
                                                 tokenizer_options const& o) {
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

LOCUS_FUNCTION std::int64_t tokenizer::vocabulary() const {
  std::int64_t const all = std::int64_t(ordered_.size()) + 1;
  return o_.words > 0 && o_.words < all ? o_.words : all;
}

LOCUS_FUNCTION std::int32_t tokenizer::number_of(std::string const& word) const {
  auto const at = number_.find(word);
  return at == number_.end() ? 0 : at->second;
}

LOCUS_FUNCTION token_sequence tokenizer::sequence(std::string_view text) const {
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

LOCUS_FUNCTION void tokenizer::put_in_order() {
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

LOCUS_FUNCTION Tensor<std::int32_t, Dextents<2>, CpuDevice> pad_sequences(
    std::vector<token_sequence> const& sequences, padding_options const& o) {
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

LOCUS_FUNCTION std::vector<token_sequence> sequences_of(
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

LOCUS_FUNCTION labelled_texts read_fortunes(std::string const& folder, std::size_t at_least) {
  auto const is_text = [](dirent const* e) -> int {
    std::string_view const name = e->d_name;
    return !name.starts_with('.') && !name.ends_with(".dat") && !name.ends_with(".u8");
  };
  auto const by_name = [](dirent const** a, dirent const** b) {  // in every locale alike
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
    gzip_file file(path);
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
