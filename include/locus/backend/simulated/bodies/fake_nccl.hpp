// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/simulated/fake_nccl.hpp declares.
#pragma once
#include <locus/backend/simulated/fake_nccl.hpp>  // the declarations
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/shape/half.hpp>                   // half, bfloat16

LOCUS_COLD_BEGIN

namespace locus::simulated {

LOCUS_FUNCTION nccl_number load(runtime::nccl_type t, void const* data, std::size_t i) {
  auto at = [&]<class T>(T v) {
    std::memcpy(&v, static_cast<char const*>(data) + i * sizeof(T), sizeof(T));
    return v;
  };
  using enum runtime::nccl_type;
  switch (t) {
  case int8: return {0, static_cast<std::uint64_t>(at(std::int8_t()))};
  case uint8: return {0, at(std::uint8_t())};
  case int32: return {0, static_cast<std::uint64_t>(at(std::int32_t()))};
  case uint32: return {0, at(std::uint32_t())};
  case int64:
  case uint64: return {0, at(std::uint64_t())};
  case float16: return {at(half()), 0};
  case bfloat16: return {at(locus::bfloat16()), 0};
  case float32: return {at(float()), 0};
  case float64: return {at(double()), 0};
  default: return {};
  }
}

LOCUS_FUNCTION double rounded(runtime::nccl_type t, double v) {
  using enum runtime::nccl_type;
  switch (t) {
  case float16: return half(v);
  case bfloat16: return locus::bfloat16(v);
  case float32: return static_cast<float>(v);
  default: return v;
  }
}

LOCUS_FUNCTION void store(runtime::nccl_type t, void* data, std::size_t i, nccl_number const& v) {
  char* const to = static_cast<char*>(data) + i * static_cast<std::size_t>(bytes_of(t));
  auto put = [to](auto x) { std::memcpy(to, &x, sizeof x); };
  using enum runtime::nccl_type;
  switch (t) {
  case float16: return put(half(v.real));
  case bfloat16: return put(locus::bfloat16(v.real));
  case float32: return put(static_cast<float>(v.real));
  case float64: return put(v.real);
  default: std::memcpy(to, &v.bits, static_cast<std::size_t>(bytes_of(t)));  // little endian
  }
}

LOCUS_FUNCTION nccl_number combine(runtime::nccl_type t, int op, nccl_number const& a,
                                   nccl_number const& b) {
  bool const is_signed = t == runtime::nccl_type::int8 || t == runtime::nccl_type::int32 ||
                         t == runtime::nccl_type::int64;
  if (is_floating(t)) {
    double r = op == runtime::nccl_prod ? a.real * b.real : a.real + b.real;
    if (op == runtime::nccl_max)
      r = a.real > b.real || b.real != b.real ? a.real : b.real;  // a NaN
    if (op == runtime::nccl_min)
      r = a.real < b.real || b.real != b.real ? a.real : b.real;  // is lost
    return {rounded(t, r), 0};
  }
  bool const less = is_signed
                        ? static_cast<std::int64_t>(a.bits) < static_cast<std::int64_t>(b.bits)
                        : a.bits < b.bits;
  if (op == runtime::nccl_max) return less ? b : a;
  if (op == runtime::nccl_min) return less ? a : b;
  return {0, op == runtime::nccl_prod ? a.bits * b.bits : a.bits + b.bits};
}

}  // namespace locus::simulated

LOCUS_COLD_END
