// SPDX-License-Identifier: Apache-2.0
// Ranks that go other ways: every rank ends with a sentence that names the rank and the statement;
// none waits for ever, and none computes with the bytes of another statement.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>

#include "on_ranks.hpp"

namespace failures_test {

using namespace rank_tests;

namespace {

using Rows = Tensor<double, Dextents<1>, Sharded<0, Ranks<CpuDevice>>>;

/// a sum over ranks; then the job of a rank; then another sum, which must fail
template <class F>
std::vector<testing::rank_end> after_a_sum(int count, F const& f) {
  return testing::on_ranks(count,
                           [&] {
                             config::set_collective_timeout(2);
                             Rows x(uniform<double>(dextents<1>(30), seed{1}));
                             double const first = fetch(sum(x));
                             f(x);
                             return doubles{first, fetch(sum(x))};
                           },
                           {.seconds = 20});
}
bool has(std::string const& text, std::string_view part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a statement over ranks under `if (rank == 0)`: both places are named") {
  auto const ends = after_a_sum(2, [](Rows& x) {
    if (ranks::rank() == 0) x = x + mean(x);
  });
  for (testing::rank_end const& e : ends)
    has(e.error, "locus: the ranks of this program differ: rank ");
  has(ends[0].error, "begins collective 3, all_reduce of 8 bytes; rank 1 on this computer begins "
                     "collective 3, reduce of 8 bytes (");
  has(ends[0].error, "failures_test.cpp:");
  has(ends[0].error, "; every rank runs every statement over ranks");
}

TEST_CASE("ranks with other extents, other element types and other operations") {
  auto const extents = after_a_sum(3, [](Rows&) {
    Rows y(zeros<double>(dextents<1>(ranks::rank() == 1 ? 4 : 5)));
    static_cast<void>(fetch(sum(y)));
  });
  for (testing::rank_end const& e : extents) has(e.error, "of another plan or other extents");
  auto const types = after_a_sum(2, [](Rows& x) {
    if (ranks::rank() == 0)
      static_cast<void>(fetch(sum(cast<float>(x))));
    else
      static_cast<void>(fetch(sum(x)));
  });
  for (testing::rank_end const& e : types) has(e.error, "reduce of 4 bytes");
  auto const operations = after_a_sum(2, [](Rows& x) {
    if (ranks::rank() == 0)
      static_cast<void>(to<CpuDevice>(x));
    else
      static_cast<void>(fetch(max(x)));
  });
  has(operations[1].error, "begins collective 3, gather of 240 bytes");
}

TEST_CASE("ranks with another order of reductions") {
  auto const ends = after_a_sum(2, [](Rows&) {
    if (ranks::rank() == 0) config::set_reduction_order(reduction_order::ranked);
  });
  for (testing::rank_end const& e : ends)
    has(e.error, "locus: the ranks of this program differ: rank ");
}

TEST_CASE("a kernel fails on one rank, which goes on: its next statement meets no other") {
  struct fails_on_rank_1 {
    int turn = 0;
    double operator()(double v) const {
      if (turn == 1 && ranks::rank() == 1) throw shape_error("locus: a mistake of rank 1 alone");
      return v;
    }
  };
  auto const ends = after_a_sum(2, [](Rows& x) {
    for (int turn = 0; turn < 4; ++turn) try {
        static_cast<void>(fetch(sum(map(fails_on_rank_1{turn}, x))));
      } catch (shape_error const&) {}
  });
  for (testing::rank_end const& e : ends) {
    has(e.error, "locus: the ranks of this program differ: rank ");
    has(e.error, "begins collective 4, reduce of 8 bytes");
  }
}

TEST_CASE("after a wait that failed, host memory is not freed: a message may still come") {
  auto const ends = testing::on_ranks(2, [] {
    config::set_collective_timeout(0.3);
    auto const in_use = [] { return double(config::get_memory_info("CPU:0").current); };
    auto const grows = [&] {
      double const before = in_use();
      { Tensor<double, Dextents<1>> const x(ones<double>(dextents<1>(1000))); }
      return in_use() - before;
    };
    doubles out{grows()};
    Rows x(uniform<double>(dextents<1>(30), seed{1}));
    if (ranks::rank() == 1) sleep(2);
    try {
      static_cast<void>(fetch(sum(x)));
    } catch (collective_error const&) {
      out.push_back(grows());
    }
    return out;
  });
  CHECK(ends[0].error == "");
  REQUIRE(ends[0].numbers.size() == 2);
  CHECK(ends[0].numbers[0] == 0);
  CHECK(ends[0].numbers[1] >= 8000);
}

TEST_CASE("a rank that does not come: the others wait no longer than the deadline, and name it") {
  auto const late = after_a_sum(3, [](Rows&) {
    if (ranks::rank() == 1) sleep(6);
  });
  for (int const r : {0, 2}) {
    has(late[std::size_t(r)].error, "did not end in 2000 ms; rank 1 on ");
    has(late[std::size_t(r)].error, "does not answer: it is dead, stopped or elsewhere");
    has(late[std::size_t(r)].error, "start it again from its checkpoint");
  }
  CHECK_FALSE(late[1].is_good());
}

TEST_CASE("a rank that is killed, ends, or throws: the others hear of it at once") {
  for (int late = 0; late < 2; ++late) {
    auto const killed = after_a_sum(3, [&](Rows&) {
      if (ranks::rank() == 2) kill(getpid(), SIGKILL);
      if (ranks::rank() == late) usleep(200'000);
    });
    CHECK(WIFSIGNALED(killed[2].status));
    // the first of the two names rank 2; the other may name the first, which has ended too
    bool is_named = false;
    for (int const r : {0, 1}) {
      std::string const& text = killed[std::size_t(r)].error;
      has(text, "lost a rank; rank ");
      is_named = is_named || text.find("rank 2 on this computer has ended") != text.npos;
    }
    CHECK(is_named);
  }
  auto const ended = after_a_sum(2, [](Rows&) {
    if (ranks::rank() == 0) _exit(3);
  });
  CHECK(WEXITSTATUS(ended[0].status) == 3);
  has(ended[1].error, "rank 0 on this computer has ended");
  auto const thrown = after_a_sum(2, [](Rows&) {
    if (ranks::rank() == 0) throw shape_error("locus: a mistake of rank 0 alone");
  });
  CHECK(thrown[0].error == "locus: a mistake of rank 0 alone");
  has(thrown[1].error, "rank 0 on this computer has ended");
}

TEST_CASE("after a failure the ranks are out of step: every later collective fails at once") {
  auto const ends = after_a_sum(2, [](Rows& x) {
    try {
      if (ranks::rank() == 0)
        static_cast<void>(fetch(max(x)));
      else
        static_cast<void>(fetch(min(x)));
    } catch (collective_error const& e) {
      if (e.operation != "reduce") throw;
      x = 2. * x;  // needs no other rank
    }
  });
  for (testing::rank_end const& e : ends)
    has(e.error,
        "a collective between ranks failed before, so that the ranks are no longer in step");
}

TEST_CASE("on_each whose function fails at a collective: its text stays") {
  auto const ends = after_a_sum(2, [](Rows& x) {
    ranks::on_each([&] { static_cast<void>(ranks::rank() == 0 ? fetch(max(x)) : fetch(min(x))); });
  });
  for (testing::rank_end const& e : ends) has(e.error, "the ranks of this program differ: rank ");
}

TEST_CASE("LOCUS_CHECK_RANKS=0 leaves the checks out: a message of another length is refused") {
  setenv("LOCUS_CHECK_RANKS", "0", 1);
  auto const ends = after_a_sum(2, [](Rows&) {
    Rows y(zeros<double>(dextents<1>(4)));
    Tensor<double, Dextents<1>> z(dextents<1>(ranks::rank() == 0 ? 4 : 6));
    z = ranks::rank() == 0 ? 1. : 2.;
    Tensor<double, Dextents<1>, Mirrored<Ranks<CpuDevice>>> m(z);
  });
  unsetenv("LOCUS_CHECK_RANKS");
  has(ends[1].error, "got a message of another length; rank 0 on this computer sent it");
}

TEST_CASE("a value above the limit of gathers goes to no rank; the ranks stay in step") {
  auto const ends = testing::on_ranks(2, [] {
    Rows x(uniform<double>(dextents<1>(30), seed{1}));
    config::set_gather_limit(239);
    std::string said;
    try {
      static_cast<void>(to<CpuDevice>(x));
    } catch (out_of_memory const& e) {
      said = e.what();
    }
    bool const named =
        said.find("a value of 240 bytes would go to every rank, and the limit of such "
                  "gathers is 239 bytes") != said.npos;
    config::set_gather_limit(240);
    return doubles{double(named), fetch(sum(to<CpuDevice>(x))) - fetch(sum(x)),
                   double(ranks::rows(x).size())};
  });
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    REQUIRE(e.numbers.size() == 3);
    CHECK(e.numbers[0] == 1);
    CHECK(std::abs(e.numbers[1]) < 1e-12);
    CHECK(e.numbers[2] == 15);
  }
  CHECK_THROWS_AS(config::set_gather_limit(-1), configuration_error);
}

TEST_CASE("the deadline and the check of ranks are read from the environment") {
  setenv("LOCUS_CHECK_RANKS", "maybe", 1);
  auto const ends = testing::on_ranks(1, [] { return doubles{}; });
  unsetenv("LOCUS_CHECK_RANKS");
  has(ends[0].error, "LOCUS_CHECK_RANKS");
}

TEST_CASE("ranks with another version of locus do not join") {
  static runtime::rank_carrier const& before = testing::detail::carrier_of_bytes;
  static runtime::rank_carrier with_other_version = before;
  with_other_version.all_gather = [](void* data, std::int64_t const* ends, double seconds) {
    auto* const all = static_cast<internal::rank_point*>(data);
    int const rank = testing::detail::sockets.rank;
    if (rank == 1)
      std::snprintf(all[rank].operation, sizeof all[rank].operation, "join, locus 9.9.9");
    return before.all_gather(data, ends, seconds);
  };
  auto const ends = testing::on_ranks(3, [] {
    internal::leave_ranks();
    internal::join_ranks(with_other_version, testing::detail::sockets.rank, 3);
    return doubles{};
  });
  for (int const r : {0, 2}) {
    has(ends[std::size_t(r)].error, "begins collective 1, join, locus 9.9.9; every rank runs");
    has(ends[std::size_t(r)].error, "begins collective 1, join, locus 0.");
  }
  CHECK_FALSE(ends[1].is_good());
}

TEST_CASE("a program has at most 8191 ranks") {
  CHECK_THROWS_WITH_AS(internal::join_ranks(testing::detail::carrier_of_bytes, 0, 8192),
                       "locus: a program of 8192 ranks; it has at most 8191, of up to 8 replicas "
                       "each: start fewer ranks with more GPUs",
                       configuration_error);
  CHECK(runtime::this_rank.ranks == 1);
}

TEST_CASE("on_ranks refuses a process whose devices are in use; a process is in one world") {
  auto const ends = testing::on_ranks(1, [] {
    doubles out;
    try {
      testing::on_ranks(2, [] { return doubles{}; });
    } catch (configuration_error const&) {
      out.push_back(1);
    }
    try {
      internal::join_ranks(*runtime::ranks_by, 0, 1);
    } catch (configuration_error const& e) {
      out.push_back(std::string_view(e.what()).find("a program has one world at a time") !=
                    std::string_view::npos);
    }
    return out;
  });
  CHECK(ends[0].error == "");
  CHECK(ends[0].numbers == doubles{1, 1});
}

}  // namespace failures_test
