// SPDX-License-Identifier: Apache-2.0
// DLPack's arrays, by which libraries hand arrays to one another: the structs of its binary
// interface, version 1, and element types in its terms. The structs of <dlpack/dlpack.h> lie alike.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>     // error
#include <locus/core/macros.hpp>    // LOCUS_COLD_BEGIN
#include <locus/shape/element.hpp>  // element

namespace locus {

/// an array of another library that locus cannot take: of another type, read-only, misaligned, null
struct dlpack_error : error {
  using error::error;
};

namespace dlpack {

/// after: dlpack.h, DLDeviceType
enum : std::int32_t { on_cpu = 1, on_cuda = 2, on_pinned_host = 3, on_cuda_managed = 13 };
/// after: dlpack.h, DLDevice
struct array_device {
  std::int32_t device_type, device_id;
};
/// after: dlpack.h, DLDataType
struct data_type {
  std::uint8_t code, bits;
  std::uint16_t lanes;
  friend constexpr bool operator==(data_type, data_type) = default;
};
/// An array that somebody else owns.     units: byte_offset in bytes, strides in elements
/// after: dlpack.h, DLTensor
struct array {
  void* data;
  array_device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // null: row order
  std::uint64_t byte_offset;
};
/// An array with its owner; whoever holds it calls the deleter once.
/// after: dlpack.h, DLManagedTensor
struct managed_tensor {
  array dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor*);
};
/// The same since version 1: with a version, two numbers, and flags.
/// after: dlpack.h, DLManagedTensorVersioned
struct managed_tensor_versioned {
  std::uint32_t version[2];
  void* manager_ctx;
  void (*deleter)(managed_tensor_versioned*);
  std::uint64_t flags;
  array dl_tensor;
};
inline constexpr std::uint64_t read_only = 1;
inline constexpr std::uint32_t version_here[2] = {1, 0};

/// means: one of the two structs, or its twin of <dlpack/dlpack.h>
template <class Managed>
concept managed = requires(Managed m) {
  m.manager_ctx;
  m.deleter(&m);
  requires sizeof(m.dl_tensor) == sizeof(array);
};
template <class Managed>
inline constexpr bool is_versioned = requires(Managed m) { m.flags; };

/// locus' element types, in the order of `element`
inline constexpr data_type types[] = {{2, 32, 1}, {2, 64, 1}, {0, 32, 1}, {0, 64, 1}, {1, 8, 1},
                                      {6, 8, 1},  {2, 16, 1}, {4, 16, 1}, {0, 8, 1},  {0, 16, 1},
                                      {1, 16, 1}, {1, 32, 1}, {1, 64, 1}, {5, 64, 1}, {5, 128, 1}};
/// means: the type of elements T
/// fails: at compile time, for a type of the program's own
template <class T>
constexpr data_type type_of() {
  constexpr bool has_type = element_of_v<T> != element::other;
  static_assert(has_type, "locus: DLPack has no name for elements of this type; write a tensor of "
                          "numbers, such as Tensor<float, ...>");
  if constexpr (has_type) return types[static_cast<int>(element_of_v<T>)];
}

LOCUS_COLD_BEGIN
/// means: "float32", "complex128", "int32x4", for errors
template <std::size_t N>
text_buffer<N>& operator<<(text_buffer<N>& out, data_type const& t) {
  constexpr std::string_view kinds[] = {"int",    "uint",    "float", "handle",
                                        "bfloat", "complex", "bool"};
  if (t.code < 7)
    out << kinds[t.code];
  else
    out << "type " << int(t.code) << " of bits ";
  out << int(t.bits);
  if (t.lanes != 1) out << "x" << int(t.lanes);
  return out;
}
/// means: "the CPU", "CUDA card 1", for errors
template <std::size_t N>
text_buffer<N>& operator<<(text_buffer<N>& out, array_device const& d) {
  switch (d.device_type) {
  case on_cpu: return out << "the CPU";
  case on_cuda: return out << "CUDA card " << d.device_id;
  case on_pinned_host: return out << "the CPU, pinned by CUDA";
  case on_cuda_managed: return out << "CUDA card " << d.device_id << ", managed memory";
  default: return out << "device " << d.device_id << " of DLPack's kind " << d.device_type;
  }
}
LOCUS_COLD_END

}  // namespace dlpack
}  // namespace locus
