// SPDX-License-Identifier: Apache-2.0
// main FOLDER MACHINE [ROWS...] [TYPE LAYOUT]: writes an archive of operands and results for each element type, number of
// rows and layout. check.py runs it.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <locus/testing/count.hpp>
#if !defined(NUMPY_ON_CARDS)
#include <locus/testing/recorder.hpp>
#include <locus/testing/simulated_gpus.hpp>
#endif

#include "families.hpp"

namespace numpy {

#define NUMPY_DECLARE(name) bool write_##name(task const&, archive&);
NUMPY_FAMILIES(NUMPY_DECLARE)
#undef NUMPY_DECLARE

constexpr char const* layouts[] = {"open", "fixed", "apart"};

struct request {
  std::string folder;
  std::vector<std::int64_t> rows;
  std::vector<std::string> words;  // types and layouts; none: all of them
  bool names(std::string_view name) const {
    return std::find(words.begin(), words.end(), name) != words.end();
  }
  bool wants(std::string_view type, char const* how) const {
    return words.empty() || (names(type) && names(how));
  }
};

int write_all(request const& all) {
  int files = 0;
  for (element_row const& type : elements)
    for (std::int64_t const n : all.rows)
      for (layout const how : {layout::open, layout::fixed, layout::apart}) {
        char const* const name = layouts[static_cast<int>(how)];
        if (!all.wants(type.name, name)) continue;
        task const t{type.name, how};
        archive b(all.folder + "/" + std::string(type.name) + "-" + name + "-" + std::to_string(n) +
                      ".npz",
                  n);
        bool any = false;
#define NUMPY_WRITE(name) any = write_##name(t, b) || any;
        NUMPY_FAMILIES(NUMPY_WRITE)
#undef NUMPY_WRITE
        if (!any) continue;
        b.save();
        ++files;
      }
  return files;
}

}  // namespace numpy

int main(int count, char** given) try {
  if (count < 3) throw locus::error("main FOLDER MACHINE [ROWS...] [TYPE LAYOUT]");
  std::string const machine = given[2];
  numpy::request all{given[1], {}, {}};
  for (int k = 3; k < count; ++k)
    if (std::isdigit(static_cast<unsigned char>(given[k][0])))
      all.rows.push_back(std::strtoll(given[k], nullptr, 10));
    else
      all.words.push_back(given[k]);
  if (all.rows.empty()) all.rows.assign(numpy::sizes.begin(), numpy::sizes.end());
#if !defined(NUMPY_ON_CARDS)
  std::optional<locus::testing::simulated_gpus> gpus;
  std::optional<locus::testing::recorder> cards;
  if (machine == "simulated") gpus.emplace(2);
  if (machine == "recorded") cards.emplace(locus::testing::recorder_options{.cards = 1});
#endif
  int files = 0;
  auto const done = locus::testing::count([&] { files = numpy::write_all(all); });
  std::printf("%d files, %lld launches, %lld steps that fell back to the host\n", files,
              static_cast<long long>(done.launches), static_cast<long long>(done.fallbacks));
  return machine == "host" || done.fallbacks == 0 ? 0 : 1;
} catch (std::exception const& wrong) {
  std::fprintf(stderr, "%s\n", wrong.what());
  return 1;
}
