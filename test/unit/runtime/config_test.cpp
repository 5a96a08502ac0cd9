// SPDX-License-Identifier: Apache-2.0
// Listing and configuration: unset, configured, frozen at the first use; every row of TensorFlow's
// tables of errors, with what locus does instead where that is safer.
#define LOCUS_CUDA_KERNELS 1
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <doctest/doctest.h>
#include <thread>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"

using namespace locus;

namespace {

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;

template <class Kind, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (Kind const& e) {
    return e.what();
  } catch (std::exception const& e) {
    return std::string("another kind: ") + e.what();
  }
  return "nothing was thrown";
}
template <class F>
std::string refusal(F&& f) {
  return message_of<configuration_error>(f);
}
template <class F>
std::string unknown(F&& f) {
  return message_of<unknown_device>(f);
}

template <class List>
std::string names(List const& list) {
  std::string all;
  for (auto const& d : list) all += (all.empty() ? "" : " ") + std::string(d.name.view());
  return all;
}

/// on four cards of 4 GiB: simulated, and recorded
template <class Body>
void on_four_cards(Body&& body) {
  {
    INFO("simulated");
    testing::simulated_gpus const cards{4, {.memory_limit = 4_GiB}};
    body();
  }
  {
    INFO("recorded");
    testing::recorder const cards{{.cards = 4, .bytes = 4_GiB}};
    body();
  }
}

}  // namespace

TEST_CASE("physical devices are listed without freezing, logical ones freeze") {
  on_four_cards([] {
    CHECK(names(config::list_physical_devices("GPU")) ==
          "/physical_device:GPU:0 /physical_device:GPU:1 /physical_device:GPU:2 "
          "/physical_device:GPU:3");
    CHECK(config::list_physical_devices().size() == 5);
    CHECK_FALSE(runtime::table.started);
    CHECK(names(config::list_logical_devices("GPU")) ==
          "/device:GPU:0 /device:GPU:1 /device:GPU:2 /device:GPU:3");
    CHECK(runtime::table.started);
    CHECK(names(config::list_logical_devices("CPU")) == "/device:CPU:0");
  });
}

TEST_CASE("who froze the configuration is named with file and line") {
  testing::simulated_gpus const cards{2};
  auto const frozen = [](char const* what, int line, auto&& use) {
    testing::fresh_configuration const fresh;
    config::set_visible_devices("GPU", {0, 1});
    use();
    auto const text = refusal([] { config::set_visible_devices("GPU", {1}); });
    CAPTURE(text);
    std::string const site =
        line ? " at " + std::string(__FILE__) + ":" + std::to_string(line) : "";
    CHECK(text ==
          "locus: the list of visible devices cannot be modified after being initialized: the "
          "devices are in use since '" +
              std::string(what) + "'" + site + "; call config::set_visible_devices before that");
    CHECK_NOTHROW(config::set_visible_devices("GPU", {0, 1}));  // changes nothing
  };
  char const* const made = "a Tensor was made";
  // clang-format off
  frozen(made, __LINE__, [] { Tensor<float, Extents<2>> x; });
  frozen(made, __LINE__, [] { Tensor<float, Extents<2>, G1> x{1, 2}; });
  frozen(made, __LINE__, [] { Tensor<float, Dextents<2>, G1> x(2, 3); });
  frozen(made, __LINE__, [] { Tensor<float, Extents<2>> x(zeros<float>(Extents<2>{})); });
  frozen("eval", __LINE__, [] { CHECK(eval(zeros<float>(Extents<2>{})).size() == 2); });
  frozen("fetch", __LINE__, [] { CHECK(fetch(sum(zeros<float>(Extents<2>{}))) == 0); });
  frozen("to", __LINE__, [] { CHECK(to<G0>(zeros<float>(Extents<2>{})).size() == 2); });
  frozen("run", __LINE__, [] { float v[2]; run(into(view<CpuDevice>(v, Extents<2>{}), zeros<float>(Extents<2>{}))); });
  frozen("list_logical_devices", __LINE__, [] { CHECK(config::list_logical_devices().size() == 3); });
  frozen("count_logical_gpus", __LINE__, [] { CHECK(config::count_logical_gpus() == 2); });
  frozen("a plan ran", 0, [] { float v[2]; auto w = view<CpuDevice>(v, Extents<2>{}); w = zeros<float>(Extents<2>{}); });
  // clang-format on
}

TEST_CASE("one card as two logical GPUs: names, limits, card, and memory that ends at the limit") {
  auto const body = [] {
    config::set_logical_devices("GPU:0", {{.memory_limit = 1_MiB}, {.memory_limit = 2_MiB}});
    auto const list = config::list_logical_devices("GPU");
    REQUIRE(list.size() == 2);
    CHECK(list[0].memory_limit == 1_MiB);
    CHECK(list[1].memory_limit == 2_MiB);
    CHECK(list[1].physical == list[0].physical);
    Tensor<float, Dextents<1>, G1> x(1 << 18);
    CHECK_THROWS_AS((Tensor<float, Dextents<1>, G0>((1 << 18) + 1)), out_of_memory);
    x = ones<float>(Dextents<1>(1 << 18));
    CHECK(fetch(sum(x)) == 1 << 18);
  };
  {
    testing::simulated_gpus const cards{1};
    body();
  }
  testing::recorder const cards;
  body();
}
