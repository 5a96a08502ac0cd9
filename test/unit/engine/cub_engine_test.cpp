// SPDX-License-Identifier: Apache-2.0
// Whose kernels a unit with CUB's engine launches, over a recorder: which statements are CUB's, that they run in
// the order of the queue, that their workspace is there before the first step, and what a failure says.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 2
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>
#include <string>

#include <unistd.h>

#include <locus/locus.hpp>
#include <message_of.hpp>

namespace cub_engine_test {

using namespace locus;

namespace {
using Row = Tensor<float, Dextents<1>, GpuDevice<0>>;
using Grid = Tensor<float, Dextents<2>, GpuDevice<0>>;
constexpr char const *fold = "cub::DeviceReduce", *transform = "cub::DeviceTransform",
                     *loop = "cub::DeviceFor";

/// means: what f launched: CUB's kernels of that name, and those of locus
struct launched {
  std::int64_t cub, own;
  friend bool operator==(launched const&, launched const&) = default;
};
template <class F>
launched by(testing::recorder& record, char const* name, F&& f) {
  auto const cub = record.calls(name), own = record.calls("launch");
  f();
  return {record.calls(name) - cub, record.calls("launch") - own};
}
}  // namespace

TEST_CASE(
    "dense maps are CUB's; what lies otherwise, and the elements that vectors leave, are not") {
  testing::recorder record;
  std::int64_t const n = 1 << 18;
  for (std::int64_t size : {std::int64_t(1000), n}) {
    Row x = to<GpuDevice<0>>(iota<float>(dextents<1>(size)));
    Row y{dextents<1>(size)};
    CHECK(by(record, transform, [&] { y = 2.f * x; }) == launched{1, 0});
    CHECK(by(record, transform, [&] { y = y + x; }) == launched{1, 0});
    CHECK(by(record, loop, [&] { y = zeros<float>(y.extents()); }) == launched{1, 0});
    CHECK(by(record, loop, [&] { y = iota<float>(y.extents(), 3.f) * 2.f; }) == launched{1, 0});
    auto const host = fetch(y);
    bool all = true;
    for (std::int64_t i = 0; i < size; ++i) all = all && host(i) == 2.f * (float(i) + 3.f);
    CHECK(all);
  }
  Row odd = to<GpuDevice<0>>(iota<float>(dextents<1>(n + 3)));
  Row more{dextents<1>(n + 3)};
  CHECK(by(record, transform, [&] { more = 2.f * odd; }) == launched{1, 1});  // the last three
  CHECK(fetch(more)(n + 2) == 2.f * float(n + 2));
  CHECK(fetch(more)(n - 1) == 2.f * float(n - 1));
  Row few = to<GpuDevice<0>>(iota<float>(dextents<1>(1003)));
  Row twice{dextents<1>(1003)};
  CHECK(by(record, transform, [&] { twice = 2.f * few; }) ==
        launched{0, 1});  // one launch is quicker than two
  CHECK(fetch(twice)(1002) == 2004.f);
  Row part{dextents<1>(1000)};
  CHECK(by(record, transform, [&] { part = 2.f * slice(few, range{1, 1001}); }) == launched{0, 1});
  CHECK(fetch(part)(0) == 2.f);
  Grid const z = to<GpuDevice<0>>(iota<float>(dextents<2>(20, 50)));
  Grid turned{dextents<2>(50, 20)};
  CHECK(by(record, transform, [&] { turned = 2.f * transpose(z); }) == launched{0, 1});
  CHECK(fetch(turned)(1, 2) == 2.f * 101.f);
  Row empty{dextents<1>(0)};
  CHECK(by(record, transform, [&] { empty = 2.f * empty; }) == launched{0, 0});
}

TEST_CASE("folds of a whole value are CUB's, with broadcasts, maps and what follows them") {
  testing::recorder record;
  Grid const z = to<GpuDevice<0>>(iota<float>(dextents<2>(20, 64)));
  Row const row = to<GpuDevice<0>>(iota<float>(dextents<1>(64)));
  float r = 0;
  CHECK(by(record, fold, [&] { r = fetch(sum(z)); }) == launched{1, 0});
  CHECK(r == 1280.f * 1279.f / 2);
  CHECK(by(record, fold, [&] { r = fetch(max(z - row)); }) == launched{1, 0});
  CHECK(r == 19 * 64.f);
  CHECK(by(record, fold, [&] { r = fetch(sum(z) + max(z)); }).own == 0);
  CHECK(r == 1280.f * 1279.f / 2 + 1279.f);
  CHECK(by(record, fold, [&] { r = float(fetch(argmax(z * -1.f))); }) == launched{1, 0});
  CHECK(r == 0);
  for (std::int64_t n : {0, 1, 3, 4, 1003})  // what vectors leave, in front of them and behind them
    for (std::int64_t from : {0, 1, 3}) {
      Row const all = to<GpuDevice<0>>(iota<float>(dextents<1>(n + 3)));
      auto const x = slice(all, range{from, from + n});
      CHECK(by(record, fold, [&] { r = fetch(sum(x)); }) == launched{1, 0});
      CHECK(r == float(n * (n - 1) / 2 + n * from));
      auto const y = slice(all, range{2, n + 2});
      CHECK(by(record, fold, [&] { r = fetch(sum(x - y)); }).cub == 0);  // at other places
      CHECK(r == float(n * (from - 2)));
    }
  Row sums{dextents<1>(20)};
  CHECK(by(record, fold, [&] { sums = sum<1>(z); }) == launched{0, 1});  // several outputs
  CHECK(fetch(sums)(0) == 64.f * 63.f / 2);
  CHECK(by(record, fold, [&] { r = fetch(sum(transpose(z) * 2.f)); }).cub == 0);
  CHECK(r == 1280.f * 1279.f);
  // lines that are no whole vectors
  CHECK(by(record, fold, [&] { r = fetch(sum(slice(z, range{0, 20}, range{1, 30}))); }).cub == 0);
  double want = 0;
  for (int i = 0; i < 20; ++i)
    for (int j = 1; j < 30; ++j) want += i * 64 + j;
  CHECK(double(r) == want);
}

TEST_CASE("a fold over no axes is of one number, by a kernel of locus") {
  testing::recorder record;
  Tensor<float, Extents<>, GpuDevice<0>> s;
  s = full<float>(Extents<>{}, 3.f);
  float r = 0;
  CHECK(by(record, fold, [&] { r = fetch(sum(s + s)); }) == launched{0, 1});
  CHECK(r == 6);
  CHECK(fetch(max(s * 2.f)) == 6);
  Row const x = to<GpuDevice<0>>(iota<float>(dextents<1>(100)));
  CHECK(all_close(sum(x), sum(x * 1.f), 1e-6, 1e-6));
  CHECK(!all_close(sum(x), sum(x * 2.f), 1e-6, 1e-6));
}

TEST_CASE(
    "a question for workspace launches nothing, and the workspace is there before the first step") {
  testing::recorder record;
  Row x = to<GpuDevice<0>>(iota<float>(dextents<1>(5000)));
  Tensor<float, Extents<>, GpuDevice<0>> s;
  auto const step = plan(into(s, sum(x)));
  run(step);
  auto const obtained = record.calls("malloc_device"), asked = record.calls("algorithm_bytes");
  CHECK(asked == 1);
  run(step);
  CHECK(record.calls("malloc_device") == obtained);
  CHECK(record.calls("algorithm_bytes") == asked);  // the answer is kept
  CHECK(record.calls(fold) == 2);
  CHECK(fetch(s) == 5000.f * 4999.f / 2);
}

namespace {
/// means: what the log says of the kernels of f's steps on GPUs, each launch's behind the other's
template <class F>
std::string logged(F&& f) {
  std::string names;
  debugging::set_log_sink(
      [](log_event const& e, std::string_view, void* to) {
        if (e.kind != event_kind::step) return;
        auto& all = *static_cast<std::string*>(to);
        all += all.empty() ? "" : ", ";
        all += e.kernel;
      },
      &names);
  debugging::set_log_device_placement(true, log_frequency::every);
  f();
  debugging::set_log_device_placement(false);
  debugging::set_log_sink(nullptr);
  return names;
}
template <class X>
bool explains(X const& x, char const* line) {
  std::ostringstream text;
  explain(text, x);
  return text.str().find(line) != std::string::npos;
}
}  // namespace

TEST_CASE("the log names the kernels that run, the plan those that its types are sure of") {
  testing::recorder record;
  std::int64_t const n = 1 << 18;
  Row const x = to<GpuDevice<0>>(iota<float>(dextents<1>(n)));
  Row y{dextents<1>(n)};
  auto const launches = record.calls("launch"), transforms = record.calls(transform);
  CHECK(logged([&] { y = -x; }) == transform);
  CHECK(record.calls(transform) == transforms + 1);  // to say its name launches nothing
  CHECK(record.calls("launch") == launches);
  CHECK(logged([&] { y = zeros<float>(y.extents()); }) == loop);
  Row odd{dextents<1>(n + 3)};
  Row const more = to<GpuDevice<0>>(iota<float>(dextents<1>(n + 3)));
  CHECK(logged([&] { odd = -more; }) == "cub::DeviceTransform + point_map");
  Row part{dextents<1>(1000)};
  CHECK(logged([&] { part = -slice(x, range{1, 1001}); }) == "line_map");
  CHECK(logged([&] { part = -slice(x, range{4, 1004}); }) == transform);
  CHECK(logged([&] { static_cast<void>(fetch(sum(x))); }) == fold);
  Grid const z = to<GpuDevice<0>>(iota<float>(dextents<2>(20, 64)));
  Row sums{dextents<1>(20)};
  CHECK(logged([&] { sums = sum<1>(z); }) == "fold_rows");
  Grid square{dextents<2>(20, 20)};
  CHECK(logged([&] { square = matmul(z, transpose(z)); }) == "cuBLAS");

  CHECK(explains(-x, "launch on /GPU:0 by cub::DeviceTransform or a kernel of locus"));
  CHECK(explains(sum(2.f * x), "launch on /GPU:0 by cub::DeviceReduce\n"));
  CHECK(explains(sum(x * y), "by cub::DeviceReduce or a kernel of locus\n"));
  CHECK(explains(max(slice(x, range{1, 5})), "by cub::DeviceReduce or a kernel of locus\n"));
  Tensor<float, Extents<20, 64>, GpuDevice<0>> const fixed;
  Tensor<float, Extents<64>, GpuDevice<0>> const line;
  CHECK(explains(-fixed, "by cub::DeviceTransform\n"));
  CHECK(explains(zeros<float>(Extents<20, 64>{}) + iota<float>(Extents<20, 64>{}),
                 "by cub::DeviceFor\n"));
  // memory of others begins wherever it likes
  CHECK(explains(-view<GpuDevice<0>>(fixed.data(), Extents<20, 64>{}),
                 "by cub::DeviceTransform or a kernel of locus\n"));
  CHECK(explains(fixed + line, "by a kernel of locus\n"));
  CHECK(explains(sum(fixed * line), "by cub::DeviceReduce\n"));
  CHECK(explains(sum(fixed + slice(fixed, range{0, 1})), "or a kernel of locus\n"));
  CHECK(explains(sum<1>(fixed), "by a kernel of locus\n"));
  CHECK(plan_of<decltype(sum(fixed))>.explain().view().find("by cub::DeviceReduce\n") !=
        std::string_view::npos);
  auto const same_bits =
      plan_of<decltype(sum(fixed)), nowhere, reproducible<follow_data>>.explain().view();
  CHECK(same_bits.starts_with("plan under reproducible<follow_data>\n"));
  CHECK(same_bits.find("by a kernel of locus\n") != std::string_view::npos);
}

TEST_CASE("a launch of more kernels than have a place in a log says so") {
  char const names[] = "abcdefghij";
  auto const text_of = [&](std::size_t n) {
    kernel_list kernels;
    for (std::size_t k = 0; k < 2 * n; ++k) kernels.add(std::string_view(names + k % n, 1));
    message text;
    return std::string((text << kernels).view());
  };
  CHECK(text_of(1) == "a");
  CHECK(text_of(8) == "a + b + c + d + e + f + g + h");
  CHECK(text_of(9) == "a + b + c + d + e + f + g + h + others");
}

TEST_CASE("a column is no row: the plan is not sure of CUB where the fold is not CUB's") {
  testing::recorder record;
  using Cube = Tensor<float, Extents<2, 32, 64>, GpuDevice<0>>;
  Tensor<float, Extents<64, 64>, GpuDevice<0>> const x;
  Tensor<float, Extents<64, 1>, GpuDevice<0>> const column;
  Tensor<float, Extents<1, 64>, GpuDevice<0>> const line;
  Tensor<float, Extents<32, 1>, GpuDevice<0>> const short_column;
  Tensor<float, Extents<32, 64>, GpuDevice<0>> const plane;
  Cube const deep;
  auto const runs = [](auto const& e) { return logged([&] { static_cast<void>(fetch(e)); }); };
  CHECK(runs(sum(x * column)).find(fold) == std::string::npos);
  CHECK(explains(sum(x * column), "by a kernel of locus\n"));
  CHECK(runs(sum(deep * short_column)).find(fold) == std::string::npos);
  CHECK(explains(sum(deep * short_column), "by a kernel of locus\n"));
  CHECK(runs(sum(x * line)).find(fold) == 0);
  CHECK(explains(sum(x * line), "by cub::DeviceReduce\n"));
  using Gpu = GpuDevice<0>;
  static_assert(plan_of<decltype(sum(x * column))>.cub_workspace<Gpu>() == 0);
  static_assert(plan_of<decltype(sum(x * line))>.cub_workspace<Gpu>() ==
                most_cub_totals * 16 + 256);
  static_assert(plan_of<decltype(x * line)>.cub_workspace<Gpu>() == 0);
  CHECK(runs(sum(deep * plane)).find(fold) == 0);
  CHECK(explains(sum(deep * plane), "by cub::DeviceReduce\n"));
}

namespace {
/// means: y = e runs these kernels, and its plan says that line
template <class Y, class E>
void check_pieces(Y& y, E const& e, std::string const& kernels, char const* line) {
  CAPTURE(line);
  CHECK(logged([&] { y = e; }) == kernels);
  CHECK(explains(plan(into(y, e)), line));
}
}  // namespace

TEST_CASE("the plan is sure of CUB over pieces where each of them is CUB's") {
  testing::recorder record({.cards = 2});
  using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
  using Columns = Sharded<1, GpuDevice<0>, GpuDevice<1>>;
  constexpr char const *sure = "by cub::DeviceFor\n",
                       *perhaps = "by cub::DeviceFor or a kernel of locus\n";
  std::string const both = std::string(loop) + ", " + loop;
  Tensor<float, Extents<4, 6>, Rows> even;
  check_pieces(even, iota<float>(Extents<4, 6>{}), both, sure);
  using Long = Extents<2, (1 << 17) + 1>;
  Tensor<float, Long, Rows> odd;  // the second piece begins within a vector
  check_pieces(odd, iota<float>(Long{}), "cub::DeviceFor + point_map, line_map", perhaps);
  Tensor<float, Extents<4, 8>, Columns> columns;  // numbers of a piece have gaps
  check_pieces(columns, iota<float>(Extents<4, 8>{}), "line_map, line_map", perhaps);
  Tensor<float, Extents<1, 8>, Columns> line;
  check_pieces(line, iota<float>(Extents<1, 8>{}), both, sure);
}

TEST_CASE("pieces of tensors and folds of pieces, by CUB and by locus") {
  testing::recorder record({.cards = 2});
  using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>>;
  using Columns = Sharded<1, GpuDevice<0>, GpuDevice<1>>;
  auto const both = [](std::string const& name) { return name + ", " + name; };
  Tensor<float, Extents<4, 8>, Columns> columns;
  check_pieces(columns, columns * 2.f, both(transform), "by cub::DeviceTransform\n");
  Tensor<float, Extents<7>, Rows> uneven;  // 4 and 3
  check_pieces(uneven, uneven * 2.f, "cub::DeviceTransform, point_map",
               "by cub::DeviceTransform or a kernel of locus\n");
  Tensor<float, Extents<3, 2>, Columns> small;
  check_pieces(small, small * 2.f, both("point_map"), "by a kernel of locus\n");

  Tensor<float, Extents<>, GpuDevice<0>> total;
  Tensor<float, Extents<4, 6>, Columns> const narrow;
  Tensor<float, Extents<4, 6>, Rows> const wide;
  auto const numbers = iota<float>(Extents<4, 6>{});
  check_pieces(total, sum(narrow), both(fold), "by cub::DeviceReduce\n");
  auto const cut = logged([&] { total = sum(narrow + numbers); });
  CHECK(cut.find("fold_rows") != std::string::npos);
  CHECK(cut.find(fold) == std::string::npos);
  CHECK(explains(plan(into(total, sum(narrow + numbers))),
                 "by cub::DeviceReduce or a kernel of locus\n"));
  auto const in_front = logged([&] { total = sum(wide + numbers); });
  CHECK(in_front.find(fold) != std::string::npos);
  CHECK(in_front.find("fold_rows") == std::string::npos);
  CHECK(explains(plan(into(total, sum(wide + numbers))), "by cub::DeviceReduce\n"));
}

TEST_CASE("a trace names the kernels of a step") {
  testing::recorder record;
  auto const path = "/tmp/locus_" + std::to_string(getpid()) + "_kernels.json";
  Row x = to<GpuDevice<0>>(iota<float>(dextents<1>(1000)));
  debugging::start_trace(path);
  x = -x;
  static_cast<void>(fetch(sum(x)));
  debugging::stop_trace();
  std::string text;
  if (std::FILE* const file = std::fopen(path.c_str(), "r")) {
    for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
    std::fclose(file);
  }
  std::remove(path.c_str());
  CHECK(text.find("\"kernel\":\"cub::DeviceTransform\"") != std::string::npos);
  CHECK(text.find("\"kernel\":\"cub::DeviceReduce\"") != std::string::npos);
}

TEST_CASE("a kernel of CUB that fails is named, and nothing is lost") {
  testing::recorder record;
  Row x = to<GpuDevice<0>>(iota<float>(dextents<1>(5000)));
  Row y{dextents<1>(5000)};
  record.fail_next(fold, 98);
  auto const of_fold = message_of([&] { static_cast<void>(fetch(sum(x))); });
  CHECK(of_fold.find(fold) != std::string::npos);
  CHECK(of_fold.find("/GPU:0") != std::string::npos);
  record.fail_next(transform, 98);
  CHECK(message_of([&] { y = 2.f * x; }).find(transform) != std::string::npos);
  y = 2.f * x;
  CHECK(fetch(sum(y)) == 5000.f * 4999.f);
}

TEST_CASE("of units with several engines the one with CUB's makes the kernel of all") {
  runtime::kernel_entry own, cub;
  own.of = {"N5locus40mode_k110103_i000002000_exact_prefer_gpu4thatE", 8, 8};
  cub.of = {"N5locus40mode_k210103_i000002000_exact_prefer_gpu4thatE", 8, 8};
  runtime::work_id const wanted{"N5locus40mode_k010103_i000002000_exact_prefer_gpu4thatE", 8, 8};
  for (auto [first, second] : {std::pair{&own, &cub}, std::pair{&cub, &own}}) {
    runtime::kernel_registry kernels;
    kernels.add(*first);
    kernels.add(*second);
    CHECK(kernels.find(wanted) == &cub);
    kernels.remove(cub);
    CHECK(kernels.find(wanted) == &own);
  }
}

}  // namespace cub_engine_test
