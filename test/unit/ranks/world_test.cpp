// SPDX-License-Identifier: Apache-2.0
// What a world leaves behind and what it finds: communicators, tensors, files, devices; values of replicas that
// no plan moves.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/nn/losses/metric_states.hpp>
#include <locus/strategy/strategy.hpp>
#include <locus/strategy/variable.hpp>
#include <locus/tensor/collective.hpp>
#include <locus/tensor/ranks.hpp>

#include "on_ranks.hpp"

namespace world_test {

using namespace rank_tests;

namespace {

using over_all = Ranks<AllGpus>;
using over_hosts = Ranks<CpuDevice>;
using hosts_rows = Tensor<double, Dextents<1>, Sharded<0, over_hosts>>;

template <class F>
void check_each(F const& f, doubles const& expected, testing::rank_options const& o = {}) {
  for (testing::rank_end const& e : testing::on_ranks(2, f, o)) {
    CHECK(e.error == "");
    CHECK(e.status == 0);
    CHECK(e.numbers == expected);
  }
}
template <class F>
void check_refused(F const& f, char const* part, testing::rank_options const& o = {}) {
  for (testing::rank_end const& e : testing::on_ranks(2, f, o)) {
    INFO(e.error);
    CHECK(e.error.find(part) != std::string::npos);
  }
}

/// means: this process leaves its world, and is the same rank of another one
struct next_world {
  runtime::rank_carrier const* const by = runtime::ranks_by;
  rank_numbers const me = runtime::this_rank;
  void leave() const { internal::leave_ranks(); }
  void join() const { internal::join_ranks(*by, me.rank, me.ranks); }
};

/// f on each replica of all ranks
template <class F>
auto on_replicas(strategy<Mirrored<over_all>> const& s, F const& f) {
  return s.run([&](auto& c) {
    using Device = typename std::remove_reference_t<decltype(c)>::policy;
    return eval(on<Device>(f(c), c.device()));
  });
}

std::string text_of(std::string const& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("communicators end with the world whose ranks they join") {
  auto const count = [] {
    std::size_t n = 0;
    while (detail::communicators().number(n)) ++n;
    return double(n);
  };
  check_each(
      [&] {
        auto const joined = [] {
          Tensor<double, Dextents<1>, Sharded<0, over_all>> x(iota<double>(dextents<1>(8)));
          Tensor<double, Dextents<1>, Mirrored<over_all>> m(ones<double>(dextents<1>(3)));
          m = m + fetch(sum(x));
          Tensor<double, Dextents<1>> const a(to<CpuDevice>(m));
          Tensor<double, Dextents<1>> const b(ones<double>(dextents<1>(3)));
          m = b;
          return a(0);
        };
        next_world const world;
        doubles out{joined(), count()};
        world.leave();
        out.push_back(count());
        world.join();
        out.push_back(joined());
        out.push_back(count());
        return out;
      },
      {29, 1, 0, 29, 1}, {.gpus = {1, 1}});
}

TEST_CASE("a tensor over ranks is used in its own world alone") {
  char const* const said = "is used in another world than the one in which it was made";
  for (auto const use : {+[](hosts_rows& x) { x = x + 1.; }, +[](hosts_rows& x) { x = 2.; },
                         +[](hosts_rows& x) { static_cast<void>(fetch(sum(x))); },
                         +[](hosts_rows& x) {
                           hosts_rows const y(x);
                           static_cast<void>(to<CpuDevice>(y));
                         },
                         +[](hosts_rows& x) {
                           hosts_rows y(iota<double>(dextents<1>(4)));
                           y = x;
                         },
                         +[](hosts_rows& x) {
                           AnyTensor<double, Dextents<1>> const a(x);
                           static_cast<void>(a.to<CpuDevice>());
                         }}) {
    check_refused(
        [&] {
          hosts_rows x(iota<double>(dextents<1>(4)));
          next_world const world;
          world.leave();
          use(x);
          return doubles{};
        },
        said);
    check_refused(
        [&] {
          next_world const world;
          world.leave();
          hosts_rows x(iota<double>(dextents<1>(4)));
          world.join();
          use(x);
          return doubles{};
        },
        said);
  }
}

TEST_CASE("devices do not change inside of a world") {
  check_refused(
      [] {
        testing::simulated_gpus const two{2};
        return doubles{};
      },
      "make them before the world");
}

TEST_CASE(
    "files of a process have the number of its last rank, and no two ranks write to one file") {
  own_folder const here;
  std::string const& folder = here.path;
  check_each(
      [&] {
        next_world const world;
        world.leave();
        debugging::log_to_json(folder + "/behind.json");
        debugging::start_trace(folder + "/behind_%r.trace");
        debugging::stop_trace();
        debugging::log_to_json("");
        return doubles{};
      },
      {});
  for (std::string const r : {"0", "1"}) {
    CHECK(std::filesystem::exists(folder + "/behind.json." + r));
    CHECK(std::filesystem::exists(folder + "/behind_" + r + ".trace"));
  }
  static std::string path;
  path = folder + "/early";
  auto const nothing = [] { return doubles{}; };
  auto const begin = [](void (*open)(int)) { return testing::rank_options{.before = open}; };
  char const* const said = "make the world first";
  check_refused(nothing, said, begin([](int) { debugging::log_to_json(path); }));
  check_refused(nothing, said, begin([](int) { debugging::start_trace(path + ".%r"); }));
  check_each(nothing, {}, begin([](int) { debugging::start_trace(path + ".%p"); }));
  check_each(nothing, {}, begin([](int) {
               debugging::start_trace(path);
               debugging::stop_trace();
             }));
}

TEST_CASE("the report of plans that ends a program has a file for each rank") {
  own_folder const here;
  std::string const path = here.path + "/plans";
  setenv("LOCUS_EXPLAIN", path.c_str(), 1);
  check_each(
      [&] {
        hosts_rows x(iota<double>(dextents<1>(4)));
        double const s = fetch(sum(x));
        internal::leave_ranks();
        locus::detail::write_report_at_end(false);
        return doubles{s};
      },
      {6});
  unsetenv("LOCUS_EXPLAIN");
  for (std::string const r : {"0", "1"})
    CHECK(text_of(path + "." + r).find("plan 1") != std::string::npos);
}

TEST_CASE("a collective that belongs to no plan carries no line of one") {
  check_each(
      [] {
        hosts_rows x(iota<double>(dextents<1>(4)));
        static_cast<void>(fetch(sum(x)));
        if (ranks::rank() == 0) x = 3. * x + 1.;  // a plan without collectives, on one rank
        strategy<Mirrored<over_all>> const s;
        auto const p = s.run([](auto& c) {
          using Device = typename std::remove_reference_t<decltype(c)>::policy;
          return c.all_reduce(across::sum,
                              eval(on<Device>(ones<double>(dextents<1>(2)), c.device())));
        });
        doubles out;
        put(out, p[0]);
        return out;
      },
      {2, 2});
  for (testing::rank_end const& e : testing::on_ranks(2, [] {
         hosts_rows const x(iota<double>(dextents<1>(4)));
         static_cast<void>(fetch(sum(x)));
         strategy<Mirrored<over_all>> const s;
         s.run([](auto& c) {
           using Device = typename std::remove_reference_t<decltype(c)>::policy;
           return c.all_reduce(
               across::sum,
               eval(on<Device>(ones<double>(dextents<1>(c.replica_id() + 1)), c.device())));
         });
         return doubles{};
       })) {
    INFO(e.error);
    CHECK(e.error != "");
    CHECK(e.error.find("world_test.cpp") == std::string::npos);
  }
}

TEST_CASE("broadcast by hand goes to the replicas of all ranks") {
  std::vector<int> const gpus{2, 1};
  for (int root = 0; root < 3; ++root)
    check_each(
        [&] {
          Tensor<float, Dextents<1>, Mirrored<over_all>> x(zeros<float>(dextents<1>(3)));
          int const mine = root - (ranks::rank() == 0 ? 0 : 2);
          if (mine >= 0 && mine < gpus[std::size_t(ranks::rank())]) {
            Tensor<float, Dextents<1>> const seven(7.f + iota<float>(dextents<1>(3)));
            auto const at = x.as_target();
            internal::copy_local(at.where.at(mine), at.locals[mine].data, cpu(0), seven.data(), 12,
                                 "a test");
          }
          collective::broadcast(x, root);
          doubles out;
          auto const at = x.as_target();
          for (int r = 0; r < at.where.local_count(); ++r) {
            Tensor<float, Dextents<1>> one{dextents<1>(3)};
            internal::copy_local(cpu(0), one.data(), at.where.at(r), at.locals[r].data, 12,
                                 "a test");
            put(out, one);
          }
          out.resize(3);
          return out;
        },
        {7, 8, 9}, {.gpus = gpus});
  check_refused(
      [] {
        Tensor<float, Dextents<1>, Mirrored<over_hosts>> x(zeros<float>(dextents<1>(3)));
        collective::broadcast(x, 2);
        return doubles{};
      },
      "there is no replica 2 among 2");
}

TEST_CASE("updates of a metric outside of replicas count once") {
  auto const sums = [](bool outside_first) {
    return [outside_first] {
      strategy<Mirrored<over_all>> const s;
      nn::metrics::Sum sum;
      auto const inside = [&] { s.run([&](auto& c) { sum.update_state(c, 1.); }); };
      if (!outside_first) inside();
      sum.update_state(100.);
      if (outside_first) inside();
      doubles out{sum.result()};
      sum.reset_state();
      sum.update_state(100.);
      out.push_back(ranks::rank() == 0 ? sum.result() : 100);  // no value of ranks any more
      return out;
    };
  };
  for (bool const first : {false, true}) check_each(sums(first), {104, 100}, {.gpus = {2, 2}});
}

TEST_CASE("strategies over ranks take elements of bool") {
  check_each(
      [] {
        doubles out;
        strategy<Mirrored<over_all>> s;
        auto const flags = [](auto& c) { return full<bool>(dextents<1>(2), c.replica_id() == 1); };
        put(out, s.gather(on_replicas(s, flags), 0));
        put(out, s.gather(s.run([](auto& c) { return c.replica_id() == 1; }), 0));
        auto const all = s.run([&](auto& c) {
          using Device = typename std::remove_reference_t<decltype(c)>::policy;
          return c.all_gather(eval(on<Device>(flags(c), c.device())));
        });
        put(out, all[0]);
        auto v = make_variable<on_write, aggregation::only_first_replica>(
            s, full<bool>(dextents<1>(2), ranks::rank() == 0));
        put(out, v.read());
        s.run(
            [&](auto& c, auto copy) {
              using Device = typename std::remove_reference_t<decltype(c)>::policy;
              copy.assign(eval(on<Device>(flags(c), c.device())));
            },
            v);
        put(out, v.read());
        return out;
      },
      {0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0});
}

TEST_CASE(
    "on_ranks takes a number of GPUs for each rank, and a rank that ends early is no good end") {
  auto const nothing = [] { return doubles{}; };
  CHECK_THROWS_WITH(testing::on_ranks(3, nothing, {.gpus = {1, 1}}),
                    doctest::Contains("one number for each rank"));
  auto const ends = testing::on_ranks(1, [] {
    if (ranks::count() == 1) _exit(0);
    return doubles{};
  });
  CHECK_FALSE(ends[0].is_good());
}

TEST_CASE("rank 0 alone writes an AnyTensor over ranks; rows of ranks agree in all other extents") {
  auto const written = testing::on_ranks(2, [] {
    hosts_rows const x(iota<double>(dextents<1>(4)));
    AnyTensor<double, Dextents<1>> const a(x), b(eval(2. * iota<double>(dextents<1>(2))));
    std::ostringstream over_ranks, own;
    over_ranks << a, own << b;
    return doubles{double(over_ranks.str().size()), double(own.str().size())};
  });
  CHECK(written[0].numbers == doubles{13, 7});
  CHECK(written[1].numbers == doubles{0, 7});
  check_refused(
      [] {
        Tensor<double, Dextents<2>> const mine(zeros<double>(dextents<2>(2, 2 + ranks::rank())));
        ranks::from_rows<Sharded<0, over_hosts>>(mine);
        return doubles{};
      },
      "rank 1 have other extents than those of rank 0");
}

}  // namespace world_test
