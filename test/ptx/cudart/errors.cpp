// SPDX-License-Identifier: Apache-2.0
// CUDA's codes by name and in words, and the error that a thread saw last.
#include "state.hpp"

using namespace ptx;
using namespace ptx::cudart;

namespace {
struct entry {
  cudaError_t code;
  char const *name, *text;
};
#define PTX_ERROR(name, text) {name, #name, text}
constexpr entry errors[] = {
    PTX_ERROR(cudaSuccess, "no error"),
    PTX_ERROR(cudaErrorInvalidValue, "invalid argument"),
    PTX_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    PTX_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    PTX_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    PTX_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    PTX_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    PTX_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    PTX_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    PTX_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    PTX_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    PTX_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    PTX_ERROR(cudaErrorNoKernelImageForDevice,
              "no kernel image is available for execution on the device"),
    PTX_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    PTX_ERROR(cudaErrorNotReady, "device not ready"),
    PTX_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    PTX_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    PTX_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    PTX_ERROR(cudaErrorAssert, "device-side assert triggered"),
    PTX_ERROR(cudaErrorHostMemoryAlreadyRegistered,
              "part or all of the requested memory range is already mapped"),
    PTX_ERROR(cudaErrorHostMemoryNotRegistered,
              "pointer does not correspond to a registered memory region"),
    PTX_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    PTX_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    PTX_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    PTX_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    PTX_ERROR(cudaErrorNotSupported, "operation not supported"),
    PTX_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    PTX_ERROR(cudaErrorStreamCaptureUnsupported,
              "operation not permitted when stream is capturing"),
    PTX_ERROR(cudaErrorStreamCaptureInvalidated,
              "operation failed due to a previous error during capture"),
    PTX_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not initiated in this stream"),
    PTX_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    PTX_ERROR(cudaErrorStreamCaptureIsolation,
              "dependency created on uncaptured work in another stream"),
    PTX_ERROR(cudaErrorStreamCaptureImplicit,
              "operation would make the legacy stream depend on a capturing blocking stream"),
    PTX_ERROR(cudaErrorCapturedEvent,
              "operation not permitted on an event last recorded in a capturing stream"),
    PTX_ERROR(cudaErrorStreamCaptureWrongThread,
              "attempt to terminate a thread-local capture sequence from another thread"),
    PTX_ERROR(cudaErrorUnknown, "unknown error"),
};
entry const* find(cudaError_t e) {
  for (entry const& each : errors)
    if (each.code == e) return &each;
  return nullptr;
}
}  // namespace

PTX_API cudaError_t cudaGetLastError() {
  cudaError_t const e = all().lost != cudaSuccess ? all().lost : last;
  last = cudaSuccess;
  return e;
}
PTX_API cudaError_t cudaPeekAtLastError() { return all().lost != cudaSuccess ? all().lost : last; }
PTX_API char const* cudaGetErrorString(cudaError_t e) {
  entry const* const found = find(e);
  return found ? found->text : "unrecognized error code";
}
PTX_API char const* cudaGetErrorName(cudaError_t e) {
  entry const* const found = find(e);
  return found ? found->name : "unrecognized error code";
}
