// SPDX-License-Identifier: Apache-2.0
// The operands of one run as contiguous values: in memory if they are contiguous there, otherwise
// through small buffers.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/pack.hpp>       // pack, get
#include <locus/core/type_list.hpp>  // type_list
#include <locus/work/call.hpp>       // access, own_offset

namespace locus::host {
inline namespace LOCUS_MODE {

/// elements that pass through buffers at a time
inline constexpr int chunk = 256;

/// means: one input of a run: element j is data[j * stride], or base + j * stride for an index
template <class Kind>
struct run_input {
  using type = typename Kind::type;
  static constexpr bool is_index = std::is_same_v<Kind, kernel::own_offset>;
  type const* data;
  std::int64_t base, stride;
  std::int64_t steps;  // -1: it moves along the run; 0: one value, repeated in the buffer
  bool gathered;
  type buffer[chunk];

  void begin(kernel::access const& a, std::int64_t offset, std::int64_t step) {
    stride = step, base = a.base + offset;
    gathered = is_index || (stride != 1 && stride != 0), steps = -1;
    if constexpr (!is_index) {
      data = static_cast<type const*>(a.data) + offset;
      if (stride != 0) return;
      steps = 0;
      type const value = *data;
      for (int j = 0; j < chunk / 2; ++j) buffer[j] = value;  // as many as one trip reads
      data = buffer;
    }
  }
  /// means: elements [i, i + n), contiguous; n is at most a chunk if `gathered`
  type const* at(std::int64_t i, std::int64_t n) {
    if (!gathered) return data + (i & steps);
    for (int j = 0; j < n; ++j)
      if constexpr (is_index)
        buffer[j] = base + (i + j) * stride;
      else
        buffer[j] = data[(i + j) * stride];
    return buffer;
  }
};

/// means: one output of a run
template <class T>
struct run_output {
  T* data;
  std::int64_t stride;
  T buffer[chunk];

  void begin(kernel::access const& a, std::int64_t offset, std::int64_t step) {
    data = static_cast<T*>(a.data) + offset, stride = step;
  }
  bool scattered() const { return stride != 1; }
  T* at(std::int64_t i) { return scattered() ? buffer : data + i; }
  void end(std::int64_t i, std::int64_t n) {
    if (scattered())
      for (int j = 0; j < n; ++j) data[(i + j) * stride] = buffer[j];
  }
};

template <class Kinds, class Outs>
struct run_operands;
/// means: the operands of a kernel along one run
template <class... Kinds, class... Outs>
struct run_operands<type_list<Kinds...>, type_list<Outs...>> {
  using sources = pack<typename Kinds::type const*...>;
  using targets = pack<Outs*...>;
  static constexpr int ins = sizeof...(Kinds), outs = sizeof...(Outs);
  pack<run_input<Kinds>...> in;
  pack<run_output<Outs>...> out;
  std::int64_t steps[ins + 1];  // of each input: -1, or 0 for one value
  bool chunked = false;         // some operand passes through a buffer

  /// inputs: accesses [0, ins); outputs: accesses [first_out, first_out + outs)
  void begin(kernel::access const* a, std::int64_t const* at, int first_out, int axis) {
    begin(a, at, a + first_out, at + first_out, axis);
  }
  void begin(kernel::access const* a, std::int64_t const* at, kernel::access const* to,
             std::int64_t const* to_at, int axis) {
    chunked = false;
    for_each_index<ins>([&](auto k) {
      get<k>(in).begin(a[k], at[k], a[k].stride[axis]);
      chunked = chunked || get<k>(in).gathered, steps[k] = get<k>(in).steps;
    });
    for_each_index<outs>([&](auto m) {
      get<m>(out).begin(to[m], to_at[m], to[m].stride[axis]);
      chunked = chunked || get<m>(out).scattered();
    });
  }
  /// means: true: move() leads from a run along `axis` to the next one along `along`
  static bool can_move(kernel::access const* a, kernel::access const* to, int axis, int along) {
    bool can = true;
    for_each_index<ins>([&](auto k) {
      bool const side_by_side =
          !at_t<k, type_list<run_input<Kinds>...>>::is_index && a[k].stride[axis] == 1;
      can = can && (side_by_side || a[k].stride[along] == 0);
    });
    for (int m = 0; m < outs; ++m) can = can && to[m].stride[axis] == 1;
    return can;
  }
  /// means: goes to the next run: operand k moves way[k] elements; inputs first
  void move(std::int64_t const* way) {
    for_each_index<ins>([&](auto k) { get<k>(in).data += way[k]; });
    for_each_index<outs>([&](auto m) { get<m>(out).data += way[ins + m]; });
  }
  sources read(std::int64_t i, std::int64_t n) {
    sources p;
    for_each_index<ins>([&](auto k) { get<k>(p) = get<k>(in).at(i, n); });
    return p;
  }
  targets write(std::int64_t i) {
    targets p;
    for_each_index<outs>([&](auto m) { get<m>(p) = get<m>(out).at(i); });
    return p;
  }
  void written(std::int64_t i, std::int64_t n) {
    for_each_index<outs>([&](auto m) { get<m>(out).end(i, n); });
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
