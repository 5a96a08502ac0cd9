// SPDX-License-Identifier: Apache-2.0
// Tensors as containers: from std::vector and std::span, loops, algorithms, resize, swap, numbers; and the first
// guesses of newcomers: several assignments at once, explain of an assignment, extents as text.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <message_of.hpp>
#include <on_backends.hpp>
#include <oracle.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace members_test {

using namespace locus;

namespace {

using Gpu = GpuDevice<0>;
using Both = Mirrored<Gpu, GpuDevice<1>>;
using Rows = Sharded<0, Gpu, GpuDevice<1>>;
template <class T>
using Vector = Tensor<T, Dextents<1>>;

std::vector<double> some(std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = double(i * i % 101) / 7 - 3;
  return v;
}
template <class Where>
void check_from_vector() {
  auto values = some(60);
  auto const want = values;
  Tensor<double, Dextents<2>, Where> const t(values, dextents<2>(12, 5));
  std::fill(values.begin(), values.end(),
            0);  // the elements were read: nothing looks at them later
  auto const back = fetch(t);
  REQUIRE(back.size() == 60);
  CHECK(std::equal(back.begin(), back.end(), want.begin()));
  CHECK(back(11, 4) == want[59]);
}
template <class Where>
void check_resize() {
  Tensor<float, Dextents<2>, Where> t;
  CHECK(t.size() == 0);
  CHECK(t.extents() == dextents<2>(0, 0));
  t.resize(4, 6);
  CHECK(t.extent(-1) == 6);
  CHECK(view<CpuDevice>(t.data(), dextents<2>(4, 6)).extent(-2) == 4);
  CHECK(message_of([&] { (void)t.extent(2); }).find("extent(2) of extents [4,6]") == 7);
  CHECK(t.extents() == dextents<2>(4, 6));
  t = 2.5f;
  CHECK(fetch(sum(t)) == 60);
  auto const* const at = std::as_const(t).data();
  t.resize(dextents<2>(4, 6));  // the same extents: the same memory and elements
  CHECK(std::as_const(t).data() == at);
  CHECK(fetch(sum(t)) == 60);
  t.resize(2, 3);
  t = 1;
  CHECK(fetch(sum(t)) == 6);
  CHECK(fetch(t).extents() == dextents<2>(2, 3));
  Tensor<float, Dextents<2>, Where> other(full<float>(dextents<2>(5, 1), 3.f));
  swap(t, other);
  CHECK(fetch(sum(t)) == 15);
  CHECK(fetch(sum(other)) == 6);
}

/// how many elements kernels have computed
struct counted {
  static constexpr auto kernels = on_both;
  static inline std::atomic<int> elements = 0;
  float operator()(float x) const { return ++elements, x + 1; }
};

}  // namespace

TEST_CASE("a tensor is made from std::vector, std::span and std::array") {
  check_from_vector<CpuDevice>();
  on_backends([] {
    check_from_vector<Gpu>();
    check_from_vector<Both>();
    check_from_vector<Rows>();
  });
  auto const v = some(7);
  Vector<double> const a(v), b(std::span<double const>(v).subspan(2));
  CHECK(a.size() == 7);
  CHECK(b.size() == 5);
  CHECK(b[0] == v[2]);
  Tensor<int, Extents<3>> const c(std::array<int, 3>{4, 5, 6});
  CHECK(c[2] == 6);
  CHECK(Vector<double>(std::vector<double>{}).size() == 0);
  CHECK_THROWS_WITH_AS(
      (Tensor<int, Extents<3>>(std::array<int, 2>{4, 5})),
      "locus: extents [2] do not fit [3]; give one number of at least 0 for each open extent",
      shape_error);
  CHECK_THROWS_WITH_AS((Tensor<double, Dextents<2>>(v, dextents<2>(2, 3))),
                       "locus: a tensor with extents [2,3] is made from 7 elements; give 6",
                       shape_error);
  auto const two = some(2);
  auto const many = dextents<2>(3, 6148914691236517206);  // whose product is 2^64 + 2
  std::string const text =
      "locus: a tensor with extents [3,6148914691236517206] is made from 2 elements; give extents "
      "whose product 64 bits can count";
  CHECK(message_of<shape_error>([&] { (void)view<CpuDevice>(two, many); }) == text);
  CHECK(message_of<shape_error>([&] { Tensor<double, Dextents<2>>(two, many); }) == text);
}
TEST_CASE("a tensor on a CPU is a range of its elements in row order") {
  Tensor<float, Extents<2, 3>> t{{3, 1, 2}, {6, 5, 4}};
  float total = 0;
  for (float const x : t) total += x;
  CHECK(total == 21);
  std::sort(t.begin(), t.end());
  CHECK(t(0, 0) == 1);
  CHECK(t(1, 2) == 6);
  std::span<float> const all = t;
  CHECK(all.size() == 6);
  all[3] = 40;
  CHECK(fetch(max(t)) == 40);
  for (float& x : t) x = -x;
  auto const& constant = t;
  CHECK(std::accumulate(constant.begin(), constant.end(), 0.f) == -57);
  std::vector<float> const copy(t.begin(), t.end());
  CHECK(copy.size() == 6);
  CHECK(copy[3] == -40);
  Vector<int> line(3);
  line[0] = 7, line[1] = 8, line[2] = 9;
  CHECK(fetch(sum(line)) == 24);
  CHECK_THROWS_AS(line[3], bad_access);
}
TEST_CASE("GPUs see numbers that iterators wrote") {
  on_backends([] {
    Tensor<float, Extents<4>> t;
    t = 1;
    CHECK(fetch(sum(on<Gpu>(t * 2.f))) == 8);
    for (float& x : t) x = 5;
    CHECK(fetch(sum(on<Gpu>(t * 2.f))) == 40);
    t[0] = 0;
    CHECK(fetch(sum(on<Gpu>(t * 2.f))) == 30);
  });
}
TEST_CASE("open extents begin as 0, resize makes room, swap exchanges memory") {
  check_resize<CpuDevice>();
  on_backends([] {
    check_resize<Gpu>();
    check_resize<Both>();
    check_resize<Rows>();
  });
  std::map<std::string, Tensor<float, Dextents<2>>> kept;
  kept["a"] = Tensor<float, Dextents<2>>(ones<float>(dextents<2>(2, 2)));
  kept["b"].resize(1, 3);
  CHECK(kept["a"].size() == 4);
  CHECK(kept["b"].size() == 3);
  CHECK(kept["c"].size() == 0);
  CHECK_THROWS_AS(kept["b"].resize(-1, 3), shape_error);
  CHECK(kept["b"].size() == 3);
  Tensor<float, Dextents<1>> gone(2), other = std::move(gone);
  CHECK_THROWS_AS(gone.resize(3), bad_access);
}
TEST_CASE("a number is assigned to every element") {
  Tensor<std::int8_t, Extents<5>> bytes;
  bytes = 7;
  CHECK(fetch(sum(bytes)) == 35);
  CHECK_THROWS_AS(bytes = 300, shape_error);
  CHECK(fetch(sum(bytes)) == 35);
  Tensor<bool, Extents<3>> truths;
  truths = true;
  CHECK(fetch(all(truths)));
  Tensor<half, Extents<3>> halves;
  halves = 0.5f;
  CHECK(float(halves[1]) == 0.5f);
}
TEST_CASE("a tensor elsewhere becomes one on a CPU by its type alone") {
  on_backends([] {
    Tensor<float, Extents<2, 3>> a, b;
    a = 2, b = 3;
    Tensor<float, Extents<2, 3>> const c = eval(a + b);
    CHECK(c(1, 2) == 5);
    Tensor<float, Extents<2, 3>, Gpu> const g(a);
    Tensor<float, Dextents<2>> const back = g;
    CHECK(back(0, 0) == 2);
    auto const first = [](Tensor<float, Extents<2, 3>> const& t) { return t(0, 0); };
    CHECK(first(eval(a * b)) == 6);
    std::vector<Tensor<float, Extents<2, 3>>> several;
    several.push_back(eval(a - b));
    CHECK(several[0](0, 0) == -1);
    Tensor<float, Dextents<2>> const same(Extents<2, 3>{});
    CHECK(same.extents() == dextents<2>(2, 3));
  });
}
TEST_CASE("assignments given to run together are one plan; explain takes an assignment; extents "
          "are text") {
  Tensor<float, Extents<2>> a{1, 2}, b{3, 4};
  run(into(a, b * 1.f), into(b, a * 1.f));
  CHECK(a[0] == 3);
  CHECK(b[1] == 2);
  std::ostringstream one, other;
  explain(one, into(a, a + b));
  explain(other, plan(into(a, a + b)));
  CHECK(one.str() == other.str());
  CHECK(one.str().find("add") != std::string::npos);
  std::ostringstream text;
  text << a.extents() << dextents<2>(4, 0) << Extents<>{};
  CHECK(text.str() == "[2][4,0][]");
}
TEST_CASE("a view of a vector reads and writes its elements") {
  auto v = some(6);
  auto const line = view<CpuDevice>(v);
  CHECK(line.size() == 6);
  auto m = view<CpuDevice>(v, dextents<2>(2, 3));
  m = m * 0. + 4.;
  CHECK(v == std::vector<double>(6, 4.));
  CHECK(fetch(sum(view<CpuDevice>(std::span<double const>(v), Extents<3, 2>{}))) == 24);
  CHECK_THROWS_AS(view<CpuDevice>(v, dextents<2>(2, 4)), shape_error);
}
TEST_CASE("a view assigned one of its type looks elsewhere; into and an expression copy elements") {
  auto a = some(3), b = some(3), c = some(3);
  b = {7, 8, 9};
  auto const was = a;
  auto q = view<CpuDevice>(a), r = view<CpuDevice>(b);
  q = view<CpuDevice>(c);
  CHECK((q.data() == c.data() && a == was));
  q = view<CpuDevice>(a);
  std::swap(q, r);
  CHECK((q.data() == b.data() && r.data() == a.data() && a == was));
  run(into(r, q));
  CHECK((r.data() == a.data() && a == b));
  q = q + 1.;
  auto const constant = r;
  run(into(constant, q));
  CHECK(a == std::vector<double>{8, 9, 10});
  using Quiet = decltype(no_alias(q));
  static_assert(!std::is_assignable_v<Quiet, Quiet>);  // no element would be written
}
TEST_CASE("synchronize waits until all devices have finished their work") {
  synchronize();  // no device was used
  on_backends([] {
    Tensor<float, Extents<64>, Gpu> x(ones<float>(Extents<64>{}));
    Tensor<float, Extents<64>, GpuDevice<1>> y(x);
    counted::elements = 0;
    x = map(counted{}, x), y = map(counted{}, y);
    synchronize();
    CHECK(counted::elements == 128);
  });
}

}  // namespace members_test
