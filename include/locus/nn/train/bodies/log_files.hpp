// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/log_files.hpp declares.
#pragma once
#include <charconv>  // to_chars

#include <locus/core/is_finite.hpp>       // is_finite, is_nan
#include <locus/core/json.hpp>            // json_text
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION
#include <locus/nn/train/log_files.hpp>   // the declarations
#include <locus/runtime/atomic_file.hpp>  // atomic_file
#include <locus/runtime/input_file.hpp>   // input_file
#include <locus/runtime/output_file.hpp>  // open_output

namespace locus::nn::detail {

LOCUS_FUNCTION std::string text_of(double v) {
  char digits[32];
  auto const end = std::to_chars(digits, digits + sizeof digits, v);
  return internal::is_nan(v) ? "nan" : std::string(digits, end.ptr);
}

LOCUS_FUNCTION std::string csv_field(std::string_view s) {
  if (s.find_first_of(",\"\r\n") == s.npos) return std::string(s);
  std::string quoted = "\"";
  for (char const c : s) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

LOCUS_FUNCTION std::vector<std::vector<std::string>> csv_records(std::string_view text) {
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

LOCUS_FUNCTION std::string csv_line(std::vector<std::string> const& record) {
  std::string line;
  for (std::size_t k = 0; k < record.size(); ++k) line += (k ? "," : "") + csv_field(record[k]);
  return line + "\r\n";
}

LOCUS_FUNCTION std::string whole_file(std::string const& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return {};
  runtime::input_file f(path);
  std::string text(f.size(), ' ');
  if (f.read(text.data(), text.size())) return text;
  message m;
  throw bad_file(m << "locus: " << shown(path).view() << ": expected " << text.size()
                   << " bytes, found fewer; look who else writes it, or give another path");
}

LOCUS_FUNCTION void add_to_file(std::string const& path, std::string_view text) {
  int const f =
      runtime::open_output("a line cannot be added to", path, runtime::writing::at_the_end);
  bool const all = runtime::write_all(f, text);
  if (::close(f) == 0 && all) return;
  message m;
  throw bad_file(m << "locus: a line cannot be added to " << shown(path).view()
                   << "; make room, or give another path");
}

LOCUS_FUNCTION void write_file(std::string const& path, std::string_view text) {
  runtime::atomic_file f(path);
  f.write(text.data(), text.size());
  f.commit();
}

}  // namespace locus::nn::detail

namespace locus::nn {

LOCUS_FUNCTION csv_log::csv_log(std::string path, bool append) : path_(std::move(path)) {
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

LOCUS_FUNCTION void csv_log::add(int epoch, logs const& values) {
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

LOCUS_FUNCTION void csv_log::write_all() {
  std::string text;
  for (auto& row : rows_) {
    row.resize(rows_[0].size());
    text += detail::csv_line(row);
  }
  detail::write_file(path_, text);
}

LOCUS_FUNCTION json_log::json_log(std::string path, bool append) : path_(std::move(path)) {
  std::string const text = append ? detail::whole_file(path_) : std::string();
  if (text.empty() || !text.ends_with('\n'))  // a crash left a line without its end
    detail::write_file(path_, text.substr(0, text.rfind('\n') + 1));
}

LOCUS_FUNCTION std::string json_log::line(int epoch, logs const& values) {
  json_text t;
  t.open('{').member("epoch", std::int64_t(epoch));
  for (std::size_t k = 0; k < values.names.size(); ++k) {
    double const v = values.values[k];
    t.name(values.names[k]).append(internal::is_finite(v) ? detail::text_of(v) : "null");
  }
  t.close('}');
  return std::string(t.view()) + '\n';
}

LOCUS_FUNCTION void save_csv(std::string const& path, history const& h) {
  csv_log file(path);
  for (std::size_t k = 0; k < h.epochs.size(); ++k) file.add(h.epoch[k], h.epochs[k]);
}

LOCUS_FUNCTION void save_json(std::string const& path, history const& h) {
  std::string text;
  for (std::size_t k = 0; k < h.epochs.size(); ++k) text += json_log::line(h.epoch[k], h.epochs[k]);
  detail::write_file(path, text);
}

}  // namespace locus::nn
