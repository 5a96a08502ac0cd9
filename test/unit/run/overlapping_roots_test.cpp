// SPDX-License-Identifier: Apache-2.0
// Assignments of one plan that write the same elements, and views that have one element twice, are
// refused before anything is written; what only lies between one another is not.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <algorithm>
#include <on_backends.hpp>
#include <random>
#include <string>
#include <vector>

#include "message_of.hpp"

namespace overlapping_roots_test {

using namespace locus;

namespace {
using G0 = GpuDevice<0>;
template <class Where>
using Row = Tensor<float, Extents<6>, Where>;

template <class Where>
void refuses() {
  Row<Where> x{1, 2, 3, 4, 5, 6}, y{0, 0, 0, 0, 0, 0};
  auto const said = [&](auto&& f) { return message_of<shape_error>(f); };
  auto const untouched = [&] { return bool(equal(y, Row<CpuDevice>{0, 0, 0, 0, 0, 0})); };
  std::string const text = said([&] { run(plan(into(y, x * 2.f), into(y, x + 3.f))); });
  CHECK(text.find("locus: assignments 0 (multiply) and 1 (add) of one plan write the same "
                  "elements on /") == 0);
  CHECK(text.find("; give each a destination of its own, or run two plans") != text.npos);
  CHECK(said([&] {
          run(plan(into(slice(y, {0, 4}), slice(x, {0, 4})),
                   into(slice(y, {3, 6}), slice(x, {3, 6}) * 10.f)));
        }).find("write the same elements") != std::string::npos);
  CHECK(said([&] {
          run(plan(into(no_alias(y), x), into(y, x + x)));
        }).find("write the same elements") != std::string::npos);
  CHECK(untouched());
  run(plan(into(slice(y, {0, 3}), slice(x, {3, 6})), into(slice(y, {3, 6}), slice(x, {0, 3}))));
  CHECK(bool(equal(y, Row<CpuDevice>{4, 5, 6, 1, 2, 3})));
}
}  // namespace

TEST_CASE("two assignments of one plan with common elements are refused") {
  on_few_backends([] {
    refuses<CpuDevice>();
    refuses<G0>();
    using Both = Mirrored<G0, GpuDevice<1>>;
    Tensor<float, Extents<4>, Both> m(zeros<float>(Extents<4>{}));
    CHECK_THROWS_AS(run(plan(into(m, m + 1.f), into(m, m * 2.f))), shape_error);
    Tensor<float, Extents<4, 2>> table(zeros<float>(Extents<4, 2>{}));
    Tensor<float, Extents<4, 1>> const one(ones<float>(Extents<4, 1>{}));
    run(plan(into(slice(table, {}, {0, 1}), one), into(slice(table, {}, {1, 2}), one * 2.f)));
    CHECK(fetch(sum(table)) == 12.f);  // columns lie between one another
    CHECK_THROWS_AS(run(plan(into(slice(table, {}, {0, 1}), one), into(table, table + 1.f))),
                    shape_error);
  });
}

TEST_CASE("steps along any number of axes that end at one element are found") {
  auto const same = [](std::vector<std::int64_t> const& extents,
                       std::vector<std::int64_t> const& strides) {
    return internal::repeats_elements(extents.data(), strides.data(), int(extents.size()));
  };
  CHECK(same({2, 2, 2}, {1, 3, 4}));  // 1 + 3 = 4, and no two axes meet
  CHECK(same({2, 2, 2}, {4, -1, 3}));
  CHECK_FALSE(same({2, 2, 2}, {1, 3, 5}));
  CHECK_FALSE(same({2, 2, 2}, {1, -2, 4}));
  CHECK(same({2, 2, 2, 2}, {1, 2, 4, 7}));
  CHECK_FALSE(same({2, 1, 0, 2}, {1, 1, 1, 1}));
  CHECK_FALSE(same({}, {}));
  // rows of rows with gaps: no search
  std::int64_t const large = 1 << 20;
  CHECK_FALSE(same({large, large, 100, 2}, {1, large, large * large, -100 * large * large}));
  std::mt19937 random(7);
  auto const up_to = [&](int n) { return std::int64_t(random() % unsigned(n)); };
  int found = 0;
  for (int k = 0; k < 4000; ++k) {
    std::vector<std::int64_t> extents, strides, places(1, 0);
    for (std::int64_t rank = 1 + up_to(5); rank > 0; --rank) {
      extents.push_back(1 + up_to(4));
      strides.push_back(up_to(60) - 30);
      std::vector<std::int64_t> next;
      for (std::int64_t const place : places)
        for (std::int64_t i = 0; i < extents.back(); ++i)
          next.push_back(place + i * strides.back());
      places = next;
    }
    std::sort(places.begin(), places.end());
    bool const repeats = std::adjacent_find(places.begin(), places.end()) != places.end();
    found += repeats;
    REQUIRE(same(extents, strides) == repeats);
  }
  CAPTURE(found);
  CHECK((found > 1000 && found < 3000));
  std::vector<float> memory(9, 1.f);
  layout_stride layout;
  layout.stride[0] = 1, layout.stride[1] = 3, layout.stride[2] = 4;
  CHECK_THROWS_AS((view<CpuDevice>(memory.data(), Extents<2, 2, 2>{}, layout) =
                       zeros<float>(Extents<2, 2, 2>{})),
                  shape_error);
}

TEST_CASE("a view that has one element at several indices is read, and not written") {
  std::vector<float> memory(12, 1.f);
  Tensor<float, Extents<3, 4>> const x(ones<float>(Extents<3, 4>{}));
  auto const at = [&](std::int64_t row, std::int64_t column) {
    layout_stride layout;
    layout.stride[0] = row, layout.stride[1] = column;
    return view<CpuDevice>(memory.data(), Extents<3, 4>{}, layout);
  };
  CHECK(
      message_of<shape_error>([&] { at(0, 1) = x * 2.f; }) ==
      "locus: a view with extents [3,4] and strides [0,1] has one element at several indices, and "
      "is written; give it strides that keep its elements apart");
  for (auto const& strides : {std::pair{1, 1}, {2, 1}, {1, 2}, {3, 1}, {0, 0}, {4, 0}}) {
    int const row = strides.first, column = strides.second;
    CAPTURE(row);
    CAPTURE(column);
    CHECK_THROWS_AS(at(row, column) = x * 2.f, shape_error);
    CHECK_THROWS_AS(run(into(at(row, column), x * 2.f)), shape_error);
  }
  CHECK(fetch(sum(at(0, 1))) == 12.f);
  at(1, 3) = x * 2.f;
  at(4, 1) = x * 3.f;
  CHECK(memory == std::vector<float>(12, 3.f));
}

TEST_CASE("common bytes are found exactly") {
  std::mt19937_64 random(7);
  auto const pick = [&](int low, int high) {
    return low + int(random() % std::uint64_t(high - low + 1));
  };
  static char memory[4096];
  int common = 0, apart_between = 0;
  for (int i = 0; i < 20000; ++i) {
    struct value {
      std::int64_t extents[3], strides[3];
      int rank, bytes;
      std::int64_t begin;
      std::vector<bool> touches = std::vector<bool>(4096);
      local_value local() const { return {memory + begin, extents, strides}; }
    } v[2];
    bool const alike = pick(0, 1);
    for (value& x : v) {
      x.rank = pick(0, 3), x.bytes = 1 << pick(0, 3), x.begin = 2000 + pick(-40, 40);
      if (alike) x.rank = v[0].rank, x.bytes = v[0].bytes;
      for (int a = 0; a < x.rank; ++a) {
        x.extents[a] = pick(0, 20) ? pick(1, 5) : 0, x.strides[a] = pick(-12, 12);
        if (alike && &x == &v[1]) x.strides[a] = v[0].strides[a];
      }
      std::int64_t index[3]{};
      auto const mark = [&](auto&& self, int a, std::int64_t at) -> void {
        if (a == x.rank) {
          for (int k = 0; k < x.bytes; ++k) x.touches[std::size_t(at + k)] = true;
          return;
        }
        for (index[a] = 0; index[a] < x.extents[a]; ++index[a])
          self(self, a + 1, at + index[a] * x.strides[a] * x.bytes);
      };
      mark(mark, 0, x.begin);
    }
    bool want = false;
    for (std::size_t k = 0; k < 4096; ++k) want = want || (v[0].touches[k] && v[1].touches[k]);
    bool const got = detail::share_bytes(v[0].local(), v[0].rank, v[0].bytes, v[1].local(),
                                         v[1].rank, v[1].bytes);
    REQUIRE(got == want);
    common += want;
    apart_between += !want && detail::range_of(v[0].local(), v[0].rank, v[0].bytes)
                                  .overlaps(detail::range_of(v[1].local(), v[1].rank, v[1].bytes));
  }
  CHECK(common > 1000);
  CHECK(apart_between > 300);
}

}  // namespace overlapping_roots_test
