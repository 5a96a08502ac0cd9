// SPDX-License-Identifier: Apache-2.0
// A trace as a file: the JSON trace event format, which Perfetto and chrome://tracing open.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/watch/trace.hpp>  // trace_options

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: from now on finish(at_exit) collects the last events of a trace before it is written
LOCUS_FUNCTION void finish_traces_with(void (*finish)(bool at_exit));
/// means: ends the running trace and writes it     fails: bad_file
[[gnu::cold]] LOCUS_FUNCTION void close_trace(bool at_exit = false);
LOCUS_FUNCTION void close_trace_at_end(bool terminating);
/// means: ends the running trace and begins another one     fails: bad_file
[[gnu::cold]] LOCUS_FUNCTION void open_trace(std::string_view path, trace_options const& options);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/watch/bodies/trace_file.hpp>  // bodies of the functions above
#endif
