// SPDX-License-Identifier: Apache-2.0
// Data of a launch and of a copy: their device and queue, and the memory that they access.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>           // always_false
#include <locus/core/text.hpp>             // text_buffer
#include <locus/runtime/device_table.hpp>  // logical_device, stamp, step_record

namespace locus {

using runtime::logical_device;
using runtime::queue_kind;
using runtime::stamp;
using runtime::step_record;

/// A range of bytes that a piece of work reads or writes, from its first element to the end of its
/// last.
struct touched {
  void const* first = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
};

/// The names of the kernels of one launch of a plan, each once.
struct kernel_list {
  static constexpr int most = 8;
  std::string_view names[most];
  int count = 0;
  bool has_others = false;  // names that did not fit
  void add(std::string_view name) {
    for (int k = 0; k < count; ++k)
      if (names[k] == name) return;
    if (count < most)
      names[count++] = name;
    else
      has_others = true;
  }
};
template <std::size_t N>
text_buffer<N>& operator<<(text_buffer<N>& out, kernel_list const& kernels) {
  for (int k = 0; k < kernels.count; ++k) out << (k ? " + " : "") << kernels.names[k];
  return out << (kernels.has_others ? " + others" : "");
}

/// Device memory besides the operands, used by one kernel after another. While `measuring`, no
/// kernel is launched: `most` becomes the largest number of bytes that a launch needs, and
/// `kernels` collects the names of the kernels.
struct kernel_workspace {
  logical_device* on = nullptr;
  char* base = nullptr;
  std::int64_t bytes = 0, used = 0, most = 0;
  bool measuring = true;
  kernel_list* kernels = nullptr;
};

/// The device, the plan step and the operands of one launch.
struct launch_site {
  logical_device* on = nullptr;
  step_record record{};
  touched const* operands = nullptr;
  int operand_count = 0;
  kernel_workspace* workspace = nullptr;  // null: the kernel allocates its own
  bool tf32 = false;                      // float products use TF32: 10 bits of fraction

  /// means: true while the workspace is measured: the caller must not launch, and the kernel's name
  ///        is noted
  bool only_measures(std::string_view kernel) const {
    if (!workspace || !workspace->measuring) return false;
    if (workspace->kernels) workspace->kernels->add(kernel);
    return true;
  }
};

/// One copy, issued to a queue of one of its two devices, the carrier.
struct copy_job {
  logical_device* carrier = nullptr;
  queue_kind queue = queue_kind::copy;
  logical_device* to = nullptr;
  void* target = nullptr;
  logical_device* from = nullptr;
  void const* source = nullptr;
  std::size_t bytes = 0;
  step_record record{};
  bool pinned = false;  // a host source stays unchanged until the copy has run
};

}  // namespace locus
