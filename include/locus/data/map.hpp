// SPDX-License-Identifier: Apache-2.0
// Functions of elements: map on several threads, prefetch, and checks of elements.
#pragma once
#include <utility>  // cmp_less

#include <locus/core/is_finite.hpp>    // is_finite, is_nan
#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN
#include <locus/data/field.hpp>        // as_element
#include <locus/data/number_text.hpp>  // number_text
#include <locus/data/workers.hpp>      // workers
#include <locus/runtime/threads.hpp>   // thread_count
#include <locus/shape/element.hpp>     // is_floating_v

LOCUS_LEAN_BEGIN

namespace locus::data {

/// How map calls its function.
struct map_options {
  int threads = 1;  // 1: the reader's thread; 0: the number of loops' threads
};

namespace detail {

template <class F, class Element>
struct map_result;
template <class F, class... Fields>
struct map_result<F, std::tuple<Fields...>> {
  static constexpr bool takes_position = std::is_invocable_v<F const&, position, Fields&&...>;
  static_assert(takes_position || std::is_invocable_v<F const&, Fields&&...>,
                "locus: map's function takes the components of an element (by value or const&), or "
                "a data::position and those; it is called by several threads, so it is no mutable "
                "lambda");
  static auto call(F const& f, std::tuple<Fields...>&& e, [[maybe_unused]] position const& at) {
    return std::apply(
        [&](Fields&... fields) {
          if constexpr (takes_position)
            return f(at, std::move(fields)...);
          else
            return f(std::move(fields)...);
        },
        e);
  }
};

/// f as a function of element and position
template <class F, class Element>
struct mapped {
  using raw = decltype(map_result<F, Element>::call(std::declval<F const&>(),
                                                    std::declval<Element&&>(), position{}));
  static_assert(!std::is_void_v<raw>,
                "locus: map's function returns nothing; return the new element, a tuple of its "
                "components");
  using element = as_element_t<raw>;
  F f;
  element operator()(Element&& e, position const& at) const {
    return element(map_result<F, Element>::call(f, std::move(e), at));
  }
};
/// prefetch: each element as it is
template <class Element>
struct unchanged {
  using element = Element;
  Element operator()(Element&& e, position const&) const { return std::move(e); }
};

template <class Up, class F>
struct map_stage {
  using element = typename F::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = Up::is_batched,
                        is_of_rank = Up::is_of_rank;
  static constexpr int chunk = 8;  // at most so many elements for each pair of locks
  Up up;
  F f;
  int threads;         // 0: the reader's thread calls f
  std::int64_t ahead;  // elements

  /// calls f on the reader's thread, or on threads of the stage
  class cursor {
   public:
    cursor(map_stage const& s, opening const& o) : of_(s), epoch_(o.epoch) {
      if (s.threads > 0) {
        team_.emplace(s.up, s.f, o, s.threads, s.ahead, s.ahead < 2 * chunk ? 1 : chunk);
      } else {
        up_.emplace(s.up, o);
      }
    }
    std::optional<element> next() {
      if (team_) return team_->next();
      if (ended_) return std::nullopt;
      ended_ = true;  // an exception leaves it true
      auto e = up_->at.next();
      if (!e) return std::nullopt;
      position const at{epoch_, number_++};
      std::exception_ptr failure;
      try {
        std::optional<element> out(of_.f(*std::move(e), at));
        ended_ = false;
        return out;
      } catch (...) {
        failure = name_element("map", at);
      }
      std::rethrow_exception(failure);
    }

    /// means: next() would return without waiting for a thread
    bool ready() { return team_ && team_->ready(); }

   private:
    struct inner {
      inner(Up const& up, opening const& o) : at(up.open(o)) {}
      decltype(std::declval<Up const&>().open(opening{})) at;
    };
    map_stage const& of_;
    std::uint64_t epoch_;
    std::int64_t number_ = 0;
    bool ended_ = false;
    std::optional<inner> up_;
    std::optional<workers<Up, F, element>> team_;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const { return up.size(); }
  std::int64_t rows() const { return up.rows(); }
};

/// means: look(element, number) for every element; its exception ends the pass
template <class Up, class Look>
struct demand_stage {
  using element = typename Up::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = Up::is_batched,
                        is_of_rank = Up::is_of_rank;
  Up up;
  Look look;

  struct cursor {
    demand_stage const& of;
    decltype(std::declval<Up const&>().open(opening{})) up;
    std::int64_t number = 0;
    bool ended = false;
    std::optional<element> next() {
      if (ended) return std::nullopt;
      auto e = up.next();
      ended = true;
      if (e) of.look(*e, number++), ended = false;
      return e;
    }
  };
  cursor open(opening const& o) const { return {*this, up.open(o)}; }
  std::int64_t size() const { return up.size(); }
  std::int64_t rows() const { return up.rows(); }
};

[[noreturn, gnu::cold]] inline void refuse_label(std::string_view label, std::int64_t record,
                                                 std::int64_t classes) {
  message text;
  throw shape_error(text << "locus: label " << label << " of record " << record
                         << " is outside [0, " << classes
                         << "); drop the record or name more classes");
}
/// fails: shape_error for a label outside [0, classes)
template <class Label>
void require_label(Label label, std::int64_t record, std::int64_t classes) {
  if constexpr (std::is_integral_v<Label>) {
    if (std::cmp_greater_equal(+label, 0) && std::cmp_less(+label, classes)) return;
  } else if (auto const v = static_cast<double>(label); v >= 0 && v < double(classes))
    return;  // NaN goes on
  refuse_label(locus::internal::number_text(label).view(), record, classes);
}

/// component Which is a label in [0, classes)
template <int Which>
struct labels_below {
  std::int64_t classes;
  template <class Element>
  void operator()(Element const& e, std::int64_t number) const {
    require_label(std::get<Which>(e), number, classes);
  }
};

/// every number of an element is finite
struct finite_fields {
  template <class... F>
  void operator()(std::tuple<F...> const& e, std::int64_t number) const {
    int component = 0;
    std::apply([&](F const&... fields) { (look(fields, number, component++), ...); }, e);
  }

 private:
  template <class X>
  static void look(X const& x, std::int64_t number, int component) {
    if constexpr (field<X>::exists)
      if constexpr (is_floating_v<typename field<X>::value_type>) {
        using wide = std::conditional_t<sizeof(typename field<X>::value_type) < 4, float,
                                        typename field<X>::value_type>;
        std::int64_t const n = field<X>::extents(x).as_shape().size();
        auto const* const p = field<X>::data(x);
        for (std::int64_t i = 0; i < n; ++i)
          if (auto const v = static_cast<wide>(p[i]); !internal::is_finite(v))
            refuse(double(v), i, number, component);
      }
  }
  [[noreturn, gnu::cold]] static void refuse(double v, std::int64_t i, std::int64_t number,
                                             int component) {
    message text;
    throw shape_error(text << "locus: element " << i << " of component " << component
                           << " of record " << number << " is "
                           << (internal::is_nan(v) ? "NaN" : "infinite")
                           << "; drop the record, or map it to numbers");
  }
};

}  // namespace detail

}  // namespace locus::data

LOCUS_LEAN_END
