// SPDX-License-Identifier: Apache-2.0
// Scopes with other devices or another configuration: the base of simulated GPUs and of the
// recorder.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_SHARED_STATE, LOCUS_FUNCTION
#include <locus/machine/physical.hpp>  // card_source

namespace locus::testing {

namespace detail {
/// The devices and the configuration from before a scope.
struct saved_devices {
  runtime::card_source source;
  runtime::configuration configured;
  saved_devices* before = nullptr;
};
LOCUS_SHARED_STATE inline constinit saved_devices* saved = nullptr;

/// means: ends the devices of the table; the next use builds those of `source`. table.lock is held
LOCUS_FUNCTION void change_devices(runtime::card_source const& source,
                                   runtime::configuration const& c);
LOCUS_FUNCTION void pop_devices();
/// means: saves the present devices and configuration, and changes to these
/// fails: configuration_error, if a tensor is alive
LOCUS_FUNCTION void push_devices(runtime::card_source const& source,
                                 runtime::configuration const& c);
/// means: the devices of that source, with the present configuration, which may still change
LOCUS_FUNCTION void push_built(runtime::card_source const& source);
}  // namespace detail

/// means: during its lifetime the configuration is the default one and not frozen; then the one
///        from before holds again
/// fails: configuration_error, if a tensor is alive at the beginning
class fresh_configuration {
 public:
  fresh_configuration();
  fresh_configuration(fresh_configuration const&) = delete;
  ~fresh_configuration();

 private:
  /// the settings that a program may change at any time
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
