// SPDX-License-Identifier: Apache-2.0
// Datasets in files: lines, tables of numbers (CSV), arrays without a header. Link with -lz.
#pragma once
#include <charconv>  // from_chars
#include <memory>    // unique_ptr
#include <string>    // string

#include <locus/data/dataset.hpp>         // from_generator
#include <locus/files/read_elements.hpp>  // gzip_file, read_elements

namespace locus::data {

/// means: the lines of a text file, gzipped or not, without their ends
/// fails: a pass, with bad_file, for a file that is missing or broken
inline auto from_lines(std::string path) {
  return from_generator([path = std::move(path)] {
    // a cursor moves what it is made of: the file stays where it is
    return [own = path,
            file = std::unique_ptr<detail::gzip_file>()]() mutable -> std::optional<std::string> {
      if (!file) file = std::make_unique<detail::gzip_file>(own);
      std::string line;
      if (!file->read_line(line)) return std::nullopt;
      return line;
    };
  });
}

/// How a table is written.
struct csv_options {
  char separator = ',';
  int skipped_lines = 0;  // a header, often 1
};

namespace detail {

LOCUS_COLD_BEGIN
/// Where a table is read.
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
template <class T>
T read_number(csv_line& line) {
  std::string_view field = line.next();
  T v{};
  std::string_view digits = field;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  bool const whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || v - v != 0) {  // nan and inf are words of from_chars, and no numbers
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
/// N columns beside one another
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

/// means: the lines of a table, a component for each of Columns: from_csv<std::array<float, 4>, int>
///        reads four numbers and a label. Empty lines are skipped; quoted fields are not known
/// fails: a pass, with bad_file naming line and column, for what is no number and for other numbers
///        of columns
template <class... Columns>
auto from_csv(std::string path, csv_options const& options = {}) {
  return from_generator([path = std::move(path), options] {
    return [own = path, options, file = std::unique_ptr<detail::gzip_file>(),
            number = std::int64_t(0)]() mutable -> std::optional<std::tuple<Columns...>> {
      if (!file) file = std::make_unique<detail::gzip_file>(own);
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

/// means: a file of elements of this machine's kind in row order and nothing else, gzipped or not
/// fails: bad_file, when it has another size
template <class T, std::int64_t... N>
Tensor<T, Extents<N...>, CpuDevice> read_flat(std::string_view path, Extents<N...> const& extents) {
  detail::gzip_file file(path);
  return detail::read_elements<T>(file, extents);
}

}  // namespace locus::data
