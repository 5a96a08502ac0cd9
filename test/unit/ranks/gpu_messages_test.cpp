// SPDX-License-Identifier: Apache-2.0
// A carrier that takes the memory of GPUs: rows of halos, scatters and gathers go to it where they lie,
// without copies through the host, with the bits of one process.
#include <fstream>
#include <sstream>
#include <string>

#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>

#include "../../rank_programs.hpp"
#include "on_ranks.hpp"

namespace gpu_messages_test {

using namespace rank_tests;

namespace {

using over_all = Ranks<AllGpus>;

/// NCCL carries nothing, so that the carrier does
void without_nccl() { config::set_cross_device_ops(cross_device_ops::reduction_to_one_device); }
template <class List, class One>
doubles halos_and_moves() {
  without_nccl();
  doubles out;
  rank_programs::stencil<List>(out);
  rank_programs::moves_of<double, List, One>(out);
  rank_programs::moves_of<std::int8_t, List, One>(out);
  return out;
}
std::vector<testing::rank_end> good_ends(std::vector<int> const& layout, auto const& f,
                                         bool takes_gpus) {
  auto const ends =
      testing::on_ranks(int(layout.size()), f, {.gpus = layout, .takes_gpus = takes_gpus});
  for (testing::rank_end const& e : ends) {
    INFO(written(layout));
    REQUIRE(e.error == "");
    REQUIRE(e.status == 0);
  }
  return ends;
}

}  // namespace

TEST_CASE("messages in the memory of GPUs: the numbers of one process") {
  auto const one = good_ends({0}, halos_and_moves<CpuDevice, CpuDevice>, false)[0].numbers;
  REQUIRE(one.size() > 5000);
  auto const check = [&](auto const& f) {
    for (auto const& layout :
         {std::vector<int>{1, 1}, {2, 2}, {1, 3}, {1, 1, 1, 1}, {2, 0, 1}, {0, 1}})
      for (testing::rank_end const& e : good_ends(layout, f, true)) {
        INFO(written(layout));
        CHECK(e.numbers == one);
      }
  };
  SUBCASE("on all ranks") { check(halos_and_moves<over_all, GpuDevice<0>>); }
  SUBCASE("on some ranks") {
    check([] {
      if (ranks::rank() == 1) testing::detail::takes_gpus = false;
      return halos_and_moves<over_all, GpuDevice<0>>();
    });
  }
}

TEST_CASE("a value that is dense on one GPU is not staged in host memory") {
  own_folder const here;
  auto const job = [&] {
    without_nccl();
    std::string const path = here.path + "/" + std::to_string(ranks::rank()) + ".json";
    doubles out;
    // copies from and to host memory, and whether the carrier is said to take the memory
    auto const count = [&](auto const& f) {
      debugging::start_trace(path);
      f();
      debugging::stop_trace();
      std::ifstream file(path + "." + std::to_string(ranks::rank()));
      std::stringstream text;
      text << file.rdbuf();
      std::string const trace = text.str();
      int copies = 0;
      for (std::string_view const side : {"\"from\":\"/CPU", "\"to\":\"/CPU"})
        for (std::size_t at = 0; (at = trace.find(side, at)) != trace.npos; ++at) ++copies;
      out.push_back(copies);
      out.push_back(trace.find("sockets, in the memory of GPUs") != trace.npos);
    };
    using Rows = Tensor<double, Dextents<2>, Sharded<0, over_all, Halo<1>>>;
    Tensor<double, Dextents<2>, GpuDevice<0>> a(uniform<double>(dextents<2>(9, 5), seed{1}));
    Rows x(a), y(a);
    Tensor<double, Dextents<2>, Mirrored<over_all>> m(a);
    count([&] { run(into(interior<1>(y), interior<1, -1, 0>(x) + interior<1, 1, 0>(x))); });
    count([&] { x = a; }), count([&] { a = x; }), count([&] { m = x; });
    count([&] { m = a; });  // a broadcast
    put(out, a), put(out, m);
    return out;
  };
  auto const direct = good_ends({1, 1, 1}, job, true), staged = good_ends({1, 1, 1}, job, false);
  for (std::size_t r = 0; r < 3; ++r) {
    doubles const &d = direct[r].numbers, &s = staged[r].numbers;
    REQUIRE(d.size() == 10 + 90);
    for (std::size_t k = 0; k < 4; ++k) {
      INFO("rank ", r, ", statement ", k);
      CHECK(d[2 * k] == 0);
      CHECK(d[2 * k + 1] == 1);
      CHECK(s[2 * k] > 0);
      CHECK(s[2 * k + 1] == 0);
    }
    CHECK(d[8] == s[8]);
    CHECK(d[9] == 0);
    CHECK(doubles(d.begin() + 10, d.end()) == doubles(s.begin() + 10, s.end()));
  }
}

}  // namespace gpu_messages_test
