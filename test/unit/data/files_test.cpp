// SPDX-License-Identifier: Apache-2.0
// Datasets in files: what is right is read in order, what is wrong is named with its line.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include <locus/data/from_files.hpp>
#include <locus/files/idx.hpp>
#include <locus/locus.hpp>
#include <message_of.hpp>

namespace files_test {

using namespace locus;

namespace {
/// a file that goes with this object
class temporary {
 public:
  explicit temporary(std::string const& bytes, bool zipped = false) {
    int const f = mkstemp(name_);
    CHECK(f >= 0);
    close(f);
    if (zipped) {
      gzFile const z = gzopen(name_, "wb");
      gzwrite(z, bytes.data(), unsigned(bytes.size()));
      gzclose(z);
    } else
      write(bytes);
  }
  temporary(temporary const&) = delete;
  ~temporary() { std::remove(name_); }
  void write(std::string const& bytes) {
    std::FILE* const f = std::fopen(name_, "wb");
    CHECK(std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size());
    std::fclose(f);
  }
  std::string path() const { return name_; }

 private:
  char name_[32] = "/tmp/locus_files_XXXXXX";
};
std::vector<std::string> lines_of(std::string const& path) {
  std::vector<std::string> all;
  for (auto&& [line] : data::from_lines(path)) all.push_back(std::move(line));
  return all;
}
}  // namespace

TEST_CASE("lines of text, zipped or not, with any ends") {
  std::string const long_one(10000, 'x');
  for (bool const zipped : {false, true}) {
    temporary const f("one\r\n\ntwo\n" + long_one + "\nlast", zipped);
    CHECK(lines_of(f.path()) == std::vector<std::string>{"one", "", "two", long_one, "last"});
  }
  CHECK(lines_of(temporary("").path()).empty());
  CHECK(message_of<bad_file>([] { lines_of("/nowhere/a.txt"); }) ==
        "locus: /nowhere/a.txt: expected a readable file, found No such file or directory; give "
        "another path");
  std::string much;  // a stream that is cut
  for (int i = 0; i < 20000; ++i) much += std::to_string(i * 7919 % 10007) + "\n";
  temporary zipped(much, true);
  std::FILE* const f = std::fopen(zipped.path().c_str(), "rb");
  std::string bytes;
  for (int c; (c = std::fgetc(f)) != EOF;) bytes += char(c);
  std::fclose(f);
  zipped.write(bytes.substr(0, bytes.size() / 2));
  CHECK(message_of<bad_file>([&] { lines_of(zipped.path()); }).find("expected its end") !=
        std::string::npos);
}

TEST_CASE("tables of numbers become batches") {
  temporary const f("sepal,petal,kind\n5.1, 3.5,0\n\n-4e-1,+2,1\n7,8,2");
  auto rows = data::from_csv<std::array<float, 2>, int>(f.path(), {.skipped_lines = 1});
  auto batches = rows.batch(2);
  int seen = 0;
  for (auto&& [x, label] : batches) {
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(x)>, Tensor<float, Extents<dyn, 2>>>);
    if (seen == 0) {
      CHECK(x(0, 0) == 5.1f);
      CHECK(x(0, 1) == 3.5f);
      CHECK(x(1, 0) == -0.4f);
      CHECK(x(1, 1) == 2);
    }
    for (std::int64_t i = 0; i < label.extent(0); ++i) CHECK(label(i) == seen++);
  }
  CHECK(seen == 3);
  auto const fails = [](std::string const& text) {
    temporary const g(text);
    auto const full = message_of<bad_file>([&] {
      for (auto&& [x, label] : data::from_csv<std::array<float, 2>, int>(g.path()))
        CHECK(x[0] == 1);
    });
    auto const at = full.find("line");
    return at == std::string::npos ? full : full.substr(at, full.find(';') - at);
  };
  CHECK(fails("1,2,3\n1,2\n") ==
        "line 2, column 3: expected another column, found the end of the line");
  CHECK(fails("1,2,3\n1,x7,3\n") == "line 2, column 2: expected a number, found \"x7\"");
  CHECK(fails("1,2,3.5\n") ==
        "line 1, column 3: expected an integer that fits its type, found \"3.5\"");
  CHECK(fails("1,2,99999999999\n").find("column 3: expected an integer") != std::string::npos);
  CHECK(fails("1,2,3,4\n") ==
        "line 1, column 4: expected the end of the line, found another column");
  CHECK(fails("1e39,2,3\n") == "line 1, column 1: expected a number, found \"1e39\"");
  CHECK(fails("0.001e999,2,3\n").find("expected a number") != std::string::npos);
  CHECK(fails("1e-50x,2,3\n").find("expected a number") != std::string::npos);
  CHECK(fails("1,,3\n") == "line 1, column 2: expected a number, found \"\"");
}

TEST_CASE("a number that is too small for its type is 0 or the nearest subnormal, as NumPy's") {
  std::string const zeros(400, '0');
  temporary const f("1e-50,1e-400\n-1e-50,-1e-400\n1e-40,1e-310\n0." + zeros + "1,0." + zeros +
                    "1E5\n1" + zeros + "e-800,1" + zeros + "e-900\n1e-99999999999,+0.0001e-330\n");
  std::vector<float> a;
  std::vector<double> b;
  for (auto&& [x, y] : data::from_csv<float, double>(f.path())) a.push_back(x), b.push_back(y);
  CHECK(a == std::vector<float>{0, 0, 1e-40f, 0, 0, 0});
  CHECK(b == std::vector<double>{0, 0, 1e-310, 0, 0, 0});
  CHECK(std::signbit(a[1]));
  CHECK(std::signbit(b[1]));
}

TEST_CASE("arrays without a header have exactly the size that is named") {
  float const v[] = {1, 2, 3, 4, 5, 6};
  temporary const f(std::string(reinterpret_cast<char const*>(v), sizeof v));
  auto const t = data::read_flat<float>(f.path().c_str(), Dextents<2>(2, 3));
  CHECK(t(1, 2) == 6);
  auto const refused = [&](std::int64_t rows) {
    return message_of<bad_file>(
        [&] { data::read_flat<float>(f.path().c_str(), Dextents<2>(rows, 3)); });
  };
  CHECK(refused(3).find("expected 36 bytes behind byte 0, found the end after 24 of them") !=
        std::string::npos);
  CHECK(refused(1).find("expected its end, found more bytes behind byte 12") != std::string::npos);
}

TEST_CASE("IDX files of other types than bytes") {
  std::string const head{0, 0, 12, 1, 0, 0, 0, 3};
  temporary const f(head + std::string("\0\0\0\7\177\377\377\377\377\377\377\376", 12));
  auto const t = data::read_idx<1, std::int32_t>(f.path().c_str());
  CHECK(t(0) == 7);
  CHECK(t(1) == INT32_MAX);
  CHECK(t(2) == -2);
  CHECK(message_of<bad_file>([&] {
          data::read_idx<1, float>(f.path().c_str());
        }).find("expected elements of type 13 (float), found type 12") != std::string::npos);
  temporary const g(std::string{0, 0, 14, 1, 0, 0, 0, 1, 0x3f, char(0xe0), 0, 0, 0, 0, 0, 0});
  CHECK(data::read_idx<1, double>(g.path().c_str())(0) == 0.5);
}

}  // namespace files_test
