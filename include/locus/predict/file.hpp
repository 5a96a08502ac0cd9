// SPDX-License-Identifier: Apache-2.0
// A machine in a file: a line for each constant, as a program that measures writes it.
//
//     # locus machine 1
//     name,,,this host
//     replicas_per_node,,4,
//     float_operations_per_second,,9.1e10,measured 2026-11-27
//     kernel,conv2d,8.2e10,measured 2026-11-27
//     slowdown,2,1.05,measured 2026-11-27
//     memory_slowdown,2,1.6,measured 2026-11-27
//     reduce,2:4096,3.1e-5,measured 2026-11-27
//     read,4194304,4.9e-5,measured 2026-11-27
//     end,,,
#pragma once
#include <charconv>  // from_chars
#include <cstdio>    // FILE
#include <deque>     // deque
#include <string>    // string

#include <locus/core/error.hpp>       // bad_file
#include <locus/core/is_finite.hpp>   // is_finite
#include <locus/core/lock.hpp>        // mutex
#include <locus/core/macros.hpp>      // LOCUS_SHARED_STATE
#include <locus/core/printable.hpp>   // shown, write_printable
#include <locus/predict/machine.hpp>  // description

LOCUS_COLD_BEGIN

namespace locus::machines {

namespace detail {

/// Texts of files: a description points to them for the rest of the program.
struct kept_texts {
  mutex lock;
  std::deque<std::string> all;
};
LOCUS_SHARED_STATE inline std::string_view kept(std::string_view text) {
  static auto* const texts = new kept_texts;
  lock_guard const hold(texts->lock);
  return texts->all.emplace_back(text);
}

class file_reader {
 public:
  explicit file_reader(std::string path) : path_(std::move(path)) {}

  description read() {
    description m;
    std::string const text = content();
    bool begun = false, ended = false;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const end = text.find('\n', at);
      if (end == std::string::npos) refuse("the last line has no end");
      std::string_view line(text.data() + at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      at = end + 1, ++line_;
      text_buffer<1024> plain;
      write_printable(plain, line);
      if (plain.view() != line) refuse("a line is no text, or has more than 1000 characters");
      if (line_ == 1) {
        begun = line == "# locus machine 1";
        if (!begun) refuse("the first line is not '# locus machine 1'");
      } else if (ended)
        refuse("a line follows 'end'");
      else if (!line.empty() && line[0] != '#')
        ended = take(m, line);
    }
    if (!begun) refuse("it is empty");
    if (!ended) refuse("it has no line 'end': it was cut off");
    if (m.name.empty()) m.name = kept(path_);
    if (flaw const f = flaw_of(m)) refuse(std::string(f.constant) + " " + std::string(f.what));
    return m;
  }

 private:
  [[noreturn]] void refuse(std::string const& what) const {
    message text;
    text << "locus: no machine in '" << shown(path_).view() << "'";
    if (line_ > 0) text << ", line " << line_;
    throw bad_file(text << ": " << shown(what).view()
                        << "; measure it again with bench/fit_machine.sh");
  }
  std::string content() const {
    std::FILE* const f = std::fopen(path_.c_str(), "rb");
    if (!f) {
      message text;
      throw bad_file(text << "locus: no file '" << shown(path_).view()
                          << "' that can be read; write its path as it is");
    }
    std::string all;
    char block[4096];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, f)) > 0 && all.size() < most_bytes;)
      all.append(block, n);
    std::fclose(f);
    if (all.size() >= most_bytes) refuse("it has more than 1 MiB");
    return all;
  }
  double number(std::string_view text) const {
    double v = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    bool const is_whole = error == std::errc{} && end == text.data() + text.size();
    if (!is_whole || !internal::is_finite(v)) refuse("'" + std::string(text) + "' is no number");
    if (v < 0) refuse("'" + std::string(text) + "' is negative");
    return v;
  }
  int count(std::string_view text) const {
    double const v = number(text);
    if (!(v >= 1) || v > description::most_nodes || v != double(int(v)))
      refuse("'" + std::string(text) + "' is no number of replicas or nodes");
    return int(v);
  }
  /// means: one line: what, of what, value, source     returns: it is the last line
  bool take(description& m, std::string_view line) {
    std::string_view cell[4];
    for (int k = 0; k < 3; ++k) {
      std::size_t const comma = line.find(',');
      if (comma == std::string_view::npos) refuse("a line has fewer than four cells");
      cell[k] = line.substr(0, comma), line.remove_prefix(comma + 1);
    }
    cell[3] = line;
    std::string_view const what = cell[0], of = cell[1];
    if (what == "end") return true;
    if (what == "name") return m.name = kept(cell[3]), false;
    constant const c{number(cell[2]), kept(cell[3])};
    if (what == "nodes")
      m.nodes = count(cell[2]);
    else if (what == "replicas_per_node")
      m.replicas_per_node = count(cell[2]);
    else if (what == "overlaps")
      m.overlaps = c.value != 0;
    else if (what == "groups")
      m.groups = c.value != 0;
    else if (what == "kernel") {
      if (m.kernel_count == description::most_kernels) refuse("it has too many kernels");
      m.add(kernel_rate{kept(of), c});
    } else if (what == "slowdown") {
      if (m.shared_count == description::most_tables) refuse("it has too many slowdowns");
      m.add(slowdown{count(of), c});
    } else if (what == "memory_slowdown") {
      if (m.shared_count == 0 || m.shared[m.shared_count - 1].replicas != count(of))
        refuse("a memory_slowdown does not stand behind the slowdown of as many replicas");
      m.shared[m.shared_count - 1].memory_factor = c;
    } else if (what == "reduce")
      take_reduce(m, of, c);
    else if (what == "read") {
      if (m.reads.count == time_table::most) refuse("it has too many times of reads");
      m.reads.source = c.source, m.reads.push(number(of), c.value);
    } else {
      bool known = false;
      for_each_constant(m, [&](std::string_view name, constant& there, bool) {
        if (name == what) known = true, there = c;
      });
      if (!known) refuse("'" + std::string(what) + "' is no constant of a machine");
    }
    return false;
  }
  void take_reduce(description& m, std::string_view of, constant const& c) {
    std::size_t const colon = of.find(':');
    if (colon == std::string_view::npos)
      refuse("a time of an all-reduce is not written replicas:bytes");
    int const replicas = count(of.substr(0, colon));
    if (m.reduce_count == 0 || m.reduces[m.reduce_count - 1].replicas != replicas) {
      if (m.reduce_count == description::most_tables) refuse("it has too many all-reduces");
      reduce_table t;
      t.replicas = replicas, t.source = c.source;
      m.add(t);
    }
    reduce_table& t = m.reduces[m.reduce_count - 1];
    if (t.count == reduce_table::most) refuse("it has too many all-reduces");
    t.push(number(of.substr(colon + 1)), c.value);
  }

  static constexpr std::size_t most_bytes = 1 << 20;
  std::string path_;
  int line_ = 0;
};

}  // namespace detail

/// means: the machine that a file describes
/// cost:  the file is read once; its texts stay in memory until the program ends
/// fails: bad_file, with the line: no file, not of this kind, cut off, a constant that is missing,
///        negative or no number
inline description from_file(std::string const& path) { return detail::file_reader(path).read(); }

}  // namespace locus::machines

LOCUS_COLD_END
