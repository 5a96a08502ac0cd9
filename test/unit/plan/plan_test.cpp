// SPDX-License-Identifier: Apache-2.0
// plan_of: constants are what the passes give at run time, bytes with open extents, the limit of
// steps, texts.
#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include <locus/locus.hpp>

namespace plan_test {

using namespace locus;

namespace {

using Gpu0 = GpuDevice<0>;
using Both = Mirrored<GpuDevice<0>, GpuDevice<1>>;
using Rows = Sharded<0, GpuDevice<0>, GpuDevice<1>>;

template <class Where, std::int64_t... N>
using tensor_on = Tensor<float, Extents<N...>, Where>;

/// the passes once more, when the program runs: nothing of a constant may come from another plan
template <class Graph>
bool graph_is_what_runs() {
  static constexpr auto const& constant = internal::unchecked_plan<Graph>;
  auto const again = detail::make_plan<Graph>();
  bool equal = constant.transfer_count == again.transfer_count &&
               constant.action_count == again.action_count &&
               constant.found.error == again.found.error;
  for (std::size_t i = 0; i < std::size(again.steps); ++i) {
    step const &a = constant.steps[i], &b = again.steps[i];
    equal = equal && a.kind == b.kind && a.where == b.where && a.region == b.region &&
            a.stored == b.stored && a.extents == b.extents && a.why == b.why && a.name == b.name &&
            a.first_edge == b.first_edge && a.arity == b.arity && a.request == b.request &&
            constant.levels[i] == again.levels[i];
  }
  for (std::size_t i = 0; i < std::size(again.edges); ++i)
    equal = equal && constant.edges[i].from == again.edges[i].from &&
            constant.edges[i].by == again.edges[i].by &&
            constant.edges[i].arrives == again.edges[i].arrives;
  for (std::size_t i = 0; i < std::size(again.transfers); ++i)
    equal = equal && constant.transfers[i].from == again.transfers[i].from &&
            constant.transfers[i].how == again.transfers[i].how &&
            constant.transfers[i].bucket == again.transfers[i].bucket;
  for (std::size_t i = 0; i < std::size(again.actions); ++i)
    equal = equal && constant.actions[i].kind == again.actions[i].kind &&
            constant.actions[i].what == again.actions[i].what;
  for (std::size_t i = 0; i < std::size(again.memory_slots); ++i) {
    slot const &a = constant.memory_slots[i], &b = again.memory_slots[i];
    equal = equal && a.bytes == b.bytes && a.offset == b.offset && a.made == b.made &&
            a.last_read == b.last_read && a.in_place_of == b.in_place_of &&
            a.is_result == b.is_result;
  }
  return equal;
}
template <class E, class Destination = nowhere>
bool is_what_runs() {
  return graph_is_what_runs<graph_of<E, Destination>>();
}

/// -(-(... x)): as many steps as that, and the leaf
template <int Steps, class E>
auto negated(E const& e) {
  if constexpr (Steps == 0)
    return e;
  else
    return negated<Steps - 1>(-e);
}
template <int Steps>
using chain = decltype(negated<Steps>(std::declval<tensor_on<Gpu0, 4>&>()));
static_assert(internal::unchecked_plan<graph_of<chain<127>>>.found.error == plan_error::none);
static_assert(plan_of<chain<127>>.launches() == 1 && plan_of<chain<127>>.flops() == 4 * 127);
static_assert(internal::unchecked_plan<graph_of<chain<128>>>.found.error ==
              plan_error::too_many_steps);

template <class F>
std::string written(F f) {
  std::ostringstream out;
  f(out);
  return out.str();
}

}  // namespace

TEST_CASE("a plan of constants is what the passes give when the program runs") {
  using mirrored = tensor_on<Both, 6, 4>&;
  using cut = tensor_on<Rows, 6, 4>&;
  using host = tensor_on<CpuDevice, 6, 4>&;
  // pairs of plans with arrays of one type: the second must not begin with what the first wrote
  CHECK(is_what_runs<decltype(std::declval<mirrored>() + std::declval<mirrored>()), CpuDevice>());
  CHECK(is_what_runs<decltype(std::declval<cut>() + std::declval<cut>()), CpuDevice>());
  CHECK(is_what_runs<decltype(std::declval<host>() + std::declval<cut>()), CpuDevice>());
  CHECK(is_what_runs<decltype(std::declval<host>() + std::declval<host>()), CpuDevice>());
  CHECK(is_what_runs<decltype(std::declval<host>() + std::declval<host>()), Gpu0>());
  CHECK(is_what_runs<decltype(softmax<0>(std::declval<cut>()))>());
  CHECK(is_what_runs<decltype(softmax<0>(std::declval<host>()))>());
  CHECK(is_what_runs<decltype(softmax<1>(std::declval<mirrored>()))>());
  CHECK(is_what_runs<chain<127>>());
}

TEST_CASE("open extents: counts are constants, bytes are asked of the expression") {
  tensor_on<CpuDevice, dyn, 4> c(6);
  tensor_on<Gpu0, dyn, 4> g(6), y(6);
  auto const e = c + g;
  using E = decltype(e);
  static_assert(plan_of<E>.copies() == 1 && device_of<E> == "/GPU:0");
  CHECK(bytes_moved(e) == 6 * 4 * 4);
  CHECK(tally_of(e).copies == 1);
  CHECK(tally_of(e).launches == 1);
  CHECK(bytes_moved<follow_data>(e) == 96);
  CHECK(bytes_moved(plan(into(y, e), into(c, e))) == 96 + 96);
  c = tensor_on<CpuDevice, dyn, 4>(11);
  CHECK_THROWS_AS(static_cast<void>(bytes_moved(c + g)), shape_error);
  g = tensor_on<Gpu0, dyn, 4>(11);
  CHECK(bytes_moved(c + g) == 11 * 4 * 4);
  tensor_on<Rows, dyn, 4> const rows = to<Rows>(c);
  CHECK(bytes_moved(rows + c) == 11 * 4 * 4);
  CHECK(tally_of(sum<0>(rows)).bytes_reduced == 16);
  CHECK(tally_of(sum<1>(rows)).bytes_reduced == 0);
}

TEST_CASE("each rule of placement has a sentence of its own") {
  for (int i = 0; i <= int(reason::view); ++i) {
    CHECK(sentence(reason(i)) != "");
    for (int k = 0; k < i; ++k) CHECK(sentence(reason(i)) != sentence(reason(k)));
  }
}

TEST_CASE("explain and why write into any stream what the constants say") {
  tensor_on<CpuDevice, 2, 3> a{{1, 2, 3}, {4, 5, 6}};
  tensor_on<CpuDevice, 3, 2> b{{1, 2}, {3, 4}, {5, 6}};
  auto const e = matmul(a, b);
  std::string const text = written([&](auto& out) { explain(out, e); });
  CHECK(text.starts_with("plan under prefer_gpu\n"));
  CHECK(text.ends_with("1 launch, 2 copies (48 bytes), 0 all-reduces (0 bytes), 0 fallbacks\n"));
  CHECK(written([&](auto& out) {
          explain<min_copies>(out, e);
        }).starts_with("plan under min_copies\n"));
  CHECK(written([&](auto& out) { why(out, e, "matmul"); }) ==
        "matmul (#2) runs on /GPU:0: it has a GPU kernel and none of its operands lies on a GPU "
        "(prefer_gpu)\n"
        "  /GPU:0 is not there, its steps run on the host: this program was built without CUDA; "
        "compile a unit with nvcc and <locus/cuda.cuh>\n");
  CHECK(written([&](auto& out) { why<min_copies>(out, e, "matmul"); }) ==
        "matmul (#2) runs on /CPU:0: the fewest bytes cross devices that way (min_copies)\n");
  CHECK(written([&](auto& out) { why(out, e, "sum"); }) ==
        "no step of this plan is called 'sum'\n");
  tensor_on<Gpu0, 2, 3> g(a);
  auto const sentence_of = [](std::string const& said) { return said.substr(0, said.find('\n')); };
  CHECK(sentence_of(written([&](auto& out) { why(out, where(a > 0.f, g, a), "where"); })) ==
        "where (#5) runs on /GPU:0: no other GPU holds more of its operands (prefer_gpu)");
  CHECK(sentence_of(written([&](auto& out) { why<follow_data>(out, 2.f * a + g, "add"); })) ==
        "add (#4) runs on /CPU:0: its first operand with a place of its own lies there "
        "(follow_data)");
  tensor_on<CpuDevice, 2, 2> y;
  auto const step = plan(into(y, e));
  CHECK(written([&](auto& out) { explain(out, step); }).find("result #2 on /CPU:0") !=
        std::string::npos);
  CHECK(written([&](auto& out) { why(out, step, "matmul"); }).find("at home") != std::string::npos);
}

}  // namespace plan_test
