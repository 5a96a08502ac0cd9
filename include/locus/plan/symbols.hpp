// SPDX-License-Identifier: Apache-2.0
// Open extents of a plan, as sets of atoms. Broadcasting is a join: 1 is the bottom, and n joined
// with n is n. So the extent of a step along an axis is a number, or the join of a set of atoms: the open
// extents of leaves and of other steps whose extents a run decides. Two steps with one set have one
// extent, whatever the numbers of the run are, ones included.
#pragma once
#include <bit>      // countr_zero, has_single_bit
#include <cstddef>  // size_t

#include <locus/plan/data.hpp>  // plan_view

namespace locus {

namespace detail {

/// An extent: a number, the join of atoms, or an extent of which nothing is known.
struct symbol {
  std::int64_t number = dyn;  // dyn: open; less: nothing is known, and no other symbol equals it
  std::uint64_t atoms = 0;
  friend constexpr bool operator==(symbol const&, symbol const&) = default;
};

/// 64 atoms in classes: union-find.
struct atom_classes {
  unsigned char up[64]{};
  constexpr atom_classes() {
    for (int a = 0; a < 64; ++a) up[a] = static_cast<unsigned char>(a);
  }
  /// means: the atom that stands for the class of a
  constexpr int of(int a) const {
    while (up[a] != a) a = up[a];
    return a;
  }
  /// means: all atoms of the set are in one class
  constexpr void unite(std::uint64_t set) {
    if (set == 0) return;
    int const first = of(std::countr_zero(set));
    for (set &= set - 1; set; set &= set - 1)
      up[of(std::countr_zero(set))] = static_cast<unsigned char>(first);
  }
  /// means: the set with each atom replaced by that of its class
  constexpr std::uint64_t of_set(std::uint64_t set) const {
    std::uint64_t r = 0;
    for (; set; set &= set - 1) r |= std::uint64_t(1) << of(std::countr_zero(set));
    return r;
  }
};

/// means: the symbols of every step of a plan
/// cost:  while all extents are static: one look at each step, no memory
class symbols {
 public:
  constexpr explicit symbols(plan_view const& p) : p_(p) {
    bool open = false;
    for (step const& s : p.steps) open = open || !s.extents.is_static();
    if (!open) return;
    of_ = new symbol[static_cast<std::size_t>(p.steps.count)][max_rank]{};
    classes_ = new classes;
    for (short i = 0; i < p.steps.count; ++i) find(i);
    for (short i = 0; i < p.steps.count; ++i)
      for (int a = 0; a < p.steps[i].extents.rank; ++a)
        of_[i][a].atoms = classes_->equal.of_set(of_[i][a].atoms);
  }
  constexpr symbols(symbols const&) = delete;
  constexpr ~symbols() { delete[] of_, delete classes_; }

  constexpr bool has_open() const { return of_ != nullptr; }
  /// means: steps i and k have equal extents in every run
  constexpr bool certain(short i, short k) const { return i == k || agree(i, k, false); }
  /// means: their last axes have one extent in every run
  constexpr bool certain_rows(short i, short k) const {
    shape const &a = p_.steps[i].extents, &b = p_.steps[k].extents;
    return a.from_right(0) == b.from_right(0) && (!of_ || from_right(i, 0) == from_right(k, 0));
  }
  /// means: they may well have: some map reads both extents. A run may stretch one of them
  constexpr bool related(short i, short k) const { return i == k || agree(i, k, true); }

 private:
  struct classes {
    atom_classes equal;  // in every run
    atom_classes met;    // in a map
  };

  constexpr bool agree(short i, short k, bool if_met) const {
    shape const &a = p_.steps[i].extents, &b = p_.steps[k].extents;
    if (!(a == b)) return false;
    for (int d = 0; d < a.rank && of_; ++d)
      if (!(of_[i][d] == of_[k][d]) && !(if_met && have_met(of_[i][d], of_[k][d]))) return false;
    return true;
  }
  constexpr bool have_met(symbol const& a, symbol const& b) const {
    return a.atoms && b.atoms &&
           classes_->met.of(std::countr_zero(a.atoms)) ==
               classes_->met.of(std::countr_zero(b.atoms));
  }
  constexpr symbol nothing_known() { return {--last_, 0}; }
  /// means: the symbol of an extent that only the run decides, if it is open
  constexpr symbol fresh(std::int64_t extent) {
    if (extent != dyn) return {extent, 0};
    return atoms_ < 64 ? symbol{dyn, std::uint64_t(1) << atoms_++} : nothing_known();
  }
  /// means: the symbol of a broadcast extent, if it is open: then no operand is a number but 1
  constexpr symbol join(symbol const& a, symbol const& b) {
    if (a == b || b.number == 1) return a;
    if (a.number == 1) return b;
    return a.number == dyn && b.number == dyn ? symbol{dyn, a.atoms | b.atoms} : nothing_known();
  }
  /// means: a run is refused if a and b differ
  constexpr void equate(symbol const& a, symbol const& b) {
    if (!std::has_single_bit(a.atoms) || !std::has_single_bit(b.atoms)) return;
    classes_->equal.unite(a.atoms | b.atoms);
    classes_->met.unite(a.atoms | b.atoms);
  }
  constexpr symbol from_right(short i, int d) const {
    int const rank = p_.steps[i].extents.rank;
    return d < rank ? of_[i][rank - 1 - d] : symbol{1, 0};
  }
  /// means: of_[i][a] from the operands' symbols from the right, at d
  constexpr void broadcast_axis(short i, int a, int d) {
    array_view<edge> const operands = p_.operands(p_.steps[i]);
    std::int64_t const extent = p_.steps[i].extents.extent[a];
    symbol all{1, 0};
    std::uint64_t met = 0;
    for (edge const& e : operands) {
      symbol const one = from_right(e.from, d);
      met |= one.atoms;
      if (extent == dyn) all = join(all, one);
    }
    of_[i][a] = extent == dyn ? all : symbol{extent, 0};
    classes_->met.unite(met);
  }

  /// the rule of each kind: the twin of `inferred` (plan/infer.hpp)
  constexpr void find(short i) {
    step const& s = p_.steps[i];
    int const rank = s.extents.rank;
    symbol* const to = of_[i];
    auto from = [&](int k) { return p_.operands(s)[k].from; };
    auto of = [&](int k) -> symbol const* { return of_[from(k)]; };
    switch (s.kind) {
    case step_kind::leaf:
    case step_kind::scalar:
    case step_kind::index:
    case step_kind::reshape:
    case step_kind::call:
      for (int a = 0; a < rank; ++a) to[a] = fresh(s.extents.extent[a]);
      return;
    case step_kind::map:
      for (int a = 0; a < rank; ++a) broadcast_axis(i, a, rank - 1 - a);
      return;
    case step_kind::reduce:
      for (int a = 0, r = 0; a < p_.steps[from(0)].extents.rank; ++a)
        if (!has_axis(s.axes, a))
          to[r++] = of(0)[a];
        else if (s.keep)
          to[r++] = {1, 0};
      return;
    case step_kind::matmul:
      equate(from_right(from(0), 0), from_right(from(1), 1));
      to[rank - 2] = from_right(from(0), 1), to[rank - 1] = from_right(from(1), 0);
      if (rank == 3) broadcast_axis(i, 0, 2);
      return;
    case step_kind::transpose:
      for (int a = 0; a < rank; ++a) to[a] = of(0)[s.order[a]];
      return;
    case step_kind::expand:
      for (int a = 0; a < rank; ++a)
        to[a] = a == s.axis ? symbol{1, 0} : of(0)[a < s.axis ? a : a - 1];
      return;
    case step_kind::at:
      for (int a = 0; a < rank; ++a) to[a] = of(0)[a < s.axis ? a : a + 1];
      return;
    case step_kind::slice:
      for (int a = 0; a < rank; ++a)
        to[a] = has_axis(s.axes, a) ? fresh(s.extents.extent[a]) : of(0)[a];
      return;
    case step_kind::concatenate:
      for (int a = 0; a < rank; ++a) {
        bool const open = s.extents.extent[a] == dyn;
        to[a] = a == s.axis || !open ? fresh(s.extents.extent[a]) : of(0)[a];
        for (int k = 1; k < s.arity && a != s.axis; ++k) equate(of(0)[a], of(k)[a]);
      }
      return;
    }
  }

  plan_view const& p_;
  symbol (*of_)[max_rank] = nullptr;  // [step][axis]; null: every extent is static
  classes* classes_ = nullptr;
  int atoms_ = 0;
  std::int64_t last_ = dyn;  // of those of which nothing is known
};

}  // namespace detail

}  // namespace locus
