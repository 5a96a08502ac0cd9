// SPDX-License-Identifier: Apache-2.0
// The error of an index outside its axis.
#pragma once
#include <locus/core/error.hpp>   // shape_error
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN
#include <locus/shape/shape.hpp>  // shape

LOCUS_COLD_BEGIN

namespace locus::internal {

/// fails: shape_error, always
[[noreturn]] inline void refuse_index(int axis, std::int64_t index, shape const& extents) {
  message text;
  throw shape_error(text << "locus: at<" << axis << ">(x, " << index << ") of extents " << extents
                         << ": the index lies outside axis " << axis
                         << "; -1 is the last one, -2 the one before");
}

}  // namespace locus::internal

LOCUS_COLD_END
