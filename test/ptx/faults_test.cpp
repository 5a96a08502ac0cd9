// SPDX-License-Identifier: Apache-2.0
// What a kernel must not do: each mistake is planted, and found where it is; beside it the same without it.
#include <doctest/doctest.h>

#include "launch.hpp"

namespace {
using namespace ptx;
using namespace ptx::testing;

/// the code and the text of the fault that ends the kernel
std::pair<int, std::string> fault_of(std::string const& body, dimensions blocks, dimensions threads,
                                     std::vector<std::uint64_t> addresses = {0, 0, 0, 0},
                                     std::string const& more = "") {
  try {
    ptx::testing::run(kernel(body, more), blocks, threads, addresses);
  } catch (fault const& f) {
    return {f.code, f.what()};
  }
  return {0, ""};
}
/// the same of a program that ran before
std::pair<int, std::string> fault_of(program const& p, dimensions blocks, dimensions threads,
                                     std::vector<std::uint64_t> addresses) {
  try {
    ptx::testing::run(p, blocks, threads, addresses);
  } catch (fault const& f) {
    return {f.code, f.what()};
  }
  return {0, ""};
}
void says(std::pair<int, std::string> const& found, int code, std::string const& text) {
  CAPTURE(found.second);
  CHECK(found.first == code);
  CHECK(found.second.find(text) != std::string::npos);
}
std::string const store = "mad.wide.u32 %l10, %r0, 4, %l1;\nst.global.u32 [%l10], %r0;";
std::string const tile = ".shared .align 4 .b8 tile[256];\n.shared .align 4 .b8 next[4];\n";
/// %l13 = the thread's place in the tile, %l15 that of its neighbour
std::string const places = "mov.u64 %l12, tile;\nmad.wide.u32 %l13, %r1, 4, %l12;\nxor.b32 %r6, "
                           "%r1, 1;\nmad.wide.u32 %l15, %r6, 4, %l12;\n"
                           "xor.b32 %r7, %r1, 32;\nmad.wide.u32 %l16, %r7, 4, %l12;\n";
}  // namespace

TEST_SUITE_BEGIN("ptx/faults");

TEST_CASE("global memory is left") {
  buffer<std::uint32_t> out(256);
  CHECK(fault_of(store, {4}, {64}, {out.address(), 0, 0, 0}).first == 0);
  auto const left = fault_of(store, {}, {257}, {out.address(), 0, 0, 0});  // by one thread
  says(left, 700, "0 past the end of a block of 1024");
  says(left, 700, "block (0,0,0), thread (256,0,0)");
  says(fault_of("sub.u64 %l1, %l1, 8;\n" + store, {}, {1}, {out.address(), 0, 0, 0}), 700,
       "8 before a block");
  says(fault_of("add.u64 %l1, %l1, 2;\n" + store, {}, {1}, {out.address(), 0, 0, 0}), 716,
       "misaligned");
  says(fault_of("st.global.v4.u32 [%l1+8], {%r0, %r0, %r0, %r0};", {}, {1},
                {out.address(), 0, 0, 0}),
       716, "misaligned");
  says(fault_of("mov.u64 %l1, 64;\n" + store, {}, {1}), 700, "illegal address");
  int on_the_host = 0;
  says(fault_of(store, {}, {1}, {reinterpret_cast<std::uint64_t>(&on_the_host), 0, 0, 0}), 700,
       "illegal address");
  std::uint64_t freed;
  {
    buffer<std::uint32_t> gone(64);
    freed = gone.address();
  }
  says(fault_of(store, {}, {64}, {freed, 0, 0, 0}), 700, "illegal address");
}
TEST_CASE("what nobody wrote is read") {
  buffer<std::uint32_t> fresh(64), out(64);
  std::string const copy = "mad.wide.u32 %l11, %r0, 4, %l2;\nld.global.u32 %r5, "
                           "[%l11];\nmad.wide.u32 %l10, %r0, 4, %l1;\nst.global.u32 [%l10], %r5;";
  CHECK(fault_of(copy, {}, {64}, {out.address(), fresh.address(), 0, 0}).first == 0);
  CHECK(new_findings(finding::global_unwritten) == 64);
  CHECK(fault_of(copy, {}, {64}, {fresh.address(), out.address(), 0, 0}).first == 0);
  CHECK(new_findings(finding::global_unwritten) == 0);
  CHECK(fault_of(places + "ld.shared.u32 %r5, [%l13];", {}, {64}, {0, 0, 0, 0}, tile).first == 0);
  CHECK(new_findings(finding::shared_unwritten) == 64);
}
TEST_CASE("shared memory is left") {
  CHECK(fault_of(places + "st.shared.u32 [%l13], %r1;", {}, {64}, {0, 0, 0, 0}, tile).first == 0);
  says(fault_of(places + "st.shared.u32 [%l13+4], %r1;", {}, {64}, {0, 0, 0, 0}, tile), 700,
       "byte 256 of shared memory is in no variable");
  says(fault_of(places + "st.shared.u32 [%l13+65536], %r1;", {}, {64}, {0, 0, 0, 0}, tile), 700,
       "shared memory is left");
  says(fault_of(".local .align 4 .b8 own[8];\nmov.u64 %l11, own;\nst.local.u32 [%l11+8], %r1;", {},
                {1}),
       700, "local memory is left");
}
TEST_CASE("races in shared memory") {
  std::string const write = places + "st.shared.u32 [%l13], %r1;\n",
                    read = "ld.shared.u32 %r5, [%l15];", far = "ld.shared.u32 %r5, [%l16];";
  auto const races = [&](std::string const& body) {
    CHECK(fault_of(body, {}, {64}, {0, 0, 0, 0}, tile).first == 0);
    (void)new_findings(finding::shared_unwritten);
    return new_findings(finding::shared_race);
  };
  CHECK(races(write + "bar.sync 0;\n" + far) == 0);
  CHECK(races(write + "bar.warp.sync -1;\n" + read) == 0);
  CHECK(races(write + read) > 0);                         // lanes of one warp
  CHECK(races(write + "bar.warp.sync -1;\n" + far) > 0);  // warps
  CHECK(races(places + "st.shared.u32 [next], %r1;") > 0);
  CHECK(races(places + "atom.shared.add.u32 %r5, [next], %r1;") == 0);
  CHECK(races(write + "bar.sync 0;\n" + far + "\nst.shared.u32 [%l13], %r5;") >
        0);  // what others still read
}
TEST_CASE("races between blocks in global memory") {
  buffer<std::uint32_t> data(std::vector<std::uint32_t>(64)), flag(std::vector<std::uint32_t>(1));
  // block 0 writes a word and sets a flag, block 1 waits for the flag and reads the word
  auto const hand_over = [&](std::string const& before, std::string const& set,
                             std::string const& get, std::string const& behind,
                             std::string const& last = "ld.global.u32 %r5, [%l1];") {
    std::string const body =
        "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra READER;\nst.global.u32 [%l1], 7;\n" + before + "\n" +
        set + "\nret;\nREADER:\nWAIT:\n" + get + "\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra WAIT;\n" +
        behind + "\n" + last;
    flag.set(0, 0);
    CHECK(fault_of(body, {2}, {1}, {data.address(), flag.address(), 0, 0}).first == 0);
    return new_findings(finding::global_race);
  };
  std::string const fence = "fence.acq_rel.gpu;", set = "st.relaxed.gpu.global.u32 [%l2], 1;",
                    get = "ld.relaxed.gpu.global.u32 %r6, [%l2];";
  CHECK(hand_over(fence, set, get, fence) == 0);
  CHECK(hand_over("membar.gl;", "st.volatile.global.u32 [%l2], 1;",
                  "ld.volatile.global.u32 %r6, [%l2];", "membar.gl;") == 0);
  CHECK(hand_over("", "st.release.gpu.global.u32 [%l2], 1;",
                  "ld.acquire.gpu.global.u32 %r6, [%l2];", "") == 0);
  CHECK(hand_over(fence, "atom.global.add.u32 %r7, [%l2], 1;", "atom.global.or.b32 %r6, [%l2], 0;",
                  fence) == 0);
  CHECK(hand_over(fence, set, get, fence, "st.global.u32 [%l1], 8;") == 0);
  CHECK(hand_over("", set, get, fence) > 0);                    // nothing before the flag
  CHECK(hand_over(fence, set, get, "") > 0);                    // nothing behind it
  CHECK(hand_over("fence.acq_rel.cta;", set, get, fence) > 0);  // of the block alone
  CHECK(hand_over("", set, get, "", "st.global.u32 [%l1], 8;") > 0);
  CHECK(hand_over(fence, "st.global.u32 [%l2], 1;", get, fence) > 0);  // a flag that is none
  auto const races = [&](std::string const& body, std::uint32_t blocks = 4) {
    CHECK(fault_of(body, {blocks}, {1}, {data.address(), flag.address(), 0, 0}).first == 0);
    return new_findings(finding::global_race);
  };
  CHECK(races("st.global.u32 [%l1], %r0;") > 0);
  CHECK(races("st.global.u32 [%l1], %r0;", 1) == 0);
  CHECK(races("red.global.add.u32 [%l1], 1;") == 0);
  CHECK(races("red.global.add.u32 [%l1], 1;\nld.global.u32 %r5, [%l1];") > 0);
  CHECK(races("st.volatile.global.u32 [%l1], %r0;") == 0);
  CHECK(races("ld.global.u32 %r5, [%l1];") == 0);
  CHECK(
      races("setp.eq.u32 %p1, %r2, 3;\nld.global.u32 %r5, [%l1];\n@%p1 st.global.u32 [%l1], %r0;") >
      0);  // what others read
  // block 0 reads a word and sets a flag without a fence, or the other way; block 1 waits for it and writes the word
  auto const read_and_let_write = [&](std::string const& of_0, std::string const& of_1) {
    flag.set(0, 0);
    CHECK(fault_of("setp.ne.u32 %p1, %r2, 0;\n@%p1 bra WRITER;\n" + of_0 + "\nret;\nWRITER:\n" +
                       of_1 + "\nst.global.u32 [%l1], 8;",
                   {2}, {1}, {data.address(), flag.address(), 0, 0})
              .first == 0);
    return new_findings(finding::global_race);
  };
  std::string const reads = "ld.global.u32 %r5, [%l1];\n";
  CHECK(read_and_let_write(reads + set, get) == 0);
  CHECK(read_and_let_write(set + reads, get) > 0);  // the flag comes too early
  CHECK(read_and_let_write(reads + set, "") > 0);   // nobody waits
  CHECK(read_and_let_write(reads + "st.global.u32 [%l2], 1;", get) > 0);  // two: the flag is none
  // block 0 writes and sets a flag; block 1 sets the next one and knows nothing of it; block 2 asks the first
  buffer<std::uint32_t> two(std::vector<std::uint32_t>(4));
  CHECK(fault_of("setp.eq.u32 %p1, %r2, 1;\n@%p1 st.release.gpu.global.u32 [%l2+4], 1;\n@%p1 ret;\n"
                 "setp.eq.u32 %p1, %r2, 2;\n@%p1 bra READER;\nst.global.u32 [%l1], 7;\n"
                 "st.release.gpu.global.u32 [%l2], 1;\nret;\nREADER:\n"
                 "ld.acquire.gpu.global.u32 %r6, [%l2];\nld.global.u32 %r5, [%l1];",
                 {3}, {1}, {data.address(), two.address(), 0, 0})
            .first == 0);
  CHECK(new_findings(finding::global_race) == 0);
  // bytes of one word, each of another block
  CHECK(races("cvt.u64.u32 %l10, %r2;\nadd.u64 %l10, %l10, %l1;\nst.global.u8 [%l10], %r0;") == 0);
  CHECK(
      races("shr.u32 %r5, %r2, 1;\ncvt.u64.u32 %l10, %r5;\nadd.u64 %l10, %l10, %l1;\nst.global.u8 "
            "[%l10], %r0;") > 0);
}
TEST_CASE("a kernel that may read shared memory that nobody wrote") {
  std::string const more = ".shared .align 4 .b8 room[64];\n", reads = "ld.shared.u32 %r5, [room];";
  options::instance().drops = "other kernel";
  CHECK(fault_of(reads, {}, {1}, {0, 0, 0, 0}, more).first == 0);
  CHECK(new_findings(finding::shared_unwritten) == 1);
  options::instance().drops = "test";
  CHECK(fault_of(reads, {}, {1}, {0, 0, 0, 0}, more).first == 0);
  CHECK(new_findings(finding::shared_unwritten) == 0);
  // what it reads is no zero, whatever the order of warps
  buffer<std::uint32_t> seen(1);
  std::uint32_t const before = options::instance().seed;
  for (std::uint32_t const seed : {0u, 7u, 0xd5u, 0x1d5u}) {
    options::instance().seed = seed;
    CHECK(fault_of(reads + "\nst.global.u32 [%l1], %r5;", {}, {1}, {seen.address(), 0, 0, 0}, more)
              .first == 0);
    CHECK(seen.values()[0] != 0);
  }
  options::instance().seed = before;
  options::instance().drops.clear();
}
TEST_CASE("memory that is given back between two launches") {
  auto fresh = std::make_unique<buffer<std::uint32_t>>(64);
  std::uint64_t const address = fresh->address();
  CHECK(fault_of(store, {}, {64}, {address, 0, 0, 0}).first == 0);
  fresh.reset();
  program const& same = last_program();
  says(fault_of(same, {}, {64}, {address, 0, 0, 0}), 700, "illegal address");
}
TEST_CASE("lanes are missing") {
  std::string const half = "mov.u32 %r4, %laneid;\nsetp.lt.u32 %p1, %r4, 16;\n";
  says(fault_of(half + "@%p1 shfl.sync.bfly.b32 %r5, %r4, 1, 31, 0xffff0000;", {}, {32}), 719,
       "a lane is not in the mask that it names");
  says(fault_of(half +
                    "@%p1 shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;\n@!%p1 bar.sync 0;\nbar.sync 1;",
                {}, {32}),
       719, "no thread of a block can go on");
  CHECK(fault_of(half + "@%p1 shfl.sync.bfly.b32 %r5, %r4, 16, 31, 0x0000ffff;", {}, {32}).first ==
        0);
  CHECK(new_findings(finding::stray_shuffle) > 0);
  CHECK(fault_of(half + "@%p1 exit;\nshfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;", {}, {32}).first ==
        0);
  CHECK(new_findings(finding::stray_shuffle) > 0);
}
TEST_CASE("barriers that nobody opens, or that lanes reach apart") {
  std::string const first = "setp.lt.u32 %p1, %r1, 32;\n";
  auto const stuck = fault_of(first + "@%p1 bar.sync 0, 96;", {}, {64});
  says(stuck, 719, "no thread of a block can go on");
  says(stuck, 719, "bar.sync 0, 96");
  std::string const parted = "and.b32 %r5, %r1, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra "
                             "A;\nbar.sync 0;\nbra B;\nA:\nbar.sync 0;\nB:";
  CHECK(fault_of(parted, {}, {64}).first == 0);
  CHECK(new_findings(finding::divergent_barrier) > 0);
  says(fault_of("bar.sync 16;", {}, {32}), 719, "there are 16 barriers");
}
TEST_CASE("what ends a kernel by itself") {
  says(fault_of("trap;", {}, {1}), 719, "trap");
  says(fault_of("wmma.nothing.at.all %r1, %r2;", {}, {1}), 801, "does not know this instruction");
  std::string const endless =
      ".func deep (.param .b32 n)\n{\n.local .align 4 .b8 room[4096];\n.param .b32 "
      "a;\nst.param.b32 [a], 1;\ncall.uni deep, (a);\nret;\n}\n";
  says(fault_of("{\n.param .b32 a;\nst.param.b32 [a], 1;\ncall.uni deep, (a);\n}", {}, {1},
                {0, 0, 0, 0}, endless),
       719, "the stack of a thread is full");
  says(fault_of("brx.idx %r0, T;\nT: .branchtargets A;\nA:", {}, {2}), 718,
       "a branch past its table");
}
TEST_CASE("texts that are no PTX") {
  CHECK_THROWS_WITH_AS((void)load(heading + ".visible .entry test( {"),
                       doctest::Contains("PTX line 4"), error const&);
  CHECK_THROWS_AS((void)load(kernel("add.u32 %r1, %r2")), error const&);
  CHECK_THROWS_AS((void)load(kernel("ld.global.u32 %r1, [%l1, {%r2}];")), error const&);
}
TEST_SUITE_END();
