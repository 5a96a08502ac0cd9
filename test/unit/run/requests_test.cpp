// SPDX-License-Identifier: Apache-2.0
// Hard placement (set_soft_device_placement(false)) refuses what a program asks for by name and is
// not there, whatever was used before, and nothing that nobody asked for.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <doctest/doctest.h>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <locus/strategy/strategy.hpp>

#include "on_backends.hpp"
#include <message_of.hpp>

namespace requests_test {

using namespace locus;

namespace {

using Vector = Tensor<float, Extents<4>>;
template <int N>
using On = Tensor<float, Extents<4>, GpuDevice<N>>;
using OnAny = Tensor<float, Extents<4>, GpuDevice<dyn>>;

struct cpu_op {
  LOCUS_OPERATION("cpu_op", on_cpu)
  float operator()(float v) const { return v + 2; }
};
struct gpu_op {
  LOCUS_OPERATION("gpu_op", on_gpu)
  float operator()(float v) const { return v * 2; }
};

/// hard placement until the end of the scope
struct hard_scope {
  hard_scope() { config::set_soft_device_placement(false); }
  hard_scope(hard_scope const&) = delete;
  ~hard_scope() { config::set_soft_device_placement(true); }
};
bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }
std::string here(int line) { return std::string(__FILE__) + ":" + std::to_string(line); }

/// each way to ask for /GPU:5, which is on none of the machines, by name
struct way {
  char const* name;
  std::function<void()> ask;
};
std::vector<way> const ways{
    {"a Tensor", [] { On<5> t; }},
    {"a Tensor", [] { On<5> const t{1, 2, 3, 4}; }},
    {"a Tensor", [] { On<5> const t(ones<float>(Extents<4>{})); }},
    {"a Tensor", [] { OnAny t(gpu(5)); }},
    {"a Tensor", [] { Tensor<float, Extents<4>, Mirrored<Cpu<0>, GpuDevice<5>>> t; }},
    {"to<...>", [] { static_cast<void>(to<GpuDevice<5>>(Vector{1, 2, 3, 4})); }},
    {"to<...>", [] { static_cast<void>(to<GpuDevice<dyn>>(Vector{1, 2, 3, 4}, 5)); }},
    {"to<...>()",
     [] {
       AnyTensor<float, Extents<4>> const t(Vector{1, 2, 3, 4});
       static_cast<void>(t.to<GpuDevice<5>>());
     }},
    {"'multiply' (step 2)",
     [] { static_cast<void>(eval(on<"/GPU:5">(Vector{1, 2, 3, 4} * 2.f))); }},
    {"'multiply' (step 2)",
     [] {
       Vector x{1, 2, 3, 4};
       x = on<GpuDevice<dyn>>(x * 2.f, 5);
     }},
    {"with_device", [] { with_device("/gpu:5", [](auto) {}); }},
    {"a strategy", [] { strategy<Mirrored<GpuDevice<0>, GpuDevice<5>>> s; }},
    {"use_stream", [] { use_stream("/gpu:5", nullptr); }},
    {"get_memory_info", [] { static_cast<void>(config::get_memory_info<GpuDevice<5>>()); }},
};

}  // namespace

TEST_CASE("what was used softly is refused by hard placement, and taken softly again") {
  on_backends([](backends::machine const& m) {
    for (way const& w : ways) {
      CAPTURE(w.name);
      bool const streams = std::string_view(w.name) == "use_stream";
      for (int round = 0; round < 2; ++round) {
        if (!streams) CHECK_NOTHROW(w.ask());
        hard_scope const hard;
        std::string const text = message_of<unknown_device>(w.ask);
        CHECK(text.starts_with("locus: there is no /GPU:" +
                               std::string(!m.has_gpu() && has(text, "/GPU:0:") ? "0: " : "5: ")));
        CHECK(has(text, std::string(w.name) + " asks for it"));
        CHECK(has(text, m.gpus == 0   ? "(present: /CPU:0)"
                        : m.gpus == 1 ? "(present: /CPU:0, /GPU:0)"
                                      : "(present: /CPU:0, /GPU:0, /GPU:1"));
      }
      if (!streams) CHECK_NOTHROW(w.ask());
    }
    CHECK_NOTHROW(static_cast<void>(config::get_memory_info("/GPU:5")));  // used above
    hard_scope const hard;
    CHECK(has(message_of<unknown_device>([] { return config::get_memory_info("/GPU:5"); }),
              "no matching devices found for the device name \"/GPU:5\""));
  });
}

TEST_CASE(
    "a tensor that was made softly lives on under hard placement: read, written, copied, gone") {
  on_backends([] {
    Vector const x{1, 2, 3, 4};
    On<5> t{1, 2, 3, 4};
    hard_scope const hard;
    t = x * 2.f;
    On<5> const copy = t;
    CHECK(fetch(sum(t)) == 20);
    CHECK(equal(fetch(copy), x * 2.f));
    std::ostringstream out;
    out << t;
    CHECK(out.str() == "[2. 4. 6. 8.]");
  });
}

TEST_CASE("hard placement names step, device, line and what is there") {
  testing::simulated_gpus const one{1};
  hard_scope const hard;
  Vector const a{1, 2, 3, 4};
  int const line = __LINE__ + 1;
  auto const add = [&] { return eval(exp(a) + on<"/GPU:4">(sqrt(a))); };
  auto const make = [] { On<4> t; };
  std::string const missing =
      "locus: there is no /GPU:4: name one that is there (present: /CPU:0, /GPU:0); ";
  CHECK(message_of<unknown_device>(add) ==
        missing + "'sqrt' (step 3) asks for it at " + here(line));
  CHECK(message_of<unknown_device>(make) == missing + "a Tensor asks for it at " + here(line + 1));
}

TEST_CASE("hard placement refuses an operation without a kernel where it was asked for by name") {
  on_backends([](backends::machine const& m) {
    Vector x{1, 2, 3, 4};
    int const line = __LINE__ + 1;
    auto const on_gpu = [&] { return eval(on<GpuDevice<0>>(map(cpu_op{}, x))); };
    auto const on_cpu = [&] { return eval(on<CpuDevice>(map(gpu_op{}, x))); };
    auto const open = [&] { x = on<GpuDevice<dyn>>(map(cpu_op{}, x), 0); };
    CHECK(fetch(sum(on_gpu())) == 18);
    CHECK(fetch(sum(on_cpu())) == 20);
    hard_scope const hard;
    CHECK(
        message_of<placement_error>(on_cpu) ==
        "locus: 'gpu_op' (step 1) has no CPU kernel for its element types, and /CPU:0 is asked for "
        "at " +
            here(line + 1) +
            " while soft placement is off; place it with on<GpuDevice<0>>, or switch soft "
            "placement on");
    CHECK(fetch(sum(map(cpu_op{}, x))) == 18);  // nobody asked
    x = map(cpu_op{}, x);
    CHECK(fetch(sum(x)) == 18);
    if (!m.has_gpu()) return;
    CHECK(
        message_of<placement_error>(on_gpu) ==
        "locus: 'cpu_op' (step 1) has no GPU kernel for its element types, and /GPU:0 is asked for "
        "at " +
            here(line) +
            " while soft placement is off; place it with on<CpuDevice>, or switch soft placement "
            "on");
    CHECK(has(message_of<placement_error>(open), "'cpu_op' (step 1) has no GPU kernel"));
    CHECK(fetch(sum(x)) == 18);  // nothing has changed
  });
}

TEST_CASE("hard placement without a GPU refuses nothing that nobody asked for") {
  std::vector<float> const expected{2, 4, 6, 8};
  auto const all = [&] {
    Vector a{1, 2, 3, 4};
    Tensor<float, Extents<2, 2>> b{{1, 2}, {3, 4}};
    CHECK(fetch(sum(eval(a + a))) == 20);
    CHECK(fetch(eval(sum(a))) == 10);
    CHECK(fetch(sum(eval(matmul(b, b)))) == 54);
    CHECK(fetch(sum(eval(zeros<float>(Extents<4>{})))) == 0);
    auto const r = eval(a + a);
    auto s = r;
    s = s + r;
    CHECK(fetch(sum(s)) == 40);
    std::ostringstream out;
    out << a * 2.f;
    CHECK(out.str() == "[2. 4. 6. 8.]");
    Vector const c(a + a);
    b = matmul(b, b);
    CHECK(fetch(sum(c)) + fetch(sum(b)) == 74);
    CHECK(fetch(sum(eval<follow_data>(a * 2.f))) == 20);
    CHECK(fetch(sum(eval<min_copies>(a * 2.f))) == 20);
    CHECK(fetch(sum(eval(map(gpu_op{}, a)))) == 20);
    CHECK(fetch(sum(to<Mirrored<AllGpus>>(a))) == 10);
  };
  hard_scope const hard;
  all();
  {
    testing::simulated_gpus const cards{2};
    config::set_visible_devices({}, "GPU");
    all();
  }
  testing::recorder const none{{.cards = 0}};
  all();
}

TEST_CASE(
    "a logical CPU that is not configured is the host softly, and refused by hard placement") {
  using There = Tensor<float, Extents<4>, Cpu<1>>;
  using Missing = Tensor<float, Extents<4>, Cpu<5>>;
  testing::simulated_gpus const cards{1};
  config::set_logical_devices("CPU:0", {{}, {}});
  CHECK(fetch(sum(Missing{1, 2, 3, 4})) == 10);
  CHECK(fetch(sum(on<Cpu<5>>(Vector{1, 2, 3, 4} * 2.f))) == 20);
  hard_scope const hard;
  CHECK(fetch(sum(There{1, 2, 3, 4})) == 10);
  Vector const x{1, 2, 3, 4};
  CHECK(fetch(sum(on<Cpu<1>>(x * 2.f))) == 20);
  CHECK(has(message_of<unknown_device>([] { Missing t; }),
            "locus: there is no /CPU:5: name one that is there, or have more by "
            "config::set_logical_devices (present: /CPU:0, /CPU:1, /GPU:0); a Tensor asks for it"));
  CHECK(has(message_of<unknown_device>([&] { return eval(on<Cpu<5>>(x * 2.f)); }),
            "there is no /CPU:5"));
  CHECK(has(message_of<unknown_device>([&] { return eval(on<Cpu<dyn>>(x * 2.f, 5)); }),
            "there is no /CPU:5"));
  CHECK(has(message_of<unknown_device>([] { with_device("/cpu:5", [](auto) {}); }),
            "there is no /CPU:5"));
}

}  // namespace requests_test
