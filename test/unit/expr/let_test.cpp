// SPDX-License-Identifier: Apache-2.0
// Identity in types: let and named; leaves, scalars, and what may stand in an expression.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include <locus/locus.hpp>

using namespace locus;

namespace {

using V = Tensor<float, Extents<4>>;
using G = Tensor<float, Extents<4>, GpuDevice<0>>;

// ---- what a leaf costs ----
using static_leaf = Leaf<float, Extents<4>, CpuDevice, borrowed<false>>;
static_assert(sizeof(static_leaf) == sizeof(void*) && std::is_trivially_copyable_v<static_leaf>);
using checked_leaf = Leaf<float, Extents<4>, CpuDevice, borrowed<true>>;
static_assert(std::is_same_v<expression_of_t<V&>,
                             std::conditional_t<checked_build, checked_leaf, static_leaf>>);
static_assert(sizeof(Scalar<float>) == sizeof(float));
// a node is moved where it may be: an assignment that a Node declared would make all of them copies
struct moved_alone {
  static constexpr bool dense = true;
  moved_alone(moved_alone&&) = default;
  tensor_block const* find() const { return nullptr; }
};
using moved_leaf = Leaf<float, Extents<4>, CpuDevice, moved_alone>;
static_assert(std::is_move_constructible_v<moved_leaf> &&
              !std::is_copy_constructible_v<moved_leaf>);
static_assert(std::is_move_constructible_v<Node<map_op<negate_fn>, moved_leaf>>);
static_assert(std::is_aggregate_v<Node<map_op<negate_fn>, moved_leaf>>);
using sum_of_leaf = Node<map_op<add_fn>, static_leaf, Scalar<float>>;  // handed on in registers
static_assert(std::is_trivially_copy_constructible_v<sum_of_leaf> &&
              std::is_trivially_move_constructible_v<sum_of_leaf> &&
              std::is_trivially_destructible_v<sum_of_leaf>);
static_assert(sizeof(Node<map_op<negate_fn>, static_leaf>) == sizeof(void*));  // no empty operation

// ---- what may stand in an expression ----
static_assert(tensor<V> && tensor_operand<V&> && tensor_operand<V> && !expression<V>);
static_assert(expression<expression_of_t<V&>> && tensor_operand<decltype(-std::declval<V&>())>);
static_assert(number<int> && number<double&> && number<bool> && !number<V> && !number<char*>);
static_assert(operand<V> && operand<int> && !operand<std::string>);
static_assert(std::is_same_v<element_of_t<V>, float> && std::is_same_v<element_of_t<int>, void>);

// ---- numbers take the tensor's type if they are of its kind ----
static_assert(number_fits_v<double, float> && number_fits_v<int, float> &&
              number_fits_v<int, double>);
static_assert(number_fits_v<long, std::uint8_t> && !number_fits_v<double, int>);
static_assert(number_fits_v<bool, bool> && !number_fits_v<bool, float> &&
              !number_fits_v<int, bool>);
static_assert(std::is_same_v<decltype(std::declval<V&>() * 2.5)::value_type, float>);
static_assert(std::is_same_v<decltype(std::declval<V&>() * 2)::value_type, float>);
template <class T>
using ints = Tensor<T, Extents<4>>&;
static_assert(
    std::is_same_v<decltype(std::declval<ints<std::uint8_t>>() + 1)::value_type, std::uint8_t>);

// ---- identity ----
template <class E>
using plan_on_gpu = plan_facts<graph_of<E, GpuDevice<0>>>;
using twice = decltype(std::declval<V&>() * std::declval<V&>());
static_assert(plan_on_gpu<twice>::copies() == 2);  // two occurrences: an upper bound
using named_twice = decltype(named<"x">(std::declval<V&>()) * named<"x">(std::declval<V&>()));
using named_apart = decltype(named<"x">(std::declval<V&>()) * named<"y">(std::declval<V&>()));
struct square_it {
  template <class H>
  auto operator()(H h) const {
    return h * h;
  }
};
using let_twice = decltype(let(std::declval<V&>(), square_it{}));
static_assert(plan_on_gpu<decltype(on<GpuDevice<0>>(std::declval<named_twice>()))>::copies() == 1);
static_assert(plan_on_gpu<decltype(on<GpuDevice<0>>(std::declval<named_apart>()))>::copies() == 2);
static_assert(plan_on_gpu<decltype(on<GpuDevice<0>>(std::declval<let_twice>()))>::copies() == 1);

/// counts its calls: what is bound is computed once
struct Counted {
  static inline int calls = 0;
  LOCUS_OPERATION("counted", on_cpu)
  float operator()(float v) const { return ++calls, v + 1; }
};

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return "accepted";
}
bool holds(Tensor<float, Extents<4>> const& t, float a, float b, float c, float d) {
  return t(0) == a && t(1) == b && t(2) == c && t(3) == d;
}

}  // namespace

TEST_CASE("let: the value is computed once, however often it is read") {
  V const x{1, 2, 3, 4};
  Counted::calls = 0;
  V const with = let(map(Counted{}, x), [](auto h) { return h * h + max(h); });
  CHECK(holds(with, 9, 14, 21, 30));
  CHECK(Counted::calls == 4);
  Counted::calls = 0;
  V const without = map(Counted{}, x) * map(Counted{}, x) + max(map(Counted{}, x));
  CHECK(holds(without, 9, 14, 21, 30));
  CHECK(Counted::calls == 12);
}

TEST_CASE("lets inside lets, and one value in several destinations of one plan") {
  V const x{1, 2, 3, 4};
  V y, z;
  Counted::calls = 0;
  let(map(Counted{}, x),
      [&](auto h) { let(h * 2.f, [&](auto d) { run(plan(into(y, d - h), into(z, d + h))); }); });
  CHECK(holds(y, 2, 3, 4, 5));
  CHECK(holds(z, 6, 9, 12, 15));
  CHECK(Counted::calls == 4);
}

TEST_CASE("an identity stands for one value: two under one are refused") {
  V const x{1, 2, 3, 4}, y{5, 6, 7, 8};
  CHECK(refusal([&] { static_cast<void>(eval(named<"a">(x) + named<"a">(x))); }) == "accepted");
  CHECK(refusal([&] { static_cast<void>(eval(named<"a">(x) + named<"a">(y))); }) ==
        "locus: one lambda or one name stands for two different values of one plan; give each let "
        "a lambda of its own, each named a name of its own");
  auto const sum_under_name = [](V const& a, V const& b) { return named<"s">(a + b); };
  CHECK(holds(eval(sum_under_name(x, y) * sum_under_name(x, y)), 36, 64, 100, 144));
  CHECK(refusal([&] { static_cast<void>(eval(sum_under_name(x, y) * sum_under_name(y, x))); }) !=
        "accepted");
  CHECK(refusal([&] { static_cast<void>(eval(named<"k">(x * 2.f) + named<"k">(x * 3.f))); }) !=
        "accepted");
  auto const twice_used = [](auto h) { return h + 1.f; };
  CHECK(refusal([&] { static_cast<void>(eval(let(x, twice_used) * let(y, twice_used))); }) !=
        "accepted");
  CHECK(refusal([&] { static_cast<void>(eval(let(x, twice_used) * let(x, twice_used))); }) ==
        "accepted");
}

TEST_CASE("a number that the element type cannot hold is refused") {
  Tensor<std::uint8_t, Extents<4>> const u{1, 2, 3, 4};
  CHECK(refusal([&] { static_cast<void>(eval(u + 256)); }) ==
        "locus: the number 256 does not fit into uint8 elements; cast the tensor to a wider type");
  CHECK(refusal([&] { static_cast<void>(eval(u + -1)); }).starts_with("locus: the number -1 "));
  CHECK(refusal([&] { static_cast<void>(eval(u + 255)); }) == "accepted");
  Tensor<int, Extents<4>> const i{1, 2, 3, 4};
  CHECK(refusal([&] { static_cast<void>(eval(i + (std::int64_t(1) << 31))); }) != "accepted");
  CHECK(refusal([&] { static_cast<void>(eval(i + std::numeric_limits<int>::min())); }) ==
        "accepted");
}

TEST_CASE("expressions view tensors that live and own those that were moved into them") {
  auto const owning = V{1, 2, 3, 4} * 2.f;
  CHECK(holds(fetch(owning), 2, 4, 6, 8));
  auto const copy = owning;
  CHECK(holds(fetch(copy), 2, 4, 6, 8));
  if constexpr (checked_build) {
    auto const dead = [] {
      V local{1, 2, 3, 4};
      auto const behind = [](V& v) -> V& { return v; };  // without it clang warns
      return behind(local) * 2.f;
    }();
    CHECK(refusal([&] { static_cast<void>(fetch(dead)); })
              .starts_with("locus: operand #0 of the "
                           "expression, a Tensor of "
                           "float[4] on /CPU:0, has "
                           "died, was moved from"));
    V x{1, 2, 3, 4};
    auto const e = x + 1.f;
    V const taken = std::move(x);
    CHECK(refusal([&] { static_cast<void>(fetch(e)); }) != "accepted");
    CHECK(holds(taken, 1, 2, 3, 4));
  }
}
