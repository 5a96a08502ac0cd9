// SPDX-License-Identifier: Apache-2.0
// A trace as a file: the JSON trace event format, which Perfetto and chrome://tracing open.
#pragma once
#include <unistd.h>  // getpid

#include <locus/core/json.hpp>    // json_text
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>  // text << device
#include <locus/watch/log.hpp>    // path_of_process
#include <locus/watch/trace.hpp>  // tracer

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Writes the events of a tracer; the caller holds the tracer's lock.
class trace_writer {
 public:
  trace_writer(tracer& t, int file) : t_(t), file_(file) {}

  /// means: writes the whole trace; false if a write failed
  [[gnu::cold]] bool run();

 private:
  using event = tracer::event;
  /// by track, then by start, longer events first
  static int compare(void const* a, void const* b);
  void sort();
  /// Moves starts and ends of events so that slices of one track nest. Slices of a host thread nest
  /// already, up to the resolution of the clock; slices of a queue follow each other, up to the
  /// resolution of the GPU's clock.
  void put_apart();

  json_text& begin_event(char const* phase) {
    return out_.open('{').member("ph", phase).member("pid", pid_);
  }
  void put_time(char const* name, std::int64_t nanoseconds) {
    out_.name(name).thousandths(nanoseconds);  // microseconds
  }
  void name_track(trace_track const& t);
  void name_tracks();
  void write_slice(event const& e);
  void write_counter(event const& e);
  void write_note();
  void flush();

  tracer& t_;
  int file_;
  std::int64_t const pid_ = getpid();
  json_text out_;
  bool good_ = true;
};

/// The file of the running trace, and the function that collects its last events.
struct trace_target {
  mutex lock;
  int file = -1;
  decltype(path_of_process({})) path;
  void (*finish_devices)(bool at_exit) = nullptr;
};
LOCUS_SHARED_STATE inline trace_target& the_trace_target() {
  static trace_target* const t = new trace_target;
  return *t;
}

inline void finish_traces_with(void (*finish)(bool at_exit)) {
  __atomic_store_n(&the_trace_target().finish_devices, finish, __ATOMIC_RELEASE);
}

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
