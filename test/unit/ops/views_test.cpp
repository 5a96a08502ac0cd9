// SPDX-License-Identifier: Apache-2.0
// Broadcasting, transpose, reshape, slice, expand_dims and concatenate against index arithmetic on
// random extents, 0 and 1 among them.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

namespace views_test {

using namespace locus;
using oracle::array, oracle::indices;

namespace {

template <int Rank>
using Numbers = Tensor<float, Dextents<Rank>>;

/// small extents, 0 and 1 now and then, and one long axis in some shapes
shape random_shape(oracle::random& r, int rank) {
  shape s{rank, {}};
  for (int a = 0; a < rank; ++a) {
    std::int64_t const k = r.number(0, 19);
    s.extent[a] = k == 0 ? 0 : k < 5 ? 1 : r.number(2, rank > 4 ? 4 : 6);
  }
  if (rank > 0 && r.number(0, 3) == 0) s.extent[r.number(0, rank - 1)] = r.number(60, 140);
  return s;
}
/// the last axes of s, some of them with extent 1
shape stretched(oracle::random& r, shape const& s, int rank) {
  shape t{rank, {}};
  for (int a = 0; a < rank; ++a)
    t.extent[a] = r.number(0, 2) == 0 ? 1 : s.extent[s.rank - rank + a];
  return t;
}
array<float> random_numbers(oracle::random& r, shape const& s) {
  return oracle::random_array<float>(r, s, -9, 9);
}

template <int A, int B>
void check_broadcast(oracle::random& r) {
  constexpr int rank = A > B ? A : B;
  for (int k = 0; k < 100; ++k) {
    shape s = random_shape(r, rank);
    shape const sa = stretched(r, s, A), sb = stretched(r, s, B);
    s = broadcast(sa, sb);
    auto const a = random_numbers(r, sa), b = random_numbers(r, sb);
    auto const x = oracle::tensor<A>(a);
    auto const y = oracle::tensor<B>(b);
    Numbers<rank> const t(on<GpuDevice<0>>(x - y));
    CHECK(oracle::difference(
              t, oracle::map<float>(s, [](float p, float q) { return p - q; }, a, b)) == "");
  }
}

template <int... Order>
void check_transpose(oracle::random& r) {
  constexpr int rank = sizeof...(Order);
  constexpr int order[] = {Order...};
  for (int k = 0; k < 30; ++k) {
    auto const a = random_numbers(r, random_shape(r, rank));
    shape s{rank, {}};
    for (int d = 0; d < rank; ++d) s.extent[d] = a.extents.extent[order[d]];
    auto const want = oracle::make<float>(s, [&](std::int64_t const* i) {
      indices from{};
      for (int d = 0; d < rank; ++d) from[order[d]] = i[d];
      return a.at(from, rank) * 2;
    });
    auto const x = oracle::tensor<rank>(a);
    Numbers<rank> const t(on<GpuDevice<0>>(transpose<Order...>(x) * 2.f));
    CHECK(oracle::difference(t, want) == "");
  }
}

/// a range of an axis, written in one of the ways in which it can be
range random_range(oracle::random& r, std::int64_t n, std::int64_t& begin, std::int64_t& length) {
  begin = r.number(0, n), length = r.number(0, n - begin);
  std::int64_t const end = begin + length;
  range out{begin, end};
  if (begin < n && r.number(0, 1)) out.begin = begin - n;
  if (end == n && r.number(0, 1))
    out.end = range::to_end;
  else if (end < n && r.number(0, 1))
    out.end = end - n;
  return out;
}

template <int Rank>
void check_slice(oracle::random& r) {
  for (int k = 0; k < 60; ++k) {
    auto const a = random_numbers(r, random_shape(r, Rank));
    indices begin{};
    shape s{Rank, {}};
    range g[Rank];
    for (int d = 0; d < Rank; ++d)
      g[d] = random_range(r, a.extents.extent[d], begin[d], s.extent[d]);
    auto const want = oracle::make<float>(s, [&](std::int64_t const* i) {
      indices from{};
      for (int d = 0; d < Rank; ++d) from[d] = begin[d] + i[d];
      return a.at(from, Rank);
    });
    auto const x = oracle::tensor<Rank>(a);
    auto const part = [&] {
      if constexpr (Rank == 1)
        return slice(x, g[0]);
      else if constexpr (Rank == 2)
        return slice(x, g[0], g[1]);
      else if constexpr (Rank == 4)
        return slice(x, g[0], g[1], g[2], g[3]);
      else
        return slice(x, g[0], g[1], g[2], g[3], g[4], g[5]);
    }();
    Numbers<Rank> const t(on<GpuDevice<0>>(-part));
    CHECK(oracle::difference(t, oracle::map<float>(s, [](float v) { return -v; }, want)) == "");
    Numbers<Rank> const copy(part);  // no kernel: a copy of memory with gaps
    CHECK(oracle::difference(copy, want) == "");
  }
}

template <int Axis>
void check_concatenate(oracle::random& r) {
  constexpr int rank = 3, axis = (Axis + rank) % rank;
  for (int k = 0; k < 40; ++k) {
    shape s = random_shape(r, rank), sb = s, sc = s;
    sb.extent[axis] = r.number(0, 3), sc.extent[axis] = r.number(0, 70);
    auto const a = random_numbers(r, s), b = random_numbers(r, sb), c = random_numbers(r, sc);
    std::int64_t const na = s.extent[axis], nb = sb.extent[axis];
    s.extent[axis] += nb + sc.extent[axis];
    auto const want = oracle::make<float>(s, [&](std::int64_t const* i) {
      indices at{i[0], i[1], i[2]};
      if (i[axis] < na) return a.at(at, rank);
      at[axis] -= na;
      if (at[axis] < nb) return b.at(at, rank) + 1.f;
      at[axis] -= nb;
      return c.at(at, rank);
    });
    auto const x = oracle::tensor<3>(a), y = oracle::tensor<3>(b), z = oracle::tensor<3>(c);
    Numbers<3> const t(on<GpuDevice<0>>(concatenate<Axis>(x, y + 1.f, z)));
    CHECK(oracle::difference(t, want) == "");
    Numbers<3> const here(concatenate<Axis>(x, y + 1.f, z) * 1.f);
    CHECK(oracle::difference(here, want) == "");
  }
}

}  // namespace

TEST_CASE("operands broadcast as NumPy's do, for ranks 0 to 6") {
  on_backends([](backends::machine const& m) {
    oracle::random r(10 + m.seed);
    check_broadcast<6, 6>(r), check_broadcast<6, 2>(r), check_broadcast<0, 4>(r);
    check_broadcast<1, 5>(r), check_broadcast<1, 1>(r), check_broadcast<3, 2>(r);
    check_broadcast<0, 0>(r);
  });
}
TEST_CASE("three operands of different ranks meet in one kernel") {
  on_backends([](backends::machine const& m) {
    oracle::random r(20 + m.seed);
    for (int k = 0; k < 100; ++k) {
      shape const s = random_shape(r, 4);
      shape const sb = stretched(r, s, 2), sc = stretched(r, s, 3);
      auto const a = random_numbers(r, s), b = random_numbers(r, sb), c = random_numbers(r, sc);
      auto const x = oracle::tensor<4>(a);
      auto const y = oracle::tensor<2>(b);
      auto const z = oracle::tensor<3>(c);
      // a sum times a number: a compiler may fuse x * y + z and round once
      Numbers<4> const t(on<GpuDevice<0>>((x - y) * z));
      CHECK(oracle::difference(
                t, oracle::map<float>(
                       s, [](float p, float q, float w) { return (p - q) * w; }, a, b, c)) == "");
    }
  });
}
TEST_CASE("extents that do not broadcast are refused with both shapes") {
  Numbers<2> const a(2, 3), b(4, 3);
  CHECK_THROWS_WITH_AS(static_cast<void>(fetch(a + b)), doctest::Contains("[2,3] and [4,3]"),
                       shape_error);
}
TEST_CASE("transpose permutes the axes in every order") {
  on_backends([](backends::machine const& m) {
    oracle::random r(30 + m.seed);
    check_transpose<0, 1, 2>(r), check_transpose<0, 2, 1>(r), check_transpose<1, 0, 2>(r);
    check_transpose<1, 2, 0>(r), check_transpose<2, 0, 1>(r), check_transpose<2, 1, 0>(r);
    check_transpose<3, 1, 0, 2>(r), check_transpose<5, 3, 1, 4, 2, 0>(r);
  });
}
TEST_CASE("transpose of a transpose, and copies of what lies across") {
  on_backends([](backends::machine const& m) {
    oracle::random r(40 + m.seed);
    for (int k = 0; k < 30; ++k) {
      auto const a = random_numbers(r, random_shape(r, 3));
      auto const x = oracle::tensor<3>(a);
      CHECK(oracle::difference(fetch(transpose(transpose(on<GpuDevice<0>>(x)))), a) == "");
      shape const s{3, {a.extents.extent[2], a.extents.extent[1], a.extents.extent[0]}};
      auto const want = oracle::make<float>(s, [&](std::int64_t const* i) {
        indices const from{i[2], i[1], i[0]};
        return a.at(from, 3);
      });
      CHECK(oracle::difference(fetch(transpose(x)), want) == "");
      Tensor<float, Dextents<3>, GpuDevice<0>> const there(transpose(x));
      CHECK(oracle::difference(fetch(there), want) == "");
    }
  });
}
TEST_CASE("slices take ranges that count from either end, and may be empty") {
  on_backends([](backends::machine const& m) {
    oracle::random r(50 + m.seed);
    check_slice<1>(r), check_slice<2>(r), check_slice<4>(r), check_slice<6>(r);
  });
}
TEST_CASE("a range outside its axis is refused") {
  Numbers<1> const x(5);
  for (range const& g : {range{0, 6}, range{-6, 2}, range{3, 2}, range{2, -4}, range{6}})
    CHECK_THROWS_AS(static_cast<void>(fetch(slice(x, g))), shape_error);
  CHECK(fetch(slice(x, {5})).size() == 0);
}
TEST_CASE("static slices keep static extents") {
  on_backends([] {
    Tensor<int, Extents<3, 5>> const x(iota<int>(Extents<3, 5>{}));
    auto const part = slice<1, 1, -1>(slice<0, -2, range::to_end>(x));
    static_assert(std::is_same_v<decltype(eval(part))::extents_type, Extents<2, 3>>);
    Tensor<int, Extents<2, 3>> const t(on<GpuDevice<0>>(part + 0));
    CHECK(equal(t, Tensor<int, Extents<2, 3>>{{6, 7, 8}, {11, 12, 13}}));
  });
}
TEST_CASE("reshape keeps the elements in row order, also of what does not lie so") {
  on_backends([](backends::machine const& m) {
    oracle::random r(60 + m.seed);
    for (int k = 0; k < 10; ++k) {
      shape s = random_shape(r, 3);
      s.extent[2] *= 6;
      auto a = random_numbers(r, s);
      auto const x = oracle::tensor<3>(a);
      auto const flat =
          oracle::make<float>({1, {s.size()}}, [&](std::int64_t const* i) { return a[i[0]]; });
      CHECK(oracle::difference(fetch(reshape<-1>(x)), flat) == "");
      Numbers<2> const two(on<GpuDevice<0>>(reshape<dyn, 6>(x) + 0.f));
      array<float> rows({2, {s.size() / 6, 6}});
      rows.cells = a.cells;
      CHECK(oracle::difference(two, rows) == "");
      std::int64_t const n = s.extent[0] * s.extent[2];
      Numbers<2> const turned(
          on<GpuDevice<0>>(reshape(transpose<1, 2, 0>(x), dextents<2>{s.extent[1], n}) + 0.f));
      auto const want = oracle::make<float>({2, {s.extent[1], n}}, [&](std::int64_t const* i) {
        indices const from{i[1] % s.extent[0], i[0], i[1] / s.extent[0]};
        return a.at(from, 3);
      });
      CHECK(oracle::difference(turned, want) == "");
    }
    Numbers<2> const x(4, 3);
    CHECK_THROWS_AS(static_cast<void>(fetch(reshape(x, dextents<2>{5, 2}))), shape_error);
  });
}
TEST_CASE("expand_dims makes axes of extent 1, which broadcast") {
  on_backends([](backends::machine const& m) {
    oracle::random r(70 + m.seed);
    for (int k = 0; k < 10; ++k) {
      auto const a = random_numbers(r, {1, {r.number(0, 70)}}),
                 b = random_numbers(r, {1, {r.number(0, 70)}});
      auto const x = oracle::tensor<1>(a), y = oracle::tensor<1>(b);
      Numbers<2> const outer(on<GpuDevice<0>>(expand_dims<-1>(x) * expand_dims<0>(y)));
      auto const want = oracle::make<float>(
          {2, {a.size(), b.size()}}, [&](std::int64_t const* i) { return a[i[0]] * b[i[1]]; });
      CHECK(oracle::difference(outer, want) == "");
    }
  });
}
TEST_CASE("concatenate puts operands one after the other along any axis") {
  on_backends([](backends::machine const& m) {
    oracle::random r(80 + m.seed);
    check_concatenate<0>(r), check_concatenate<1>(r), check_concatenate<-1>(r);
  });
}
TEST_CASE("views of views of results are the same memory under other strides") {
  on_backends([](backends::machine const& m) {
    oracle::random r(90 + m.seed);
    for (int k = 0; k < 10; ++k) {
      std::int64_t const rows = r.number(3, 9), columns = r.number(4, 70);
      auto const a = random_numbers(r, {2, {rows, columns}});
      auto const x = oracle::tensor<2>(a);
      // transpose(x)[1:-2, 1:] as [columns - 3, rows - 1], doubled
      Numbers<3> const t(
          on<GpuDevice<0>>(expand_dims<1>(slice(transpose(slice(x, {1})), {1, -2}) * 2.f)));
      auto const want =
          oracle::make<float>({3, {columns - 3, 1, rows - 1}}, [&](std::int64_t const* i) {
            return a[(i[2] + 1) * columns + i[0] + 1] * 2;
          });
      CHECK(oracle::difference(t, want) == "");
    }
  });
}

}  // namespace views_test
