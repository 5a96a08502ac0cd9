// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/join_ranks.hpp declares.
#pragma once
#include <locus/collective/rank_queue.hpp>   // end_between_ranks
#include <locus/core/version.hpp>            // version_text
#include <locus/machine/start_watching.hpp>  // trace_has_one_name
#include <locus/run/join_ranks.hpp>          // the declarations
#include <locus/watch/log.hpp>               // log_has_one_name

LOCUS_COLD_BEGIN

namespace locus::internal {

LOCUS_FUNCTION void join_ranks(runtime::rank_carrier const& by, int rank, int ranks) {
  if (runtime::ranks_by) {
    message text;
    throw configuration_error(text << "locus: this process is rank " << runtime::this_rank.rank
                                   << " of " << runtime::this_rank.ranks << " already, joined by "
                                   << runtime::ranks_by->name
                                   << "; a program has one world at a time");
  }
  constexpr int most = 0xffff / max_devices;  // a device list counts replicas in 16 bits
  if (ranks > most) {
    message text;
    throw configuration_error(text << "locus: a program of " << ranks << " ranks; it has at most "
                                   << most << ", of up to " << max_devices
                                   << " replicas each: start fewer ranks with more GPUs");
  }
  runtime::rank_of_files = {rank, ranks};  // files that are opened now have its number
  if (ranks > 1 && (runtime::log_has_one_name() || runtime::trace_has_one_name()))
    throw configuration_error(
        "locus: the log or the trace of this process has begun, and all ranks would write to one "
        "file; make the world first, before devices are used and files are named");
  runtime::this_rank = {rank, ranks, 0, 0};
  try {
    int const replicas = runtime::visible_gpus().size();
    runtime::ranks_by = &by, runtime::over_ranks = &locus::detail::functions_over_ranks;
    begin_in_step();
    text_buffer<24> name;  // ranks of another locus differ in it
    name << "join, locus " << version_text;
    std::int64_t before = 0;
    runtime::this_rank.all_gpus = static_cast<int>(tell_ranks(name.view(), replicas, before));
    runtime::this_rank.gpus_before = static_cast<int>(before);
    tell_cards(config::count_logical_gpus());
  } catch (...) {
    leave_ranks();
    throw;
  }
}

LOCUS_FUNCTION void leave_ranks() {
  end_between_ranks();
  runtime::ranks_by = nullptr, runtime::over_ranks = nullptr;
  runtime::this_rank = {};
  forget_cards();
}

}  // namespace locus::internal

LOCUS_COLD_END
