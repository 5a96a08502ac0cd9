// SPDX-License-Identifier: Apache-2.0
// What is there, what is missing, and why: cards, versions of the libraries under locus, the table
// of logical devices, and what becomes of a GPU that a program names and nobody has.
#include <iostream>
#include <locus/cuda.cuh>

using namespace locus;

int main() {
  // [example: list]
  for (config::physical_device const& d : config::list_physical_devices()) {  // freezes nothing
    config::device_details const card = config::get_device_details(d);
    std::cout << d.name << ": " << card.name << ", " << card.memory / 1_MiB << " MiB\n";
  }
  config::library_versions const v = config::versions();  // 0: not there
  std::cout << "CUDA driver " << v.driver << ", runtime " << v.runtime << ", cuBLAS " << v.cublas
            << ", NCCL " << v.nccl << ", cuDNN " << v.cudnn << "\n";
  // [end]
  // prints:
  // /physical_device:CPU:0: the host, <#> MiB
  // ...
  // CUDA driver <#>, runtime <#>, cuBLAS <#>, NCCL <#>, cuDNN <#>

  print_devices(std::cout);  // as often as you like; where there is no GPU it says why
  // prints:
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // | device         | what it is                 | card |    in use |      peak |     limit | growth |
  // +----------------+----------------------------+------+-----------+-----------+-----------+--------+
  // | /device:CPU:0  | the host                   |    - |       0 B |       0 B | <*> |      - |
  // ...

  // [example: missing]
  Tensor<float, Extents<3>, GpuDevice<98>> x{1, 2, 3};  // soft placement: another GPU, or the host
  x = 2.f * x;
  std::cout << x << "\n";

  config::set_soft_device_placement(false);  // from now on a missing device is an error
  try {
    Tensor<float, Extents<3>, GpuDevice<99>> y;
  } catch (unknown_device const& e) {
    std::cout << e.what() << "\n";
  }
  // [end]
  // prints:
  // [2. 4. 6.]
  // locus: there is no /GPU:99: <*>

  print_devices(std::cout);
  // prints:
  // ...
  // /device:GPU:98 was named and is not there: its steps run on <*>
  // ...
}
