// SPDX-License-Identifier: Apache-2.0
// NumPy's array format: the header in front of the elements, and arrays whose type is known when the
// program runs.
#pragma once
#include <cstdlib>  // strtoll
#include <string>   // string
#include <utility>  // in_range

#include <locus/core/error.hpp>     // bad_file
#include <locus/data/zip.hpp>       // byte_block, little
#include <locus/shape/shape.hpp>    // bytes_of_extents
#include <locus/tensor/tensor.hpp>  // Tensor

namespace locus::data {

/// What the elements of an array are, as NumPy says it: f4, i8, u1, b1.
struct npy_type {
  char kind = 'f';  // f, i, u or b
  int bytes = 4;
  friend bool operator==(npy_type, npy_type) = default;
  std::string text() const { return kind + std::to_string(bytes); }
};

namespace detail {

/// the element types of locus that NumPy has; kind '?' for the others
template <class T>
constexpr npy_type npy_type_of() {
  if constexpr (std::is_same_v<T, bool>) return {'b', 1};
  if constexpr (std::is_same_v<T, bfloat16>) return {'?', 2};
  if constexpr (is_floating_v<T>) return {'f', int(sizeof(T))};
  if constexpr (std::is_integral_v<T>) return {std::is_signed_v<T> ? 'i' : 'u', int(sizeof(T))};
  return {'?', int(sizeof(T))};
}

/// means: f(T{}) for the element type that a npy_type names
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
  return false;
}

/// means: v as T where T holds exactly that number; false where it does not
template <class T, class V>
bool take_exactly(V v, T& to) {
  if constexpr (std::is_same_v<T, bool>) {
    bool const one = static_cast<double>(v) == 1;
    return to = one, one || static_cast<double>(v) == 0;
  } else if constexpr (is_floating_v<T> && !std::is_integral_v<V>) {
    auto const wide = static_cast<double>(v);
    to = T(wide);
    return static_cast<double>(to) == wide || wide != wide;
  } else if constexpr (is_floating_v<T>) {
    to = T(v);  // every product of a power of two and less than 2^digits is there
    std::uint64_t magnitude = v < 0 ? 0 - static_cast<std::uint64_t>(v) : std::uint64_t(v);
    while (magnitude > 0 && magnitude % 2 == 0) magnitude /= 2;
    constexpr int digits = std::numeric_limits<T>::digits;
    return magnitude >> digits == 0 && static_cast<double>(to) - static_cast<double>(to) == 0;
  } else if constexpr (std::is_integral_v<V>) {
    to = static_cast<T>(v);
    return std::in_range<T>(v);
  } else {
    auto const wide = static_cast<double>(v);
    double const high =
        2.0 * static_cast<double>(std::uint64_t(1) << (std::numeric_limits<T>::digits - 1));
    if (!(wide >= (std::is_signed_v<T> ? -high : 0.0) && wide < high)) return false;
    to = static_cast<T>(wide);
    return static_cast<double>(to) == wide;
  }
}

}  // namespace detail

/// means: an array of any type and rank: elements in row order, in this machine's byte order
class npy_array {
 public:
  std::string name;  // for messages: where it comes from
  npy_type type;
  std::vector<std::int64_t> extents;
  detail::byte_block bytes;

  std::int64_t size() const {  // no overflow: parse_npy looked at it
    for (std::int64_t const e : extents)
      if (e == 0) return 0;
    std::int64_t n = 1;
    for (std::int64_t const e : extents) n *= e;
    return n;
  }
  std::string extents_text() const {
    std::string s = "(";
    for (std::size_t a = 0; a < extents.size(); ++a)
      s += (a ? "," : "") + std::to_string(extents[a]);
    return s + ")";
  }
  /// means: a tensor of the same numbers on the host; of another type where T holds each exactly
  /// fails: bad_file: another rank; a number that T does not hold, with its place and the remedy
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
        char digits[32];
        snprintf(digits, sizeof digits, "%.9g", static_cast<double>(v));
        number << "element " << i << " = " << std::string_view(digits);
        fail(std::string("numbers that ") + std::string(row_of(element_of_v<T>).name) + " holds",
             std::string(number.view()) + " of type " + type.text(),
             "read it in its own type and write cast<...>");
      }
    });
  }
  [[noreturn, gnu::cold]] void fail(std::string_view expected, std::string_view found,
                                    std::string_view remedy) const {
    message text;
    throw bad_file(text << "locus: " << shown(name).view() << ": expected " << expected
                        << ", found " << shown(found).view() << "; " << remedy);
  }
};

namespace detail {

LOCUS_COLD_BEGIN

/// What stands in front of the elements.
struct npy_header {
  npy_type type;
  bool swapped = false, by_columns = false;
  std::vector<std::int64_t> extents;
  std::size_t begin = 0;  // of the elements
};

/// Reads the literal of a Python dict, as far as NumPy writes it.
class npy_parser {
 public:
  npy_parser(std::string_view where, std::string_view text) : where_(where), rest_(text) {}

  npy_header parse() {
    npy_header h;
    bool has[3] = {};
    auto const take = [&](bool& already, std::string_view key) {
      if (already) fail("each key once", std::string("two of ") += key);
      already = true;
    };
    need('{');
    while (!skip('}')) {
      std::string_view const key = word();
      need(':');
      if (key == "descr")
        take(has[0], key), read_type(h);
      else if (key == "fortran_order")
        take(has[1], key), h.by_columns = truth();
      else if (key == "shape")
        take(has[2], key), read_extents(h);
      else
        fail("the keys descr, fortran_order and shape", key);
      if (!skip(',') && !ahead('}')) fail("a comma", rest_.substr(0, 8));
    }
    if (!has[0] || !has[1] || !has[2])
      fail("the keys descr, fortran_order and shape", "fewer of them");
    blank();
    if (!rest_.empty()) fail("the end of the header", rest_.substr(0, 8));
    std::int64_t bytes = h.type.bytes;  // known when both keys are
    if (!bytes_of_extents(h.extents.data(), h.extents.size(), bytes))
      fail("an array that fits into memory", "extents beyond 2^63");
    return h;
  }
  [[noreturn, gnu::cold]] void fail(
      std::string_view expected, std::string_view found,
      std::string_view remedy = "write it again with numpy.save") const {
    message text;
    throw bad_file(text << "locus: " << shown(where_).view() << ": expected "
                        << shown(expected).view() << ", found " << shown(found).view() << "; "
                        << remedy);
  }

 private:
  void blank() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  bool ahead(char c) {
    blank();
    return !rest_.empty() && rest_[0] == c;
  }
  bool skip(char c) {
    if (!ahead(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!skip(c)) fail("a header of NumPy with a '" + std::string(1, c) + "'", rest_.substr(0, 8));
  }
  std::string_view word() {
    char const quote = skip('\'') ? '\'' : '"';
    if (quote == '"') need('"');
    std::size_t const end = rest_.find(quote);
    if (end == rest_.npos) fail("a closed string", rest_.substr(0, 8));
    std::string_view const w = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return w;
  }
  bool truth() {
    blank();
    for (std::string_view const word : {"True", "False"})
      if (rest_.starts_with(word)) return rest_.remove_prefix(word.size()), word == "True";
    fail("True or False", rest_.substr(0, 8));
  }
  void read_type(npy_header& h) {
    char const* const remedy =
        "store each field, or its numbers, as an array of floats or integers";
    if (ahead('[')) fail("elements that are numbers", "records with fields", remedy);
    std::string_view const all = word();
    char const order =
        all.size() > 2 && std::string_view("<>|=").find(all[0]) != all.npos ? all[0] : '=';
    std::string_view const t = all.substr(order == all[0] ? 1 : 0);
    h.type = {t.size() > 1 ? t[0] : '?',
              t.size() == 2 && t[1] > '0' && t[1] <= '9' ? t[1] - '0' : 0};
    h.swapped = order == '>' && h.type.bytes > 1;
    bool const known = with_npy_type(h.type, [](auto) {});
    if (!known)
      fail("elements of type f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 or b1", all,
           all == "|O" ? "objects are Python's own: store numbers" : remedy);
  }
  void read_extents(npy_header& h) {
    need('(');
    while (!skip(')')) {
      blank();
      std::int64_t n = 0;
      std::size_t digits = 0;
      while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9' && digits < 18)
        n = 10 * n + (rest_[digits++] - '0');
      rest_.remove_prefix(digits);
      if (digits == 0 || digits == 18) fail("an extent", rest_.substr(0, 8));
      if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // of Python 2
      if (h.extents.size() == 64) fail("at most 64 axes", "more of them");
      h.extents.push_back(n);
      if (!skip(',') && !ahead(')')) fail("a comma", rest_.substr(0, 8));
    }
  }
  std::string where_;
  std::string_view rest_;
};

/// means: magic, version, length and dict, padded so that the elements begin at a multiple of 64
/// after: version 1.0 of the format, 2.0 where the header is longer than 65535
inline std::string npy_head(npy_type type, shape const& s) {
  std::string dict = std::string("{'descr': '") + (type.bytes > 1 ? '<' : '|') + type.text() +
                     "', 'fortran_order': False, 'shape': (";
  for (int a = 0; a < s.rank; ++a)
    dict += std::to_string(s.extent[a]) + (a + 1 < s.rank ? ", " : s.rank == 1 ? "," : "");
  dict += "), }";
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  zip_record r;
  r.put("\x93NUMPY").put<1>(1).put<1>(0).put<2>(dict.size()).put(dict);
  return r.text();
}

LOCUS_COLD_END

/// means: the array whose file has these bytes
/// fails: bad_file naming `where`: no array, another version, a type that locus has not, too few or
///        too many bytes
inline npy_array parse_npy(std::string_view where, byte_block file) {
  unsigned char const* const p = file.data.get();
  npy_parser const at_begin(where, {});
  if (file.size < 10 || __builtin_memcmp(p, "\x93NUMPY", 6) != 0)
    at_begin.fail("an array of NumPy, which begins with \\x93NUMPY", "other first bytes");
  int const version = p[6];
  if (version < 1 || version > 3)
    at_begin.fail("version 1, 2 or 3 of the format", std::to_string(version));
  std::size_t const head = version == 1 ? 10 : 12;
  if (file.size < head)
    at_begin.fail("a header, whose length stands in 4 bytes", "the end of the file",
                  "it was cut short: write or fetch it again");
  std::size_t const length = version == 1 ? little<2>(p + 8) : little<4>(p + 8);
  if (length > file.size - head)
    at_begin.fail("a header of " + std::to_string(length) + " bytes", "the end of the file",
                  "it was cut short: write or fetch it again");
  npy_parser parser(where, {reinterpret_cast<char const*>(p) + head, length});
  npy_header const h = parser.parse();
  npy_array a;
  a.name = where, a.type = h.type, a.extents = h.extents;
  std::size_t const bytes = static_cast<std::size_t>(a.size() * h.type.bytes);
  if (bytes != file.size - head - length)
    at_begin.fail(std::to_string(bytes) + " bytes of elements for extents " + a.extents_text(),
                  std::to_string(file.size - head - length), "write or fetch it again");
  auto const size = static_cast<std::size_t>(h.type.bytes);
  std::size_t const rank = a.extents.size();
  unsigned char const* const from = p + head + length;
  if (h.by_columns && rank > 1 && bytes > 0) {  // the first axis runs fastest: count in row order
    a.bytes.resize(bytes);
    std::vector<std::size_t> index(rank), stride(rank, 1);
    for (std::size_t d = 1; d < rank; ++d)
      stride[d] = stride[d - 1] * static_cast<std::size_t>(a.extents[d - 1]);
    std::size_t source = 0;
    for (std::size_t to = 0; to < bytes; to += size) {
      __builtin_memcpy(&a.bytes.data[to], from + source * size, size);
      for (std::size_t d = rank; d-- > 0;) {
        source += stride[d];
        if (++index[d] < static_cast<std::size_t>(a.extents[d])) break;
        source -= stride[d] * index[d];
        index[d] = 0;
      }
    }
  } else {
    __builtin_memmove(file.data.get(), from, bytes);
    file.resize(bytes);
    a.bytes = std::move(file);
  }
  if (h.swapped)
    for (unsigned char *e = a.bytes.data.get(), *const end = e + bytes; e < end; e += size)
      for (std::size_t k = 0; k < size / 2; ++k) std::swap(e[k], e[size - 1 - k]);
  return a;
}

}  // namespace detail
}  // namespace locus::data
