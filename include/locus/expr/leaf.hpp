// SPDX-License-Identifier: Apache-2.0
// Leaves: tensors and views inside an expression, host scalars, and the index of generators.
#pragma once
#include <locus/core/error.hpp>      // bad_access
#include <locus/core/macros.hpp>     // checked_build
#include <locus/core/type_list.hpp>  // type_list
#include <locus/device/name.hpp>     // message << place
#include <locus/device/open.hpp>     // own_device
#include <locus/device/policy.hpp>   // device_policy
#include <locus/expr/block.hpp>      // block_owner, block_watcher
#include <locus/expr/builder.hpp>    // builder, binder, entry
#include <locus/shape/extents.hpp>   // Extents

namespace locus {

/// The base of Tensor and AnyTensor that a leaf points to.
struct tensor_base {
  block_owner block;
};

// ---- the three ways in which a leaf holds its elements ----

/// an lvalue Tensor: its address, and in checked builds its block at that time
template <bool Checked>
struct borrowed {
  static constexpr bool dense = true;
  tensor_base const* tensor;
  explicit borrowed(tensor_base const& t) : tensor(&t) {}
  tensor_block const* find() const { return tensor->block.get(); }
};
template <>
struct borrowed<true> {
  static constexpr bool dense = true;
  tensor_base const* tensor;
  block_watcher watched;
  explicit borrowed(tensor_base const& t) : tensor(&t), watched(t.block.get()) {}
  tensor_block const* find() const {
    tensor_block const* const had = watched.get();
    if (had && (!watched.elements_live() || had->tensor != tensor)) return nullptr;
    return tensor->block.get();
  }
};

/// a constant Tensor of which a part is read: no part of it is written
template <bool Checked>
struct borrowed_constant : borrowed<Checked> {
  explicit borrowed_constant(borrowed<Checked> const& of) : borrowed<Checked>(of) {}
};

/// an rvalue Tensor: the leaf is one of its owners
struct owned {
  static constexpr bool dense = true;
  block_owner block;
  tensor_block const* find() const { return block.get(); }
};

namespace internal {

/// fails: bad_access, naming the operand
[[noreturn]] inline void refuse_dead_leaf(std::string_view type, shape const& pattern,
                                          place const& where, int number) {
  message text;
  throw bad_access(
      text << "locus: operand #" << number << " of the expression, a Tensor of " << type << pattern
           << " on " << where
           << ", has died, was moved from, resized or swapped; keep it as it is until the "
              "expression ran, or move it into the expression");
}

}  // namespace internal

/// means: the elements of a tensor: a pointer to an lvalue, or an owner of the memory of an rvalue
/// shape: E     device: that of Policy     cost: none
template <class T, class E, device_policy Policy, class Source>
struct Leaf {
  using value_type = T;
  using policy = Policy;
  using lets = type_list<>;
  using entries = type_list<entry<Leaf, T>>;
  static constexpr shape pattern = E::pattern;
  static constexpr int steps = 1, edges = 0;
  Source source;

  static constexpr step describe() {
    step s;
    s.kind = step_kind::leaf, s.name = "leaf", s.type = element_of_v<T>;
    s.element_bytes = sizeof(T), s.where = Policy::value.without_margin(), s.extents = pattern;
    s.margin = Policy::value.margin, s.dense = Source::dense, s.why = reason::leaf;
    return s;
  }
  template <class Lets>
  static constexpr short flatten(builder& b, request) {
    return b.add(describe(), nullptr, 0);
  }
  bool same_as(Leaf const& o) const { return source.find() == o.source.find(); }
  void bind(binder& b) const {
    tensor_block const* const block = source.find();
    if (!block)
      internal::refuse_dead_leaf(row_of(element_of_v<T>).name, pattern, Policy::value, b.at);
    b.set_extents(block->extents);
    b.objects[b.at] = block;
    if constexpr (Policy::value.is_open())
      b.set_devices(Policy::value.devices, block->where.devices, "a tensor");
    int const count =
        Policy::value.is_open() ? block->where.local_count() : Policy::value.local_count();
    for (int r = 0; r < count; ++r) b.values[b.at * b.replicas + r] = block->local(r);
    ++b.at;
  }
};

/// means: elements that the program owns, at their own strides
template <class T, class E, single_device Policy, bool Dense>
struct ViewLeaf {
  using value_type = std::remove_const_t<T>;
  using policy = Policy;
  using lets = type_list<>;
  using entries = type_list<entry<ViewLeaf, value_type>>;
  static constexpr shape pattern = E::pattern;
  static constexpr int steps = 1, edges = 0;
  T* data;
  shape extents;
  std::int64_t strides[max_rank];
  [[no_unique_address]] own_device<Policy> on{};

  static constexpr step describe() {
    step s;
    s.kind = step_kind::leaf, s.name = "view", s.type = element_of_v<value_type>;
    s.element_bytes = sizeof(T), s.where = Policy::value, s.extents = pattern;
    s.dense = Dense, s.whole = false, s.why = reason::leaf;
    return s;
  }
  template <class Lets>
  static constexpr short flatten(builder& b, request) {
    return b.add(describe(), nullptr, 0);
  }
  void bind(binder& b) const {
    b.set_extents(extents);
    b.objects[b.at] = nullptr;
    if constexpr (open_device<Policy>)
      b.set_devices(Policy::value.devices, device_list(on.value), "a view");
    b.values[b.at * b.replicas] = {const_cast<value_type*>(data), extents.extent, strides};
    ++b.at;
  }
};

/// means: one value for all indices     cost: it is part of the kernel's functor
template <class T>
struct Scalar {
  using value_type = T;
  using lets = type_list<>;
  using entries = type_list<entry<Scalar, T>>;
  static constexpr shape pattern{};
  static constexpr int steps = 1, edges = 0;
  T value;

  static constexpr step describe() {
    step s;
    s.kind = step_kind::scalar, s.name = "scalar", s.type = element_of_v<T>;
    s.element_bytes = sizeof(T);
    return s;
  }
  template <class Lets>
  static constexpr short flatten(builder& b, request) {
    return b.add(describe(), nullptr, 0);
  }
  void bind(binder& b) const { b.objects[b.at++] = this; }
};

/// means: r[i] = the offset i in row order, as int64; a generator is a map of this leaf
template <class E>
struct Index {
  using value_type = std::int64_t;
  using lets = type_list<>;
  using entries = type_list<entry<Index, std::int64_t>>;
  static constexpr shape pattern = E::pattern;
  static constexpr int steps = 1, edges = 0;
  E extents;

  template <class Lets>
  static constexpr short flatten(builder& b, request) {
    step s;
    s.kind = step_kind::index, s.name = "index", s.type = element::i64;
    s.element_bytes = sizeof(std::int64_t), s.extents = pattern;
    return b.add(s, nullptr, 0);
  }
  void bind(binder& b) const {
    b.set_extents(extents.as_shape());
    ++b.at;
  }
};

}  // namespace locus
