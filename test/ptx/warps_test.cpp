// SPDX-License-Identifier: Apache-2.0
// What lanes do together: shuffles, votes, barriers, branches that part and meet, calls, memory of each kind.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <numeric>

#include "launch.hpp"

namespace {
using namespace ptx;
using namespace ptx::testing;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// body leaves a number in %r10; what thread k of `threads` should have
void lanes(std::string const& body, std::function<u32(u32)> const& expected, u32 threads = 64,
           std::string const& more = "", u32 shared = 0) {
  CAPTURE(body);
  buffer<u32> out(threads);
  ptx::testing::run(
      kernel(body + "\nmad.wide.u32 %l10, %r0, 4, %l1;\nst.global.u32 [%l10], %r10;", more), {},
      {threads}, {out.address(), 0, 0, 0}, shared);
  auto const found = out.values();
  for (u32 k = 0; k < threads; ++k) {
    CAPTURE(k);
    CHECK(found[k] == expected(k));
  }
}
u32 mixed(u32 k) { return k * 2654435761u; }
/// %r4 = the lane's number, %r5 = a number that says which thread it is
std::string const numbers = "mov.u32 %r4, %laneid;\nmul.lo.u32 %r5, %r1, 2654435761;\n";
}  // namespace

TEST_SUITE_BEGIN("ptx/warps");

TEST_CASE("shuffles") {
  lanes(numbers + "shfl.sync.bfly.b32 %r10, %r5, 5, 31, -1;", [](u32 k) { return mixed(k ^ 5); });
  lanes(numbers + "shfl.sync.up.b32 %r10, %r5, 3, 0, -1;",
        [](u32 k) { return mixed(k % 32 < 3 ? k : k - 3); });
  lanes(numbers + "shfl.sync.down.b32 %r10, %r5, 4, 31, -1;",
        [](u32 k) { return mixed(k % 32 > 27 ? k : k + 4); });
  lanes(numbers + "shfl.sync.idx.b32 %r10, %r5, 7, 31, -1;",
        [](u32 k) { return mixed(k / 32 * 32 + 7); });
  // segments of 8 lanes
  lanes(numbers + "shfl.sync.down.b32 %r10|%p1, %r5, 2, 0x1807, -1;\nselp.u32 %r6, 1, 0, "
                  "%p1;\nadd.u32 %r10, %r10, %r6;",
        [](u32 k) { return k % 8 > 5 ? mixed(k) : mixed(k + 2) + 1; });
  lanes(numbers + "shfl.sync.idx.b32 %r10, %r5, 1, 0x1c03, -1;",
        [](u32 k) { return mixed(k / 4 * 4 + 1); });
  // two halves of a warp, each with a mask of its own, in a branch of its own
  lanes(numbers + "setp.lt.u32 %p1, %r4, 16;\n@%p1 bra A;\nshfl.sync.bfly.b32 %r10, %r5, 1, 31, "
                  "0xffff0000;\nbra B;\n"
                  "A:\nshfl.sync.bfly.b32 %r10, %r5, 2, 31, 0x0000ffff;\nB:",
        [](u32 k) { return mixed(k % 32 < 16 ? k ^ 2 : k ^ 1); });
}
TEST_CASE("votes, matches and sums of a warp") {
  std::string const third = numbers + "rem.u32 %r6, %r1, 3;\nsetp.eq.u32 %p1, %r6, 0;\n";
  auto const ballot = [](u32 k) {
    u32 m = 0;
    for (u32 l = 0; l < 32; ++l) m |= u32((k / 32 * 32 + l) % 3 == 0) << l;
    return m;
  };
  lanes(third + "vote.sync.ballot.b32 %r10, %p1, -1;", ballot);
  lanes(third + "vote.sync.ballot.b32 %r10, !%p1, -1;", [&](u32 k) { return ~ballot(k); });
  std::string const as_number = "selp.u32 %r10, 1, 0, %p2;";
  lanes(third + "vote.sync.any.pred %p2, %p1, -1;" + as_number, [](u32) { return 1; });
  lanes(third + "vote.sync.all.pred %p2, %p1, -1;" + as_number, [](u32) { return 0; });
  lanes(third + "vote.sync.uni.pred %p2, %p1, -1;" + as_number, [](u32) { return 0; });
  lanes(numbers + "setp.lt.u32 %p1, %r4, 99;\nvote.sync.all.pred %p2, %p1, -1;" + as_number,
        [](u32) { return 1; });
  lanes(third + "activemask.b32 %r10;\n@%p1 activemask.b32 %r10;",
        [&](u32 k) { return k % 3 == 0 ? ballot(k) : ~0u; });
  auto const alike = [](u32 k) {
    u32 m = 0;
    for (u32 l = 0; l < 32; ++l) m |= u32((k / 32 * 32 + l) % 3 == k % 3) << l;
    return m;
  };
  lanes(third + "match.any.sync.b32 %r10, %r6, -1;", alike);
  lanes(third + "cvt.u64.u32 %l11, %r6;\nmatch.any.sync.b64 %r10, %l11, -1;", alike);
  lanes(third + "match.all.sync.b32 %r10|%p2, %r6, -1;", [](u32) { return 0; });
  lanes(third + "mov.u32 %r6, 4;\nmatch.all.sync.b32 %r10|%p2, %r6, -1;", [](u32) { return ~0u; });
  auto const fold = [](auto f) {
    return [f](u32 k) {
      u32 r = mixed(k / 32 * 32);
      for (u32 l = 1; l < 32; ++l) r = f(r, mixed(k / 32 * 32 + l));
      return r;
    };
  };
  lanes(numbers + "redux.sync.add.u32 %r10, %r5, -1;", fold([](u32 a, u32 b) { return a + b; }));
  lanes(numbers + "redux.sync.min.u32 %r10, %r5, -1;",
        fold([](u32 a, u32 b) { return a < b ? a : b; }));
  lanes(numbers + "redux.sync.max.s32 %r10, %r5, -1;",
        fold([](u32 a, u32 b) { return std::int32_t(a) > std::int32_t(b) ? a : b; }));
  lanes(numbers + "redux.sync.xor.b32 %r10, %r5, -1;", fold([](u32 a, u32 b) { return a ^ b; }));
  lanes(numbers + "redux.sync.or.b32 %r10, %r5, -1;", fold([](u32 a, u32 b) { return a | b; }));
  lanes(numbers + "redux.sync.and.b32 %r10, %r5, -1;", fold([](u32 a, u32 b) { return a & b; }));
  lanes(numbers + "elect.sync %r6|%p2, -1;\nselp.u32 %r10, 100, %r6, %p2;",
        [](u32 k) { return k % 32 == 0 ? 100u : 0u; });
}
TEST_CASE("branches part lanes, and they meet again") {
  // a loop of as many turns as the lane's number
  lanes("mov.u32 %r10, 0;\nmov.u32 %r6, 0;\nL:\nsetp.ge.u32 %p1, %r6, %r1;\n@%p1 bra E;\nadd.u32 "
        "%r10, %r10, %r6;\nadd.u32 %r6, %r6, 1;\nbra L;\nE:",
        [](u32 k) { return k * (k - 1) / 2; });
  lanes("rem.u32 %r6, %r1, 3;\nT: .branchtargets A, B, C;\nbrx.idx %r6, T;\nA:\nmov.u32 %r10, "
        "7;\nbra E;\nB:\nmov.u32 %r10, 8;\nbra E;\nC:\nmov.u32 %r10, 9;\nE:",
        [](u32 k) { return 7 + k % 3; });
  // lanes that end do not count for those that go on
  lanes("setp.lt.u32 %p1, %r1, 5;\n@%p1 bra D;\nbra E;\nD:\nmad.wide.u32 %l10, %r0, 4, "
        "%l1;\nst.global.u32 [%l10], 1;\nexit;\nE:\nbar.sync 0;\nmov.u32 %r10, 2;",
        [](u32 k) { return k < 5 ? 1u : 2u; });
  // lane 1 waits in a loop for what lane 0 writes later
  lanes(
      "mov.u32 %r10, 3;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra Z;\nW:\nld.volatile.shared.u32 %r6, "
      "[flag];\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra W;\nbra E;\n"
      "Z:\natom.shared.exch.b32 %r7, [flag], 5;\nE:",
      [](u32) { return 3; }, 2, ".shared .align 4 .u32 flag;\n");
  (void)new_findings(finding::shared_race), (void)new_findings(finding::shared_unwritten);
}
TEST_CASE("calls") {
  std::string const factorial =
      ".func (.param .b32 back) factorial (.param .b32 n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<8>;\n"
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, 1;\nsetp.le.u32 %p1, %r1, 1;\n@%p1 bra OUT;\nsub.u32 "
      "%r3, %r1, 1;\n"
      "{\n.param .b32 a;\nst.param.b32 [a], %r3;\n.param .b32 r;\ncall.uni (r), factorial, "
      "(a);\nld.param.b32 %r4, [r];\n}\n"
      "mul.lo.u32 %r2, %r1, %r4;\nOUT:\nst.param.b32 [back], %r2;\nret;\n}\n";
  lanes(
      "rem.u32 %r6, %r1, 11;\n{\n.param .b32 a;\nst.param.b32 [a], %r6;\n.param .b32 r;\ncall.uni "
      "(r), factorial, (a);\nld.param.b32 %r10, [r];\n}",
      [](u32 k) {
        u32 f = 1;
        for (u32 n = k % 11; n > 1; --n) f *= n;
        return f;
      },
      64, factorial);
}
TEST_CASE("shared memory and barriers") {
  std::string const turn = "mul.wide.u32 %l11, %r1, 4;\nmov.u64 %l12, tile;\nadd.u64 %l13, %l12, "
                           "%l11;\nst.shared.u32 [%l13], %r1;\nbar.sync 0;\n"
                           "xor.b32 %r6, %r1, 63;\nmul.wide.u32 %l14, %r6, 4;\nadd.u64 %l15, %l12, "
                           "%l14;\nld.shared.u32 %r10, [%l15];";
  for (u32 seed : {0u, 3u, 8u}) {
    options::instance().seed = seed;
    lanes(turn, [](u32 k) { return k ^ 63; }, 64, ".shared .align 4 .b8 tile[256];\n");
    // what a launch adds
    lanes(turn, [](u32 k) { return k ^ 63; }, 64, ".extern .shared .align 4 .b8 tile[];\n", 256);
  }
  options::instance().seed = 0;
  CHECK(new_findings(finding::shared_race) == 0);
  CHECK(new_findings(finding::shared_unwritten) == 0);
  std::string const odd = "and.b32 %r6, %r1, 1;\nsetp.eq.u32 %p1, %r6, 1;\n";
  lanes(odd + "barrier.red.popc.u32 %r10, 0, %p1;", [](u32) { return 48; }, 96);
  lanes(
      odd + "barrier.red.or.pred %p2, 0, %p1;\nselp.u32 %r10, 1, 0, %p2;", [](u32) { return 1; },
      96);
  lanes(
      odd + "barrier.red.and.pred %p2, 0, %p1;\nselp.u32 %r10, 1, 0, %p2;", [](u32) { return 0; },
      96);
  // the first warp gives, the second takes: 64 threads at barrier 3
  lanes(
      "mov.u32 %r10, 0;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra G;\nbarrier.sync 3, "
      "64;\nld.shared.u32 %r10, [tile];\nbra E;\nG:\nst.shared.u32 [tile], 6;\nbarrier.arrive 3, "
      "64;\nE:",
      [](u32 k) { return k < 32 ? 0u : 6u; }, 64, ".shared .align 4 .b8 tile[4];\n");
  (void)new_findings(finding::shared_race);  // 32 lanes write the same number
}
TEST_CASE("loads and stores of every width") {
  // bytes with and without sign, pairs and fours, to and from the memory of a thread
  buffer<std::uint8_t> in([] {
    std::vector<std::uint8_t> v(64 * 16);
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<std::uint8_t>(k * 37 + 11);
    return v;
  }());
  buffer<u64> out(64);
  ptx::testing::run(
      kernel(
          "mad.wide.u32 %l11, %r0, 16, %l2;\nld.global.s8 %r11, [%l11+3];\nld.global.u8 %r12, "
          "[%l11+5];\nld.global.s16 %r13, [%l11+6];\n"
          "ld.global.v2.u32 {%r14, %r15}, [%l11+8];\nld.global.v4.u32 {%r16, _, %r18, %r19}, "
          "[%l11];\n"
          ".local .align 16 .b8 own[32];\nst.local.v4.b32 [own], {%r11, %r12, %r13, "
          "%r14};\nst.local.v2.b32 [own+16], {%r15, %r16};\n"
          "st.local.b16 [own+24], %r18;\nst.local.b8 [own+26], %r19;\nst.local.b8 [own+27], %r11;\n"
          "ld.local.b64 %l12, [own];\nld.local.b64 %l13, [own+8];\nld.local.b64 %l14, "
          "[own+16];\nld.local.u32 %r20, [own+24];\n"
          "cvt.u64.u32 %l15, %r20;\nxor.b64 %l12, %l12, %l13;\nxor.b64 %l12, %l12, %l14;\nxor.b64 "
          "%l12, %l12, %l15;\n"
          "mad.wide.u32 %l10, %r0, 8, %l1;\nst.global.u64 [%l10], %l12;"),
      {}, {64}, {out.address(), in.address(), 0, 0});
  auto const bytes = in.values();
  auto const found = out.values();
  for (u32 k = 0; k < 64; ++k) {
    auto const* const b = bytes.data() + 16 * k;
    u32 own[7], words[4];
    std::memcpy(words, b, 16);
    std::int16_t s16;
    std::memcpy(&s16, b + 6, 2);
    own[0] = u32(std::int32_t(std::int8_t(b[3]))), own[1] = b[5], own[2] = u32(std::int32_t(s16));
    own[3] = words[2], own[4] = words[3], own[5] = words[0];
    own[6] = (words[2] & 0xffff) | (words[3] & 0xff) << 16 | (own[0] & 0xff) << 24;
    u64 const pair[] = {u64(own[1]) << 32 | own[0], u64(own[3]) << 32 | own[2],
                        u64(own[5]) << 32 | own[4], own[6]};
    CHECK(found[k] == (pair[0] ^ pair[1] ^ pair[2] ^ pair[3]));
  }
}
TEST_CASE("addresses of every space, by one kind of pointer") {
  lanes(
      "mov.u64 %l11, box;\ncvta.shared.u64 %l12, %l11;\nmad.wide.u32 %l13, %r1, 4, %l12;\nst.u32 "
      "[%l13], %r1;\nld.u32 %r10, [%l13];\n"
      "isspacep.shared %p1, %l13;\nselp.u32 %r6, 100, 0, %p1;\nadd.u32 %r10, %r10, %r6;\n"
      ".local .align 4 .b8 mine[4];\nmov.u64 %l14, mine;\ncvta.local.u64 %l15, %l14;\nst.u32 "
      "[%l15], 1000;\nld.u32 %r7, [%l15];\nadd.u32 %r10, %r10, %r7;\n"
      "isspacep.global %p2, %l1;\nselp.u32 %r8, 10000, 0, %p2;\nadd.u32 %r10, %r10, %r8;\n"
      "cvta.to.shared.u64 %l16, %l13;\nld.shared.u32 %r9, [%l16];\nsub.u32 %r10, %r10, %r9;",
      [](u32) { return 11100; }, 64, ".shared .align 4 .b8 box[256];\n");
}
TEST_CASE("variables and constants") {
  lanes(
      "and.b32 %r6, %r1, 3;\nmul.wide.u32 %l11, %r6, 4;\nmov.u64 %l12, table;\nadd.u64 %l13, %l12, "
      "%l11;\nld.const.u32 %r10, [%l13];\n"
      "ld.global.u64 %l14, [where];\nld.global.u16 %r7, [%l14+2];\nadd.u32 %r10, %r10, %r7;",
      [](u32 k) { return (k % 4 + 1) * 10 + 300; }, 64,
      ".const .align 4 .b8 table[16] = {10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40};\n.global "
      ".align 2 .u16 pair[2] = {7, 300};\n.global .align 8 .u64 where = pair;\n");
}
TEST_CASE("atomics") {
  auto const total = [](std::string const& how, std::vector<u32> const& begin) {
    buffer<u32> out(begin);
    ptx::testing::run(kernel(how), {4}, {96}, {out.address(), 0, 0, 0});
    return out.values();
  };
  CHECK(total("red.global.add.u32 [%l1], %r1;", {5})[0] == 5 + 4 * 95 * 96 / 2);
  CHECK(total("atom.global.max.s32 %r6, [%l1], %r0;", {0})[0] == 383);
  CHECK(total("sub.u32 %r6, 0, %r0;\natom.global.min.s32 %r7, [%l1], %r6;", {0})[0] == u32(-383));
  CHECK(total("atom.global.and.b32 %r7, [%l1], 0xf0;", {0xff})[0] == 0xf0);
  CHECK(total("shl.b32 %r6, 1, %r2;\nred.global.or.b32 [%l1], %r6;", {0})[0] == 15);
  CHECK(total("atom.global.xor.b32 %r6, [%l1], 7;", {1})[0] == 1);
  CHECK(total("atom.global.inc.u32 %r6, [%l1], 99;", {0})[0] == 384 % 100);
  CHECK(total("atom.global.dec.u32 %r6, [%l1], 99;", {0})[0] == (400 - 384 % 100) % 100);
  CHECK(total("cvt.rn.f32.u32 %f1, %r1;\nred.global.add.f32 [%l1], %f1;", {0})[0] ==
        std::bit_cast<u32>(4.f * 95 * 96 / 2));
  // every thread takes a number of its own
  buffer<u32> at(std::vector<u32>{0}), taken(std::vector<u32>(384, 0));
  ptx::testing::run(kernel("atom.global.add.u32 %r6, [%l1], 1;\nmad.wide.u32 %l10, %r6, 4, "
                           "%l2;\nst.global.u32 [%l10], %r0;"),
                    {4}, {96}, {at.address(), taken.address(), 0, 0});
  auto all = taken.values();
  CHECK(std::accumulate(all.begin(), all.end(), 0u) == 383 * 384 / 2);
  // a lock by compare and swap: 384 turns of a sum that no atomic makes
  buffer<u32> lock(std::vector<u32>{0, 0});
  ptx::testing::run(kernel("W:\natom.global.cas.b32 %r6, [%l1], 0, 1;\nsetp.ne.u32 %p1, %r6, "
                           "0;\n@%p1 bra W;\nld.volatile.global.u32 %r7, [%l1+4];\n"
                           "add.u32 %r7, %r7, 2;\nst.volatile.global.u32 [%l1+4], "
                           "%r7;\natom.global.exch.b32 %r8, [%l1], 0;"),
                    {4}, {96}, {lock.address(), 0, 0, 0});
  CHECK(lock.values()[1] == 768);
}
TEST_CASE("copies to shared memory, and barriers that wait for them") {
  buffer<u32> in([] {
    std::vector<u32> v(256);
    for (u32 k = 0; k < 256; ++k) v[k] = mixed(k);
    return v;
  }());
  buffer<u32> out(64);
  std::string const back =
      "mul.wide.u32 %l14, %r1, 4;\nadd.u64 %l15, %l12, %l14;\nld.shared.u32 %r10, "
      "[%l15];\nmad.wide.u32 %l10, %r0, 4, %l1;\nst.global.u32 [%l10], %r10;";
  std::string const tile = ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b8 gate[8];\n";
  ptx::testing::run(
      kernel("mul.wide.u32 %l11, %r1, 16;\nmov.u64 %l12, tile;\nadd.u64 %l13, %l12, %l11;\nadd.u64 "
             "%l16, %l2, %l11;\ncp.async.cg.shared.global [%l13], [%l16], 16;\n"
             "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n" +
                 back,
             tile),
      {}, {64}, {out.address(), in.address(), 0, 0});
  for (u32 k = 0; k < 64; ++k) CHECK(out.values()[k] == mixed(k));
  // one thread asks for all of it, the others wait at a barrier in memory
  ptx::testing::run(
      kernel("mov.u64 %l12, tile;\nmov.u64 %l13, gate;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra "
             "R;\nmbarrier.init.shared.b64 [%l13], 1;\nR:\nbar.sync 0;\n@%p1 bra W;\n"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%l12], [%l2], "
             "1024, [%l13];\nmbarrier.arrive.expect_tx.shared.b64 %l17, [%l13], 1024;\n"
             "W:\nmbarrier.try_wait.parity.shared.b64 %p2, [%l13], 0;\n@!%p2 bra W;\n" +
                 back,
             tile),
      {}, {64}, {out.address(), in.address(), 0, 0});
  for (u32 k = 0; k < 64; ++k) CHECK(out.values()[k] == mixed(k));
  CHECK(new_findings(finding::shared_race) == 0);
  CHECK(new_findings(finding::shared_unwritten) == 0);
}
TEST_CASE("where a thread is") {
  buffer<u32> out(2 * 3 * 4 * 2 * 2 * 2);
  std::string const all = "mov.u32 %r11, %tid.y;\nmov.u32 %r12, %tid.z;\nmov.u32 %r13, "
                          "%ctaid.y;\nmov.u32 %r14, %ctaid.z;\nmov.u32 %r15, %nctaid.x;\n"
                          "mad.lo.u32 %r20, %r12, 3, %r11;\nmov.u32 %r16, %ntid.x;\nmad.lo.u32 "
                          "%r20, %r20, %r16, %r1;\n"  // in the block
                          "mad.lo.u32 %r21, %r14, 2, %r13;\nmad.lo.u32 %r21, %r21, %r15, "
                          "%r2;\nmad.lo.u32 %r22, %r21, 24, %r20;\n"
                          "mad.wide.u32 %l10, %r22, 4, %l1;\nmov.u32 %r23, %laneid;\nmov.u32 %r24, "
                          "%warpid;\nmov.u32 %r25, %lanemask_lt;\npopc.b32 %r26, %r25;\n"
                          "mad.lo.u32 %r27, %r24, 32, %r23;\nsub.u32 %r27, %r27, %r20;\nadd.u32 "
                          "%r27, %r27, %r26;\nst.global.u32 [%l10], %r27;";
  ptx::testing::run(kernel(all), {2, 2, 2}, {2, 3, 4}, {out.address(), 0, 0, 0});
  auto const found = out.values();
  for (u32 k = 0; k < found.size(); ++k) CHECK(found[k] == k % 24);
}
TEST_SUITE_END();
