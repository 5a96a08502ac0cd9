// SPDX-License-Identifier: Apache-2.0
// Device names: TensorFlow's grammar, one for compile time and run time, with one case rule.
#include <doctest/doctest.h>
#include <regex.h>

#include <random>
#include <sstream>
#include <string>

#include <locus/device/name.hpp>

using namespace locus;

namespace {

// ---- the grammar, row by row: job, replica, task, type, id ----
struct parsed_row {
  std::string_view name, job;
  int replica, task;
  std::string_view type;
  int id;
};
constexpr parsed_row parsed_rows[] = {
    {"/job:foo_bar/replica:1/task:2/device:GPU:3", "foo_bar", 1, 2, "GPU", 3},
    {"/job:*/replica:4/gpu:5", "", 4, -1, "GPU", 5},
    {"/job:*/replica:4/device:gpu:5", "", 4, -1, "GPU", 5},
    {"/gpu:*/job:*/replica:4", "", 4, -1, "GPU", -1},
    {"/job:*/device:GPU/replica:4", "", 4, -1, "GPU", -1},
    {"/job:*/replica:4/device:myspecialdevice:13", "", 4, -1, "myspecialdevice", 13},
    {"", "", -1, -1, "", -1},
    {"/", "", -1, -1, "", -1},
    {"CPU:10", "", -1, -1, "CPU", 10},
    {"gpu:3", "", -1, -1, "GPU", 3},
    {"/device:gpu:0", "", -1, -1, "GPU", 0},
    {"/device:GPU:*", "", -1, -1, "GPU", -1},
    {"/device:*", "", -1, -1, "", -1},
    {"/Gpu:0", "", -1, -1, "GPU", 0},               // cpu and gpu in either case, in every form
    {"/device:GPU:2/cpu:0", "", -1, -1, "CPU", 0},  // a later one overrides an earlier one
    {"/task:7/task:8", "", -1, 8, "", -1},
    {"/job:a1/job:b2", "b2", -1, -1, "", -1},
    {"/device:GPU:007", "", -1, -1, "GPU", 7},
};
struct refused_row {
  std::string_view name;
  name_error error;
};
constexpr refused_row refused_rows[] = {
    {"foobar", name_error::no_slash},
    {"myspecialdevice", name_error::no_slash},
    {"abc", name_error::no_slash},
    {"CPU", name_error::no_slash},
    {"job:foo/gpu:0", name_error::no_slash},
    {"abc:", name_error::bad_number},
    {"cpu:abc", name_error::bad_number},
    {"CPU:*", name_error::bad_number},
    {"*:3", name_error::bad_value},
    {":3", name_error::bad_value},
    {"/job:123/replica:1/task:2/device:GPU:3", name_error::bad_value},
    {"/job:foo/task:0/gpu:", name_error::bad_number},
    {"/job:foo/task:0/device:gpu:", name_error::bad_number},
    {"/replica:-1", name_error::bad_number},
    {"/task:-2", name_error::bad_number},
    {"/task:1234567890", name_error::bad_number},
    {"/bar:3", name_error::bad_part},
    {"/tpu:0", name_error::bad_part},
    {"/device:GPU:0/extra", name_error::bad_part},
    {"/gpu:0/", name_error::bad_part},
    {"//gpu:0", name_error::bad_part},
    {"/Job:foo", name_error::bad_part},
    {"/job:foo/task:0/replica/cpu:1", name_error::bad_value},
    {"/cpu", name_error::bad_value},
    {"/GPU", name_error::bad_value},
    {"/job:", name_error::bad_value},
    {"/job:a-b", name_error::bad_value},
    {"/device:", name_error::bad_value},
    {" /gpu:0", name_error::no_slash},
    {"/gpu: 0", name_error::bad_number},
};

constexpr bool parses(parsed_row const& row) {
  device_name const n = parse_name(row.name);
  return n.error == name_error::none && n.job == row.job && n.replica == row.replica &&
         n.task == row.task && n.type == row.type && n.id == row.id;
}
constexpr int first_wrong_row() {
  int k = 0;
  for (parsed_row const& row : parsed_rows)
    if (!parses(row))
      return k;
    else
      ++k;
  for (refused_row const& row : refused_rows)
    if (parse_name(row.name).error != row.error)
      return k;
    else
      ++k;
  return -1;
}
static_assert(first_wrong_row() == -1, "the number of the row that a compiler reads otherwise");

// ---- which device of this process ----
struct device_row {
  std::string_view name;
  device is;
  name_error error = name_error::none;
};
constexpr device_row device_rows[] = {
    {"/GPU:0", gpu(0)},
    {"/gpu:10", gpu(10)},
    {"GPU:2", gpu(2)},
    {"/CPU:99", cpu(99)},
    {"/device:cPu:3", cpu(3)},
    {"/device:GPU", gpu(0)},  // an id that is not set is 0
    {"/gpu:*", gpu(0)},
    {"/job:localhost/replica:0/task:0/device:GPU:1", gpu(1)},
    {"/job:*/replica:*/task:*/gpu:1", gpu(1)},
    {"", {}, name_error::empty},
    {"/", {}, name_error::empty},
    {"/job:localhost", {}, name_error::empty},
    {"/device:*:1", {}, name_error::empty},
    {"pu:0", {}, name_error::unknown_type},
    {"/device:TPU:0", {}, name_error::unknown_type},
    {"/job:*/replica:0/device:myspecialdevice:13", {}, name_error::unknown_type},
    {"/GPU:100", {}, name_error::large_ordinal},
    {"/job:worker/gpu:0", {}, name_error::other_process},
    {"/replica:1/gpu:0", {}, name_error::other_process},
    {"/task:2/gpu:0", {}, name_error::other_process},
};
constexpr bool finds(device_row const& row) {
  named_device const found = parse_device(row.name);
  return found.error == row.error && (row.error != name_error::none || found.value == row.is);
}
constexpr bool finds_all() {
  for (device_row const& row : device_rows)
    if (!finds(row)) return false;
  return true;
}
static_assert(finds_all());
static_assert(require_device_name<"/device:GPU:1">() && require_device_name<"cpu:0">());
static_assert(single(gpu(3)) == "/gpu:3" && gpu(3) == "/job:localhost/device:gpu:3");
static_assert(!(gpu(3) == "/cpu:3") && !(gpu(3) == "/gpu:2"));
static_assert(!(place{device_list(gpu(3)), distribution::mirrored} == "/gpu:3"));

std::string refusal(std::string_view name) {
  try {
    static_cast<void>(device_named(name));
  } catch (unknown_device const& e) {
    return e.what();
  }
  return "accepted";
}

/// TensorFlow's grammar as a regular expression, with cpu and gpu in either case
class grammar {
 public:
  grammar() {
    std::string const ident = "[A-Za-z][A-Za-z0-9_]*", number = "[0-9]{1,9}";
    std::string const part = "/job:([*]|" + ident + ")|/(replica|task):([*]|" + number +
                             ")|/device:([*]|" + ident + ")(:([*]|" + number +
                             "))?|/([cC][pP][uU]|[gG][pP][uU]):([*]|" + number + ")";
    std::string const all = "^(/?|(" + part + ")+|" + ident + ":" + number + ")$";
    REQUIRE(regcomp(&compiled_, all.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
  }
  ~grammar() { regfree(&compiled_); }
  bool accepts(std::string const& name) const {
    return regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_;
};

}  // namespace

TEST_CASE("equal patterns compare equal in every spelling, and a printed pattern is read back") {
  struct {
    char const* spellings[4];
    char const* printed;
  } const rows[] = {
      {{"/gpu:*", "/device:GPU:*", "/Gpu:*", "/device:gPu"}, "/device:GPU:*"},
      {{"cpu:3", "/CPU:3", "/device:cpu:3", "/job:*/device:CPU:3"}, "/device:CPU:3"},
      {{"/replica:1/gpu:2/job:a", "/job:a/device:gpu:2/replica:1", "/job:a/replica:01/GPU:2",
        "/job:a/task:*/replica:1/device:GPU:2"},
       "/job:a/replica:1/device:GPU:2"},
      {{"", "/", "/device:*", "/job:*/task:*"}, "/"},
      {{"/device:*:3", "/device:*:03", "/job:*/device:*:3", "/task:*/device:*:3"}, "/device:*:3"},
      {{"/task:4", "/task:4/job:*", "/task:1/task:4", "/task:4/device:*"}, "/task:4"},
      {{"/device:TpU:1", "TpU:1", "/device:TpU:01", "/job:*/device:TpU:1"}, "/device:TpU:1"},
  };
  for (auto const& a : rows)
    for (auto const& b : rows)
      for (char const* x : a.spellings)
        for (char const* y : b.spellings) {
          CAPTURE(x);
          CAPTURE(y);
          CHECK((parse_name(x) == parse_name(y)) == (&a == &b));
          std::ostringstream out;
          out << parse_name(x);
          CHECK(out.str() == a.printed);
          CHECK(parse_name(out.str()) == parse_name(x));
        }
  std::ostringstream wrong;
  wrong << parse_name("/gpu:x");
  CHECK(wrong.str() == "(the name has an ordinal that is no number from 0; write \"/GPU:0\")");
  for (device d : {cpu(0), gpu(7)}) {  // the three spellings
    message shorter, full;
    CHECK(device_named((shorter << d).view()) == d);
    CHECK(device_named((full << full_name{d}).view()) == d);
    message listed;
    CHECK(device_named((listed << "/device:" << (shorter.view().substr(1))).view()) == d);
  }
}

TEST_CASE("names are read at run time as at compile time") {
  for (parsed_row const& row : parsed_rows) {
    CAPTURE(std::string(row.name));
    CHECK(parses({std::string(row.name), row.job, row.replica, row.task, row.type, row.id}));
  }
  for (refused_row const& row : refused_rows) {
    CAPTURE(std::string(row.name));
    CHECK(parse_name(std::string(row.name)).error == row.error);
  }
  for (device_row const& row : device_rows) {
    CAPTURE(std::string(row.name));
    CHECK(finds(row));
  }
}

TEST_CASE("a name is accepted exactly where the grammar accepts it") {
  grammar const rule;
  std::string const pieces[] = {
      "/",   ":", "*",  "job", "replica", "task",  "device", "cpu", "GPU",           "gPu",
      "tpu", "0", "12", "a_b", "/gpu:",   "/job:", "_",      "-",   "/device:GPU:1", "/task:3"};
  std::mt19937 bits(5);
  int accepted = 0;
  for (int n = 0; n < 200'000; ++n) {
    std::string name;
    for (auto k = bits() % 6; k > 0; --k) name += pieces[bits() % std::size(pieces)];
    bool const taken = parse_name(name).error == name_error::none;
    accepted += taken;
    if (taken != rule.accepts(name))
      FAIL_CHECK("accepted: ", taken, ", but not by the grammar: ", name);
  }
  CHECK(accepted > 10'000);
}

TEST_CASE("what is wrong with a name stands in one sentence") {
  std::string const write = "write \"/GPU:0\" or \"/CPU:0\"";
  auto said = [](std::string const& name, std::string const& text) {
    return "locus: the device name \"" + name + "\" " + text;
  };
  CHECK(refusal("/GPU:7") == "accepted");
  CHECK(refusal("") == said("", "names no device type; " + write));
  CHECK(refusal("gpu") == said("gpu", "has no type and number; write \"/GPU:0\" or \"GPU:0\""));
  CHECK(refusal("/tpu:0") == said("/tpu:0", "has an unknown part; write \"/device:GPU:0\""));
  CHECK(refusal("/gpu") ==
        said("/gpu", "has a part without a proper value; write \"/device:GPU:0\""));
  CHECK(refusal("/gpu:x") ==
        said("/gpu:x", "has an ordinal that is no number from 0; write \"/GPU:0\""));
  CHECK(refusal("TPU:0") == said("TPU:0", "has an unknown type; " + write));
  CHECK(refusal("/gpu:100") == said("/gpu:100", "has an ordinal above 99; write \"/GPU:0\""));
  CHECK(
      refusal("/task:1/gpu:0") ==
      said("/task:1/gpu:0", "names another process; this one is /job:localhost/replica:0/task:0"));
  CHECK_THROWS_AS(static_cast<void>(single(gpu(0)) == std::string("gpu")), unknown_device);
  CHECK(refusal(std::string(3000, 'x')).size() < 768);  // cut, not overrun
}

TEST_CASE("devices and places are written as their names") {
  auto text = [](auto const& what) {
    text_buffer<200> out;
    out << what;
    return std::string(out.view());
  };
  CHECK(text(gpu(0)) == "/GPU:0");
  CHECK(text(cpu(12)) == "/CPU:12");
  CHECK(text(device{}) == "anywhere");
  CHECK(text(full_name{gpu(1)}) == "/job:localhost/replica:0/task:0/device:GPU:1");
  CHECK(text(full_name{cpu(0)}) == "/job:localhost/replica:0/task:0/device:CPU:0");
  place two{device_list(gpu(0))};
  CHECK(text(two) == "/GPU:0");
  two.devices.push(gpu(1));
  CHECK(text(two.mirrored()) == "mirrored(/GPU:0 /GPU:1)");
  CHECK(text(two.sharded(1)) == "sharded<1>(/GPU:0 /GPU:1)");
  CHECK(text(two.partial(reduction::first_max)) == "partial<first_max>(/GPU:0 /GPU:1)");
  CHECK(text(two.partial(reduction::product)) == "partial<product>(/GPU:0 /GPU:1)");
  CHECK(text(place{}) == "anywhere");
  for (int k = 0; k <= max_ordinal; ++k) {  // what is written is read back
    CHECK(parse_device(text(gpu(k))).value == gpu(k));
    CHECK(parse_device(text(full_name{cpu(k)})).value == cpu(k));
  }
}
