// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

#include <algorithm>

namespace ptx::counts {
namespace {
/// sorts, and leaves each number once; how many there are
int leave_distinct(std::uint64_t* v, int n) {
  if (!std::is_sorted(v, v + n)) std::sort(v, v + n);
  return int(std::unique(v, v + n) - v);
}
}  // namespace

request request_of(addresses const& a) {
  request r;
  std::uint64_t distinct[lane_count];
  std::copy(a.of, a.of + a.count, distinct);
  int const n = leave_distinct(distinct, a.count);
  r.useful_bytes = std::uint64_t(n) * a.bytes;
  for (int k = 0; k < n; ++k) {
    std::uint64_t const sector = distinct[k] >> 5;
    if (r.sector_count == 0 || r.sectors[r.sector_count - 1] != sector) {
      r.line_count += r.sector_count == 0 || r.sectors[r.sector_count - 1] >> 2 != sector >> 2;
      r.sectors[r.sector_count++] = sector;
    }
  }
  unsigned filled = 0;
  for (int k = 0; k < n; ++k) {
    if (k == 0 || distinct[k] >> 5 != distinct[k - 1] >> 5) filled = 0;
    filled += a.bytes;
    r.whole_sectors += filled == 32;
  }
  return r;
}

turns turns_of(addresses const& a) {
  turns t;
  unsigned const parts = a.bytes >= 16 ? 4 : a.bytes == 8 ? 2 : 1, lanes = lane_count / parts;
  int next = 0;
  for (unsigned part = 0; part < parts; ++part) {
    std::uint64_t words[lane_count * 4];
    int n = 0;
    for (unsigned l = part * lanes; l < (part + 1) * lanes; ++l) {
      if (!(a.lanes >> l & 1)) continue;
      for (unsigned b = 0; b < a.bytes; b += 4) words[n++] = (a.of[next] + b) >> 2;
      ++next;
    }
    if (n == 0) continue;
    n = leave_distinct(words, n);
    unsigned in_bank[32]{};
    for (int k = 0; k < n; ++k) ++in_bank[words[k] & 31];
    t.wavefronts += *std::max_element(in_bank, in_bank + 32);
    t.ideal += 1;
  }
  return t;
}

}  // namespace ptx::counts
