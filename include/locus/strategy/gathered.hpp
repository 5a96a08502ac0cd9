// SPDX-License-Identifier: Apache-2.0
// The values of replicas as one tensor on the host: their rows one after another, or their sums
// along axes. Replicas of other ranks take part.
#pragma once
#include <algorithm>  // copy_n
#include <cstring>    // memcpy

#include <locus/core/macros.hpp>            // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/context.hpp>       // block_of
#include <locus/strategy/replica_sums.hpp>  // part_of_block, host_elements, numbers_of_all
#include <locus/tensor/ranks.hpp>           // collective/rank_functions

namespace locus {

namespace internal {

/// means: the parts of a value, one for each replica, in the memory of its device. over: a list over
///        ranks, to whose devices the replicas belong; empty: to this process alone
template <class X>
local_parts parts_of_value(X const& x, device_list const& over = {}) {
  local_parts parts;
  parts.over = over;
  if constexpr (is_per_replica<X>)
    for (int r = 0; r < x.size(); ++r) parts.of[parts.count++] = part_of_block(block_of(x[r]));
  else
    for (int r = 0; r < x.replica_count(); ++r)
      parts.of[parts.count++] = part_of_block(*x.block.get(), r);
  return parts;
}

}  // namespace internal

namespace detail {

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_axis(int axis, int rank);
LOCUS_FUNCTION axis_set axes_of(int const* axes, int count, int rank);

template <class T>
using wide_sum = total_t<T>;

/// means: sums and the number of terms of each, added over ranks
/// fails: shape_error on all ranks, where they have other numbers of sums
template <class N>
std::int64_t add_ranks(device_list const& over, std::vector<N>& sums, std::int64_t counted) {
  if (!runtime::lies_on_ranks(over)) return counted;
  std::int64_t before = 0;
  counted = runtime::over_ranks->tell("reduce along axes", counted, before);
  runtime::bytes_of_ranks all;
  std::size_t const bytes = sums.size() * sizeof(N);
  runtime::over_ranks->gather("reduce along axes", sums.data(), std::int64_t(bytes), all);
  for (std::size_t r = 0; r < all.ends.size(); ++r)
    if (all.ends[r] * std::int64_t(all.ends.size()) != all.ends.back() * std::int64_t(r + 1))
      throw shape_error("locus: reduce along axes: the values of some ranks have other extents; "
                        "make all of one shape but for the axes");
  sums.assign(sums.size(), 0);
  for (std::size_t at = 0; at < all.bytes.size(); at += sizeof(N)) {
    N term;
    std::memcpy(&term, all.bytes.data() + at, sizeof(N));
    sums[at / sizeof(N) % sums.size()] += term;
  }
  return counted;
}

/// means: the sums of the elements along some axes, over all parts; returns the number of terms of
///        each
/// cost:  over ranks: the sums of all ranks to each
template <class T>
std::int64_t sum_along(local_parts const& parts, axis_set axes, shape const& result,
                       std::vector<wide_sum<T>>& sums) {
  std::int64_t counted = 0;
  sums.assign(static_cast<std::size_t>(result.size()), 0);
  for (int r = 0; r < parts.count; ++r) {
    shape const& s = parts.of[r].extents;
    if (!(reduced(s, axes, false) == result))
      refuse_parts("reduce", r, s, parts.of[0].extents, "make all of one shape but for the axes");
    auto const values = host_elements<T>(parts.of[r]);
    std::int64_t along = 1;
    for (int a = 0; a < s.rank; ++a)
      if (has_axis(axes, a)) along *= s.extent[a];
    counted += along;
    for (std::int64_t i = 0; i < s.size(); ++i) {
      std::int64_t to = 0, rest = i, stride = 1;
      for (int a = s.rank; a-- > 0; rest /= s.extent[a])
        if (!has_axis(axes, a)) to += rest % s.extent[a] * stride, stride *= s.extent[a];
      sums[static_cast<std::size_t>(to)] += static_cast<wide_sum<T>>(values[std::size_t(i)]);
    }
  }
  return add_ranks(parts.over, sums, counted);
}

/// means: out = the sums, or the means, of the elements along some axes, over all parts
template <class Op, class T, class E>
void reduce_along(local_parts const& parts, axis_set axes, Tensor<T, E, CpuDevice>& out) {
  std::vector<wide_sum<T>> sums;
  shape const result = out.extents().as_shape();
  auto const n = static_cast<wide_sum<T>>(sum_along<T>(parts, axes, result, sums));
  for (std::size_t i = 0; i < sums.size(); ++i)
    out.data()[i] = static_cast<T>(Op::is_mean ? sums[i] / n : sums[i]);
}
/// means: no two parts are on one device, as collectives require; over ranks, on no rank, and each
///        part is on the device of its replica
/// cost:  over ranks: a vote
LOCUS_FUNCTION bool lie_apart(local_parts const& parts);

/// The part of one replica on the host.
template <class T>
struct host_part {
  shape extents;
  std::vector<stored_t<T>> values;
};

/// means: the parts of the replicas of all ranks, in order
/// cost:  over ranks: all parts to each rank
template <class T>
std::vector<host_part<T>> host_parts_of_all(local_parts const& parts, std::string_view name) {
  std::vector<host_part<T>> all;
  for (int r = 0; r < parts.count; ++r)
    all.push_back({parts.of[r].extents, host_elements<T>(parts.of[r])});
  if (!parts.lie_on_ranks()) return all;
  int const rank = parts.of[0].extents.rank;
  auto const head = std::size_t(rank) * sizeof(std::int64_t);
  std::vector<char> packed;
  auto const pack = [&](void const* from, std::size_t bytes) {
    auto const* const first = static_cast<char const*>(from);
    packed.insert(packed.end(), first, first + bytes);
  };
  for (host_part<T> const& p : all)
    pack(p.extents.extent, head), pack(p.values.data(), p.values.size() * sizeof(T));
  runtime::bytes_of_ranks got;
  runtime::over_ranks->gather(name, packed.data(), std::int64_t(packed.size()), got);
  all.clear();
  for (char const *at = got.bytes.data(), *const end = at + got.bytes.size(); at != end;) {
    host_part<T> p;
    p.extents.rank = rank;
    std::memcpy(p.extents.extent, at, head), at += head;
    p.values.resize(std::size_t(p.extents.size()));
    std::size_t const bytes = p.values.size() * sizeof(T);
    if (bytes > 0) std::memcpy(p.values.data(), at, bytes);
    at += bytes;
    all.push_back(std::move(p));
  }
  return all;
}

}  // namespace detail

namespace internal {

/// means: the parts of a value along an axis, one after another, on the host; numbers become a
///        vector
template <class X>
auto gathered(X const& x, int axis, device_list const& over = {}) {
  if constexpr (is_per_replica<X> && number<typename X::value_type>) {
    using N = typename X::value_type;
    std::vector<detail::stored_t<N>> mine;
    for (int r = 0; r < x.size(); ++r) mine.push_back(x[r]);
    auto const all = numbers_of_all(mine, over, "gather");
    Tensor<N, Dextents<1>, CpuDevice> out{Dextents<1>(std::int64_t(all.size()))};
    std::copy(all.begin(), all.end(), out.data());
    return out;
  } else {
    using V = part_of_replica_t<X>;
    using T = typename V::value_type;
    constexpr int rank = V::extents_type::rank();
    static_assert(rank > 0, "locus: more axes are named than a value of a replica has; name fewer");
    int const axes[] = {axis};
    axis_set const along = axes_of(axes, 1, rank);
    int const a = axis < 0 ? axis + rank : axis;
    auto const parts = host_parts_of_all<T>(parts_of_value(x, over), "gather");
    shape all = parts[0].extents;
    all.extent[a] = 0;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      shape const& s = parts[r].extents;
      if (!(reduced(s, along, false) == reduced(all, along, false)))
        refuse_parts("gather", int(r), s, parts[0].extents,
                     "make all of one shape but for the axis");
      all.extent[a] += s.extent[a];
    }
    Tensor<T, Dextents<rank>, CpuDevice> out{Dextents<rank>(all)};
    std::int64_t outer = 1, inner = 1, begin = 0;
    for (int k = 0; k < a; ++k) outer *= all.extent[k];
    for (int k = a + 1; k < rank; ++k) inner *= all.extent[k];
    for (detail::host_part<T> const& p : parts) {
      std::int64_t const run = p.extents.extent[a] * inner;
      for (std::int64_t o = 0; o < outer; ++o)
        std::copy_n(p.values.begin() + o * run, run,
                    out.data() + o * all.extent[a] * inner + begin);
      begin += run;
    }
    return out;
  }
}

}  // namespace internal

}  // namespace locus

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/bodies/gathered.hpp>  // bodies of the functions above
#endif
