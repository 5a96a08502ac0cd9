// SPDX-License-Identifier: Apache-2.0
// Assignments whose operands and destinations overlap in one memory, at random strides: every right
// side must be what it was before anything was written.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <oracle.hpp>

namespace overlap_test {

using namespace locus;
using oracle::array;

namespace {

/// Elements of the memory at base + sum of i[a] * stride[a].
struct lens {
  shape extents;
  std::int64_t base = 0;
  layout_stride layout;
  std::int64_t offset(std::int64_t const* i) const {
    std::int64_t at = base;
    for (int a = 0; a < extents.rank; ++a) at += i[a] * layout.stride[a];
    return at;
  }
};

constexpr std::int64_t memory_size = 4000;

/// moves the base so that all elements lie in [low, high); false: they do not fit
bool settle(oracle::random& r, lens& v, std::int64_t low, std::int64_t high) {
  std::int64_t first = 0, last = 0;
  for (int a = 0; a < v.extents.rank; ++a) {
    std::int64_t const reach = (v.extents.extent[a] - 1) * v.layout.stride[a];
    (reach < 0 ? first : last) += reach;
  }
  if (v.extents.size() == 0) return v.base = low, true;
  if (last - first >= high - low) return false;
  v.base = r.number(low - first, high - 1 - last);
  return true;
}
/// a view whose elements are all different: axes in any order, with gaps, forwards or backwards
lens destination_lens(oracle::random& r, shape const& s, std::int64_t low, std::int64_t high) {
  for (;;) {
    lens v{s, 0, {}};
    int order[max_rank] = {0, 1, 2, 3, 4, 5};
    bool const rows = r.number(0, 1) != 0;
    for (int a = s.rank; a-- > 1;) std::swap(order[a], order[rows ? a : r.number(0, a)]);
    std::int64_t step = r.number(0, 3) == 0 ? 2 : 1;
    for (int k = s.rank; k-- > 0;) {
      int const a = order[k];
      v.layout.stride[a] = r.number(0, 5) == 0 ? -step : step;
      step *= std::max<std::int64_t>(s.extent[a], 1) + (r.number(0, 2) == 0 ? r.number(0, 3) : 0);
    }
    if (settle(r, v, low, high)) return v;
  }
}
/// any view: like the destination, a destination of its own, or with strides of 0 and overlaps
lens source_lens(oracle::random& r, shape const& s, lens const& to) {
  std::int64_t const how = r.number(0, 5);
  if (how < 2 && to.extents == s) return to;
  if (how == 2 && to.extents == s) {  // a little beside it
    lens v = to;
    v.base += r.number(-3, 3);
    std::int64_t low = v.base, high = v.base;
    for (int a = 0; a < s.rank; ++a) {
      std::int64_t const reach = (s.extent[a] - 1) * v.layout.stride[a];
      (reach < 0 ? low : high) += reach;
    }
    if (low >= 0 && high < memory_size) return v;
  }
  if (how < 5) return destination_lens(r, s, 0, memory_size);
  lens v{s, 0, {}};
  do
    for (int a = 0; a < s.rank; ++a) v.layout.stride[a] = r.number(-4, 12);
  while (!settle(r, v, 0, memory_size));
  return v;
}
shape random_shape(oracle::random& r, int rank) {
  for (;;) {
    shape s{rank, {}};
    for (int a = 0; a < rank; ++a) {
      std::int64_t const k = r.number(0, 29);
      s.extent[a] = k == 0 ? 0 : k < 4 ? 1 : r.number(2, 9);
    }
    if (rank > 0 && r.number(0, 2) == 0) s.extent[r.number(0, rank - 1)] = r.number(65, 90);
    if (s.size() <= 800) return s;
  }
}

array<float> values_of(array<float> const& memory, lens const& v) {
  return oracle::make<float>(v.extents, [&](std::int64_t const* i) { return memory[v.offset(i)]; });
}

/// One memory on Where and what it must hold.
template <class Where>
class bench {
 public:
  explicit bench(std::uint64_t seed) : r(seed), memory_(memory_size) {}

  /// new numbers everywhere
  void fill() {
    meant_ = oracle::random_array<float>(r, {1, {memory_size}}, -2, 2);
    memory_ = oracle::tensor<1>(meant_) + 0.f;
    before_ = meant_;
  }
  template <int Rank>
  auto at(lens const& v) {
    return view<Where>(memory_.data() + v.base, Dextents<Rank>(v.extents), v.layout);
  }
  array<float> read(lens const& v) const { return values_of(before_, v); }
  void expect(lens const& v, array<float> const& values) {
    REQUIRE(v.extents == values.extents);
    oracle::each_index(
        v.extents, [&](std::int64_t const* i, std::int64_t k) { meant_[v.offset(i)] = values[k]; });
  }
  void compare(char const* what) {
    auto const is = fetch(memory_ * 1.f);
    std::string const statement = what;
    INFO(statement);
    CHECK(oracle::difference(is, meant_, 2e-5, 2e-5) == "");
  }

  oracle::random r;

 private:
  Tensor<float, Dextents<1>, Where> memory_;
  array<float> meant_, before_;
};

array<float> multiplied(array<float> const& a, array<float> const& b) {
  std::int64_t const m = a.extents.extent[0], k = a.extents.extent[1], n = b.extents.extent[1];
  return oracle::make<float>({2, {m, n}}, [&](std::int64_t const* i) {
    double t = 0;
    for (std::int64_t l = 0; l < k; ++l)
      t += static_cast<double>(a[i[0] * k + l]) * static_cast<double>(b[l * n + i[1]]);
    return t;
  });
}
array<float> plus(array<float> const& a, array<float> const& b) {
  return oracle::map<float>(a.extents, [](float p, float q) { return p + q; }, a, b);
}
array<float> minus(array<float> const& a, array<float> const& b) {
  return oracle::map<float>(a.extents, [](float p, float q) { return p - q; }, a, b);
}
/// sums of the rows of a matrix
array<double> row_sums(array<float> const& a) {
  array<double> t({2, {a.extents.extent[0], 1}});
  oracle::each_index(a.extents, [&](std::int64_t const* i, std::int64_t k) {
    t[i[0]] += static_cast<double>(a[k]);
  });
  return t;
}

constexpr std::int64_t half = memory_size / 2;

template <class Where>
void statements(bench<Where>& b, int rounds) {
  auto& r = b.r;
  for (int round = 0; round < rounds; ++round) {
    {  // element-wise, in place or not
      shape const s = random_shape(r, 3);
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, s, d),
                 y = source_lens(r, s, d);
      b.fill();
      run(into(b.template at<3>(d), b.template at<3>(x) + b.template at<3>(y)));
      b.expect(d, plus(b.read(x), b.read(y)));
      b.compare("d = x + y");
    }
    {  // a copy
      shape const s = random_shape(r, 2), st{2, {s.extent[1], s.extent[0]}};
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, st, d);
      b.fill();
      run(into(b.template at<2>(d), transpose(b.template at<2>(x))));
      auto const v = b.read(x);
      b.expect(d, oracle::make<float>(
                      s, [&](std::int64_t const* i) { return v[i[1] * s.extent[0] + i[0]]; }));
      b.compare("d = transpose(x)");
    }
    {  // a leaf alone
      shape const s = random_shape(r, 3);
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, s, d);
      b.fill();
      run(into(b.template at<3>(d), b.template at<3>(x)));
      b.expect(d, b.read(x));
      b.compare("d = x");
    }
    {  // a fold, its rows used again
      shape const s = random_shape(r, 2);
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, s, d),
                 y = source_lens(r, s, d);
      b.fill();
      run(into(b.template at<2>(d), b.template at<2>(y) - sum<1>(b.template at<2>(x), keep_dims)));
      b.expect(d, oracle::map<float>(
                      s, [](float p, double q) { return double(p) - q; }, b.read(y),
                      row_sums(b.read(x))));
      b.compare("d = y - sum<1>(x)");
    }
    {  // folds whose result lies in their operand
      shape const s = random_shape(r, 2), row{1, {s.extent[1]}};
      lens const d = destination_lens(r, row, 0, memory_size), x = source_lens(r, s, d),
                 y = source_lens(r, row, d);
      b.fill();
      run(into(b.template at<1>(d), sum<0>(b.template at<2>(x)) * b.template at<1>(y)));
      auto const v = b.read(x), w = b.read(y);
      b.expect(d, oracle::make<float>(row, [&](std::int64_t const* i) {
                 double t = 0;
                 for (std::int64_t k = 0; k < s.extent[0]; ++k)
                   t += static_cast<double>(v[k * s.extent[1] + i[0]]);
                 return t * static_cast<double>(w[i[0]]);
               }));
      b.compare("d = sum<0>(x) * y");
    }
    {  // softmax of what it replaces
      shape s = random_shape(r, 2);
      s.extent[1] += s.extent[1] == 0;
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, s, d);
      b.fill();
      run(into(b.template at<2>(d), softmax(b.template at<2>(x))));
      auto const e = oracle::map<float>(s, [](float p) { return std::exp(p); }, b.read(x));
      b.expect(d, oracle::map<float>(
                      s, [](float p, double q) { return double(p) / q; }, e, row_sums(e)));
      b.compare("d = softmax(x)");
    }
    {  // a product that reads its destination
      std::int64_t const n = r.number(1, 9), k = r.number(0, 12), m = r.number(0, 3) ? n : 70;
      shape const s{2, {m, n}};
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, {2, {m, k}}, d),
                 y = source_lens(r, {2, {k, n}}, d), z = source_lens(r, s, d);
      b.fill();
      run(into(b.template at<2>(d),
               matmul(b.template at<2>(x), b.template at<2>(y)) + b.template at<2>(z)));
      b.expect(d, plus(multiplied(b.read(x), b.read(y)), b.read(z)));
      b.compare("d = matmul(x, y) + z");
      b.fill();
      run(into(b.template at<2>(d), matmul(b.template at<2>(x), b.template at<2>(y))));
      b.expect(d, multiplied(b.read(x), b.read(y)));
      b.compare("d = matmul(x, y)");
    }
    {  // concatenate and reshape copy their operands
      shape const s = random_shape(r, 2);
      shape sx = s, sy = s;
      sx.extent[0] = r.number(0, s.extent[0]), sy.extent[0] = s.extent[0] - sx.extent[0];
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, sx, d),
                 y = source_lens(r, sy, d);
      b.fill();
      run(into(b.template at<2>(d),
               concatenate<0>(b.template at<2>(x), b.template at<2>(y) * 2.f)));
      auto const v = b.read(x), w = b.read(y);
      b.expect(d, oracle::make<float>(s, [&](std::int64_t const* i) {
                 std::int64_t const n = s.extent[1], at = i[0] * n + i[1];
                 return at < v.size() ? v[at] : w[at - v.size()] * 2;
               }));
      b.compare("d = concatenate(x, 2 y)");
      shape const flat{1, {s.size()}};
      lens const e = destination_lens(r, flat, 0, memory_size), z = source_lens(r, s, e);
      b.fill();
      run(into(b.template at<1>(e), reshape<-1>(b.template at<2>(z))));
      auto u = b.read(z);
      u.extents = flat;
      b.expect(e, u);
      b.compare("d = reshape(x)");
    }
    {  // several left sides: one kernel, then copies of each other
      shape const s = random_shape(r, 2);
      lens const d = destination_lens(r, s, 0, half), e = destination_lens(r, s, half, memory_size);
      lens const x = source_lens(r, s, d), y = source_lens(r, s, e);
      b.fill();
      run(plan(into(b.template at<2>(d), b.template at<2>(x) + b.template at<2>(y)),
               into(b.template at<2>(e), b.template at<2>(x) - b.template at<2>(y))));
      b.expect(d, plus(b.read(x), b.read(y)));
      b.expect(e, minus(b.read(x), b.read(y)));
      b.compare("d, e = x + y, x - y");
      b.fill();
      run(plan(into(b.template at<2>(d), b.template at<2>(y)),
               into(b.template at<2>(e), b.template at<2>(x))));
      b.expect(d, b.read(y));
      b.expect(e, b.read(x));
      b.compare("d, e = y, x");
      b.fill();
      run(plan(into(b.template at<2>(d), b.template at<2>(y)),
               into(b.template at<2>(e), b.template at<2>(x) * 3.f)));
      b.expect(d, b.read(y));
      b.expect(e, oracle::map<float>(s, [](float p) { return p * 3; }, b.read(x)));
      b.compare("d, e = y, 3 x");
    }
    {  // a let, read by a kernel and by a sum, written in two places
      shape const s = random_shape(r, 2), column{2, {s.extent[0], 1}};
      lens const d = destination_lens(r, s, 0, half),
                 e = destination_lens(r, column, half, memory_size);
      lens const x = source_lens(r, s, d), y = source_lens(r, s, d);
      b.fill();
      let(b.template at<2>(x) * 2.f, [&](auto h) {
        run(plan(into(b.template at<2>(e), sum<1>(h, keep_dims)),
                 into(b.template at<2>(d), h - b.template at<2>(y))));
      });
      auto const h = oracle::map<float>(s, [](float p) { return p * 2; }, b.read(x));
      b.expect(d, minus(h, b.read(y)));
      b.expect(e, oracle::map<float>(column, [](double p) { return p; }, row_sums(h)));
      b.compare("let h = 2 x: e, d = sum<1>(h), h - y");
    }
    {  // by way of another device
      shape const s = random_shape(r, 2);
      lens const d = destination_lens(r, s, 0, memory_size), x = source_lens(r, s, d),
                 y = source_lens(r, s, d);
      b.fill();
      run(into(b.template at<2>(d),
               on<GpuDevice<1>>(b.template at<2>(x) + b.template at<2>(y)) * b.template at<2>(y)));
      b.expect(d, oracle::map<float>(
                      s, [](float p, float q) { return (p + q) * q; }, b.read(x), b.read(y)));
      b.compare("d = on<GPU:1>(x + y) * y");
    }
  }
}

}  // namespace

TEST_CASE("overlapping operands and destinations on the host") {
  on_backends([](backends::machine const& m) {
    bench<CpuDevice> b(100 + m.seed + unsigned(m.how) * 10 + unsigned(m.gpus));
    statements(b, 40);
  });
}
TEST_CASE("elements of another size at the same address are not read where they are written") {
  constexpr int n = 1000;
  alignas(16) unsigned char bytes[4 * n];
  for (int i = 0; i < 4 * n; ++i) bytes[i] = static_cast<unsigned char>(i % 100);
  Extents<dyn> const extents(n);
  auto const narrow = view<CpuDevice>(reinterpret_cast<std::int8_t*>(bytes), extents);
  auto const wide = view<CpuDevice>(reinterpret_cast<std::int32_t*>(bytes), extents);
  wide = cast<std::int32_t>(narrow);
  for (int i = 0; i < n; ++i) {
    std::int32_t found;
    __builtin_memcpy(&found, bytes + 4 * i, 4);
    REQUIRE(found == i % 100);
  }
}

TEST_CASE("overlapping operands and destinations on a GPU") {
  on_backends([](backends::machine const& m) {
    bench<GpuDevice<0>> b(200 + m.seed + unsigned(m.how) * 10 + unsigned(m.gpus));
    statements(b, 40);
  });
}

}  // namespace overlap_test
