// SPDX-License-Identifier: Apache-2.0
// Five small programs that configure devices before they use them, as TensorFlow's users write them:
// visible devices, memory growth, one card as two GPUs of 1 GiB, a GPU that is not there, a report
// of memory. They run on simulated cards, so that they print the same everywhere: on a real node
// leave the line with simulated_gpus out.
#include <iostream>
#include <locus/cuda.cuh>
#include <locus/testing/simulated_gpus.hpp>

using namespace locus;

using G0 = GpuDevice<0>;
using G1 = GpuDevice<1>;
using Matrix = Extents<512, 512>;  // 1 MiB of float

// [example: visible]
void use_the_second_card() {
  testing::simulated_gpus const node{2, {.memory_limit = 4_GiB}};
  auto const gpus = config::list_physical_devices("GPU");
  config::set_visible_devices(gpus[1], "GPU");
  auto const logical = config::list_logical_devices("GPU");  // the first use: frozen from here on
  std::cout << gpus.size() << " physical GPUs, " << logical.size()
            << " logical: " << logical[0].name << " is " << logical[0].physical.name << "\n";
  config::set_visible_devices("GPU", {1});  // changes nothing, and may be said at any time
  try {
    config::set_visible_devices("GPU", {0, 1});
  } catch (configuration_error const& e) {
    std::cout << e.what() << "\n";
  }
}
// [end]

// [example: growth]
void take_memory_as_needed() {
  testing::simulated_gpus const node{2, {.memory_limit = 4_GiB}};
  config::set_memory_growth("GPU:0", true);   // the default of locus
  config::set_memory_growth("GPU:1", false);  // all of the card at the first allocation
  print_devices(std::cout);
}
// [end]

// [example: logical]
void two_gpus_on_one_card() {
  testing::simulated_gpus const node{1, {.memory_limit = 4_GiB}};
  config::set_logical_devices("GPU:0", {{.memory_limit = 1_GiB}, {.memory_limit = 1_GiB}});
  Tensor<float, Matrix, G0> a(ones<float>(Matrix{}));
  Tensor<float, Matrix, G1> b(full<float>(Matrix{}, 2));
  auto const c = eval(matmul(a, a) + on<G1>(matmul(b, b)));
  std::cout << "every element is " << fetch(max(c)) << "\n";
  print_devices(std::cout);
  try {
    Tensor<float, Extents<512, 1024, 512>, G1> too_large;  // 1 GiB, and something is there already
  } catch (out_of_memory const& e) {
    std::cout << e.what() << "\n";
  }
}
// [end]

// [example: soft]
void name_a_gpu_that_is_not_there() {
  testing::simulated_gpus const node{2, {.memory_limit = 4_GiB}};
  Tensor<float, Extents<3>, GpuDevice<2>> x{1, 2, 3};  // GPU:2 becomes GPU:(2 mod 2), visibly
  std::cout << fetch(sum(x)) << " from " << config::get_memory_info("GPU:2").current
            << " bytes of GPU:0's card\n";
  config::set_soft_device_placement(false);  // at any time
  try {
    Tensor<float, Extents<3>, GpuDevice<3>> y{1, 2, 3};
  } catch (unknown_device const& e) {
    std::cout << e.what() << "\n";
  }
  config::set_soft_device_placement(true);
}
// [end]

// [example: memory]
void report_memory() {
  testing::simulated_gpus const node{1, {.memory_limit = 4_GiB}};
  auto const report = [](char const* when) {
    auto const m = config::get_memory_info("GPU:0");
    std::cout << when << ": " << m.current / 1_MiB << " MiB, peak " << m.peak / 1_MiB << " MiB\n";
  };
  Tensor<float, Matrix, G0> a(ones<float>(Matrix{}));
  report("one matrix");
  {
    auto const b = eval(a + a);
    report("and a sum");
  }
  report("without it");
  config::reset_memory_stats("GPU:0");
  report("reset");
}
// [end]

int main() {
  use_the_second_card();
  // prints:
  // 2 physical GPUs, 1 logical: /device:GPU:0 is /physical_device:GPU:1
  // locus: the list of visible devices cannot be modified after being initialized: the devices are in use since 'list_logical_devices' at <*>12_configured_devices.cpp:<#>; call config::set_visible_devices before that
  take_memory_as_needed();
  // prints:
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // | device         | what it is                 | card |    in use |      peak |     limit | growth |
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // | /device:CPU:0  | the host                   |    - |       0 B |       0 B | <*> |      - |
  // | /device:GPU:0  | simulated GPU              |    0 |       0 B |       0 B |     4 GiB |     on |
  // | /device:GPU:1  | simulated GPU              |    1 |       0 B |       0 B |     4 GiB |    off |
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // ...
  two_gpus_on_one_card();
  // prints:
  // every element is 2560
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // | device         | what it is                 | card |    in use |      peak |     limit | growth |
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // | /device:CPU:0  | the host                   |    - |       0 B | <*> | <*> |      - |
  // | /device:GPU:0  | simulated GPU              |    0 |     2 MiB | <*> |     1 GiB |     on |
  // | /device:GPU:1  | simulated GPU              |    0 |     1 MiB | <*> |     1 GiB |     on |
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // ...
  // locus: no memory on /GPU:1 for a tensor of float[512,1024,512]: requested 1073741824 bytes, <*>
  name_a_gpu_that_is_not_there();
  // prints:
  // 6 from 256 bytes of GPU:0's card
  // locus: there is no /GPU:3: name one that is there (present: /CPU:0, /GPU:0, /GPU:1); <*>
  report_memory();
  // prints:
  // one matrix: 1 MiB, peak 1 MiB
  // and a sum: 2 MiB, peak 2 MiB
  // without it: 1 MiB, peak 2 MiB
  // reset: 1 MiB, peak 1 MiB
}
