// SPDX-License-Identifier: Apache-2.0
// collective:: over tensors of single devices: every operation, element type and number of replicas
// over every kind of device list, beside a serial fold.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include "on_backends.hpp"
// the backends come first
#include <locus/testing/nccl_recorder.hpp>

#include "collectives.hpp"
#include "oracle.hpp"

namespace local_test {

using namespace locus;
using backends::machine;
using collective::combine_with;
using collectives::order_scope;

namespace {

/// distinct cards, one card for all, fewer cards than replicas, and the host
constexpr machine machines[] = {
    {backends::kind::host, 0, 0},      {backends::kind::simulated, 8, 1},
    {backends::kind::simulated, 1, 2}, {backends::kind::simulated, 3, 3},
    {backends::kind::recorded, 8, 0},  {backends::kind::recorded, 3, 0},
};
template <class Body>
void on_all(Body&& body) {
  for (machine const& m : machines)
    backends::run_on(m, [&] {
      if (m.how != backends::kind::recorded) return body();
      testing::nccl_recorder const nccl;
      body();
      CHECK(nccl.forbidden() == 0);
    });
}

template <class T>
using cells = std::vector<oracle::cell<T>>;

/// n elements on each of some devices, with what is in them
template <class T>
struct blocks {
  internal::local_parts parts;
  explicit blocks(std::vector<device> const& at, std::vector<shape> const& extents) {
    for (std::size_t r = 0; r < at.size(); ++r) {
      internal::local_part& p = parts.of[parts.count++];
      p.at = at[r], p.extents = extents[r];
      p.data = runtime::allocate(runtime::find_device(p.at), bytes(p), "a test");
    }
  }
  blocks(blocks const&) = delete;
  ~blocks() {
    for (int r = 0; r < parts.count; ++r)
      runtime::release(runtime::find_device(parts.of[r].at), parts.of[r].data, bytes(parts.of[r]),
                       "a test");
  }
  static std::int64_t bytes(internal::local_part const& p) {
    return p.size() * std::int64_t(sizeof(T));
  }
  void write(int r, cells<T> const& values) {
    internal::copy_local(parts.of[r].at, parts.of[r].data, cpu(0), values.data(),
                         bytes(parts.of[r]), "a test writes");
  }
  cells<T> read(int r) const {
    cells<T> got(static_cast<std::size_t>(parts.of[r].size()));
    internal::copy_local(cpu(0), got.data(), parts.of[r].at, parts.of[r].data, bytes(parts.of[r]),
                         "a test reads");
    return got;
  }
};
shape rows(std::int64_t n) { return {1, {n}}; }

template <class T>
bool same_bits(cells<T> const& a, cells<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
/// a NaN is a NaN; of numbers not more than `by` apart
template <class T>
bool near(cells<T> const& a, cells<T> const& b, double by) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    auto const x = double(a[i].value), y = double(b[i].value);
    if (x != x ? y == y : x != y && !(std::fabs(x - y) <= by)) return false;
  }
  return a.size() == b.size();
}

/// one after another, in replica order
template <combine_with Op, class T>
cells<T> serial(std::vector<cells<T>> const& terms) {
  cells<T> out = terms[0];
  auto const n = static_cast<T>(terms.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto before = [](T v, double by) {
      return Op == combine_with::mean_prescaled ? static_cast<T>(v * static_cast<T>(by)) : v;
    };
    T t = before(terms[0][i].value, 1. / double(terms.size()));
    for (std::size_t r = 1; r < terms.size(); ++r) {
      T const v = before(terms[r][i].value, 1. / double(terms.size()));
      if constexpr (Op == combine_with::max)
        t = t > v || t != t ? t : v;
      else if constexpr (Op == combine_with::min)
        t = t < v || t != t ? t : v;
      else if constexpr (Op == combine_with::all)
        t = t && v;
      else if constexpr (Op == combine_with::any)
        t = t || v;
      else if constexpr (std::is_integral_v<T>)
        t = static_cast<T>(static_cast<std::uint64_t>(t) + static_cast<std::uint64_t>(v));
      else
        t = t + v;
    }
    out[i].value = Op == combine_with::mean_of_sums ? static_cast<T>(t / n) : t;
  }
  return out;
}

template <combine_with Op, class T>
void check_one(std::vector<device> const& at, std::int64_t n, std::uint64_t seed, bool ranked) {
  oracle::random bits(seed);
  int const count = static_cast<int>(at.size());
  std::vector<cells<T>> terms;
  for (int r = 0; r < count; ++r) {
    cells<T> row(static_cast<std::size_t>(n));
    for (auto& c : row) {
      if constexpr (std::is_floating_point_v<T>)
        c.value = static_cast<T>(bits.real(-100, 100));
      else if constexpr (std::is_same_v<T, bool>)
        c.value = (bits.bits() & 1) != 0;
      else
        c.value = static_cast<T>(bits.bits());
    }
    if (std::is_floating_point_v<T> && n > 3)
      row[std::size_t(r) % 3].value = static_cast<T>(r == 1 ? NAN : INFINITY);
    terms.push_back(row);
  }
  auto const expected = serial<Op>(terms);
  constexpr bool exact =
      !std::is_floating_point_v<T> || Op == combine_with::max || Op == combine_with::min;
  auto const good = [&](cells<T> const& got, cells<T> const& want) {
    if constexpr (std::is_floating_point_v<T>)
      return near(got, want, ranked || exact ? 0 : sizeof(T) == 4 ? 1e-4 : 1e-12);
    else
      return same_bits(got, want);
  };
  auto const o = internal::operation_for<Op, T>("a test", count);
  std::vector<shape> const whole(at.size(), rows(n));
  blocks<T> b(at, whole);
  auto fill = [&] {
    for (int r = 0; r < count; ++r) b.write(r, terms[std::size_t(r)]);
  };
  // to pieces, of any size
  std::vector<shape> cuts;
  std::int64_t left = n;
  for (int r = 0; r + 1 < count; ++r) {
    std::int64_t const part = bits.number(0, left);
    cuts.push_back(rows(part)), left -= part;
  }
  cuts.push_back(rows(left));
  blocks<T> pieces(at, cuts);
  fill();
  internal::local_reduction(b.parts, o).to_rows(pieces.parts);
  cells<T> joined;
  for (int r = 0; r < count; ++r)
    for (auto const& c : pieces.read(r)) joined.push_back(c);
  CHECK(good(joined, expected));
  // to one, which is a replica or is none
  blocks<T> one({bits.bits() % 2 ? at[seed % at.size()] : cpu(0)}, {rows(n)});
  internal::local_reduction(b.parts, o).to_one(one.parts.of[0]);
  CHECK(good(one.read(0), expected));
  // to all, in place
  internal::local_reduction(b.parts, o).all();
  auto const first = b.read(0);
  CHECK(good(first, expected));
  for (int r = 1; r < count; ++r) CHECK(same_bits(b.read(r), first));
}

template <combine_with Op, class... Ts>
void check_types() {
  on_all([] {
    for (auto const order : {reduction_order::ranked, reduction_order::fast}) {
      order_scope const scope(order);
      bool const ranked = order == reduction_order::ranked;
      CAPTURE(ranked);
      std::uint64_t seed = 1;
      for (int count = 1; count <= 8; ++count) {
        CAPTURE(count);
        std::vector<device> at;
        for (int r = 0; r < count; ++r) at.push_back(gpu(r));
        for (std::int64_t n : {0, 1, 7, 333}) {
          CAPTURE(n);
          (check_one<Op, Ts>(at, n, ++seed, ranked), ...);
        }
      }
      // a card and the host, and replicas out of the order of their cards
      for (std::vector<device> const& at :
           {std::vector{gpu(0), cpu(0)}, {cpu(0), cpu(1)}, {gpu(2), gpu(0), gpu(5), gpu(1)}})
        (check_one<Op, Ts>(at, 33, ++seed, ranked), ...);
    }
  });
}

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using G2 = GpuDevice<2>;
template <class Where>
using vec = Tensor<float, Dextents<1>, Where>;

template <class X>
std::vector<float> on_host(X const& t) {
  std::vector<float> got(static_cast<std::size_t>(t.size()));
  target const at = t.as_target();
  internal::copy_local(cpu(0), got.data(), at.where.at(0), at.locals[0].data,
                       t.size() * std::int64_t(sizeof(float)), "a test reads");
  return got;
}
using floats_of = std::vector<float>;

}  // namespace

TEST_CASE("sums of every element type over 1 to 8 replicas") {
  check_types<combine_with::sum, float, double, std::int8_t, std::uint8_t, std::int16_t,
              std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>();
}
TEST_CASE("both means over 1 to 8 replicas") {
  check_types<combine_with::mean_of_sums, float, double, std::int32_t>();
  check_types<combine_with::mean_prescaled, float, double>();
}
TEST_CASE("extrema over 1 to 8 replicas: a NaN stays one") {
  check_types<combine_with::max, float, std::int8_t, std::uint64_t>();
  check_types<combine_with::min, double, std::int32_t>();
}
TEST_CASE("all and any over 1 to 8 replicas") {
  check_types<combine_with::all, bool>();
  check_types<combine_with::any, bool>();
}

TEST_CASE("towers placed by hand: reductions of tensors on different devices") {
  on_all([] {
    vec<G0> a{1, 2, 3};
    vec<G1> b{10, 20, 30};
    vec<G2> c{100, 200, 300};
    collective::all_reduce<collective::sum>(a, b, c);
    CHECK(on_host(a) == floats_of{111, 222, 333});
    CHECK(on_host(b) == floats_of{111, 222, 333});
    CHECK(on_host(c) == floats_of{111, 222, 333});
    collective::all_reduce<collective::mean_of_sums>(a, c);
    CHECK(on_host(c) == floats_of{111, 222, 333});
    vec<CpuDevice> here(3);
    collective::reduce<collective::max>(here, a, b);
    CHECK(here(2) == 333);
    vec<G1> first(1);
    vec<G0> rest(2);
    collective::reduce_scatter<collective::mean_prescaled>(collective::list(b, a),
                                                           collective::list(first, rest));
    CHECK(on_host(first) == floats_of{111});
    CHECK(on_host(rest) == floats_of{222, 333});
    b = full<float>(dextents<1>{3}, 7.f);
    collective::broadcast(b, a, c, here);
    CHECK(on_host(a) == floats_of{7, 7, 7});
    CHECK(here(0) == 7);
  });
}

TEST_CASE("towers placed by hand: rows are gathered, spread and scattered") {
  on_all([] {
    vec<G0> a{1, 2, 3};
    vec<G1> b{4};
    vec<G2> none(0);
    vec<G0> all_a(4);
    vec<G1> all_b(4);
    vec<CpuDevice> all_here(4);
    using collective::list;
    collective::all_gather(list(a, b, none), list(all_a, all_b));
    CHECK(on_host(all_a) == floats_of{1, 2, 3, 4});
    CHECK(on_host(all_b) == floats_of{1, 2, 3, 4});
    collective::gather(list(b, a), all_here);
    CHECK(on_host(all_here) == floats_of{4, 1, 2, 3});
    collective::scatter(all_here, list(none, b, a));
    CHECK(on_host(b) == floats_of{4});
    CHECK(on_host(a) == floats_of{1, 2, 3});
    Tensor<float, Extents<2>, Mirrored<G0, G1>> m{5, 6};
    internal::copy_local(gpu(1), m.data(1), gpu(0), a.data(), 8, "a test writes one replica");
    collective::broadcast(m, 1);
    CHECK(to<CpuDevice>(m)(1) == 2);
    CHECK_THROWS_AS(collective::broadcast(m, 2), placement_error);
  });
}

TEST_CASE("tensors that do not fit are refused, and nothing has changed") {
  testing::simulated_gpus const gpus{3, {}};
  vec<G0> a{1, 2, 3}, again{1, 1, 1};
  vec<G1> b{1, 2};
  vec<G2> c{1, 2, 3};
  auto says = [](auto&& f, char const* part) {
    try {
      f();
    } catch (error const& e) {
      INFO(e.what());
      CHECK(std::string(e.what()).find(part) != std::string::npos);
      return;
    }
    FAIL_CHECK("nothing was refused");
  };
  using collective::list;
  says([&] { collective::all_reduce<collective::sum>(a, b); },
       "tensor 1 of collective::all_reduce has extents [2], which do not go with [3]; make all of "
       "one shape");
  says([&] { collective::all_reduce<collective::sum>(a, again); },
       "two tensors of collective::all_reduce lie on /GPU:0");
  says([&] { collective::reduce<collective::sum>(b, a, c); }, "make the target of that shape");
  says([&] { collective::all_gather(list(a, b), list(c)); }, "as many rows together");
  says([&] { collective::scatter(a, list(b, c)); }, "as many rows together");
  says([&] { collective::reduce_scatter<collective::sum>(list(a, c), list(b, c)); },
       "as many rows together");
  vec<G1> one{1};
  vec<G2> two{1, 2};
  says([&] { collective::reduce_scatter<collective::sum>(list(a, c), list(one, two)); },
       "lie elsewhere than its terms");
  CHECK(on_host(a) == floats_of{1, 2, 3});
}

TEST_CASE("a wrong order of replicas is found whoever carries the collective") {
  for (machine const& m : machines) {
    if (m.how == backends::kind::recorded) continue;
    backends::run_on(m, [] {
      vec<G0> a{1, 2};
      vec<G1> b{3, 4};
      runtime::planted.swap_replicas = true;
      CHECK_THROWS_AS(collective::all_reduce<collective::sum>(a, b), bad_access);
      runtime::planted.swap_replicas = false;
      collective::all_reduce<collective::sum>(a, b);
      CHECK(on_host(a) == floats_of{4, 6});
      // and in plans
      Tensor<float, Extents<4>, Sharded<0, G0, G1>> x{1, 2, 3, 4};
      Tensor<float, Extents<>, Mirrored<G0, G1>> y;
      runtime::planted.swap_replicas = true;
      CHECK_THROWS_AS(y = sum(x), bad_access);
      runtime::planted.swap_replicas = false;
    });
  }
}

}  // namespace local_test
