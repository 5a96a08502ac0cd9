// SPDX-License-Identifier: Apache-2.0
// What the body of a team of threads is given, where tests run it on the host.
#pragma once
#include <cstdint>
#include <vector>

#include <locus/locus.hpp>

namespace team_bodies {

inline locus::kernel::any_tile tile_over(void const* data, locus::shape const& s) {
  locus::kernel::any_tile t;
  t.data = const_cast<void*>(data), t.rank = s.rank;
  for (int a = 0; a < s.rank; ++a) t.extent[a] = s.extent[a];
  return t;
}

/// the workspace of a kernel: numbers of no meaning
class part_memory {
 public:
  explicit part_memory(std::int64_t bytes) : bytes_(std::size_t(bytes / 8 + 1), 1e300) {}
  void* data() const { return const_cast<double*>(bytes_.data()); }

 private:
  std::vector<double> bytes_;
};

}  // namespace team_bodies
