// SPDX-License-Identifier: Apache-2.0
// print_devices(): a table of the logical devices, and a sentence for each device that is missing.
#pragma once

#include <locus/config/listing.hpp>  // logical_device
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus {

namespace detail {

using table_line = text_buffer<512>;
using line_sink = void (*)(void* to, std::string_view line);

/// means: 0 B, 512 B, 1.5 KiB, 64 MiB; none: no limit
LOCUS_FUNCTION text_buffer<24> size_text(std::int64_t bytes);

/// means: /dev/shm is so small that NCCL may fail to make communicators; 0 bytes: size unknown
constexpr bool is_scarce_shared_memory(std::int64_t bytes, int cards) {
  return cards > 1 && bytes > 0 && bytes < std::int64_t(cards) * (64 << 20);
}

class device_printer {
 public:
  device_printer(line_sink sink, void* to) : sink_(sink), to_(to) {}

  void print();

 private:
  static runtime::logical_device idle(device name, std::int64_t limit);
  void requested(runtime::physical_devices const& p);
  void gpu_row(runtime::logical_device const& d, runtime::physical_devices const& p) {
    device_row(d, p.cards[d.card].name);
  }
  void device_row(runtime::logical_device const& d, std::string_view what);
  void remarks(runtime::physical_devices const& p);

  void rule();
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
  void say(std::string_view what, std::string_view why);
  void put(table_line& line);
  static constexpr int widths[] = {14, 26, 4, 9, 9, 9, 6};
  line_sink sink_;
  void* to_;
};

}  // namespace detail

/// means: writes a table of the logical devices to a stream, or to standard output: the physical
///        device, memory in use, peak and limit of each; then the devices that are missing, and
///        why. It may be called at any time and many times, and freezes no setting.
/// after: nvidia-smi
template <class Stream>
  requires requires(Stream& s) { s.write("", 0); }
void print_devices(Stream& out) {
  auto const sink = [](void* to, std::string_view line) {
    static_cast<Stream*>(to)->write(line.data(), static_cast<std::ptrdiff_t>(line.size()));
  };
  detail::device_printer(sink, &out).print();
}
LOCUS_FUNCTION void print_devices();

}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/print.hpp>  // bodies of the functions above
#endif
