// SPDX-License-Identifier: Apache-2.0
// Programs over a device list whose numbers tests compare between ranks and one process.
#pragma once
#include <vector>

#include <locus/training.hpp>

namespace rank_programs {

using namespace locus;
using doubles = std::vector<double>;

/// means: adds the elements of a tensor, which may be on any devices
template <class X>
void put(doubles& to, X const& x) {
  auto const host = locus::to<CpuDevice>(x);
  for (std::int64_t i = 0; i < host.size(); ++i) to.push_back(double(host.data()[i]));
}

/// ten means of four neighbours, with rows of other pieces
template <class List>
void stencil(doubles& out) {
  using Plate = Tensor<double, Dextents<2>, Sharded<0, List, Halo<1>>>;
  Plate now(uniform<double>(dextents<2>(101, 77), seed{3})), next(now);
  for (int k = 0; k < 10; ++k) {
    run(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(now) + interior<1, 1, 0>(now) +
                                        interior<1, 0, -1>(now) + interior<1, 0, 1>(now))));
    swap(now, next);
  }
  put(out, now);
}
/// two epochs of a small network, and its predictions
template <class List>
void training(doubles& out) {
  auto trainer = nn::compile<Mirrored<List>, double>(
      nn::Sequential{nn::Input<6>{}, nn::Dense<8>{nn::relu}, nn::Dense<3>{}}, nn::Adam{},
      nn::SparseCategoricalCrossentropy{nn::from_logits}, nn::SparseCategoricalAccuracy{});
  Tensor<double, Extents<dyn, 6>> const x = eval(uniform<double>(Extents<dyn, 6>(48), seed{4}));
  Tensor<std::int32_t, Dextents<1>> const y =
      eval(cast<std::int32_t>(3. * uniform<double>(dextents<1>(48), seed{5})));
  out.push_back(
      trainer.fit(data::from_tensors(x, y).batch(16), {.epochs = 2, .verbose = 0})["loss"].back());
  put(out, trainer.predict(x));
}

}  // namespace rank_programs
