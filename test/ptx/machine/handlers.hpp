// SPDX-License-Identifier: Apache-2.0
// From a type that an instruction names to the function that runs it in a warp.
#pragma once
#include <tuple>
#include <utility>

#include "decoding.hpp"
#include "machine.hpp"
#include "operations.hpp"

namespace ptx {

/// d = F(a, b, ...) in each lane; R: how results are rounded
template <class F, rounding R, class D, class... S>
void map(warp& w, instruction const& i, mask m) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    rounding_scope const scope(R);
    D* const d = w.at<D>(i.at[0]);
    std::tuple<S const*...> const from{w.at<S>(i.at[K + 1])...};
    each_lane(m, [&](int l) { d[l] = F::of(std::get<K>(from)[l]...); });
  }(std::index_sequence_for<S...>{});
}

using handler = instruction::handler;

/// calls f with a value of the type's C++ type
template <class F>
handler for_integer(type t, F&& f) {
  switch (t) {
  case type::u8:
  case type::b8: return f(uint8_t());
  case type::s8: return f(int8_t());
  case type::u16:
  case type::b16: return f(uint16_t());
  case type::s16: return f(int16_t());
  case type::u32:
  case type::b32: return f(uint32_t());
  case type::s32: return f(int32_t());
  case type::u64:
  case type::b64: return f(uint64_t());
  case type::s64: return f(int64_t());
  default: return nullptr;
  }
}
template <class F>
handler for_float(type t, F&& f) {
  switch (t) {
  case type::f32: return f(float());
  case type::f64: return f(double());
  case type::f16: return f(half());
  case type::bf16: return f(brain());
  default: return nullptr;
  }
}
template <class F>
handler for_number(type t, F&& f) {
  if (handler const h = for_integer(t, f)) return h;
  return for_float(t, f);
}
/// bits of 16, 32 or 64
template <class F>
handler for_bits(unsigned bits, F&& f) {
  return bits == 16   ? f(uint16_t())
         : bits == 32 ? f(uint32_t())
         : bits == 64 ? f(uint64_t())
                      : nullptr;
}

template <class F, class T>
consteval std::size_t arity() {
  if constexpr (requires(T t) { F::of(t); })
    return 1;
  else if constexpr (requires(T t) { F::of(t, t); })
    return 2;
  else
    return 3;
}
template <class F, rounding R, class T>
handler same_types() {
  constexpr std::size_t n = arity<F, T>();
  if constexpr (n == 1)
    return &map<F, R, T, T>;
  else if constexpr (n == 2)
    return &map<F, R, T, T, T>;
  else
    return &map<F, R, T, T, T, T>;
}
/// an operation of floats, with what the statement asks for besides
template <class F>
handler float_operation(statement const& s, type t, bool has_rounding = true) {
  if (t == type::f16x2) return same_types<each_of_two<F>, rounding::nearest, pair_of<half>>();
  if (t == type::bf16x2) return same_types<each_of_two<F>, rounding::nearest, pair_of<brain>>();
  bool const flush = s.has("ftz") && t == type::f32, saturate = s.has("sat"), relu = s.has("relu");
  return for_float(t, [&]<class T>(T) -> handler {
    if constexpr (sizeof(T) == 2) {
      return saturate ? same_types<sat_op<F>, rounding::nearest, T>()
             : relu   ? same_types<relu_op<F>, rounding::nearest, T>()
                      : same_types<F, rounding::nearest, T>();
    } else {
      auto const rounded = [&]<class G>(G) -> handler {
        if (!has_rounding) return same_types<G, rounding::nearest, T>();
        return s.has("rz")   ? same_types<G, rounding::zero, T>()
               : s.has("rm") ? same_types<G, rounding::down, T>()
               : s.has("rp") ? same_types<G, rounding::up, T>()
                             : same_types<G, rounding::nearest, T>();
      };
      return flush && saturate ? rounded(sat_op<flush_op<F>>())
             : flush           ? rounded(flush_op<F>())
             : saturate        ? rounded(sat_op<F>())
                               : rounded(F());
    }
  });
}
template <class F>
handler integer_operation(type t) {
  return for_integer(t,
                     []<class T>(T) -> handler { return same_types<F, rounding::nearest, T>(); });
}

/// statements whose operands are integers of one type
template <class F>
bool of_integers(decoding& of, instruction& i, statement const& s) {
  type const t = last_type(s);
  of.same(i, s, bits_of(t));
  i.run = integer_operation<F>(t);
  return true;
}

}  // namespace ptx
