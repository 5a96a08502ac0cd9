// SPDX-License-Identifier: Apache-2.0
// Arrays of DLPack both ways: who owns the memory and when it goes, each element type, strides, and each array that
// does not fit. test/interop drives the same functions from NumPy and PyTorch.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cstddef>
#include <oracle.hpp>

#include <locus/complex.hpp>
#include <locus/interop/from_dlpack.hpp>
#include <locus/interop/to_dlpack.hpp>
#include <message_of.hpp>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
// the structs of the library's own header lie alike
#define SAME(mine, member, theirs, other) \
  static_assert(offsetof(dlpack::mine, member) == offsetof(::theirs, other))
namespace dlpack = locus::dlpack;
SAME(array, data, DLTensor, data);
SAME(array, device, DLTensor, device);
SAME(array, ndim, DLTensor, ndim);
SAME(array, dtype, DLTensor, dtype);
SAME(array, shape, DLTensor, shape);
SAME(array, strides, DLTensor, strides);
SAME(array, byte_offset, DLTensor, byte_offset);
SAME(managed_tensor, manager_ctx, DLManagedTensor, manager_ctx);
SAME(managed_tensor, deleter, DLManagedTensor, deleter);
SAME(array_device, device_id, DLDevice, device_id);
SAME(data_type, lanes, DLDataType, lanes);
static_assert(sizeof(dlpack::array) == sizeof(DLTensor));
static_assert(sizeof(dlpack::managed_tensor) == sizeof(DLManagedTensor));
static_assert(int(dlpack::on_cuda) == kDLCUDA && int(dlpack::on_pinned_host) == kDLCUDAHost &&
              int(dlpack::on_cuda_managed) == kDLCUDAManaged);
#endif

using namespace locus;
using locus::half;
using plain_array = locus::dlpack::managed_tensor;
using versioned_array = locus::dlpack::managed_tensor_versioned;

namespace {

/// An array of another library; counts how often it was deleted.
template <class Managed>
struct producer {
  Managed managed{};
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;
  producer(void* data, locus::dlpack::data_type type, std::vector<std::int64_t> extents,
           std::vector<std::int64_t> steps = {})
      : shape(std::move(extents)), strides(std::move(steps)) {
    managed.dl_tensor = {data,
                         {locus::dlpack::on_cpu, 0},
                         int(shape.size()),
                         type,
                         shape.empty() ? nullptr : shape.data(),
                         strides.empty() ? nullptr : strides.data(),
                         0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<producer*>(m->manager_ctx)->deleted; };
    if constexpr (locus::dlpack::is_versioned<Managed>) managed.version[0] = 1;
  }
  producer(producer const&) = delete;
  locus::dlpack::array& array() { return managed.dl_tensor; }
};
constexpr locus::dlpack::data_type float32{2, 32, 1};

template <class T>
void check_both_ways(std::uint64_t seed) {
  for (std::int64_t const n : {0, 1, 33, 257}) {
    CAPTURE(n);
    oracle::random r(seed);
    Tensor<T, Extents<dyn, 3>> x(n);
    for (T& v : x) v = r.value<T>(0, 100);
    auto* made = to_dlpack(x);
    CHECK((n == 0 || made->dl_tensor.data == std::as_const(x).data()));
    CHECK(made->dl_tensor.shape[0] == n);
    CHECK(made->dl_tensor.strides[0] == 3);
    auto y = from_dlpack<T, Dextents<2>>(made);
    CHECK(made == nullptr);
    CHECK((n == 0 || std::as_const(y).data() == std::as_const(x).data()));
    CHECK(std::equal(y.begin(), y.end(), x.begin(), x.end()));
    auto const z = from_dlpack<T, Extents<dyn, 3>>(to_dlpack<versioned_array>(std::move(x)));
    CHECK(std::equal(y.begin(), y.end(), z.begin(), z.end()));
    CHECK_THROWS_AS(x.size(), bad_access);
    if (n > 0) y(n - 1, 2) = T(1);
    CHECK((n == 0 || z(n - 1, 2) == T(1)));  // one memory
  }
}

}  // namespace

TEST_CASE("tensors of each element type go out and come back as one memory") {
  check_both_ways<float>(1);
  check_both_ways<double>(2);
  check_both_ways<std::int32_t>(3);
  check_both_ways<std::int64_t>(4);
  check_both_ways<std::uint8_t>(5);
  check_both_ways<std::int8_t>(6);
  check_both_ways<bool>(7);
  check_both_ways<half>(8);
  check_both_ways<bfloat16>(9);
  check_both_ways<std::int16_t>(10);
  check_both_ways<std::uint16_t>(11);
  check_both_ways<std::uint32_t>(12);
  check_both_ways<std::uint64_t>(13);
  check_both_ways<complex<float>>(14);
  check_both_ways<complex<double>>(15);
  Tensor<double, Extents<>> number = 2.5;
  auto* made = to_dlpack(number);
  CHECK(made->dl_tensor.ndim == 0);
  CHECK(fetch(from_dlpack<double, Extents<>>(made) * 2.) == 5);
}

TEST_CASE("an array that went out keeps the memory until its deleter is called") {
  plain_array* shared = nullptr;
  versioned_array* given = nullptr;
  {
    Tensor<float, Extents<4>> x{1, 2, 3, 4};
    shared = to_dlpack(x);
    x(2) = 7;
    given = to_dlpack<versioned_array>(std::move(x));
  }
  auto const* const elements = static_cast<float const*>(shared->dl_tensor.data);
  CHECK(elements[2] == 7);
  CHECK(given->version[0] == 1);
  CHECK(given->flags == 0);
  shared->deleter(shared);
  CHECK(static_cast<float const*>(given->dl_tensor.data)[2] == 7);
  given->deleter(given);

  Tensor<float, Extents<2, 3>> const fixed(iota<float>(Extents<2, 3>{}));
  auto* const only_read = to_dlpack<versioned_array>(fixed);
  CHECK(only_read->flags == locus::dlpack::read_only);
  only_read->deleter(only_read);

  std::vector<float> v(24, 1.f);
  auto const gaps = view<CpuDevice>(v.data() + 1, Extents<3, 2>{}, layout_stride{{6, 2}});
  auto* const strided = to_dlpack(gaps);
  CHECK(strided->dl_tensor.data == v.data() + 1);
  CHECK(strided->dl_tensor.strides[0] == 6);
  CHECK(strided->dl_tensor.strides[1] == 2);
  strided->deleter(strided);
  Tensor<float, Extents<4>> gone{1, 2, 3, 4};
  auto const taken = std::move(gone);
  CHECK_THROWS_AS(to_dlpack(gone), bad_access);
#if __has_include(<dlpack/dlpack.h>)
  Tensor<std::int8_t, Dextents<1>> bytes(3);
  bytes = std::int8_t(4);
  ::DLManagedTensor* theirs = to_dlpack<::DLManagedTensor>(bytes);
  CHECK(theirs->dl_tensor.dtype.code == kDLInt);
  CHECK(theirs->dl_tensor.device.device_type == kDLCPU);
  CHECK((from_dlpack<std::int8_t, Dextents<1>>(theirs)(2)) == 4);
#endif
}

TEST_CASE("an array that came in is deleted once, when nobody uses its memory any more") {
  std::vector<float> v(12);
  for (int i = 0; i < 12; ++i) v[std::size_t(i)] = float(i);
  producer<plain_array> p(v.data(), float32, {3, 4});
  auto* m = &p.managed;
  {
    auto x = from_dlpack<float, Dextents<2>>(m);
    CHECK(m == nullptr);
    CHECK_THROWS_AS((from_dlpack<float, Dextents<2>>(m)), dlpack_error);  // taken
    CHECK(fetch(sum(x)) == 66);
    x = 2.f * x;
    CHECK(v[5] == 10);
    auto const copy = x;  // memory of its own
    auto moved = std::move(x);
    CHECK_THROWS_AS(x.size(), bad_access);
    CHECK(p.deleted == 0);
    Tensor<float, Dextents<2>> const y = std::move(moved) + 1.f;  // the expression owns it
    CHECK(p.deleted == 1);
    CHECK(y(2, 3) == 23);
    CHECK(copy(2, 3) == 22);
  }
  CHECK(p.deleted == 1);

  producer<versioned_array> q(v.data(), float32, {3, 4}, {1, 3});
  {
    auto columns = keep_dlpack<float, Extents<3, 4>>(&q.managed);
    Tensor<float, Extents<3, 4>> const y = columns.view() + 0.f;
    CHECK(y(1, 2) == v[7]);
    columns.view() = columns.view() * 0.5f;
    CHECK(v[7] == 7);
    auto const moved = std::move(columns);
    CHECK(q.deleted == 0);
    Tensor<float, Extents<4, 3>> const dense(transpose(moved.view()));
    CHECK(std::equal(dense.begin(), dense.end(), v.begin()));
  }
  CHECK(q.deleted == 1);
  // without a deleter there is nothing to call; strides of no elements, or of one, are nobody's
  producer<plain_array> none(nullptr, float32, {0, 4}, {7, 7}),
      one(v.data(), float32, {1, 1}, {9, 9});
  none.managed.deleter = nullptr;
  CHECK((from_dlpack<float, Extents<dyn, 4>>(&none.managed).size()) == 0);
  CHECK((from_dlpack<float, Dextents<2>>(&one.managed)(0, 0)) == v[0]);
  CHECK(one.deleted == 1);
  // bytes before the first element
  producer<plain_array> later(v.data(), float32, {2});
  later.array().byte_offset = 8;
  CHECK((from_dlpack<float, Extents<2>>(&later.managed)(1)) == v[3]);
}

TEST_CASE("an array that does not fit is refused, named, and stays the program's") {
  std::vector<double> v(24);
  auto const refused = [&](auto& p, std::string const& text, auto&& take) {
    auto* m = &p.managed;
    CHECK(message_of([&] { take(m); }) == text);
    CHECK(m == &p.managed);
    CHECK(p.deleted == 0);
  };
  auto const tensor_of = [](auto*& m) { from_dlpack<float, Extents<dyn, 3>>(m); };
  auto const view_of = [](auto*& m) { keep_dlpack<float, Extents<dyn, 3>>(m); };
  auto const both = [&](auto& p, std::string const& text) {
    refused(p, text, tensor_of);
    refused(p, text, view_of);
  };
  using locus::dlpack::data_type;
  struct {
    data_type type;
    char const* name;
  } const types[] = {{{2, 64, 1}, "float64"},   {{1, 32, 1}, "uint32"},
                     {{2, 32, 4}, "float32x4"}, {{5, 128, 1}, "complex128"},
                     {{6, 8, 1}, "bool8"},      {{9, 8, 1}, "type 9 of bits 8"}};
  for (auto const& t : types) {
    producer<plain_array> p(v.data(), t.type, {2, 3});
    both(p, std::string("locus: an array of DLPack has elements ") + t.name +
                ", and is taken as float; convert it first, or name its type");
  }
  producer<plain_array> deep(v.data(), float32, {2, 3, 1}), flat(v.data(), float32, {});
  both(deep, "locus: an array of DLPack has 3 axes, and is taken with extents [?,3]; name as many "
             "axes, or reshape it first");
  both(flat, "locus: an array of DLPack has 0 axes, and is taken with extents [?,3]; name as many "
             "axes, or reshape it first");
  producer<plain_array> wide(v.data(), float32, {3, 4}), negative(v.data(), float32, {-1, 3});
  both(wide,
       "locus: an array of DLPack has extents [3,4], and is taken with extents [?,3]; write dyn "
       "for extents that the type does not fix");
  CHECK_THROWS_AS((from_dlpack<float, Dextents<2>>(&negative.managed)), shape_error);
  producer<plain_array> gaps(v.data(), float32, {2, 3}, {6, 2});
  refused(gaps,
          "locus: a Tensor keeps rows without gaps, and an array of DLPack has extents [2,3] and "
          "strides [6,2]; view it with keep_dlpack, or copy it to row order first",
          tensor_of);
  producer<plain_array> odd(reinterpret_cast<char*>(v.data()) + 1, float32, {2, 3});
  both(odd,
       "locus: the elements of an array of DLPack begin at an address that is no multiple of 4 "
       "bytes; copy it first");
  producer<plain_array> nowhere(nullptr, float32, {2, 3});
  both(nowhere,
       "locus: an array of DLPack with extents [2,3] has no memory; ask its library for one "
       "with elements");
  std::int64_t const third = 6148914691236517206;  // 3 times this number is 2^64 + 2
  producer<plain_array> huge(v.data(), float32, {third, 3}),
      vast(nullptr, float32, {std::int64_t(1) << 40, std::int64_t(1) << 40});
  both(huge,
       "locus: an array of DLPack has extents [6148914691236517206,3], more bytes than 64 bits "
       "count; ask its library for a part of it");
  CHECK(message_of<dlpack_error>([&] { from_dlpack<float, Dextents<2>>(&vast.managed); }) ==
        "locus: an array of DLPack has extents [1099511627776,1099511627776], more bytes than 64 "
        "bits count; ask its library for a part of it");
  producer<versioned_array> newer(v.data(), float32, {2, 3});
  newer.managed.version[0] = 2;
  both(newer,
       "locus: an array of DLPack version 2 cannot be read, only version 1; ask its library for "
       "max_version=(1, 0)");
  producer<versioned_array> only_read(v.data(), float32, {2, 3});
  only_read.managed.flags = locus::dlpack::read_only;
  both(only_read, "locus: this array of DLPack may only be read; view it with keep_dlpack<T const, "
                  "Extents>(m), or copy it first");
  {
    auto const readable = keep_dlpack<float const, Dextents<2>>(&only_read.managed);
    CHECK(fetch(sum(readable.view())) == 0);
  }
  CHECK(only_read.deleted == 1);
  plain_array* null = nullptr;
  CHECK(message_of<dlpack_error>([&] { from_dlpack<float, Dextents<1>>(null); }) ==
        "locus: a null pointer stands in place of an array of DLPack; take each array once, since "
        "taking sets its pointer to null");
  producer<plain_array> still(v.data(), float32, {4, 3}, {0, 1});
  auto const repeated = keep_dlpack<float, Dextents<2>>(&still.managed);
  CHECK(fetch(sum(repeated.view())) == 0);
  CHECK_THROWS_AS((repeated.view() = repeated.view() + 1.f), shape_error);
}

TEST_CASE(
    "arrays on devices: cards by their number, pinned memory on the host, simulated GPUs never") {
  std::vector<float> v(6, 1.f);
  on_few_backends([&](backends::machine const& m) {
    producer<plain_array> pinned(v.data(), float32, {6}), other(v.data(), float32, {6});
    pinned.array().device = {locus::dlpack::on_pinned_host, 0};
    CHECK((fetch(sum(from_dlpack<float, Dextents<1>>(&pinned.managed)))) == 6);
    other.array().device = {8, 2};
    CHECK(message_of<placement_error>([&] { from_dlpack<float, Dextents<1>>(&other.managed); }) ==
          "locus: an array of DLPack lies on device 2 of DLPack's kind 8, and is taken on /CPU:0; "
          "name "
          "its device, or let its library copy it over");
    if (!m.has_gpu()) return;
    using There = Tensor<float, Extents<6>, GpuDevice<1>>;
    There x(full<float>(Extents<6>{}, 3.f));
    if (m.how == backends::kind::simulated) {
      CHECK(
          message_of<placement_error>([&] { to_dlpack(x); }) ==
          "locus: /GPU:1 is simulated, and no other library can read its memory; bring the tensor "
          "over with to<CpuDevice>(x)");
      producer<plain_array> card(v.data(), float32, {6});
      card.array().device = {locus::dlpack::on_cuda, 1};
      CHECK_THROWS_AS((from_dlpack<float, Extents<6>, GpuDevice<1>>(&card.managed)),
                      placement_error);
      return;
    }
    auto* made = to_dlpack(x);
    CHECK(made->dl_tensor.device.device_type == locus::dlpack::on_cuda);
    CHECK(made->dl_tensor.device.device_id == 1);
    auto* const kept = made;
    CHECK(message_of<placement_error>([&] { from_dlpack<float, Extents<6>>(made); }) ==
          "locus: an array of DLPack lies on CUDA card 1, and is taken on /CPU:0; name its device, "
          "or "
          "let its library copy it over");
    CHECK(message_of<placement_error>([&] {
            from_dlpack<float, Extents<6>, GpuDevice<0>>(made);
          }) == "locus: an array of DLPack lies on CUDA card 1, and is taken on /GPU:0, CUDA card "
                "0; name its "
                "device, or let its library copy it over");
    CHECK(made == kept);
    auto const back = from_dlpack<float, Extents<6>, GpuDevice<1>>(made);
    CHECK(back.device() == gpu(1));
    CHECK(back.data() == std::as_const(x).data());
    CHECK(fetch(sum(back)) == 18);
    // a result is under way to element 0, the last one of a view that goes backwards, and to element
    // 4, the last one of a view with gaps
    auto* const first = std::as_const(x).data();
    runtime::logical_device& d = runtime::find_device(gpu(1));
    auto const wait_for = [&](int element, auto const& part) {
      runtime::leave_arrival({&d, reinterpret_cast<char const*>(first + element), sizeof(float),
                              runtime::mark(d, queue_kind::compute)});
      auto* const taken = to_dlpack<versioned_array>(part);
      CHECK_FALSE(runtime::has_arrivals());
      taken->deleter(taken);
      runtime::forget_arrivals();
    };
    wait_for(0, view<GpuDevice<1>>(first + 5, Extents<6>{}, layout_stride{{-1}}));
    wait_for(4, view<GpuDevice<1>>(first, Extents<3>{}, layout_stride{{2}}));
  });
}
