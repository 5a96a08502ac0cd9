// SPDX-License-Identifier: Apache-2.0
// What a collective that failed throws.
#pragma once
#include <locus/core/error.hpp>   // error
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus {

/// means: a collective, or the communicators for it, failed or did not come back in time: the device list of its text
///        cannot be used until its communicators are made anew. Or they were replaced meanwhile: the text says so then,
///        and the collective can run again
struct collective_error : error {
  std::string_view operation;  // "all_reduce"
  short bucket = -1;           // of the plan; -1: none
  int replica = -1;            // that failed first, or did not come back; -1: all, or unknown
  double seconds = 0;          // that were waited

  collective_error(message const& text, std::string_view what, short in_bucket, int at,
                   double waited)
      : error(text), operation(what), bucket(in_bucket), replica(at), seconds(waited) {}
};

}  // namespace locus

LOCUS_COLD_END
