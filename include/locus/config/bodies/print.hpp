// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/print.hpp declares.
#pragma once
#include <cstdio>  // fwrite

#include <locus/backend/gpus.hpp>              // limit_of
#include <locus/config/print.hpp>              // the declarations
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION
#include <locus/machine/visible_variable.hpp>  // read_visible_variable
#include <locus/memory/growth.hpp>             // forced_growth

namespace locus::detail {

LOCUS_FUNCTION text_buffer<24> size_text(std::int64_t bytes) {
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

LOCUS_FUNCTION void device_printer::print() {
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

LOCUS_FUNCTION runtime::logical_device device_printer::idle(device name, std::int64_t limit) {
  runtime::logical_device d;
  d.name = name, d.memory.limit = limit;
  return d;
}

LOCUS_FUNCTION void device_printer::requested(runtime::physical_devices const& p) {
  int i = 0;
  int const forced = runtime::forced_growth();
  for (runtime::logical_request const& r : runtime::lay_out(p, runtime::configured)) {
    runtime::logical_device d = idle(gpu(i++), runtime::limit_of(r, p));
    d.card = r.card,
    d.memory.growth = forced >= 0 ? forced == 1 : runtime::configured.growth.has(r.card);
    gpu_row(d, p);
  }
}

LOCUS_FUNCTION void device_printer::device_row(runtime::logical_device const& d,
                                               std::string_view what) {
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

LOCUS_FUNCTION void device_printer::remarks(runtime::physical_devices const& p) {
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
  std::int64_t const shm = p.has_cards() ? runtime::gpu_api->shared_memory() : 0;
  if (is_scarce_shared_memory(shm, p.count)) {
    table_line line;
    line << std::string_view("/dev/shm has ") << size_text(shm).view();
    put(line << std::string_view(": NCCL may not begin; start the container with --shm-size=1g"));
  }
  runtime::visible_variable const v = runtime::read_visible_variable();
  if (!v.is_set || !runtime::gpu_api) return;
  table_line line;
  line << std::string_view(v.name) << " is \"" << shown(v.value).view() << "\": the driver shows ";
  if (v.listed == 0 || p.count == 0) return put(line << "no card to this process");
  if (v.listed > p.count)
    return put(line << p.count << " of the " << v.listed << " cards that it lists");
  put(line << (v.listed == 1 ? "that card" : "those cards") << " alone"
           << (v.renumbers ? " and numbers them from 0 in that order" : ""));
}

LOCUS_FUNCTION void device_printer::rule() {
  table_line line;
  line << "+";
  for (int width : widths) {
    for (int i = 0; i < width + 2; ++i) line << "-";
    line << "+";
  }
  put(line);
}

LOCUS_FUNCTION void device_printer::say(std::string_view what, std::string_view why) {
  table_line line;
  put(line << what << why);
}

LOCUS_FUNCTION void device_printer::put(table_line& line) {
  line << "\n";
  sink_(to_, line.view());
}

}  // namespace locus::detail

namespace locus {

LOCUS_FUNCTION void print_devices() {
  auto const sink = [](void*, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
  };
  detail::device_printer(sink, nullptr).print();
}

}  // namespace locus
