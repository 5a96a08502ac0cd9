// SPDX-License-Identifier: Apache-2.0
// The folds of the CUDA path, block by block on the host: any axes, lengths, addresses and strides,
// several folds and stored elements in one pass, by warps, blocks, parts and columns.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>

#include <cmath>
#include <oracle.hpp>
#include <run_body.hpp>
#include <worst_of.hpp>

#include <locus/locus.hpp>

using namespace locus;

namespace {

template <class T, class F, class... Args>
using apply_of = kernel::apply<T, F, Args...>;
template <int K, class T>
using in = kernel::input<K, T>;
template <class T>
using difference_of = apply_of<T, subtract_fn, in<0, T>, in<1, T>>;

/// sum(x - y), max(x), mean(y), and x - y stored; then sum + max * mean
template <class T>
using three = reduce_work<
    type_list<kernel::reducer<reduction::sum, T>, kernel::reducer<reduction::max, T>,
              kernel::reducer<reduction::sum, T>>,
    kernel::stage<type_list<>, type_list<difference_of<T>, in<0, T>, in<1, T>, difference_of<T>>>,
    kernel::stage<type_list<>, type_list<kernel::fold_value<0, T>, kernel::fold_value<1, T>,
                                         kernel::fold_value<2, T>>>,
    type_list<kernel::elements_of<T>, kernel::elements_of<T>>, type_list<>, type_list<T>,
    type_list<T, T, T>, true>;
/// the number of the largest, and the row's own number added to it
using largest = reduce_work<
    type_list<kernel::reducer<reduction::first_max, ranked<float>>>,
    kernel::stage<type_list<>, type_list<apply_of<ranked<float>, kernel::with_index_fn,
                                                  in<0, float>, in<1, std::int64_t>>>>,
    kernel::stage<type_list<>, type_list<apply_of<std::int64_t, argmax_index_fn,
                                                  kernel::fold_value<0, ranked<float>>>>>,
    type_list<kernel::elements_of<float>, kernel::own_offset>, type_list<>, type_list<>,
    type_list<std::int64_t>, true>;
/// sum(x) + r for bytes, r of the row
using bytes_sum = reduce_work<
    type_list<kernel::reducer<reduction::sum, std::uint8_t>>,
    kernel::stage<type_list<>, type_list<in<0, std::uint8_t>>>,
    kernel::stage<type_list<>,
                  type_list<apply_of<std::int64_t, add_fn, kernel::fold_value<0, std::int64_t>,
                                     in<0, std::int64_t>>>>,
    type_list<kernel::elements_of<std::uint8_t>>, type_list<kernel::elements_of<std::int64_t>>,
    type_list<>, type_list<std::int64_t>, true>;

int by_rows = 0, by_columns = 0, warps = 0, in_parts = 0;
template <class Work>
void run(Work const& work) {
  struct memory {
    std::vector<char> bytes;
    void* data() const { return const_cast<char*>(bytes.data()); }
  };
  cuda_kernel<Work>::choose(
      work, [](std::int64_t n) { return memory{std::vector<char>(std::size_t(n))}; },
      [](auto const& body, unsigned blocks) {
        using Body = std::remove_cvref_t<decltype(body)>;
        by_rows += std::is_same_v<Body, cuda_side::fold_rows<Work>>;
        by_columns += std::is_same_v<Body, cuda_side::fold_columns<Work>>;
        in_parts += std::is_same_v<Body, cuda_side::fold_the_parts<Work>>;
        if constexpr (std::is_same_v<Body, cuda_side::fold_rows<Work>>)
          warps += body.team() <= cuda_side::warp_threads;
        cuda_side::run_body<Body>(&body, blocks, cuda_side::block_threads);
      });
}

struct shape_case {
  int rank;
  std::int64_t extent[3];
  axis_set axes;
};
constexpr shape_case shapes[] = {
    {1, {1}, 1},        {1, {5}, 1},        {1, {1000}, 1},      {1, {20000}, 1},
    {1, {300001}, 1},   {2, {3, 40}, 2},    {2, {7, 33}, 2},     {2, {2, 9000}, 2},
    {2, {4500, 70}, 2}, {2, {6, 5}, 2},     {2, {50, 3}, 2},     {2, {40, 3}, 1},
    {2, {33, 65}, 1},   {2, {9000, 6}, 1},  {2, {3, 2050}, 1},   {2, {5, 6}, 3},
    {3, {4, 5, 40}, 5}, {3, {40, 5, 4}, 2}, {3, {3, 50, 7}, 5},  {3, {6, 7, 9}, 3},
    {3, {5, 1, 8}, 2},  {2, {0, 4}, 1},     {2, {4, 0}, 2},      {3, {2, 3, 700}, 4},
    {2, {3, 9001}, 2},  {2, {150, 515}, 2}, {2, {4000, 131}, 1}, {2, {300, 69}, 1},
};

/// an operand over a shape: dense, with gaps after each line, transposed, or constant along axis 0
template <class T>
struct operand {
  std::vector<T> cells;
  kernel::access a{};
  operand(shape_case const& s, int form, std::int64_t shift) {
    std::int64_t n = 1;
    auto put = [&](int d, bool line) {
      a.stride[d] = n;
      n *= s.extent[d] + (form == 1 && line ? 3 : 0);
    };
    if (form == 2)
      for (int d = 0; d < s.rank; ++d) put(d, false);
    else
      for (int d = s.rank; d-- > 0;) put(d, d == s.rank - 1);
    if (form == 3) a.stride[0] = 0;
    cells.resize(std::size_t(n + shift + 1));
    a.data = cells.data() + shift;
  }
};
kernel::space space_of(shape_case const& s) {
  kernel::space over;
  over.rank = s.rank, over.axes = s.axes;
  for (int d = 0; d < s.rank; ++d) over.extent[d] = s.extent[d];
  return over;
}
/// an output: one element for each point of the kept axes, in row order
kernel::access output_of(shape_case const& s, void* data) {
  kernel::access a{};
  std::int64_t n = 1;
  for (int d = s.rank; d-- > 0;)
    if (!has_axis(s.axes, d)) a.stride[d] = n, n *= s.extent[d];
  a.data = data;
  return a;
}
std::size_t outputs_of(shape_case const& s) {
  std::size_t n = 1;
  for (int d = 0; d < s.rank; ++d) n *= has_axis(s.axes, d) ? 1u : std::size_t(s.extent[d]);
  return n;
}
/// visit(i, o): each point, and its output
template <class Visit>
void each_point(shape_case const& s, Visit&& visit) {
  auto const over = space_of(s);
  auto const out = output_of(s, nullptr);
  for (std::int64_t i = 0; i < over.size(); ++i)
    visit(i, std::size_t(kernel::offset_of(over, out, i, over.rank)));
}

template <class T>
std::vector<T> check_three(shape_case const& s, int form, std::int64_t shift) {
  oracle::random r(7);
  operand<T> x(s, form == 4 ? 0 : form, shift), y(s, form >= 3 ? 0 : form, 2 * shift),
      element(s, 0, shift);
  auto const over = space_of(s);
  auto at = [&](auto& o, std::int64_t i) -> T& {
    return static_cast<T*>(o.a.data)[kernel::offset_of(over, o.a, i, over.rank)];
  };
  for (std::int64_t i = 0; i < over.size(); ++i) at(x, i) = r.value<T>(-2, 2);
  for (std::int64_t i = 0; i < over.size(); ++i) at(y, i) = r.value<T>(-1, 2);
  std::size_t const n = outputs_of(s);
  std::vector<T> out(3 * n, T(-99));
  std::int64_t length = 1;
  for (int d = 0; d < s.rank; ++d) length *= has_axis(s.axes, d) ? s.extent[d] : 1;
  if (form == 4) y.cells = x.cells, y.a = x.a;
  three<T> work({}, {}, {{-1, -1, double(std::max<std::int64_t>(length, 1))}});
  work.over = over;
  work.operands[0] = x.a, work.operands[1] = y.a, work.operands[2] = element.a;
  for (std::size_t k = 0; k < 3; ++k) work.operands[3 + k] = output_of(s, out.data() + k * n);
  run(work);
  std::vector<long double> sum(n), size(n), mean(n), mean_size(n), most(n, -INFINITY);
  bool stored = true;
  each_point(s, [&](std::int64_t i, std::size_t o) {
    T const difference = at(x, i) - at(y, i);
    sum[o] += difference, size[o] += std::fabs(difference);
    mean[o] += at(y, i), mean_size[o] += std::fabs(at(y, i));
    most[o] = std::max<long double>(most[o], at(x, i));
    stored = stored && at(element, i) == difference;
  });
  CHECK(stored);
  double worst = 0;
  bool extrema = true;
  for (std::size_t o = 0; o < n; ++o) {
    worst = worst_of(worst, double(std::fabs(out[o] - sum[o]) / (size[o] + 1e-30L)));
    if (length > 0)
      worst = worst_of(worst, double(std::fabs(out[2 * n + o] - mean[o] / length) /
                                     (mean_size[o] / length + 1e-30L)));
    extrema = extrema && out[n + o] == T(most[o]);
  }
  CHECK(extrema);
  CHECK(worst <= double(oracle::ulp<T>));
  return out;
}
void check_largest(shape_case const& s, std::int64_t shift) {
  oracle::random r(9);
  operand<float> x(s, 0, shift);
  operand<float> number(s, 0, 0);
  auto const over = space_of(s);
  float* const values = static_cast<float*>(x.a.data);
  for (std::int64_t i = 0; i < over.size(); ++i) values[i] = float(r.number(0, 9));
  if (over.size() > 50) values[over.size() / 2] = NAN;
  std::size_t const n = outputs_of(s);
  std::vector<std::int64_t> out(n, -99), want(n, -1);
  largest work({}, {}, {{-1}});
  work.over = over;
  work.operands[0] = x.a, work.operands[1] = number.a, work.operands[2] = output_of(s, out.data());
  work.operands[1].data = nullptr, work.operands[1].base = 3;
  run(work);
  each_point(s, [&](std::int64_t i, std::size_t o) {
    if (want[o] < 0) {
      want[o] = i;
      return;
    }
    float const a = values[want[o]], b = values[i];
    if (a == a && (b != b || b > a)) want[o] = i;
  });
  bool same = true;
  for (std::size_t o = 0; o < n; ++o) same = same && (want[o] < 0 || out[o] == want[o] + 3);
  CHECK(same);
}
void check_bytes(shape_case const& s, std::int64_t shift) {
  oracle::random r(11);
  operand<std::uint8_t> x(s, 1, shift);
  auto const over = space_of(s);
  for (auto& c : x.cells) c = r.value<std::uint8_t>(0, 255);
  std::size_t const n = outputs_of(s);
  std::vector<std::int64_t> out(n, -99), row(n), want(n);
  for (std::size_t o = 0; o < n; ++o) want[o] = row[o] = std::int64_t(o) * 7;
  bytes_sum work({}, {}, {{-1}});
  work.over = over;
  work.operands[0] = x.a, work.operands[1] = output_of(s, row.data()),
  work.operands[2] = output_of(s, out.data());
  run(work);
  each_point(s, [&](std::int64_t i, std::size_t o) {
    want[o] += static_cast<std::uint8_t*>(x.a.data)[kernel::offset_of(over, x.a, i, over.rank)];
  });
  CHECK(out == want);
}

}  // namespace

TEST_CASE("folds: any axes, lengths, addresses and strides; bits do not depend on addresses") {
  by_rows = by_columns = warps = in_parts = 0;
  for (auto const& s : shapes) {
    INFO("rank ", s.rank, ", ", s.extent[0], " x ", s.extent[1], " x ", s.extent[2], ", axes ",
         int(s.axes));
    auto const dense = check_three<float>(s, 0, 0);
    for (std::int64_t shift : {1, 2}) CHECK(check_three<float>(s, 0, shift) == dense);
    for (int form : {1, 2, 3, 4}) check_three<float>(s, form, form);
    check_three<float>(s, 4, 0);  // both are one array
    CHECK(check_three<double>(s, 0, 0) == check_three<double>(s, 1, 1));
    for (std::int64_t shift : {0, 1}) check_largest(s, shift), check_bytes(s, shift * 5);
  }
  CHECK(by_rows > 50);
  CHECK(by_columns > 50);
  CHECK(warps > 10);
  CHECK(in_parts > 10);
}

TEST_CASE("the cut of a fold fills a card, and no thread adds too little") {
  auto const all = cuda_side::fold_cut::of_rows(1, std::int64_t(1) << 26);
  CHECK(all.parts == 4096);
  CHECK(all.each == 1 << 14);
  CHECK(cuda_side::fold_cut::of_rows(1 << 20, 100).team_bits == 5);
  CHECK(cuda_side::fold_cut::of_rows(1 << 20, 16).team_bits == 2);
  CHECK(cuda_side::fold_cut::of_rows(8, 1 << 20).parts == 512);
  // a warp for a row while warps fill a card; a longer row, or one of fewer, has a block
  CHECK(cuda_side::fold_cut::of_rows(2048, 1024).team_bits == 5);
  CHECK(cuda_side::fold_cut::of_rows(2047, 1024).team_bits == 8);
  CHECK(cuda_side::fold_cut::of_rows(1 << 20, 2048).team_bits == 5);
  CHECK(cuda_side::fold_cut::of_rows(1 << 20, 2049).team_bits == 8);
  auto const columns = cuda_side::fold_cut::of_columns(16, 1 << 20);
  CHECK(columns.across_bits == 4);
  CHECK(columns.parts == 512);
}

TEST_CASE("each part of a fold has something to fold, and the last one ends the row") {
  auto const check = [](cuda_side::fold_cut const& cut, std::int64_t all) {
    CHECK((cut.parts - 1) * cut.each < all);
    CHECK(cut.parts * cut.each >= all);
  };
  for (std::int64_t all :
       {1, 64, 65, 513, 2048, 4097, 1 << 20, 4202497, 8388608, 8388609, 8998912, 9000000, 16777217})
    for (std::int64_t others : {1, 2, 3, 100, 1025}) {
      INFO(others, " outputs, ", all, " vectors or points");
      check(cuda_side::fold_cut::of_rows(others, all), all);
      check(cuda_side::fold_cut::of_columns(others, all), all);
    }
}

namespace {  // `operand` is this file's

TEST_CASE("a row of some more vectors than whole parts") {
  using sum = reduce_work<type_list<kernel::reducer<reduction::sum, double>>,
                          kernel::stage<type_list<>, type_list<in<0, double>>>,
                          kernel::stage<type_list<>, type_list<kernel::fold_value<0, double>>>,
                          type_list<kernel::elements_of<double>>, type_list<>, type_list<>,
                          type_list<double>, true>;
  // 2052 parts are wanted, 2051 parts of 2049 vectors have all
  std::int64_t const n = std::int64_t(2) * 4202497;
  shape_case const s{1, {n}, 1};
  operand<double> x(s, 0, 0);
  for (double& e : x.cells) e = 1;
  sum work({}, {}, {{-1}});
  work.over = space_of(s);
  double out = 0;
  work.operands[0] = x.a, work.operands[1] = output_of(s, &out);
  run(work);
  CHECK(out == double(n));
}

TEST_CASE("a thread that adds many numbers goes on in double") {
  std::int64_t const n = 1 << 17;
  shape_case const s{1, {n}, 1};
  oracle::random r(3);
  operand<float> x(s, 0, 0), y(s, 0, 0), element(s, 0, 0);
  long double want = 0;
  for (std::int64_t i = 0; i < n; ++i) want += x.cells[std::size_t(i)] = r.value<float>(0, 1);
  three<float> work({}, {}, {{-1, -1, 1}});
  work.over = space_of(s);
  float out[3]{};
  work.operands[0] = x.a, work.operands[1] = y.a, work.operands[2] = element.a;
  for (std::size_t k = 0; k < 3; ++k) work.operands[3 + k] = output_of(s, out + k);
  int const bytes[] = {4, 4, 4, 4, 4, 4};
  using thread = cuda_side::fold_thread<three<float>>;
  cuda_side::fold_map<three<float>> const map(work.over, work.operands, bytes);
  thread one{work.f, map, {}};
  auto total = thread::all::identity();
  auto const place_of = [](std::int64_t v) {
    typename thread::place p{};
    p.begin = v * thread::vector;
    return p;
  };
  one.add_plain(std::int64_t(0), map.run.vectors, 1, false, place_of, [&](auto& lanes) {
    for (auto& l : lanes) thread::all::flush(total, l);
  });
  CHECK(std::fabs(double(get<0>(total) - want)) < 4e-8 * double(want));
}

}  // namespace
