// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that watch/trace_file.hpp declares.
#pragma once
#include <cerrno>    // program_invocation_short_name
#include <cstdlib>   // qsort
#include <unistd.h>  // getpid

#include <locus/core/clock.hpp>         // read_clock
#include <locus/core/hooks.hpp>         // package_of_program
#include <locus/core/json.hpp>          // json_text
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/core/version.hpp>       // version_text
#include <locus/device/name.hpp>        // text << device
#include <locus/runtime/ranks.hpp>      // this_rank
#include <locus/runtime/write_all.hpp>  // write_all
#include <locus/watch/trace_file.hpp>   // the declarations

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// Writes the events of a tracer; the caller holds the tracer's lock.
class trace_writer {
 public:
  trace_writer(tracer& t, int file) : t_(t), file_(file) {}

  /// means: writes the whole trace; false if a write failed
  bool run() {
    sort();
    put_apart();
    out_.open('{').name("traceEvents").open('[');
    name_tracks();
    for (event& e : t_.events()) {
      if (e.counter)
        write_counter(e);
      else
        write_slice(e);
      if (out_.view().size() > 1u << 16) flush();
    }
    if (t_.dropped() + t_.unknown() > 0) write_note();
    out_.close(']').member("displayTimeUnit", "ns").name("otherData").open('{');
    out_.member("locus", version_text);
    if (package_of_program) out_.member(package_of_program->name, package_of_program->version);
    out_.member("dropped events", static_cast<std::int64_t>(t_.dropped()));
    out_.member("events without a time", static_cast<std::int64_t>(t_.unknown()));
    out_.close('}').close('}').raw("\n");
    flush();
    return good_;
  }

 private:
  using event = tracer::event;
  /// by track, then by start, longer events first
  static int compare(void const* a, void const* b) {
    auto const &x = *static_cast<event const*>(a), &y = *static_cast<event const*>(b);
    auto const order = [](auto p, auto q) { return p < q ? -1 : 1; };
    if (x.counter != y.counter) return order(x.counter, y.counter);
    if (x.track.order() != y.track.order()) return order(x.track.order(), y.track.order());
    if (x.start != y.start) return order(x.start, y.start);
    if (x.duration != y.duration) return order(y.duration, x.duration);
    return x.flow == y.flow ? 0 : order(x.flow, y.flow);
  }

  void sort() {
    if (!t_.events().empty())
      std::qsort(t_.events().begin(), t_.events().size(), sizeof(event), compare);
  }

  /// Moves starts and ends of events so that slices of one track nest. Slices of a host thread nest
  /// already, up to the resolution of the clock; slices of a queue follow each other, up to the
  /// resolution of the GPU's clock.
  void put_apart() {
    dynamic_array<std::int64_t> ends;  // of the slices around this one
    trace_track track{};
    for (event& e : t_.events()) {
      if (e.counter) return;
      if (e.duration < 1) e.duration = 1;
      if (!(e.track == track)) ends.clear();
      track = e.track;
      if (track.what == trace_track::thread) {
        while (!ends.empty() && ends.back() <= e.start) ends.remove(ends.size() - 1);
        if (!ends.empty() && e.start + e.duration > ends.back()) e.duration = ends.back() - e.start;
        ends.push(e.start + e.duration);
      } else {
        if (!ends.empty() && e.start < ends[0]) {
          std::int64_t const end = e.start + e.duration;
          e.start = ends[0];
          e.duration = end > e.start ? end - e.start : 1;
        }
        ends.resize(1);
        ends[0] = e.start + e.duration;
      }
    }
  }

  void name_track(trace_track const& t) {
    text_buffer<80> name;
    switch (t.what) {
    case trace_track::thread:
      name << "host";
      if (t.number > 0) name << ", thread " << t.number + 1;
      break;
    case trace_track::compute: name << t.of << " compute"; break;
    case trace_track::copy: name << t.of << " copy"; break;
    case trace_track::communication: name << t.of << " communication"; break;
    case trace_track::collective: name << t.of << " collectives"; break;
    case trace_track::peer_copy: name << t.of << " with " << t.beside; break;
    case trace_track::peer_communication:
      name << t.of << " with " << t.beside << ", communication";
      break;
    }
    begin_event("M").member("tid", t.order()).member("name", "thread_name").name("args");
    out_.open('{').member("name", name.view()).close('}').close('}');
    begin_event("M").member("tid", t.order()).member("name", "thread_sort_index").name("args");
    out_.open('{').member("sort_index", t.order()).close('}').close('}');
  }

  void name_tracks() {
    begin_event("M").member("name", "process_name").name("args").open('{');
    text_buffer<256> name;
    name << std::string_view(program_invocation_short_name);
    if (this_rank.ranks > 1) name << ", rank " << this_rank.rank;
    out_.member("name", name.view()).close('}').close('}');
    event const* before = nullptr;
    for (event const& e : t_.events()) {
      if (e.counter) break;
      if (!before || !(before->track == e.track)) name_track(e.track);
      before = &e;
    }
  }

  void write_slice(event const& e) {
    std::int64_t const start = e.start - t_.begin();
    begin_event("X").member("tid", e.track.order()).member("name", t_.texts().text(e.name));
    put_time("ts", start), put_time("dur", e.duration);
    out_.name("args").open('{').append(t_.texts().text(e.details)).close('}').close('}');
    if (e.flow == 0) return;
    begin_event(e.flow > 0 ? "s" : "f").member("tid", e.track.order()).member("name", "copy");
    out_.member("cat", "copy").member("id", e.flow > 0 ? e.flow : -e.flow);
    put_time("ts", e.flow > 0 ? start : start + e.duration / 2);
    if (e.flow < 0) out_.member("bp", "e");
    out_.close('}');
  }

  void write_counter(event const& e) {
    text_buffer<40> name;
    begin_event("C").member("name", (name << e.track.of << " memory").view());
    put_time("ts", e.start - t_.begin());
    out_.name("args").open('{').member("bytes", e.duration).close('}').close('}');
  }

  void write_note() {
    message note;
    note << t_.dropped() << " events were dropped (start_trace takes max_events), " << t_.unknown()
         << " had no time";
    begin_event("i").member("tid", host_track().order()).member("name", note.view());
    put_time("ts", read_clock() - t_.begin());
    out_.member("s", "g").close('}');
  }

  void flush() {
    good_ = good_ && write_all(file_, out_.view());
    out_.restart();
  }

  json_text& begin_event(char const* phase) {
    return out_.open('{').member("ph", phase).member("pid", pid_);
  }
  void put_time(char const* name, std::int64_t nanoseconds) {
    out_.name(name).thousandths(nanoseconds);  // microseconds
  }

  tracer& t_;
  int file_;
  std::int64_t const pid_ = getpid();
  json_text out_;
  bool good_ = true;
};

LOCUS_FUNCTION bool write_trace(tracer& t, int file) { return trace_writer(t, file).run(); }

}  // namespace locus::runtime

LOCUS_COLD_END
