// SPDX-License-Identifier: Apache-2.0
// The work of a called operation: its object and the tiles of its results and operands.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/core/pack.hpp>       // pack, get
#include <locus/core/type_list.hpp>  // type_list
#include <locus/ops/call.hpp>        // has_element_bodies
#include <locus/work/any_tile.hpp>   // any_tile

namespace locus {
inline namespace LOCUS_MODE {

template <class Op, class Results, class Operands>
struct call_work;
/// The type depends on the operation and element types only: all extents and devices share it.
template <class Op, class... R, class... T>
struct call_work<Op, type_list<R...>, type_list<T...>> {
  static constexpr bool has_element_body = internal::has_element_bodies<Op, T...>;
  static constexpr bool has_card_body = internal::has_card_body<Op, T...>;
  static constexpr bool has_cuda_kernel = has_element_body || has_card_body || Op::rule.by_teams;
  static constexpr int results = sizeof...(R), operands = sizeof...(T);
  static constexpr bool has_host_body =
      requires(Op const& body, call_context const& c, tile<R>... out, tile<T const>... in) {
        body.host(c, out..., in...);
      };
  Op op;
  call_context here;
  kernel::any_tile tiles[results + operands];  // results, then operands

  call_work(Op const& what, call_context const& part) : op(what), here(part) {}

  /// means: runs host() of the operation with its tiles
  void run_host() const
    requires has_host_body
  {
    run_host(each_result{}, each_operand{});
  }
  void on_card(card_context& here_on_card) const {
    run_card(here_on_card, each_result{}, each_operand{});
  }
  /// means: true: a card runs card(); false: a card runs element() or team()
  bool is_for_cards() const {
    if constexpr (requires(tile<T const>... in) { op.is_for_cards(in...); })
      return is_for_cards(each_operand{});
    else
      return true;
  }
  /// means: team() of the operation with its tiles: its body for teams of threads
  constexpr auto team() const { return team(each_result{}, each_operand{}); }
  /// means: this piece has no rows: results with role terms are 0, results with role rows are empty
  constexpr bool has_nothing_to_read() const {
    if constexpr (internal::has_own_cut<Op>) return false;
    bool none = false;
    for (int k = 0; k < operands; ++k)
      none = none || (Op::rule.operands[k] == call_role::rows && tiles[results + k].rank > 0 &&
                      tiles[results + k].extent[0] == 0);
    return none && !Op::rule.results.has(call_role::whole);
  }
  /// units: elements of all stored results together; in place: of one result
  LOCUS_HOST_DEVICE constexpr std::int64_t size() const {
    // a free function: g++ merges equal member functions, and then warns of the wrong one
    return kernel::stored_elements(tiles, results, Op::rule.in_place);
  }
  /// means: writes element i of the results, counted through one result after the other; in place:
  ///        element i of each result
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void write_element(std::int64_t i) const {
    if constexpr (Op::rule.in_place)
      write_all(i, each_result{}, each_operand{});
    else
      write_element(i, each_result{});
  }
  /// means: writes 0 at place i of the results, counted as in write_element
  LOCUS_HOST_DEVICE void write_zero(std::int64_t i) const { write_zero(i, each_result{}); }
  template <class Visit>
  void for_each_pointer(Visit&& visit) {
    for (kernel::any_tile& t : tiles) visit(t.data);
  }

 private:
  using each_result = std::index_sequence_for<R...>;
  using each_operand = std::index_sequence_for<T...>;
  static_assert(
      has_host_body || has_element_body || has_card_body,
      "locus: a called operation has no body for its element types; give it host(context, "
      "results..., operands...), or element<Result>(i, context, own, operands...)");
  static_assert(has_host_body || has_element_body || !has_card_body,
                "locus: a called operation has a body for cards alone; give it host(context, "
                "results..., operands...), which runs on machines without a card and in tests");

  template <std::size_t... Out, std::size_t... In>
  void run_host(std::index_sequence<Out...>, std::index_sequence<In...>) const {
    op.host(here, tiles[Out].template of<R>()..., tiles[results + In].template of<T const>()...);
  }
  template <std::size_t... Out, std::size_t... In>
  void run_card(card_context& card, std::index_sequence<Out...>, std::index_sequence<In...>) const {
    op.card(card, tiles[Out].template of<R>()..., tiles[results + In].template of<T const>()...);
  }
  template <std::size_t... In>
  bool is_for_cards(std::index_sequence<In...>) const {
    return op.is_for_cards(tiles[results + In].template of<T const>()...);
  }
  template <std::size_t... Out, std::size_t... In>
  constexpr auto team(std::index_sequence<Out...>, std::index_sequence<In...>) const {
    return op.team(here, tiles[Out].template of<R>()...,
                   tiles[results + In].template of<T const>()...);
  }
  template <std::size_t... Out>
  LOCUS_HOST_DEVICE void write_zero(std::int64_t i, std::index_sequence<Out...>) const {
    auto in = [&](int r, auto zero) {
      std::int64_t const n = tiles[r].stored();
      if (i >= n) {
        i -= n;
        return false;
      }
      static_cast<decltype(zero)*>(tiles[r].data)[i] = zero;
      return true;
    };
    (void)(in(int(Out), R{}) || ...);
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <std::size_t... Out>
  LOCUS_HOST_DEVICE void write_element(std::int64_t i, std::index_sequence<Out...>) const {
    (void)(write_one<int(Out), R>(i, each_operand{}) || ...);
  }
  /// all values are computed before one is stored: a result may use the memory of an operand
  LOCUS_EXEC_CHECK_DISABLE
  template <std::size_t... Out, std::size_t... In>
  LOCUS_HOST_DEVICE void write_all(std::int64_t i, std::index_sequence<Out...>,
                                   std::index_sequence<In...>) const {
    pack<R...> const made = {{static_cast<R>(op.template element<int(Out)>(
        i, here, tiles[Out].template of<R>(), tiles[results + In].template of<T const>()...))}...};
    ((tiles[Out].data ? (void)(tiles[Out].template of<R>().data[i] = locus::get<Out>(made))
                      : void()),
     ...);
  }
  /// false: element i is in a later result; i becomes its index there
  LOCUS_EXEC_CHECK_DISABLE
  template <int Out, class U, std::size_t... In>
  LOCUS_HOST_DEVICE bool write_one(std::int64_t& i, std::index_sequence<In...>) const {
    std::int64_t const n = tiles[Out].stored();
    if (i >= n) {
      i -= n;
      return false;
    }
    tile<U> const own = tiles[Out].template of<U>();
    own.data[i] = static_cast<U>(
        op.template element<Out>(i, here, own, tiles[results + In].template of<T const>()...));
    return true;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus
