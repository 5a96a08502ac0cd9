// SPDX-License-Identifier: Apache-2.0
// NumPy's array format: the header in front of the elements, and arrays of a type known at run
// time.
#pragma once
#include <string>   // string
#include <utility>  // in_range
#include <vector>   // vector

#include <locus/core/is_finite.hpp>      // is_finite, is_nan
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/core/write_number.hpp>   // write_number
#include <locus/files/byte_block.hpp>    // byte_block
#include <locus/runtime/input_file.hpp>  // input_file
#include <locus/shape/complex.hpp>       // complex
#include <locus/shape/shape.hpp>         // shape
#include <locus/tensor/tensor.hpp>       // Tensor

namespace locus::data {

/// An element type in NumPy's notation: f4, i8, u1, b1, c8.
struct npy_type {
  char kind = 'f';  // f, i, u, b or c
  int bytes = 4;
  friend bool operator==(npy_type, npy_type) = default;
  std::string text() const { return kind + std::to_string(bytes); }
};

namespace detail {

/// NumPy's name of an element type of locus; kind '?': NumPy has none
template <class T>
constexpr npy_type npy_type_of() {
  if constexpr (std::is_same_v<T, bool>) return {'b', 1};
  if constexpr (std::is_same_v<T, bfloat16>) return {'?', 2};
  if constexpr (is_floating_v<T>) return {'f', int(sizeof(T))};
  if constexpr (is_complex_v<T>) return {'c', int(sizeof(T))};
  if constexpr (std::is_integral_v<T>) return {std::is_signed_v<T> ? 'i' : 'u', int(sizeof(T))};
  return {'?', int(sizeof(T))};
}

/// means: f(T{}) for the element type of t; false: locus has none
template <class F>
bool with_npy_type(npy_type t, F&& f) {
  auto const is = [&](char kind, int bytes) { return t == npy_type{kind, bytes}; };
  if (is('f', 4)) return f(float{}), true;
  if (is('f', 8)) return f(double{}), true;
  if (is('f', 2)) return f(half{}), true;
  if (is('i', 1)) return f(std::int8_t{}), true;
  if (is('i', 2)) return f(std::int16_t{}), true;
  if (is('i', 4)) return f(std::int32_t{}), true;
  if (is('i', 8)) return f(std::int64_t{}), true;
  if (is('u', 1) || is('b', 1)) return f(std::uint8_t{}), true;
  if (is('u', 2)) return f(std::uint16_t{}), true;
  if (is('u', 4)) return f(std::uint32_t{}), true;
  if (is('u', 8)) return f(std::uint64_t{}), true;
  if (is('c', 8)) return f(complex<float>{}), true;
  if (is('c', 16)) return f(complex<double>{}), true;
  return false;
}

/// means: to = v, if T holds exactly that number; else false
template <class T, class V>
bool take_exactly(V v, T& to) {
  if constexpr (is_complex_v<T> && is_complex_v<V>)
    return take_exactly(v.re, to.re) && take_exactly(v.im, to.im);
  else if constexpr (is_complex_v<T>) {
    to.im = 0;
    return take_exactly(v, to.re);
  } else if constexpr (is_complex_v<V>)
    return v.im == 0 && take_exactly(v.re, to);
  else if constexpr (std::is_same_v<T, bool>) {
    bool const one = static_cast<double>(v) == 1;
    return to = one, one || static_cast<double>(v) == 0;
  } else if constexpr (is_floating_v<T> && !std::is_integral_v<V>) {
    auto const wide = static_cast<double>(v);
    to = T(wide);
    return static_cast<double>(to) == wide || internal::is_nan(wide);
  } else if constexpr (is_floating_v<T>) {
    to = T(v);  // T holds every product of a power of two and an integer below 2^digits
    auto magnitude = static_cast<std::uint64_t>(v);
    if constexpr (std::is_signed_v<V>)
      if (v < 0) magnitude = 0 - magnitude;
    while (magnitude > 0 && magnitude % 2 == 0) magnitude /= 2;
    constexpr int digits = std::numeric_limits<T>::digits;
    return magnitude >> digits == 0 && internal::is_finite(static_cast<double>(to));
  } else if constexpr (std::is_integral_v<V>) {
    to = static_cast<T>(v);
    return std::in_range<T>(v);
  } else {
    auto const wide = static_cast<double>(v);
    double const high =
        2.0 * static_cast<double>(std::uint64_t(1) << (std::numeric_limits<T>::digits - 1));
    if (internal::is_nan(wide) || !(wide >= (std::is_signed_v<T> ? -high : 0.0) && wide < high))
      return false;
    to = static_cast<T>(wide);
    return static_cast<double>(to) == wide;
  }
}

}  // namespace detail

/// means: an array of any type and rank: elements in row order, in this machine's byte order
class npy_array {
 public:
  std::string name;  // for messages: the file or member
  npy_type type;
  std::vector<std::int64_t> extents;
  byte_block bytes;

  std::int64_t size() const;
  std::string extents_text() const;
  /// means: a tensor of the same numbers on the host; of another type if T holds each number
  ///        exactly
  /// fails: bad_file, for another rank; for a number that T does not hold, with its index and the
  ///        remedy
  template <class T, int Rank>
  Tensor<T, Dextents<Rank>, CpuDevice> to_tensor(call_site where = call_site::here()) const {
    if (static_cast<int>(extents.size()) != Rank)
      fail("rank " + std::to_string(Rank), "extents " + extents_text(), "ask for its rank");
    shape s{Rank, {}};
    for (std::size_t a = 0; a < extents.size(); ++a) s.extent[a] = extents[a];
    Tensor<T, Dextents<Rank>, CpuDevice> t(Dextents<Rank>(s), where);
    if (bytes.size == 0) return t;
    if (detail::npy_type_of<T>() == type && type.kind != 'b')
      __builtin_memcpy(t.data(), bytes.data.get(), bytes.size);
    else
      convert(t.data());
    return t;
  }

 private:
  template <class T>
  void convert(T* to) const {
    std::int64_t const n = size();
    detail::with_npy_type(type, [&](auto of) {
      using Of = decltype(of);
      for (std::int64_t i = 0; i < n; ++i) {
        Of v;
        __builtin_memcpy(&v, &bytes.data[static_cast<std::size_t>(i) * sizeof v], sizeof v);
        if (detail::take_exactly(v, to[i])) continue;
        text_buffer<64> number;
        char digits[48];
        if constexpr (is_complex_v<Of>)
          internal::write_number(digits, sizeof digits, "%.9g%+.9gj", double(v.re), double(v.im));
        else
          internal::write_number(digits, sizeof digits, "%.9g", static_cast<double>(v));
        number << "element " << i << " = " << std::string_view(digits);
        fail(std::string("numbers that ") + std::string(row_of(element_of_v<T>).name) + " holds",
             std::string(number.view()) + " of type " + type.text(),
             "read it in its own type and write cast<...>");
      }
    });
  }
  [[noreturn, gnu::cold]] void fail(std::string_view expected, std::string_view found,
                                    std::string_view remedy) const;
};

namespace detail {

LOCUS_COLD_BEGIN

/// The header of a file.
struct npy_header {
  npy_type type;
  bool swapped = false, by_columns = false;
  std::vector<std::int64_t> extents;
  std::size_t begin = 0;  // the offset of the elements
};

/// Parses the literal of a Python dict, in the form that NumPy writes.
class npy_parser {
 public:
  npy_parser(std::string_view where, std::string_view text) : where_(where), rest_(text) {}

  npy_header parse();
  [[noreturn, gnu::cold]] void fail(
      std::string_view expected, std::string_view found,
      std::string_view remedy = "write it again with numpy.save") const;

 private:
  void blank();
  bool ahead(char c);
  bool skip(char c);
  void need(char c) {
    if (!skip(c)) fail("a header of NumPy with a '" + std::string(1, c) + "'", rest_.substr(0, 8));
  }
  std::string_view word();
  bool truth();
  void read_type(npy_header& h);
  void read_extents(npy_header& h);
  std::string where_;
  std::string_view rest_;
};

/// means: magic, version, length and dict, padded so that the elements begin at a multiple of 64
/// after: version 1.0 of the format, 2.0 where the header is longer than 65535
LOCUS_FUNCTION std::string npy_head(npy_type type, shape const& s);

LOCUS_COLD_END

/// means: the array in a file with these bytes
/// fails: bad_file naming `where`: no array, another version, a type that locus does not have, too
///        few or too many bytes
LOCUS_FUNCTION npy_array parse_npy(std::string_view where, byte_block file);

/// A .npy file of which rows are read.
class npy_rows {
 public:
  /// fails: bad_file, as parse_npy, and for a number, which has no rows
  explicit npy_rows(std::string_view path);
  std::vector<std::int64_t> const& extents() const { return all_.extents; }
  /// means: rows [begin, end) of the first axis
  /// fails: shape_error: the file does not have these rows; bad_file: it has columns first
  npy_array read(std::int64_t begin, std::int64_t end) const;

 private:
  runtime::input_file file_;
  npy_header header_;
  npy_array all_;  // without elements
};

}  // namespace detail

}  // namespace locus::data

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/npy.hpp>  // bodies of the functions above
#endif
