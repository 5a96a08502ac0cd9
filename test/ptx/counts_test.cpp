// SPDX-License-Identifier: Apache-2.0
// Counts of kernels for which they are known by hand.
#include <doctest/doctest.h>

#include <cstdint>

#include "counts/log.hpp"
#include "counts/requests.hpp"
#include "counts/weights.hpp"
#include "launch.hpp"

namespace {
using namespace ptx;
using namespace ptx::testing;
using counts::figure;

/// counts of one launch of a body (launch.hpp), of which all loads and stores stay in the buffers
struct counted {
  explicit counted(std::string const& body, dimensions blocks = {2}, dimensions threads = {64},
                   std::string const& more = "") {
    buffer<std::uint32_t> in(std::vector<std::uint32_t>(1 << 14, 1)), out(1 << 14);
    counts::log& all = counts::log::instance();
    all.forget(), all.turn(true);
    ptx::testing::run(kernel(body, more), blocks, threads, {in.address(), out.address(), 0, 0});
    all.turn(false);
  }
  double operator[](char const* what) const {
    double const v = counts::log::instance().value("", what);
    REQUIRE_MESSAGE(v >= 0, what);
    return v;
  }
};
/// %l5 = in + a * thread + b, %l6 = out + a * thread
std::string at(int a, int b = 0) {
  return "mul.wide.u32 %l5, %r0, " + std::to_string(a) +
         ";\nadd.u64 %l6, %l5, %l2;\nadd.u64 %l5, " + "%l5, %l1;\nadd.u64 %l5, %l5, " +
         std::to_string(b) + ";\n";
}
std::string const copy_4 = "ld.global.u32 %r10, [%l5];\nst.global.u32 [%l6], %r10;\n";

counts::addresses every(int bytes, int step, int first = 0, mask lanes = all_lanes) {
  counts::addresses a;
  a.bytes = unsigned(bytes), a.lanes = lanes;
  for (int l = 0; l < lane_count; ++l)
    if (lanes >> l & 1) a.of[a.count++] = std::uint64_t(first + l * step);
  return a;
}
}  // namespace

TEST_SUITE_BEGIN("ptx/counts");

TEST_CASE("launches, blocks, threads, warps, instructions") {
  counted const c("add.u32 %r4, %r1, 1;", {3, 2}, {40, 2});
  CHECK(c["launches"] == 1);
  CHECK(c["blocks"] == 6);
  CHECK(c["threads"] == 480);
  CHECK(c["warps"] == 18);
  // of launch.hpp: 4 parameters, 3 moves, 1 product and sum, ret; and the sum here
  CHECK(c["warp_instructions"] == 18 * 10);
  CHECK(c["thread_instructions"] == 480 * 10);
  CHECK(c["lanes"] == doctest::Approx(480. / 18));
  CHECK(c["warp_moved"] == 18 * 7);
  CHECK(c["warp_integer"] == 18 * 2);
  CHECK(c["thread_control"] == 480);
  CHECK(c["issue_slots"] == 18 * 10);
  CHECK(c["load_requests"] == 0);
  CHECK(counts::log::instance().value("", "load_reqests") == -1);
}
TEST_CASE("a copy of 4 bytes a lane") {
  counted const c(at(4) + copy_4);  // 4 warps
  for (char const* what : {"load_requests", "load_4", "load_lines", "store_requests", "store_4"})
    CHECK(c[what] == 4);
  for (char const* what : {"load_sectors", "load_ideal", "load_misses", "load_unique",
                           "store_sectors", "store_ideal", "store_whole", "store_unique"})
    CHECK(c[what] == 16);
  for (char const* what :
       {"load_bytes", "load_unique_bytes", "store_bytes", "store_unique_bytes", "wait_bytes"})
    CHECK(c[what] == 512);
  for (char const* what : {"load_near", "load_cached", "store_partial", "divergent", "load_16",
                           "shared_requests", "atomic_requests"})
    CHECK(c[what] == 0);
  CHECK(c["waits"] == 4);
  CHECK(c["wait_loads"] == 4);
  CHECK(c["bytes_in_flight"] == 4);
  CHECK(c["load_ratio"] == 1);
  CHECK(c["store_ratio"] == 1);
}
TEST_CASE("a copy of 16 bytes a lane") {
  counted const c(at(16) + "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%l5];\n"
                           "st.global.v4.u32 [%l6], {%r10, %r11, %r12, %r13};\n");
  CHECK(c["load_16"] == 4);
  CHECK(c["store_16"] == 4);
  CHECK(c["load_4"] == 0);
  CHECK(c["load_sectors"] == 64);
  CHECK(c["load_lines"] == 16);
  CHECK(c["store_whole"] == 64);
  CHECK(c["store_ratio"] == 1);
  CHECK(c["bytes_in_flight"] == 16);
}
TEST_CASE("strides and offsets") {
  counted const two(at(8) + copy_4);
  CHECK(two["load_sectors"] == 32);
  CHECK(two["load_ratio"] == 2);
  CHECK(two["store_ratio"] == 2);
  CHECK(two["store_whole"] == 0);
  CHECK(two["store_partial"] == 32);
  CHECK(two["store_unique_bytes"] == 512);
  counted const far(at(128) + copy_4);
  CHECK(far["load_sectors"] == 128);
  CHECK(far["load_lines"] == 128);
  CHECK(far["load_ratio"] == 8);
  counted const shifted(at(4, 4) + copy_4);
  CHECK(shifted["load_sectors"] == 4 * 5);
  CHECK(shifted["load_lines"] == 4 * 2);
  CHECK(shifted["load_ideal"] == 16);
  // two warps of a block share a sector; the first cache of a block has nothing of the other's
  CHECK(shifted["load_misses"] == 2 * 9);
  CHECK(shifted["load_unique"] == 17);
  counted const same("ld.global.u32 %r10, [%l1];\nadd.u32 %r11, %r10, 1;");
  CHECK(same["load_sectors"] == 4);
  CHECK(same["load_bytes"] == 16);
  CHECK(same["load_misses"] == 2);
  CHECK(same["load_near"] == 2);
  CHECK(same["load_cached"] == 1);  // of the second block
}
TEST_CASE("what is loaded past the first cache misses it") {
  counted const c("ld.volatile.global.u32 %r10, [%l1];\nld.global.cv.u32 %r11, [%l1];");
  CHECK(c["load_misses"] == 8);
  CHECK(c["load_near"] == 0);
}
TEST_CASE("the first cache keeps what a block loaded last") {
  // a share of 96 sectors for a block of one warp; 16 sectors a load
  auto const again_after = [](int loads) {
    std::string body = at(16);
    for (int k = 0; k <= loads; ++k)
      body += "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%l5+" +
              std::to_string(k == loads ? 0 : 512 * k) + "];\n";
    return counted(body, {1}, {32})["load_near"];
  };
  CHECK(again_after(4) == 1);
  CHECK(again_after(6) == 1);
  CHECK(again_after(7) == 0);
}
TEST_CASE("waits: once for all loads in front of the first use") {
  std::string const three = at(4) + "ld.global.u32 %r10, [%l5];\nld.global.u32 %r11, [%l5+256];\n"
                                    "ld.global.u32 %r12, [%l5+512];\n";
  counted const together(three + "add.u32 %r13, %r10, %r11;\nadd.u32 %r13, %r13, %r12;");
  CHECK(together["waits"] == 4);
  CHECK(together["wait_loads"] == 12);
  CHECK(together["bytes_in_flight"] == 12);
  counted const moved(three + "mov.u32 %r14, %r10;\nadd.u32 %r13, %r14, %r11;");
  CHECK(moved["waits"] == 4);
  counted const chain(at(4) + "ld.global.u32 %r10, [%l5];\nmul.wide.u32 %l7, %r10, 4;\n"
                              "add.u64 %l7, %l7, %l1;\nld.global.u32 %r11, [%l7];\n"
                              "add.u32 %r12, %r11, 1;");
  CHECK(chain["waits"] == 8);
  CHECK(chain["wait_loads"] == 8);
  CHECK(chain["bytes_in_flight"] == 4);
  counted const unused(three);
  CHECK(unused["waits"] == 0);
}
TEST_CASE("branches of which lanes part") {
  std::string const some = "setp.lt.u32 %p1, %r1, ";
  std::string const rest = ";\n@%p1 bra A;\nadd.u32 %r4, %r1, 1;\nA:\nadd.u32 %r5, %r1, 1;";
  counted const half(some + "48" + rest);  // warps of 32 and 16 lanes below
  CHECK(half["branches"] == 4);
  CHECK(half["divergent"] == 2);
  CHECK(half["warp_integer"] == 2 * (3 + 4));
  counted const whole(some + "32" + rest);
  CHECK(whole["branches"] == 4);
  CHECK(whole["divergent"] == 0);
}
TEST_CASE("banks of shared memory") {
  CHECK(counts::turns_of(every(4, 4)).wavefronts == 1);
  CHECK(counts::turns_of(every(4, 8)).wavefronts == 2);
  CHECK(counts::turns_of(every(4, 128)).wavefronts == 32);
  CHECK(counts::turns_of(every(4, 132)).wavefronts == 1);  // padded
  CHECK(counts::turns_of(every(4, 0)).wavefronts == 1);    // a broadcast
  CHECK(counts::turns_of(every(1, 1)).wavefronts == 1);
  CHECK(counts::turns_of(every(8, 8)).wavefronts == 2);
  CHECK(counts::turns_of(every(8, 8)).ideal == 2);
  CHECK(counts::turns_of(every(16, 16)).wavefronts == 4);
  CHECK(counts::turns_of(every(16, 16)).ideal == 4);
  CHECK(counts::turns_of(every(16, 512)).wavefronts == 32);
  CHECK(counts::turns_of(every(16, 16, 0, 0x000000ff)).wavefronts == 1);
  counted const c("mul.lo.u32 %r4, %r1, 128;\nmov.u32 %r5, tile;\nadd.u32 %r4, %r4, %r5;\n"
                  "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\n"
                  "add.u32 %r7, %r6, 1;\natom.shared.add.u32 %r8, [tile], 1;",
                  {2}, {32}, ".shared .align 16 .b8 tile[4096];\n");
  CHECK(c["shared_requests"] == 6);
  CHECK(c["shared_wavefronts"] == 2 * (32 + 32 + 1));
  CHECK(c["shared_ideal"] == 6);
  CHECK(c["shared_waits"] == 2);
  CHECK(c["waits"] == 0);
  CHECK(c["load_requests"] == 0);
  CHECK(c["warp_barrier"] == 2);
  CHECK(c["warp_load_shared"] == 2);
}
TEST_CASE("requests of global memory") {
  counts::request const half = counts::request_of(every(4, 4, 0, 0x00000f0f));
  CHECK(half.sector_count == 2);
  CHECK(half.whole_sectors == 0);
  CHECK(half.useful_bytes == 32);
  CHECK(half.ideal_sectors() == 1);
  counts::request const back = counts::request_of(every(4, -4, 4096));  // lanes in reverse
  CHECK(back.sector_count == 5);
  CHECK(back.line_count == 2);
  CHECK(counts::request_of(every(1, 1)).sector_count == 1);
  CHECK(counts::request_of(every(1, 1)).whole_sectors == 1);
}
TEST_CASE("atomics and prefetches") {
  counted const c(at(4) + "red.global.add.u32 [%l1], 1;\natom.global.add.u32 %r4, [%l5], 1;\n"
                          "prefetch.global.L2 [%l5];");
  CHECK(c["atomic_requests"] == 8);
  CHECK(c["atomic_sectors"] == 4 * (1 + 4));
  CHECK(c["store_unique"] == 16);
  CHECK(c["prefetches"] == 4);
  CHECK(c["load_requests"] == 0);
}
TEST_CASE("copies to shared memory are waited for where they are") {
  counted const c(at(16) + "mul.lo.u32 %r4, %r1, 16;\nmov.u32 %r5, tile;\nadd.u32 %r4, %r4, %r5;\n"
                           "cp.async.cg.shared.global [%r4], [%l5], 16;\n"
                           "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;",
                  {2}, {64}, ".shared .align 16 .b8 tile[1024];\n");
  CHECK(c["load_requests"] == 4);
  CHECK(c["load_16"] == 4);
  CHECK(c["load_sectors"] == 64);
  CHECK(c["waits"] == 4);
  CHECK(c["bytes_in_flight"] == 16);
}
TEST_CASE("weights") {
  auto const slots = [](std::string const& statement) {
    double const all = counted(statement, {1}, {3200 / 10})["issue_slots"];
    return (all - counted("", {1}, {3200 / 10})["issue_slots"]) / 10;
  };
  for (auto const& [text, expected] : std::initializer_list<std::pair<char const*, double>>{
           {"mov.u32 %r4, %r1;", 0},
           {"mov.u32 %r4, %laneid;", 1},
           {"mov.b32 {%h1, %h2}, %r1;", 1},
           {"cvt.u64.u32 %l5, %r1;", .7},
           {"cvt.rn.f32.u32 %f1, %r1;", 1},
           {"mul.lo.u64 %l5, %l1, %l2;", 5},
           {"mul.wide.u32 %l5, %r1, 4;", 1},
           {"mul.wide.u32 %l5, %r1, 4;\nadd.u64 %l6, %l5, %l1;", 1},
           {"add.u64 %l6, %l3, %l1;", 2},
           {"and.b64 %l6, %l3, %l1;", 2},
           {"shl.b32 %r4, %r1, 2;", 1},
           {"div.u32 %r4, %r1, 3;", 20},
           {"rem.u64 %l5, %l1, 3;", 80},
           {"setp.eq.u32 %p1, %r1, 3;\nand.pred %p2, %p1, %p1;", 1.5},
           {"mov.f32 %f1, 0f3f800000;\ndiv.rn.f32 %f2, %f1, %f1;", 10},
           {"mov.f32 %f1, 0f3f800000;\nsqrt.rn.f32 %f2, %f1;\nneg.f32 %f2, %f2;", 8},
           {"mov.f32 %f1, 0f3f800000;\nex2.approx.ftz.f32 %f2, %f1;", 1},
           {"mov.f64 %d1, 0d3ff0000000000000;\ndiv.rn.f64 %d2, %d1, %d1;", 25},
           {"mov.f64 %d1, 0d3ff0000000000000;\nfma.rn.f64 %d2, %d1, %d1, %d1;", 1}}) {
    CAPTURE(text);
    CHECK(slots(text) == doctest::Approx(expected));
  }
}
TEST_CASE("names of kernels in tables") {
  CHECK(counts::short_name("test") == "test");
  CHECK(counts::short_name("_ZN1a6kernelIN1b8flat_mapIfEEEEvT_") == "kernel<flat_map>");
}

TEST_SUITE_END();
