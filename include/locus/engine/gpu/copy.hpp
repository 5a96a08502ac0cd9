// SPDX-License-Identifier: Apache-2.0
// Copies between layouts on a GPU, as maps with the identity, by words instead of element types.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/launch.hpp>      // start
#include <locus/engine/gpu/map.hpp>         // order_axes, line_map, point_map
#include <locus/engine/gpu/registered.hpp>  // cuda_kernel
#include <locus/work/work.hpp>              // copy_work

LOCUS_LEAN_BEGIN

namespace locus {

namespace cuda_side {
inline namespace LOCUS_MODE {

/// A word of a copy.
template <int Bytes>
struct alignas(Bytes) word {
  unsigned char bytes[Bytes];
};
/// means: the identity
struct unchanged {
  template <class T>
  LOCUS_HOST_DEVICE constexpr pack<T> operator()(pack<T> const& in, pack<> const&) const {
    return in;
  }
};
/// the copy of words as a map
template <class Word>
using word_map = map_work<unchanged, type_list<kernel::elements_of<Word>>, type_list<Word>, true>;

/// means: start(body, blocks) for each launch of a copy: one line_map if rows of both sides are
///        contiguous; otherwise one point_map for each word of 1 to 16 bytes of an element
template <class Start>
void choose_copy(copy_work const& work, Start&& start) {
  word_map<std::uint32_t> order{unchanged{}};
  order.over = work.over, order.operands[0] = work.from, order.operands[1] = work.to;
  order_axes(order);
  int const last = order.over.rank - 1;
  kernel::space& s = order.over;
  kernel::access &from = order.operands[0], &to = order.operands[1];
  if (s.size() == 0) return;
  // strides are in bytes from here on; the size of a word must divide all the numbers collected in
  // `places`
  bool const in_lines = from.stride[last] == 1 && to.stride[last] == 1;
  std::uint64_t places =
      reinterpret_cast<std::uintptr_t>(from.data) | reinterpret_cast<std::uintptr_t>(to.data);
  std::uint64_t lines_at = places | std::uint64_t(s.extent[last] * work.bytes);
  places |= unsigned(work.bytes);
  for (int d = 0; d <= last; ++d) {
    from.stride[d] *= work.bytes, to.stride[d] *= work.bytes;
    if (d < last) lines_at |= std::uint64_t(from.stride[d] | to.stride[d]);
  }
  auto const in_units = [&]<class Word>(Word, auto&& then) {
    constexpr int bytes = int(sizeof(Word));
    word_map<Word> w{unchanged{}};
    w.over = s, w.operands[0] = from, w.operands[1] = to;
    for (int d = 0; d <= last; ++d)
      w.operands[0].stride[d] /= bytes, w.operands[1].stride[d] /= bytes;
    then(w);
  };
  auto const lines = [&](auto word) {
    in_units(word, [&]<class Word>(word_map<Word>& w) {
      w.over.extent[last] = s.extent[last] * work.bytes / int(sizeof(Word));
      w.operands[0].stride[last] = w.operands[1].stride[last] = 1;
      line_map<word_map<Word>> body({}, w.over, w.operands);
      start(body, body.blocks());
    });
  };
  auto const points = [&](auto word) {
    in_units(word, [&]<class Word>(word_map<Word>& w) {
      for (int part = 0; part < work.bytes; part += int(sizeof(Word))) {
        point_map<word_map<Word>> body({}, w.over, w.operands);
        start(body, body.blocks());
        for (kernel::access& a : w.operands)
          if (a.data)  // null while a plan measures workspace
            a.data = static_cast<char*>(a.data) + sizeof(Word);
      }
    });
  };
  if (in_lines) return lines_at % 4 == 0 ? lines(std::uint32_t()) : lines(std::uint8_t());
  if (places % 16 == 0) return points(word<16>());
  if (places % 8 == 0) return points(std::uint64_t());
  if (places % 4 == 0) return points(std::uint32_t());
  if (places % 2 == 0) return points(std::uint16_t());
  points(std::uint8_t());
}

}  // namespace LOCUS_MODE
}  // namespace cuda_side

inline namespace LOCUS_MODE {

template <>
struct cuda_kernel<copy_work> {
  static void launch(launch_site const& site, copy_work const& work) {
    cuda_side::choose_copy(
        work, [&](auto& body, unsigned blocks) { cuda_side::start(site, body, blocks); });
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus

LOCUS_LEAN_END
