// SPDX-License-Identifier: Apache-2.0
// The logs of a training in files: CSV for tables, JSON lines for programs.
#pragma once
#include <string>  // string
#include <vector>  // vector

#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/callback.hpp>  // logs
#include <locus/runtime/write_all.hpp>  // write_all

namespace locus::nn {

namespace detail {

/// means: the shortest text that reads back as v; "nan", "inf" and "-inf"
LOCUS_FUNCTION std::string text_of(double v);
/// means: a field, quoted if RFC 4180 requires it
LOCUS_FUNCTION std::string csv_field(std::string_view s);
/// means: the records of a CSV text; a last line without its end, left by a crash, is skipped
LOCUS_FUNCTION std::vector<std::vector<std::string>> csv_records(std::string_view text);
LOCUS_FUNCTION std::string csv_line(std::vector<std::string> const& record);
LOCUS_FUNCTION std::string whole_file(std::string const& path);
LOCUS_FUNCTION void add_to_file(std::string const& path, std::string_view text);
LOCUS_FUNCTION void write_file(std::string const& path, std::string_view text);

}  // namespace detail

/// means: a table in a file, with a row for each epoch. Its columns are the names of the first
///        epoch; a name that first appears later (validation in every second epoch) adds a column
/// fails: bad_file, if the existing file is not such a table
/// after: RFC 4180; the columns of keras.callbacks.CSVLogger, in the order of logging
class csv_log {
 public:
  explicit csv_log(std::string path, bool append = false);
  void add(int epoch, logs const& values);

 private:
  void write_all();
  std::string path_;
  std::vector<std::vector<std::string>> rows_;
};

/// means: a line {"epoch":0,"loss":0.5} for each epoch; NaN and infinity are null
class json_log {
 public:
  explicit json_log(std::string path, bool append = false);
  static std::string line(int epoch, logs const& values);
  void add(int epoch, logs const& values) { detail::add_to_file(path_, line(epoch, values)); }

 private:
  std::string path_;
};

/// means: writes a whole history to a file
LOCUS_FUNCTION void save_csv(std::string const& path, history const& h);
LOCUS_FUNCTION void save_json(std::string const& path, history const& h);

}  // namespace locus::nn

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/log_files.hpp>  // bodies of the functions above
#endif
