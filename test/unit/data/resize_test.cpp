// SPDX-License-Identifier: Apache-2.0
// Resized images against TensorFlow's arithmetic.
#include <doctest/doctest.h>
#include <locus/locus.hpp>

#include <locus/data/resize.hpp>
#include <locus/tensor/column_major.hpp>

#include <message_of.hpp>
#include <worst_of.hpp>

#include <cmath>

namespace resize_test {

using namespace locus;

TEST_CASE("images are resized as tf.image.resize does") {
  // tf.image.resize([[1, 2], [3, 5]], (3, 4)) and (1, 1), worked out by hand
  Tensor<std::uint8_t, Extents<2, 2, 1>> const small{{{1}, {2}}, {{3}, {5}}};
  auto const large = data::resize(small, 3, 4);
  float const want[3][4] = {{1, 1.25f, 1.75f, 2}, {2, 2.375f, 3.125f, 3.5f}, {3, 3.5f, 4.5f, 5}};
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 4; ++x) CHECK(large(y, x, 0) == doctest::Approx(want[y][x]));
  CHECK(data::resize(small, 1, 1)(0, 0, 0) == doctest::Approx(2.75));
  CHECK(message_of<shape_error>([&] { (void)data::resize(small, 0, 4); }) ==
        "locus: data::resize makes 0 x 4 pixels of images of 2 x 2; both have at least one");
}

TEST_CASE("a batch of images of any extents is resized as the formula says") {
  Tensor<double, Dextents<4>> x(3, 7, 5, 2);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = double(i * i % 101) - 50;
  for (auto const& [h, w] : {std::pair{11, 13}, std::pair{3, 2}, std::pair{70, 40}}) {
    auto const y = data::resize(x, h, w);
    REQUIRE(y.size() == 3 * h * w * 2);
    double worst = 0;
    for (int n = 0; n < 3; ++n)
      for (int i = 0; i < h; ++i)
        for (int j = 0; j < w; ++j)
          for (int c = 0; c < 2; ++c) {
            auto axis = [](int at, int in, int out, int& low, int& high) {
              double const s = (at + .5) * in / out - .5, f = std::floor(s);
              low = std::max(int(f), 0), high = std::min(int(f) + 1, in - 1);
              return s - f;
            };
            int a, b, d, e;
            double const v = axis(i, 7, h, a, b), u = axis(j, 5, w, d, e);
            double const top = x(n, a, d, c) * (1 - u) + x(n, a, e, c) * u;
            double const bottom = x(n, b, d, c) * (1 - u) + x(n, b, e, c) * u;
            worst = worst_of(worst, std::abs(y(n, i, j, c) - (top * (1 - v) + bottom * v)));
          }
    CHECK(worst < 2e-4);  // places are floats, as TensorFlow's
  }
}

TEST_CASE("images of another order in memory are resized as those of row order") {
  Tensor<float, Dextents<3>> x(3, 4, 2);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = float(i * i % 13);
  ColumnMajor<float, Dextents<3>> const fortran(x);
  auto const by_columns = view<CpuDevice>(fortran.data(), dextents<3>{3, 4, 2}, layout_left{});
  auto const want = data::resize(x, 5, 3);
  CHECK(fetch(all(data::resize(fortran, 5, 3) == want)));
  CHECK(fetch(all(data::resize(by_columns, 5, 3) == want)));
  CHECK(fetch(all(data::resize(view<CpuDevice>(x.data(), dextents<3>{3, 4, 2}), 5, 3) == want)));
}

}  // namespace resize_test
