// SPDX-License-Identifier: Apache-2.0
// Texts sorted into classes by a convolutional network: Keras' Reuters newswires where their arrays
// are given (examples/tools/reuters_to_arrays.py), otherwise the fortunes of this machine, whose class
// is the file that they stand in. Batches are cut over the replicas: all GPUs, or the CPU.
//     07_text_cnn [epochs] [texts] [folder of arrays, or of fortunes]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <unistd.h>

#include <locus/cuda.cuh>
#include <locus/data/dataset.hpp>  // from_tensors
#include <locus/files/idx.hpp>     // read_idx
#include <locus/files/text.hpp>    // tokenizer, pad_sequences
#include <locus/nn/nn.hpp>         // Sequential, compile

using namespace locus;

constexpr int length = 300;  // tokens of a text: padded and cut in front, as Keras does
constexpr int classes = 46;  // Reuters' topics; there are fewer files of fortunes

/// Debian's packages fortunes and fortunes-min know where their files are.
std::string find_fortunes() {
  std::string path;
  if (std::FILE* list = popen("dpkg -L fortunes fortunes-min 2>/dev/null", "r")) {
    char line[4096];
    while (std::fgets(line, sizeof line, list))
      if (std::string_view(line).ends_with("/literature\n")) path = line;
    pclose(list);
  }
  return path.substr(0, path.rfind('/'));
}

using Labels = Tensor<std::int32_t, Dextents<1>>;

/// Rows of tokens and their classes; the first ones are for testing.
struct numbered_texts {
  Tensor<std::int32_t, Dextents<2>> tokens;
  Labels labels;
  std::int64_t tests, vocabulary;
};

/// the arrays of reuters_to_arrays.py: tests first
numbered_texts read_arrays(std::string const& folder) {
  auto const read = [&](std::string const& name) {
    return data::read_idx<1, std::int32_t>((folder + "/" + name + ".idx").c_str());
  };
  std::vector<data::token_sequence> texts;
  std::vector<std::int32_t> labels;
  std::int64_t tests = 0;
  for (std::string const part : {"test", "train"}) {
    for (auto& text : data::sequences_of(read(part + "-tokens"), read(part + "-lengths")))
      texts.push_back(std::move(text));
    auto const own = read(part + "-labels");
    labels.insert(labels.end(), own.data(), own.data() + own.size());
    if (tests == 0) tests = own.size();
  }
  std::int32_t last = 0;
  for (auto const& text : texts)
    for (std::int32_t const token : text) last = std::max(last, token);
  return {data::pad_sequences(texts, {.length = length}), Labels(labels), tests, last + 1};
}

/// the fortunes of a folder in one order, a fifth of them for testing
numbered_texts read_fortunes(std::string const& folder, std::int64_t most) {
  auto const all = data::read_fortunes(folder, 50);
  data::tokenizer words;
  words.fit(all.texts);
  auto const tokens = data::pad_sequences(words.sequences(all.texts), {.length = length});
  Labels const labels(all.labels);
  std::int64_t const n = std::min(most, labels.size());
  auto mixed = data::from_tensors(tokens, labels).shuffle({.seed = 113}).take(n).batch(n);
  auto [x, y] = *mixed.begin();
  return {std::move(x), std::move(y), n / 5, words.vocabulary()};
}

int main(int argc, char** argv) try {
  int const epochs = argc > 1 ? std::atoi(argv[1]) : 10;
  std::int64_t const most = argc > 2 ? std::atoll(argv[2]) : INT64_MAX;
  std::string const folder = argc > 3 ? argv[3] : find_fortunes();
  if (folder.empty())
    throw bad_file("no dataset: install fortunes and fortunes-min (apt-get), or give a folder as "
                   "third argument");
  bool const reuters = access((folder + "/train-tokens.idx").c_str(), R_OK) == 0;
  numbered_texts const texts = reuters ? read_arrays(folder) : read_fortunes(folder, most);

  // [example: text batches]
  auto const rows = data::from_tensors(texts.tokens, texts.labels).require_labels<1>(classes);
  auto const train = rows.skip(texts.tests).shuffle({.seed = 7}).batch(32).prefetch(2);
  auto const test = rows.take(texts.tests).batch(256).prefetch(2);
  // [end]

  // [example: text model]
  nn::Sequential const model{nn::Embedding<7, length>{texts.vocabulary},
                             nn::Conv1D<64, 5>{nn::relu},
                             nn::MaxPool1D<2>{},
                             nn::Conv1D<32, 3>{nn::relu},
                             nn::MaxPool1D<2>{},
                             nn::Flatten{},
                             nn::Dense<classes>{}};
  auto trainer =
      nn::compile(model, nn::Nadam{}, nn::SparseCategoricalCrossentropy{nn::from_logits},
                  nn::SparseCategoricalAccuracy{}, nn::SparseTopKCategoricalAccuracy<5>{});
  nn::summary(std::cout, trainer);
  nn::history const history = trainer.fit(train, {.epochs = epochs, .validation = test});
  // [end]
  for (std::size_t e = 0; e < history.epochs.size(); ++e)
    std::printf("epoch %2d  loss %.4f  test loss %.4f  test accuracy %.4f  top 5 %.4f\n",
                history.epoch[e] + 1, history["loss"][e], history["val_loss"][e],
                history["val_sparse_categorical_accuracy"][e],
                history["val_sparse_top_k_categorical_accuracy"][e]);
} catch (error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
