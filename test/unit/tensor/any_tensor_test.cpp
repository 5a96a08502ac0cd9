// SPDX-License-Identifier: Apache-2.0
// AnyTensor: what lies anywhere, comes back checked, and goes through files unharmed.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include <locus/tensor/any_tensor.hpp>
#include <message_of.hpp>

namespace any_tensor_test {

using namespace locus;

namespace {

using Open = Dextents<2>;
using Any = AnyTensor<float, Open>;
using Every = Mirrored<AllGpus>;
using Rows = Sharded<0, AllGpus>;
using Pair = Mirrored<GpuDevice<1>, CpuDevice>;
using Columns = Sharded<1, GpuDevice<0>, GpuDevice<1>>;

Tensor<float, Open> fifteen() {
  return Tensor<float, Open>{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}, {12, 13, 14}};
}
bool holds_fifteen(Any const& t) {
  auto const host = t.to<CpuDevice>();
  if (host.extent(0) != 5 || host.extent(1) != 3) return false;
  for (int i = 0; i < 15; ++i)
    if (host.data()[i] != float(i)) return false;
  return true;
}

std::string const folder = [] {
  char name[] = "/tmp/locus_any_tensor_XXXXXX";
  return std::string(mkdtemp(name));
}();
std::string const path = folder + "/t";
std::string bytes_of(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}
void write_bytes(std::string const& file, std::string const& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("fetch, to and place_of read a tensor and an AnyTensor in the same way") {
  auto const same = [](auto const& x) {
    CHECK(place_of(x) == single(cpu(0)));
    CHECK(fetch(x)(4, 2) == 14);
    CHECK(to<CpuDevice>(x)(1, 1) == 4);
    CHECK(to<"/CPU:1">(x).device() == cpu(1));
    CHECK(place_of(to<Cpu<dyn>>(x, 2)) == single(cpu(2)));
    CHECK(place_of(to<Mirrored<Cpu<0>, Cpu<1>>>(x)).local_count() == 2);
  };
  same(fifteen());
  same(Any(fifteen()));
  CHECK(fetch(AnyTensor<float, Extents<>>(Tensor<float, Extents<>>(4.f))) == 4);
  Any gone(fifteen());
  Any const taken = std::move(gone);
  CHECK(message_of<bad_access>([&] { static_cast<void>(place_of(gone)); }).find("was moved from") !=
        std::string::npos);
}

TEST_CASE("a tensor of any place is held, asked, taken back and copied anywhere") {
  on_backends([](backends::machine const& m) {
    std::vector<Any> all;
    all.emplace_back(fifteen());
    all.emplace_back(to<GpuDevice<1>>(fifteen()));
    all.emplace_back(to<GpuDevice<dyn>>(fifteen(), 3));
    all.emplace_back(to<Every>(fifteen()));
    all.emplace_back(to<Rows>(fifteen()));
    all.emplace_back(to<Pair>(fifteen()));
    all.emplace_back(to<Columns>(fifteen()));
    CHECK(all[2].where() == single(gpu(3)));
    CHECK(all[3].where().local_count() == (m.gpus ? m.gpus : 1));
    CHECK(all[0].is_on<CpuDevice>());
    CHECK(all[0].is_on<Cpu<dyn>>());
    CHECK(all[2].is_on<GpuDevice<dyn>>());
    CHECK(all[2].is_on<GpuDevice<3>>());
    CHECK_FALSE(all[2].is_on<GpuDevice<1>>());
    CHECK(all[4].is_on<Rows>());
    CHECK_FALSE(all[4].is_on<Sharded<1, AllGpus>>());
    CHECK_FALSE(all[4].is_on<Every>());
    std::vector<Any> const copies = all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(copies[i].where() == all[i].where());
      CHECK(holds_fifteen(copies[i]));
      // each to each place: what has no row in the table goes by way of the host
      CHECK(holds_fifteen(all[i].to<GpuDevice<dyn>>(2)));
      CHECK(holds_fifteen(all[i].to<Every>()));
      CHECK(holds_fifteen(all[i].to<Rows>()));
      CHECK(holds_fifteen(all[i].to<Columns>()));
      CHECK(holds_fifteen(all[i].to<Pair>()));
    }
    CHECK(fetch(sum(2.f * all[1].as<GpuDevice<1>>())) == 210);
    CHECK(fetch(sum(2.f * all[4].as<Rows>())) == 210);
    auto back = std::move(all[2]).as<GpuDevice<dyn>>();
    CHECK(back.device() == gpu(3));
    CHECK(fetch(sum(back)) == 105);
    CHECK(message_of([&] { static_cast<void>(all[2].extents()); }) ==
          "locus: an AnyTensor of float[?,?] was moved from and is used again; assign a tensor to "
          "it first");
    all[2] = std::move(back);
    CHECK(holds_fifteen(all[2]));
    CHECK(message_of([&] { static_cast<void>(all[1].as<CpuDevice>()); }) ==
          "locus: an AnyTensor of float[5,3] lies on /GPU:1 and is taken as one on /CPU:0; copy it "
          "there with to<...>()");
  });
}

TEST_CASE("copies of an AnyTensor are counted") {
  locus::testing::simulated_gpus const four{4};
  Any const t = to<GpuDevice<1>>(fifteen());
  auto count = [](auto&& f) { return locus::testing::count(f); };
  CHECK(count([&] { Any const u = t; }).copies == 0);
  tally const across = count([&] { static_cast<void>(t.to<GpuDevice<2>>()); });
  CHECK(across.copies == 1);
  CHECK(across.bytes_moved == 60);
  CHECK(count([&] { static_cast<void>(t.to<Rows>()); }).bytes_moved == 60 - 24);
}

TEST_CASE("a tensor that knows more extents fits, and an AnyTensor prints like a tensor") {
  AnyTensor<float, Extents<dyn, 2>> const t = Tensor<float, Extents<2, 2>>{{1, 2}, {3, 4}};
  std::ostringstream out;
  out << t;
  CHECK(out.str() == "[[1. 2.]\n [3. 4.]]");
}

TEST_CASE("what is saved is loaded, from any place, and as it was") {
  on_few_backends([] {
    Any const from[] = {fifteen(), to<GpuDevice<1>>(fifteen()), to<Rows>(fifteen())};
    for (Any const& t : from) {
      t.save(path);
      CHECK(bytes_of(path).size() == 128 + 60);
      CHECK(holds_fifteen(Any::load(path)));
      CHECK(AnyTensor<float, Extents<5, 3>>::load(path).size() == 15);
    }
  });
  AnyTensor<double, Dextents<1>> const none = Tensor<double, Dextents<1>>(0);
  none.save(path);
  CHECK(AnyTensor<double, Dextents<1>>::load(path).size() == 0);
}

TEST_CASE("a file that is not what was written is refused: path, expected, found") {
  Any(fifteen()).save(path);
  std::string const good = bytes_of(path);
  auto refusal = [](std::string const& bytes) {
    write_bytes(path, bytes);
    return message_of([] { static_cast<void>(Any::load(path)); });
  };
  auto says = [&](std::string const& text, char const* expected, char const* found) {
    INFO(text);
    return text.find("locus: " + path + ": expected " + expected + ", found " + found + ";") == 0;
  };
  CHECK(refusal(good) == nothing_thrown);
  CHECK(says(refusal(""), "128 bytes that say what follows", "0 bytes"));
  CHECK(says(refusal(good.substr(0, 127)), "128 bytes that say what follows", "127 bytes"));
  CHECK(says(refusal(good.substr(0, 187)), "188 bytes for extents [5,3]", "187"));
  CHECK(says(refusal(good + "x"), "188 bytes for extents [5,3]", "189"));
  for (std::size_t i = 0; i < good.size(); ++i) {  // no byte may change unseen
    if (i >= 104 && i < 128) continue;             // what is not used
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    INFO("byte ", i);
    REQUIRE(refusal(changed) != nothing_thrown);
  }
  write_bytes(path, good);
  CHECK(says(message_of([] { static_cast<void>(AnyTensor<double, Open>::load(path)); }),
             "double of 8 bytes", "float of 4 bytes"));
  CHECK(says(message_of([] { static_cast<void>(AnyTensor<float, Dextents<3>>::load(path)); }),
             "rank 3", "rank 2"));
  CHECK(says(message_of([] { static_cast<void>(AnyTensor<float, Extents<5, 4>>::load(path)); }),
             "extents [5,4]", "extents [5,3]"));
  CHECK(message_of([] {
          static_cast<void>(Any::load(folder + "/no such file"));
        }).find("expected a readable file, found No such file") != std::string::npos);
}

TEST_CASE("a file that cannot be written leaves the one before, and nothing beside it") {
  Any(fifteen()).save(path);
  CHECK(message_of([] {
          Any(fifteen()).save(folder + "/no folder/t");
        }).find("it cannot be written (No such file or directory)") != std::string::npos);
  CHECK(holds_fifteen(Any::load(path)));
  std::string const command = "ls " + folder + " | wc -l | grep -qx 1";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(std::system(("rm -r " + folder).c_str()) == 0);
}

}  // namespace any_tensor_test
