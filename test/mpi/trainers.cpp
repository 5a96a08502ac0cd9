// SPDX-License-Identifier: Apache-2.0
// Example 07 or 08 over the ranks of an MPI program: the device list of its trainer is another one, and
// nothing else. EXAMPLE is its number, ELEMENT the element type of its trainer. The arguments are those of
// the example; behind each line of losses rank 0 writes the numbers of the line with all their bits.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <type_traits>
#include <unistd.h>

#include <locus/cuda.cuh>
#include <locus/data/dataset.hpp>
#include <locus/files/idx.hpp>
#include <locus/files/text.hpp>
#include <locus/mpi.hpp>
#include <locus/nn/nn.hpp>

namespace {

/// a line as printf writes it, and a line of its doubles
template <class... A>
std::string with_all_bits(char const* format, A... all) {
  char text[400];
  std::string line(text, std::size_t(std::snprintf(text, sizeof text, format, all...)));
  line += "bits";
  auto const put = [&](auto v) {
    if constexpr (std::is_same_v<decltype(v), double>)
      line.append(text, std::size_t(std::snprintf(text, sizeof text, " %a", v)));
  };
  (put(all), ...);
  return line += "\n";
}

/// The world around main, which is that of the example.
struct around_main {
  int count = 0;
  char** words = nullptr;
  locus::mpi::world world{count, words};
  around_main() {
    // floats: the bits of one process; doubles: as MPI adds
    if (std::is_same_v<ELEMENT, float>)
      locus::config::set_reduction_order(locus::reduction_order::ranked);
    if (world.rank() > 0 && !std::freopen("/dev/null", "w", stdout)) std::abort();
  }
};
around_main const around;

}  // namespace

#define printf(...) fputs(with_all_bits(__VA_ARGS__).c_str(), stdout)
#define compile compile<Mirrored<Ranks<AllGpus>>, ELEMENT>
#if EXAMPLE == 7
#include "../../examples/07_text_cnn.cpp"
#else
#include "../../examples/08_fashion_mnist_cnn.cpp"
#endif
