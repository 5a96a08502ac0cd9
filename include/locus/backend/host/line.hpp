// SPDX-License-Identifier: Apache-2.0
// The innermost loop of every host kernel: one functor along one axis, in blocks that a compiler
// turns into vector code without a flag of the user's. Operands with gaps pass through a small
// buffer.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/config.hpp>     // LOCUS_IVDEP
#include <locus/core/pack.hpp>       // pack, get, for_each_index
#include <locus/core/type_list.hpp>  // type_list
#include <locus/kernel/call.hpp>     // access, own_offset

namespace locus::host {
inline namespace LOCUS_MODE {

/// elements that one trip of the fixed loop handles
inline constexpr int block = 64;

/// means: one operand along one line: element j is at data[j * stride], or is base + j * stride
template <class Kind>
class line_operand {
 public:
  using type = typename Kind::type;
  static constexpr bool is_index = std::is_same_v<Kind, kernel::own_offset>;

  line_operand(kernel::access const& a, std::int64_t offset, std::int64_t stride)
      : stride_(stride) {
    if constexpr (is_index)
      base_ = a.base + offset;
    else
      data_ = static_cast<type const*>(a.data) + offset;
  }
  bool is_direct() const { return !is_index && stride_ == 1; }
  /// the values of elements [i, i + n), n <= block
  type const* values(std::int64_t i, int n) {
    if constexpr (is_index) {
      for (int j = 0; j < n; ++j) buffer_[j] = base_ + (i + j) * stride_;
      return buffer_;
    } else {
      if (stride_ == 1) return data_ + i;
      if (stride_ == 0 && filled_) return buffer_;
      for (int j = 0; j < n; ++j) buffer_[j] = data_[(i + j) * stride_];
      filled_ = n == block;
      return buffer_;
    }
  }

 private:
  type const* data_ = nullptr;
  std::int64_t base_ = 0, stride_ = 0;
  bool filled_ = false;  // a value that does not change along the line is laid out once
  type buffer_[block];
};

/// means: the value of an operand that does not change along the line
template <class Kind>
typename Kind::type row_input(kernel::access const& a, std::int64_t offset) {
  if constexpr (std::is_same_v<Kind, kernel::own_offset>)
    return a.base + offset;
  else
    return static_cast<typename Kind::type const*>(a.data)[offset];
}

template <class List>
struct line;
/// means: visit(j, values of the inputs at j) for j in [0, n), in blocks
template <class... Kinds>
struct line<type_list<Kinds...>> {
  using values = pack<typename Kinds::type...>;
  using pointers = pack<typename Kinds::type const*...>;
  pack<line_operand<Kinds>...> operands;

  line(kernel::access const* in, std::int64_t const* offsets, int axis)
      : line(in, offsets, axis, std::index_sequence_for<Kinds...>{}) {}
  template <std::size_t... K>
  line(kernel::access const* in, std::int64_t const* offsets, int axis, std::index_sequence<K...>)
      : operands{{line_operand<Kinds>(in[K], offsets[K], in[K].stride[axis])}...} {}

  /// every operand lies side by side: at(0, n) serves elements of any number
  bool is_direct() const { return is_direct(std::index_sequence_for<Kinds...>{}); }
  template <std::size_t... K>
  bool is_direct(std::index_sequence<K...>) const {
    return (get<K>(operands).is_direct() && ...);
  }
  /// pointers to the values of elements [i, i + n)
  pointers at(std::int64_t i, int n) { return at(i, n, std::index_sequence_for<Kinds...>{}); }
  template <std::size_t... K>
  pointers at(std::int64_t i, int n, std::index_sequence<K...>) {
    return {{get<K>(operands).values(i, n)}...};
  }
  template <std::size_t... K>
  static values load(pointers const& p, std::int64_t j, std::index_sequence<K...>) {
    return {{get<K>(p)[j]}...};
  }
  static values load(pointers const& p, std::int64_t j) {
    return load(p, j, std::index_sequence_for<Kinds...>{});
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
