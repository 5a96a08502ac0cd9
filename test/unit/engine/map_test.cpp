// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels of the host against their functors, element by element and bit by bit: all
// element types, lengths around packets, gaps, broadcasts, transposes, destinations that are read.
#include <cstring>
#include <doctest/doctest.h>
#include <limits>
#include <string>
#include <vector>

#include <locus/engine/host/map.hpp>
#include <locus/ops/generators.hpp>

#include "oracle.hpp"

using namespace locus;
using kernel::apply;
using kernel::constant;
using kernel::elements_of;
using kernel::input;
using kernel::own_offset;
using kernel::space;

// What a tree costs: additions, the widest value, and whether it is the same at every element.
namespace cost {
using x = input<0, float>;
using wide = apply<double, exp_fn, x>;
using tree = apply<float, multiply_fn, apply<float, divide_fn, x, x>, constant<float>>;
static_assert(kernel::cost_of<tree> == 9 && kernel::cost_of<wide> == 16 && kernel::cost_of<x> == 0);
static_assert(kernel::widest_of<tree> == 4 && kernel::widest_of<wide> == 8);
static_assert(kernel::is_constant<apply<float, negate_fn, constant<float>>>);
static_assert(!kernel::is_constant<tree> && !kernel::is_constant<x>);
}  // namespace cost

namespace {

constexpr std::int64_t room = 1 << 14;  // elements of a buffer; views begin near its middle

template <class T>
T any_value(oracle::random& random) {
  switch (random.number(0, 15)) {
  case 0: return T(0);
  case 1: return std::numeric_limits<T>::max();
  case 2: return std::numeric_limits<T>::lowest();
  case 3: return std::numeric_limits<T>::quiet_NaN();
  default: return random.value<T>(-100, 100);
  }
}
template <>
std::uint8_t any_value(oracle::random& random) {
  return static_cast<std::uint8_t>(random.bits());
}
template <>
bool any_value(oracle::random& random) {
  return (random.bits() & 1) != 0;
}

template <class T>
struct buffer {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(room * sizeof(T) + 64);
  T* at(std::int64_t i) {
    auto const begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    return reinterpret_cast<T*>((begin + 63) / 64 * 64) + i;
  }
  explicit buffer(oracle::random& random) {
    for (std::int64_t i = 0; i < room; ++i) {
      T const v = any_value<T>(random);
      std::memcpy(at(i), &v, sizeof v);
    }
  }
};

/// where an operand lies: an offset from the middle of its buffer, and strides
struct lies {
  std::int64_t offset;
  std::int64_t stride[3];
};
struct layout {
  std::int64_t extent[3];
  lies operand[3];  // two inputs and the output
  bool in_place = false;
};

/// one kernel of two inputs and one output, for any layout
template <class Out, class A, class B, class Tree>
struct checked_kernel {
  using stage = kernel::stage<type_list<>, type_list<Tree>>;
  stage f;
  bool has_packets;
  oracle::random random{7};
  buffer<A> a{random};
  buffer<B> b{random};
  buffer<Out> y{random}, expected{random};
  int cases = 0;

  checked_kernel(Tree tree, bool by_packets) : f{{}, make_pack(tree)}, has_packets(by_packets) {
    CHECK(host::map_kernel<stage, pack<>, type_list<elements_of<A>, elements_of<B>>,
                           type_list<Out>>::by_packets == by_packets);
  }
  bool run(layout const& l) {
    ++cases;
    std::memcpy(expected.at(0), y.at(0), room * sizeof(Out));
    std::memcpy(read.data(), a.at(0), room * sizeof(A));
    std::int64_t const middle = room / 2;
    bool const in_place = l.in_place && std::is_same_v<A, Out>;
    lies const& first = in_place ? l.operand[2] : l.operand[0];
    Out* const to = in_place ? reinterpret_cast<Out*>(a.at(middle)) : y.at(middle);
    if (in_place) std::memcpy(expected.at(0), a.at(0), room * sizeof(Out));
    for (std::int64_t i = 0; i < l.extent[0]; ++i)
      for (std::int64_t j = 0; j < l.extent[1]; ++j)
        for (std::int64_t k = 0; k < l.extent[2]; ++k) {
          auto const at = [&](lies const& o) {
            return o.offset + i * o.stride[0] + j * o.stride[1] + k * o.stride[2];
          };
          A x;
          std::memcpy(&x, read.data() + std::size_t(middle + at(first)) * sizeof(A), sizeof x);
          auto const r = f(pack<A, B>{{x}, {*b.at(middle + at(l.operand[1]))}}, pack<>{});
          *expected.at(middle + at(l.operand[2])) = get<0>(r);
        }
    space s{3, 0, {l.extent[0], l.extent[1], l.extent[2]}};
    kernel::access operands[3]{};
    auto const bind = [&](int k, void* data, lies const& o) {
      operands[k].data = data;
      for (int d = 0; d < 3; ++d) operands[k].stride[d] = o.stride[d];
    };
    bind(0, a.at(middle) + first.offset, first);
    bind(1, b.at(middle) + l.operand[1].offset, l.operand[1]);
    bind(2, to + l.operand[2].offset, l.operand[2]);
    host::map(f, s, operands, type_list<elements_of<A>, elements_of<B>>{}, type_list<Out>{});
    Out const* const all = in_place ? reinterpret_cast<Out*>(a.at(0)) : y.at(0);
    bool same = true;
    for (std::int64_t i = 0; i < room && same; ++i) {
      same = std::memcmp(all + i, expected.at(i), sizeof(Out)) == 0;
      if constexpr (is_floating_v<Out>)  // of two NaNs either may go on
        same = same || (all[i] != all[i] && *expected.at(i) != *expected.at(i));
    }
    if (in_place) std::memcpy(a.at(0), read.data(), room * sizeof(A));
    return same;
  }

 private:
  std::vector<unsigned char> read = std::vector<unsigned char>(room * sizeof(A));
};

/// a layout of n elements in one row
layout row_of(std::int64_t n, std::int64_t const (&offset)[3], std::int64_t const (&stride)[3]) {
  layout l{{1, 1, n}, {}};
  for (int k = 0; k < 3; ++k) l.operand[k] = {offset[k], {0, 0, stride[k]}};
  return l;
}
/// any layout: operands dense, with gaps, backwards, broadcast along some axes, axes in any order
layout any_layout(oracle::random& random) {
  layout l{};
  for (std::int64_t& n : l.extent)
    n = random.number(1, 3) == 1 ? random.number(1, 70) : random.number(1, 5);
  while (l.extent[0] * l.extent[1] * l.extent[2] > 1200) l.extent[random.number(0, 2)] = 2;
  for (int k = 0; k < 3; ++k) {
    lies& o = l.operand[k];
    int order[3] = {0, 1, 2};
    for (int d = 2; d > 0; --d)
      std::swap(order[d], order[random.number(0, random.number(0, 1) ? d : d)]);
    if (random.number(0, 2) != 0) order[0] = 0, order[1] = 1, order[2] = 2;
    std::int64_t stride = random.number(0, 4) == 0 ? 2 : 1;
    for (int d = 2; d >= 0; --d) {
      int const axis = order[d];
      bool const still = k < 2 && random.number(0, 4) == 0;
      o.stride[axis] = still ? 0 : random.number(0, 7) == 0 ? -stride : stride;
      if (!still) stride *= l.extent[axis] + (random.number(0, 3) == 0 ? 1 : 0);
    }
    o.offset = random.number(-3, 3);
  }
  l.in_place = random.number(0, 3) == 0;
  return l;
}

template <class Out, class A, class B, class Tree>
void check(char const* name, Tree tree, bool by_packets) {
  CAPTURE(std::string(name));
  checked_kernel<Out, A, B, Tree> k(tree, by_packets);
  std::int64_t const packet = simd::native_bytes;
  // every length around packets and trips of four, at several alignments; in place; broadcasts
  for (std::int64_t n = 1; n <= 9 * packet + 2; n += n < 2 * packet + 3 ? 1 : 13)
    for (std::int64_t shift = 0; shift < 3; ++shift) {
      CAPTURE(n);
      layout l = row_of(n, {shift, 2 * shift, n % 5}, {1, 1, 1});
      REQUIRE(k.run(l));
      l.in_place = true;
      REQUIRE(k.run(l));
      REQUIRE(k.run(row_of(n, {0, 0, shift}, {1, 0, 1})));
      REQUIRE(k.run(row_of(n, {0, shift, 0}, {2, 1, shift == 0 ? 2 : 1})));
    }
  // rows shorter than a packet, more than one buffer of them: a value for each row, one row for all
  for (std::int64_t const n : {2, 3, 7}) {
    CAPTURE(n);
    REQUIRE(k.run({{1, 1100, n}, {{0, {0, n, 1}}, {0, {0, 1, 0}}, {1, {0, n, 1}}}}));
    REQUIRE(k.run({{1, 1100, n}, {{0, {0, n, 1}}, {2, {0, 0, 1}}, {0, {0, n, 1}}}}));
  }
  oracle::random random(11);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    REQUIRE(k.run(any_layout(random)));
  }
}

template <class T>
using in0 = input<0, T>;
template <class T>
using in1 = input<1, T>;
template <class T, class F, class... Args>
apply<T, F, Args...> tree_of(F f, Args... args) {
  return {f, make_pack(args...)};
}

}  // namespace

TEST_CASE("kernels on packets give the bits of their functors, wherever operands lie") {
  // no product meets a sum: a compiler may contract one of the two sides
  check<float, float, float>("float",
                             tree_of<float>(subtract_fn{},
                                            tree_of<float>(divide_fn{}, in0<float>{}, in1<float>{}),
                                            tree_of<float>(sqrt_fn{}, in1<float>{})),
                             true);
  check<double, double, double>(
      "double",
      tree_of<double>(maximum_fn{}, in0<double>{}, tree_of<double>(negate_fn{}, in1<double>{})),
      true);
  check<std::int32_t, std::int32_t, std::int32_t>(
      "int32",
      tree_of<std::int32_t>(
          multiply_fn{}, in0<std::int32_t>{},
          tree_of<std::int32_t>(subtract_fn{}, in1<std::int32_t>{}, constant<std::int32_t>{3})),
      true);
  check<std::int64_t, std::int64_t, std::int64_t>(
      "int64", tree_of<std::int64_t>(add_fn{}, in0<std::int64_t>{}, in1<std::int64_t>{}), true);
  check<std::uint8_t, std::uint8_t, std::uint8_t>(
      "uint8", tree_of<std::uint8_t>(minimum_fn{}, in0<std::uint8_t>{}, in1<std::uint8_t>{}), true);
  check<bool, bool, bool>(
      "bool",
      tree_of<bool>(logical_or_fn{}, in0<bool>{}, tree_of<bool>(logical_not_fn{}, in1<bool>{})),
      true);
}

TEST_CASE("kernels of several element types give the bits of their functors") {
  check<double, float, double>("float and double",
                               tree_of<double>(add_fn{}, in0<float>{}, in1<double>{}), true);
  check<bool, float, float>("comparison", tree_of<bool>(less_fn{}, in0<float>{}, in1<float>{}),
                            true);
  check<float, std::uint8_t, float>(
      "uint8 to float",
      tree_of<float>(multiply_fn{}, tree_of<float>(cast_fn<float>{}, in0<std::uint8_t>{}),
                     in1<float>{}),
      true);
  check<std::int32_t, double, std::int32_t>(
      "double to int32",
      tree_of<std::int32_t>(subtract_fn{},
                            tree_of<std::int32_t>(cast_fn<std::int32_t>{}, in0<double>{}),
                            in1<std::int32_t>{}),
      true);
  check<double, bool, double>(
      "where", tree_of<double>(where_fn{}, in0<bool>{}, in1<double>{}, constant<double>{-1}), true);
}

TEST_CASE("functors without a packet form run element by element") {
  auto const own = [](float x, float y) { return x < y ? x : -y; };
  check<float, float, float>("lambda", tree_of<float>(own, in0<float>{}, in1<float>{}), false);
}

TEST_CASE("generators give the bits of their functors, on packets, for any stride and length") {
  auto const check_generator = [](auto f, auto zero) {
    using T = decltype(zero);
    using tree = apply<T, decltype(f), input<0, std::int64_t>>;
    using stage = kernel::stage<type_list<>, type_list<tree>>;
    stage const s{{}, make_pack(tree{f, make_pack(input<0, std::int64_t>{})})};
    CHECK(host::map_kernel<stage, pack<>, type_list<own_offset>, type_list<T>>::by_packets);
    for (std::int64_t n = 1; n < 150; ++n)
      for (std::int64_t const by : {1, 3, -2}) {
        std::vector<T> y(static_cast<std::size_t>(n), T(77));
        kernel::access operands[2]{};
        operands[0].base = 1000003, operands[0].stride[0] = by;
        operands[1].data = y.data(), operands[1].stride[0] = 1;
        host::map(s, space{1, 0, {n}}, operands, type_list<own_offset>{}, type_list<T>{});
        for (std::int64_t j = 0; j < n; ++j)
          REQUIRE(y[static_cast<std::size_t>(j)] == f(1000003 + j * by));
      }
  };
  check_generator(iota_fn<float>{0.1f, 0.3f}, 0.f);
  check_generator(iota_fn<double>{0.1, 0.3}, 0.);
  check_generator(iota_fn<std::int32_t>{5, 70001}, std::int32_t{});
  check_generator(full_fn<float>{2.5f}, 0.f);
  check_generator(full_fn<std::uint8_t>{0}, std::uint8_t{});
}

TEST_CASE(
    "results past the last-level cache are the same at any alignment, and beside them nothing") {
  using tree = apply<float, negate_fn, input<0, float>>;
  using stage = kernel::stage<type_list<>, type_list<tree>>;
  stage const s{{}, make_pack(tree{{}, make_pack(input<0, float>{})})};
  std::int64_t const rows = 3;
  for (std::int64_t const n : {1, 15, 16, 33, 64, 100, 1000})
    for (std::int64_t shift = 0; shift < 34; ++shift) {
      std::int64_t const gap = shift < 17 ? 5 : 16;  // with 16, rows of 64 end at boundaries
      oracle::random random(5);
      buffer<float> x{random}, y{random};
      std::vector<float> expected(y.at(0), y.at(room));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j)
          expected[static_cast<std::size_t>(100 + shift % 17 + r * (n + gap) + j)] =
              -*x.at(r * n + j);
      host::plane_operand const o[] = {
          {reinterpret_cast<std::intptr_t>(x.at(0)), 4, 4 * n},
          {reinterpret_cast<std::intptr_t>(y.at(100 + shift % 17)), 4, 4 * (n + gap)}};
      pack<> const no_folds{};
      host::map_context<stage, pack<>> const context{s, &no_folds};
      host::map_kernel<stage, pack<>, type_list<elements_of<float>>, type_list<float>>::value.run(
          &context, {o, rows, n, true});
      simd::end_of_stream();
      REQUIRE(std::memcmp(y.at(0), expected.data(), room * sizeof(float)) == 0);
    }
}

namespace {
/// means: whether the nest stores past the caches, for operands of doubles over rows x n at those
///        places of memory that is not there     units: elements
bool streams_at(std::int64_t rows, std::int64_t n, std::vector<std::int64_t> const& places,
                std::int64_t row) {
  static bool streams;  // of any part of a row
  streams = false;
  int const count = static_cast<int>(places.size());
  std::vector<int> const bytes(places.size(), 8);
  host::loop_kernel const kernel{
      [](void const*, host::plane const& p) { streams = streams || p.streams; },
      count - 1,
      1,
      8,
      0.1f,
      bytes.data()};
  space s{2, 0, {rows, n}};
  std::vector<kernel::access> a(places.size());
  for (std::size_t k = 0; k < places.size(); ++k)
    a[k] = {reinterpret_cast<void*>((std::intptr_t(1) << 40) + 8 * places[k]), 0, {row, 1}};
  runtime::thread_limit = 1;
  host::run_nest(kernel, nullptr, s, a.data());
  runtime::thread_limit = 0;
  return streams;
}
}  // namespace

TEST_CASE("slices of one array count once when stores pass the caches") {
  std::int64_t const cache = runtime::last_level_cache(), far = std::int64_t(1) << 36;
  // an array of rows x n doubles is a quarter of the cache
  std::int64_t const n = host::row_past_caches / 8 + 512, rows = cache / (4 * 8 * n);
  // a five-point stencil: four slices of one array, and the other array: half of the cache
  CHECK_FALSE(streams_at(rows - 2, n - 2, {1, 2 * n + 1, n, n + 2, far}, n));
  // four arrays, and the fifth: more than the cache
  CHECK(streams_at(rows - 2, n - 2, {1, far, 2 * far, 3 * far, 4 * far}, n));
  // 27 points of an array
  std::vector<std::int64_t> points;
  for (int k = 0; k < 27; ++k) points.push_back(k / 3 * n + k % 3);
  points.push_back(far);
  CHECK_FALSE(streams_at(rows - 10, n - 2, points, n));
  // columns that take turns in one array are apart
  CHECK(streams_at(4 * rows, n, {0, far, 2 * far}, 2 * n));
  // what is read elsewhere in the destination lies in the caches
  CHECK_FALSE(streams_at(4 * rows, n, {0, far, far + 1}, 2 * n));
  // and short rows do, whose ends lie within cache lines
  CHECK_FALSE(streams_at(8 * rows, n - 601, {0, far, 2 * far}, n));
  CHECK_FALSE(streams_at(8 * rows, n - 600, {0, far, 2 * far + 1}, n));
  CHECK_FALSE(streams_at(8 * rows, n - 600, {0, far, 2 * far}, n + 1));
  CHECK(streams_at(8 * rows, n - 600, {0, far, 2 * far}, n));
}
