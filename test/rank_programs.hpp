// SPDX-License-Identifier: Apache-2.0
// Programs over a device list whose numbers tests compare between ranks and one process.
#pragma once
#include <vector>

#include <locus/tensor/ranks.hpp>
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
/// whole numbers; those of rank 0 differ from those of other ranks
template <class T, class Where>
Tensor<T, Dextents<2>, Where> numbers(std::int64_t rows, std::int64_t columns, std::uint64_t with) {
  if (ranks::rank() > 0) with += 100;
  return cast<T>(floor(8. * uniform<double>(dextents<2>(rows, columns), seed{with})));
}
/// scatters, broadcasts, gathers and all-gathers between one device and pieces or copies on a list: of rows and of
/// columns, in equal, uneven and empty pieces, and to memory with gaps
template <class T, class List, class One>
void moves_of(doubles& out) {
  using Rows = Tensor<T, Dextents<2>, Sharded<0, List>>;
  using Columns = Tensor<T, Dextents<2>, Sharded<1, List>>;
  using Copies = Tensor<T, Dextents<2>, Mirrored<List>>;
  using Whole = Tensor<T, Dextents<2>, One>;
  for (std::int64_t const n : {24, 23, 2, 0}) {
    Whole const a = numbers<T, One>(n, 12, 1);
    Tensor<T, Dextents<2>> const h = numbers<T, CpuDevice>(n, 7, 2);
    Rows const x(a), of_host(h);
    Columns const y(a);
    Copies copies(a), of_rows(x), of_columns(y);
    put(out, x), put(out, y), put(out, of_host), put(out, Whole(x)), put(out, Whole(y));
    // every element of each replica's copy is in a product
    Tensor<double, Dextents<2>, Sharded<0, List>> const by(
        floor(4. * uniform<double>(dextents<2>(25, n), seed{3})));
    auto const put_copies = [&](auto const& m) { put(out, matmul(by, cast<double>(m))); };
    put_copies(copies), put_copies(of_rows), put_copies(of_columns), put_copies(Copies(h));
    put_copies(Copies(transpose(Whole(transpose(a)))));
    Rows cut(x);
    slice<1, 3, 8>(cut) = slice<1, 1, 6>(a);
    put(out, cut);
    Whole wide = cast<T>(floor(8. * uniform<double>(dextents<2>(n, 20), seed{4})));
    slice<1, 5, 17>(wide) = x;
    put(out, wide);
    slice<1, 3, 15>(wide) = y;
    put(out, wide);
  }
}
template <class List, class One>
void moves(doubles& out) {
  moves_of<double, List, One>(out), moves_of<std::int8_t, List, One>(out);
  moves_of<half, List, One>(out);
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
