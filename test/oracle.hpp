// SPDX-License-Identifier: Apache-2.0
// A plain oracle: arrays on the host with index functions for elements, random data, and a
// comparison that names the first difference.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <locus/tensor/tensor.hpp>

namespace oracle {

using locus::Dextents;
using locus::dyn;
using locus::shape;

/// splitmix64: short, and not what is tested
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  /// in [low, high]
  std::int64_t number(std::int64_t low, std::int64_t high) {
    auto const first = static_cast<std::uint64_t>(low), last = static_cast<std::uint64_t>(high);
    return static_cast<std::int64_t>(first + bits() % (last - first + 1));
  }
  double real(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }
  template <class T>
  T value(double low, double high) {
    if constexpr (std::is_same_v<T, bool>)
      return (bits() & 1) != 0;
    else if constexpr (locus::is_floating_v<T>)
      return static_cast<T>(real(low, high));
    else
      return static_cast<T>(
          number(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
  }

 private:
  std::uint64_t state_;
};

template <class T>
struct cell {  // std::vector<bool> is no array
  T value;
};

using indices = std::int64_t[locus::max_rank];

/// Elements in row order.
template <class T>
struct array {
  shape extents;
  std::vector<cell<T>> cells;

  array() = default;
  explicit array(shape const& s) : extents(s), cells(static_cast<std::size_t>(s.size())) {}
  std::int64_t size() const { return extents.size(); }
  T& operator[](std::int64_t i) { return cells[static_cast<std::size_t>(i)].value; }
  T const& operator[](std::int64_t i) const { return cells[static_cast<std::size_t>(i)].value; }
  /// the element at an index of as many axes, or of more: right aligned, extents of 1 stretch
  T const& at(std::int64_t const* i, int rank) const {
    std::int64_t offset = 0;
    for (int a = 0; a < extents.rank; ++a) {
      std::int64_t const n = extents.extent[a];
      offset = offset * n + (n == 1 ? 0 : i[rank - extents.rank + a]);
    }
    return (*this)[offset];
  }
};

/// visit(i, offset) for each index in row order
template <class Visit>
void each_index(shape const& s, Visit&& visit) {
  std::int64_t const n = s.size();
  indices i{};
  for (std::int64_t k = 0; k < n; ++k) {
    visit(static_cast<std::int64_t const*>(i), k);
    for (int a = s.rank; a-- > 0;) {
      if (++i[a] < s.extent[a]) break;
      i[a] = 0;
    }
  }
}
/// r[i] = f(i)
template <class T, class F>
array<T> make(shape const& s, F&& f) {
  array<T> r(s);
  each_index(s, [&](std::int64_t const* i, std::int64_t k) { r[k] = static_cast<T>(f(i)); });
  return r;
}
/// r[i] = f(a[i]...), broadcast as NumPy does
template <class T, class F, class... Ts>
array<T> map(shape const& s, F&& f, array<Ts> const&... a) {
  return make<T>(s, [&](std::int64_t const* i) { return f(a.at(i, s.rank)...); });
}
template <class T>
array<T> random_array(random& r, shape const& s, double low, double high) {
  array<T> a(s);
  for (std::int64_t i = 0; i < a.size(); ++i) a[i] = r.value<T>(low, high);
  return a;
}

template <int Rank, class T>
auto tensor(array<T> const& a) {
  locus::Tensor<T, Dextents<Rank>> t{Dextents<Rank>(a.extents)};
  for (std::int64_t i = 0; i < a.size(); ++i) t.data()[i] = a[i];
  return t;
}

template <class T>
std::string text_of(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(v));
    return text;
  } else
    return std::to_string(v);
}

/// means: equal within absolute + relative * |want|; NaN equals NaN, infinities themselves
template <class T, class U>
bool agree(T is, U want, double relative, double absolute) {
  if constexpr (std::is_floating_point_v<T>) {
    if (want != want) return is != is;
    if (static_cast<T>(want) == is) return true;
    long double const off =
        std::fabs(static_cast<long double>(is) - static_cast<long double>(want));
    return off <=
               static_cast<long double>(absolute) +
                   static_cast<long double>(relative) * std::fabs(static_cast<long double>(want)) &&
           std::isfinite(static_cast<long double>(want));
  } else
    return is == static_cast<T>(want);
}

/// means: where a tensor on the host and the oracle's array first differ; empty: nowhere
template <class Tensor, class U>
std::string difference(Tensor const& t, array<U> const& want, double relative = 0,
                       double absolute = 0) {
  shape const s = t.extents().as_shape();
  if (!(s == want.extents)) {
    locus::message text;
    text << "extents " << s << ", not " << want.extents;
    return text.c_str();
  }
  auto const* const data = t.data();
  std::int64_t wrong = 0, first = 0;
  for (std::int64_t i = want.size(); i-- > 0;)
    if (!agree(data[i], want[i], relative, absolute)) ++wrong, first = i;
  if (wrong == 0) return {};
  return std::to_string(wrong) + " of " + std::to_string(want.size()) + " elements; [" +
         std::to_string(first) + "] is " + text_of(data[first]) + ", not " + text_of(want[first]);
}

/// means: two tensors on the host have as many elements and the same bytes in row order
template <class A, class B>
bool same_bits(A const& a, B const& b) {
  return a.size() == b.size() &&
         (a.size() == 0 ||
          std::memcmp(a.data(), b.data(), sizeof(*a.data()) * std::size_t(a.size())) == 0);
}

/// the same bits, or NaN in both: a sum that is NaN has other bits on a GPU than on the host
template <class A, class B>
bool same_numbers(A const& a, B const& b) {
  bool same = a.size() == b.size();
  for (std::int64_t i = 0; same && i < a.size(); ++i)
    same = std::memcmp(a.data() + i, b.data() + i, sizeof(*a.data())) == 0 ||
           (a.data()[i] != a.data()[i] && b.data()[i] != b.data()[i]);
  return same;
}

/// units in the last place of a float and of a double, as relative errors
template <class T>
inline constexpr double ulp = static_cast<double>(std::numeric_limits<T>::epsilon());

}  // namespace oracle
