// SPDX-License-Identifier: Apache-2.0
// The exception of a collective that failed.
#pragma once
#include <locus/core/error.hpp>   // error
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus {

/// means: a collective, or making its communicators, failed or did not end in time: the device list
///        in the text has no collectives until rebuild() makes new communicators. If the text says
///        that other communicators replaced them, the collective can run again at once
struct collective_error : error {
  std::string_view operation;  // "all_reduce"
  short bucket = -1;           // of the plan; -1: none
  int replica = -1;            // the first that failed or did not return; -1: all, or unknown
  double seconds = 0;          // time until the failure was seen

  collective_error(message const& text, std::string_view what, short in_bucket, int at,
                   double waited)
      : error(text), operation(what), bucket(in_bucket), replica(at), seconds(waited) {}
};

}  // namespace locus

LOCUS_COLD_END
