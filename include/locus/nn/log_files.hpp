// SPDX-License-Identifier: Apache-2.0
// What a training logs, in files: CSV for tables, JSON lines for programs.
#pragma once
#include <cerrno>    // errno
#include <charconv>  // to_chars
#include <string>    // string
#include <unistd.h>  // access, close
#include <vector>    // vector

#include <locus/core/json.hpp>            // json_text
#include <locus/nn/callback.hpp>          // logs
#include <locus/runtime/atomic_file.hpp>  // atomic_file
#include <locus/runtime/input_file.hpp>   // input_file
#include <locus/runtime/log.hpp>          // write_all
#include <locus/runtime/output_file.hpp>  // open_output

namespace locus::nn {

namespace detail {

/// means: the shortest text that reads back as v; "nan", "inf" and "-inf"
inline std::string text_of(double v) {
  char digits[32];
  auto const end = std::to_chars(digits, digits + sizeof digits, v);
  return v != v ? "nan" : std::string(digits, end.ptr);
}
/// means: a field, in quotes where RFC 4180 asks for them
inline std::string csv_field(std::string_view s) {
  if (s.find_first_of(",\"\r\n") == s.npos) return std::string(s);
  std::string quoted = "\"";
  for (char const c : s) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}
/// means: the records of a CSV text; a last one without its line end is what a crash left: no record
inline std::vector<std::vector<std::string>> csv_records(std::string_view text) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> record;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      field += c, ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (quoted || (c != ',' && c != '\n' && c != '\r'))
      field += c;
    else if (c != '\r')
      record.push_back(std::exchange(field, {}));
    if (!quoted && c == '\n') records.push_back(std::exchange(record, {}));
  }
  return records;
}
inline std::string csv_line(std::vector<std::string> const& record) {
  std::string line;
  for (std::size_t k = 0; k < record.size(); ++k) line += (k ? "," : "") + csv_field(record[k]);
  return line + "\r\n";
}
inline std::string whole_file(std::string const& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return {};
  runtime::input_file f(path);
  std::string text(f.size(), ' ');
  if (f.read(text.data(), text.size())) return text;
  message m;
  throw bad_file(m << "locus: " << shown(path).view() << ": expected " << text.size()
                   << " bytes, found fewer; look who else writes it, or give another path");
}
inline void add_to_file(std::string const& path, std::string_view text) {
  int const f =
      runtime::open_output("a line cannot be added to", path, runtime::writing::at_the_end);
  bool const all = runtime::write_all(f, text);
  if (::close(f) == 0 && all) return;
  message m;
  throw bad_file(m << "locus: a line cannot be added to " << shown(path).view()
                   << "; make room, or give another path");
}
inline void write_file(std::string const& path, std::string_view text) {
  runtime::atomic_file f(path);
  f.write(text.data(), text.size());
  f.commit();
}

}  // namespace detail

/// means: a table in a file, a row for each epoch; the columns are those of the first one, and
///        a name that comes later (validation in every second epoch) becomes a further column
/// fails: bad_file, when the file that rows are appended to is another table
/// after: RFC 4180; the columns of keras.callbacks.CSVLogger in the order in which they are logged
class csv_log {
 public:
  explicit csv_log(std::string path, bool append = false) : path_(std::move(path)) {
    if (append) {
      std::string const text = detail::whole_file(path_);
      rows_ = detail::csv_records(text);
      if (!rows_.empty() && (rows_[0].empty() || rows_[0][0] != "epoch")) {
        message m;
        throw bad_file(m << "locus: " << shown(path_).view()
                         << ": expected a table of epochs, found the column "
                         << shown(rows_[0].empty() ? "" : rows_[0][0]).view()
                         << "; append to another file, or write a new one");
      }
      if (!text.empty() && !text.ends_with('\n')) write_all();
    }
    if (rows_.empty()) detail::write_file(path_, {});
  }
  void add(int epoch, logs const& values) {
    bool const first = rows_.empty();
    if (first) rows_.push_back({"epoch"});
    std::size_t const columns = rows_[0].size();
    std::vector<std::string> row(columns);
    row[0] = std::to_string(epoch);
    for (std::size_t k = 0; k < values.names.size(); ++k) {
      std::size_t c = 1;
      while (c < rows_[0].size() && rows_[0][c] != values.names[k]) ++c;
      if (c == rows_[0].size()) rows_[0].push_back(values.names[k]);
      row.resize(rows_[0].size());
      row[c] = detail::text_of(values.values[k]);
    }
    rows_.push_back(std::move(row));
    if (first || rows_[0].size() != columns)
      write_all();
    else
      detail::add_to_file(path_, detail::csv_line(rows_.back()));
  }

 private:
  void write_all() {
    std::string text;
    for (auto& row : rows_) {
      row.resize(rows_[0].size());
      text += detail::csv_line(row);
    }
    detail::write_file(path_, text);
  }
  std::string path_;
  std::vector<std::vector<std::string>> rows_;
};

/// means: {"epoch":0,"loss":0.5} in a line for each epoch; what is no number is null
class json_log {
 public:
  explicit json_log(std::string path, bool append = false) : path_(std::move(path)) {
    std::string const text = append ? detail::whole_file(path_) : std::string();
    if (text.empty() || !text.ends_with('\n'))  // a line without its end is what a crash left
      detail::write_file(path_, text.substr(0, text.rfind('\n') + 1));
  }
  static std::string line(int epoch, logs const& values) {
    json_text t;
    t.open('{').member("epoch", std::int64_t(epoch));
    for (std::size_t k = 0; k < values.names.size(); ++k) {
      double const v = values.values[k];
      t.name(values.names[k]).append(v - v == 0 ? detail::text_of(v) : "null");
    }
    t.close('}');
    return std::string(t.view()) + '\n';
  }
  void add(int epoch, logs const& values) { detail::add_to_file(path_, line(epoch, values)); }

 private:
  std::string path_;
};

/// means: a whole history in a file
inline void save_csv(std::string const& path, history const& h) {
  csv_log file(path);
  for (std::size_t k = 0; k < h.epochs.size(); ++k) file.add(h.epoch[k], h.epochs[k]);
}
inline void save_json(std::string const& path, history const& h) {
  std::string text;
  for (std::size_t k = 0; k < h.epochs.size(); ++k) text += json_log::line(h.epoch[k], h.epochs[k]);
  detail::write_file(path, text);
}

}  // namespace locus::nn
