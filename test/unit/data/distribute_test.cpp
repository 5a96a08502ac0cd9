// SPDX-License-Identifier: Apache-2.0
// Batches over replicas by both rules: what each replica gets, and what plans make of such pieces.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
// the backends come first
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include <locus/data/dataset.hpp>

#include "child.hpp"
#include "message_of.hpp"

namespace distribute_test {

using namespace locus;

namespace {

using Ceil = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
using Even = Mirrored<Balanced, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>;
static_assert(
    std::is_same_v<rows_over<Even>,
                   Sharded<0, Balanced, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>, GpuDevice<3>>>);

using Rows = Tensor<float, Dextents<2>>;

Rows counted(std::int64_t rows) {
  Rows x(rows, 2);
  for (std::int64_t i = 0; i < 2 * rows; ++i) x.data()[i] = float(i);
  return x;
}

/// bytes of piece k are the rows of the whole that the rule says
template <class Replicas>
void look_at_pieces(Rows const& x) {
  constexpr place cut = rows_over<Replicas>::value;
  auto const pieces = to<rows_over<Replicas>>(x);
  CHECK(equal(fetch(pieces), x));
  std::int64_t rows = 0;
  for (int k = 0; k < 4; ++k) {
    CHECK(pieces.block->pieces[k].extents[0] == cut.piece_size(x.extent(0), k));
    rows += pieces.block->pieces[k].extents[0];
  }
  CHECK(rows == x.extent(0));
}

}  // namespace

TEST_CASE("plans over balanced pieces: scattered, computed, reduced, scattered again") {
  on_backends([](backends::machine const&) {
    for (std::int64_t const n : {0, 1, 3, 5, 10, 22}) {
      auto const x = counted(n);
      look_at_pieces<Even>(x);
      look_at_pieces<Ceil>(x);
      if (n == 0) continue;
      auto const pieces = to<rows_over<Even>>(x);
      Tensor<float, Dextents<1>, Even> w(Dextents<1>(shape{1, {2}}));
      w = sum<0>(pieces * 2.f);  // an all-reduce
      auto const total = fetch(w);
      CHECK(total(0) == float(2 * n * (n - 1)));
      CHECK(total(1) == float(2 * n * n));
      CHECK(fetch(argmax(pieces)) == 2 * n - 1);  // the global number of an element
      Tensor<float, Dextents<2>, rows_over<Even>> back(n, 2);
      back = pieces + w;  // a mirrored operand beside pieces
      CHECK(fetch(back)(n - 1, 1) == float(2 * n - 1 + 2 * n * n));
      auto const square = fetch(to<rows_over<Even>>(matmul(transpose(pieces), pieces)));
      double corner = 0;  // terms of a matrix, reduced and scattered by rows
      for (std::int64_t i = 0; i < n; ++i) corner += double(2 * i) * double(2 * i + 1);
      CHECK(square(0, 1) == float(corner));
      CHECK(square(1, 0) == float(corner));
    }
  });
}

namespace {

using Labels = Tensor<std::int32_t, Dextents<1>>;
Labels labels(std::int64_t n) {
  Labels t(n);
  for (std::int64_t i = 0; i < n; ++i) t.data()[i] = static_cast<std::int32_t>(i);
  return t;
}
/// the pieces of each step, as TensorFlow's table writes them: "[0 1][2 3][] [4 5]..."
template <class Replicas>
std::string pieces_of(data::batch_rule const& rule, std::int64_t n, std::int64_t batch_size) {
  auto const t = labels(n);
  constexpr place cut = rows_over<Replicas>::value;
  std::string text;
  for (auto [x] : distribute<Replicas>(data::from_tensors(t).batch(batch_size, rule))) {
    auto const whole = fetch(x);
    if (!text.empty()) text += " ";
    for (int k = 0; k < cut.local_count(); ++k) {
      std::int64_t const begin = cut.piece_begin(x.extent(0), k);
      text += "[";
      for (std::int64_t i = 0; i < cut.piece_size(x.extent(0), k); ++i)
        text += (i ? " " : "") + std::to_string(whole(begin + i));
      text += "]";
      CHECK(x.block->pieces[k].extents[0] == cut.piece_size(x.extent(0), k));
    }
  }
  return text;
}
template <int... K>
using ceil_of = Mirrored<GpuDevice<K>...>;
template <int... K>
using even_of = Mirrored<Balanced, GpuDevice<K>...>;

}  // namespace

TEST_CASE("what each replica gets of each batch, by both rules") {
  on_few_backends([](backends::machine const&) {
    CHECK(pieces_of<ceil_of<0, 1, 2>>({}, 8, 4) == "[0 1][2 3][] [4 5][6 7][]");
    CHECK(pieces_of<even_of<0, 1, 2>>({}, 8, 4) == "[0 1][2][3] [4 5][6][7]");
    CHECK(pieces_of<ceil_of<0, 1>>({}, 9, 4) == "[0 1][2 3] [4 5][6 7] [8][]");
    CHECK(pieces_of<ceil_of<0, 1>>({}, 10, 4) == "[0 1][2 3] [4 5][6 7] [8][9]");
    CHECK(pieces_of<ceil_of<0, 1>>({.drop_remainder = true}, 9, 4) == "[0 1][2 3] [4 5][6 7]");
    CHECK(pieces_of<Even>({}, 10, 10) == "[0 1 2][3 4 5][6 7][8 9]");
    CHECK(pieces_of<Ceil>({}, 10, 10) == "[0 1 2][3 4 5][6 7 8][9]");
    CHECK(pieces_of<Even>({}, 5, 5) == "[0 1][2][3][4]");
    CHECK(pieces_of<Ceil>({}, 5, 5) == "[0 1][2 3][4][]");
    std::string
        said;  // smaller than the replicas: legal, and said once, if not of the last one alone
    debugging::set_log_sink([](log_event const&, std::string_view text,
                               void* all) { *static_cast<std::string*>(all) += text; },
                            &said);
    CHECK(pieces_of<Ceil>({}, 5, 4) == "[0][1][2][3] [4][][][]");
    CHECK(said.find("rows over") == std::string::npos);
    CHECK(pieces_of<Ceil>({}, 3, 2) == "[0][1][][] [2][][][]");
    debugging::set_log_sink(nullptr);
    static bool first = true;
    CHECK((said.find("batches of 2 rows over 4 replicas leave some of them without rows") !=
           std::string::npos) == first);
    first = false;
  });
}

TEST_CASE(
    "batches arrive on GPUs while the ones before are computed with, and are what they were") {
  on_backends([](backends::machine const& m) {
    auto const x = counted(64);
    auto const t = labels(64);
    auto set = data::from_tensors(x, t).shuffle({.seed = m.seed}).batch(9).prefetch(2);
    Tensor<float, Dextents<1>, Ceil> w(Dextents<1>(shape{1, {2}}));
    w = zeros<float>(w.extents());
    double last = -1;
    std::vector<int> before;
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::int64_t rows = 0;
      std::vector<int> order;
      for (auto [a, b] : distribute<Ceil>(set)) {
        REQUIRE(a.extent(0) == b.extent(0));
        if (m.gpus == 0)
          for (int k = 0; k < 4; ++k)
            order.insert(order.end(), b.data(k), b.data(k) + b.block->pieces[k].extents[0]);
        rows += a.extent(0);
        w = w + sum<0>(a);  // issued, not waited for
      }
      CHECK(rows == 64);
      CHECK((m.gpus > 0 || order != before));  // another epoch, though nobody says so
      before = order;
    }
    for (auto&& [a, b] : distribute<Ceil>(set)) {  // left while the next one is under way
      CHECK(a.extent(0) == 9);
      break;
    }
    auto const total = fetch(w);
    last = double(total(0));
    CHECK(last == 2 * 64 * 63);
    CHECK(double(total(1)) == 2 * 64 * 64);
  });
}

namespace {
struct refuses_forty {
  LOCUS_OPERATION("refuses_forty", on_both)
  float operator()(float x) const {
    if (x == 40) throw std::runtime_error("forty");
    return x;
  }
};
}  // namespace

TEST_CASE("loops over batches are left by exceptions" * doctest::skip()) {
  using Both = ceil_of<0, 1>;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    testing::simulated_gpus const two{2, {.seed = seed, .peers = seed % 3 != 0}};
    auto const x = counted(64);
    auto const t = labels(64);
    auto const set = data::from_tensors(x, t).batch(8);
    Tensor<float, Dextents<1>, Both> w(Dextents<1>(shape{1, {2}}));
    auto const pass = [&](bool bad) {
      w = zeros<float>(w.extents());
      for (auto [a, b] : distribute<Both>(set))
        if (bad)
          w = w + sum<0>(map(refuses_forty{}, a));
        else
          w = w + sum<0>(a);
      return double(fetch(w)(0));
    };
    CHECK(pass(false) == 2 * 32 * 63);
    CHECK_THROWS_WITH_AS(pass(true), "forty", std::runtime_error);
    CHECK(pass(false) == 2 * 32 * 63);  // nothing is left of it
    auto const left_early = [&] {
      for (auto [a, b] : distribute<Both>(set)) {
        w = w + sum<0>(a);
        if (a.extent(0) == 8) throw std::runtime_error("the loop's own");
      }
    };
    CHECK_THROWS_WITH_AS(left_early(), "the loop's own", std::runtime_error);
    CHECK(pass(false) == 2 * 32 * 63);
    auto const broken_off = [&] {  // the kernel's trouble is said, though nobody is there to hear
      w = zeros<float>(w.extents());
      for (auto [a, b] : distribute<Both>(set)) {
        w = w + sum<0>(map(refuses_forty{}, a * 0.f + 40.f));
        break;
      }
      return double(fetch(w)(0));
    };
    CHECK_THROWS_WITH_AS(broken_off(), "forty", std::runtime_error);
    CHECK(pass(false) == 2 * 32 * 63);
  }
}
TEST_CASE("an exception leaves a loop over batches: their memory goes when they have arrived") {
  child::result const r = child::run("loops over batches are left by exceptions");
  CAPTURE(r.text);
  CHECK(r.code == 0);
  CHECK(!r.says("locus:"));
}

TEST_CASE("the next batch does not wait for what is computed with this one") {
  testing::simulated_gpus const two{2, {.seed = 3}};
  using Both = ceil_of<0, 1>;
  std::atomic<bool> all_read{false};
  auto set = data::from_generator([&all_read] {
               return [&all_read, i = 0]() mutable -> std::optional<float> {
                 if (i < 12) return float(i++);
                 all_read = true;  // its thread asks for more when all batches are made
                 return std::nullopt;
               };
             })
                 .batch(4)
                 .prefetch(4);
  auto batches = distribute<Both>(set);
  auto at = batches.begin();
  while (!all_read) std::this_thread::yield();
  auto before = runtime::executed.copies;
  ++at;  // the second one was sent when the first was asked for, or now; now the third is sent
  CHECK(runtime::executed.copies - before >= 2);
  auto [second] = *at;
  Tensor<float, Extents<>, Both> w;
  before = runtime::executed.copies;
  w = sum(second);
  ++at;
  CHECK(runtime::executed.copies == before);  // the third one was under way before w was computed
  auto [third] = *at;
  CHECK(fetch(third)(0) == 8);
  CHECK(fetch(w) == 4 + 5 + 6 + 7);
}

TEST_CASE("what reading throws comes when its batch is due, not before") {
  auto set = data::range(12).map([](std::int64_t i) {
    if (i == 9) throw std::runtime_error("a torn page");
    return i;
  });
  on_few_backends([&](backends::machine const&) {
    int seen = 0;
    auto batches = distribute<Ceil>(set.batch(4).prefetch(4));
    CHECK(message_of([&] {
            for (auto&& [x] : batches) seen += int(x.extent(0));
          }).find("element 9 of epoch") != std::string::npos);
    CHECK(seen == 8);
  });
}

}  // namespace distribute_test
