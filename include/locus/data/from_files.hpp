// SPDX-License-Identifier: Apache-2.0
// Datasets from files: lines, tables of numbers (CSV), arrays without a header. Link with -lz.
#pragma once
#include <charconv>  // from_chars
#include <memory>    // unique_ptr
#include <string>    // string

#include <locus/core/is_finite.hpp>       // is_finite
#include <locus/data/dataset.hpp>         // from_generator
#include <locus/files/read_elements.hpp>  // gzip_file, read_elements

namespace locus::data {

/// means: the lines of a text file, gzipped or not, without their line ends
/// fails: a pass, with bad_file, for a missing or damaged file
inline auto from_lines(std::string path) {
  return from_generator([path = std::move(path)] {
    // a cursor may be moved; unique_ptr keeps the open file at its address
    return
        [own = path, file = std::unique_ptr<gzip_file>()]() mutable -> std::optional<std::string> {
          if (!file) file = std::make_unique<gzip_file>(own);
          std::string line;
          if (!file->read_line(line)) return std::nullopt;
          return line;
        };
  });
}

/// The format of a table.
struct csv_options {
  char separator = ',';
  int skipped_lines = 0;  // lines of a header, often 1
};

namespace detail {

LOCUS_COLD_BEGIN
/// The position in a table: path, line, column, and the rest of the line.
class csv_line {
 public:
  csv_line(std::string const& path, std::int64_t number, std::string const& text, char separator)
      : path_(path), number_(number), rest_(text), separator_(separator) {}

  std::string_view next() {
    if (ended_) fail(column_ + 1, "another column", "the end of the line");
    std::size_t const n = find_char(rest_, separator_);
    std::string_view field = rest_.substr(0, n);
    ended_ = n == rest_.npos;
    rest_.remove_prefix(ended_ ? rest_.size() : n + 1);
    while (!field.empty() && (field.front() == ' ' || field.front() == '\t'))
      field.remove_prefix(1);
    while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
    ++column_;
    return field;
  }
  void require_end() const {
    if (!ended_) fail(column_ + 1, "the end of the line", "another column");
  }
  int column() const { return column_; }
  [[noreturn]] void fail(int column, std::string_view expected, std::string_view found) const {
    message text;
    throw bad_file(text << "locus: " << shown(path_).view() << ": line " << number_ << ", column "
                        << column << ": expected " << expected << ", found " << found
                        << "; name the types of all columns, and the lines to skip");
  }

 private:
  std::string const& path_;
  std::int64_t number_;
  std::string_view rest_;
  char separator_;
  int column_ = 0;
  bool ended_ = false;
};
/// means: the digits write a number below 1. Digits that from_chars finds out of range then write a
///        number too small for its type, not one too large
inline bool is_too_small(std::string_view digits) {
  std::int64_t places = 0;  // of the first digit that is not 0, left of the point
  bool begun = false, behind_point = false;
  std::size_t at = 0;
  for (; at < digits.size() && digits[at] != 'e' && digits[at] != 'E'; ++at) {
    char const c = digits[at];
    if (c == '.') behind_point = true;
    begun = begun || (c >= '1' && c <= '9');
    if (c >= '0' && c <= '9') places += (begun && !behind_point) - (!begun && behind_point);
  }
  std::string_view exponent = digits.substr(at < digits.size() ? at + 1 : at);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int32_t by = 0;
  auto const read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), by);
  return read.ec == std::errc::result_out_of_range ? exponent[0] == '-' : places + by <= 0;
}
template <class T>
T read_number(csv_line& line) {
  std::string_view field = line.next();
  T v{};
  std::string_view digits = field;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  bool const ended = end == digits.data() + digits.size();
  if constexpr (!std::is_integral_v<T>)
    if (ended && error == std::errc::result_out_of_range && is_too_small(digits))
      return digits[0] == '-' ? -T(0) : T(0);
  bool const whole = error == std::errc() && ended;
  if (!whole || !internal::is_finite(v)) {  // from_chars accepts nan and inf; locus refuses them
    message found;
    line.fail(line.column(), std::is_integral_v<T> ? "an integer that fits its type" : "a number",
              (found << "\"" << shown(field.substr(0, 40)).view() << "\"").view());
  }
  return v;
}
template <class T>
struct csv_column {
  static T read(csv_line& line) { return read_number<T>(line); }
};
template <>
struct csv_column<std::string> {
  static std::string read(csv_line& line) { return std::string(line.next()); }
};
/// N adjacent columns
template <class T, std::size_t N>
struct csv_column<std::array<T, N>> {
  static std::array<T, N> read(csv_line& line) {
    std::array<T, N> a;
    for (T& v : a) v = read_number<T>(line);
    return a;
  }
};
LOCUS_COLD_END

}  // namespace detail

/// means: the lines of a table, one component for each of Columns: from_csv<std::array<float, 4>,
///        int> reads four numbers and a label. Empty lines are skipped; quoted fields are not
///        supported
/// fails: a pass, with bad_file naming line and column, for a field that is no number and for a
///        wrong number of columns
template <class... Columns>
auto from_csv(std::string path, csv_options const& options = {}) {
  return from_generator([path = std::move(path), options] {
    return [own = path, options, file = std::unique_ptr<gzip_file>(),
            number = std::int64_t(0)]() mutable -> std::optional<std::tuple<Columns...>> {
      if (!file) file = std::make_unique<gzip_file>(own);
      std::string text;
      do {
        if (!file->read_line(text)) return std::nullopt;
        ++number;
      } while (number <= options.skipped_lines || text.empty());
      detail::csv_line line(own, number, text, options.separator);
      std::tuple<Columns...> row{detail::csv_column<Columns>::read(line)...};  // from left to right
      line.require_end();
      return row;
    };
  });
}

/// means: a file that holds only elements, in row order and this machine's byte order, gzipped or
///        not
/// fails: bad_file, for another size
template <class T, std::int64_t... N>
Tensor<T, Extents<N...>, CpuDevice> read_flat(std::string_view path, Extents<N...> const& extents) {
  gzip_file file(path);
  return read_elements<T>(file, extents);
}

}  // namespace locus::data
