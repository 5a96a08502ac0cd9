// SPDX-License-Identifier: Apache-2.0
// .npz and .npy: what NumPy writes is read and the other way round; what is damaged is refused.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

#include <locus/complex.hpp>
#include <locus/files/npz.hpp>
#include <locus/locus.hpp>
#include <message_of.hpp>

namespace npz_test {

using namespace locus;

namespace {

struct folder {
  char name[32] = "/tmp/locus_npz_XXXXXX";
  folder() { CHECK(mkdtemp(name) != nullptr); }
  folder(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + std::string(name)).c_str()) == 0); }
  std::string operator/(std::string const& file) const { return std::string(name) + "/" + file; }
};
std::string bytes_of(std::string const& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
void write_bytes(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
/// LOCUS_PYTHON, or python3: whether it has NumPy
std::string python() {
  char const* const p = std::getenv("LOCUS_PYTHON");
  return p ? p : "python3";
}
bool has_numpy() {
  static bool const has =
      std::system((python() + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0;
  if (!has) MESSAGE("skipped: NumPy is not installed for " << python() << " (LOCUS_PYTHON)");
  return has;
}
bool run_python(std::string const& script) {
  return std::system((python() + " -c '" + script + "'").c_str()) == 0;
}
std::string npy_text(std::string const& dict, std::string const& elements, int version = 1) {
  std::string h = std::string("\x93NUMPY") + char(version) + '\0' + char(dict.size() & 255) +
                  char(dict.size() >> 8);
  if (version > 1) h += std::string(2, '\0');
  return h + dict + elements;
}
template <class T>
std::string raw(std::vector<T> const& v) {
  return {reinterpret_cast<char const*>(v.data()), v.size() * sizeof(T)};
}

template <class X, class Y>
bool same(X const& x, Y const& y) {
  return x.extents().as_shape() == y.extents().as_shape() &&
         std::equal(x.data(), x.data() + x.size(), y.data());
}
Tensor<float, Dextents<2>> small() {
  return to<CpuDevice>(normal<float>(Dextents<2>(5, 3), seed{7}));
}

}  // namespace

TEST_CASE("arrays come back from an archive with their bits, types and extents") {
  folder const here;
  std::string const path = here / "a.npz";
  auto const big = to<CpuDevice>(normal<double>(Dextents<3>(40, 30, 21), seed{3}));
  Tensor<bool, Extents<3>> const flags{true, false, true};
  Tensor<half, Extents<2>> const halves{1.5, -0.25};
  Tensor<std::int64_t, Dextents<1>> const none(0);
  for (int level : {0, 1, 9})
    for (std::uint64_t from64 : {std::uint64_t(0xffffffff), std::uint64_t(0)}) {
      CAPTURE(level);
      CAPTURE(from64);
      {
        data::detail::zip_writer z(path, from64);  // what Zip64 is for, without 4 GiB
        z.add("big.npy", data::detail::npy_head({'f', 8}, big.extents().as_shape()), big.data(),
              static_cast<std::size_t>(big.size()) * 8, level);
        z.finish();
        CHECK(same(data::npz_file(path).read<double, 3>("big"), big));
      }
      data::npz_writer w(path, level);
      w.add("a/w", small()).add("big", big).add("flags", flags).add("halves", halves);
      w.add("none", none).add("rate", 0.125).add("names é", std::vector<std::int32_t>{4, 5});
      w.add("gpu", to<GpuDevice<0>>(small()));
      w.save();
      data::npz_file const f(path);
      CHECK(f.names().size() == 8);
      CHECK(same(f.read<float, 2>("a/w"), small()));
      CHECK(same(f.read<float, 2>("gpu"), small()));
      CHECK(same(f.read<double, 3>("big"), big));
      CHECK(same(f.read<bool, 1>("flags"), flags));
      CHECK(f.read<half, 1>("halves")(1).to_float() == -0.25f);
      CHECK(f.read<std::int64_t, 1>("none").size() == 0);
      CHECK(*f.read<float, 0>("rate").data() == 0.125f);
      CHECK(f.read<std::int64_t, 1>("names é")(1) == 5);
    }
  CHECK(message_of<bad_file>([&] { data::npz_file(path).array("b"); }) ==
        "locus: " + path +
            ": expected an array named b, found a/w, big, flags, halves, none, rate, names é, gpu; "
            "write or fetch the file again, or give another path");
  CHECK(message_of<bad_file>([&] {
          data::npz_writer(path).add("x", 1.0).add("x", 2.0);
        }).find("is added twice") != std::string::npos);
  CHECK(data::npz_file(path).names().size() == 8);  // nothing was saved over it
}

TEST_CASE("numbers change their type where none is lost, and are refused otherwise") {
  auto array = [](std::string const& type, auto const& values) {
    std::string const text =
        npy_text("{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(values.size()) + ",)}",
                 raw(values));
    data::byte_block b(text.size());
    __builtin_memcpy(b.data.get(), text.data(), text.size());
    return data::detail::parse_npy("x.npy", std::move(b));
  };
  auto const labels = array("<i8", std::vector<std::int64_t>{0, 45, -1, 1 << 24});
  CHECK(labels.to_tensor<std::int32_t, 1>()(1) == 45);
  CHECK(labels.to_tensor<float, 1>()(3) == float(1 << 24));
  CHECK(message_of<bad_file>([&] { labels.to_tensor<std::uint8_t, 1>(); }) ==
        "locus: x.npy: expected numbers that uint8 holds, found element 2 = -1 of type i8; read it "
        "in its own type and write cast<...>");
  CHECK(message_of<bad_file>([&] { labels.to_tensor<float, 2>(); }) ==
        "locus: x.npy: expected rank 2, found extents (4); ask for its rank");
  auto refused = [&](auto to, auto const& a) {
    return message_of<bad_file>([&] { a.template to_tensor<decltype(to), 1>(); }) != nothing_thrown;
  };
  using wide = std::vector<double>;
  CHECK(refused(float{}, array("<f8", wide{0.1})));
  CHECK(!refused(float{}, array("<f8", wide{0.5, 1.0 / 0.0, 0.0 / 0.0})));
  CHECK(refused(std::int32_t{}, array("<f8", wide{0.5})));
  CHECK(refused(std::int32_t{}, array("<f8", wide{2147483648.0})));
  CHECK(!refused(std::int32_t{}, array("<f8", wide{2147483647.0, -2147483648.0})));
  CHECK(refused(std::int64_t{}, array("<f8", wide{9223372036854775808.0})));
  CHECK(refused(std::int64_t{}, array("<f8", wide{0.0 / 0.0})));
  CHECK(refused(half{}, array("<i4", std::vector<std::int32_t>{2049})));
  CHECK(refused(half{}, array("<i4", std::vector<std::int32_t>{1 << 17})));
  CHECK(!refused(half{}, array("<i4", std::vector<std::int32_t>{2050})));
  CHECK(refused(float{}, array("<i8", std::vector<std::int64_t>{(1 << 24) + 1})));
  CHECK(refused(std::int64_t{}, array("<u8", std::vector<std::uint64_t>{1ull << 63})));
  CHECK(refused(bool{}, array("|u1", std::vector<std::uint8_t>{2})));
  CHECK(refused(bool{}, array("|b1", std::vector<std::uint8_t>{2})));
}

TEST_CASE("headers of every version, columns first and the other byte order are understood") {
  folder const here;
  std::string const path = here / "a.npy";
  std::string const tail = "'fortran_order': False, 'shape': (2, 3)}";
  std::vector<float> const six{1, 2, 3, 4, 5, 6};
  for (int version : {1, 2, 3}) {
    write_bytes(path, npy_text("{'descr': '<f4', " + tail, raw(six), version));
    CHECK(data::read_npy<float, 2>(path)(1, 0) == 4);
  }
  write_bytes(
      path, npy_text("{\"shape\":(2L,3L,),\"descr\":\"<f4\",'fortran_order':True ,} \n", raw(six)));
  CHECK(data::read_npy<float, 2>(path)(0, 1) == 3);
  CHECK(data::read_npy<float, 2>(path)(1, 0) == 2);
  write_bytes(path, npy_text("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}",
                             std::string("\x01\x02\xff\xfe", 4)));
  CHECK(data::read_npy<std::int32_t, 1>(path)(0) == 258);
  CHECK(data::read_npy<std::int32_t, 1>(path)(1) == -2);
  data::write_npy(path, small());
  CHECK(same(data::read_npy<float, 2>(path), small()));

  // some rows
  for (int version : {1, 2}) {
    write_bytes(path, npy_text("{'descr': '>i2', 'fortran_order': False, 'shape': (3, 1)}",
                               std::string("\x01\x02\xff\xfe\x00\x07", 6), version));
    auto const rows = data::read_npy_rows<std::int16_t, 2>(path, 1, 3);
    CHECK(rows.extents() == dextents<2>(2, 1));
    CHECK(rows(0, 0) == -2);
    CHECK(rows(1, 0) == 7);
    CHECK(data::read_npy_rows<std::int16_t, 2>(path, 3, 3).size() == 0);
  }
  CHECK(message_of<shape_error>([&] {
          data::read_npy_rows<std::int16_t, 2>(path, 1, 4);
        }).find("rows 1 to 4 of 3 are asked for") != std::string::npos);
  write_bytes(path, npy_text("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", raw(six)));
  CHECK(message_of<bad_file>([&] {
          data::read_npy_rows<float, 2>(path, 0, 1);
        }).find("expected rows one after another, found columns") != std::string::npos);
  write_bytes(path, npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
                             raw(std::vector<float>{7})));
  CHECK(message_of<bad_file>([&] {
          data::read_npy_rows<float, 1>(path, 0, 0);
        }).find("expected an array with rows, found a number") != std::string::npos);
  std::string const whole = npy_text("{'descr': '<f4', " + tail, raw(six));
  for (std::size_t const left :
       {std::size_t(3), std::size_t(11), std::size_t(40), whole.size() - 1}) {
    write_bytes(path, whole.substr(0, left));
    CHECK(message_of<bad_file>([&] { data::read_npy_rows<float, 2>(path, 0, 1); }) !=
          nothing_thrown);
  }
  write_bytes(path, npy_text("{'descr': '<f4', " + tail, raw(six)));

  auto refusal = [&](std::string const& bytes) {
    write_bytes(path, bytes);
    return message_of<bad_file>([&] { data::load_npy(path); });
  };
  auto says = [&](std::string const& bytes, char const* expected, char const* found) {
    std::string const text = refusal(bytes);
    INFO(text);
    return text.starts_with("locus: " + path + ": expected " + expected + ", found " + found + ";");
  };
  std::string const good = npy_text("{'descr': '<f4', " + tail, raw(six));
  CHECK(refusal(good) == nothing_thrown);
  CHECK(says("", "an array of NumPy, which begins with \\x93NUMPY", "other first bytes"));
  CHECK(says(good.substr(0, 40), "a header of 57 bytes", "the end of the file"));
  CHECK(says(good.substr(0, good.size() - 1), "24 bytes of elements for extents (2,3)", "23"));
  CHECK(says(good + "x", "24 bytes of elements for extents (2,3)", "25"));
  CHECK(says(npy_text("{'descr': '|O', " + tail, ""),
             "elements of type f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 or b1", "|O"));
  CHECK(says(npy_text("{'descr': '<c4', " + tail, ""),
             "elements of type f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 or b1", "<c4"));
  CHECK(says(npy_text("{'descr': [('a', '<f4')], " + tail, ""), "elements that are numbers",
             "records with fields"));
  CHECK(says(npy_text("{'descr': '<f4', 'shape': (2,)}", ""),
             "the keys descr, fortran_order and shape", "fewer of them"));
  CHECK(says(
      npy_text("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", ""),
      "an array that fits into memory", "extents beyond 2^63"));
  CHECK(says(npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""), "an extent",
             "-1,)}"));
  CHECK(says(npy_text("{'descr': '<f4', " + tail, raw(six), 4), "version 1, 2 or 3 of the format",
             "4"));
  CHECK(refusal(good.substr(0, 40) + good.substr(41)) != nothing_thrown);
  CHECK(message_of<bad_file>([&] { data::load_npy(here / "no"); }).find("No such file") !=
        std::string::npos);
}

TEST_CASE("no byte of an archive changes and none goes missing unseen") {
  folder const here;
  std::string const path = here / "a.npz";
  for (int level : {0, 6}) {
    data::npz_writer(path, level).add("w", small()).add("n", 3.0).save();
    std::string const good = bytes_of(path);
    auto as_written = [&] {
      data::npz_file const f(path);
      return f.names().size() == 2 && same(f.read<float, 2>("w"), small()) &&
             *f.read<double, 0>("n").data() == 3.0;
    };
    int harmless = 0;
    for (std::size_t i = 0; i < good.size(); ++i)
      for (int bit : {0, 3, 7}) {
        std::string changed = good;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        write_bytes(path, changed);
        INFO("byte ", i, " bit ", bit);
        bool as_before = false, refused = false;
        try {
          as_before = as_written();
        } catch (bad_file const& e) {
          refused = std::string(e.what()).starts_with("locus: " + path);
        }
        CHECK((as_before || refused));
        harmless += as_before;
      }
    CHECK(harmless < int(good.size()) / 2);  // dates, versions and attributes
    for (std::size_t n = 0; n < good.size(); ++n) {
      write_bytes(path, good.substr(0, n));
      INFO("the first ", n, " bytes");
      REQUIRE(message_of<bad_file>([&] {
                data::npz_file{path};
              }).starts_with("locus: " + path + ": expected "));
    }
  }
  data::npz_writer(path, 6).add("w", small()).save();
  std::string bad = bytes_of(path);
  bad[120] = static_cast<char>(bad[120] ^ 4);
  write_bytes(path, bad);
  std::string const text = message_of<bad_file>([&] { data::npz_file(path).array("w"); });
  INFO(text);
  CHECK(text.starts_with("locus: " + path + ", member w.npy: expected "));
  CHECK(message_of<bad_file>([&] { data::npz_file(here / "no"); }).find("No such file") !=
        std::string::npos);
  CHECK(message_of<bad_file>([&] { data::npz_file{std::string("/tmp")}; }).find("a folder") !=
        std::string::npos);
}

TEST_CASE("NumPy reads what locus writes, and locus what NumPy writes") {
  if (!has_numpy()) return;
  folder const here;
  std::string const ours = here / "ours.npz", theirs = here / "theirs.npz";
  auto const x = to<CpuDevice>(uniform<double>(Dextents<3>(4, 1, 7), seed{11}));
  for (int level : {0, 6}) {
    data::npz_writer w(ours, level);
    w.add("x", x).add("layer/kernel", small()).add("flags", Tensor<bool, Extents<2>>{true, false});
    w.add("half", Tensor<half, Extents<2>>{1.5, -2.0})
        .add("bytes", Tensor<std::int8_t, Extents<1>>{-3});
    w.add("scalar", std::int64_t(9)).add("none", Tensor<std::int32_t, Dextents<2>>(0, 5));
    w.save();
    CHECK(run_python(R"(
import numpy as np
f = np.load(")" + ours +
                     R"(")
assert sorted(f.files) == ["bytes", "flags", "half", "layer/kernel", "none", "scalar", "x"], f.files
assert f["x"].dtype == np.float64 and f["x"].shape == (4, 1, 7)
assert f["half"].dtype == np.float16 and f["half"].tolist() == [1.5, -2.0]
assert f["flags"].dtype == np.bool_ and f["flags"].tolist() == [True, False]
assert f["bytes"].dtype == np.int8 and f["bytes"].tolist() == [-3]
assert f["scalar"].shape == () and f["scalar"] == 9 and f["none"].shape == (0, 5)
k = f["layer/kernel"]
np.savez_compressed(")" +
                     theirs +
                     R"(", x=f["x"], xf=np.asfortranarray(f["x"]), swapped=f["x"].astype(">f8"),
    k=k, sum=k.sum(dtype=np.float64), u=np.array([1, 65535], np.uint16), c=np.array([1+2j, -3j], np.complex64),
    cs=np.array([1+2j, -3j], ">c16"), z=np.zeros((0, 3), np.float32))
)"));
    data::npz_file const f(theirs);
    auto const k = small();
    for (char const* name : {"x", "xf", "swapped"}) CHECK(same(f.read<double, 3>(name), x));
    CHECK(same(f.read<float, 2>("k"), small()));
    CHECK(*f.read<double, 0>("sum").data() ==
          doctest::Approx(std::accumulate(k.data(), k.data() + 15, 0.0)));
    CHECK(f.read<std::int32_t, 1>("u")(1) == 65535);
    CHECK(f.read<std::uint16_t, 1>("u")(1) == 65535);
    CHECK(f.read<complex<float>, 1>("c")(0) == complex<float>(1, 2));
    CHECK(f.read<complex<double>, 1>("c")(1) == complex<double>(0, -3));
    CHECK(f.read<complex<double>, 1>("cs")(0) == complex<double>(1, 2));
    CHECK(f.read<complex<float>, 2>("k")(0, 0).im == 0);
    CHECK_THROWS_WITH_AS((f.read<double, 1>("c")), doctest::Contains("element 0 = 1+2j"), bad_file);
    CHECK(f.read<float, 2>("z").extent(1) == 3);
  }
  // Zip64 as it is beyond 4 GiB, and arrays of versions 2 and 3
  data::detail::zip_writer z(ours, 0);
  z.add("x.npy", data::detail::npy_head({'f', 8}, x.extents().as_shape()), x.data(),
        static_cast<std::size_t>(x.size()) * 8, 6);
  z.finish();
  CHECK(run_python(R"(
import numpy as np
x = np.load(")" + ours +
                   R"(")["x"]
np.lib.format.write_array(open(")" +
                   theirs + R"(2", "wb"), x, version=(2, 0))
np.lib.format.write_array(open(")" +
                   theirs + R"(3", "wb"), x, version=(3, 0))
)"));
  CHECK(same(data::read_npy<double, 3>(theirs + "2"), x));
  CHECK(same(data::read_npy<double, 3>(theirs + "3"), x));
}

}  // namespace npz_test
