// SPDX-License-Identifier: Apache-2.0
// The options of a TensorFlow 1 session as one struct, for programs that are ported.
#pragma once
#include <locus/config/logical.hpp>  // options_list
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::config {

/// One card as several logical devices: a list for each property, all equally long or empty.
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

/// means: what tf.compat.v1.ConfigProto and GPUOptions say; a field that is left alone is locus'
///        default, so that growth and soft placement are on
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

  /// fails: configuration_error, with what is wrong
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
  /// the logical devices of one card, numbered by its position in the list
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

/// means: all of the options at once, or, when one of them is refused, none
/// fails: configuration_error, naming the option; and for a change after the first use
/// after: tf.compat.v1.ConfigProto. The sum of limits is checked, an order of cards is honoured.
LOCUS_FUNCTION void apply(session_options const& options);

}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/session.hpp>  // bodies of the functions above
#endif
