// SPDX-License-Identifier: Apache-2.0
// The operands of an algorithm, with the device and the number of elements that they share.
#pragma once
#include <locus/core/error.hpp>           // shape_error, placement_error
#include <locus/core/macros.hpp>          // LOCUS_MODE
#include <locus/device/device.hpp>        // device
#include <locus/device/name.hpp>          // text << device
#include <locus/machine/launch_site.hpp>  // touched
#include <locus/shape/shape.hpp>          // shape

namespace locus {

namespace detail {
inline namespace LOCUS_MODE {

/// The device and the number of elements that the operands of an algorithm share.
struct operand_list {
  static constexpr int most = 16;
  device on{};               // none: no operand with memory so far
  std::int64_t n = -1;       // elements of each operand; -1: numbers only
  shape extents = no_shape;  // of the parts of the current operand
  touched memory[most];      // written operands, then read ones
  int count = 0;

  /// means: the elements that an algorithm visits; operands of numbers only count as one element
  std::int64_t size() const { return n < 0 ? 1 : n; }
  /// means: starts the next operand, which has extents of its own
  void begin_operand() { extents = no_shape; }
  void add(device d, void const* first, shape const& own, int bytes, bool writes) {
    if (!on.is_none() && !(on == d)) {
      message text;
      throw placement_error(
          text << "locus: an algorithm runs on one device, and its operands lie on " << on
               << " and " << d << "; bring one over with to<Device>(x)");
    }
    on = d;
    require_extents(own);
    if (count == most)
      throw shape_error(
          "locus: an algorithm has more than 16 operands; evaluate some with eval(e)");
    memory[count++] = {first, static_cast<std::size_t>(own.size() * bytes), writes};
  }
  /// fails: shape_error, if parts of one expression have other extents, or operands other sizes
  void require_extents(shape const& own) {
    if (fits(extents) && extents != own) {
      message text;
      throw shape_error(
          text << "locus: an iterator goes over operands of one shape, and these have " << extents
               << " and " << own << "; evaluate the expression with eval(e)");
    }
    extents = own;
    if (n >= 0 && n != own.size()) {
      message text;
      throw shape_error(text << "locus: operands of an algorithm have " << n << " and "
                             << own.size() << " elements; make them equally large");
    }
    n = own.size();
  }
};

}  // namespace LOCUS_MODE
}  // namespace detail

}  // namespace locus
