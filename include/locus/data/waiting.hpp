// SPDX-License-Identifier: Apache-2.0
// How long a program waits for its data: logged once, and shown in the trace.
#pragma once
#include <locus/core/clock.hpp>   // read_clock
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <string_view>            // string_view

namespace locus::data {

/// The time of a pass.
/// units: seconds
struct pass_times {
  double waiting = 0;  // for the next element
  double total = 0;    // from the first call of next() to the end of the pass
  std::int64_t elements = 0;
  double share() const { return total > 0 ? waiting / total : 0; }
};

namespace detail {

LOCUS_COLD_BEGIN

/// Measures one pass at its consumer.
class pass_clock {
 public:
  // a pass of a second or more that waits for a quarter of it is logged
  static constexpr double worth_saying = 1.0, bottleneck = 0.25;

  void begin();
  void end(bool got_one);
  pass_times times() const {
    return {1e-9 * double(waited_), 1e-9 * double(read_clock() - first_), elements_};
  }
  /// the pass has ended
  void close() noexcept;

 private:
  static void show(std::string_view name, std::string_view details, std::int64_t from,
                   std::int64_t to) noexcept;
  static void say(pass_times const& t, int percent) noexcept;
  std::int64_t first_ = -1, asked_ = 0, waited_ = 0, elements_ = 0;
};

LOCUS_COLD_END

}  // namespace detail

}  // namespace locus::data

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/data/bodies/waiting.hpp>  // bodies of the functions above
#endif
