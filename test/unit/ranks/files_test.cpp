// SPDX-License-Identifier: Apache-2.0
// Arrays in files over ranks: each rank reads its own rows, rank 0 writes; what one rank cannot read
// ends on all.
#include <string>

#include <locus/files/npz.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>

#include "on_ranks.hpp"

namespace files_test {

using namespace rank_tests;

namespace {

own_folder const folder;

}  // namespace

TEST_CASE("each rank reads its rows of a .npy file, and rank 0 writes one") {
  std::string const path = folder.path + "/a.npy", copy = folder.path + "/b.npy";
  auto const job = [&] {
    using Rows = Sharded<0, Ranks<AllGpus>>;
    Tensor<double, Dextents<2>> const a(uniform<double>(dextents<2>(13, 4), seed{1}));
    ranks::on_first([&] { data::write_npy(path, a); });
    auto const x = data::read_npy<double, 2, Rows>(path);
    data::write_npy(copy, x);
    doubles out;
    put(out, x);
    out.push_back(fetch(all(to<CpuDevice>(x) == a)));
    out.push_back(fetch(all(data::read_npy<double, 2>(copy) == a)));
    auto const f = data::read_npy<float, 2, Rows>(path + ".f");
    put(out, f);
    return out;
  };
  {
    auto const made = testing::on_ranks(1, [&] {
      data::write_npy(path + ".f", eval(uniform<float>(dextents<2>(3, 2), seed{2})));
      return doubles{};
    });
    REQUIRE(made[0].error == "");
  }
  auto const one = testing::on_ranks(1, job);
  REQUIRE(one[0].error == "");
  REQUIRE(one[0].numbers.size() == 13 * 4 + 2 + 6);
  CHECK(one[0].numbers[52] == 1);
  CHECK(one[0].numbers[53] == 1);
  on_all_layouts(job, [&](auto const&, doubles const& got) { CHECK(got == one[0].numbers); });
}

TEST_CASE("a file that one rank cannot read: all ranks end with an error, in step") {
  std::string const path = folder.path + "/missing.npy";
  auto const ends = testing::on_ranks(3, [&] {
    std::string said;
    try {
      std::string const own = ranks::rank() == 1 ? path : folder.path + "/a.npy";
      auto const x = data::read_npy<double, 2, Sharded<0, Ranks<CpuDevice>>>(own);
    } catch (error const& e) {
      said = e.what();
    }
    bool const named = ranks::rank() == 1
                           ? said.find("missing.npy: expected a readable file") != said.npos
                           : said.starts_with("locus: another rank failed at what all ranks do");
    return doubles{double(named), double(ranks::count())};
  });
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    CHECK(e.numbers == doubles{1, 3});
  }
}

}  // namespace files_test
