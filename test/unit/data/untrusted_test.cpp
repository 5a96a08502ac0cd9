// SPDX-License-Identifier: Apache-2.0
// Files that nobody vouches for: every reader refuses what is no file, no path, no text, or less than
// it claims, with a sentence, and takes memory for what is there.
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <functional>
#include <string>
#include <vector>
#include <zlib.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <locus/data/from_files.hpp>
#include <locus/files/idx.hpp>
#include <locus/files/npz.hpp>
#include <locus/files/text.hpp>
#include <locus/locus.hpp>
#include <locus/nn/train/checkpoint.hpp>
#include <locus/tensor/any_tensor.hpp>

#include "child.hpp"
#include <message_of.hpp>

namespace untrusted_test {

using namespace locus;

namespace {

struct folder {
  char name[40] = "/tmp/locus_untrusted_XXXXXX";
  folder() { CHECK(mkdtemp(name) != nullptr); }
  folder(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + std::string(name)).c_str()) == 0); }
  std::string operator/(std::string const& file) const { return std::string(name) + "/" + file; }
};
void write_bytes(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string bytes_of(std::string const& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
void write_zipped(std::string const& path, std::string const& bytes) {
  gzFile const f = gzopen(path.c_str(), "wb");
  CHECK(gzwrite(f, bytes.data(), unsigned(bytes.size())) == int(bytes.size()));
  gzclose(f);
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

using Table = std::vector<std::pair<int, float>>;
Table table_of(std::string const& path) {
  Table all;
  for (auto const& [a, b] : data::from_csv<int, float>(path)) all.emplace_back(a, b);
  return all;
}
struct reader {
  char const* name;
  std::function<void(std::string const&)> read;
};
/// everything in locus that opens a file which somebody else may have written
std::vector<reader> const readers = {
    {"from_lines",
     [](std::string const& p) {
       for (auto const& [line] : data::from_lines(p)) CHECK(line.size() < 100);
     }},
    {"from_csv", [](std::string const& p) { table_of(p); }},
    {"read_idx", [](std::string const& p) { data::read_idx<1>(p); }},
    {"read_flat", [](std::string const& p) { data::read_flat<float>(p, Extents<1>{}); }},
    {"load_npy", [](std::string const& p) { data::load_npy(p); }},
    {"npz_file", [](std::string const& p) { data::npz_file{p}; }},
    {"AnyTensor", [](std::string const& p) { AnyTensor<float, Dextents<1>>::load(p); }},
    {"checkpoint", [](std::string const& p) { nn::load_checkpoint(p, {}, {}, {}); }}};

std::string head_of_npy(std::string const& dict, int version = 1) {
  std::string h = std::string("\x93NUMPY") + char(version) + '\0' + char(dict.size() & 255) +
                  char(dict.size() >> 8 & 255);
  if (version > 1) h += std::string(2, '\0');
  return h + dict;
}
/// units: bytes; the most that this process ever had
std::int64_t peak() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return std::int64_t(r.ru_maxrss) * 1024;
}

}  // namespace

TEST_CASE("readers of a folder that tries to hang them" * doctest::skip()) {
  std::string const at = std::getenv("LOCUS_TEST_FOLDER");
  for (reader const& each : readers)
    for (auto const& [file, kind] : {std::pair{"pipe", "a pipe"},
                                     {"socket", "a socket"},
                                     {"sub", "a folder"},
                                     {"link", "a pipe"},
                                     {"null", "a device"}}) {
      std::string const path = at + "/" + file;
      INFO(each.name);
      CHECK(message_of<bad_file>([&] { each.read(path); }) ==
            "locus: " + path + ": expected a file, found " + kind + "; give another path");
    }
}

TEST_CASE("a pipe, a device, a socket and a folder are no files: nothing waits for them") {
  folder const here;
  REQUIRE(mkfifo((here / "pipe").c_str(), 0600) == 0);
  REQUIRE(mkdir((here / "sub").c_str(), 0700) == 0);
  REQUIRE(symlink("pipe", (here / "link").c_str()) == 0);
  REQUIRE(symlink("/dev/zero", (here / "null").c_str()) == 0);
  int const s = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  (here / "socket").copy(name.sun_path, sizeof name.sun_path - 1);
  REQUIRE(bind(s, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  auto const seen = child::run("readers of a folder that tries to hang them",
                               {"LOCUS_TEST_FOLDER=" + std::string(here.name)}, 30);
  close(s);
  INFO(seen.text);
  CHECK_FALSE(seen.hung);
  CHECK(seen.code == 0);
}

TEST_CASE("a path is taken as a whole or refused: none names another file") {
  folder const here;
  std::string path;  // the first 4,095 characters of what is asked for name a file that is there
  while (path.size() + std::string(here.name).size() < 4090) path += "./";
  path = here / path;
  path += std::string(4095 - path.size(), 'q');
  for (reader const& each : readers) {
    INFO(each.name);
    std::string const there = here / path.substr(path.rfind('/') + 1);
    write_bytes(there, "");  // whatever a reader says of it, it says that it looked into it
    std::string const opened = message_of<bad_file>([&] { each.read(path); });
    CHECK_FALSE(has(opened, "path is too long"));
    std::string const refused = message_of<bad_file>([&] { each.read(path + "_and_more"); });
    CHECK(refused.starts_with("locus: " + path.substr(0, 50)));
    CHECK(refused.ends_with("_and_more: its path is too long; give a shorter path"));
    CHECK(message_of<bad_file>([&] { each.read(there + std::string("\0/x", 3)); }) ==
          "locus: " + there + "\\x00/x: its path holds a null character; give another path");
    CHECK(message_of<bad_file>([&] { each.read(here / "nothing"); }) ==
          "locus: " + (here / "nothing") +
              ": expected a readable file, found No such file or directory; give another path");
  }
  std::string const saved = here / "saved";
  for (std::string const& bad : {path + "_and_more", saved + std::string("\0.npz", 5)})
    CHECK(has(message_of<bad_file>(
                  [&] { AnyTensor<float, Extents<1>>(Tensor<float, Extents<1>>{1}).save(bad); }),
              "its path "));
  CHECK(access(saved.c_str(), F_OK) != 0);
}

TEST_CASE("a null character is no text: the line that has one is named, and no line is joined") {
  folder const here;
  std::string const path = here / "t";
  std::string const bytes("1,2\n3\0,4\n5,6\n", 13);
  for (bool const zipped : {false, true}) {
    if (zipped)
      write_zipped(path, bytes);
    else
      write_bytes(path, bytes);
    std::string const says = "locus: " + path +
                             ": expected text in line 2, found a null character, as in UTF-16 and "
                             "in files of numbers; fetch the file again, or give another path";
    CHECK(message_of<bad_file>([&] { table_of(path); }) == says);
    std::vector<std::string> lines;
    CHECK(message_of<bad_file>([&] {
            for (auto const& [line] : data::from_lines(path)) lines.push_back(line);
          }) == says);
    CHECK(lines == std::vector<std::string>{"1,2"});
  }
  for (std::size_t at :
       {std::size_t(0), std::size_t(8191), std::size_t(8192), std::size_t(20000)}) {
    std::string long_one(20001, 'x');  // at the seams of the parts in which a file is read
    long_one[at] = '\0';
    write_bytes(path, "first\n" + long_one);
    CHECK(has(message_of<bad_file>([&] {
                for (auto const& [line] : data::from_lines(path)) CHECK(line == "first");
              }),
              "expected text in line 2"));
  }
  // a folder of fortunes: its files' names are gone when something is wrong in them
  write_bytes(path, std::string("a fortune that is long enough\n%\n\0\n", 34));
  CHECK(message_of<bad_file>([&] {
          data::read_fortunes(here.name);
        }).starts_with("locus: " + path + ": expected text in line 3"));
}

TEST_CASE(
    "a number in a table is digits: two signs, nan and infinity are refused with their line") {
  folder const here;
  std::string const path = here / "t";
  for (std::string const bad : {"+-3", "++3", "-+3", "+", "-", "nan", "-nan", "inf", "+inf", "-inf",
                                "infinity", "nan(1)", "0x10", "1e999", "1 2"}) {
    INFO(bad);
    write_bytes(path, "1,2\n2," + bad + "\n");
    CHECK(has(message_of<bad_file>([&] { table_of(path); }),
              ": line 2, column 2: expected a number, found \"" + bad + "\";"));
  }
  write_bytes(path, "+1,+2.5\n-1,-.5e1\n");
  CHECK(table_of(path) == Table{{1, 2.5f}, {-1, -5.f}});
}

TEST_CASE("bytes of a file reach no terminal") {
  folder const here;
  std::string const path = here / "\x1b[2J\nlocus: all is well";
  std::string const name = "locus: " + (here / "\\x1b[2J\\x0alocus: all is well");
  auto const clean = [](std::string const& text) {
    for (char const c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    return text.starts_with("locus: ");
  };
  for (reader const& each : readers) {
    INFO(each.name);
    write_bytes(path, "\x1b]0;title\x07\x9b\n\x93NUMPY");
    std::string const text = message_of<bad_file>([&] { each.read(path); });
    CAPTURE(text);
    if (each.name == std::string("from_lines")) continue;  // it is a text
    CHECK(clean(text));
    CHECK(text.starts_with(name));
  }
  write_bytes(path, "1,\x1b[31mred\x9b\n");
  CHECK(message_of<bad_file>([&] { table_of(path); }) ==
        name +
            ": line 1, column 2: expected a number, found \"\\x1b[31mred\\x9b\"; name the types of "
            "all columns, and the lines to skip");
  write_bytes(path, head_of_npy("{'descr': '\x1b[5mx', 'fortran_order': False, 'shape': ()}"));
  CHECK(has(message_of<bad_file>([&] { data::load_npy(path); }), "found \\x1b[5mx;"));
  data::npz_writer(here / "z").add("a\x1b\n", 1.0).save();
  CHECK(has(message_of<bad_file>([&] { data::npz_file(here / "z").array("b"); }),
            "found a\\x1b\\x0a;"));
  CHECK(
      has(message_of<unknown_device>([&] { config::get_memory_info("GPU:\x1b"); }), "GPU:\\x1b\""));
}

TEST_CASE("a long name leaves room for what is wrong and what to do") {
  folder const here;
  std::string const path = here / std::string(250, 'n');
  write_bytes(path, head_of_npy("{'" + std::string(60000, 'k') + "': 1}"));
  std::string const text = message_of<bad_file>([&] { data::load_npy(path); });
  CAPTURE(text);
  CHECK(has(text, "expected the keys descr, fortran_order and shape, found kkk"));
  CHECK(text.ends_with("; write it again with numpy.save"));
}

TEST_CASE(
    "headers of .npy that lie: too short for their length, keys twice, products beyond 2^63") {
  folder const here;
  std::string const path = here / "a.npy";
  auto const refusal = [&](std::string const& bytes) {
    write_bytes(path, bytes);
    std::string const alone = message_of<bad_file>([&] { data::load_npy(path); });
    data::detail::zip_writer z(here / "a.npz");  // the same bytes as a member
    z.add("a.npy", bytes, nullptr, 0, 0);
    z.finish();
    std::string const member =
        message_of<bad_file>([&] { data::npz_file(here / "a.npz").array("a"); });
    CHECK(alone.substr(alone.find(": expected")) == member.substr(member.find(": expected")));
    return alone.substr(alone.find(": expected") + 2);
  };
  std::string const short_one =
      "expected a header, whose length stands in 4 bytes, found the end of "
      "the file; it was cut short: write or fetch it again";
  for (char version : {'\2', '\3'})
    for (std::size_t n : {10u, 11u})
      CHECK(refusal((std::string("\x93NUMPY") + version + std::string("\0\x76\0\0\0", 6))
                        .substr(0, n)) == short_one);
  CHECK(refusal(std::string("\x93NUMPY\2\0\1\0\0\0", 12)) ==
        "expected a header of 1 bytes, found the end of the file; it was cut short: write or fetch "
        "it "
        "again");
  for (char const* twice : {"descr", "shape", "fortran_order"}) {
    std::string const value = twice == std::string("descr")   ? "'<f8'"
                              : twice == std::string("shape") ? "(3,)"
                                                              : "True";
    CHECK(refusal(head_of_npy("{'descr': '|i1', 'fortran_order': False, 'shape': (0,), '" +
                              std::string(twice) + "': " + value + "}")) ==
          "expected each key once, found two of " + std::string(twice) +
              "; write it again with numpy.save");
  }
  for (char const* shape : {"(4294967296, 4294967296)", "(4294967296, 536870912)",
                            "(0, 4294967296, 4294967296)", "(4294967296, 4294967296, 0)"})
    for (std::string const& dict :  // the type before the extents, and behind them
         {std::string("'descr': '<f8', 'shape': ") + shape,
          std::string("'shape': ") + shape + ", 'descr': '<f8'"}) {
      INFO(dict);
      CHECK(refusal(head_of_npy("{'fortran_order': False, " + dict + "}"))
                .starts_with("expected an array that fits into memory, found extents beyond 2^63"));
    }
  std::string ones = "1,";
  for (int i = 0; i < 64; ++i) ones += "1,";
  CHECK(refusal(head_of_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (" + ones + ")}"))
            .starts_with("expected at most 64 axes, found more"));
}

TEST_CASE("extents of an IDX file and of a tensor's file whose product overflows are refused") {
  folder const here;
  std::string const path = here / "f", most(4, '\xff');
  write_bytes(path, std::string("\0\0\x08\x03\0\0\0\0", 8) + most + most);
  CHECK(has(message_of<bad_file>([&] { data::read_idx<3>(path); }),
            "expected at most 2^40 elements"));
  using Any = AnyTensor<float, Dextents<3>>;
  Any(Tensor<float, Dextents<3>>(0, 1, 1)).save(path);
  std::string bytes = bytes_of(path);
  for (std::size_t at : {48u, 56u}) bytes[at + 7] = '\x40';  // extents 1 and 2 become 2^62
  write_bytes(path, bytes);
  CHECK(has(message_of<bad_file>([&] { Any::load(path); }),
            "expected extents [?,?,?], found extents"
            " [0,"));
  // and a tensor of the program's own: no element, no overflow; too many, a sentence
  Tensor<float, Dextents<3>> const none(0, std::int64_t(1) << 62, std::int64_t(1) << 62);
  CHECK(none.size() == 0);
  CHECK_THROWS_AS((Tensor<float, Dextents<3>>(2, std::int64_t(1) << 62, std::int64_t(1) << 62)),
                  out_of_memory);
}

TEST_CASE("readers of files that claim much" * doctest::skip()) {
  std::string const at = std::getenv("LOCUS_TEST_FOLDER");
  std::int64_t const before = peak();
  auto const refused = [&](char const* file, auto&& read) {
    INFO(file);
    std::string const text = message_of<bad_file>([&] { read(at + "/" + file); });
    CAPTURE(text);
    CHECK(text.starts_with("locus: " + at));
    CHECK(peak() - before < (std::int64_t(24) << 20));
  };
  auto const idx1 = [](std::string const& p) { data::read_idx<1>(p); };
  auto const idx2 = [](std::string const& p) { data::read_idx<2>(p); };
  auto const npz = [](std::string const& p) { data::npz_file(p).array("a"); };
  refused("idx", idx1), refused("idx.gz", idx1), refused("idx2", idx2), refused("idx2.gz", idx2);
  refused("flat", [](std::string const& p) { data::read_flat<float>(p, dextents<1>(1 << 28)); });
  refused("flat.gz", [](std::string const& p) { data::read_flat<float>(p, dextents<1>(1 << 28)); });
  refused("npy", [](std::string const& p) { data::load_npy(p); });
  refused("head.npy", [](std::string const& p) { data::load_npy(p); });
  refused("npz", npz), refused("cut.npz", npz);
  refused("tensor", [](std::string const& p) { AnyTensor<float, Dextents<1>>::load(p); });
}

TEST_CASE("who claims much and holds little gets little memory") {
  folder const here;
  std::string const idx1("\0\0\x08\x01\x50\0\0\0", 8),  // 1.25 GiB
      idx2("\0\0\x08\x02\0\4\0\0\0\0\x40\0", 12);       // 2^18 x 2^14: 4 GiB
  write_bytes(here / "idx", idx1), write_zipped(here / "idx.gz", idx1);
  write_bytes(here / "idx2", idx2), write_zipped(here / "idx2.gz", idx2);
  write_bytes(here / "flat", "abc"), write_zipped(here / "flat.gz", "abc");
  std::string const dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824,)}";
  write_bytes(here / "npy", head_of_npy(dict));
  write_bytes(here / "head.npy", std::string("\x93NUMPY\2\0\0\0\0\x7f", 12));
  {  // a deflated member that claims what its packed size would just allow: 1 GiB of 1 MiB
    data::detail::zip_writer z(here / "npz");
    std::string noise(1 << 20, '\0');
    std::uint32_t v = 1;
    for (char& c : noise) c = char((v = v * 1664525 + 1013904223) >> 24);
    z.add("a.npy", noise, nullptr, 0, 9);
    z.finish();
  }
  std::string bytes = bytes_of(here / "npz");
  std::size_t const entry = bytes.rfind("PK\1\2");
  std::string const gibibyte("\0\0\0\x40", 4);
  bytes.replace(22, 4, gibibyte), bytes.replace(entry + 24, 4, gibibyte);
  write_bytes(here / "npz", bytes);
  bytes[30 + 5] = '\x07';  // and one whose stream is broken at its first byte
  write_bytes(here / "cut.npz", bytes);
  AnyTensor<float, Dextents<1>>(Tensor<float, Dextents<1>>{1, 2}).save(here / "tensor");
  bytes = bytes_of(here / "tensor");
  bytes[40 + 3] = '\x10';
  write_bytes(here / "tensor", bytes);
  auto const seen = child::run("readers of files that claim much",
                               {"LOCUS_TEST_FOLDER=" + std::string(here.name)});
  INFO(seen.text);
  CHECK(seen.code == 0);
}

TEST_CASE("an archive of very many names is read in time that is not their square") {
  folder const here;
  constexpr int n = 60000;  // 1.8e9 comparisons of names, one with all before it
  {
    data::detail::zip_writer z(here / "z");
    for (int i = 0; i < n; ++i) z.add(std::to_string(i), {}, nullptr, 0, 0);
    z.finish();
  }
  std::clock_t const begin = std::clock();
  CHECK(data::npz_file(here / "z").names().size() == n);
  CHECK(double(std::clock() - begin) / CLOCKS_PER_SEC < 2);
  data::detail::zip_writer z(here / "z");
  for (char const* name : {"b", "a", "b"}) z.add(name, {}, nullptr, 0, 0);
  z.finish();
  CHECK(has(message_of<bad_file>([&] { data::npz_file{here / "z"}; }),
            "member b: expected one member of that name, found two"));
}

}  // namespace untrusted_test
