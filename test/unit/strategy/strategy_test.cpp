// SPDX-License-Identifier: Apache-2.0
// strategy: one function on every replica, against the tables of MirroredStrategy.
#include <atomic>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <thread>

#include <locus/locus.hpp>
#include <locus/strategy/strategy.hpp>
#include <locus/strategy/variable.hpp>
#include <locus/tensor/rows_over.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <message_of.hpp>

namespace strategy_test {

using namespace locus;

namespace {

using Gpus = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
using Cpus = Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>;
using Matrix = Tensor<float, Dextents<2>>;

Matrix counted(std::int64_t rows, std::int64_t columns) {
  Matrix t(rows, columns);
  for (std::int64_t i = 0; i < t.size(); ++i) t.data()[i] = float(i + 1);
  return t;
}
template <class T, class E>
std::vector<T> numbers_of(Tensor<T, E, CpuDevice> const& t) {
  return {t.data(), t.data() + t.size()};
}
template <class T, class E>
std::vector<T> numbers_of(AnyTensor<T, E> const& t) {
  return numbers_of(t.template to<CpuDevice>());
}
template <class A, class B>
struct losses {
  A data;
  B decay;
};

/// the strategies of the tests: what is simulated lives while f runs
template <class F>
void on_strategies(F&& f) {
  f(strategy<Cpus>());
  testing::simulated_gpus const three{3};
  f(strategy<Gpus>());
}

}  // namespace

TEST_CASE("run calls a function once for each replica, with its part of what is distributed") {
  strategy<Cpus> const s;
  CHECK(s.num_replicas_in_sync() == 3);
  auto const x = to<rows_over<Cpus>>(counted(7, 2));  // 3 3 1 rows
  auto const w = to<Cpus>(counted(1, 2));
  std::string const plain = "passed on";
  auto const out = s.run(
      [&](auto& c, auto const& rows, auto const& weights, int n, std::string const& text) {
        CHECK(&text == &plain);
        CHECK(n == 5);
        CHECK(rows.device() == c.device());
        CHECK(weights.extent(0) == 1);
        return std::tuple(rows * weights, rows.extent(0), c.replica_id());
      },
      x, w, 5, plain);
  auto const& [products, count, id] = out;
  CHECK(count[0] == 3);
  CHECK(count[2] == 1);
  CHECK(id[1] == 1);
  CHECK(numbers_of(products[2]) == std::vector<float>{13, 28});
  CHECK(products[1].where().at(0) == s.devices()[1]);
  CHECK(s.local_results(out).size() == 3);
  CHECK(std::get<1>(s.local_results(out)[1]) == 3);
  // what it returned goes in again, each replica's part to it
  auto const again = s.run([](auto const& t) { return *t.data(); }, products);
  CHECK(again[2] == 13);
  CHECK(s.reduce(across::sum, again) == 1 + 7 + 13);
  CHECK(numbers_of(s.gather(products, 0)) ==
        std::vector<float>{1, 4, 3, 8, 5, 12, 7, 16, 9, 20, 11, 24, 13, 28});
  CHECK(s.values_from([](int r) { return r; })[2] == 2);
}

TEST_CASE("structures are taken apart and put together: tuples, arrays, vectors, maps, records") {
  strategy<Cpus> const s;
  auto const x = s.values_from([](int r) { return r + 1; });
  auto const out = s.run(
      [](std::vector<int> const& v, losses<int, double> const& l) {
        return std::tuple(std::pair(v[0], std::string("text")), std::array{v[0], v[1]},
                          std::vector{l.decay}, std::map<std::string, int>{{"a", l.data}},
                          losses<double, int>{v[0] * 2.0, v[1]});
      },
      std::vector{x, x}, losses<per_replica<int>, double>{x, 0.5});
  CHECK(std::get<0>(out).first[2] == 3);
  CHECK(std::get<0>(out).second[1] == "text");
  CHECK(std::get<1>(out)[1][0] == 1);
  CHECK(std::get<2>(out)[0][1] == 0.5);
  CHECK(std::get<3>(out).at("a")[1] == 2);
  CHECK(std::get<4>(out).data[2] == 6.0);
  auto const total = s.reduce(across::sum, std::get<4>(out));
  CHECK(total.data == 12);
  CHECK(total.decay == 6);
  CHECK(s.reduce(across::sum, std::get<3>(out)).at("a") == 6);
  CHECK(s.reduce(across::mean, std::get<2>(out))[0] == 0.5);
  CHECK(message_of<placement_error>([&] {
          s.run([](int r) { return std::vector<int>(std::size_t(r)); }, x);
        }) == "locus: what replica 1 returned differs from replica 0's in length; return the same "
              "structure from each");
  CHECK(message_of<placement_error>([&] {
          s.run([](int r) { return std::map<int, int>{{r, r}}; }, x);
        }).find("the keys of a map") != std::string::npos);
}

TEST_CASE("replicas meet: all_reduce, all_gather, merge_call, as often as they like") {
  strategy<Cpus> const s;
  auto const x = to<rows_over<Cpus>>(counted(6, 2));
  int merged = 0;
  auto const out = s.run(
      [&](auto& c, auto const& rows) {
        auto all = c.all_reduce(across::sum, rows);
        auto middle = c.all_reduce(across::mean, rows);
        int const ids = c.all_reduce(across::sum, c.replica_id());
        double const half = c.all_reduce(across::mean, double(c.replica_id()));
        auto const both = c.all_reduce(across::sum, std::tuple(1, 0.5));
        auto whole = c.all_gather(rows);
        auto const [count, mine] = c.merge_call(
            [&](auto const& parts, auto const& numbers) {
              ++merged;
              return std::pair(s.reduce(across::sum, parts), numbers);
            },
            rows, 10 * c.replica_id());
        CHECK(std::get<1>(both) == 1.5);
        CHECK(mine == 10 * c.replica_id());
        CHECK(count(1, 1) == 24);
        return std::tuple(std::move(all), std::move(middle), ids, half, std::move(whole));
      },
      x);
  CHECK(merged == 1);
  for (int r = 0; r < 3; ++r) {
    CHECK(numbers_of(std::get<0>(out)[r]) == std::vector<float>{15, 18, 21, 24});
    CHECK(numbers_of(std::get<1>(out)[r]) == std::vector<float>{5, 6, 7, 8});
    CHECK(std::get<2>(out)[r] == 3);
    CHECK(std::get<3>(out)[r] == 1.0);
    CHECK(numbers_of(std::get<4>(out)[r]) == numbers_of(counted(6, 2)));
  }
}

TEST_CASE("reductions follow the table: sums, means, axes, uneven and empty parts") {
  strategy<Cpus> const s;
  using Any = AnyTensor<float, Dextents<2>>;
  // losses 5, 6 and 7 on two replicas, nothing on the third: the mean is 6, not that of the means
  auto const uneven = s.values_from([](int r) {
    return r == 0 ? Any(Matrix{{5}, {6}}) : r == 1 ? Any(Matrix{{7}}) : Any(Matrix(0, 1));
  });
  CHECK(numbers_of(s.reduce(across::mean, uneven, 0)) == std::vector<float>{6});
  CHECK(numbers_of(s.reduce(across::sum, uneven, -2)) == std::vector<float>{18});
  CHECK(numbers_of(s.reduce(across::mean, uneven, {0, 1})) == std::vector<float>{6});
  CHECK(s.reduce(across::mean, s.values_from([](int r) { return r ? 7.0 : 5.5; })) == 6.5);
  CHECK(numbers_of(s.gather(uneven, 0)) == std::vector<float>{5, 6, 7});
  CHECK(message_of<shape_error>([&] { s.gather(uneven, 1); }).find("make all of one shape but") !=
        std::string::npos);
  auto const empty = to<rows_over<Cpus>>(counted(2, 3));  // 1 1 0 rows
  CHECK(numbers_of(s.reduce(across::mean, empty, 0)) == std::vector<float>{2.5, 3.5, 4.5});
  CHECK(numbers_of(s.reduce(across::sum, empty, 0)) == std::vector<float>{5, 7, 9});
  CHECK(numbers_of(s.gather(empty, 0)) == numbers_of(counted(2, 3)));
  CHECK(message_of<shape_error>([&] { s.reduce(across::sum, empty); }).find("extents [0,3]") !=
        std::string::npos);

  auto const even = to<rows_over<Cpus>>(counted(6, 2));
  CHECK(numbers_of(s.reduce(across::sum, even)) == std::vector<float>{15, 18, 21, 24});
  CHECK(numbers_of(s.reduce(across::mean, even)) == std::vector<float>{5, 6, 7, 8});
  CHECK(numbers_of(s.reduce(across::sum, even, 1)) == std::vector<float>{33, 45});
  CHECK(numbers_of(s.gather(even, 1)) == std::vector<float>{1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12});
  CHECK(numbers_of(s.reduce(across::mean, to<Cpus>(counted(1, 2)))) == std::vector<float>{1, 2});
  CHECK(s.reduce(across::mean, 4.5) == 4.5);  // the same on each
  CHECK(message_of<shape_error>([&] { s.reduce(across::sum, even, 2); }) ==
        "locus: axis 2 is out of range for a value with rank 2; name one from -2 to 1");
  CHECK(message_of<shape_error>([&] { s.gather(even, -3); }).find("axis -3") != std::string::npos);
  CHECK(s.reduce(across::sum, s.values_from([](int r) { return std::int64_t(r) << 60; })) ==
        std::int64_t(3) << 60);
}

TEST_CASE("on GPUs values stay there: views of pieces, sums in the card, variables") {
  testing::simulated_gpus const three{3};
  strategy<Gpus> const s;
  auto const x = to<rows_over<Gpus>>(counted(6, 2));
  auto v = make_variable<on_write, aggregation::sum>(s, Tensor<float, Dextents<2>>{{1, 2}, {3, 4}});
  auto const sums = s.run(
      [](auto& c, auto const& rows, auto total) {
        CHECK(rows.device() == gpu(c.replica_id()));
        total.assign(rows);
        return c.all_reduce(across::mean, rows);
      },
      x, v);
  for (int r = 0; r < 3; ++r) {
    CHECK(sums[r].where().at(0) == gpu(r));
    CHECK(numbers_of(sums[r]) == std::vector<float>{5, 6, 7, 8});
    CHECK(numbers_of(v.local_results()[std::size_t(r)]) == std::vector<float>{15, 18, 21, 24});
  }
  CHECK(numbers_of(s.reduce(across::sum, x)) == std::vector<float>{15, 18, 21, 24});
  CHECK(numbers_of(s.gather(sums, 0)).size() == 12);
}

TEST_CASE("the exception of a replica reaches the caller with its name, and the strategy goes on") {
  on_strategies([](auto const& s) {
    struct planted : std::runtime_error {
      using runtime_error::runtime_error;
    };
    bool const on_gpus = s.devices()[0].is_gpu();
    for (bool const meets : {false, true})
      for (int bad = 0; bad < 3; ++bad) {
        CAPTURE(meets);
        CAPTURE(bad);
        try {
          s.run([&](auto& c) {
            if (meets) c.all_reduce(across::sum, 1);
            if (c.replica_id() == bad) throw planted("no luck");
            if (meets) c.all_reduce(across::sum, 1);
          });
          CHECK(false);
        } catch (replica_error const& e) {
          CHECK(e.what() == "locus: replica " + std::to_string(bad) + " on " +
                                (on_gpus ? "/GPU:" : "/CPU:") + std::to_string(bad) + ": no luck");
          CHECK(e.replica == bad);
          CHECK_THROWS_AS(std::rethrow_exception(e.cause), planted);
        }
        CHECK(s.reduce(across::sum, s.run([](auto& c) { return c.replica_id(); })) == 3);
      }
    CHECK(message_of<planted>([&] {
            s.run([](auto& c) { c.merge_call([] { throw planted("merged"); }); });
          }) == "merged");
    auto wrong = [&](auto f) { return message_of<placement_error>([&] { s.run(f); }); };
    for (int few = 0; few < 3; ++few) {
      CAPTURE(few);
      CHECK(wrong([&](auto& c) {
              if (c.replica_id() != few) c.all_reduce(across::sum, 1);
            })
                .find("calls all_reduce and another one ends without that; replicas make the same "
                      "calls in the same order") != std::string::npos);
    }
    CHECK(wrong([&](auto& c) {
            if (c.replica_id() == 1)
              c.merge_call([] {});
            else
              c.all_reduce(across::sum, 1);
          }).find("replicas make the same calls in the same order") != std::string::npos);
    // what speaks of all replicas, inside one
    CHECK(message_of<replica_error>([&] {
            s.run([&](auto&) { s.run([] {}); });
          }).find("run speaks of all replicas and was called inside one") != std::string::npos);
    CHECK(message_of<replica_error>([&] {
            s.run([&](auto&) { static_cast<void>(s.scope()); });
          }).find("scope speaks of all replicas") != std::string::npos);
  });
}

namespace {

/// f over lists of 1, 2 and 3 devices: CPUs, GPUs that are simulated, one device by itself, and all GPUs
template <class F>
void on_lists(F&& f) {
  f(std::type_identity<CpuDevice>{});
  f(std::type_identity<Mirrored<Cpu<0>>>{});
  f(std::type_identity<Mirrored<Cpu<0>, Cpu<1>>>{});
  f(std::type_identity<Cpus>{});
  testing::simulated_gpus const three{3};
  f(std::type_identity<GpuDevice<0>>{});
  f(std::type_identity<Mirrored<GpuDevice<1>>>{});
  f(std::type_identity<Mirrored<GpuDevice<0>, GpuDevice<1>>>{});
  f(std::type_identity<Gpus>{});
}
/// Mirrored<AllGpus> over none, one and two GPUs
template <class F>
void on_all_gpus(F&& f) {
  f(std::type_identity<Mirrored<AllGpus>>{});
  for (int n : {1, 2}) {
    testing::simulated_gpus const some{n};
    f(std::type_identity<Mirrored<AllGpus>>{});
  }
}
template <class T, class E>
void on_host(Tensor<T, E, CpuDevice> const&) {}  // what is elsewhere does not compile
using Row = Tensor<float, Extents<2>>;
using Values = std::vector<float>;

}  // namespace

TEST_CASE("each function of a strategy does the same over 1, 2 and 3 devices") {
  auto const same = []<class Replicas>(std::type_identity<Replicas>) {
    strategy<Replicas> const s;
    int const n = s.num_replicas_in_sync();
    CAPTURE(n);
    CAPTURE(s.devices()[0].code());
    float const ids = float(n * (n + 1)) / 2;  // 1 + 2 + ... + n
    auto own = [](auto& c) {
      using Device = typename std::remove_reference_t<decltype(c)>::policy;
      return eval(
          on<Device>(full<float>(Extents<2>{}, 1.f) * float(c.replica_id() + 1), c.device()));
    };
    auto const values = s.run(own);  // a value for each replica, also for one
    static_assert(std::is_same_v<std::remove_const_t<decltype(values)>,
                                 per_replica<AnyTensor<float, Dextents<1>>>>);
    REQUIRE(values.size() == n);
    for (int r = 0; r < n; ++r) {
      CHECK(values[r].where() == single(s.devices()[r]));
      CHECK(numbers_of(values[r]) == Values(2, float(r + 1)));
    }
    auto const total = s.reduce(across::sum, values);
    on_host(total);
    CHECK(numbers_of(total) == Values(2, ids));
    CHECK(numbers_of(s.reduce(across::mean, values)) == Values(2, ids / float(n)));
    auto const one = s.reduce(across::sum, values, 0);
    on_host(one);
    CHECK(one() == 2 * ids);
    CHECK(s.reduce(across::mean, values, -1)() == ids / float(n));
    auto const joined = s.gather(values, 0);
    on_host(joined);
    REQUIRE(joined.size() == 2 * n);
    CHECK(joined(2 * n - 1) == float(n));
    CHECK(s.local_results(values).size() == std::size_t(n));
    CHECK(numbers_of(s.local_results(values)[0]) == Values{1, 1});

    // numbers, structures, and functions without a context
    auto const numbers = s.run([](auto& c) { return std::pair(c.replica_id() + 1, 0.5); });
    CHECK(numbers.first[0] == 1);
    CHECK(s.reduce(across::sum, numbers).first == int(ids));
    CHECK(s.reduce(across::mean, numbers.second) == 0.5);
    CHECK(s.gather(numbers.first, 0)(n - 1) == n);
    CHECK(s.local_results(numbers)[std::size_t(n - 1)].first == n);
    CHECK(s.run([](int x) { return x; }, 7)[0] == 7);
    CHECK(s.run([](int x) { return x; }, s.values_from([](int r) { return r; }))[n - 1] == n - 1);
    int calls = 0;
    if (!s.devices()[0].is_gpu()) {
      s.run([&] { ++calls; });
      CHECK(calls == n);
    }

    // replicas meet, on their own devices
    auto const met = s.run(
        [&](auto& c, auto const& mine) {
          auto all = c.all_reduce(across::sum, mine);
          auto rows = c.all_gather(mine);
          auto twice =
              c.merge_call([&](auto const& parts) { return s.reduce(across::mean, parts); }, mine);
          CHECK(c.all_reduce(across::sum, 1) == c.num_replicas_in_sync());
          CHECK(mine.device() == c.device());
          return std::tuple(std::move(all), std::move(rows), twice(0));
        },
        values);
    for (int r = 0; r < n; ++r) {
      CHECK(std::get<0>(met)[r].where() == single(s.devices()[r]));
      CHECK(numbers_of(std::get<0>(met)[r]) == Values(2, ids));
      CHECK(std::get<1>(met)[r].size() == 2 * n);
      CHECK(std::get<2>(met)[r] == ids / float(n));
    }

    // tensors over the strategy's list: each replica sees its part
    using List = typename strategy<Replicas>::policy;
    auto const w = to<List>(counted(1, 2));
    auto const rows = to<rows_over<List>>(counted(3, 2));
    auto const sums = s.run(
        [](auto& c, auto const& x, auto const& weights) {
          CHECK(x.device() == c.device());
          return c.all_reduce(across::sum, sum<0>(x * weights));
        },
        rows, w);
    CHECK(numbers_of(sums[n - 1]) == Values{9, 24});
    CHECK(numbers_of(s.reduce(across::sum, rows, 0)) == Values{9, 12});
    CHECK(numbers_of(s.gather(rows, 0)) == numbers_of(counted(3, 2)));
    CHECK(numbers_of(s.reduce(across::mean, w)) == Values{1, 2});
    on_host(s.reduce(across::mean, w));
    CHECK(s.local_results(w).size() == std::size_t(n));

    // errors name the replica, and a value of another strategy is refused
    CHECK(message_of<replica_error>([&] {
            s.run([] { throw bad_file("gone"); });
          }).starts_with("locus: replica "));
    CHECK(message_of<bad_file>([&] {
            s.run([](auto& c) { c.merge_call([] { throw bad_file("merged"); }); });
          }) == "merged");
    per_replica<float> const others;
    CHECK(message_of<placement_error>([&] {
            static_cast<void>(s.reduce(across::sum, others));
          }).find("a value for 0 replicas is given to") != std::string::npos);
    CHECK(message_of<placement_error>([&] { static_cast<void>(s.gather(others, 0)); }) != "");
    CHECK(s.devices().size() == n);
    auto const scope = s.scope();
    CHECK(s.is_in_scope());
  };
  on_lists(same);
  on_all_gpus(same);
}

TEST_CASE("a variable does the same over 1, 2 and 3 devices, and takes what a tensor takes") {
  auto const same = []<class Replicas>(std::type_identity<Replicas>) {
    strategy<Replicas> const s;
    int const n = s.num_replicas_in_sync();
    CAPTURE(n);
    auto v = make_variable<on_write, aggregation::mean>(s, Row{1, 2});
    auto total = make_variable<on_read, aggregation::sum>(s, zeros<float>(Extents<2>{}));
    auto number = make_variable<on_write, aggregation::none>(s, 1.5f);
    static_assert(
        std::is_same_v<decltype(v), variable<float, 1, Replicas, on_write, aggregation::mean>>);
    auto value = [](auto const& x) {
      on_host(x.read());
      return numbers_of(x.read());
    };
    CHECK(value(v) == Values{1, 2});
    CHECK(value(total) == Values{0, 0});
    CHECK(value(number) == Values{1.5f});
    // from outside: static and open extents, expressions, factories, tensors elsewhere, numbers
    Tensor<float, Dextents<1>> const open{3, 4};
    v.assign(Row{3, 4});
    CHECK(value(v) == Values{3, 4});
    v.assign(open * 2.f);
    CHECK(value(v) == Values{6, 8});
    v.assign(AnyTensor<float, Extents<2>>(Row{1, 1}));
    CHECK(value(v) == Values{1, 1});
    v.assign(to<typename strategy<Replicas>::policy>(open));
    CHECK(value(v) == Values{3, 4});
    v.assign(to<GpuDevice<0>>(Row{5, 6}));
    CHECK(value(v) == Values{5, 6});
    v.assign(2), v.assign_add(ones<float>(Extents<2>{})), v.assign_sub(open), v.assign_add(0.5);
    CHECK(value(v) == Values{0.5f, -0.5f});
    number.assign(4), number.assign_sub(1.5f);
    CHECK(value(number) == Values{2.5f});
    // inside
    s.run(
        [](auto& c, auto x, auto t) {
          x.assign(full<float>(Extents<2>{}, 4.f) * float(c.replica_id()));
          x.assign_add(Row{1, 2}), x.assign_sub(AnyTensor<float, Extents<2>>(Row{0, 1}));
          t.assign(Row{1, 2}), t.assign_add(ones<float>(Extents<2>{})), t.assign_sub(1);
        },
        v, total);
    float const mean = 4 * float(n - 1) / 2;
    CHECK(value(v) == Values{mean + 1, mean + 1});
    CHECK(value(total) == Values{float(n), float(2 * n)});
    CHECK(total.local_results().size() == std::size_t(n));
    CHECK(s.local_results(total).size() == std::size_t(n));
    for (auto const& each : total.local_results()) {
      on_host(each);
      CHECK(numbers_of(each) == Values{1, 2});
    }
    CHECK(message_of<shape_error>([&] {
            v.assign(zeros<float>(dextents<1>(3)));
          }).find("[3] is assigned to a variable with [2]") != std::string::npos);
    CHECK(message_of<replica_error>([&] {
            s.run([](auto, auto x) { x.assign(zeros<float>(dextents<1>(3))); }, s, v);
          }).find("[3] is assigned to a variable with [2]") != std::string::npos);
  };
  on_lists(same);
  on_all_gpus(same);
}

TEST_CASE(
    "values that lie elsewhere come to each replica's device, and Tensor is as good as AnyTensor") {
  auto const same = []<class Replicas>(std::type_identity<Replicas>) {
    strategy<Replicas> const s;
    int const n = s.num_replicas_in_sync();
    auto of = [](int r) { return Tensor<float, Dextents<1>>{1.f, float(r)}; };
    auto const any = s.values_from([&](int r) { return AnyTensor<float, Dextents<1>>(of(r)); });
    auto const plain = s.values_from(of);
    auto const fixed = s.values_from([](int r) { return Row{1.f, float(r)}; });
    auto add = [](auto& c, auto const& x, auto const& y) {
      CHECK(x.device() == c.device());
      auto own = c.all_reduce(across::sum, x);
      return c.all_reduce(across::sum, x + own - y);
    };
    float const second = float(n * (n - 1)) / 2;
    for (auto const& out :
         {s.run(add, any, plain), s.run(add, plain, fixed), s.run(add, fixed, any)})
      for (int r = 0; r < n; ++r) {
        CHECK(out[r].where() == single(s.devices()[r]));
        CHECK(numbers_of(out[r]) == Values{float(n * n), float(n) * second});
      }
    CHECK(numbers_of(s.reduce(across::sum, plain)) == Values{float(n), second});
    CHECK(numbers_of(s.reduce(across::mean, fixed)) == Values{1, second / float(n)});
    CHECK(s.reduce(across::sum, fixed, 0)() == float(n) + second);
    CHECK(s.gather(plain, 0).size() == 2 * n);
    CHECK(numbers_of(s.reduce(across::sum, any)) == numbers_of(s.reduce(across::sum, plain)));
    auto gone = s.values_from(of);
    Tensor<float, Dextents<1>> const taken = std::move(gone[0]);
    CHECK(message_of<bad_access>([&] {
            static_cast<void>(s.reduce(across::sum, gone));
          }).find("was moved from") != std::string::npos);
  };
  on_lists(same);
}

TEST_CASE("a function may return expressions of its parts, and of what it moved into them") {
  auto const same = []<class Replicas>(std::type_identity<Replicas>) {
    strategy<Replicas> const s;
    auto const x = to<typename strategy<Replicas>::policy>(counted(1, 2));
    auto const out = s.run(
        [](auto& c, auto const& part) {
          using Device = typename std::remove_reference_t<decltype(c)>::policy;
          Row const mine{3, 4};
          Row moved{5, 6};
          return std::tuple(part * 2.f, eval(on<Device>(mine * 2.f, c.device())),
                            std::move(moved) * 2.f, let(part + 1.f, [](auto h) { return h * h; }));
        },
        x);
    int const last = s.num_replicas_in_sync() - 1;
    CHECK(numbers_of(std::get<0>(out)[last]) == Values{2, 4});
    CHECK(numbers_of(std::get<1>(out)[last]) == Values{6, 8});
    CHECK(numbers_of(std::get<2>(out)[last]) == Values{10, 12});
    CHECK(numbers_of(std::get<3>(out)[last]) == Values{4, 9});
  };
  on_lists(same);
}

TEST_CASE("scopes nest for one strategy alone") {
  strategy<> const all;
  CHECK(all.num_replicas_in_sync() == std::max(1, config::count_logical_gpus()));
  CHECK(all.reduce(across::sum, all.run([](auto& c) { return c.replica_id() + 1.0; })) >= 1);
  {
    testing::simulated_gpus const two{2};
    CHECK(strategy<>().num_replicas_in_sync() == 2);
  }
  strategy<Cpus> const a, b;
  CHECK(!a.is_in_scope());
  {
    auto const outer = a.scope();
    auto const inner = a.scope();
    CHECK(a.is_in_scope());
    CHECK(message_of<configuration_error>([&] {
            static_cast<void>(b.scope());
          }).find("inside that of another one") != std::string::npos);
  }
  CHECK(!a.is_in_scope());
  auto const x = to<Sharded<0, Cpu<0>, Cpu<1>>>(counted(4, 2));
  CHECK(message_of<replica_error>([&] {
          a.run([](auto const&) {}, x);
        }).find("a tensor lies over /CPU:0 /CPU:1 and the strategy over /CPU:0 /CPU:1 /CPU:2") !=
        std::string::npos);
  CHECK(message_of<replica_error>([&] {
          a.run([](int) {},
                strategy<Mirrored<Cpu<0>, Cpu<1>>>().values_from([](int r) { return r; }));
        }).find("a value for 2 replicas is given to 3") != std::string::npos);
}

TEST_CASE("GPUs work side by side, each replica on a thread of its own; CPUs in turn") {
  auto threads = [](auto const& s, bool meet) {
    std::mutex lock;
    std::set<std::thread::id> ids;
    s.run([&](auto& c) {
      if (meet) c.all_reduce(across::sum, 1);
      std::lock_guard const hold(lock);
      ids.insert(std::this_thread::get_id());
    });
    return ids.size();
  };
  CHECK(threads(strategy<Cpus>(), false) == 1);
  CHECK(threads(strategy<Cpus>(), true) == 3);
  testing::simulated_gpus const three{3};
  CHECK(threads(strategy<Gpus>(), false) == 3);
}

TEST_CASE("variables combine what replicas write, or what they have written") {
  strategy<Cpus> const s;
  {
    Tensor<float, Dextents<1>> const start{1, 2}, four{4, 3}, seven{7, 7};
    auto value = [](auto const& v) { return numbers_of(v.read()); };
    auto copies = [](auto const& v) {
      std::vector<float> all;
      for (auto const& t : v.local_results()) all.push_back(t(0));
      return all;
    };
    using floats = std::vector<float>;
    auto ids = [](auto& c, auto const& v) {  // (r + 1) x the variable, by replica
      return v.read() * float(c.replica_id() + 1);
    };
    auto sum_w = make_variable<on_write, aggregation::sum>(s, start);
    auto mean_w = make_variable<on_write, aggregation::mean>(s, start);
    auto first_w = make_variable<on_write, aggregation::only_first_replica>(s, start);
    auto none_w = make_variable<on_write, aggregation::none>(s, start);
    s.run([&](auto& c, auto a, auto b,
              auto d) { a.assign(ids(c, a)), b.assign(ids(c, b)), d.assign(ids(c, d)); },
          sum_w, mean_w, first_w);
    CHECK(copies(sum_w) == floats{6, 6, 6});
    CHECK(copies(mean_w) == floats{2, 2, 2});
    CHECK(copies(first_w) == floats{1, 1, 1});
    s.run(
        [&](auto& c, auto a, auto b, auto d) {
          a.assign_add(ids(c, a)), b.assign_add(2), d.assign_add(ids(c, d));
          b.assign_add(ids(c, b));
        },
        sum_w, mean_w, first_w);
    CHECK(copies(sum_w) == floats{42, 42, 42});
    CHECK(copies(mean_w) == floats{12, 12, 12});  // 2 + 2, then + the mean of 4, 8, 12
    CHECK(value(first_w) == floats{2, 4});
    none_w.assign(four), none_w.assign_add(start);
    CHECK(copies(none_w) == floats{5, 5, 5});
    CHECK(value(none_w) == floats{5, 5});

    auto sum_r = make_variable<on_read, aggregation::sum>(s, start);
    auto mean_r = make_variable<on_read, aggregation::mean>(s, start);
    auto first_r = make_variable<on_read, aggregation::only_first_replica>(s, start);
    auto none_r = make_variable<on_read, aggregation::none>(s, start);
    s.run(
        [&](auto& c, auto a, auto b, auto d, auto e) {
          a.assign(ids(c, a)), b.assign(ids(c, b)), d.assign_add(ids(c, d)), e.assign(9);
        },
        sum_r, mean_r, first_r, none_r);
    CHECK(copies(sum_r) == floats{1, 2, 3});
    CHECK(value(sum_r) == floats{6, 12});
    CHECK(value(mean_r) == floats{2, 4});
    CHECK(value(first_r) == floats{2, 4});
    CHECK(copies(first_r) == floats{2, 3, 4});
    CHECK(copies(none_r) == floats{9, 9, 9});
    sum_r.assign(four), mean_r.assign(four), first_r.assign(four);
    CHECK(copies(sum_r)[1] == 4.f / 3);
    CHECK(value(sum_r)[1] == doctest::Approx(3));
    CHECK(copies(mean_r) == floats{4, 4, 4});
    mean_r.assign_add(start);
    CHECK(value(mean_r) == floats{5, 5});
    CHECK(message_of<shape_error>([&] {
            sum_r.assign(Tensor<float, Dextents<1>>{1});
          }).find("extents [1] is assigned to a variable with [2]") != std::string::npos);

    auto counter =
        make_variable<on_read, aggregation::sum>(s, Tensor<std::int64_t, Dextents<1>>{0});
    counter.assign(Tensor<std::int64_t, Dextents<1>>{7});
    CHECK(numbers_of(counter.read()) == std::vector<std::int64_t>{7});
    CHECK(counter.local_results()[0](0) == 3);
    CHECK(message_of<placement_error>([&] {
            s.run([](auto& c, auto a, auto b) { c.replica_id() == 1 ? a.assign(1) : b.assign(1); },
                  mean_w, first_w);
          }).find("replica") != std::string::npos);
  }
  // a checkpoint of a sum holds 4 + 3 and gives each of two replicas 3.5
  strategy<Mirrored<Cpu<0>, Cpu<1>>> const two;
  auto v = make_variable<on_read, aggregation::sum>(two, Tensor<double, Dextents<1>>{0});
  two.run([](auto& c, auto l) { l.assign(c.replica_id() == 0 ? 4.0 : 3.0); }, v);
  auto const saved = v.read();
  CHECK(saved(0) == 7);
  v.assign(saved);
  CHECK(v.local_results()[0](0) == 3.5);
  CHECK(v.local_results()[1](0) == 3.5);
}

}  // namespace strategy_test
