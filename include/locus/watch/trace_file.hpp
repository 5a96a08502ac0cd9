// SPDX-License-Identifier: Apache-2.0
// A trace as a file: the JSON trace event format, which Perfetto and chrome://tracing open.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/trace.hpp>  // tracer

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: writes the events of a tracer, whose lock the caller holds; false if a write failed
[[gnu::cold]] LOCUS_FUNCTION bool write_trace(tracer& t, int file);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/trace_file.hpp>  // bodies of the functions above
#endif
