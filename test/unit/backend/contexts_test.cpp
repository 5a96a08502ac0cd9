// SPDX-License-Identifier: Apache-2.0
// Contexts of CUDA: on cards that are used, and on no other, whatever thread calls.
#define LOCUS_CUDA_KERNELS 1
#include <locus/memory/pinned.hpp>  // pinned_memory
#include <locus/testing/nccl_recorder.hpp>
// the recorder comes first
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <locus/locus.hpp>

using namespace locus;

namespace {

template <int N>
using G = GpuDevice<N>;
using Both = Mirrored<G<0>, G<1>>;
using Halves = Sharded<0, G<0>, G<1>>;

std::string text_of(std::set<int> const& cards) {
  std::string text;
  for (int c : cards) text += std::to_string(c);
  return text;
}
std::string contexts_after(auto&& body) {
  testing::recorder cards{{.cards = 4}};
  testing::nccl_recorder const nccl;
  config::set_visible_devices("GPU", {2, 3});
  cards.end_contexts();
  std::thread([&] { body(); }).join();
  return text_of(cards.contexts());
}

}  // namespace

TEST_CASE("cards that nobody uses get no context") {
  char const* const used = "23";
  CHECK(contexts_after([] {
          Tensor<float, Extents<4>, G<0>> const x(ones<float>(Extents<4>{}));
        }) == used);  // streams of both
  CHECK(contexts_after([] {
          Tensor<float, Dextents<2>, G<0>> a(8, 8), b(8, 8);
          a = ones<float>(dextents<2>{8, 8});
          b = matmul(a, a);
          CHECK(fetch(sum(b)) == 512);
        }) == used);
  CHECK(contexts_after([] {  // copies between cards, through pinned memory, from another thread
          Tensor<float, Extents<4>, G<0>> x(ones<float>(Extents<4>{}));
          Tensor<float, Extents<4>, G<1>> y(to<G<1>>(x));
          std::thread([&] { CHECK(fetch(sum(y)) == 4); }).join();
          std::thread([&] { x = to<G<0>>(y * 2.f); }).join();
          CHECK(fetch(sum(x)) == 8);
        }) == used);
  CHECK(contexts_after([] {
          Tensor<float, Extents<2, 8>, Halves> x{to<Halves>(ones<float>(Extents<2, 8>{}))};
          Tensor<float, Extents<8>, Both> y;
          run(plan(into(y, sum<0>(x))));
          std::thread([&] {
            Tensor<float, Extents<8>, CpuDevice> const here(to<CpuDevice>(y));
            CHECK(here.data()[0] == 2);
          }).join();
        }) == used);
}

TEST_CASE("the first call of a thread makes no context, whichever it is") {
  contexts_after([] {
    Tensor<float, Extents<2, 8>, Halves> x{to<Halves>(ones<float>(Extents<2, 8>{}))};
    Tensor<float, Extents<8>, Both> y;
    run(plan(into(y, sum<0>(x))));
    auto& d = runtime::table.gpu_devices[1];
    stamp const s = runtime::mark(d, queue_kind::compute);
    void* pinned = nullptr;
    int asked = -1;
    auto const first = [&](char const* what, auto&& call) {
      CAPTURE(what);
      std::thread([&] { call(); }).join();
      CHECK(text_of(testing::recorder::now().contexts()) == "23");
    };
    first("waiting", [&] { runtime::synchronize(s); });
    first("a queue", [&] { runtime::wait(d, queue_kind::copy, s); });
    first("finishing", [&] { machine_of(d).finish(d); });
    first("pinning", [&] { pinned = runtime::pinned_memory.allocate(8 << 20); });
    first("owner", [&] {
      device owner;
      asked = machine_of(d).find_other_owner(d, pinned, owner);
    });
    CHECK(asked == 1);
    first("unpinning", [&] {
      runtime::pinned_memory.release(pinned);
      runtime::pinned_memory.close();
    });
    first("groups", [&] { run(plan(into(y, sum<0>(x)))); });
    first("ending communicators", [&] { collective::rebuild<Both>(); });
  });
}

TEST_CASE("a program's own card is current again behind a call, unless that would make a context") {
  testing::recorder cards{{.cards = 4}};
  config::set_visible_devices("GPU", {2, 3});
  cards.end_contexts();
  auto const& api = *runtime::gpu_api;
  auto const now = [&] {
    int card = -1;
    api.get_device(&card);
    return card;
  };
  auto const compute = [] {
    Tensor<float, Extents<4>, G<0>> const x(ones<float>(Extents<4>{}));
    CHECK(fetch(sum(x)) == 4);
  };
  std::thread([&] {
    compute();
    CHECK(now() == 2);  // card 0 has no context
    api.set_device(1);
    compute();
    CHECK(now() == 1);  // the program's choice
    CHECK(text_of(cards.contexts()) == "123");
  }).join();
}
