// SPDX-License-Identifier: Apache-2.0
// Results of algorithms beside their operands, in files for NumPy: check.py computes each result again. The operands of
// one file have one element type and one way to lie in memory.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <locus/complex.hpp>
#include <locus/files/npz.hpp>
#include <locus/locus.hpp>
#include <oracle.hpp>

namespace numpy {

using namespace locus;

template <class T>
inline constexpr bool is_real = is_floating_v<T> || is_integer_v<T>;
template <class T>
inline constexpr bool is_boolean = std::is_same_v<T, bool>;

/// An operand on the host, and its name in the file.
template <class T, class E>
struct input {
  std::string name;
  Tensor<T, E> value;
};

/// The archive that a run writes.
class archive {
 public:
  archive(std::string const& path, std::int64_t rows) : rows_(rows), file_(path) {}
  std::int64_t rows() const { return rows_; }
  void save() { file_.save(); }

  /// means: f of the operands, as Way lays them, and the operands; text: the call in check.py's words,
  ///        such as "cumsum(m) axis=1"
  template <class Way, class F, class... T, class... E>
  void run(std::string const& text, F const& f, input<T, E> const&... operands) {
    (enter_operand(operands), ...);
    auto const laid = std::make_tuple(Way::lay(operands.value)...);
    std::apply([&](auto const&... x) { enter(text, f(x.operand()...)); }, laid);
  }
  /// means: the elements of a generator, stored on Way's device
  template <class Way, class E>
  void generate(std::string const& text, E const& e) {
    enter(text, Tensor<typename E::value_type, Dextents<E::pattern.rank>, typename Way::where>(e));
  }

 private:
  template <class R>
  void enter(std::string const& name, R const& r) {
    if constexpr (requires { r.first; }) {
      enter(name + " #0", r.first);
      enter(name + " #1", r.second);
    } else if constexpr (std::is_base_of_v<tensor_base, R>)
      add(name, r);
    else
      add(name, eval(r));
  }

  template <class X>
  void enter_operand(X const& x) {
    if (names_.insert(x.name).second) add(x.name, x.value);
  }
  template <class X>
  void add(std::string const& name, X const& x) {
    if constexpr (std::is_same_v<typename X::value_type, bfloat16>)  // NumPy has no such type
      file_.add(name, eval(cast<float>(x)));
    else
      file_.add(name, x);
  }
  std::int64_t rows_;
  std::set<std::string> names_;
  data::npz_writer file_;
};

/// means: the two results of a call
template <class R>
auto results_of(R const& r) {
  return std::pair(result<0>(r), result<1>(r));
}

/// Elements: `plain` small, with fractions where there are such; `wild` with ties, NaN, infinities and
/// extremes; `near_one` with products that stay small.
enum class draw { plain, wild, near_one };

template <class T>
T drawn_one(oracle::random& r, draw how) {
  if constexpr (is_boolean<T>)
    return r.number(0, 1) != 0;
  else if constexpr (is_complex_v<T>) {
    using R = real_t<T>;
    if (how != draw::near_one) return T(R(r.real(-9, 9)), R(r.real(-9, 9)));
    double const turn = r.real(-3, 3), by = std::exp(r.real(-0.05, 0.05));
    return T(R(by * std::cos(turn)), R(by * std::sin(turn)));
  } else if constexpr (is_floating_v<T>) {
    constexpr bool is_narrow = is_narrow_v<T>;
    if (how == draw::near_one)
      return static_cast<T>((r.number(0, 1) ? -1 : 1) *
                            std::exp(is_narrow ? r.real(-0.01, 0.01) : r.real(-0.05, 0.05)));
    if (how == draw::wild && r.number(0, 3) == 0) {
      float const some[] = {1, -1, 0, INFINITY, -INFINITY, NAN, 8, -8};
      return static_cast<T>(some[r.number(0, 7)]);
    }
    return static_cast<T>(r.real(-9, 9));
  } else {
    std::int64_t const low = std::is_signed_v<T> ? -9 : 0;
    if (how == draw::near_one) return static_cast<T>(r.number(low / 3, 3));
    if (how == draw::wild && r.number(0, 3) == 0)
      return r.number(0, 1) ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    return static_cast<T>(r.number(low, 9));
  }
}

/// How operands lie: their extents, static where Known is a number, their device, and whether each
/// second element along each axis is theirs.
template <class Where, std::int64_t Known, bool Strided>
struct way {
  static constexpr std::int64_t known = Known;
  using where = Where;
  using list_extents = Extents<Known>;
  using matrix_extents = Extents<Known, Known == dyn ? dyn : 3>;
  template <std::int64_t N>
  using few_extents = Extents<Known == dyn ? dyn : N>;

  /// n elements, n the rows of the archive
  template <class T>
  static auto list(archive const& b, std::string_view name, draw how = draw::plain) {
    return filled<T>(list_extents(shape{1, {b.rows()}}), name,
                     [&](oracle::random& r) { return drawn_one<T>(r, how); });
  }
  /// (n, 3)
  template <class T>
  static auto matrix(archive const& b, std::string_view name, draw how = draw::plain) {
    return filled<T>(matrix_extents(shape{2, {b.rows(), 3}}), name,
                     [&](oracle::random& r) { return drawn_one<T>(r, how); });
  }
  /// N elements
  template <std::int64_t N, class T>
  static auto few(std::string_view name, draw how = draw::plain) {
    return filled<T>(few_extents<N>(shape{1, {N}}), name,
                     [&](oracle::random& r) { return drawn_one<T>(r, how); });
  }
  /// n integers of [0, below)
  static auto numbers(archive const& b, std::string_view name, std::int64_t below) {
    return filled<std::int32_t>(list_extents(shape{1, {b.rows()}}), name, [&](oracle::random& r) {
      return std::int32_t(below > 0 ? r.number(0, below - 1) : 0);
    });
  }

  template <class T, class E>
  struct laid {
    Tensor<T, E, Where> memory;
    Tensor<T, E, Where> const& operand() const { return memory; }
  };
  template <class T, class E>
  struct laid_apart {
    Tensor<T, Dextents<E::rank()>, Where> memory;
    auto operand() const {
      shape const s = memory.extents().as_shape();
      if constexpr (E::rank() == 1)
        return slice(memory, strided{1, s.extent[0], 2});
      else
        return slice(memory, strided{1, s.extent[0], 2}, strided{0, s.extent[1], 2});
    }
  };
  template <class T, class E>
  static auto lay(Tensor<T, E> const& x) {
    if constexpr (!Strided)
      return laid<T, E>{Tensor<T, E, Where>(x)};
    else {
      shape s = x.extents().as_shape();
      std::int64_t const columns = s.rank == 2 ? s.extent[1] : 1;
      for (int a = 0; a < s.rank; ++a) s.extent[a] = 2 * s.extent[a] + (a == 0);
      Tensor<T, Dextents<E::rank()>> host{Dextents<E::rank()>(s)};
      for (std::int64_t i = 0; i < host.size(); ++i) host.data()[i] = T(99);
      std::int64_t const width = s.rank == 2 ? s.extent[1] : 1;
      for (std::int64_t i = 0; i < x.size(); ++i)
        host.data()[(2 * (i / columns) + 1) * width + 2 * (i % columns)] = x.data()[i];
      return laid_apart<T, E>{Tensor<T, Dextents<E::rank()>, Where>(host)};
    }
  }

 private:
  template <class T, class E, class Draw>
  static input<T, E> filled(E const& extents, std::string_view name, Draw const& one) {
    input<T, E> in{std::string(name), Tensor<T, E>(extents)};
    std::uint64_t seed = static_cast<std::uint64_t>(extents.as_shape().size()) + 1;
    for (char const c : name) seed = seed * 131 + static_cast<unsigned char>(c);
    oracle::random r(seed + sizeof(T) * 7);
    for (std::int64_t i = 0; i < in.value.size(); ++i) in.value.data()[i] = one(r);
    return in;
  }
};

}  // namespace numpy
