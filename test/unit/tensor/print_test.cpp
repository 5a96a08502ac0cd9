// SPDX-License-Identifier: Apache-2.0
// Printing gives the very text of NumPy's str(): numbers of all kinds, ranks 0 to 3, line breaks,
// summaries, empty arrays.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/complex.hpp>
#include <unit/tensor/numpy_strings.hpp>

#include <cstring>
#include <sstream>

namespace print_test {

using namespace locus;

namespace {

template <class T, int Rank>
std::string printed(numpy_case const& c) {
  shape s{Rank, {}};
  for (int a = 0; a < Rank; ++a) s.extent[a] = c.shape[std::size_t(a)];
  Tensor<T, Dextents<Rank>> t{Dextents<Rank>(s)};
  for (std::int64_t i = 0; i < t.size(); ++i)
    if constexpr (is_complex_v<T>)
      for (std::size_t part = 0; part < 2; ++part)
        std::memcpy(&t.data()[i].re + part, &c.bits[(2 * std::size_t(i) + part) % c.bits.size()],
                    sizeof(T) / 2);
    else
      std::memcpy(t.data() + i, &c.bits[std::size_t(i) % c.bits.size()], sizeof(T));
  std::ostringstream out;
  out << t;
  return out.str();
}
template <class T>
std::string printed(numpy_case const& c) {
  switch (c.shape.size()) {
  case 0: return printed<T, 0>(c);
  case 1: return printed<T, 1>(c);
  case 2: return printed<T, 2>(c);
  default: return printed<T, 3>(c);
  }
}

}  // namespace

TEST_CASE("tensors print as NumPy prints them") {
  for (numpy_case const& c : numpy_cases) {
    std::string text;
    switch (c.type) {
    case numpy_type::f32: text = printed<float>(c); break;
    case numpy_type::f64: text = printed<double>(c); break;
    case numpy_type::i32: text = printed<std::int32_t>(c); break;
    case numpy_type::i64: text = printed<std::int64_t>(c); break;
    case numpy_type::u8: text = printed<std::uint8_t>(c); break;
    case numpy_type::boolean: text = printed<bool>(c); break;
    case numpy_type::i16: text = printed<std::int16_t>(c); break;
    case numpy_type::u16: text = printed<std::uint16_t>(c); break;
    case numpy_type::u32: text = printed<std::uint32_t>(c); break;
    case numpy_type::u64: text = printed<std::uint64_t>(c); break;
    case numpy_type::c64: text = printed<complex<float>>(c); break;
    case numpy_type::c128: text = printed<complex<double>>(c); break;
    }
    CHECK(text == std::string(c.text));
  }
}
TEST_CASE("what lies on GPUs or is not computed yet prints like what lies here") {
  on_backends([] {
    std::ostringstream out;
    Tensor<float, Extents<2, 3>> const a{{1, 2, 3}, {4, 5, 6}};
    auto const seen = testing::count([&] { out << to<GpuDevice<0>>(a); });
    CHECK(out.str() == "[[1. 2. 3.]\n [4. 5. 6.]]");
    CHECK(seen.copies == 2);  // there, and here again
    out.str("");
    out << transpose(to<Sharded<0, GpuDevice<0>, GpuDevice<1>>>(a)) << "|" << sum(a) << "|"
        << (a > 3.f);
    CHECK(out.str() ==
          "[[1. 4.]\n [2. 5.]\n [3. 6.]]|21.0|[[False False False]\n [ True  True  True]]");
  });
}

}  // namespace print_test
