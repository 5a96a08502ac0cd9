// SPDX-License-Identifier: Apache-2.0
// What programs write with the headers: compilers have nothing to say about it, with their warnings,
// without any flag and under a sanitizer.
#include <locus/algorithms/scan.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/strategy/strategy.hpp>

using namespace locus;

namespace {

template <class T>
double float_operations() {
  Tensor<T, Dextents<2>> x(ones<T>(dextents<2>(8, 9))), y(x), z(x),
      square_one(zeros<T>(dextents<2>(8, 8)));
  y = sqrt(x) + exp(x) * log(x);
  z = maximum(x, y) + minimum(x, abs(y)) + where(x > y, sin(x), tanh(z));
  z = cast<T>(cast<std::int8_t>(x)) + cast<T>(isnan(y)) + relu(floor(x / y));
  z = softmax(x);
  square_one = matmul(x, transpose(x));
  auto const columns = eval(sum<0>(x * y));
  auto const rows = eval(max<1>(x));
  auto const same_bits = eval<reproducible<>>(sum(x * y));
  auto const quick = eval<relaxed<>>(x / sqrt(y));
  return double(fetch(sum(x * y))) + double(fetch(argmax(z))) +
         double(fetch(mean(columns) + mean(rows))) + double(fetch(any(x > y))) +
         double(fetch(same_bits)) + double(fetch(min(quick)));
}
template <class T>
double integer_operations() {
  Tensor<T, Dextents<2>> x(ones<T>(dextents<2>(8, 9))), y(x);
  y = x + y * x - abs(y);
  return double(fetch(sum(x * y))) + double(fetch(max(x))) + double(fetch(argmax(x)));
}
double train() {
  Tensor<float, Extents<8, 4>> const x(uniform<float>(Extents<8, 4>{}, seed{1}));
  Tensor<float, Extents<4, 2>> here(zeros<float>(Extents<4, 2>{}));
  auto const [loss, by_here] = value_and_grad(mean(square(matmul(x, here) - 1.f)), here);
  run(into(here, here - 0.1f * by_here));
  return fetch(sum(here)) + fetch(loss);
}
double on_known_devices() {
  Tensor<double, Dextents<1>, Cpu<0>> x(ones<double>(dextents<1>(8))), y(x);
  y = 2.0 * exp(x) + y;
  Tensor<double, Dextents<1>, Sharded<0, AllGpus>> pieces(ones<double>(dextents<1>(8))),
      sums(pieces);
  sums = cumsum<0>(pieces);
  return fetch(sum(y)) + fetch(max(sums));
}
Tensor<float, Extents<2, 2>> small_product() {
  Tensor<float, Extents<2, 2>> a{{1, 2}, {3, 4}};
  a = matmul(a, a);
  return a;
}

}  // namespace

int main() {
  return float_operations<float>() + float_operations<half>() + integer_operations<std::uint8_t>() +
                     train() + on_known_devices() + double(fetch(sum(small_product()))) >
                 0
             ? 0
             : 1;
}
