// SPDX-License-Identifier: Apache-2.0
// Whatever writes to a tensor in place, copies that devices keep of it are out of date from then on:
// statements, collectives, files of weights, streams, other names of the same memory.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <string>

#include <locus/nn/layers/checkpoint_entry.hpp>
#include <locus/strategy/variable.hpp>
#include <locus/tensor/collective.hpp>
#include <locus/tensor/relabel.hpp>
#include <locus/testing/simulated_stream.hpp>

namespace kept_writers_test {

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Row = Dextents<1>;
template <class Where>
using Vector = Tensor<float, Row, Where>;

struct keeping {
  keeping() { config::set_copy_cache(1 << 20); }
  keeping(keeping const&) = delete;
  ~keeping() { config::set_copy_cache(0); }
};

/// x as a plan of the CPU reads it, and as it is
template <class X>
std::string as_read(X const& x) {
  Vector<CpuDevice> c(x.size());
  c = reshape(x, Row(x.size())) + 0.f;
  text_buffer<256> text;
  for (std::int64_t i = 0; i < c.size(); ++i) text << (i ? " " : "") << std::int64_t(c(i));
  return text.c_str();
}
template <class X>
std::string as_it_is(X const& x) {
  auto const c = to<CpuDevice>(x);
  text_buffer<256> text;
  for (std::int64_t i = 0; i < c.size(); ++i) text << (i ? " " : "") << std::int64_t(c.data()[i]);
  return text.c_str();
}
/// the CPU keeps a copy of x; f writes x; who reads it then gets what x is
template <class X, class F>
void stays_true(char const* writer, X& x, F&& f) {
  CAPTURE(writer);
  std::string const before = as_read(x);
  auto const again = testing::count([&] { CHECK(as_read(x) == before); });
  CHECK(again.reused == 1);  // it was kept
  CHECK(again.copies == 0);
  f();
  std::string const is = as_it_is(x);
  CHECK(is != before);
  CHECK(as_read(x) == is);
}
template <class Body>
void on_gpus(Body&& body) {
  for (backends::machine const& m : {backends::machine{backends::kind::simulated, 2, 1},
                                     {backends::kind::simulated, 2, 4},
                                     {backends::kind::recorded, 2, 0}})
    backends::run_on(m, [&] {
      keeping const keep;
      body();
    });
}

}  // namespace

TEST_CASE("each collective, into each tensor that it writes") {
  on_gpus([] {
    Vector<G0> a{1, 2, 3, 4}, low{5, 6}, whole{0, 0, 0, 0};
    Vector<G1> b{10, 20, 30, 40}, high{7, 8}, other{0, 0, 0, 0};
    using collective::list, collective::sum;
    stays_true("all_reduce", a, [&] { collective::all_reduce<sum>(a, b); });
    stays_true("all_reduce", b, [&] { collective::all_reduce<sum>(a, b); });
    stays_true("all_reduce, the mean of sums", b, [&] {
      b = b + 2.f;
      static_cast<void>(as_read(b));
      collective::all_reduce<collective::mean_of_sums>(a, b);
    });
    stays_true("all_reduce, a maximum", b, [&] {
      a = a + 5.f;
      collective::all_reduce<collective::max>(a, b);
    });
    stays_true("reduce", other, [&] { collective::reduce<sum>(other, a, b); });
    stays_true("reduce, to the first", whole, [&] { collective::reduce<sum>(whole, a, b); });
    stays_true("reduce_scatter", low,
               [&] { collective::reduce_scatter<sum>(list(a, b), list(low, high)); });
    a = a + 1.f;
    stays_true("reduce_scatter", high,
               [&] { collective::reduce_scatter<sum>(list(a, b), list(low, high)); });
    stays_true("all_gather", whole,
               [&] { collective::all_gather(list(low, high), list(whole, other)); });
    low = low + 1.f;
    stays_true("all_gather", other,
               [&] { collective::all_gather(list(low, high), list(whole, other)); });
    high = high + 1.f;
    stays_true("gather", other, [&] { collective::gather(list(low, high), other); });
    stays_true("scatter", low, [&] { collective::scatter(a, list(low, high)); });
    a = a + 1.f;
    stays_true("scatter", high, [&] { collective::scatter(a, list(low, high)); });
    stays_true("broadcast", b, [&] { collective::broadcast(a, b); });
  });
}

TEST_CASE("a collective between terms on several cards, in replica order") {
  config::set_reduction_order(reduction_order::ranked);
  on_gpus([] {
    Vector<G0> a{1, 2, 3, 4};
    Vector<G1> b{10, 20, 30, 40}, other{0, 0, 0, 0};
    stays_true("all_reduce", b, [&] { collective::all_reduce<collective::sum>(a, b); });
    stays_true("reduce", other, [&] { collective::reduce<collective::sum>(other, a, b); });
  });
  config::set_reduction_order(reduction_order::fast);
  config::set_cross_device_ops(cross_device_ops::reduction_to_one_device);
  on_gpus([] {
    Vector<G0> a{1, 2, 3, 4};
    Vector<G1> b{10, 20, 30, 40}, other{0, 0, 0, 0};
    stays_true("all_reduce", b, [&] { collective::all_reduce<collective::sum>(a, b); });
    stays_true("reduce", other, [&] { collective::reduce<collective::sum>(other, a, b); });
  });
  config::set_cross_device_ops(cross_device_ops::automatic);
}

TEST_CASE("what a collective writes is met: a sum of a plan may still arrive there") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    testing::simulated_gpus const gpus(4, {.seed = seed, .cards = 2});
    REQUIRE(runtime::find_device(gpu(0)).card == runtime::find_device(gpu(2)).card);
    using G2 = GpuDevice<2>;
    Tensor<float, Dextents<2>, Sharded<0, G0, G1>> x(ones<float>(dextents<2>(8, 4)));
    Tensor<float, Extents<4>, Mirrored<G0, G1>> w(zeros<float>(Extents<4>{}));
    Vector<G0> a{1, 2, 3, 4}, high{0, 0};
    Vector<G2> b{10, 20, 30, 40}, low{0, 0};
    auto const part = [&](std::int64_t n) { return view<G0>(w.data(0), Row(n)); };
    auto const in_w = [&] { return as_it_is(to<CpuDevice>(part(4))); };
    auto const under_way = [&] {
      w = sum<0>(x);  // 8 8 8 8, beside the compute queues
      CHECK(runtime::has_arrivals());
    };
    auto whole = part(4), half = part(2);
    under_way();
    collective::reduce<collective::sum>(whole, a, b);
    CHECK(in_w() == "11 22 33 44");
    under_way();
    collective::reduce_scatter<collective::sum>(collective::list(b, a),
                                                collective::list(low, half));
    CHECK(in_w() == "33 44 8 8");
    under_way();
    collective::all_reduce<collective::sum>(whole, b);
    CHECK(in_w() == "18 28 38 48");
    under_way();
    collective::broadcast(b, whole);
    CHECK(in_w() == "18 28 38 48");
  }
}

TEST_CASE("statements, other names of the memory, files of weights") {
  on_gpus([] {
    Vector<G0> x{1, 2, 3, 4};
    Vector<G0> const y{5, 6, 7, 8};
    stays_true("a list", x, [&] { x = {9, 8, 7, 6}; });
    stays_true("a copy", x, [&] { x = y; });
    stays_true("a statement", x, [&] { x = y * 2.f; });
    stays_true("an update", x, [&] { x += y; });
    stays_true("a sum that lands in it", x,
               [&] { run(into(x, sum<1>(reshape(y, Extents<4, 1>{})) - 1.f)); });
    stays_true("a slice", x, [&] { run(into(slice(x, {1, 3}), slice(y, {2, 4}))); });
    stays_true("no_alias", x, [&] { no_alias(x) = y * 3.f; });
    stays_true("two roots", x, [&] {
      Vector<G0> z{0, 0, 0, 0};
      run(plan(into(z, x + 1.f), into(x, y + 1.f)));
    });
    stays_true("a value from elsewhere", x, [&] { x = Vector<CpuDevice>{3, 1, 4, 1}; });
    stays_true("numbers of a file of weights", x, [&] {
      float const values[] = {2, 7, 1, 8};
      nn::write_values({"weight", x.extents().as_shape(), true, x.block.get()}, values);
    });
    Tensor<float, Dextents<1>, GpuDevice<dyn>> here(gpu(0), Row(4)), there(gpu(1), Row(4));
    here = full<float>(Row(4), 1), there = full<float>(Row(4), 2);
    stays_true("a tensor of another open device", here, [&] { here = there; });
    Vector<CpuDevice> on_host{1, 2, 3};
    CHECK(as_read(on_host) == "1 2 3");
    using Table = Tensor<float, Dextents<2>, G0>;
    Vector<G0> base{1, 2, 3, 4};
    CHECK(as_read(base) == "1 2 3 4");
    CHECK(as_read(base) == "1 2 3 4");
    Table other_name = internal::relabel<Table>(base, {2, {2, 2}});
    other_name = {{5, 6}, {7, 8}};
    CHECK(as_read(base) == "5 6 7 8");
    CHECK(as_read(other_name) == "5 6 7 8");
    base = {1, 1, 2, 2};
    CHECK(as_read(other_name) == "1 1 2 2");
    other_name = Table{{9, 9}, {9, 9}};
    base = y;
    CHECK(as_read(base) == "5 6 7 8");
  });
}

TEST_CASE("a plan beside a stream of the user's") {
  testing::simulated_gpus const gpus(2);
  keeping const keep;
  testing::simulated_stream const s;
  Vector<G0> x{1, 2, 3, 4};
  Vector<G0> const y{5, 6, 7, 8};
  stays_true("a plan on a stream", x, [&] { run(into(x, y * 2.f), on_stream(s.handle())); });
}

TEST_CASE("elements of a host tensor, and a batch of numbers, as a GPU reads them") {
  on_gpus([] {
    Vector<CpuDevice> x{1, 2, 3};
    auto const sum_on_gpu = [&] { return fetch(sum(eval(on<G1>(x * 2.f)))); };
    CHECK(sum_on_gpu() == 12.f);
    CHECK(sum_on_gpu() == 12.f);
    x(1) = 5;
    CHECK(sum_on_gpu() == 18.f);
    x = x + 1.f;  // a local statement: no plan
    CHECK(sum_on_gpu() == 24.f);
    collective::broadcast(Vector<G0>{4, 4, 4}, x);
    CHECK(sum_on_gpu() == 24.f);
    collective::broadcast(Vector<G0>{1, 1, 1}, x);
    CHECK(sum_on_gpu() == 6.f);
  });
}

TEST_CASE("variables: what is read of them is what was assigned") {
  on_gpus([] {
    strategy<Mirrored<G0, G1>> both;
    auto v = make_variable<on_write, aggregation::mean>(both, Vector<CpuDevice>{1, 2, 3});
    for (float x : {4.f, 7.f}) {
      v.assign(Vector<CpuDevice>{x, x, x});
      both.run([&](auto& c) {
        auto mine = v.on_replica(c);
        mine.assign_add(mine.read() * 0.f + 1.f);
      });
      CHECK(as_it_is(v.read()) == as_it_is(Vector<CpuDevice>{x + 1, x + 1, x + 1}));
    }
  });
}

}  // namespace kept_writers_test
