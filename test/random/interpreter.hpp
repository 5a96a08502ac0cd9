// SPDX-License-Identifier: Apache-2.0
// The oracle of random expressions: a list of operations over arrays of the host, walked one by one
// with plain loops. It knows no devices and no plans. With each floating-point element it carries how far
// an evaluation in another order may be off (a running error analysis): 0 demands equal bits,
// infinity says that nothing is known (a comparison of two numbers that differ by less than their
// errors), and then the element is not compared.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <locus/ops/generators.hpp>  // uniform_fn, normal_fn: functions of the element's number
#include <locus/shape/shape.hpp>

namespace random_expressions {

using locus::element;
using locus::shape;
inline constexpr double unknown = std::numeric_limits<double>::infinity();

/// One element. error: of v; terms: the sum of the magnitudes of the terms that make a value which
/// replicas hold in parts, else |v|.
struct cell {
  double v = 0, error = 0, terms = 0;
  std::int64_t i = 0;
};
struct values {
  element type = element::f32;
  shape extents;
  std::vector<cell> cells;
  std::int64_t size() const { return extents.size(); }
  cell& operator[](std::int64_t k) { return cells[static_cast<std::size_t>(k)]; }
  cell const& operator[](std::int64_t k) const { return cells[static_cast<std::size_t>(k)]; }
};

/// One operation, as generate.py writes it.
struct node {
  char const* what;
  element type;
  int operands[4] = {-1, -1, -1, -1};
  bool in_terms = false;  // replicas hold terms of the value: an operation rounds each of them
  std::int64_t number[4] = {0, 0, 0, 0};
  double real = 0;
};

/// thrown where locus must throw shape_error: an extremum of nothing
struct nothing_to_reduce : std::runtime_error {
  using runtime_error::runtime_error;
};

inline bool is_float(element t) { return locus::row_of(t).kind == locus::element_kind::floating; }
/// a float in memory only: computed as float, and rounded where the plan stores it
inline bool is_narrow(element t) { return t == element::f16 || t == element::bf16; }
inline double unit(element t) {
  return t == element::f16    ? 0x1p-11
         : t == element::bf16 ? 0x1p-8
         : t == element::f32  ? 0x1p-24
                              : 0x1p-53;
}
inline double tiny(element t) {
  return t == element::f16    ? 0x1p-24
         : t == element::bf16 ? 0x1p-133
         : t == element::f32  ? 0x1p-140
                              : 0x1p-1060;
}
/// v as it is computed with in operations on elements of type t
inline double rounded(element t, double v) {
  return t == element::f64 ? v : static_cast<double>(static_cast<float>(v));
}
/// v as an element of type t
inline double stored(element t, double v) {
  return t == element::f16    ? static_cast<double>(locus::half(v))
         : t == element::bf16 ? static_cast<double>(locus::bfloat16(v))
                              : rounded(t, v);
}
/// a value of so many magnitudes may be stored as infinity
inline bool may_overflow(element t, double size) {
  return is_narrow(t) && std::isfinite(size) && size > (t == element::f16 ? 65504. : 0x1.fep127);
}
inline std::int64_t wrapped(element t, std::uint64_t i) {
  switch (t) {
  case element::i32: return static_cast<std::int32_t>(static_cast<std::uint32_t>(i));
  case element::u8: return static_cast<std::uint8_t>(i);
  case element::i8: return static_cast<std::int8_t>(i);
  case element::i16: return static_cast<std::int16_t>(i);
  case element::b8: return i != 0;
  default: return static_cast<std::int64_t>(i);
  }
}

class interpreter {
 public:
  interpreter(node const* nodes, int count)
      : nodes_(nodes), done_(static_cast<std::size_t>(count)) {}
  /// leaves and shapes that the program gives
  void set(int i, values v) {
    done_[static_cast<std::size_t>(i)].value = std::move(v), at(i).is = true;
  }
  void set_shape(int i, shape const& s) { at(i).wanted = s; }
  bool has(int i) { return at(i).is; }

  values const& operator()(int i) {
    if (!at(i).is) {
      values v = compute(nodes_[i], at(i).wanted);
      at(i).value = std::move(v);
      at(i).is = true;
    }
    return at(i).value;
  }

 private:
  struct state {
    bool is = false;
    values value;
    shape wanted;
  };
  state& at(int i) { return done_[static_cast<std::size_t>(i)]; }

  static values empty(element t, shape const& s) {
    return {t, s, std::vector<cell>(static_cast<std::size_t>(s.size()))};
  }
  template <class F>
  static void each(shape const& s, F&& f) {
    std::int64_t index[locus::max_rank]{}, n = s.size();
    for (std::int64_t k = 0; k < n; ++k) {
      f(static_cast<std::int64_t const*>(index), k);
      for (int a = s.rank; a-- > 0;) {
        if (++index[a] < s.extent[a]) break;
        index[a] = 0;
      }
    }
  }
  /// right aligned, extents of 1 stretch
  static cell const& find(values const& x, std::int64_t const* index, int rank) {
    std::int64_t offset = 0;
    for (int a = 0; a < x.extents.rank; ++a) {
      std::int64_t const n = x.extents.extent[a];
      offset = offset * n + (n == 1 ? 0 : index[rank - x.extents.rank + a]);
    }
    return x[offset];
  }

  // ---- one element ----
  static cell finish(cell c, element t, bool in_terms) {
    if (!is_float(t)) return c;
    c.v = rounded(t, c.v);
    if (!in_terms) c.terms = std::fabs(c.v);
    // whether it is stored, and rounded, is the plan's affair
    bool const open = is_narrow(t) && !std::isnan(c.v) && stored(t, c.v) != c.v;
    if (c.error > 0 || in_terms || open) {
      c.error += 4 * unit(t) * (in_terms ? c.terms : std::fabs(c.v)) + tiny(t);
      if (!std::isfinite(c.v)) c.error = std::isnan(c.v) ? c.error : unknown;  // near overflow
      if (may_overflow(t, c.terms + c.error)) c.error = unknown;
    }
    if (std::isnan(c.error)) c.error = unknown;
    return c;
  }
  static bool unsure(cell const& a, cell const& b) {
    if (a.error == 0 && b.error == 0) return false;
    return !(std::fabs(a.v - b.v) > a.error + b.error) && !std::isnan(a.v) && !std::isnan(b.v);
  }
  static double of(cell const& c, element t) {
    return is_float(t) ? c.v : static_cast<double>(c.i);
  }

  cell apply(node const& n, element t, cell const* x, element const* from, int count) const {
    std::string_view const what = n.what;
    cell r;
    bool const floats = is_float(from[0]);
    if (what == "cast") return cast(n, x[0], from[0]);
    if (what == "where") {
      cell const pick = converted(x[x[0].i ? 1 : 2], from[x[0].i ? 1 : 2], t);
      r = pick;
      if (x[0].error > 0) r.error = unknown;
      return r;
    }
    if (what == "equal_to" || what == "not_equal_to" || what == "less" || what == "less_equal" ||
        what == "greater" || what == "greater_equal") {
      if (is_float(from[0])) {
        double const a = x[0].v, b = x[1].v;
        r.i = what == "equal_to"       ? a == b
              : what == "not_equal_to" ? a != b
              : what == "less"         ? a < b
              : what == "less_equal"   ? a <= b
              : what == "greater"      ? a > b
                                       : a >= b;
        if (unsure(x[0], x[1])) r.error = unknown;
      } else {
        std::int64_t const a = x[0].i, b = x[1].i;
        r.i = what == "equal_to"       ? a == b
              : what == "not_equal_to" ? a != b
              : what == "less"         ? a < b
              : what == "less_equal"   ? a <= b
              : what == "greater"      ? a > b
                                       : a >= b;
        if (x[0].error > 0 || x[1].error > 0) r.error = unknown;
      }
      return r;
    }
    if (!floats) return of_integers(n, t, x, count);
    cell a = converted(x[0], from[0], t), b = count > 1 ? converted(x[1], from[1], t) : cell{};
    double const e = a.error + b.error;
    if (what == "identity" || what == "all_reduce") return a;
    if (what == "add" || what == "add_n") {
      r = a;
      for (int k = 1; k < count; ++k) {
        cell const y = converted(x[k], from[k], t);
        r.v += y.v, r.error += y.error, r.terms += y.terms;
        r = finish(r, t, n.in_terms);
      }
      return r;
    } else if (what == "subtract")
      r = {a.v - b.v, e, a.terms + b.terms};
    else if (what == "multiply")
      r = {a.v * b.v, product_error(a, b), a.terms * b.terms};
    else if (what == "square")
      r = {a.v * a.v, product_error(a, a), a.terms * a.terms};
    else if (what == "divide" || what == "true_div") {
      r = {a.v / b.v, 0, a.terms / std::fabs(b.v)};
      double const least = std::fabs(b.v) - b.error;
      r.error = b.v == 0    ? unknown
                : e == 0    ? 0
                : least > 0 ? (a.error + std::fabs(r.v) * b.error) / least
                            : unknown;
    } else if (what == "negate")
      return {-a.v, a.error, a.terms};
    else if (what == "abs")
      return {std::fabs(a.v), a.error, std::fabs(a.v)};
    else if (what == "relu")
      return {a.v < 0 ? 0 : a.v, a.error, std::fabs(a.v)};
    else if (what == "sqrt") {
      r.v = std::sqrt(a.v);
      r.error = a.error == 0 ? 0 : a.v > a.error ? a.error / std::sqrt(a.v - a.error) : unknown;
    } else if (what == "exp") {
      r.v = std::exp(a.v);
      r.error = a.v == 0 && a.error == 0 ? 0
                                         : r.v * std::expm1(a.error < 100 ? a.error : 700) +
                                               12 * unit(t) * r.v + tiny(t);
    } else if (what == "log") {
      r.v = std::log(a.v);
      r.error = a.error == 0    ? 12 * unit(t) * (std::fabs(r.v)) + tiny(t)
                : a.v > a.error ? a.error / (a.v - a.error) + 12 * unit(t) * std::fabs(r.v)
                                : unknown;
      if (a.error == 0 && !(a.v > 0)) r.error = 0;
    } else if (what == "tanh") {
      r.v = std::tanh(a.v);
      r.error = a.error + 12 * unit(t) * std::fabs(r.v) + tiny(t);
    } else if (what == "maximum")
      return larger(a, b);
    else if (what == "minimum")
      return smaller(a, b);
    else if (what == "clamp")
      return smaller(larger(a, b), converted(x[2], from[2], t));
    else if (what == "floor_div" || what == "trunc_div") {
      double const q = rounded(t, a.v / b.v);
      r.v = what == "floor_div" ? std::floor(q) : std::trunc(q);
      r.error = b.v == 0 || e > 0 ? unknown : 0;
      return is_narrow(t) && r.error == 0 ? finish(r, t, n.in_terms) : r;
    } else
      throw std::logic_error("the interpreter has no operation " + std::string(what));
    return finish(r, t, n.in_terms);
  }
  static double product_error(cell const& a, cell const& b) {
    if (a.error == 0 && b.error == 0) return 0;
    if (a.error == unknown || b.error == unknown) return unknown;
    return std::fabs(a.v) * b.error + std::fabs(b.v) * a.error + a.error * b.error;
  }
  static cell larger(cell const& a, cell const& b) {
    double const e = a.error > b.error ? a.error : b.error;
    double const v = a.v > b.v || a.v != a.v ? a.v : b.v;
    return {v, e, std::fabs(v)};
  }
  static cell smaller(cell const& a, cell const& b) {
    double const e = a.error > b.error ? a.error : b.error;
    double const v = a.v < b.v || a.v != a.v ? a.v : b.v;
    return {v, e, std::fabs(v)};
  }
  /// a cell of an operand as the operation sees it: promoted within its kind
  static cell converted(cell const& c, element from, element to) {
    if (is_float(from) && is_float(to) && from != to && to == element::f32) {
      cell r = c;
      r.v = rounded(to, c.v);
      return r;
    }
    return c;
  }
  static cell cast(node const& n, cell const& x, element from) {
    element const to = n.type;
    cell r;
    if (is_float(from) && is_float(to)) {
      r = x;
      r.v = stored(to, x.v);
      if (x.error > 0 || n.in_terms) r = finish(r, to, n.in_terms);
      return r;
    }
    if (is_float(to)) {
      r.v = to == element::f16    ? static_cast<double>(locus::half(x.i))
            : to == element::bf16 ? static_cast<double>(locus::bfloat16(x.i))
            : to == element::f32  ? static_cast<double>(static_cast<float>(x.i))
                                  : static_cast<double>(x.i);
      r.error = x.error, r.terms = std::fabs(r.v);
      return r;
    }
    if (!is_float(from)) {
      r.i = wrapped(to, static_cast<std::uint64_t>(x.i)), r.error = x.error;
      return r;
    }
    auto const convert = [&](double v) -> std::int64_t {
      if (to == element::b8) return v != 0;
      if (v != v) return 0;
      double const low = to == element::i32  ? -0x1p31
                         : to == element::u8 ? 0
                         : to == element::i8 ? -128
                                             : -0x1p63;
      double const high = to == element::i32  ? 0x1p31 - 1
                          : to == element::u8 ? 255
                          : to == element::i8 ? 127
                                              : 0x1p63;
      if (v <= low) return static_cast<std::int64_t>(low);
      if (v >= high) return to == element::i64 ? INT64_MAX : static_cast<std::int64_t>(high);
      return static_cast<std::int64_t>(v);
    };
    r.i = convert(x.v);
    if (x.error > 0 && (convert(x.v - x.error) != r.i || convert(x.v + x.error) != r.i ||
                        (to == element::b8 && std::fabs(x.v) <= x.error)))
      r.error = unknown;
    return r;
  }
  static cell of_integers(node const& n, element t, cell const* x, int count) {
    std::string_view const what = n.what;
    cell r;
    for (int k = 0; k < count; ++k)
      if (x[k].error > 0) r.error = unknown;
    std::int64_t const a = x[0].i, b = count > 1 ? x[1].i : 0;
    auto const ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    if (what == "true_div") {
      r.v = b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
      r.terms = std::fabs(r.v);
      return r;
    }
    std::uint64_t u = 0;
    if (what == "identity" || what == "all_reduce")
      u = ua;
    else if (what == "add" || what == "add_n")
      for (int k = 0; k < count; ++k) u += static_cast<std::uint64_t>(x[k].i);
    else if (what == "subtract")
      u = ua - ub;
    else if (what == "multiply")
      u = ua * ub;
    else if (what == "square")
      u = ua * ua;
    else if (what == "negate")
      u = 0 - ua;
    else if (what == "abs")
      u = a < 0 ? 0 - ua : ua;
    else if (what == "relu")
      u = a < 0 ? 0 : ua;
    else if (what == "maximum")
      u = a > b ? ua : ub;
    else if (what == "minimum")
      u = a < b ? ua : ub;
    else if (what == "clamp") {
      std::int64_t const low = a > b ? a : b;
      u = static_cast<std::uint64_t>(low < x[2].i ? low : x[2].i);
    } else if (what == "floor_div" || what == "trunc_div") {
      if (b == 0)
        u = 0;
      else if (b == -1)
        u = 0 - ua;
      else {
        std::int64_t q = a / b;
        if (what == "floor_div" && q * b != a && (a < 0) != (b < 0)) --q;
        u = static_cast<std::uint64_t>(q);
      }
    } else if (what == "fmod" || what == "floor_mod") {
      std::int64_t rest = b == 0 || b == -1 ? 0 : a % b;
      if (what == "floor_mod" && rest != 0 && (rest < 0) != (b < 0)) rest += b;
      u = static_cast<std::uint64_t>(rest);
    } else if (what == "bitwise_and")
      u = ua & ub;
    else if (what == "bitwise_or")
      u = ua | ub;
    else if (what == "bitwise_xor")
      u = ua ^ ub;
    else if (what == "shift_left" || what == "shift_right") {
      bool const bits_stay = b >= 0 && b < 8 * row_of(t).bytes, left = what == "shift_left";
      u = bits_stay ? (left ? ua << b : static_cast<std::uint64_t>(a >> b))
                    : static_cast<std::uint64_t>(left || a >= 0 ? 0 : -1);
    } else if (what == "logical_and")
      u = a && b;
    else if (what == "logical_or")
      u = a || b;
    else if (what == "logical_not")
      u = !a;
    else if (what == "one_hot")
      u = 0;
    else
      throw std::logic_error("the interpreter has no operation " + std::string(what));
    r.i = wrapped(t, u);
    return r;
  }

  // ---- whole values ----
  values compute(node const& n, shape const& wanted) {
    std::string_view const what = n.what;
    if (what == "scalar") {
      values r = empty(n.type, shape{0, {}});
      r[0] = {n.real, 0, std::fabs(n.real), n.number[0]};
      return r;
    }
    if (what == "full" || what == "iota" || what == "uniform" || what == "normal")
      return generated(n, wanted);
    values const& x = (*this)(n.operands[0]);
    if (what == "transpose") return transposed(x, n);
    if (what == "reshape" || what == "expand_dims") {
      values r = x;
      r.extents = wanted;
      if (what == "expand_dims") {
        r.extents = x.extents;
        int const axis = static_cast<int>(n.number[0]);
        for (int a = r.extents.rank++; a > axis; --a) r.extents.extent[a] = r.extents.extent[a - 1];
        r.extents.extent[axis] = 1;
      }
      if (r.extents.size() != x.size()) throw std::logic_error("a reshape that does not fit");
      return r;
    }
    if (what == "slice") return sliced(x, n);
    if (what == "concatenate") return joined(x, n);
    if (what == "overwrite") return overwritten(x, (*this)(n.operands[1]), n);
    if (what == "matmul") return product(x, (*this)(n.operands[1]), n);
    if (what == "one_hot") return one_hot(x, n);
    if (what == "softmax" || what == "log_softmax") return softmax(x, n);
    if (what == "sum" || what == "mean" || what == "max" || what == "min" || what == "any" ||
        what == "all" || what == "argmax")
      return reduced(x, n, static_cast<unsigned>(n.number[0]), n.number[1] != 0);
    return mapped(n);
  }
  values mapped(node const& n) {
    values const* x[4]{};
    int count = 0;
    shape s{0, {}};
    for (; count < 4 && n.operands[count] >= 0; ++count) {
      x[count] = &(*this)(n.operands[count]);
      s = locus::broadcast(s, x[count]->extents);
    }
    if (!locus::fits(s)) throw std::logic_error("operands that do not fit");
    element from[4]{};
    for (int k = 0; k < count; ++k) from[k] = x[k]->type;
    values r = empty(n.type, s);
    each(s, [&](std::int64_t const* index, std::int64_t k) {
      cell of[4];
      for (int j = 0; j < count; ++j) of[j] = find(*x[j], index, s.rank);
      r[k] = apply(n, n.type, of, from, count);
    });
    return r;
  }
  template <class T>
  static double at_random(std::string_view what, std::uint64_t seed, std::int64_t k) {
    T const last = locus::last_before<T>(0, 1);
    return what == "uniform" ? static_cast<double>(locus::uniform_fn<T>{seed, 0, 1, last}(k))
                             : static_cast<double>(locus::normal_fn<T>{seed, 0, 1}(k));
  }
  static values generated(node const& n, shape const& s) {
    values r = empty(n.type, s);
    auto const seed = static_cast<std::uint64_t>(n.number[0]);
    for (std::int64_t k = 0; k < r.size(); ++k) {
      std::string_view const what = n.what;
      cell& c = r[k];
      if (what == "full")
        c.v = n.real, c.i = n.number[0];
      else if (what == "iota")
        c.v = static_cast<double>(k) * 0.5 + 1,
        c.i = wrapped(n.type, static_cast<std::uint64_t>(1 + 2 * k));
      else if (n.type == element::f16)
        c.v = at_random<locus::half>(what, seed, k);
      else if (n.type == element::bf16)
        c.v = at_random<locus::bfloat16>(what, seed, k);
      else if (n.type == element::f32)
        c.v = at_random<float>(what, seed, k);
      else
        c.v = at_random<double>(what, seed, k);
      c.v = stored(n.type, c.v), c.terms = std::fabs(c.v);
    }
    return r;
  }
  static values transposed(values const& x, node const& n) {
    values r = empty(x.type, x.extents);
    int const rank = x.extents.rank;
    for (int a = 0; a < rank; ++a) r.extents.extent[a] = x.extents.extent[n.number[a]];
    each(r.extents, [&](std::int64_t const* index, std::int64_t k) {
      std::int64_t at[locus::max_rank];
      for (int a = 0; a < rank; ++a) at[n.number[a]] = index[a];
      r[k] = find_exact(x, at);
    });
    return r;
  }
  static cell const& find_exact(values const& x, std::int64_t const* index) {
    std::int64_t offset = 0;
    for (int a = 0; a < x.extents.rank; ++a) offset = offset * x.extents.extent[a] + index[a];
    return x[offset];
  }
  /// axes [0, number[0]) each from cut_begin to cut_end; or axis number[1] from
  /// number[2] to number[3]
  static values sliced(values const& x, node const& n) {
    std::int64_t begin[locus::max_rank]{};
    shape s = x.extents;
    for (int a = 0; a < n.number[0]; ++a)
      begin[a] = cut_begin(s.extent[a]), s.extent[a] = part(s.extent[a]);
    if (n.number[0] < 0) s.extent[0] = part(s.extent[0]);  // from the first on
    if (n.number[0] == 0)
      begin[n.number[1]] = n.number[2], s.extent[n.number[1]] = n.number[3] - n.number[2];
    values r = empty(x.type, s);
    each(s, [&](std::int64_t const* index, std::int64_t k) {
      std::int64_t at[locus::max_rank];
      for (int a = 0; a < s.rank; ++a) at[a] = index[a] + begin[a];
      r[k] = find_exact(x, at);
    });
    return r;
  }
  /// x, but rows from cut_begin on are those of y
  static values overwritten(values const& x, values const& y, node const&) {
    values r = x;
    std::int64_t const n = x.extents.extent[0];
    if (n == 0 || y.size() == 0) return r;
    std::int64_t const row = x.size() / n;
    for (std::int64_t k = 0; k < y.size(); ++k) r[cut_begin(n) * row + k] = y[k];
    return r;
  }
  values joined(values const& x, node const& n) {
    int const axis = static_cast<int>(n.number[0]);
    values r = x;
    for (int j = 1; j < 4 && n.operands[j] >= 0; ++j) {
      values const a = r, &b = (*this)(n.operands[j]);
      std::int64_t const first = a.extents.extent[axis];
      r.extents.extent[axis] = first + b.extents.extent[axis];
      r.cells.resize(static_cast<std::size_t>(r.size()));
      each(r.extents, [&](std::int64_t const* index, std::int64_t k) {
        std::int64_t at[locus::max_rank];
        for (int d = 0; d < r.extents.rank; ++d) at[d] = index[d];
        if (at[axis] < first)
          r[k] = find_exact(a, at);
        else
          at[axis] -= first, r[k] = find_exact(b, at);
      });
    }
    return r;
  }
  values one_hot(values const& x, node const& n) {
    values r = empty(n.type, x.extents);
    int const rank = r.extents.rank++;
    std::int64_t const classes = n.number[0];
    r.extents.extent[rank] = classes;
    r.cells.resize(static_cast<std::size_t>(r.size()));
    for (std::int64_t k = 0; k < x.size(); ++k)
      for (std::int64_t c = 0; c < classes; ++c) {
        cell& to = r[k * classes + c];
        to.v = x[k].i == c, to.i = x[k].i == c, to.error = x[k].error, to.terms = to.v;
      }
    return r;
  }

  // ---- sums ----
  /// means: sums of these numbers are exact in any order: all are multiples of one grain, and the
  ///        sum of magnitudes counts at most 2^24 (2^53) grains; of halves as many as a term that
  ///        replicas hold can count
  struct exactness {
    double grain = 0, total = 0;
    bool possible = true;
    void add(double v, double error) {
      if (error > 0 || !std::isfinite(v)) possible = false;
      if (!possible || v == 0) return;
      int exponent;
      double m = std::frexp(std::fabs(v), &exponent);
      double g = std::ldexp(1, exponent - 53);
      for (auto bits = static_cast<std::uint64_t>(std::ldexp(m, 53)); (bits & 1) == 0; bits >>= 1)
        g *= 2;
      grain = grain == 0 || g < grain ? g : grain;
      total += std::fabs(v);
    }
    bool holds(element t) const { return possible && (grain == 0 || total / grain <= 1 / unit(t)); }
  };
  /// One sum under way.
  struct adder {
    long double sum = 0;
    double error = 0, terms = 0;
    std::int64_t count = 0;
    exactness exact;
    double plain = 0;  // for infinities and NaN
    void add(double v, double e, double magnitude) {
      sum += static_cast<long double>(v), plain += v, error += e, terms += magnitude, ++count;
      exact.add(v, e);
    }
    void add_product(cell const& u, cell const& v, bool in_terms) {
      double const p = u.v * v.v;
      add(p, product_error(u, v), in_terms ? u.terms * v.terms : std::fabs(p));
      exact.possible = exact.possible && std::fma(u.v, v.v, -p) == 0;
    }
    cell result(element t) const {
      cell r;
      r.v = std::isfinite(plain) ? static_cast<double>(sum) : plain;
      r.terms = terms;
      if (!exact.holds(t)) {
        double const depth = static_cast<double>(count < 160 ? count : 160) + 8;
        double const step =
            is_narrow(t) ? depth * unit(element::f32) + 8 * unit(t) : depth * unit(t);
        r.error = error + step * terms + tiny(t);
        if (std::isnan(r.v) || std::isnan(r.error))
          r.error = std::isnan(error) || error == unknown ? unknown : 0;
        if (std::isinf(r.v)) r.error = error > 0 ? unknown : 0;
      }
      if (may_overflow(t, terms + r.error)) r.error = unknown;
      r.v = rounded(t, r.v);
      return r;
    }
  };

  values reduced(values const& x, node const& n, unsigned axes, bool keep) const {
    std::string_view const what = n.what;
    int const rank = x.extents.rank;
    shape s{0, {}};
    std::int64_t over = 1;
    for (int a = 0; a < rank; ++a) {
      bool const gone = (axes >> a & 1) != 0;
      if (gone) over *= x.extents.extent[a];
      if (!gone)
        s.extent[s.rank++] = x.extents.extent[a];
      else if (keep)
        s.extent[s.rank++] = 1;
    }
    values r = empty(n.type, s);
    bool const extremum = what == "max" || what == "min" || what == "argmax";
    if (extremum && over == 0 && r.size() > 0) throw nothing_to_reduce("an extremum of nothing");
    // the elements of each result in row order
    std::vector<std::vector<std::int64_t>> of(r.cells.size());
    each(x.extents, [&](std::int64_t const* index, std::int64_t k) {
      std::int64_t to = 0;
      for (int a = 0; a < rank; ++a)
        if ((axes >> a & 1) == 0) to = to * x.extents.extent[a] + index[a];
      of[static_cast<std::size_t>(to)].push_back(k);
    });
    for (std::int64_t k = 0; k < r.size(); ++k)
      r[k] = combine(x, n, of[static_cast<std::size_t>(k)]);
    return r;
  }
  cell combine(values const& x, node const& n, std::vector<std::int64_t> const& elements) const {
    std::string_view const what = n.what;
    bool const floats = is_float(x.type);
    cell r;
    if (what == "any" || what == "all") {
      bool const wanted = what == "any";  // one such element decides
      bool sure = false, maybe = false;
      for (std::int64_t k : elements) {
        if (x[k].error > 0)
          maybe = true;
        else
          sure = sure || (x[k].i != 0) == wanted;
      }
      r.i = sure ? wanted : !wanted;
      r.error = !sure && maybe ? unknown : 0;
    } else if (!floats && what == "sum") {
      std::uint64_t u = 0;
      for (std::int64_t k : elements) {
        u += static_cast<std::uint64_t>(x[k].i);
        if (x[k].error > 0) r.error = unknown;
      }
      r.i = static_cast<std::int64_t>(u);
    } else if (what == "sum" || what == "mean") {
      adder a;
      for (std::int64_t k : elements)
        a.add(x[k].v, x[k].error, n.in_terms ? x[k].terms : std::fabs(x[k].v));
      r = a.result(n.type);
      if (what == "mean") {
        auto const count = static_cast<double>(elements.size());
        r.v = std::isfinite(a.plain) ? static_cast<double>(a.sum / static_cast<long double>(count))
                                     : a.plain / count;
        r.v = rounded(n.type, r.v), r.error = r.error / count + 4 * unit(n.type) * a.terms / count;
        if (std::isinf(r.v)) r.error = a.error > 0 ? unknown : 0;
        r.terms = a.terms / count;
        if (elements.empty()) r.v = NAN, r.error = 0;
        if (std::isnan(r.error)) r.error = a.error > 0 ? unknown : 0;
      }
      if (!n.in_terms) r.terms = std::fabs(r.v);
    } else
      r = extremum(x, n, elements);
    return r;
  }
  cell extremum(values const& x, node const& n, std::vector<std::int64_t> const& elements) const {
    std::string_view const what = n.what;
    bool const floats = is_float(x.type), low = what == "min";
    std::size_t best = 0;
    auto const value = [&](std::size_t j) { return of(x[elements[j]], x.type); };
    auto const beats = [&](std::size_t j, std::size_t i) {
      if (!floats) {
        std::int64_t const a = x[elements[j]].i, b = x[elements[i]].i;
        return low ? a < b : a > b;
      }
      if (std::isnan(value(i))) return false;
      return std::isnan(value(j)) || (low ? value(j) < value(i) : value(j) > value(i));
    };
    for (std::size_t j = 1; j < elements.size(); ++j)
      if (beats(j, best)) best = j;
    cell r;
    double reach = 0;  // the largest error among those that might be it
    bool rivals = false;
    for (std::size_t j = 0; j < elements.size(); ++j) {
      cell const &c = x[elements[j]], &b = x[elements[best]];
      if (c.error == 0 && b.error == 0) continue;
      bool const close = !floats || std::isnan(value(best)) || c.error == unknown ||
                         b.error == unknown || std::fabs(c.v - b.v) <= c.error + b.error ||
                         std::isnan(c.v);
      if (close && (c.error > reach)) reach = c.error;
      if (close && j != best) rivals = true;
      if (b.error > reach) reach = b.error;
    }
    if (what == "argmax") {
      r.i = static_cast<std::int64_t>(best);  // over all elements: the offset in row order
      r.error = rivals ? unknown : 0;
      return r;
    }
    r = x[elements[best]];
    r.terms = std::fabs(r.v);
    r.error = !floats && reach > 0 ? unknown : reach;
    return r;
  }
  static values product(values const& x, values const& y, node const& n) {
    std::int64_t const m = x.extents.extent[0], k = x.extents.extent[1], c = y.extents.extent[1];
    values r = empty(n.type, shape{2, {m, c}});
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < c; ++j) {
        cell& to = r[i * c + j];
        adder a;
        std::uint64_t whole = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          cell const &u = x[i * k + l], &v = y[l * c + j];
          if (is_float(n.type))
            a.add_product(u, v, n.in_terms);
          else {
            whole += static_cast<std::uint64_t>(u.i) * static_cast<std::uint64_t>(v.i);
            if (u.error > 0 || v.error > 0) to.error = unknown;
          }
        }
        if (!is_float(n.type)) {
          to.i = wrapped(n.type, whole);
          continue;
        }
        to = a.result(n.type);
        if (to.error > 0 && to.error < unknown && k > 160)
          to.error += static_cast<double>(k) * unit(n.type) * a.terms;
        if (!std::isfinite(a.plain) && a.error == 0) to.error = std::isnan(a.plain) ? 0 : unknown;
        if (!n.in_terms) to.terms = std::fabs(to.v);
      }
    return r;
  }
  values softmax(values const& x, node const& n) {
    unsigned const axis = 1u << n.number[0];
    auto const step = [&](char const* what) {
      return node{what, x.type, {0, 1, -1, -1}, false, {axis, 1, 0, 0}, 0};
    };
    values r = empty(x.type, x.extents);
    if (r.size() == 0) return r;
    values const largest = reduced(x, step("max"), axis, true);
    values e = r, shifted = r;
    element const from[] = {x.type, x.type};
    each(x.extents, [&](std::int64_t const* index, std::int64_t k) {
      cell const of[] = {x[k], find(largest, index, x.extents.rank)};
      shifted[k] = apply(step("subtract"), x.type, of, from, 2);
      e[k] = apply(step("exp"), x.type, &shifted[k], from, 1);
    });
    values const sum = reduced(e, step("sum"), axis, true);
    each(x.extents, [&](std::int64_t const* index, std::int64_t k) {
      cell const of[] = {e[k], find(sum, index, x.extents.rank)};
      if (std::string_view(n.what) == "softmax")
        r[k] = apply(step("divide"), x.type, of, from, 2);
      else {
        cell const log = apply(step("log"), x.type, &of[1], from, 1);
        cell const both[] = {shifted[k], log};
        r[k] = apply(step("subtract"), x.type, both, from, 2);
      }
    });
    return r;
  }

  node const* nodes_;
  std::vector<state> done_;
};

}  // namespace random_expressions
