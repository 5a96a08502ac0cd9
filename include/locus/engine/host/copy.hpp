// SPDX-License-Identifier: Apache-2.0
// The host kernel of copy_work: a copy between two layouts.
#pragma once
#include <cstring>  // memcpy

#include <locus/core/macros.hpp>  // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/work/work.hpp>    // copy_work

LOCUS_LEAN_BEGIN

namespace locus {
namespace host {
inline namespace LOCUS_MODE {
/// means: copies n elements of `bytes` bytes, from f to t
/// units: t_step, f_step: bytes from one element to the next
inline void copy_line(std::size_t bytes, char* t, std::int64_t t_step, char const* f,
                      std::int64_t f_step, std::int64_t n) {
  auto const b = static_cast<std::int64_t>(bytes);
  if (t_step == b && f_step == b)
    std::memcpy(t, f, static_cast<std::size_t>(n) * bytes);
  else if (bytes == 4)  // with a constant size, memcpy is one instruction
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(t + i * t_step, f + i * f_step, 4);
  else if (bytes == 8)
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(t + i * t_step, f + i * f_step, 8);
  else
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(t + i * t_step, f + i * f_step, bytes);
}
}  // namespace LOCUS_MODE
}  // namespace host

inline namespace LOCUS_MODE {

inline void run_on_host(copy_work const& w) {
  kernel::space s = w.over;
  kernel::access a[] = {w.to, w.from};
  kernel::collapse(s, a, 2);
  if (s.size() == 0) return;
  int const last = s.rank - 1, bytes = w.bytes;
  std::int64_t const n = s.extent[last], rows = s.size() / n;
  for (std::int64_t r = 0; r < rows; ++r) {
    auto* const t = static_cast<char*>(a[0].data) + kernel::offset_of(s, a[0], r, last) * bytes;
    auto const* const f =
        static_cast<char const*>(a[1].data) + kernel::offset_of(s, a[1], r, last) * bytes;
    host::copy_line(static_cast<std::size_t>(bytes), t, a[0].stride[last] * bytes, f,
                    a[1].stride[last] * bytes, n);
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END
