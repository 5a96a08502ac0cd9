// SPDX-License-Identifier: Apache-2.0
// Calls that fail on purpose: PTX_FAIL=cudaMalloc:3:2,... lets the third call of cudaMalloc return code 2, and
// ptx_fail does so from within a test.
#include <cstring>

#include "state.hpp"

namespace ptx::cudart {
namespace {

struct failure {
  std::string function;
  std::uint64_t call;  // its number among the calls of the function, from 1
  int code;
};
struct call_log {
  std::map<std::string, std::uint64_t, std::less<>> calls;
  std::vector<failure> planned;
};
call_log& log() {
  static call_log& l = *new call_log;
  return l;
}
/// what never came is a mistake of the one who planned it
void say_what_is_left() {
  for (failure const& f : log().planned)
    std::fprintf(stderr,
                 "ptx machine: PTX_FAIL: %s was called %llu times, call %llu did not come\n",
                 f.function.c_str(), static_cast<unsigned long long>(log().calls[f.function]),
                 static_cast<unsigned long long>(f.call));
}
bool read_environment() {
  char const* at = std::getenv("PTX_FAIL");
  if (!at || !*at) return true;
  std::atexit(say_what_is_left);
  for (;;) {
    char name[100];
    unsigned call, code;
    int length = 0;
    if (std::sscanf(at, "%99[^:]:%u:%u%n", name, &call, &code, &length) != 3 || call == 0 ||
        (at[length] != 0 && at[length] != ',')) {
      std::fprintf(stderr,
                   "ptx machine: PTX_FAIL=%s: write function:call:code, such as cudaMalloc:3:2\n",
                   at);
      std::exit(1);
    }
    log().planned.push_back({name, call, int(code)});
    if (at[length] == 0) return true;
    at += length + 1;
  }
}

}  // namespace

cudaError_t planned_failure(char const* function) {
  static bool const once = read_environment();
  (void)once;
  auto found = log().calls.find(std::string_view(function));
  if (found == log().calls.end()) found = log().calls.emplace(function, 0).first;
  std::uint64_t const call = ++found->second;
  auto& planned = log().planned;
  for (std::size_t k = 0; k < planned.size(); ++k)
    if (planned[k].call == call && planned[k].function == function) {
      auto const code = cudaError_t(planned[k].code);
      planned.erase(planned.begin() + std::ptrdiff_t(k));
      return code;
    }
  return cudaSuccess;
}
bool ends_context(cudaError_t e) {
  switch (e) {
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchTimeout:
  case cudaErrorAssert:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure: return true;
  default: return false;
  }
}

}  // namespace ptx::cudart

using namespace ptx::cudart;

/// the n-th call of a function from now on returns a code; null: nothing is planned any more
PTX_API void ptx_fail(char const* function, std::uint64_t n, int code) {
  std::lock_guard hold(all().lock);
  if (!function) return log().planned.clear();
  log().planned.push_back({function, log().calls[function] + n, code});
}
PTX_API std::uint64_t ptx_calls(char const* function) {
  std::lock_guard hold(all().lock);
  return log().calls[function];
}
