// SPDX-License-Identifier: Apache-2.0
// Stencils over pieces: each program gives the bits of one device on 1 to 4 simulated GPUs, brings
// the rows that its plan names, and brings no row of a tensor that was not written.
#define LOCUS_CUDA_KERNELS 1
#include <on_backends.hpp>

#include <random>
#include <sstream>
#include <stdexcept>

#include <locus/algorithms/shift.hpp>
#include <message_of.hpp>
#include <throws_for_one.hpp>
#include <worst_of.hpp>

namespace halo_test {

using namespace locus;

namespace {

template <class T>
using Grid = Tensor<T, Dextents<2>>;
template <class T, class... Devices>
using Cut = Tensor<T, Dextents<2>, Sharded<0, Devices...>>;

struct lengths {
  std::int64_t rows, columns;
};
template <class T>
Grid<T> draw(lengths n, unsigned seed) {
  float const high = is_floating_v<T> ? 1 : 100;
  return Grid<T>(
      cast<T>(uniform<float>(dextents<2>{n.rows, n.columns}, locus::seed{seed}, -high, high)));
}
template <class T>
bool same_bits(Grid<T> const& a, Grid<T> const& b) {
  return a.size() == b.size() &&
         __builtin_memcmp(a.data(), b.data(), std::size_t(a.size()) * sizeof(T)) == 0;
}

// ---- programs: f(x, y, out) for tensors of any place; out has the extents of x ----
// value(at, i, j): element (i, j) of out by a plain loop, at(k, i, j) that of x or y; it is compared
// for `rows` rows and `columns` columns less at both ends

struct five_points {
  template <class X>
  void operator()(X const& x, X const&, X& out) const {
    run(into(interior<1>(out), (interior<1, -1, 0>(x) + interior<1, 1, 0>(x) +
                                interior<1, 0, -1>(x) + interior<1, 0, 1>(x)) *
                                   std::int8_t(3)));
  }
  static constexpr int rows = 1, columns = 1;
  template <class At>
  static double value(At const& x, std::int64_t i, std::int64_t j, std::int64_t) {
    return (x(0, i - 1, j) + x(0, i + 1, j) + x(0, i, j - 1) + x(0, i, j + 1)) * 3;
  }
};
struct upwind {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    run(into(interior<1>(out), interior<1>(x) - interior<1>(y) * interior<1, -1, 0>(x)));
  }
};
struct wide {
  template <class X>
  void operator()(X const& x, X const&, X& out) const {
    let(x, [&](auto u) {
      run(into(slice<0, 2, -2>(out),
               slice<0, 0, -4>(u) - slice<0, 4, range::to_end>(u) +
                   std::int8_t(8) * (slice<0, 3, -1>(u) - slice<0, 1, -3>(u))));
    });
  }
  static constexpr int rows = 2, columns = 0;
  template <class At>
  static double value(At const& x, std::int64_t i, std::int64_t j, std::int64_t) {
    return x(0, i - 2, j) - x(0, i + 2, j) + 8 * (x(0, i + 1, j) - x(0, i - 1, j));
  }
};
struct wave {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    let(x, [&](auto u) {
      auto const around = interior<1, -1, 0>(u) + interior<1, 1, 0>(u) + interior<1, 0, -1>(u) +
                          interior<1, 0, 1>(u) - std::int8_t(4) * interior<1>(u);
      run(into(interior<1>(out), std::int8_t(2) * interior<1>(u) - interior<1>(y) + around));
    });
  }
  static constexpr int rows = 1, columns = 1;
  template <class At>
  static double value(At const& x, std::int64_t i, std::int64_t j, std::int64_t) {
    return x(0, i - 1, j) + x(0, i + 1, j) + x(0, i, j - 1) + x(0, i, j + 1) - 2 * x(0, i, j) -
           x(1, i, j);
  }
};
struct moved {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    run(into(slice<0, 2, -2>(out), slice<0, 0, -4>(x)));
    run(into(slice<0, 0, -1>(out), slice<0, 1, range::to_end>(y)));
    run(into(slice<1, 0, 2>(out), slice<1, 1, 3>(y)));
  }
};
struct forward_difference {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    run(into(slice<0, 0, -1>(out),
             slice<0, 1, range::to_end>(x) - slice<0, 0, -1>(x) + slice<0, 0, -1>(y)));
  }
};
struct beside_a_row {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    using T = typename X::value_type;
    auto const row = cast<T>(iota<std::int32_t>(dextents<1>{x.extent(1) - 2}));
    Tensor<T, Dextents<1>> const weights(row * std::int8_t(3));
    run(into(interior<1>(out), interior<1, 1, 1>(x) * weights + interior<1, -1, -1>(y) * row));
  }
};
struct of_a_window {
  template <class X>
  void operator()(X const& x, X const&, X& out) const {
    run(into(slice<0, 2, -2>(out), slice<0, 1, -1>(slice<0, 2, range::to_end>(x)) +
                                       slice<0, 1, -2>(slice<0, 1, range::to_end>(x))));
  }
};
struct folded_rows {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    run(into(interior<1>(out),
             interior<1>(x) + cast<typename X::value_type>(sum<1>(
                                  interior<1, 1, 0>(x) - interior<1, -1, 0>(y), keep_dims))));
  }
};
struct around_a_ring {
  template <class X>
  void operator()(X const& x, X const&, X& out) const {
    out = shift<0, 1, beyond::wrap>(x) - x - shift<0, -2, beyond::wrap>(x);
  }
  static constexpr int rows = 0, columns = 0;
  template <class At>
  static double value(At const& x, std::int64_t i, std::int64_t j, std::int64_t n) {
    return x(0, (i + 1) % n, j) - x(0, i, j) - x(0, (i - 2 + n) % n, j);
  }
};
struct kept_ends {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    out = shift<0, -1, beyond::keep>(x) - y + shift<0, 2, beyond::keep>(x);
  }
  static constexpr int rows = 0, columns = 0;
  template <class At>
  static double value(At const& x, std::int64_t i, std::int64_t j, std::int64_t n) {
    return x(0, std::max<std::int64_t>(i - 1, 0), j) - x(1, i, j) + x(0, std::min(i + 2, n - 1), j);
  }
};
struct zero_ends {
  template <class X>
  void operator()(X const& x, X const& y, X& out) const {
    out = shift<0, -2, beyond::zero>(x) - shift<0, 1, beyond::zero>(y);
  }
  static constexpr int rows = 0, columns = 0;
  template <class At>
  static double value(At const& x, std::int64_t i, std::int64_t j, std::int64_t n) {
    return (i < 2 ? 0 : x(0, i - 2, j)) - (i + 1 < n ? x(1, i + 1, j) : 0);
  }
};

/// means: out is what the plain loop of the program makes of x and y
template <class Program, class T>
void check_values(Grid<T> const& x, Grid<T> const& y, Grid<T> const& out) {
  if constexpr (requires { Program::rows; }) {
    auto const at = [&](int k, std::int64_t i, std::int64_t j) {
      return double((k ? y : x)(i, j));
    };
    std::int64_t const n = out.extent(0), m = out.extent(1);
    double worst = 0;
    for (std::int64_t i = Program::rows; i < n - Program::rows; ++i)
      for (std::int64_t j = Program::columns; j < m - Program::columns; ++j)
        worst = worst_of(worst, std::abs(double(out(i, j)) - Program::value(at, i, j, n)) /
                                    (1 + std::abs(Program::value(at, i, j, n))));
    REQUIRE(worst < 1e-4);
  }
}

/// means: the program has the bits of the host on this list, twice: after x was written, out too
template <class T, class Program, class... Devices>
void compare(Program const& program, lengths n, unsigned seed) {
  Grid<T> x = draw<T>(n, seed), y = draw<T>(n, seed + 1), out = draw<T>(n, seed + 2);
  Cut<T, Devices...> a(x), b(y), to(out);
  for (int k = 0; k < 3; ++k) {
    program(x, y, out);
    check_values<Program>(x, y, out);
    program(a, b, to);
    CAPTURE(k);
    CAPTURE(n.rows);
    CAPTURE(n.columns);
    REQUIRE(same_bits(Grid<T>(to), out));
    if (k == 0) swap(x, out), swap(a, to);  // what was written is read
    if (k == 1) x = x + T(1), a = a + T(1);
  }
}

/// every: also integers, and lists of three devices
template <class Program, beyond Rule, bool Every = false>
void on_lists(Program const& program, std::mt19937& random) {
  auto const any = [&](int low, int high) {
    return low + std::int64_t(random() % unsigned(high - low + 1));
  };
  for (int gpus : {0, 1, 2, 3, 4}) {
    CAPTURE(gpus);
    std::unique_ptr<testing::simulated_gpus> machine;
    if (gpus) machine.reset(new testing::simulated_gpus(gpus, {.seed = random()}));
    for (int k = 0; k < 100; ++k)
      compare<float, Program, AllGpus, Halo<2, Rule>>(program, {any(4, 19), any(3, 9)},
                                                      unsigned(random()));
    if constexpr (Every) {
      compare<std::int32_t, Program, AllGpus, Halo<2, Rule>>(program, {any(4, 40), 5},
                                                             unsigned(random()));
      for (int k = 0; k < 3 && gpus >= 3; ++k) {
        compare<double, Program, GpuDevice<2>, GpuDevice<0>, GpuDevice<1>, Halo<3, Rule>>(
            program, {any(4, 12), any(3, 5)}, unsigned(random()));
        compare<double, Program, Balanced, GpuDevice<2>, GpuDevice<0>, GpuDevice<1>, Halo<2, Rule>>(
            program, {any(4, 12), any(3, 5)}, unsigned(random()));
      }
    }
  }
}

}  // namespace

TEST_CASE("stencils over pieces have the bits of one device") {
  std::mt19937 random(7);
  on_lists<five_points, beyond::nothing, true>({}, random);
  on_lists<upwind, beyond::nothing>({}, random);
  on_lists<wide, beyond::nothing>({}, random);
  on_lists<wave, beyond::nothing>({}, random);
}
TEST_CASE("windows of other sizes, beside rows, of windows, behind folds") {
  std::mt19937 random(8);
  on_lists<forward_difference, beyond::nothing>({}, random);
  on_lists<moved, beyond::nothing>({}, random);
  on_lists<beside_a_row, beyond::nothing, true>({}, random);
  on_lists<of_a_window, beyond::nothing>({}, random);
  on_lists<folded_rows, beyond::nothing>({}, random);
}
TEST_CASE("shifts by the margins have the bits of copies on one device") {
  std::mt19937 random(9);
  on_lists<around_a_ring, beyond::wrap, true>({}, random);
  on_lists<kept_ends, beyond::keep>({}, random);
  on_lists<zero_ends, beyond::zero>({}, random);
}

// ---- exchanges ----

namespace {

using Four = Cut<double, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>, Halo<1>>;

/// means: next = the mean of the four neighbours, of one tensor with a name: one exchange
template <class X>
tally jacobi(X const& x, X& next) {
  return testing::count([&] {
    let(x, [&](auto u) {
      auto const step =
          plan(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                               interior<1, 0, -1>(u) + interior<1, 0, 1>(u))));
      static_assert(step.launches() == 1 && step.fallbacks() == 0);
      static_assert(step.halo_exchanges() == int(X::where.is_sharded()));
      run(step);
    });
  });
}
/// means: x has the bits that two steps from `from` give on the host, and the second step brings the
///        rows of a tensor that the first one wrote
void steps_again(Four& x, Grid<double> const& from, bool kept) {
  Grid<double> a(from), b(from);
  Four y(from);
  jacobi(a, b);
  tally const first = jacobi(x, y);
  CHECK(first.copies == (kept ? 0 : 6));
  CHECK(first.reused == (kept ? 6 : 0));
  CHECK(same_bits(Grid<double>(y), b));
}

}  // namespace

TEST_CASE("the rows of a halo: each margin row has its owner, pieces without rows have none") {
  for (bool const balanced : {false, true})
    for (int replicas = 1; replicas <= 8; ++replicas)
      for (std::int64_t n = 0; n <= 40; ++n)
        for (int width = 1; width <= 3; ++width)
          for (beyond const rule : {beyond::nothing, beyond::wrap, beyond::keep, beyond::zero}) {
            device_list devices;
            for (int k = 0; k < replicas; ++k) devices.push(gpu(k));
            place const where = place{devices.balanced(balanced)}.sharded(0);
            std::vector<std::vector<std::int64_t>> margins(std::size_t(replicas) * 2);
            internal::each_halo_part(
                n, where, rule, width, width, [&](internal::halo_part const& p) {
                  REQUIRE(p.rows > 0);
                  for (std::int64_t k = 0; k < p.rows; ++k) {
                    std::int64_t const row = p.first + k,
                                       at = where.piece_begin(n, p.to) + p.at + k;
                    REQUIRE(where.piece_begin(n, p.from) <= row);
                    REQUIRE(row < where.piece_begin(n, p.from + 1));
                    REQUIRE(
                        (at < where.piece_begin(n, p.to) || at >= where.piece_begin(n, p.to + 1)));
                    std::int64_t const wanted = at >= 0 && at < n      ? at
                                                : rule == beyond::wrap ? ((at % n) + n) % n
                                                : at < 0               ? 0
                                                                       : n - 1;
                    REQUIRE(row == wanted);
                    margins[std::size_t(2 * p.to + (p.at >= 0))].push_back(at);
                  }
                });
            for (int r = 0; r < replicas; ++r) {
              std::int64_t const begin = where.piece_begin(n, r), end = where.piece_begin(n, r + 1);
              std::vector<std::int64_t> before, behind;
              bool const outside = rule == beyond::wrap || rule == beyond::keep;
              for (std::int64_t k = 0; k < width && begin < end; ++k) {
                if (outside || begin - width + k >= 0) before.push_back(begin - width + k);
                if (outside || end + k < n) behind.push_back(end + k);
              }
              REQUIRE(margins[std::size_t(2 * r)] == before);
              REQUIRE(margins[std::size_t(2 * r + 1)] == behind);
            }
          }
}

TEST_CASE("a window is cut where its tensor is cut") {
  for (bool const balanced : {false, true})
    for (int replicas = 1; replicas <= 8; ++replicas)
      for (std::int64_t n = 0; n <= 30; ++n)
        for (int lead = 0; lead <= 3; ++lead)
          for (int trail = 0; trail <= 3; ++trail) {
            device_list devices;
            for (int k = 0; k < replicas; ++k) devices.push(gpu(k));
            place const whole = place{devices.balanced(balanced)}.sharded(0),
                        part = whole.window(lead, trail);
            REQUIRE(part.piece_begin(n, 0) == 0);
            REQUIRE(part.piece_begin(n, replicas) == n);
            for (int r = 0; r < replicas; ++r)
              for (std::int64_t i = part.piece_begin(n, r); i < part.piece_begin(n, r + 1); ++i) {
                std::int64_t const row = i + lead, all = n + lead + trail;
                REQUIRE(whole.piece_begin(all, r) <= row);
                REQUIRE(row < whole.piece_begin(all, r + 1));
              }
          }
}

TEST_CASE("a tensor that was not written keeps its margins; each way to write one ends that") {
  testing::simulated_gpus const gpus(4);
  auto const from = draw<double>({16, 6}, 1), other = draw<double>({16, 6}, 2);
  Four x(from);
  steps_again(x, from, false);
  steps_again(x, from, true);
  Four const& seen = x;
  CHECK(seen.data(1) != nullptr);  // a pointer for reading
  steps_again(x, from, true);

  x = other;  // a plan
  steps_again(x, other, false);
  run(into(interior<1>(x), interior<1>(x) * 1.0));  // a part
  steps_again(x, other, false);
  x = Four(from);  // new memory
  steps_again(x, from, false);
  steps_again(x, from, true);
  Four const source(other);
  x = source;  // the elements of another
  steps_again(x, other, false);
  x *= 1.0;
  steps_again(x, other, false);
  run(into(slice<1, 0, 6>(x), other * 1.0));
  steps_again(x, other, false);
  Four fresh(from);
  swap(x, fresh);
  steps_again(x, from, false);
  x = 2.0;
  steps_again(x, Grid<double>(full<double>(dextents<2>{16, 6}, 2.0)), false);
  x = from;
  steps_again(x, from, false);

  config::set_halo_reuse(false);
  CHECK_FALSE(config::get_halo_reuse());
  steps_again(x, from, false);
  steps_again(x, from, false);
  config::set_halo_reuse(true);
  steps_again(x, from, true);

  CHECK(x.data(0) != nullptr);  // a pointer for writing, for as long as the tensor lives
  steps_again(x, from, false);
  steps_again(x, from, false);
}

TEST_CASE("margins are not valid whose rows were left out behind a kernel that failed") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus(4, {.seed = seed});
    auto const from = draw<double>({16, 6}, 5);
    Grid<double> a(from), b(from);
    jacobi(a, b);
    Four x(from), y(from);
    Tensor<double, Dextents<1>, GpuDevice<0>> bad{1, 2}, unused(2);
    unused = map(throws_for_one{}, bad);
    jacobi(x, y);
    CHECK_THROWS_AS(static_cast<void>(fetch(y * 1.0)), std::domain_error);
    jacobi(x, y);
    CHECK(same_bits(Grid<double>(y), b));
    steps_again(x, from, true);
  }
}

TEST_CASE("four readers of one tensor without a name: rows are brought once, the rest is reused") {
  testing::simulated_gpus const gpus(4);
  Four const x(draw<double>({16, 6}, 3));
  Four y(16, 6);
  auto const step = plan(into(interior<1>(y), interior<1, -1, 0>(x) + interior<1, -1, 1>(x) +
                                                  interior<1, 1, 0>(x) + interior<1, 0, 0>(x)));
  static_assert(step.halo_exchanges() == 3 && step.launches() == 1);
  tally const done = testing::count([&] { run(step); });
  CHECK(done.halo_exchanges == 3);
  CHECK(done.copies == 6);
  CHECK(done.reused == 3);
  CHECK(done.bytes_moved == 6 * 6 * 8);
  CHECK(done.bytes_reused == 3 * 6 * 8);
  CHECK(tally_of(sum(interior<1, -1, 0>(x) + interior<1>(x))).halo_exchanges == 1);
}

TEST_CASE("an exchange that is left out is found") {
  testing::simulated_gpus const gpus(4);
  auto const from = draw<double>({16, 6}, 4);
  Grid<double> a(from), b(from);
  Four x(from), y(from);
  jacobi(a, b);
  runtime::planted.omit_transfer = 0;
  jacobi(x, y);
  runtime::planted.omit_transfer = -1;
  CHECK_FALSE(same_bits(Grid<double>(y), b));
  jacobi(x, y);
  CHECK(same_bits(Grid<double>(y), b));
}

TEST_CASE("an inside that is computed while rows travel") {
  for (int const gpus : {1, 4})
    for (std::int64_t const rows : {2, 3, 5, 9, 16, 40}) {
      CAPTURE(rows);
      testing::simulated_gpus const machine(gpus, {.seed = unsigned(rows)});
      Grid<double> a = draw<double>({rows, 6}, 5), b(a);
      Cut<double, AllGpus, Halo<2>> x(a), y(a);
      auto const step = [](auto const& from, auto& to) {
        return testing::count([&] {
          let(from, [&](auto u) {
            auto const one = plan<overlapped<>>(
                into(interior<1>(to),
                     interior<1, -1, 0>(u) * 0.5 + interior<1, 1, 1>(u) - interior<1>(u)));
            constexpr bool is_cut = std::remove_cvref_t<decltype(to)>::where.is_sharded();
            static_assert(one.launches() == (is_cut ? 3 : 1));
            run(one);
          });
        });
      };
      for (int k = 0; k < 4; ++k) {
        step(a, b);
        CHECK(step(x, y).launches == 3);
        swap(a, b), swap(x, y);
      }
      CHECK(same_bits(Grid<double>(x), a));
      runtime::planted.omit_transfer = 0;
      step(x, y);
      runtime::planted.omit_transfer = -1;
      step(a, b);
      if (gpus == 4 && rows > 9) CHECK_FALSE(same_bits(Grid<double>(y), b));
    }
}

namespace {
/// means: y = shift<0, By>(x) - x, the inside while the rows travel, on 4 GPUs as on the host
template <int By, beyond Rule>
void shift_overlapped(Grid<double> const& from) {
  Grid<double> expected(from.extents());
  Cut<double, AllGpus, Halo<1, Rule>> x(from), y(from);
  run(plan<overlapped<>>(into(y, shift<0, By>(x) - x)));
  expected = shift<0, By, Rule>(from) - from;
  CHECK(same_bits(Grid<double>(y), expected));
}
}  // namespace

TEST_CASE("an inside reads no margin of the outermost pieces, whatever lies beyond them") {
  for (unsigned const seed : {1u, 2u, 3u})
    for (std::int64_t const rows : {4, 9, 16}) {
      CAPTURE(rows);
      testing::simulated_gpus const gpus(4, {.seed = seed});
      Grid<double> const from = draw<double>({rows, 3}, seed);
      shift_overlapped<-1, beyond::wrap>(from), shift_overlapped<1, beyond::wrap>(from);
      shift_overlapped<-1, beyond::keep>(from), shift_overlapped<1, beyond::keep>(from);
      shift_overlapped<-1, beyond::zero>(from), shift_overlapped<1, beyond::zero>(from);
    }
}

TEST_CASE("a fold that reads margins waits for them, also where a map of its plan is in parts") {
  for (unsigned const seed : {1u, 2u, 3u}) {
    testing::simulated_gpus const gpus(4, {.seed = seed});
    Grid<double> a = draw<double>({16, 5}, 5), b(a);
    Cut<double, AllGpus, Halo<1>> x(a), y(a);
    auto const step = [](auto const& from, auto& to) {
      run(plan<overlapped<>>(
          into(interior<1>(to), interior<1, -1, 0>(from) + interior<1, 1, 0>(from) -
                                    sum(interior<1, -1, 0>(from) * interior<1, 1, 0>(from)))));
    };
    step(a, b), step(x, y);
    Grid<double> const got(y);
    double most = 0;
    for (std::int64_t k = 0; k < 16 * 5; ++k)
      most = worst_of(most, std::fabs(got.data()[k] - b.data()[k]));
    CHECK(most < 1e-12);
  }
}

TEST_CASE("a destination that the stencil reads is set aside") {
  testing::simulated_gpus const gpus(4);
  for (int k = 0; k < 4; ++k) {
    Grid<double> a = draw<double>({13, 6}, 5);
    Four x(a);
    jacobi(a, a);
    jacobi(x, x);
    jacobi(a, a);
    jacobi(x, x);
    CHECK(same_bits(Grid<double>(x), a));
  }
}

TEST_CASE("constants of a static plan, and its text") {
  using Small = Tensor<float, Extents<8, 4>, Sharded<0, GpuDevice<0>, GpuDevice<1>, Halo<2>>>;
  testing::simulated_gpus const gpus(2);
  Small x, y;
  auto const parts = plan<overlapped<careful<>>>(
      into(interior<1>(y), interior<1, 1, 0>(x) - interior<1, 0, 1>(x)));
  static_assert(parts.launches() == 3 && parts.halo_exchanges() == 1 && parts.copies() == 1);
  CHECK(parts.explain().view().starts_with("plan under overlapped<careful<prefer_gpu>>\n"));
  CHECK(parts.explain().view().find(
            "or a kernel of locus, in three parts: inside, 0 before, 1 behind\n") !=
        std::string_view::npos);
  auto const step = plan(into(
      interior<2>(y), let(x, [](auto u) { return interior<2, -2, 0>(u) + interior<2, 1, 0>(u); })));
  static_assert(step.copies() == 2 && step.bytes_moved() == (2 + 1) * 4 * 4);
  static_assert(step.halo_exchanges() == 1 && step.launches() == 1);
  CHECK(step.explain().view().find("  leaf #0 float[8,4] on sharded<0>(/GPU:0 /GPU:1), 2 rows "
                                   "beside each piece\n") != std::string_view::npos);
  CHECK(
      step.explain().view().find("  halo #0 over sharded<0>(/GPU:0 /GPU:1), 2 before and 1 behind "
                                 "each piece, 48 bytes\n") != std::string_view::npos);
  std::ostringstream picture;
  explain_dot(picture, step);
  CHECK(picture.str().find("s0 -> s0 [") != std::string::npos);
  CHECK(picture.str().find("halo #0, 2 before, 1 behind\\n48 bytes") != std::string::npos);
  CHECK(step.explain().view().ends_with(
      "  1 launch, 2 copies (48 bytes), 0 all-reduces (0 bytes), 0 fallbacks, 1 halo exchange\n"));
  x = uniform<float>(Extents<8, 4>{}, seed{1});
  tally const done = testing::count([&] { run(step); });
  CHECK(done.copies == 2);
  CHECK(done.bytes_moved == 48);
}

TEST_CASE("values over a window: totals, gathers, rows that go to other places") {
  for (int const gpus : {0, 3}) {
    std::unique_ptr<testing::simulated_gpus> machine;
    if (gpus) machine = std::make_unique<testing::simulated_gpus>(gpus);
    auto const x = draw<double>({11, 5}, 6);
    Cut<double, AllGpus, Halo<1>> const a(x);
    double total = 0;
    for (std::int64_t i = 1; i < 10; ++i)
      for (std::int64_t j = 1; j < 4; ++j) total += x(i + 1, j) * x(i - 1, j);
    double const got = fetch(sum(interior<1, 1, 0>(a) * interior<1, -1, 0>(a)));
    CHECK(std::abs(got - total) < 1e-12);
    CHECK(same_bits(Grid<double>(interior<1>(a)), Grid<double>(interior<1>(x))));
    double const doubled = fetch(sum(slice<0, 1, -1>(x * 2.) + 1.));  // a part of a computed value
    CHECK(std::abs(fetch(sum(slice<0, 1, -1>(a * 2.) + 1.)) - doubled) < 1e-12);
    Grid<double> const host = interior<1>(x) + interior<1, 1, 0>(x);
    CHECK(same_bits(Grid<double>(fetch(interior<1>(a) + interior<1, 1, 0>(a))), host));
  }
}

TEST_CASE("empty and short tensors, and ends that no extent has") {
  testing::simulated_gpus const gpus(4);
  for (std::int64_t rows : {2, 3, 4, 5}) {
    CAPTURE(rows);
    Four x(rows, 5), y(rows, 5);
    x = 1.0, y = 0.0;
    jacobi(x, y);
    CHECK(fetch(sum(y)) == double((rows - 2) * 3));
  }
  Four x(1, 5), y(1, 5);
  CHECK_THROWS_AS(jacobi(x, y), shape_error);
  Four none(0, 5), to(0, 5);
  CHECK_THROWS_AS(jacobi(none, to), shape_error);
  // a ring that is shorter than its margins
  using Ring = Cut<double, GpuDevice<0>, GpuDevice<1>, Halo<2, beyond::wrap>>;
  for (std::int64_t rows : {0, 1, 2, 3}) {
    CAPTURE(rows);
    Grid<double> const from = draw<double>({rows, 3}, 8);
    Ring const a(from);
    Ring b(rows, 3);
    b = shift<0, 2>(a) - shift<0, -1>(a);
    Grid<double> const got(b);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < 3; ++j)
        CHECK(got(i, j) == from((i + 2) % rows, j) - from((i - 1 + rows) % rows, j));
  }
}

namespace {

/// means: what a shift by By of that many rows says on one device; along a cut it has the numbers of the rule
template <int By, beyond Rule>
void check_refusal(std::int64_t rows, std::string const& text) {
  auto const of = [](auto const& x) {
    return message_of<shape_error>([&] { (void)eval(shift<0, By, Rule>(x) * 1.f); });
  };
  Grid<float> const x = draw<float>({rows, 2}, 31);
  CHECK(of(x) == text);
  Cut<float, GpuDevice<0>, GpuDevice<1>, Halo<3, Rule>> cut(x);
  cut = shift<0, By>(cut);
  Grid<float> const got(cut);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < 2; ++j) {
      std::int64_t const from = i + By;
      bool const inside = from >= 0 && from < rows;
      float const end = x(from < 0 ? 0 : rows - 1, j);
      CHECK(got(i, j) == (inside                 ? x(from, j)
                          : Rule == beyond::wrap ? x((from + 9 * rows) % rows, j)
                          : Rule == beyond::keep ? end
                                                 : 0.f));
    }
}

}  // namespace

TEST_CASE("a shift by more rows than there are names itself on one device, and works along a cut") {
  testing::simulated_gpus const gpus(2);
  auto const text = [](char const* moved) {
    return std::string("locus: shift moves the ") + moved +
           "; give it as many rows as it moves by, or beyond::wrap";
  };
  check_refusal<3, beyond::keep>(2, text("2 rows of axis 0 by 3"));
  check_refusal<-2, beyond::zero>(1, text("1 rows of axis 0 by -2"));
  check_refusal<1, beyond::zero>(0, text("0 rows of axis 0 by 1"));
  check_refusal<3, beyond::zero>(3, nothing_thrown);
  check_refusal<3, beyond::wrap>(2, nothing_thrown);
  check_refusal<0, beyond::keep>(0, nothing_thrown);
}

}  // namespace halo_test
