// SPDX-License-Identifier: Apache-2.0
// Listing and configuration: unset, configured, frozen at the first use; every row of TensorFlow's
// tables of errors, with what locus does instead where that is safer.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <locus/machine/visible_variable.hpp>  // read_visible_variable
#include <locus/testing/recorder.hpp>
// the recorder comes first
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "child.hpp"
#include <message_of.hpp>

using namespace locus;

namespace {

using config::physical_device;
using config::session_options;
using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;

template <class F>
std::string refusal(F&& f) {
  return message_of<configuration_error>(f);
}
template <class F>
std::string unknown(F&& f) {
  return message_of<unknown_device>(f);
}

bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

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
  frozen("with_device", __LINE__, [] { with_device("/GPU:1", [](auto) {}); });
  frozen("get_memory_info", __LINE__, [] { CHECK(config::get_memory_info("GPU:0").current == 0); });
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

TEST_CASE("visible devices: a type's part or the whole list, in the order of the cards") {
  on_four_cards([] {
    auto const all = config::list_physical_devices("GPU");
    config::set_visible_devices("GPU", {3, 1});
    CHECK(names(config::get_visible_devices()) ==
          "/physical_device:CPU:0 /physical_device:GPU:1 /physical_device:GPU:3");
    CHECK(names(config::list_physical_devices("GPU")) == names(all));  // hidden, not gone
    config::set_visible_devices({all[2], config::list_physical_devices("CPU")[0]});
    CHECK(names(config::get_visible_devices("GPU")) == "/physical_device:GPU:2");
    config::set_visible_devices(config::list_physical_devices("CPU"));  // no type: hides all GPUs
    CHECK(config::get_visible_devices("GPU").empty());
    config::set_visible_devices(config::list_physical_devices("CPU"), "CPU");  // the CPUs' part
    config::set_visible_devices({}, "GPU");
    CHECK(config::get_visible_devices("GPU").empty());
    config::set_visible_devices(all[0]);
    config::set_visible_devices("gpu", {2, 0});
    auto const list = config::list_logical_devices("GPU");
    REQUIRE(list.size() == 2);
    CHECK(list[1].index == 1);
    CHECK(list[1].physical == all[2]);
    Tensor<float, Extents<2>, G1> x{1, 2};
    CHECK(fetch(sum(x)) == 3);
  });
}

TEST_CASE("visible devices that cannot be: named, and nothing has changed") {
  on_four_cards([] {
    auto const before = names(config::get_visible_devices());
    auto const all = config::list_physical_devices();
    std::string const there =
        " is not there (present: /physical_device:CPU:0 /physical_device:GPU:0 "
        "/physical_device:GPU:1 /physical_device:GPU:2 /physical_device:GPU:3); name one obtained "
        "from calling config::list_physical_devices";
    for (int bad : {4, 63, 99, 100, 5000})
      CHECK(unknown([&] { config::set_visible_devices("GPU", {0, bad}); }) ==
            "locus: unrecognized device: \"/physical_device:GPU:" + std::to_string(bad) + "\"" +
                there);
    CHECK(has(unknown([] { config::set_visible_devices("GPU", {-1}); }),
              "has an ordinal that is no number from 0"));
    CHECK(unknown([] { config::set_visible_devices("CPU", {1}); }) ==
          "locus: unrecognized device: \"/physical_device:CPU:1\"" + there);
    CHECK(unknown([&] { config::set_visible_devices({all[0], all[1]}, "GPU"); }) ==
          "locus: /physical_device:CPU:0 is not of type GPU; name devices of one type, or no type");
    CHECK(refusal([] { config::set_visible_devices("GPU", {1, 1}); }) ==
          "locus: /physical_device:GPU:1 contained a duplicate entry: it is named twice; name each "
          "device once");
    CHECK(refusal([&] { config::set_visible_devices({all[0], all[0]}); }) ==
          "locus: /physical_device:CPU:0 contained a duplicate entry: it is named twice; name each "
          "device once");
    CHECK(refusal([] { config::set_visible_devices({}, "CPU"); }) ==
          "locus: /physical_device:CPU:0 cannot be hidden, every plan begins there; name it");
    for (auto const* type : {"TPU", "GPU:0", "Gpu"})
      CHECK(unknown([&] { config::set_visible_devices(type, {0}); }) ==
            "locus: \"" + std::string(type) + "\" is no type of device; write \"GPU\" or \"CPU\"");
    CHECK(names(config::get_visible_devices()) == before);
  });
}

TEST_CASE("hidden GPUs are missing with that cause") {
  testing::simulated_gpus const cards{2};
  config::set_visible_devices({}, "GPU");
  config::set_soft_device_placement(false);
  CHECK(
      has(unknown([] { Tensor<float, Extents<2>, G0> x; }),
          "locus: there is no /GPU:0: config::set_visible_devices hides all GPUs of this machine; "
          "name one there (present: /CPU:0); a Tensor asks for it at "));
  config::set_soft_device_placement(true);
}

TEST_CASE("logical devices that cannot be: named, and nothing has changed") {
  using options = config::options_list;
  constexpr std::int64_t most = INT64_MAX;
  struct {
    char const* device;
    options wanted;
    char const* text;
  } const rows[] = {
      {"CPU:0",
       {{.memory_limit = 1_MiB}},
       "locus: setting memory limit on CPU virtual devices is not supported"},
      {"CPU:0", {{}, {.priority = 0}}, "locus: setting priority on CPU virtual devices is not"},
      {"CPU:0", {{.ordinal = 1}}, "locus: setting device ordinal on CPU virtual devices is not"},
      {"GPU:0",
       {{.memory_limit = 1_MiB}, {}},
       "locus: setting memory limit is required for GPU virtual devices"},
      {"GPU:0",
       {{.memory_limit = 0}},
       "locus: a logical device of /physical_device:GPU:0 has a memory limit of 0 bytes; write a "
       "positive number"},
      {"GPU:0", {{.memory_limit = -1}}, "has a memory limit of -1 bytes"},
      {"GPU:1",
       {{.memory_limit = 5_GiB}},
       "locus: the memory limits of the 1 logical devices of /physical_device:GPU:1 add up to "
       "5368709120 bytes, the card has 4294967296; ask for less"},
      {"GPU:1",
       {{.memory_limit = 3_GiB}, {.memory_limit = 2_GiB}},
       "limits of the 2 logical devices"},
      {"GPU:1", {{.memory_limit = most}, {.memory_limit = most}}, "add up to 9223372036854775807"},
      {"GPU:1", {}, "locus: /physical_device:GPU:1 is cut into no logical device"},
      {"CPU:0", {}, "locus: /physical_device:CPU:0 is cut into no logical device"},
      {"GPU:0",
       {{.memory_limit = 1_MiB, .priority = 0}, {.memory_limit = 1_MiB}},
       "locus: priority must be specified for all virtual devices of /physical_device:GPU:0 or for "
       "none; 1 of 2 have one"},
      {"GPU:0",
       {{.memory_limit = 1_MiB, .ordinal = 0}, {.memory_limit = 1_MiB}},
       "locus: device ordinal must be specified for all"},
      {"GPU:0",
       {{.memory_limit = 1_MiB, .priority = 1}},
       "locus: the priority 1 is outside the range of supported priorities; write -5 (first) to 0"},
      {"GPU:0",
       {{.memory_limit = 1_MiB, .priority = -9999}},
       "locus: the priority -9999 is outside"},
  };
  on_four_cards([&] {
    for (auto const& row : rows) {
      auto const text = refusal([&] { config::set_logical_devices(row.device, row.wanted); });
      CAPTURE(text);
      CHECK(has(text, row.text));
      CHECK(config::get_logical_devices("GPU:0").empty());
      CHECK(config::get_logical_devices("CPU:0").size() == 1);
    }
    for (auto const* name : {"GPU:4", "/physical_device:GPU:99", "GPU", "GPU:", "GPU:CPU", "",
                             "TPU:0", "CPU:1", "/job:other/device:GPU:0"}) {
      CAPTURE(name);
      auto const starts = "locus: unrecognized device: \"" + std::string(name) + "\" ";
      auto const is_refused = [&](auto&& call) { CHECK(unknown(call).starts_with(starts)); };
      is_refused([&] { config::set_logical_devices(name, {{.memory_limit = 1_MiB}}); });
      is_refused([&] { static_cast<void>(config::get_logical_devices(name)); });
      is_refused([&] { config::set_memory_growth(name, true); });
      is_refused([&] { static_cast<void>(config::get_memory_growth(name)); });
      is_refused([&] { static_cast<void>(config::get_device_details(name)); });
    }
    CHECK_FALSE(runtime::table.started);
  });
}

TEST_CASE("logical devices of several cards, of CPUs, and numbered by ordinals") {
  on_four_cards([] {
    auto const limits = [] {
      std::string text;
      for (auto const& d : config::list_logical_devices("GPU"))
        text += std::to_string(d.memory_limit >> 20) + "@" + std::to_string(d.physical.index) + " ";
      return text;
    };
    {
      testing::fresh_configuration const fresh;
      config::set_visible_devices("GPU", {0, 2, 3});
      config::set_logical_devices("GPU:2", {{.memory_limit = 3_MiB}, {.memory_limit = 4_MiB}});
      config::set_logical_devices("GPU:0", {{.memory_limit = 1_MiB}, {.memory_limit = 2_MiB}});
      config::set_logical_devices("GPU:1", {{.memory_limit = 9_MiB}});  // hidden
      config::set_logical_devices("CPU:0", {{}, {}, {}});
      CHECK(limits() == "1@0 2@0 3@2 4@2 4096@3 ");
      CHECK(names(config::list_logical_devices("CPU")) ==
            "/device:CPU:0 /device:CPU:1 /device:CPU:2");
      CHECK(config::get_logical_devices("/physical_device:GPU:2")[1].memory_limit == 4_MiB);
      Tensor<float, Extents<2>, GpuDevice<3>> x{1, 2};  // on card 2
      CHECK(runtime::find_device(gpu(3)).card == 2);
      CHECK(fetch(sum(x)) == 3);
    }
    {
      testing::fresh_configuration const fresh;
      config::set_visible_devices("GPU", {0, 1});
      config::set_logical_devices(
          "GPU:0", {{.memory_limit = 1_MiB, .ordinal = 1}, {.memory_limit = 2_MiB, .ordinal = 2}});
      config::set_logical_devices(
          "GPU:1", {{.memory_limit = 3_MiB, .ordinal = 1}, {.memory_limit = 4_MiB, .ordinal = 2}});
      CHECK(limits() == "1@0 3@1 2@0 4@1 ");
    }
    testing::fresh_configuration const fresh;
    config::set_visible_devices("GPU", {3});
    config::set_logical_devices(
        "GPU:3", {{.memory_limit = 1_MiB, .ordinal = 2}, {.memory_limit = 2_MiB, .ordinal = 1}});
    CHECK(limits() == "2@3 1@3 ");
  });
}

TEST_CASE("logical devices beyond what simulated memory can be are refused at the first use") {
  testing::simulated_gpus const cards{4};
  config::options_list six;
  for (int i = 0; i < 6; ++i) six.push({.memory_limit = 1_MiB});
  for (auto const* name : {"GPU:0", "GPU:1", "GPU:2"}) config::set_logical_devices(name, six);
  CHECK(refusal([] { Tensor<float, Extents<2>> x; }) ==
        "locus: more than 16 logical GPUs are configured on simulated cards; configure fewer");
  config::set_logical_devices("GPU:2", {{.memory_limit = 1_MiB}});  // still open, and now it fits
  CHECK(config::count_logical_gpus() == 14);
}

TEST_CASE("simulated GPUs that share a card, until a card is cut") {
  testing::simulated_gpus const shared{4, {.memory_limit = 1_GiB, .cards = 2}};
  auto const limits = [] {
    std::string text;
    for (auto const& d : config::list_logical_devices("GPU"))
      text += std::to_string(d.memory_limit >> 20) + "@" + std::to_string(d.physical.index) + " ";
    return text;
  };
  {
    testing::fresh_configuration const fresh;
    CHECK(limits() == "1024@0 1024@1 1024@0 1024@1 ");
  }
  {
    testing::fresh_configuration const fresh;
    config::set_visible_devices("GPU", {1});
    CHECK(limits() == "1024@1 1024@1 ");
  }
  config::set_logical_devices("GPU:0", {{.memory_limit = 1536_MiB}, {.memory_limit = 512_MiB}});
  CHECK(limits() == "1536@0 512@0 2048@1 ");
}

TEST_CASE("memory growth: on by default, for each card, beside limits, forced by variables") {
  on_four_cards([] {
    CHECK(config::get_memory_growth("GPU:0"));
    CHECK(config::get_memory_growth("CPU:0"));
    CHECK(refusal([] { config::set_memory_growth("CPU:0", true); }) ==
          "locus: cannot set memory growth on non-GPU devices: memory of the host always grows; "
          "name a GPU");
    // TensorFlow refuses cards that differ, and drops growth where there are limits
    config::set_memory_growth("GPU:1", false);
    config::set_logical_devices("GPU:1", {{.memory_limit = 1_MiB}, {.memory_limit = 1_MiB}});
    config::set_logical_devices("GPU:2", {{.memory_limit = 1_MiB}});
    config::set_memory_growth("GPU:2", true);
    auto const growth = [] {
      std::string text;
      runtime::device_table const& t = runtime::devices();
      for (int i = 0; i < t.gpus; ++i) text += t.gpu_devices[i].memory.growth ? "+" : "-";
      return text;
    };
    CHECK(growth() == "+--++");
    CHECK_FALSE(config::get_memory_growth("GPU:1"));
    CHECK_NOTHROW(config::set_memory_growth("GPU:1", false));
    CHECK(refusal([] { config::set_memory_growth("GPU:1", true); }) ==
          "locus: memory growth of physical devices cannot be modified after being initialized: "
          "the devices are in use since 'a plan ran'; call config::set_memory_growth before that");
    struct {
      char const *ours, *theirs, *growth;
    } const rows[] = {{"true", "", "+++++"},    {"false", "true", "-----"},
                      {"", "true", "+++++"},    {"", "false", "-----"},
                      {"", "perhaps", "+--++"}, {"true", "perhaps", "+++++"}};
    auto const c = runtime::configured;
    for (auto const& row : rows) {
      testing::fresh_configuration const fresh;
      runtime::configured = c;
      setenv("LOCUS_FORCE_GPU_ALLOW_GROWTH", row.ours, 1);
      setenv("TF_FORCE_GPU_ALLOW_GROWTH", row.theirs, 1);
      CHECK(growth() == row.growth);
    }
    {
      testing::fresh_configuration const fresh;
      for (auto const* bad : {"1", "TRUE", "yes", " true"}) {
        setenv("LOCUS_FORCE_GPU_ALLOW_GROWTH", bad, 1);
        CHECK(refusal([] { Tensor<float, Extents<2>> x; }) ==
              "locus: LOCUS_FORCE_GPU_ALLOW_GROWTH is \"" + std::string(bad) +
                  "\"; write true or false, or unset it");
      }
      CHECK_FALSE(runtime::table.started);
    }
    unsetenv("LOCUS_FORCE_GPU_ALLOW_GROWTH"), unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
    // the variables are read at the first use, not when the cards came
    for (char const* variable : {"LOCUS_FORCE_GPU_ALLOW_GROWTH", "TF_FORCE_GPU_ALLOW_GROWTH"}) {
      testing::simulated_gpus const card{1};
      setenv(variable, "false", 1);
      Tensor<float, Extents<2>, G0> const x{1, 2};
      CHECK_FALSE(runtime::table.gpu_devices[0].memory.growth);
      unsetenv(variable);
      Tensor<float, Extents<2>, G0> const y{1, 2};  // too late
      CHECK_FALSE(runtime::table.gpu_devices[0].memory.growth);
      CHECK(fetch(sum(x + y)) == 6);
    }
  });
}

TEST_CASE("a part of each card: where no limit is given") {
  on_four_cards([] {
    for (double bad : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
      CHECK(refusal([&] { config::set_memory_fraction(bad); }) ==
            "locus: the memory fraction is a part of the card; write a number above 0 and at most "
            "1");
    config::set_memory_fraction(0.25);
    config::set_logical_devices("GPU:1", {{.memory_limit = 3_GiB}});
    auto const list = config::list_logical_devices("GPU");
    CHECK(list[0].memory_limit == 1_GiB);
    CHECK(list[1].memory_limit == 3_GiB);
    CHECK(config::get_memory_fraction() == 0.25);
    CHECK_NOTHROW(config::set_memory_fraction(0.25));
    CHECK(has(refusal([] { config::set_memory_fraction(0.5); }),
              "locus: the memory fraction cannot be modified after being initialized"));
  });
}

TEST_CASE("what may change at any time does") {
  testing::simulated_gpus const cards{1};
  Tensor<float, Extents<2>> x;
  for (bool on : {false, true}) {
    config::set_soft_device_placement(on);
    CHECK(config::get_soft_device_placement() == on);
    debugging::set_log_device_placement(!on);
  }
  for (auto policy : {copy_policy::warn, copy_policy::explicit_only, copy_policy::silent}) {
    config::set_device_policy(policy);
    CHECK(config::get_device_policy() == policy);
  }
  for (int n : {3, 0}) {  // each loop asks anew: nothing is built from these numbers
    config::set_intra_op_parallelism_threads(n);
    config::set_inter_op_parallelism_threads(n);
    CHECK(config::get_inter_op_parallelism_threads() == n);
  }
  CHECK(refusal([] { config::set_inter_op_parallelism_threads(-1); }) ==
        "locus: the number of threads is negative; write 0 for the default");
}

TEST_CASE("every setting after the first use: what changes nothing succeeds, the rest is refused") {
  on_four_cards([] {
    config::set_logical_devices("GPU:0", {{.memory_limit = 1_MiB}});
    config::apply({.visible_device_list = "0,1"});
    config::set_logical_devices("GPU:0", {{.memory_limit = 1_MiB}});
    Tensor<float, Extents<2>> x;
    auto const after = [](auto&& same, auto&& other) {
      CHECK_NOTHROW(same());
      for (int from_thread : {0, 1}) {
        std::string text;
        auto const look = [&] { text = refusal(other); };
        if (from_thread)
          std::thread(look).join();
        else
          look();
        CAPTURE(text);
        CHECK(has(text, " cannot be modified after being initialized: the devices are in use since "
                        "'a Tensor was made' at "));
        CHECK(has(text, "config_test.cpp:"));
      }
    };
    after([] { config::set_visible_devices("GPU", {1, 0}); },
          [] { config::set_visible_devices("GPU", {0}); });
    after([] { config::set_logical_devices("GPU:0", {{.memory_limit = 1_MiB}}); },
          [] { config::set_logical_devices("GPU:0", {{.memory_limit = 2_MiB}}); });
    after([] { config::set_logical_devices("CPU:0", {{}}); },
          [] { config::set_logical_devices("CPU:0", {{}, {}}); });
    after([] { config::set_memory_growth("GPU:0", true); },
          [] { config::set_memory_growth("GPU:0", false); });
    after([] { config::set_memory_fraction(1); }, [] { config::set_memory_fraction(0.5); });
    after([] { config::set_visible_devices("GPU", {0, 1}); },
          [] { config::apply({.allow_growth = false}); });
    // arguments are looked at first, also then
    CHECK(has(unknown([] { config::set_visible_devices("GPU", {9}); }), "unrecognized device"));
    CHECK(has(refusal([] { config::set_logical_devices("GPU:0", {{.memory_limit = 0}}); }),
              "memory limit of 0 bytes"));
    CHECK(config::list_logical_devices("GPU").size() == 2);
  });
}

TEST_CASE("one thread configures while others use devices: refused or in force, never half") {
  testing::simulated_gpus const cards{4};
  for (int round = 0; round < 20; ++round) {
    testing::fresh_configuration const fresh;
    std::string text;
    int gpus = 0;
    std::thread user([&] { gpus = config::count_logical_gpus(); });
    text = refusal([] { config::set_visible_devices("GPU", {2}); });
    user.join();
    CHECK((text == "nothing was thrown" ? gpus == 1 : gpus == 4));
    CHECK(config::list_logical_devices("GPU").size() == gpus);
  }
}

TEST_CASE("the options of a session, and those that cannot be") {
  using o = session_options;
  struct {
    o options;
    char const* text;
  } const bad[] = {
      {{.visible_device_list = "0,abc"},
       "locus: could not parse entry \"abc\" of visible_device_list \"0,abc\"; write the numbers "
       "of cards"},
      {{.visible_device_list = "0,,1"}, "could not parse entry \"\""},
      {{.visible_device_list = "-1"}, "could not parse entry \"-1\""},
      {{.visible_device_list = "100"},
       "locus: visible_device_list \"100\" listed an invalid device id: 100, and 4 cards are "
       "there"},
      {{.visible_device_list = "0,0"},
       "locus: visible_device_list \"0,0\" contained a duplicate entry: 0; name each card once"},
      {{.visible_device_list = "0",
        .per_process_gpu_memory_fraction = 0.1,
        .virtual_devices = {{.memory_limit_mb = {1}}}},
       "locus: it's invalid to set per_process_gpu_memory_fraction when virtual devices have "
       "limits"},
      {{.per_process_gpu_memory_fraction = 1.5},
       "locus: per_process_gpu_memory_fraction is no part of a card"},
      {{.per_process_gpu_memory_fraction = -1}, "per_process_gpu_memory_fraction is no part"},
      {{.device_count = {{"GPU", 0}}, .virtual_devices = {{.memory_limit_mb = {1}}}},
       "locus: not enough GPUs to create virtual devices: 1 entries of virtual_devices, 0 visible "
       "cards"},
      {{.visible_device_list = "1",
        .virtual_devices = {{.memory_limit_mb = {1}}, {.memory_limit_mb = {1}}}},
       "not enough GPUs to create virtual devices: 2 entries"},
      {{.visible_device_list = "0,1", .virtual_devices = {{.memory_limit_mb = {1}}}},
       "locus: the number of visible cards, 2, doesn't match the number of elements in the "
       "virtual_devices list, 1"},
      {{.visible_device_list = "0",
        .virtual_devices = {{.memory_limit_mb = {1, 2}, .priority = {0}}}},
       "locus: the number of virtual device priorities specified doesn't match with the number of "
       "memory limits of card 0: 1 and 2"},
      {{.visible_device_list = "0",
        .virtual_devices = {{.memory_limit_mb = {1, 2}, .device_ordinal = {1}}}},
       "the number of virtual device ordinals specified doesn't match"},
      {{.visible_device_list = "0",
        .virtual_devices = {{.memory_limit_mb = {1}, .priority = {-9999}}}},
       "locus: the priority -9999 is outside the range of supported priorities"},
      {{.visible_device_list = "0", .virtual_devices = {{.memory_limit_mb = {1}, .priority = {1}}}},
       "the priority 1 is outside"},
      {{.visible_device_list = "0", .virtual_devices = {{.memory_limit_mb = {4000, 4000}}}},
       "add up to 8388608000 bytes, the card has 4294967296"},
      {{.visible_device_list = "0", .virtual_devices = {{.memory_limit_mb = {INT64_MAX}}}},
       "add up to 9223372036854775807"},
      {{.visible_device_list = "0", .virtual_devices = {{.memory_limit_mb = {0}}}},
       "locus: memory_limit_mb of card 0 is 0; write a positive number"},
      {{.visible_device_list = "0", .virtual_devices = {{.memory_limit_mb = {INT64_MIN, 8}}}},
       "locus: memory_limit_mb of card 0 is -9223372036854775808; write a positive number"},
      {{.num_virtual_devices_per_gpu = -1}, "locus: num_virtual_devices_per_gpu is -1"},
      {{.visible_device_list = "0",
        .virtual_devices = {{.memory_limit_mb = {1}}},
        .num_virtual_devices_per_gpu = 2},
       "both set"},
      {{.device_count = {{"CPU", 101}}},
       "locus: device_count of \"CPU\" is 101, above 100; ask for fewer CPUs"},
      {{.device_count = {{"GPU", -1}}}, "locus: device_count of \"GPU\" is -1"},
      {{.intra_op_parallelism_threads = -1}, "locus: the number of threads is negative"},
  };
  struct {
    o options;
    char const* limits;
  } const good[] = {
      {{.device_count = {{"CPU", 100}}}, "4096@0 4096@1 4096@2 4096@3 "},
      {{}, "4096@0 4096@1 4096@2 4096@3 "},
      {{.visible_device_list = "0,2"}, "4096@0 4096@2 "},
      {{.visible_device_list = "2, 0"}, "4096@2 4096@0 "},  // in that order
      {{.visible_device_list = "3,1",
        .virtual_devices = {{.memory_limit_mb = {1, 2}}, {.memory_limit_mb = {3}}}},
       "1@3 2@3 3@1 "},
      {{.device_count = {{"GPU", 1}}}, "4096@0 "},
      {{.visible_device_list = "1", .per_process_gpu_memory_fraction = 0.5}, "2048@1 "},
      {{.visible_device_list = "0", .virtual_devices = {{}}}, "4096@0 "},
      {{.visible_device_list = "0", .virtual_devices = {{.memory_limit_mb = {123, 456}}}},
       "123@0 456@0 "},
      {{.visible_device_list = "0",
        .virtual_devices =
            {{.memory_limit_mb = {1, 2}, .priority = {-1, 0}, .device_ordinal = {2, 1}}}},
       "2@0 1@0 "},
      {{.visible_device_list = "0,1",
        .virtual_devices = {{.memory_limit_mb = {1, 2}, .device_ordinal = {1, 2}},
                            {.memory_limit_mb = {3, 4}, .device_ordinal = {1, 2}}}},
       "1@0 3@1 2@0 4@1 "},
      {{.visible_device_list = "0", .num_virtual_devices_per_gpu = 2}, "2048@0 2048@0 "},
  };
  on_four_cards([&] {
    for (auto const& row : bad) {
      testing::fresh_configuration const fresh;
      auto const text = refusal([&] { config::apply(row.options); });
      CAPTURE(text);
      CHECK(has(text, row.text));
      CHECK((runtime::configured == runtime::configuration{}));
    }
    for (auto const& row : good) {
      testing::fresh_configuration const fresh;
      config::apply(row.options);
      std::string limits;
      for (auto const& d : config::list_logical_devices("GPU"))
        limits +=
            std::to_string(d.memory_limit >> 20) + "@" + std::to_string(d.physical.index) + " ";
      CHECK(limits == row.limits);
      CHECK_NOTHROW(config::apply(row.options));  // changes nothing
    }
    testing::fresh_configuration const fresh;
    config::apply({.allow_growth = false,
                   .allow_soft_placement = false,
                   .log_device_placement = true,
                   .intra_op_parallelism_threads = 1,
                   .inter_op_parallelism_threads = 2,
                   .device_count = {{"CPU", 2}}});
    CHECK_FALSE(config::get_memory_growth("GPU:3"));
    CHECK_FALSE(config::get_soft_device_placement());
    CHECK(config::get_intra_op_parallelism_threads() == 1);
    CHECK(config::get_inter_op_parallelism_threads() == 2);
    CHECK(config::list_logical_devices("CPU").size() == 2);
    debugging::set_log_device_placement(false);
    config::set_intra_op_parallelism_threads(0);
  });
}

TEST_CASE("priorities reach the streams of a card") {
  testing::recorder const cards{{.cards = 1}};
  config::set_logical_devices(
      "GPU:0", {{.memory_limit = 1_MiB, .priority = -2}, {.memory_limit = 1_MiB, .priority = 0}});
  Tensor<float, Extents<2>, G0> x{1, 2};
  CHECK(cards.priorities() ==
        std::vector{-5, -2, -2, -5, -5});  // -5: communication, of the whole card too
  CHECK(fetch(sum(x)) == 3);
}

TEST_CASE("cards that are not chosen are not touched") {
  testing::recorder const cards{{.cards = 4}};
  config::set_visible_devices("GPU", {2});
  auto const made = cards.calls("stream_create"), asked = cards.calls("kernel_runs");
  Tensor<float, Extents<2>, G0> x{1, 2};
  CHECK(cards.calls("stream_create") - made == 2);
  CHECK(cards.calls("kernel_runs") - asked == 1);
}

TEST_CASE("details of a card, versions") {
  {
    testing::recorder const cards{{.cards = 2, .bytes = 3_GiB}};
    auto const d = config::get_device_details(config::list_physical_devices("GPU")[1]);
    CHECK(d.name == "recorded GPU");
    CHECK(d.memory == 3_GiB);
    CHECK(d.major == 9);
    CHECK(d.uuid == "GPU-00000000-0000-0000-0000-000000000001");
    CHECK(d.bus == "00000000:01:00.0");
    auto const v = config::versions();
    CHECK(v.driver == 13000);
    CHECK(v.cublas == 130000);
    CHECK(v.nccl == 22700);
    CHECK(v.cudnn == 91900);
    CHECK_FALSE(runtime::table.started);
  }
  auto const host = config::get_device_details("CPU:0");
  CHECK(host.memory == runtime::physical_memory());
  CHECK(host.uuid.view().empty());
  CHECK(config::versions().runtime == 0);
  CHECK(config::versions().cudnn == 0);
  CHECK(has(unknown([] { static_cast<void>(config::get_device_details("GPU:0")); }),
            "(present: /physical_device:CPU:0; no GPU: this program was built without CUDA"));
}

TEST_CASE("tensors that outlive their devices stay usable, and the devices end with them") {
  auto const outlive = [](auto make_devices) {
    std::optional<Tensor<float, Extents<3>, G1>> x;
    {
      testing::fresh_configuration const around;
      auto const devices = make_devices();
      testing::fresh_configuration const inside;
      x.emplace(Tensor<float, Extents<3>, G1>{1, 2, 3});
    }
    CHECK(fetch(sum(*x)) == 6);
    CHECK(runtime::devices().gpus == 2);
    CHECK(has(refusal([] { testing::simulated_gpus const others{3}; }),
              "locus: 1 tensors are alive while the devices change"));
    x.reset();
    CHECK_FALSE(runtime::table.started);
    CHECK(testing::detail::saved == nullptr);
    CHECK(config::count_logical_gpus() == 0);
  };
  outlive([] { return std::make_unique<testing::simulated_gpus>(2); });
  outlive(
      [] { return std::make_unique<testing::recorder>(testing::recorder_options{.cards = 2}); });
}

TEST_CASE("memory is asked of one device: malformed names, none and several that match") {
  on_four_cards([] {
    for (auto const* bad : {"GPU", "GPU:", "GPU:CPU", "", "/", "/gpu", "TPU:0"})
      for (bool reset : {false, true}) {
        CAPTURE(bad);
        auto const text = unknown([&] {
          if (reset)
            config::reset_memory_stats(bad);
          else
            static_cast<void>(config::get_memory_info(bad));
        });
        CHECK(text.starts_with("locus: the device name \"" + std::string(bad) + "\" "));
      }
    for (auto const* several : {"/device:GPU", "/device:GPU:*", "/gpu:*"})
      CHECK(unknown([&] { static_cast<void>(config::get_memory_info(several)); }) ==
            "locus: multiple devices match the device name \"" + std::string(several) +
                "\" (present: 1 CPU, 4 GPU); name one of list_logical_devices");
    for (auto const* none : {"GPU:4", "/device:GPU:99"})
      CHECK(unknown([&] { config::reset_memory_stats(none); }) ==
            "locus: no matching devices found for the device name \"" + std::string(none) +
                "\" (present: 1 CPU, 4 GPU); name one of list_logical_devices");
    Tensor<float, Extents<64>> c;
    Tensor<float, Extents<128>, G1> x, y;
    CHECK(config::get_memory_info("/device:CPU:*").current == 256);  // TensorFlow has none of CPUs
    CHECK(config::get_memory_info("gpu:1").current == 1024);
    { auto const gone = x; }
    CHECK(config::get_memory_info("GPU:1").peak == 1536);
    config::reset_memory_stats("GPU:1");
    CHECK(config::get_memory_info("GPU:1").peak == 1024);
  });
  testing::simulated_gpus const one{1};
  CHECK(config::get_memory_info("/device:GPU").limit == INT64_MAX);
  auto const unused = "locus: no matching devices found for the device name \"/GPU:5\" (present: 1 "
                      "CPU, 1 GPU); name one of list_logical_devices";
  CHECK(unknown([] { static_cast<void>(config::get_memory_info("/GPU:5")); }) == unused);
  CHECK(config::get_memory_info<GpuDevice<4>>().current == 0);  // a policy is a use
  Tensor<float, Extents<64>, GpuDevice<5>> elsewhere;
  CHECK(config::get_memory_info("GPU:5").current == 256);
  CHECK(config::get_memory_info<GpuDevice<5>>().current == 256);
}

TEST_CASE("the table of devices: at any time, again and again, with what is missing and why") {
  auto const table = [] {
    std::ostringstream out;
    print_devices(out);
    return out.str();
  };
  std::string const rule = "+----------------+----------------------------+------+-----------+-----"
                           "------+-----------+----"
                           "----+\n";
  auto const head =
      rule +
      "| device         | what it is                 | card |    in use |      peak |   "
      "  limit | growth |\n" +
      rule + "| /device:CPU:0  | the host                   |    - |";
  CHECK(detail::size_text(0) == "0 B");
  CHECK(detail::size_text(1023) == "1023 B");
  CHECK(detail::size_text(1024) == "1 KiB");
  CHECK(detail::size_text(1536) == "1.5 KiB");
  CHECK(detail::size_text(80_GiB) == "80 GiB");
  CHECK(detail::size_text(INT64_MAX) == "none");
  {
    testing::fresh_configuration const fresh;
    auto const alone = table();
    CHECK(alone.starts_with(head));
    CHECK(alone.ends_with(
        rule + "no GPU: this program was built without CUDA; compile a unit with nvcc and "
               "<locus/cuda.cuh>\n"));
    CHECK_FALSE(runtime::table.started);
  }
  {
    testing::recorder const none{{.driver = 0}};
    CHECK(has(table(), "no GPU: there is no NVIDIA driver on this machine"));
  }
  {
    testing::recorder const none{{.kernels_run = false}};
    CHECK(has(table(), "no GPU: no kernel of this program runs on that GPU"));
  }
  on_four_cards([&] {
    config::set_visible_devices("GPU", {0, 2});
    config::set_logical_devices("GPU:2", {{.memory_limit = 1_GiB}, {.memory_limit = 2_GiB}});
    config::set_memory_growth("GPU:2", false);
    auto const before = table();
    CAPTURE(before);
    CHECK(before.starts_with(head));
    CHECK(has(before, ("|    0 |       0 B |       0 B |     4 GiB |     on |\n")));
    CHECK(has(before, ("|    2 |       0 B |       0 B |     1 GiB |    off |\n")));
    CHECK(has(before, "|    2 |       0 B |       0 B |     2 GiB |    off |\n" + rule));
    CHECK(has(before, "/physical_device:GPU:1 is hidden by config::set_visible_devices\n"
                      "/physical_device:GPU:3 is hidden by config::set_visible_devices\n"));
    CHECK_FALSE(runtime::table.started);
    static_cast<void>(config::list_logical_devices());
    CHECK(table() == before);  // nothing has happened
    CHECK(table() == before);
    config::set_memory_growth("GPU:0", true);
    {
      Tensor<float, Extents<1 << 19>, G1> x;
      Tensor<float, Extents<8>, GpuDevice<4>> missing;
      CHECK(has(table(), "|    2 |     2 MiB |     2 MiB |     1 GiB |    off |\n"));
      CHECK(has(table(), "/device:GPU:4 was named and is not there: its steps run on "
                         "/device:GPU:1, in its memory\n"));
    }
    CHECK(has(table(), "|    2 |       0 B |     2 MiB |     1 GiB |    off |\n"));
  });
}

TEST_CASE("CUDA_VISIBLE_DEVICES: what it says, and entries that the driver would drop silently") {
  struct {
    char const* value;
    int listed;
    bool renumbers;
    char const* malformed;
  } const rows[] = {{"", 0, false, ""},
                    {"0", 1, false, ""},
                    {"0,1,2", 3, false, ""},
                    {"2,0", 2, true, ""},
                    {" 1 , 2 ", 2, true, ""},
                    {"-1", 0, false, ""},
                    {"0,-1,5", 1, false, ""},
                    {"GPU-8932f937", 1, true, ""},
                    {"0,abc", 1, false, "abc"},
                    {"0,0", 1, false, "0"},
                    {"0;1", 0, false, "0;1"},
                    {"0,,1", 1, false, "(nothing)"},
                    {"1,2,1", 2, true, "1"},
                    {"0x1", 0, false, "0x1"},
                    {"12345678", 0, false, "12345678"},
                    {"NoDevFiles", 0, false, ""}};
  for (auto const& row : rows) {
    CAPTURE(row.value);
    auto const v = runtime::read_visible_variable(row.value);
    CHECK(v.is_set);
    CHECK(v.listed == row.listed);
    CHECK(v.renumbers == row.renumbers);
    CHECK(v.malformed == row.malformed);
  }
  CHECK_FALSE(runtime::read_visible_variable(nullptr).is_set);
}

TEST_CASE("what is there" * doctest::skip()) {
  try {
    std::printf("%d physical\n", config::list_physical_devices().size());
    std::printf("%d logical\n", config::list_logical_devices().size());
  } catch (configuration_error const& e) {
    std::printf("%s\n", e.what());
  }
}
TEST_CASE("what a recorder shows" * doctest::skip()) {
  try {
    testing::recorder const cards{{.cards = 2}};
    print_devices();
  } catch (configuration_error const& e) {
    std::printf("%s\n", e.what());
  }
}
TEST_CASE("a callback that asks for devices while they are made" * doctest::skip()) {
  debugging::set_log_sink([](log_event const&, std::string_view, void*) {
    try {
      std::printf("%d GPUs\n", config::count_logical_gpus());
    } catch (configuration_error const& e) {
      std::printf("%s\n", e.what());
    }
  });
  std::printf("%d logical\n", config::list_logical_devices().size());
}

TEST_CASE(
    "a callback of the log that asks for devices while these are made is told, and nothing hangs") {
  auto const child = child::run("a callback that asks for devices while they are made",
                                {"TF_FORCE_GPU_ALLOW_GROWTH=1", "LOCUS_SIMULATED_GPUS=1"});
  CHECK(child.says("locus: a callback of the log uses devices while they are made; do that later"));
  CHECK(child.says("2 logical"));
}

TEST_CASE("a statement on the cards that a driver shows" * doctest::skip()) {
  try {
    testing::recorder const cards{{.cards = std::atoi(std::getenv("LOCUS_TEST_CARDS"))}};
    std::printf("%d GPUs\n", config::count_logical_gpus());
    Tensor<float, Extents<3>, GpuDevice<0>> const x{1, 2, 3};
    std::printf("the sum is %g\n", double(fetch(sum(x * 2.f))));
    print_devices();
  } catch (configuration_error const& e) {
    std::printf("%s\n", e.what());
  }
}
TEST_CASE("CUDA_VISIBLE_DEVICES on a machine of two cards: what is hidden is said") {
  // what the driver of such a machine shows: what is listed, to the first that it does not know
  struct {
    char const* value;
    int shown;
    char const* said;   // once, and the program goes on
    char const* table;  // what print_devices says
  } const rows[] = {
      {"0,1", 2, "", "the driver shows those cards alone\n"},
      {"1,0", 2, "", "the driver shows those cards alone and numbers them from 0 in that order"},
      {"1", 1, "", "the driver shows that card alone and numbers them from 0 in that order"},
      {"", 0, "", "the driver shows no card to this process"},
      {"-1", 0, "", "the driver shows no card to this process"},
      {"0,-1,1", 1, "", "the driver shows that card alone\n"},
      {"99", 0,
       "locus: CUDA_VISIBLE_DEVICES is \"99\", and the driver shows 0 of the 1 cards that it "
       "lists: \"99\" and what follows is hidden; write numbers or UUIDs of cards that nvidia-smi "
       "-L lists\n",
       "the driver shows no card to this process"},
      {"0,99,1", 1, "the driver shows 1 of the 3 cards that it lists: \"99\" and what follows",
       "the driver shows 1 of the 3 cards that it lists\n"},
      {"GPU-0", 0, "the driver shows 0 of the 1 cards that it lists: \"GPU-0\"",
       "the driver shows no card to this process"},
      {"MIG-a,MIG-b", 1,
       "\"MIG-b\" and what follows is hidden; a process sees one MIG device at most: write that",
       "the driver shows 1 of the 2 cards that it lists\n"}};
  auto const run = [](std::string const& value, int cards) {
    return child::run("a statement on the cards that a driver shows",
                      {"CUDA_VISIBLE_DEVICES=" + value, "LOCUS_TEST_CARDS=" + std::to_string(cards),
                       "LOCUS_SIMULATED_GPUS="});
  };
  for (auto const& row : rows) {
    auto const seen = run(row.value, row.shown);
    INFO(std::string(row.value));
    INFO(seen.text);
    CHECK(seen.code == 0);
    CHECK(seen.says(std::to_string(row.shown) + " GPUs\n"));
    CHECK(seen.says("the sum is 12\n"));
    CHECK(seen.says(row.table));
    CHECK(seen.count("what follows is hidden") == (*row.said ? 1 : 0));
    CHECK(seen.says(row.said));
    CHECK(seen.says("/GPU:0 is not there, its steps run on the host: no GPU is visible to this "
                    "process; look at CUDA_VISIBLE_DEVICES") == (row.shown == 0));
  }
  for (char const* garbage : {"abc", "0,abc", "1,1", "0;1", "0,,1", "0x1", "gpu-1", "all", "1.0",
                              "+1", "99999999999999999999", "\033[2J"}) {
    auto const seen = run(garbage, 1);
    INFO(std::string(garbage));
    INFO(seen.text);
    CHECK(seen.code == 0);
    CHECK(seen.says("locus: CUDA_VISIBLE_DEVICES is \""));
    CHECK(seen.says("the driver would hide cards without a word; write numbers from 0"));
    CHECK_FALSE(seen.says("the sum is"));
    CHECK_FALSE(seen.says("\033"));
  }
}

TEST_CASE("malformed variables are named with value and remedy, and devices come from variables") {
  auto const simulated = child::run("what is there", {"LOCUS_SIMULATED_GPUS=3"});
  CHECK(simulated.says("4 physical\n4 logical\n"));
  for (auto const* bad : {"x", "-1", "17", "1.5", "3 "})
    CHECK(child::run("what is there", {std::string("LOCUS_SIMULATED_GPUS=") + bad})
              .says(std::string("locus: LOCUS_SIMULATED_GPUS is \"") + bad +
                    "\"; write a number from 0 to 16\n"));
  CHECK(child::run("what is there", {"LOCUS_FORCE_GPU_ALLOW_GROWTH=1"}).says("2 logical") == false);
  CHECK(child::run("what is there", {"TF_FORCE_GPU_ALLOW_GROWTH=1"})
            .says("locus: TF_FORCE_GPU_ALLOW_GROWTH is \"1\" and ignored; write true or false, or "
                  "unset it\n"));
  CHECK(
      child::run("what a recorder shows", {"CUDA_VISIBLE_DEVICES=0,abc"})
          .says("locus: CUDA_VISIBLE_DEVICES is \"0,abc\": its entry \"abc\" is no card, and the "
                "driver would hide cards without a word; write numbers from 0, or UUIDs (GPU-...), "
                "separated by commas\n"));
  CHECK(
      child::run("what a recorder shows", {"CUDA_VISIBLE_DEVICES=1,1"}).says("\"1\" comes twice"));
  CHECK(child::run("what a recorder shows", {"CUDA_VISIBLE_DEVICES=3,1"})
            .says("CUDA_VISIBLE_DEVICES is \"3,1\": the driver shows those cards alone and numbers "
                  "them from 0 in that order\n"));
}
