// SPDX-License-Identifier: Apache-2.0
// A library as a program's Python would load it: it makes arrays of DLPack and takes them. arrays.py drives it.
#include <optional>
#include <string>

#include <locus/interop/from_dlpack.hpp>
#include <locus/interop/to_dlpack.hpp>
#include <locus/locus.hpp>

using namespace locus;
using plain = dlpack::managed_tensor;
using versioned = dlpack::managed_tensor_versioned;
#define LOCUS_TEST_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

std::string failure;
std::optional<Tensor<double, Dextents<2>>> kept;

/// f(); what it throws becomes the text of failure, and the result 0
template <class F>
auto guarded(F f) -> decltype(f()) {
  failure.clear();
  try {
    return f();
  } catch (locus::error const& e) {
    failure = e.what();
    return {};
  }
}
/// f(type_identity<T>) for the element type of a number
template <class Result, class F>
Result with_type(int type, F f) {
  return guarded([&]() -> Result {
    switch (static_cast<element>(type)) {
    case element::f32: return f(std::type_identity<float>{});
    case element::f64: return f(std::type_identity<double>{});
    case element::i64: return f(std::type_identity<std::int64_t>{});
    case element::u8: return f(std::type_identity<std::uint8_t>{});
    case element::f16: return f(std::type_identity<locus::half>{});
    default: throw locus::error("no such type");
    }
  });
}
template <class Managed>
void* made(int type, std::int64_t rows, std::int64_t columns) {
  return with_type<void*>(type, [&]<class T>(std::type_identity<T>) {
    Tensor<T, Dextents<2>> x(rows, columns);
    int i = 0;
    for (T& v : x) v = static_cast<T>(i++ % 50);
    return static_cast<void*>(to_dlpack<Managed>(std::move(x)));
  });
}
template <class X>
double sum_of(X const& x) {
  double all = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    for (std::int64_t j = 0; j < x.extent(1); ++j)
      all += static_cast<double>(x.data()[i * x.stride(0) + j * x.stride(1)]);
  return all;
}

}  // namespace

LOCUS_TEST_EXPORT char const* last_failure() { return failure.c_str(); }
LOCUS_TEST_EXPORT std::int64_t live_tensors() { return runtime::table.live_blocks; }

LOCUS_TEST_EXPORT void* make(int type, std::int64_t rows, std::int64_t columns) {
  return made<plain>(type, rows, columns);
}
LOCUS_TEST_EXPORT void* make_versioned(int type, std::int64_t rows, std::int64_t columns) {
  return made<versioned>(type, rows, columns);
}
/// an array whose memory `kept` shares
LOCUS_TEST_EXPORT void* share() { return to_dlpack(*kept); }
LOCUS_TEST_EXPORT void* share_read_only() { return to_dlpack<versioned>(std::as_const(*kept)); }

/// takes an array, and keeps it as a tensor: 1, or 0 and a failure
LOCUS_TEST_EXPORT int keep(plain* array) {
  return guarded([&] {
    kept = from_dlpack<double, Dextents<2>>(array);
    return 1;
  });
}
LOCUS_TEST_EXPORT void double_kept() { *kept = 2. * *kept; }
LOCUS_TEST_EXPORT void drop() { kept.reset(); }
/// takes an array at any strides, and adds its elements up
LOCUS_TEST_EXPORT double sum_array(int type, plain* array) {
  return with_type<double>(type, [&]<class T>(std::type_identity<T>) {
    auto const x = keep_dlpack<T const, Dextents<2>>(array);
    return sum_of(x.view());
  });
}
LOCUS_TEST_EXPORT double sum_versioned(int type, versioned* array) {
  return with_type<double>(type, [&]<class T>(std::type_identity<T>) {
    auto const x = keep_dlpack<T const, Dextents<2>>(array);
    return sum_of(x.view());
  });
}
