// SPDX-License-Identifier: Apache-2.0
// IDX files: what is right is read, gzipped or not; what is wrong is named: path, expected, found.
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include <locus/files/idx.hpp>
#include <locus/locus.hpp>

namespace idx_test {

using namespace locus;

namespace {

/// a folder that goes with its files
class folder {
 public:
  folder() { CHECK(mkdtemp(name_) != nullptr); }
  folder(folder const&) = delete;
  ~folder() {
    for (auto const& f : files_) std::remove(f.c_str());
    rmdir(name_);
  }
  std::string path(std::string const& file) { return std::string(name_) + "/" + file; }
  std::string write(std::string const& file, std::string const& bytes, bool zipped) {
    files_.push_back(path(file));
    if (zipped) {
      gzFile const f = gzopen(files_.back().c_str(), "wb");
      CHECK(gzwrite(f, bytes.data(), unsigned(bytes.size())) == int(bytes.size()));
      gzclose(f);
    } else {
      std::FILE* const f = std::fopen(files_.back().c_str(), "wb");
      CHECK(std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size());
      std::fclose(f);
    }
    return files_.back();
  }

 private:
  char name_[32] = "/tmp/locus_idx_XXXXXX";
  std::vector<std::string> files_;
};

std::string big_endian(std::uint32_t v) {
  return {char(v >> 24 & 255), char(v >> 16 & 255), char(v >> 8 & 255), char(v & 255)};
}
std::string header(int type, std::initializer_list<std::uint32_t> extents) {
  std::string h{0, 0, char(type), char(extents.size())};
  for (std::uint32_t const n : extents) h += big_endian(n);
  return h;
}
std::string counted(int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += char(i * 7);
  return s;
}
template <int Rank>
std::string message_of(std::string const& path) {
  try {
    data::read_idx<Rank>(path.c_str());
  } catch (bad_file const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("the bytes of an IDX file are read in their order, zipped or not") {
  folder here;
  for (bool const zipped : {true, false}) {
    auto const t =
        data::read_idx<3>(here.write("t", header(8, {2, 3, 4}) + counted(24), zipped).c_str());
    REQUIRE(t.extent(0) == 2);
    REQUIRE(t.extent(1) == 3);
    REQUIRE(t.extent(2) == 4);
    for (int i = 0; i < 24; ++i) CHECK(t.data()[i] == std::uint8_t(i * 7));
    auto const labels =
        data::read_idx<1>(here.write("labels", header(8, {5}) + counted(5), zipped).c_str());
    CHECK(labels(4) == 28);
    auto const none = data::read_idx<2>(here.write("none", header(8, {0, 28}), zipped).c_str());
    CHECK(none.size() == 0);
    CHECK(none.extent(1) == 28);
  }
}

TEST_CASE("a wrong file is refused with its path, what was expected and what was found") {
  folder here;
  auto const good = header(8, {2, 3}) + counted(6);
  auto const say = [](std::string const& path, std::string const& expected,
                      std::string const& found) {
    return "locus: " + path + ": expected " + expected + ", found " + found +
           "; fetch the file again, or give another path";
  };
  for (bool const zipped : {true, false}) {
    CAPTURE(zipped);
    auto check = [&](std::string const& bytes, std::string const& expected,
                     std::string const& found) {
      auto const path = here.write("f", bytes, zipped);
      CHECK(message_of<2>(path) == say(path, expected, found));
    };
    check("", "4 bytes behind byte 0", "the end after 0 of them");
    check(good.substr(0, 3), "4 bytes behind byte 0", "the end after 3 of them");
    check(good.substr(0, 10), "4 bytes behind byte 8", "the end after 2 of them");
    check(good.substr(0, good.size() - 1), "6 bytes behind byte 12", "the end after 5 of them");
    check(good + "x", "its end", "more bytes behind byte 18");
    check("PK\3\4 and more", "an IDX file, which begins with two zero bytes", "bytes 80 and 75");
    check(header(13, {2, 3}) + counted(24), "elements of type 8 (unsigned byte)", "type 13");
    check(header(8, {6}) + counted(6), "rank 2", "rank 1");
    check(header(8, {0xffffffff, 0xffffffff}), "at most 2^40 elements",
          "extents [4294967295,4294967295]");
  }
  auto const missing = here.path("missing.gz");
  CHECK(message_of<2>(missing) == "locus: " + missing +
                                      ": expected a readable file, found No such file or "
                                      "directory; give another path");
}

TEST_CASE("a broken gzip stream is refused, not read as far as it goes") {
  folder here;
  auto const path = here.write("z", header(8, {100, 100}) + counted(10000), true);
  std::string bytes;
  std::FILE* f = std::fopen(path.c_str(), "rb");
  for (int c; (c = std::fgetc(f)) != EOF;) bytes += char(c);
  std::fclose(f);

  auto const cut = message_of<2>(here.write("cut", bytes.substr(0, bytes.size() / 2), false));
  CHECK(cut.starts_with("locus: " + here.path("cut") + ": expected 10000 bytes behind byte 12"));
  auto changed = bytes;
  changed[bytes.size() / 2] = char(changed[bytes.size() / 2] ^ 0x55);
  auto const damaged = message_of<2>(here.write("damaged", changed, false));
  CHECK(damaged.starts_with("locus: " + here.path("damaged") + ": expected "));
  auto sum_changed = bytes;  // the check sum stands in the last eight bytes
  sum_changed[bytes.size() - 6] = char(sum_changed[bytes.size() - 6] ^ 1);
  auto const wrong_sum = message_of<2>(here.write("sum", sum_changed, false));
  CHECK(wrong_sum.starts_with("locus: " + here.path("sum") + ": expected "));
  auto const no_length =
      message_of<2>(here.write("tail", bytes.substr(0, bytes.size() - 4), false));
  CHECK(no_length.starts_with("locus: " + here.path("tail") + ": expected "));
}

TEST_CASE("the installed Fashion-MNIST has the extents that it says") {
  std::string const set = "/usr/share/datasets/fashion-mnist/t10k-";
  if (access((set + "images-idx3-ubyte.gz").c_str(), R_OK) != 0) return;
  auto const images = data::read_idx<3>((set + "images-idx3-ubyte.gz").c_str());
  auto const labels = data::read_idx<1>((set + "labels-idx1-ubyte.gz").c_str());
  CHECK(images.extent(0) == 10000);
  CHECK(images.extent(1) == 28);
  CHECK(images.extent(2) == 28);
  CHECK(labels.extent(0) == 10000);
  CHECK(fetch(max(labels)) == 9);
}

}  // namespace idx_test
