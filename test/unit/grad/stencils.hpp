// SPDX-License-Identifier: Apache-2.0
// Losses of stencils, each also as a plain loop of long doubles, and comparisons of their gradients.
#pragma once
#include <on_backends.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <locus/algorithms/shift.hpp>
#include <locus/grad/grad.hpp>

namespace stencils {

using namespace locus;

// ---- the plain loops: a number and its derivative by one element of u ----

struct dual {
  long double v = 0, d = 0;
};
inline dual operator+(dual a, dual b) { return {a.v + b.v, a.d + b.d}; }
inline dual operator-(dual a, dual b) { return {a.v - b.v, a.d - b.d}; }
inline dual operator*(dual a, dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline dual number(long double v) { return {v, 0}; }
inline dual squared(dual a) { return a * a; }

/// An array of duals, as the loops of a program read it.
struct field {
  std::int64_t n, m;
  std::vector<dual> all;
  dual operator()(std::int64_t i, std::int64_t j) const { return all[std::size_t(i * m + j)]; }
};
/// means: the sum of f(i, j) over the rows [from, to) and the columns [left, right)
template <class F>
dual sum_over(std::int64_t from, std::int64_t to, std::int64_t left, std::int64_t right, F f) {
  dual all;
  for (std::int64_t i = from; i < to; ++i)
    for (std::int64_t j = left; j < right; ++j) all = all + f(i, j);
  return all;
}

// ---- programs: a loss of u and t, which have equal extents, and the same loss by a plain loop ----

struct second_difference {
  static constexpr halo rows{2, beyond::zero};
  static constexpr int least = 1;  // rows of a tensor on one device
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    auto const around = shift<0, 1, beyond::zero>(u) + shift<0, -1, beyond::zero>(u);
    return sum(square(around - typename U::value_type(2) * u - t));
  }
  static dual loop(field const& u, field const& t) {
    auto const at = [&](auto i, auto j) { return i < 0 || i >= u.n ? dual{} : u(i, j); };
    return sum_over(0, u.n, 0, u.m, [&](auto i, auto j) {
      return squared(at(i + 1, j) + at(i - 1, j) - number(2) * u(i, j) - t(i, j));
    });
  }
};
struct around_a_ring {
  static constexpr halo rows{3, beyond::wrap};
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    return sum(
        square(shift<0, 1, beyond::wrap>(u) * u - shift<0, -2, beyond::wrap>(u) - square(t)));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(0, u.n, 0, u.m, [&](auto i, auto j) {
      return squared(u((i + 1) % u.n, j) * u(i, j) - u((i - 2 + 2 * u.n) % u.n, j) -
                     squared(t(i, j)));
    });
  }
};
struct kept_end {
  static constexpr halo rows{2, beyond::keep};
  static constexpr int least = 2;
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    return sum(square(shift<0, 2, beyond::keep>(u) - t));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(0, u.n, 0, u.m, [&](auto i, auto j) {
      return squared(u(std::min<std::int64_t>(i + 2, u.n - 1), j) - t(i, j));
    });
  }
};
struct kept_begin {
  static constexpr halo rows{3, beyond::keep};
  static constexpr int least = 3;
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    return sum(square(shift<0, -3, beyond::keep>(u) * t));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(0, u.n, 0, u.m, [&](auto i, auto j) {
      return squared(u(std::max<std::int64_t>(i - 3, 0), j) * t(i, j));
    });
  }
};
struct five_points {
  static constexpr halo rows{2, beyond::nothing};
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    using E = typename U::value_type;
    return sum(square((interior<1, -1, 0>(u) + interior<1, 1, 0>(u) + interior<1, 0, -1>(u) +
                       interior<1, 0, 1>(u)) *
                          E(0.25) -
                      interior<1>(t)));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(1, u.n - 1, 1, u.m - 1, [&](auto i, auto j) {
      return squared((u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1)) * number(0.25) -
                     t(i, j));
    });
  }
};
struct forward_difference {
  static constexpr halo rows{1, beyond::nothing};
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    return sum(square(slice<0, 1, range::to_end>(u) - slice<0, 0, -1>(u) - slice<0, 0, -1>(t)));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(0, u.n - 1, 0, u.m,
                    [&](auto i, auto j) { return squared(u(i + 1, j) - u(i, j) - t(i, j)); });
  }
};
struct products_of_rows {
  static constexpr bool folds = true;  // a card folds a row in another order than the host
  static constexpr halo rows{2, beyond::nothing};
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    auto const both = interior<1, 1, 0>(u) * interior<1, -1, 0>(u);
    return sum(square(sum<1>(both)) * typename U::value_type(0.5)) +
           mean(interior<1, 1, 1>(u) * interior<1>(t));
  }
  static dual loop(field const& u, field const& t) {
    dual all;
    for (std::int64_t i = 1; i < u.n - 1; ++i) {
      dual row;
      for (std::int64_t j = 1; j < u.m - 1; ++j) {
        row = row + u(i + 1, j) * u(i - 1, j);
        auto const count = static_cast<long double>((u.n - 2) * (u.m - 2));
        all = all + u(i + 1, j + 1) * t(i, j) * number(1 / count);
      }
      all = all + squared(row) * number(0.5);
    }
    return all;
  }
};
struct of_windows {
  static constexpr halo rows{3, beyond::nothing};
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    auto const first = slice<0, 1, range::to_end>(u);
    auto const last = slice<0, 0, -1>(u);
    return sum(square(slice<0, 1, -1>(first) + slice<0, 0, -2>(last)) * slice<0, 1, -2>(t));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(0, u.n - 3, 0, u.m,
                    [&](auto i, auto j) { return squared(u(i + 2, j) + u(i, j)) * t(i + 1, j); });
  }
};
struct of_computed_values {
  static constexpr halo rows{1, beyond::nothing};
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    auto const inside = slice<0, 1, -1>(square(u) * t);
    return sum(slice<1, 1, -1>(inside)) + sum(slice<0, 1, -1>(u) * slice<0, 0, -2>(u));
  }
  static dual loop(field const& u, field const& t) {
    return sum_over(1, u.n - 1, 1, u.m - 1,
                    [&](auto i, auto j) { return squared(u(i, j)) * t(i, j); }) +
           sum_over(1, u.n - 1, 0, u.m, [&](auto i, auto j) { return u(i, j) * u(i - 1, j); });
  }
};

struct of_softmax {
  static constexpr halo rows{1, beyond::nothing};
  static constexpr bool folds = true;
  template <class U, class T>
  static auto loss(U const& u, T const& t) {
    return sum(softmax<1>(interior<1, 1, 0>(u)) * interior<1>(t)) +
           sum(slice<0, 1, -1>(log_softmax<1>(u)) * slice<0, 1, -1>(t));
  }
  static dual loop(field const& u, field const& t) {
    dual all;
    for (std::int64_t i = 1; i < u.n - 1; ++i) {
      dual inside, weighted, total, row, weights;
      for (std::int64_t j = 0; j < u.m; ++j) {
        dual const e = grown(u(i, j)), next = grown(u(i + 1, j));
        bool const is_inside = j > 0 && j < u.m - 1;
        if (is_inside) inside = inside + next, weighted = weighted + next * t(i, j);
        total = total + e, row = row + u(i, j) * t(i, j), weights = weights + t(i, j);
      }
      dual const inverse{1 / inside.v, -inside.d / (inside.v * inside.v)};
      dual const logarithm{std::log(total.v), total.d / total.v};
      all = all + weighted * inverse + row - weights * logarithm;
    }
    return all;
  }
  static dual grown(dual a) { return {std::exp(a.v), std::exp(a.v) * a.d}; }
};

// ---- comparisons ----

template <class T>
using Grid = Tensor<T, Dextents<2>>;
template <class T>
Grid<T> draw(std::int64_t n, std::int64_t m, unsigned seed) {
  return Grid<T>(uniform<T>(dextents<2>{n, m}, locus::seed{seed}, T(-1), T(1)));
}
template <class T>
field field_of(Grid<T> const& x) {
  field f{x.extent(0), x.extent(1), {}};
  for (std::int64_t i = 0; i < f.n; ++i)
    for (std::int64_t j = 0; j < f.m; ++j) f.all.push_back(number(x(i, j)));
  return f;
}
template <class T>
bool same_bits(Grid<T> const& a, Grid<T> const& b) {
  return a.size() == b.size() &&
         __builtin_memcmp(a.data(), b.data(), std::size_t(a.size()) * sizeof(T)) == 0;
}
template <class Program, class U, class T, class Out>
void take_gradient(U const& u, T const& t, Out& out) {
  let(u, [&](auto v) { out = grad(Program::loss(v, t), v); });
}
template <class Program, class T>
void check_loop(Grid<T> const& u, Grid<T> const& t, Grid<T> const& got) {
  field x = field_of(u), y = field_of(t);
  for (std::size_t k = 0; k < x.all.size(); ++k) {
    x.all[k].d = 1;
    long double const wanted = Program::loop(x, y).d;
    x.all[k].d = 0;
    long double const near = sizeof(T) == 4 ? 1e-5L : 1e-13L;
    REQUIRE(std::abs(wanted - got.data()[k]) < near * (4 + std::abs(wanted)));
  }
}
/// means: over the pieces of Cut the gradient has the bits of the host, and those after u was written
template <class Program, class Cut>
void compare(std::int64_t n, std::int64_t m, unsigned seed) {
  using T = typename Cut::value_type;
  CAPTURE(n);
  Grid<T> u = draw<T>(n, m, seed);
  Grid<T> const t = draw<T>(n, m, seed + 1);
  Grid<T> wanted(n, m);
  Cut a(u), b(t), out(t);
  bool is_short = false;
  if constexpr (requires { Program::least; }) is_short = n < Program::least;
  for (int k = 0; k < 2; ++k) {
    take_gradient<Program>(a, b, out);
    check_loop<Program>(u, t, Grid<T>(out));
    if (!is_short) take_gradient<Program>(u, t, wanted);
    if constexpr (!requires { Program::folds; })
      REQUIRE((is_short || same_bits(Grid<T>(out), wanted)));
    u = u + T(0.125) * t, a = a + T(0.125) * b;
  }
}
template <class Program, class T, class... Devices>
using Pieces = Tensor<T, Dextents<2>,
                      Sharded<0, Devices..., Halo<Program::rows.width, Program::rows.outside>>>;

}  // namespace stencils
