// SPDX-License-Identifier: Apache-2.0
// print_devices(): a table of the logical devices, and a sentence for each that is missing.
#pragma once
#include <cstdio>  // fwrite

#include <locus/config/listing.hpp>            // lay_out
#include <locus/runtime/growth.hpp>            // forced_growth
#include <locus/runtime/visible_variable.hpp>  // read_visible_variable

namespace locus {

namespace detail {

using table_line = text_buffer<512>;
using line_sink = void (*)(void* to, std::string_view line);

/// means: 0 B, 512 B, 1.5 KiB, 64 MiB; none for a limit that nobody set
inline text_buffer<24> size_text(std::int64_t bytes) {
  text_buffer<24> out;
  if (bytes >= std::int64_t(1) << 60) return out << "none", out;
  constexpr std::string_view units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  int unit = 0;
  std::int64_t tenths = 10 * bytes;
  for (; tenths >= 10240 && unit < 5; ++unit) tenths = (tenths + 512) / 1024;
  out << tenths / 10;
  if (tenths % 10) out << "." << tenths % 10;
  out << units[unit];
  return out;
}

/// means: whether so little of /dev/shm can end in communicators that NCCL cannot make; 0 bytes: unknown
constexpr bool is_scarce_shared_memory(std::int64_t bytes, int cards) {
  return cards > 1 && bytes > 0 && bytes < std::int64_t(cards) * (64 << 20);
}

class device_printer {
 public:
  device_printer(line_sink sink, void* to) : sink_(sink), to_(to) {}

  void print() {
    runtime::device_table& t = runtime::table;
    lock_guard hold(t.lock);
    runtime::physical_devices const& p = runtime::find_physical();
    rule();
    row("device", "what it is", "card", "in use", "peak", "limit", "growth");
    rule();
    for (int i = 0; i < runtime::configured.cpus; ++i)
      device_row(t.built ? t.cpu_devices[i] : idle(cpu(i), runtime::physical_memory()), "the host");
    if (t.built)
      for (int i = 0; i < t.gpus; ++i) gpu_row(t.gpu_devices[i], p);
    else
      requested(p);
    rule();
    remarks(p);
  }

 private:
  static runtime::logical_device idle(device name, std::int64_t limit) {
    runtime::logical_device d;
    d.name = name, d.memory.limit = limit;
    return d;
  }
  void requested(runtime::physical_devices const& p) {
    int i = 0;
    int const forced = runtime::forced_growth();
    for (runtime::logical_request const& r : runtime::lay_out(p, runtime::configured)) {
      runtime::logical_device d = idle(gpu(i++), runtime::detail::limit_of(r, p));
      d.card = r.card,
      d.memory.growth = forced >= 0 ? forced == 1 : runtime::configured.growth.has(r.card);
      gpu_row(d, p);
    }
  }
  void gpu_row(runtime::logical_device const& d, runtime::physical_devices const& p) {
    device_row(d, p.cards[d.card].name);
  }
  void device_row(runtime::logical_device const& d, std::string_view what) {
    text_buffer<40> name, card;
    name << "/device:" << (d.name.is_gpu() ? "GPU:" : "CPU:") << d.name.ordinal();
    if (d.card >= 0) card << int(d.card);
    auto read = [](std::int64_t const& v) { return __atomic_load_n(&v, __ATOMIC_RELAXED); };
    row(name.view(), what, d.card < 0 ? "-" : card.view(), size_text(read(d.memory.in_use)).view(),
        size_text(read(d.memory.peak)).view(), size_text(d.memory.limit).view(),
        !d.name.is_gpu()  ? "-"
        : d.memory.growth ? "on"
                          : "off");
  }
  void remarks(runtime::physical_devices const& p) {
    runtime::device_table const& t = runtime::table;
    int const gpus = t.built ? t.gpus : runtime::lay_out(p, runtime::configured).size();
    if (gpus == 0)
      say("no GPU: ", sentence(t.built       ? t.why_no_gpu
                               : p.count > 0 ? runtime::absence::hidden
                                             : p.why_none));
    for (int i = 0; i < p.count; ++i)
      if (!runtime::configured.visible.has(i)) {
        table_line line;
        put(line << "/physical_device:GPU:" << i << " is hidden by config::set_visible_devices");
      }
    for (int i = gpus; i < runtime::max_logical; ++i) {
      if (!t.built || !t.told[i]) continue;
      table_line line;
      line << "/device:GPU:" << i << " was named and is not there: its steps run on ";
      if (gpus == 0)
        put(line << "the host");
      else
        put(line << "/device:GPU:" << i % gpus << ", in its memory");
    }
    std::int64_t const shm =
        p.how == runtime::backing::cuda ? runtime::gpu_api->shared_memory() : 0;
    if (is_scarce_shared_memory(shm, p.count)) {
      table_line line;
      line << std::string_view("/dev/shm has ") << size_text(shm).view();
      put(line << std::string_view(": NCCL may not begin; start the container with --shm-size=1g"));
    }
    runtime::visible_variable const v = runtime::read_visible_variable();
    if (!v.is_set || !runtime::gpu_api) return;
    table_line line;
    line << std::string_view(v.name) << " is \"" << shown(v.value).view()
         << "\": the driver shows ";
    if (v.listed == 0 || p.count == 0) return put(line << "no card to this process");
    if (v.listed > p.count)
      return put(line << p.count << " of the " << v.listed << " cards that it lists");
    put(line << (v.listed == 1 ? "that card" : "those cards") << " alone"
             << (v.renumbers ? " and numbers them from 0 in that order" : ""));
  }

  void rule() {
    table_line line;
    line << "+";
    for (int width : widths) {
      for (int i = 0; i < width + 2; ++i) line << "-";
      line << "+";
    }
    put(line);
  }
  template <class... Cells>
  void row(Cells... cells) {
    table_line line;
    line << "|";
    int column = 0;
    auto cell = [&](std::string_view s) {
      std::size_t const width = static_cast<std::size_t>(widths[column]);
      bool const right = column >= 2;
      std::string_view const shown = s.substr(0, width);
      auto pad = [&] {
        for (std::size_t i = shown.size(); i < width; ++i) line << " ";
      };
      line << " ";
      if (right) pad();
      line << shown;
      if (!right) pad();
      line << " |";
      ++column;
    };
    (cell(cells), ...);
    put(line);
  }
  void say(std::string_view what, std::string_view why) {
    table_line line;
    put(line << what << why);
  }
  void put(table_line& line) {
    line << "\n";
    sink_(to_, line.view());
  }
  static constexpr int widths[] = {14, 26, 4, 9, 9, 9, 6};
  line_sink sink_;
  void* to_;
};

}  // namespace detail

/// means: a table of the logical devices on a stream, or on the standard output: what stands behind
///        each, memory in use, peak and limit; then what is missing, and why. It may be printed at
///        any time and again and again, and freezes nothing.
/// after: nvidia-smi
template <class Stream>
  requires requires(Stream& s) { s.write("", 0); }
void print_devices(Stream& out) {
  auto const sink = [](void* to, std::string_view line) {
    static_cast<Stream*>(to)->write(line.data(), static_cast<std::ptrdiff_t>(line.size()));
  };
  detail::device_printer(sink, &out).print();
}
inline void print_devices() {
  auto const sink = [](void*, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
  };
  detail::device_printer(sink, nullptr).print();
}

}  // namespace locus
