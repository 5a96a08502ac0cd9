// SPDX-License-Identifier: Apache-2.0
// fork(): the child of a process whose devices are in use cannot use them: contexts of a driver,
// threads and locks do not exist in it.
#pragma once
#include <pthread.h>  // pthread_atfork

#include <locus/core/error.hpp>            // configuration_error
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE
#include <locus/runtime/device_table.hpp>  // table

namespace locus::runtime {

/// means: the parent of this process had devices in use when it forked. Destructors of tensors
///        free only plain host memory; other memory is freed at the end of the process.
inline bool is_forked() { return __atomic_load_n(&table.forked, __ATOMIC_RELAXED); }

/// fails: configuration_error, always
[[noreturn, gnu::cold]] inline void refuse_forked() {
  message text;
  text << "locus: this process was forked after the devices were first used";
  if (table.frozen_by.what) text << " ('" << std::string_view(table.frozen_by.what) << "'";
  if (table.frozen_by.what && table.frozen_by.where.is_set())
    text << " at " << std::string_view(table.frozen_by.where.file) << ":"
         << table.frozen_by.where.line;
  if (table.frozen_by.what) text << ")";
  throw configuration_error(text << "; fork before that, or exec a program in the child");
}

/// means: child processes set table.forked from now on; called once, when the table is made
/// cost:  none for users of devices: a child sees a table that is not started
LOCUS_SHARED_STATE inline void watch_forks() {
  static bool const once = pthread_atfork([] { table.lock.lock(); }, [] { table.lock.unlock(); },
                                          [] {
                                            if (table.started || table.built) {
                                              table.forked = true, table.started = false;
                                            }
                                            table.lock.unlock();
                                          }) == 0;
  static_cast<void>(once);
}

}  // namespace locus::runtime
