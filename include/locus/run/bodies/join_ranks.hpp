// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/join_ranks.hpp declares.
#pragma once
#include <locus/collective/rank_queue.hpp>  // end_between_ranks
#include <locus/core/version.hpp>           // version_text
#include <locus/run/join_ranks.hpp>         // the declarations

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
  runtime::this_rank = {rank, ranks, 0, 0};  // files of a log that begins now have its number
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
