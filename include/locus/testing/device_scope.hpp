// SPDX-License-Identifier: Apache-2.0
// Other devices, or another configuration, for a while: what simulated GPUs and the recorder share.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_SHARED_STATE, LOCUS_FUNCTION
#include <locus/machine/physical.hpp>  // card_source

namespace locus::testing {

namespace detail {
/// What was before a scope.
struct saved_devices {
  runtime::card_source source;
  runtime::configuration configured;
  saved_devices* before = nullptr;
};
LOCUS_SHARED_STATE inline constinit saved_devices* saved = nullptr;

/// means: the devices that are there end, others may come; table.lock is held
LOCUS_FUNCTION void change_devices(runtime::card_source const& source,
                                   runtime::configuration const& c);
LOCUS_FUNCTION void pop_devices();
/// fails: configuration_error, while a tensor is alive
LOCUS_FUNCTION void push_devices(runtime::card_source const& source,
                                 runtime::configuration const& c);
/// means: the devices of that source, with what is configured; the configuration may still change
LOCUS_FUNCTION void push_built(runtime::card_source const& source);
}  // namespace detail

/// means: while it lives nothing is configured and nothing frozen; then what was configured before
/// fails: configuration_error, while a tensor is alive
class fresh_configuration {
 public:
  fresh_configuration();
  fresh_configuration(fresh_configuration const&) = delete;
  ~fresh_configuration();

 private:
  /// what may be set at any time
  struct settings {
    bool soft = true;
    copy_policy copies = copy_policy::silent;
    int intra_op = 0, inter_op = 0;
  };
  static settings read();
  static void write(settings const& s);
  settings before_;
};

}  // namespace locus::testing

#if LOCUS_HAS_BODIES
#include <locus/testing/bodies/device_scope.hpp>  // bodies of the functions above
#endif
