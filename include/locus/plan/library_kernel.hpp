// SPDX-License-Identifier: Apache-2.0
// Which library makes the kernel of a launch on GPUs, as far as types and extents decide it. The
// launches decide it by the same rules, and know addresses too (engine/gpu/map.hpp,
// engine/gpu/whole_fold.hpp).
#pragma once
#include <locus/core/macros.hpp>      // LOCUS_LEAN_BEGIN
#include <locus/plan/data.hpp>        // plan_view
#include <locus/plan/show/facts.hpp>  // piece_bytes

LOCUS_LEAN_BEGIN

namespace locus {

/// The library function that makes the kernel of a launch.
struct library_kernel {
  std::string_view name{};  // empty: a kernel of locus
  bool is_certain = true;   // false: only if operands are dense and aligned
  int folds = 0;            // in one pass; 0: it stores elements
};

/// the largest number of block totals that cub::DeviceReduce keeps: five times the blocks that fit
/// on a card; no card has more than 256 processors with 16 blocks each
inline constexpr std::int64_t most_cub_totals = std::int64_t(5) * 256 * 16;

/// elements; with fewer, a second launch for the rest after the whole vectors costs more than it
/// saves
inline constexpr std::int64_t worth_two_launches = std::int64_t(1) << 17;

/// means: the elements of a vector of 16 bytes, if the widest array has elements of that many bytes
constexpr int elements_of_vector(std::size_t widest) {
  bool const power_of_two = (widest & (widest - 1)) == 0;
  return power_of_two && widest <= 16 ? static_cast<int>(16 / widest) : 1;
}
/// means: CUB makes a map of whole vectors: no rest is left, or there are enough elements for two
///        launches
constexpr bool is_worth_vectors(std::int64_t size, int vector) {
  return size % vector == 0 || size >= worth_two_launches;
}

namespace detail {

/// The operands of one launch, classified by the known facts about their memory.
class launch_operands {
 public:
  constexpr launch_operands(plan_view const& p, short root, shape const* extents)
      : p_(p), extents_(extents), root_(root), space_(root) {
    for (short i = 0; i <= root; ++i) {
      step const& s = p.steps[i];
      if (s.region != root || p.levels[i] != level::fold) continue;
      edge const& folded = p.operand(s, 0);
      if (folds_ == 0) space_ = folded.from, folded_ = place_of(folded), axes_ = s.axes;
      ++folds_;
      adds_floats_ = adds_floats_ || (s.combines == reduction::sum && is_float(s.type));
    }
    for (short i = 0; i <= root; ++i) {
      step const& s = p.steps[i];
      if (s.region != root) continue;
      for (edge const& e : p.operands(s)) see(e, level_read_by(p, i));
      if (!s.stored || p.levels[i] != level::element) continue;
      stores_elements_ = true;
      widen(s);
    }
  }
  constexpr library_kernel find(bool reproducible) const {
    return folds_ > 0 ? of_fold(reproducible) : of_map();
  }

 private:
  constexpr library_kernel of_map() const {
    if (elsewhere_ || row_ > 0 || (memory_ && indices_)) return {};
    std::string_view const name = memory_ ? "cub::DeviceTransform" : "cub::DeviceFor";
    shape const& all = extents_[space_];
    place const& where = p_.steps[root_].where;
    if (open_ || unsized_ || !all.is_static() || (where.is_sharded() && where.is_open()))
      return {name, false};
    int const vector = elements_of_vector(widest_);
    if (!where.is_sharded())
      return is_worth_vectors(all.size(), vector) ? library_kernel{name} : library_kernel{};
    int own = 0;  // pieces with a kernel of locus
    for (int k = 0; k < where.local_count(); ++k)
      own += !is_worth_vectors(piece_bytes(all, 1, where, k), vector);
    if (own == where.local_count()) return {};
    return {name, own == 0 && (!indices_ || has_numbers_in_vectors(all, where, vector))};
  }
  constexpr library_kernel of_fold(bool reproducible) const {
    shape const& all = extents_[space_];
    bool const whole = axes_ != 0 && axes_ == all_axes(all.rank);
    if (!whole || chained_ || stores_elements_ || elsewhere_) return {};
    if (reproducible && adds_floats_) return {};
    if (row_ % elements_of_vector(widest_) != 0) return {};
    bool const cuts_lines =
        (indices_ || row_ > 0) && folded_.is_sharded() && !is_cut_in_front(all, folded_);
    return {"cub::DeviceReduce", !open_ && !(unsized_ && several_) && !cuts_lines, folds_};
  }
  /// means: a piece is a contiguous range of elements in row order
  static constexpr bool is_cut_in_front(shape const& all, place const& where) {
    for (int a = 0; a < where.axis; ++a)
      if (all.extent[a] != 1) return false;
    return true;
  }
  /// means: each piece is contiguous and begins at a multiple of a vector
  static constexpr bool has_numbers_in_vectors(shape const& all, place const& where, int vector) {
    if (!is_cut_in_front(all, where)) return false;
    std::int64_t first = 0;
    for (int k = 0; k < where.local_count(); ++k) {
      if (first % vector != 0) return false;
      first += piece_bytes(all, 1, where, k);
    }
    return true;
  }
  static constexpr bool is_float(element t) {
    return t == element::f16 || t == element::bf16 || t == element::f32 || t == element::f64;
  }
  constexpr bool is_cut() const {
    place const& where = p_.steps[root_].where;
    return where.is_sharded() || where.is_partial();
  }
  constexpr void widen(step const& s) {
    if (s.element_bytes > widest_) widest_ = s.element_bytes;
  }
  constexpr void see(edge const& e, level at) {
    step const& o = p_.steps[e.from];
    bool const inside = o.region == root_ && e.by < 0;
    if (inside && at == level::element && p_.levels[e.from] == level::fold) chained_ = true;
    if (inside || o.kind == step_kind::scalar || at == level::row) return;
    bool const is_index = o.kind == step_kind::index;
    (is_index ? indices_ : memory_) = true;
    if (!is_index) widen(o);
    shape const &own = extents_[e.from], &all = extents_[space_];
    several_ = several_ || (only_.from >= 0 && !(only_ == e));
    only_ = e;
    if (!is_index && !is_whole(e))
      open_ = true;
    else if (!own.is_static() || !all.is_static())
      unsized_ = true;
    else if (own.size() != all.size())
      see_repeated(own, all);
  }
  /// an operand that is broadcast: if folds read it, it may be a row of the last axes, the same for
  /// all outer indices
  constexpr void see_repeated(shape const& own, shape const& all) {
    std::int64_t n = 1;
    for (int i = 0; i < all.rank && own.from_right(i) == all.from_right(i); ++i)
      n *= own.from_right(i);
    bool const is_row = n > 1 && n == own.size() && (row_ == 0 || row_ == n);
    if (is_row)
      row_ = n;
    else
      elsewhere_ = true;
  }
  constexpr place const& place_of(edge const& e) const {
    return e.by >= 0 ? p_.transfers[e.by].arrives : p_.steps[e.from].where;
  }
  /// means: an array without gaps that begins at a multiple of 16 bytes; false where only the run
  ///        knows
  constexpr bool is_whole(edge const& e) const {
    if (is_cut() && !place_of(e).is_sharded()) return false;  // a piece of a whole operand
    if (e.by >= 0) return p_.transfers[e.by].how != transfer_kind::slice;
    for (short i = e.from;;) {
      step const& s = p_.steps[i];
      if (!s.is_view() || s.region >= 0) return s.kind != step_kind::leaf || (s.dense && s.whole);
      if (s.kind != step_kind::reshape && s.kind != step_kind::expand) return false;
      i = p_.operands(s)[0].from;
    }
  }

  plan_view const& p_;
  shape const* extents_;
  short root_, space_;  // space: the step that has the extents of the launch
  place folded_{};      // the place of the elements that a fold reads
  axis_set axes_ = 0;
  std::size_t widest_ = 1;
  std::int64_t row_ = 0;  // elements of the operands that are rows
  edge only_{};           // the last operand seen; the only one unless several_
  int folds_ = 0;
  bool chained_ = false, stores_elements_ = false, adds_floats_ = false;
  // kinds of operands: in memory, indices, not surely dense and aligned, broadcast in another way
  bool memory_ = false, indices_ = false, open_ = false, elsewhere_ = false;
  bool several_ = false,
       unsized_ = false;  // different operands; extents that are known when it runs
};

}  // namespace detail

/// means: the library of the launch of step `root` on GPUs, with the default engine
constexpr library_kernel library_kernel_of(plan_view const& p, short root, shape const* extents,
                                           bool reproducible) {
  step const& s = p.steps[root];
  if (s.kind == step_kind::matmul) return {"cuBLAS"};
  if (s.kind == step_kind::call || s.kind == step_kind::concatenate || s.is_view()) return {};
  for (short i = 0; i < root; ++i)
    if (p.steps[i].region == root && p.steps[i].kind == step_kind::matmul)
      return is_product_with_row(p, i) ? library_kernel{"cuBLASLt", false} : library_kernel{};
  return detail::launch_operands(p, root, extents).find(reproducible);
}

}  // namespace locus

LOCUS_LEAN_END
