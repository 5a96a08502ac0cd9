// SPDX-License-Identifier: Apache-2.0
// The options of a TensorFlow 1 session as one struct, for programs ported from TensorFlow 1.
#pragma once
#include <locus/config/logical.hpp>  // options_list
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::config {

/// Divides one card into logical devices: a list for each property, all of one length or empty.
/// units: memory_limit_mb: MiB
/// after: GPUOptions.Experimental.VirtualDevices
struct virtual_devices {
  value_list<std::int64_t, 16> memory_limit_mb = {};
  value_list<int, 16> priority = {}, device_ordinal = {};
};
/// after: ConfigProto.device_count
struct device_limit {
  std::string_view type;
  int count = 0;
};

/// means: the fields of tf.compat.v1.ConfigProto and GPUOptions; a field that is not set has locus'
///        default, so growth and soft placement are on
struct session_options {
  std::string_view visible_device_list = {};   // "1,0": the cards, in this order; "": all
  double per_process_gpu_memory_fraction = 0;  // 0: all of a card
  bool allow_growth = true;
  bool allow_soft_placement = true;
  bool log_device_placement = false;
  int intra_op_parallelism_threads = 0, inter_op_parallelism_threads = 0;
  value_list<device_limit, 4> device_count = {};  // {{"GPU", 1}}: the first card alone
  value_list<config::virtual_devices, 16> virtual_devices = {};  // one for each visible card
  int num_virtual_devices_per_gpu = 0;                           // equal parts; 0: one
};

namespace detail {

class session_reader {
 public:
  session_reader(session_options const& o, runtime::physical_devices const& p) : o_(o), p_(p) {}

  /// fails: configuration_error, naming the wrong option
  runtime::configuration read();

 private:
  template <class... Parts>
  [[noreturn]] static void refuse(Parts const&... parts) {
    message text;
    text << "locus: ";
    int left = sizeof...(Parts);
    ((text << (--left == 0 ? "; " : "") << parts), ...);
    throw configuration_error(text);
  }
  void read_visible();
  void read_counts(runtime::configuration& c);
  void read_fraction(runtime::configuration& c);
  void read_virtual(runtime::configuration& c);
  /// divides one card into logical devices; `position` is its index in the visible list
  void cut(runtime::configuration& c, int card, int position, bool in_order,
           options_list const& wanted);
  std::int64_t total_of(int card) const {
    return static_cast<std::int64_t>(p_.cards[card].total_bytes);
  }
  options_list parts(runtime::configuration const& c, int card, int count) const;
  options_list listed(virtual_devices const& v, int card) const;

  session_options const& o_;
  runtime::physical_devices const& p_;
  index_list cards_;  // visible, in the order of the list
  int gpus_ = runtime::max_cards;
};

}  // namespace detail

/// means: applies all options, or none when one of them is refused
/// fails: configuration_error, naming the option; also for a change after the first use
/// after: tf.compat.v1.ConfigProto. The sum of the limits is checked; the order in
///        visible_device_list is kept.
LOCUS_FUNCTION void apply(session_options const& options);

}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/session.hpp>  // bodies of the functions above
#endif
