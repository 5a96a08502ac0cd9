// SPDX-License-Identifier: Apache-2.0
// Tensors as text, in NumPy's format.
#pragma once
#include <cstdio>   // snprintf
#include <cstdlib>  // abs, strtod, strtof, atoi
#include <limits>   // numeric_limits

#include <locus/core/array.hpp>         // dynamic_array
#include <locus/core/is_finite.hpp>     // is_finite, is_nan
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/core/write_number.hpp>  // write_number
#include <locus/runtime/ranks.hpp>      // this_rank
#include <locus/tensor/eval.hpp>        // to

namespace locus {

namespace detail {

/// a string to which texts are appended
class text_sink {
 public:
  text_sink& operator<<(std::string_view s);
  void spaces(int n) {
    while (n-- > 0) chars_.push(' ');
  }
  int size() const { return static_cast<int>(chars_.size()); }
  void cut(int n) { chars_.resize(static_cast<std::size_t>(n)); }
  std::string_view view() const { return {chars_.begin(), chars_.size()}; }

 private:
  dynamic_array<char> chars_;
};

/// One number: its digits before and after the point, and its exponent.
struct number_text {
  char text[64];
  int size = 0, before = 0, behind = 0, exponent = 0;  // lengths of its parts
  std::string_view view() const { return {text, static_cast<std::size_t>(size)}; }
};

constexpr int printed_precision = 8;

LOCUS_FUNCTION void measure(number_text& t);
template <class T>
T number_in(char const* digits) {
  if constexpr (std::is_same_v<T, float>)
    return std::strtof(digits, nullptr);
  else
    return T(std::strtod(digits, nullptr));
}
/// the fewest digits that read back as v; empty, where they do not fit into number_text
/// cost:  tries one digit more each time; <charconv> would do it in one try, but costs every unit a
///        tenth of its compile time
template <class T>
number_text shortest_text(T v, bool scientific) {
  internal::numbers_with_points const here;
  double const wide = static_cast<double>(v);
  number_text t;
  int behind = 0;
  for (;; ++behind) {
    t.size = std::snprintf(t.text, sizeof t.text, "%.*e", behind, wide);
    if (behind + 1 >= std::numeric_limits<T>::max_digits10 || number_in<T>(t.text) == v) break;
  }
  if (!scientific) {
    int const point = std::atoi(t.text + find_char(t.view(), 'e') + 1);
    t.size = std::snprintf(t.text, sizeof t.text, "%.*f", behind > point ? behind - point : 0,
                           is_narrow_v<T> ? std::strtod(t.text, nullptr) : wide);
    if (t.size > 60) t.size = 0;
  }
  measure(t);
  return t;
}
/// the exact value with that number of digits after the point
LOCUS_FUNCTION number_text exact_text(double v, bool scientific, int behind);
/// the fewest digits, at most eight of them after the point
template <class T>
number_text float_text(T v, bool scientific) {
  number_text t = shortest_text(v, scientific);
  if (t.behind <= printed_precision && t.size > 0) return t;
  t = exact_text(static_cast<double>(v), scientific, printed_precision);
  int const digits = t.before + 1 + t.behind;
  int zeros = 0;  // trailing zeros are removed
  while (zeros < t.behind && t.text[digits - 1 - zeros] == '0') ++zeros;
  for (int i = digits; i < t.size; ++i) t.text[i - zeros] = t.text[i];
  t.size -= zeros, t.behind -= zeros;
  return t;
}

LOCUS_FUNCTION number_text integer_text(std::int64_t v);
LOCUS_FUNCTION number_text integer_text(std::uint64_t v);
template <class T>
number_text text_of_integer(T v) {
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return integer_text(v);
  else
    return integer_text(static_cast<std::int64_t>(v));
}

/// means: the format of all elements of a tensor, chosen from the elements that are printed
template <class T>
struct element_format {
  bool scientific = false;
  int left = 0, right = 0, exponent = 0;
  bool alone = false;    // rank 0
  bool is_part = false;  // of a complex number: alone without ".0"
  bool plus = false;     // a number that is not negative has a sign, too: an imaginary part

  void look(T const* values, int n) {
    if constexpr (is_floating_v<T>)
      look_at_floats(values, n);
    else if constexpr (!std::is_same_v<T, bool>)
      for (int i = 0; i < n; ++i) {
        int const size = text_of_integer(values[i]).size;
        left = size > left ? size : left;
      }
  }
  void write(text_sink& out, T v) const {
    if constexpr (std::is_same_v<T, bool>)
      out << (v ? (alone ? "True" : " True") : "False");
    else if constexpr (is_floating_v<T>)
      write_float(out, v);
    else {
      number_text const t = text_of_integer(v);
      out.spaces(left - t.size);
      out << t.view();
    }
  }

 private:
  using number = compute_t<T>;
  bool gets_plus(number_text const& t) const { return plus && t.text[0] != '-'; }
  // numbers of at least the cutoff, and numbers below small_cutoff, have an exponent
  static constexpr double array_cutoff = sizeof(T) == 2   ? 1e3
                                         : sizeof(T) == 4 ? 1e6
                                                          : 1e8,
                          number_cutoff = sizeof(T) == 2   ? 1e3
                                          : sizeof(T) == 4 ? 1e6
                                                           : 1e16,
                          small_cutoff = 1e-4;

  void look_at_floats(T const* values, int n) {
    number largest = 0, smallest = 0;
    bool any = false, negative_infinity = false, special = false;
    for (int i = 0; i < n; ++i) {
      number const v = values[i], a = v < 0 ? -v : v;
      if (!internal::is_finite(v))
        special = true, negative_infinity |= !internal::is_nan(v) && v < 0;
      else if (a != 0) {
        largest = !any || a > largest ? a : largest, smallest = !any || a < smallest ? a : smallest;
        any = true;
      }
    }
    scientific = any && (largest >= static_cast<number>(array_cutoff) ||
                         smallest < static_cast<number>(small_cutoff) || largest / smallest > 1000);
    for (int i = 0; i < n; ++i) {
      if (!internal::is_finite(number(values[i]))) continue;
      number_text const t = float_text(values[i], scientific);
      int const before = t.before + gets_plus(t);
      left = before > left ? before : left, right = t.behind > right ? t.behind : right;
      exponent = t.exponent > exponent ? t.exponent : exponent;
    }
    int const behind = right + 1 + (scientific ? exponent : 0);
    if (special) {
      int const width = 3 + (negative_infinity || plus);
      left = width - behind > left ? width - behind : left;
    }
  }
  void write_float(text_sink& out, T v) const {
    int const behind = right + 1 + (scientific ? exponent : 0);
    number const value = v;
    if (!internal::is_finite(value)) {
      std::string_view const s = internal::is_nan(value) ? "+nan"
                                 : value < 0             ? "-inf"
                                                         : "+inf",
                             shown = s.substr(!plus && s[0] == '+');
      if (!alone) out.spaces(left + behind - static_cast<int>(shown.size()));
      out << shown;
      return;
    }
    if (alone) return write_number(out, v);
    number_text t = float_text(v, scientific);
    if (scientific && t.behind < right) t = exact_text(static_cast<double>(v), scientific, right);
    out.spaces(left - t.before - gets_plus(t));
    out << (gets_plus(t) ? "+" : "") << std::string_view(t.text, static_cast<std::size_t>(t.before))
        << ".";
    if (t.behind > 0)
      out << std::string_view(t.text + t.before + 1, static_cast<std::size_t>(t.behind));
    if (!scientific) return out.spaces(right - t.behind);
    std::string_view const e = t.view().substr(static_cast<std::size_t>(t.size - t.exponent));
    out << e.substr(0, 2);  // e+
    for (int i = t.exponent; i < exponent; ++i) out << "0";
    out << e.substr(2);
  }
  /// rank 0: all significant digits, as Python writes a number
  void write_number(text_sink& out, T v) const {
    double const a = v < 0 ? -static_cast<double>(v) : static_cast<double>(v);
    bool const with_exponent = a != 0 && (a >= number_cutoff || a < small_cutoff);
    number_text const t = shortest_text(v, with_exponent);
    out << (gets_plus(t) ? "+" : "") << t.view();
    if (!is_part && !with_exponent && t.behind == 0) out << ".0";
  }
};

template <class T>
class numpy_printer {
 public:
  static constexpr int line_width = 75, edge_items = 3, threshold = 1000;

  numpy_printer(text_sink& out, T const* data, shape const& s) : out_(out), data_(data), s_(s) {
    row_major(s, strides_);
  }
  void run() {
    if (s_.rank > 0 && s_.size() == 0) {
      out_ << "[]";
      return;
    }
    summary_ = s_.size() > threshold;
    dynamic_array<T> shown;
    collect(shown, 0, 0);
    format_.alone = s_.rank == 0;
    format_.look(shown.begin(), static_cast<int>(shown.size()));
    if (s_.rank == 0)
      format_.write(out_, *data_);
    else
      write(0, 0, 1, line_width);
  }

 private:
  bool cut(int axis) const { return summary_ && 2 * edge_items < s_.extent[axis]; }
  /// visits the indices along an axis that are printed; -1 stands for "..."
  template <class Visit>
  void each(int axis, Visit&& visit) const {
    std::int64_t const n = s_.extent[axis];
    bool const summarized = cut(axis);
    for (std::int64_t i = 0; i < (summarized ? std::int64_t(edge_items) : n); ++i)
      visit(i, i + 1 == n);
    if (!summarized) return;
    visit(-1, false);
    for (std::int64_t i = n - edge_items; i < n; ++i) visit(i, i + 1 == n);
  }
  void collect(dynamic_array<T>& to, int axis, std::int64_t offset) const {
    if (axis == s_.rank) {
      to.push(data_[offset]);
      return;
    }
    each(axis, [&](std::int64_t i, bool) {
      if (i >= 0) collect(to, axis + 1, offset + i * strides_[axis]);
    });
  }
  void write(int axis, std::int64_t offset, int indent, int width) {
    out_ << "[";
    if (axis + 1 < s_.rank)
      each(axis, [&](std::int64_t i, bool last) {
        if (i != 0) out_.spaces(indent);
        if (i < 0)
          out_ << "...";
        else
          write(axis + 1, offset + i * strides_[axis], indent + 1, width - 1);
        if (!last)
          for (int k = axis + 1; k < s_.rank; ++k) out_ << "\n";
      });
    else
      write_row(offset, indent, width - 1);
    out_ << "]";
  }
  void write_row(std::int64_t offset, int indent, int width) {
    int line = indent, line_start = out_.size() - indent;
    each(s_.rank - 1, [&](std::int64_t i, bool last) {
      text_sink word;
      if (i < 0)
        word << "...";
      else
        format_.write(word, data_[offset + i * strides_[s_.rank - 1]]);
      if (line + word.size() > width && line > indent) {
        int end = out_.size();  // removes spaces at the end of a line
        while (end > 0 && out_.view()[static_cast<std::size_t>(end) - 1] == ' ') --end;
        out_.cut(end);
        out_ << "\n";
        line_start = out_.size();
        out_.spaces(indent);
      }
      out_ << word.view();
      if (!last) out_ << " ";
      line = out_.size() - line_start;
    });
  }

  text_sink& out_;
  T const* data_;
  shape const& s_;
  std::int64_t strides_[max_rank]{};
  bool summary_ = false;
  element_format<T> format_;
};

}  // namespace detail

namespace detail {
template <class Stream, class Host>
void print_host(Stream& out, Host const& host) {
  shape const extents = host.extents().as_shape();
  text_sink text;
  numpy_printer<typename decltype(host.leaf())::value_type>(text, host.data(), extents).run();
  out.write(text.view().data(), static_cast<std::ptrdiff_t>(text.view().size()));
}
}  // namespace detail

namespace detail {
/// means: this rank writes a tensor of ranks: rank 0, or every rank its own value
template <class E>
bool writes_here() {
  using Graph = graph<default_policy, root_of<E, CpuDevice>>;
  constexpr bool of_ranks = internal::reaches_ranks(unchecked_plan<Graph>.view());
  return !of_ranks || runtime::this_rank.rank == 0;
}
}  // namespace detail

/// means: writes the tensor as str() of NumPy 2.4 does; more than 1000 elements are summarized
/// cost:  a copy of the elements to the host
/// device: of a value over ranks: every rank runs the statement, rank 0 writes
template <class Stream, class X>
  requires(tensor_operand<X> && requires(Stream& s) { s.write("", 0); })
[[gnu::always_inline]] inline Stream& operator<<(Stream& out, X const& x) {
  auto const host = to<CpuDevice>(x, runtime::site_of_operator());
  if (detail::writes_here<expression_of_t<X const&>>()) detail::print_host(out, host);
  return out;
}

/// means: a device or a place as text: /GPU:1, mirrored(/GPU:0 /GPU:1)
template <class Stream, class Where>
  requires((std::is_same_v<Where, device> || std::is_same_v<Where, place>) &&
           requires(Stream& s) { s.write("", 0); })
Stream& operator<<(Stream& out, Where const& where) {
  message text;
  text << where;
  out.write(text.view().data(), static_cast<std::ptrdiff_t>(text.view().size()));
  return out;
}

/// means: extents as text: [2,3]
template <class Stream, std::int64_t... N>
  requires requires(Stream& s) { s.write("", 0); }
Stream& operator<<(Stream& out, Extents<N...> const& extents) {
  message text;
  text << extents.as_shape();
  out.write(text.view().data(), static_cast<std::ptrdiff_t>(text.view().size()));
  return out;
}

}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/tensor/bodies/print.hpp>  // bodies of the functions above
#endif
