// SPDX-License-Identifier: Apache-2.0
// Facts about a card, and the versions of the libraries that locus uses.
#pragma once
#include <locus/config/listing.hpp>    // logical_device
#include <locus/config/names.hpp>      // device_argument
#include <locus/core/macros.hpp>       // always_false, LOCUS_FUNCTION
#include <locus/runtime/nccl_api.hpp>  // nccl_api

namespace locus::config {

/// units: bytes; compute capability as major and minor
struct device_details {
  text_buffer<128> name;
  std::int64_t memory = 0;
  int major = 0, minor = 0;   // 0 for a device that is no card of NVIDIA
  text_buffer<48> uuid, bus;  // GPU-..., 00000000:01:00.0; empty if the device has none
};

/// means: name, memory, compute capability, uuid and bus of a card, from the driver; of the CPU:
///        memory
/// fails: unknown_device, for a device that list_physical_devices does not list
/// after: tf.config.experimental.get_device_details
LOCUS_FUNCTION device_details get_device_details(device_argument const& device);
template <class Logical>
  requires std::same_as<Logical, logical_device>
device_details get_device_details(Logical const&) {
  static_assert(always_false<Logical>,
                "locus: get_device_details takes a physical device; write d.physical of that "
                "logical device");
  return {};
}

/// Version numbers as the libraries give them: driver and runtime 13000 is 13.0, cublas 130100 is
/// 13.1.0, nccl 22703 is 2.27.3, cudnn 91900 is 9.19.0; 0: not found. cudnn is also 0 where
/// LOCUS_CUDNN turns cuDNN off, or where it is older than 9.
struct library_versions {
  int driver = 0, runtime = 0, cublas = 0, nccl = 0, cudnn = 0;
};
/// means: the versions of CUDA's driver and runtime, of cuBLAS, of NCCL and of the cuDNN that
///        convolutions use
/// cost:  opens cuBLAS, NCCL and cuDNN, if they are not open
/// fails: configuration_error, for an unknown word in LOCUS_CUDNN
LOCUS_FUNCTION library_versions versions();

}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/details.hpp>  // bodies of the functions above
#endif
