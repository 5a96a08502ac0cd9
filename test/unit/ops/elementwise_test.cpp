// SPDX-License-Identifier: Apache-2.0
// The table of element-wise operations. Each operation of floats has a vector form, if only by lanes:
// without one a kernel that it is fused into would run element by element, and nobody would see it. Each
// form gives the bits of the functor, in every lane.
#define LOCUS_TARGETS 1  // functors and forms of one set of instructions: the unit's own
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <locus/complex.hpp>
#include <locus/locus.hpp>

namespace elementwise_test {

using namespace locus;

namespace {

/// what one register holds
template <class T>
constexpr int lanes = simd::native_bytes / int(sizeof(T));
template <class T>
using several = host::packet<T, lanes<T>>;

template <class F, class... P>
constexpr bool has_form = requires(P... p) { host::packet_form<F>::call(p...); };

// by the column `operands`
template <class F, class T>
constexpr bool form_of_one = has_form<F, several<T>>;
template <class F, class T>
constexpr bool form_of_two = has_form<F, several<T>, several<T>>;
template <class F, class T>
constexpr bool form_of_three = has_form<F, several<T>, several<T>, several<T>>;
template <class T>
constexpr bool form_of_three<where_fn, T> =
    has_form<where_fn, host::mask<1, lanes<T>>, several<T>, several<T>>;
template <class F, class T>
constexpr bool form_of_any = form_of_one<F, T> && form_of_two<F, T> && form_of_three<F, T>;

template <class F, class T>
constexpr bool takes = F::op.cpu.contains(element_of_v<T>);

// (a kernel computes with floats where the operands are halves)
#define FORM_IF_TAKEN(operands)               \
  template <class F, class T>                 \
  constexpr bool form_if_taken_##operands() { \
    if constexpr (takes<F, T>)                \
      return form_of_##operands<F, T>;        \
    else                                      \
      return true;                            \
  }
FORM_IF_TAKEN(one)
FORM_IF_TAKEN(two)
FORM_IF_TAKEN(three)
FORM_IF_TAKEN(any)
#undef FORM_IF_TAKEN
#define HAS_A_VECTOR_FORM(operands, name, ...)                                 \
  static_assert(form_if_taken_##operands<name##_fn, float>(),                  \
                #name " of float has no vector form: write it, or by_lanes");  \
  static_assert(form_if_taken_##operands<name##_fn, double>(),                 \
                #name " of double has no vector form: write it, or by_lanes"); \
  static_assert(form_if_taken_##operands<name##_fn, complex<float>>(),         \
                #name " of complex numbers has no vector form");
LOCUS_ELEMENTWISE(HAS_A_VECTOR_FORM)
LOCUS_ELEMENTWISE_COMPLEX(HAS_A_VECTOR_FORM)
#undef HAS_A_VECTOR_FORM

// what the asserts above see where a row says (apart) and nobody writes the form
struct forgotten_fn {
  static constexpr operation op = exp_fn::op;
};
static_assert(takes<forgotten_fn, float> && !form_of_one<forgotten_fn, float>);

// The columns, of rows that differ in them.
static_assert(exp_fn::op.name == "exp" && exp_fn::op.tensorflow == "Exp" && exp_fn::op.heavy);
static_assert(add_fn::op.commutes == law::add && add_fn::op.ends == product_end::row);
static_assert(divide_fn::op.commutes == law::scale_left && !divide_fn::op.heavy);
static_assert(kernel::cost_of_functor<exp_fn> == 16 && kernel::cost_of_functor<sqrt_fn> == 8 &&
              kernel::cost_of_functor<floor_div_fn> == 10 && kernel::cost_of_functor<add_fn> == 1);
static_assert(!takes<floor_fn, std::int32_t> && takes<relu_fn, std::int32_t>);
static_assert(relu_fn::op.ends == product_end::relu && !takes<logical_not_fn, float>);

template <class R>
bool same(R a, R b) {
  if constexpr (is_complex_v<R>)
    return same(a.re, b.re) && same(a.im, b.im);
  else if constexpr (std::is_floating_point_v<R>)
    return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
  else
    return a == b;
}
/// all kinds of numbers, one register after the other
template <class T>
void numbers(T* x, int turn, std::uint64_t& state) {
  T const ends[] = {T(0), std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(1)};
  for (int j = 0; j < lanes<T>; ++j) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    if (turn == 0)
      x[j] = ends[j % 4];
    else if constexpr (!std::is_floating_point_v<T>)
      x[j] = static_cast<T>(state >> (state % 64));
    else if (turn == 1)
      x[j] = std::copysign(j % 3 == 0   ? T(NAN)
                           : j % 3 == 1 ? T(HUGE_VAL)
                                        : T(0),
                           T(j % 2) - T(0.5));
    else
      x[j] =
          static_cast<T>(static_cast<std::int64_t>(state)) * T(turn % 2 == 0 ? 0x1p-59 : 0x1p-63);
  }
}
template <class T>
void numbers(complex<T>* x, int turn, std::uint64_t& state) {
  T re[lanes<T>], im[lanes<T>];
  numbers(re, turn, state), numbers(im, turn % 5, state);
  for (int j = 0; j < lanes<complex<T>>; ++j) x[j] = {re[j], im[j]};
}
/// lanes that F's form and F compute differently
template <class F, int N, class... T>
int different(T const*... x) {
  using R = std::remove_cvref_t<std::invoke_result_t<F const&, T...>>;
  R out[N];
  simd::store(out, host::packet_form<F>::call(simd::load<N>(x)...));
  int wrong = 0;
  for (int j = 0; j < N; ++j) wrong += !same<R>(out[j], F{}(x[j]...));
  return wrong;
}

/// where takes booleans first
template <class F, class T>
auto const* first_of(T const* a, bool const* chosen) {
  if constexpr (std::is_same_v<F, where_fn>)
    return chosen;
  else
    return a;
}
#define DIFFERENT(operands, ...)                                                         \
  template <class F, class T>                                                            \
  int different_##operands() {                                                           \
    int wrong = 0;                                                                       \
    if constexpr (takes<F, T>)                                                           \
      if constexpr (form_of_##operands<F, T>) {                                          \
        std::uint64_t state = 88172645463325252u;                                        \
        for (int turn = 0; turn < 60; ++turn) {                                          \
          T a[lanes<T>], b[lanes<T>], c[lanes<T>];                                       \
          [[maybe_unused]] bool chosen[lanes<T>] = {true};                               \
          numbers(a, turn, state), numbers(b, turn % 7, state), numbers(c, turn, state); \
          wrong += different<F, lanes<T>>(__VA_ARGS__);                                  \
        }                                                                                \
      }                                                                                  \
    return wrong;                                                                        \
  }
DIFFERENT(one, a)
DIFFERENT(two, a, b)
DIFFERENT(three, first_of<F>(a, chosen), b, c)
DIFFERENT(any, a, b, c)
#undef DIFFERENT
}  // namespace

TEST_SUITE_BEGIN("ops/elementwise");

#define CHECK_ROW(operands, name, ...)                                                             \
  CHECK_MESSAGE((different_##operands<name##_fn, float>() == 0), #name, " of float");              \
  CHECK_MESSAGE((different_##operands<name##_fn, double>() == 0), #name, " of double");            \
  CHECK_MESSAGE((different_##operands<name##_fn, std::int32_t>() == 0), #name, " of int32");       \
  CHECK_MESSAGE((different_##operands<name##_fn, std::int8_t>() == 0), #name, " of int8");         \
  CHECK_MESSAGE((different_##operands<name##_fn, std::uint16_t>() == 0), #name, " of uint16");     \
  CHECK_MESSAGE((different_##operands<name##_fn, std::uint64_t>() == 0), #name, " of uint64");     \
  CHECK_MESSAGE((different_##operands<name##_fn, complex<float>>() == 0), #name, " of complex64"); \
  CHECK_MESSAGE((different_##operands<name##_fn, complex<double>>() == 0), #name, " of complex128");
// clang-format off
TEST_CASE("the vector form of each operation gives the bits of its functor") {
  LOCUS_ELEMENTWISE(CHECK_ROW)
  LOCUS_ELEMENTWISE_COMPLEX(CHECK_ROW)
}
// clang-format on
#undef CHECK_ROW
TEST_CASE("divisions of integers run by lanes, beside operations on vectors") {
  Tensor<std::int32_t, Extents<5>> a{{7, -7, 9, -2147483647 - 1, 5}}, b{{2, 2, -4, -1, 0}};
  Tensor<std::int32_t, Extents<5>> const floors = eval(floor_div(a, b) + a * 0),
                                         truncs = eval(trunc_div(a, b) * 1);
  std::int32_t const by_floor[] = {3, -4, -3, -2147483647 - 1, 0};
  std::int32_t const by_trunc[] = {3, -3, -2, -2147483647 - 1, 0};
  for (int i = 0; i < 5; ++i) {
    CHECK(floors(i) == by_floor[i]);
    CHECK(truncs(i) == by_trunc[i]);
  }
}
TEST_SUITE_END();

}  // namespace elementwise_test
