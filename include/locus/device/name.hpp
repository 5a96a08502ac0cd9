// SPDX-License-Identifier: Apache-2.0
// TensorFlow's device names; the same parser runs at compile time and at run time.
#pragma once
#include <cstdint>      // int64_t
#include <string_view>  // string_view

#include <locus/core/error.hpp>     // unknown_device
#include <locus/core/macros.hpp>    // LOCUS_COLD_BEGIN
#include <locus/core/text.hpp>      // text_buffer, fixed_string, find_char
#include <locus/device/device.hpp>  // device, place

LOCUS_COLD_BEGIN

namespace locus {

enum class name_error : unsigned char {
  none,
  empty,          // the name names no device
  no_slash,       // neither "/..." nor TYPE:N
  bad_part,       // a part that is no job, replica, task, device, cpu or gpu
  bad_value,      // a part whose value is missing or misspelt
  bad_number,     // an ordinal, replica or task that is not a number from 0
  unknown_type,   // a well-formed type that locus does not have
  large_ordinal,  // above max_ordinal
  other_process,  // another job, replica or task than this process
};

/// The fields of a name; a field that is not set (absent or "*") matches anything. Types "cpu" and
/// "gpu" in any case become "CPU" and "GPU"; other types stay as written.
struct device_name {
  std::string_view job, type;
  int replica = -1, task = -1, id = -1;
  name_error error = name_error::none;
  /// the names match the same devices, however they are written
  friend constexpr bool operator==(device_name const&, device_name const&) = default;
};

namespace detail {

struct name_parser {
  std::string_view rest;
  device_name out;

  static constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static constexpr bool same_word(std::string_view a, std::string_view lower) {
    if (a.size() != lower.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      char const c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];
      if (c != lower[i]) return false;
    }
    return true;
  }

  constexpr bool fail(name_error e) {
    out.error = e;
    return false;
  }
  /// "CPU" or "GPU" for these words in any case
  static constexpr std::string_view type_of(std::string_view text) {
    return same_word(text, "cpu") ? "CPU" : same_word(text, "gpu") ? "GPU" : text;
  }
  /// "*" leaves the field unset
  constexpr bool number(std::string_view text, int& field) {
    if (text == "*") return field = -1, true;
    if (text.empty() || text.size() > 9) return fail(name_error::bad_number);
    int n = 0;
    for (char c : text) {
      if (!is_digit(c)) return fail(name_error::bad_number);
      n = 10 * n + (c - '0');
    }
    return field = n, true;
  }
  constexpr bool identifier(std::string_view text, std::string_view& field) {
    if (text == "*") return field = {}, true;
    if (text.empty() || !is_letter(text[0])) return fail(name_error::bad_value);
    for (char c : text)
      if (!is_letter(c) && !is_digit(c) && c != '_') return fail(name_error::bad_value);
    return field = text, true;
  }
  /// ident [":" ( "*" | uint )]
  constexpr bool type_and_id(std::string_view text) {
    auto const colon = find_char(text, ':');
    out.id = -1;
    if (!identifier(text.substr(0, colon), out.type)) return false;
    out.type = type_of(out.type);
    return colon == text.npos || number(text.substr(colon + 1), out.id);
  }
  /// one part between slashes: key ":" value
  constexpr bool part(std::string_view text) {
    auto const colon = find_char(text, ':');
    auto const key = text.substr(0, colon);
    bool const legacy = same_word(key, "cpu") || same_word(key, "gpu");
    if (!legacy && key != "job" && key != "replica" && key != "task" && key != "device")
      return fail(name_error::bad_part);
    if (colon == text.npos) return fail(name_error::bad_value);
    auto const value = text.substr(colon + 1);
    if (legacy) return out.type = type_of(key), number(value, out.id);
    if (key == "job") return identifier(value, out.job);
    if (key == "replica") return number(value, out.replica);
    if (key == "task") return number(value, out.task);
    return type_and_id(value);
  }
  constexpr bool run() {
    if (rest.empty() || rest == "/") return true;
    if (rest[0] != '/') {  // local: ident ":" uint
      auto const colon = find_char(rest, ':');
      if (colon == rest.npos || find_char(rest, '/') != rest.npos)
        return fail(name_error::no_slash);
      if (!type_and_id(rest)) return false;
      if (out.type.empty()) return fail(name_error::bad_value);  // the type is not * in this form
      return out.id >= 0 || fail(name_error::bad_number);
    }
    while (!rest.empty()) {
      rest.remove_prefix(1);
      auto const slash = find_char(rest, '/');
      if (!part(rest.substr(0, slash))) return false;
      rest.remove_prefix(slash == rest.npos ? rest.size() : slash);
    }
    return true;
  }
};

}  // namespace detail

/// means: full  := "" | "/" | component+     (any order, a later one overrides an earlier one)
///        component := "/job:" (*|ident) | "/replica:" (*|uint) | "/task:" (*|uint)
///                   | "/device:" (*|ident) [":" (*|uint)] | "/" (cpu|gpu) ":" (*|uint)
///        local := ident ":" uint            cpu and gpu in capitals or not, in every form
/// fails: never; `error` holds the first mistake
/// after: TensorFlow 2.21 device_name_utils.cc, with one case rule for all forms
constexpr device_name parse_name(std::string_view name) {
  detail::name_parser parser{name, {}};
  parser.run();
  return parser.out;
}

struct named_device {
  device value;
  name_error error = name_error::none;
};

/// means: the device of this process with that name; an id that is not set is 0
constexpr named_device parse_device(std::string_view name) {
  device_name const n = parse_name(name);
  if (n.error != name_error::none) return {{}, n.error};
  if (n.type.empty()) return {{}, name_error::empty};
  if ((!n.job.empty() && n.job != "localhost") || n.replica > 0 || n.task > 0)
    return {{}, name_error::other_process};
  bool const is_cpu = n.type == "CPU";
  if (!is_cpu && n.type != "GPU") return {{}, name_error::unknown_type};
  if (n.id > max_ordinal) return {{}, name_error::large_ordinal};
  return {device(is_cpu ? device_kind::cpu : device_kind::gpu, n.id < 0 ? 0 : n.id)};
}

constexpr std::string_view sentence(name_error e) {
  switch (e) {
  case name_error::none: return "is a device";
  case name_error::empty: return "names no device type; write \"/GPU:0\" or \"/CPU:0\"";
  case name_error::no_slash: return "has no type and number; write \"/GPU:0\" or \"GPU:0\"";
  case name_error::bad_part: return "has an unknown part; write \"/device:GPU:0\"";
  case name_error::bad_value: return "has a part without a proper value; write \"/device:GPU:0\"";
  case name_error::bad_number: return "has an ordinal that is no number from 0; write \"/GPU:0\"";
  case name_error::unknown_type: return "has an unknown type; write \"/GPU:0\" or \"/CPU:0\"";
  case name_error::large_ordinal: return "has an ordinal above 99; write \"/GPU:0\"";
  case name_error::other_process:
    return "names another process; this one is /job:localhost/replica:0/task:0";
  }
  return "";
}

/// means: the device of that name     fails: unknown_device, with the mistake in the name
inline device device_named(std::string_view name) {
  auto const parsed = parse_device(name);
  if (parsed.error != name_error::none) {
    message text;
    throw unknown_device(text << "locus: the device name \"" << shown(name).view() << "\" "
                              << sentence(parsed.error));
  }
  return parsed.value;
}

/// fails: at compile time, with one sentence for each kind of mistake
template <fixed_string Name>
consteval bool require_device_name() {
  constexpr auto error = parse_device(Name.view()).error;
  static_assert(error != name_error::empty,
                "locus: the device name names no device type; write \"/GPU:0\" or \"/CPU:0\"");
  static_assert(error != name_error::no_slash,
                "locus: the device name has no type and number; write \"/GPU:0\" or \"GPU:0\"");
  static_assert(error != name_error::bad_part,
                "locus: the device name has an unknown part; write \"/device:GPU:0\"");
  static_assert(
      error != name_error::bad_value,
      "locus: the device name has a part without a proper value; write \"/device:GPU:0\"");
  static_assert(error != name_error::bad_number,
                "locus: the device name has an ordinal that is no number from 0; write \"/GPU:0\"");
  static_assert(error != name_error::unknown_type,
                "locus: the device name has an unknown type; write \"/GPU:0\" or \"/CPU:0\"");
  static_assert(error != name_error::large_ordinal,
                "locus: the device name has an ordinal above 99; write \"/GPU:0\"");
  static_assert(error != name_error::other_process,
                "locus: the device name names another process; this one is "
                "/job:localhost/replica:0/task:0");
  return error == name_error::none;
}

// ---- writing ----
// Three forms, each of which parse_name reads: /GPU:0 in messages and plans; /device:GPU:0 in the
// list of config::list_logical_devices; TensorFlow's full name in the log,
// /job:localhost/replica:0/task:0/device:GPU:0. A pattern, which may leave fields open, is written
// as the fields that are set, in that order.

/// means: /GPU:0
template <std::size_t N>
constexpr text_buffer<N>& operator<<(text_buffer<N>& out, device d) {
  if (d.is_none()) return out << "anywhere";
  if (d.is_open())
    return out << (d == open_cpu ? "/CPU:dyn" : d == open_gpu ? "/GPU:dyn" : "/GPU:all");
  return out << (d.is_gpu() ? "/GPU:" : "/CPU:") << d.ordinal();
}

struct full_name {
  device of;
  int rank = -1;  // -1: of a program with one rank
};
/// means: /job:localhost/replica:0/task:0/device:GPU:0, as TensorFlow's placement log writes it; of a
///        rank, /job:worker/replica:0/task:1/device:GPU:0
template <std::size_t N>
constexpr text_buffer<N>& operator<<(text_buffer<N>& out, full_name name) {
  out << (name.rank < 0 ? "/job:localhost" : "/job:worker")
      << "/replica:0/task:" << (name.rank < 0 ? 0 : name.rank);
  return out << "/device:" << (name.of.is_gpu() ? "GPU:" : "CPU:") << name.of.ordinal();
}

/// means: the fields that are set: /job:worker/task:2/device:GPU:*; "/" where none is set; for a
///        malformed name its mistake, in parentheses
template <std::size_t N>
constexpr text_buffer<N>& operator<<(text_buffer<N>& out, device_name const& n) {
  if (n.error != name_error::none) return out << "(the name " << sentence(n.error) << ")";
  if (n == device_name{}) return out << "/";
  if (!n.job.empty()) out << "/job:" << n.job;
  if (n.replica >= 0) out << "/replica:" << n.replica;
  if (n.task >= 0) out << "/task:" << n.task;
  if (n.type.empty() && n.id < 0) return out;
  out << "/device:" << (n.type.empty() ? std::string_view("*") : n.type) << ":";
  if (n.id < 0) return out << "*";
  return out << n.id;
}
template <class Stream>
  requires requires(Stream& s) { s.write("", 0); }
Stream& operator<<(Stream& out, device_name const& n) {
  message text;
  text << n;
  out.write(text.view().data(), static_cast<std::ptrdiff_t>(text.view().size()));
  return out;
}

constexpr std::string_view name_of(reduction op) {
  constexpr std::string_view names[] = {"none", "sum", "max",       "min",
                                        "any",  "all", "first_max", "product"};
  return names[static_cast<int>(op)];
}

/// means: /CPU:0, mirrored(/GPU:0 /GPU:1), sharded<0>(...), partial<sum>(...)
template <std::size_t N>
constexpr text_buffer<N>& operator<<(text_buffer<N>& out, place const& p) {
  if (p.is_nowhere()) return out << "anywhere";
  if (p.is_single()) return out << p.at(0);
  if (p.is_mirrored()) out << "mirrored(";
  if (p.is_sharded()) out << "sharded<" << int(p.axis) << ">(";
  if (p.is_partial()) out << "partial<" << name_of(p.op) << ">(";
  if (p.devices.is_balanced()) out << "balanced ";
  if (p.devices.is_over_ranks()) out << "each rank: ";
  if (p.devices.is_all_gpus()) out << "all GPUs";
  for (int i = 0; i < p.local_count() && !p.devices.is_all_gpus(); ++i)
    out << (i ? " " : "") << p.at(i);
  if (p.is_window()) out << ", lead " << int(p.lead) << ", trail " << int(p.trail);
  return out << ")";
}

/// means: p is the single device of that name
/// fails: unknown_device, for a text that is no device name: the comparison does not return false
constexpr bool operator==(place const& p, std::string_view name) {
  auto const parsed = parse_device(name);
  if (parsed.error != name_error::none)
    throw unknown_device("locus: a place is compared with a text that is no device name");
  return p.is_single() && p.local_count() == 1 && p.at(0) == parsed.value;
}
constexpr bool operator==(device d, std::string_view name) { return single(d) == name; }

}  // namespace locus

LOCUS_COLD_END
