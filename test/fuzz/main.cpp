// SPDX-License-Identifier: Apache-2.0
// Runs fuzz targets: libFuzzer's entry, and without libFuzzer a program that replays files.
//     LOCUS_FUZZ_TARGET=npy fuzz_explore corpus/npy -max_total_time=4
//     fuzz_replay corpus            every file of every folder, which has the name of its target
#include <algorithm>
#include <cstdint>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "fuzz.hpp"

namespace {

fuzz::target const& find_target(std::string_view name) {
  for (fuzz::target const& t : fuzz::file_targets)
    if (name == t.name) return t;
  for (fuzz::target const& t : fuzz::word_targets)
    if (name == t.name) return t;
  std::fprintf(stderr, "fuzz: no target is called %.*s; there is", int(name.size()), name.data());
  for (fuzz::target const& t : fuzz::file_targets) std::fprintf(stderr, " %s", t.name);
  for (fuzz::target const& t : fuzz::word_targets) std::fprintf(stderr, " %s", t.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

#if defined(LOCUS_LIBFUZZER)

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::target const& t = [&]() -> fuzz::target const& {
    char const* const name = std::getenv("LOCUS_FUZZ_TARGET");
    return find_target(name ? name : "");
  }();
  t.run({reinterpret_cast<char const*>(data), size});
  return 0;
}

#else

namespace {

constexpr int seconds_of_an_input = 10;
constexpr long mebibytes_of_all = 256;  // sanitizers included

std::vector<std::string> names_in(std::string const& folder) {
  std::vector<std::string> names;
  if (DIR* const d = opendir(folder.c_str())) {
    while (dirent const* const e = readdir(d))
      if (e->d_name[0] != '.') names.emplace_back(e->d_name);
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}
long peak() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return r.ru_maxrss / 1024;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: fuzz_replay CORPUS\n"), 2;
  std::string const corpus = arguments[1];
  int inputs = 0, targets = 0;
  for (std::string const& name : names_in(corpus)) {
    fuzz::target const& t = find_target(name);
    ++targets;
    for (std::string const& file : names_in(corpus + "/" + name)) {
      std::string const path = corpus + "/" + name + "/" + file;
      std::ifstream f(path, std::ios::binary);
      std::string const all(std::istreambuf_iterator<char>(f), {});
      std::vector<char> const bytes(all.begin(), all.end());  // exactly: one more is noticed
      long const before = peak();
      alarm(seconds_of_an_input);  // ends the program: an input that hangs is a finding
      t.run({bytes.data(), bytes.size()});
      alarm(0);
      ++inputs;
      if (peak() - before > mebibytes_of_all / 2 || peak() > mebibytes_of_all) {
        std::fprintf(stderr, "fuzz: %s took memory up to %ld MiB, %ld before\n", path.c_str(),
                     peak(), before);
        return 1;
      }
    }
  }
  std::printf("%d inputs of %d targets, %ld MiB\n", inputs, targets, peak());
  return targets == int(std::size(fuzz::file_targets) + std::size(fuzz::word_targets)) &&
                 inputs > 100
             ? 0
             : 1;
}

#endif
