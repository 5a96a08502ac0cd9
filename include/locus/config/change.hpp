// SPDX-License-Identifier: Apache-2.0
// The rule of every setting: its arguments are checked first; a call that changes nothing succeeds
// at any time; a call that changes a setting succeeds until the devices are first used.
#pragma once
#include <locus/backend/devices.hpp>  // close_gpus
#include <locus/watch/log.hpp>        // note_setting
#include <locus/watch/watch.hpp>      // is_watched

namespace locus::config::detail {

/// fails: configuration_error, naming the call and the source line that first used the devices
inline void require_unfrozen(std::string_view subject, std::string_view call) {
  runtime::device_table const& t = runtime::table;
  if (!t.started) return;
  message text;
  text << "locus: " << subject << " cannot be modified after being initialized: the devices are in "
       << "use since '" << std::string_view(t.frozen_by.what) << "'";
  if (t.frozen_by.where.is_set())
    text << " at " << std::string_view(t.frozen_by.where.file) << ":" << t.frozen_by.where.line;
  throw configuration_error(text << "; call config::" << call << " before that");
}

/// means: to = value, if the rule allows it; the caller holds table.lock
template <class T>
void change(T& to, T const& value, std::string_view subject, std::string_view call) {
  if (to == value) return;
  require_unfrozen(subject, call);
  if (runtime::table.built) runtime::close_gpus();  // the first use makes them again
  to = value;
  if (runtime::is_watched(runtime::watcher::log)) runtime::note_setting(call, subject);
}

}  // namespace locus::config::detail
