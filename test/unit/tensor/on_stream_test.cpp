// SPDX-License-Identifier: Apache-2.0
// A stream of the user's: what it holds comes before a plan, what it is given later comes behind it.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <locus/testing/simulated_stream.hpp>

namespace on_stream_test {

using namespace locus;
using runtime::planted;
using testing::simulated_stream;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Row = Extents<4>;

void fill(simulated_stream const& s, Tensor<float, Row, G0>& x, float v) {
  s.launch(x.data(), 4, true, [v](float* p) {
    for (int i = 0; i < 4; ++i) p[i] = v;
  });
}
float read(simulated_stream const& s, Tensor<float, Row, G0> const& x) {
  float sum = 0;
  s.launch(x.data(), 4, false, [&sum](float const* p) { sum = p[0] + p[1] + p[2] + p[3]; });
  s.synchronize();
  return sum;
}
std::string refusal(auto&& f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return "";
}

/// a stream of the user's over a recorder
struct recorded_stream {
  explicit recorded_stream(int card) : api(*runtime::gpu_api) {
    int before = 0;
    api.get_device(&before), api.set_device(card), api.stream_create(&handle);
    api.set_device(before);
  }
  recorded_stream(recorded_stream const&) = delete;
  ~recorded_stream() { api.stream_destroy(handle); }
  void fill(float* to, float v) const {
    float const row[] = {v, v, v, v};
    api.memcpy_async(to, row, sizeof row, handle);
  }
  float read(float const* from) const {
    float row[4]{};
    api.memcpy_async(row, from, sizeof row, handle), api.stream_synchronize(handle);
    return row[0] + row[1] + row[2] + row[3];
  }
  runtime::cuda_api const& api;
  void* handle = nullptr;
};

}  // namespace

TEST_CASE(
    "a plan comes behind what the stream holds, and the stream's later work behind the plan") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus(2, {.seed = seed});
    for (simulated_stream const s :
         {simulated_stream(), simulated_stream(2), simulated_stream(0)}) {
      Tensor<float, Row, G0> x{{1, 1, 1, 1}}, y = x;
      Tensor<float, Row, G1> far{{1, 1, 1, 1}};
      runtime::synchronize(runtime::find_device(gpu(0)));
      for (float v : {2.f, 3.f, 4.f}) {
        fill(s, x, v);
        run(into(y, x * 2.f), on_stream(s.handle()));
        CHECK(read(s, y) == 8 * v);
        fill(s, x, 5 * v);
        auto const z = eval(x + 1.f, on_stream(s.handle()));
        CHECK(read(s, z) == 20 * v + 4);
        run(plan(into(far, on<G1>(x - 1.f)), into(y, x)), on_stream(s.handle()));
        fill(s, x, 0);
        CHECK(read(s, y) == 20 * v);
        CHECK(fetch(sum(far)) == 20 * v - 4);
      }
      fill(s, x, 6);  // host memory is read and written when the stream is done
      Tensor<float, Row> host;
      run(into(host, x), on_stream(s.handle()));
      CHECK(host(3) == 6);
    }
  }
}

TEST_CASE("without either wait the order is missed") {
  for (bool* const plant : {&planted.ignore_guest, &planted.forget_guest}) {
    testing::simulated_gpus const gpus(1);
    simulated_stream const s;
    Tensor<float, Row, G0> x{{1, 1, 1, 1}}, y = x;
    runtime::synchronize(runtime::find_device(gpu(0)));
    fill(s, x, 2);
    *plant = true;
    auto const text = refusal([&] {
      run(into(y, x * 2.f), on_stream(s.handle()));
      static_cast<void>(read(s, y));
    });
    *plant = false;
    CHECK(text.find("no event orders them") != text.npos);
    s.synchronize(), runtime::synchronize(runtime::find_device(gpu(0)));
  }
}

TEST_CASE("a device computes on the user's stream until it has its own again") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::simulated_gpus const gpus(2, {.seed = seed});
    simulated_stream const s;
    Tensor<float, Row, G0> x{{1, 1, 1, 1}}, y = x;
    use_stream<G0>(s.handle());
    fill(s, x, 3);
    y = x * 2.f;  // no on_stream: it is one queue
    CHECK(read(s, y) == 24);
    Tensor<float, Row, G1> far(on<G1>(x + 1.f));
    CHECK(fetch(sum(far)) == 16);
    fill(s, x, 4);
    use_stream("GPU:0", own_stream);
    y = x;
    CHECK(fetch(sum(y)) == 16);
  }
}

TEST_CASE("a stream that is none of theirs is refused; a host needs none") {
  int something = 0;
  {
    Tensor<float, Row> a{{1, 2, 3, 4}};
    run(into(a, a * 2.f), on_stream(&something));
    use_stream<CpuDevice>(&something);
    CHECK(a(3) == 8);
  }
  testing::simulated_gpus const gpus(1);
  Tensor<float, Row, G0> x{{1, 1, 1, 1}};
  CHECK(refusal([&] { run(into(x, x * 2.f), on_stream(&something)); }) ==
        "locus: on simulated GPUs a stream is a testing::simulated_stream, or null; hand in its "
        "handle()");
  CHECK(fetch(sum(x)) == 4);
}

TEST_CASE("CUDA: a stream that is being captured is refused, and nothing of a plan comes into it") {
  testing::recorder gpus{{.cards = 1}};
  recorded_stream const s(0);
  Tensor<float, Row, G0> x{{1, 1, 1, 1}};
  gpus.capture(s.handle);
  auto const events = gpus.calls("event_record"), waits = gpus.calls("stream_wait_event");
  CHECK(
      refusal([&] { run(into(x, x * 2.f), on_stream(s.handle)); }) ==
      "locus: on_stream was given a stream that is being captured into a graph, and a plan cannot "
      "be captured; end the capture before");
  CHECK(refusal([&] {
          use_stream<G0>(s.handle);
        }).starts_with("locus: use_stream was given a stream"));
  CHECK(gpus.calls("event_record") == events);
  CHECK(gpus.calls("stream_wait_event") == waits);
  gpus.end_capture(s.handle);
  gpus.capture(nullptr);
  CHECK(
      refusal([&] { run(into(x, x * 2.f), on_stream(nullptr)); }).starts_with("locus: on_stream"));
  gpus.end_capture(nullptr);
  CHECK(fetch(sum(x)) == 4);
}

TEST_CASE("CUDA: without either wait the order is missed") {
  for (bool* const plant : {&planted.ignore_guest, &planted.forget_guest}) {
    testing::recorder const gpus{{.cards = 1}};
    recorded_stream const s(0);
    Tensor<float, Row, G0> x{{1, 1, 1, 1}}, y = x;
    runtime::synchronize(runtime::find_device(gpu(0)));
    s.fill(x.data(), 2);
    *plant = true;
    auto const text = refusal([&] {
      run(into(y, x * 2.f), on_stream(s.handle));
      static_cast<void>(s.read(y.data()));
    });
    *plant = false;
    CHECK(text.find("no event orders them") != text.npos);
    s.api.stream_synchronize(s.handle), runtime::synchronize(runtime::find_device(gpu(0)));
  }
}

TEST_CASE("CUDA: two events order a plan and the stream, and the host waits for nothing") {
  testing::recorder gpus{{.cards = 2, .checks_order = false}};  // wrong numbers are looked at
  recorded_stream const s(0), other(1);
  Tensor<float, Row, G0> x{{1, 1, 1, 1}}, y = x;
  runtime::synchronize(runtime::find_device(gpu(0)));
  auto const count = [&](char const* name, auto&& f) {
    auto const before = gpus.calls(name);
    f();
    return gpus.calls(name) - before;
  };
  auto const doubles = [&] { run(into(y, x * 2.f), on_stream(s.handle)); };
  doubles();
  for (float v : {2.f, 3.f}) {
    s.fill(x.data(), v);
    CHECK(count("event_synchronize", doubles) + count("stream_synchronize", doubles) == 0);
    CHECK(count("event_record", doubles) == 2);
    CHECK(count("stream_wait_event", doubles) == 3);  // both queues of the device, and the stream
    CHECK(count("event_create", doubles) == 0);
    CHECK(s.read(y.data()) == 8 * v);
    s.fill(x.data(), 7);
    auto const z = eval(x + 1.f, on_stream(s.handle));
    CHECK(s.read(z.data()) == 32);
  }
  s.fill(x.data(), 4);
  planted.ignore_guest = true, doubles(), planted.ignore_guest = false;
  CHECK(fetch(sum(y)) == 56);  // of the 7 before
  s.fill(x.data(), 5);
  planted.forget_guest = true, doubles(), planted.forget_guest = false;
  CHECK(s.read(y.data()) == 56);
  // the default stream of the device where the plan runs
  float const row[] = {9, 9, 9, 9};
  s.api.memcpy_async(x.data(), row, sizeof row, nullptr);
  run(into(y, x * 2.f), on_stream(nullptr));
  float back[4]{};
  s.api.memcpy_async(back, y.data(), sizeof back, nullptr), s.api.stream_synchronize(nullptr);
  CHECK(back[3] == 18);

  CHECK(refusal([&] { run(into(y, x * 2.f), on_stream(other.handle)); }) ==
        "locus: the stream of on_stream belongs to card 1, and the plan runs on /GPU:0; hand in a "
        "stream of one of its cards");
  CHECK(refusal([&] {
          run(into(y, x * 2.f), on_stream(back));
        }).starts_with("locus: on_stream was given what is no stream of CUDA: "));
  int now = -1;
  s.api.get_device(&now);
  CHECK(now == 0);
}

TEST_CASE("CUDA: the compute queue is the user's stream, which stays the user's") {
  testing::recorder gpus{{.cards = 2}};
  int const streams = gpus.open_streams();
  {
    recorded_stream const s(1), other(0);
    Tensor<float, Row, G1> x{{1, 1, 1, 1}}, y = x;
    CHECK(refusal([&] { use_stream<G1>(other.handle); }) ==
          "locus: the stream of use_stream belongs to card 0, and /GPU:1 is card 1; hand in a "
          "stream of that card");
    use_stream("/GPU:1", s.handle);
    s.fill(x.data(), 3);
    y = x * 2.f;
    CHECK(s.read(y.data()) == 24);
    s.fill(x.data(), 4);
    use_stream<G1>(nullptr);  // the default stream
    y = x * 2.f;
    CHECK(fetch(sum(y)) == 32);
    use_stream<G1>(s.handle);
    s.fill(x.data(), 5);
    use_stream<G1>(own_stream);
    use_stream<G1>(own_stream);
    y = x * 2.f;
    CHECK(fetch(sum(y)) == 40);
    use_stream<G1>(s.handle);
    y = x * 3.f;
    CHECK(fetch(sum(y)) == 60);
    use_stream<G1>(own_stream);
  }
  CHECK(gpus.open_streams() == streams);
}

TEST_CASE(
    "CUDA: each card has a default stream: a plan over two comes behind both, and they behind it") {
  testing::recorder const gpus{{.cards = 2}};
  Tensor<float, Row, G0> x{{1, 1, 1, 1}}, x2 = x;
  Tensor<float, Row, G1> y{{1, 1, 1, 1}}, y2 = y;
  for (int g : {0, 1}) runtime::synchronize(runtime::find_device(gpu(g)));
  auto const& api = *runtime::gpu_api;
  auto const on_card = [&](int card, auto&& f) {
    int before = 0;
    api.get_device(&before), api.set_device(card), f(), api.set_device(before);
  };
  auto const fill = [&](int card, float* to, float v) {
    float const row[] = {v, v, v, v};
    on_card(card, [&] { api.memcpy_async(to, row, sizeof row, nullptr); });
  };
  auto const read = [&](int card, float const* from) {
    float row[4]{};
    on_card(card, [&] {
      api.memcpy_async(row, from, sizeof row, nullptr), api.stream_synchronize(nullptr);
    });
    return row[0] + row[1] + row[2] + row[3];
  };
  for (int first : {0, 1}) {
    fill(0, x.data(), 2), fill(1, y.data(), 3);
    run(plan(into(x2, x * 2.f), into(y2, y * 2.f)), on_stream(nullptr));
    if (first == 1)  // nobody else asks the default streams to go on
      for (int g : {0, 1}) runtime::synchronize(runtime::find_device(gpu(g)));
    fill(0, x.data(), 7), fill(1, y.data(), 7);  // the plan has read them
    CHECK(read(first, first == 0 ? x2.data() : y2.data()) == (first == 0 ? 16 : 24));
    CHECK(read(1 - first, first == 0 ? y2.data() : x2.data()) == (first == 0 ? 24 : 16));
    fill(0, x.data(), 4), fill(1, y.data(), 5);
    Tensor<float, Row> a, b;  // the host reads what both have
    run(plan(into(a, x), into(b, y)), on_stream(nullptr));
    CHECK(a(3) == 4);
    CHECK(b(3) == 5);
  }
}

}  // namespace on_stream_test
