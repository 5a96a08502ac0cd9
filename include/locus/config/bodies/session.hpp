// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/session.hpp declares.
#pragma once
#include <locus/config/change.hpp>             // change
#include <locus/config/session.hpp>            // the declarations
#include <locus/config/settings.hpp>           // set_soft_device_placement
#include <locus/core/is_finite.hpp>            // is_nan
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION
#include <locus/machine/visible_variable.hpp>  // each_entry, small_number
#include <locus/memory/limits.hpp>             // require_limits_fit
#include <locus/watch/log.hpp>                 // set_log_device_placement

namespace locus::config::detail {

LOCUS_FUNCTION runtime::configuration session_reader::read() {
  runtime::configuration c = runtime::configured;
  read_visible();
  read_counts(c);
  read_fraction(c);
  read_virtual(c);
  if (o_.intra_op_parallelism_threads < 0 || o_.inter_op_parallelism_threads < 0)
    refuse("the number of threads is negative", "write 0 for the default");
  c.inter_op_threads = o_.inter_op_parallelism_threads;
  for (int i = 0; i < p_.count; ++i) c.growth.put(i, o_.allow_growth);
  return c;
}

LOCUS_FUNCTION void session_reader::read_visible() {
  std::string_view const list = o_.visible_device_list;
  if (list.empty())
    for (int i = 0; i < p_.count; ++i) cards_.push(i);
  else
    runtime::each_entry(list, [&](std::string_view entry) {
      int const card = runtime::small_number(entry);
      if (card < 0)
        refuse("could not parse entry \"", entry, "\" of visible_device_list \"", list, "\"",
               "write the numbers of cards, separated by commas");
      if (card >= p_.count)
        refuse("visible_device_list \"", list, "\" listed an invalid device id: ", card, ", and ",
               p_.count, " cards are there", "look at config::list_physical_devices");
      for (int other : cards_)
        if (other == card)
          refuse("visible_device_list \"", list, "\" contained a duplicate entry: ", card,
                 "name each card once");
      cards_.push(card);
      return true;
    });
}

LOCUS_FUNCTION void session_reader::read_counts(runtime::configuration& c) {
  for (device_limit const& limit : o_.device_count) {
    std::string_view const type = find_type(limit.type);
    if (type.empty() || limit.count < 0)
      refuse("device_count of \"", limit.type, "\" is ", limit.count,
             "name \"CPU\" or \"GPU\" and a number from 0");
    if (type == "CPU" && limit.count > runtime::max_logical)
      refuse("device_count of \"CPU\" is ", limit.count, ", above ", runtime::max_logical,
             "ask for fewer CPUs");
    if (type == "CPU")
      c.cpus = limit.count > 0 ? limit.count : 1;
    else
      gpus_ = limit.count < gpus_ ? limit.count : gpus_;
  }
  index_list kept;
  for (int card : cards_)
    if (kept.size() < gpus_) kept.push(card);
  cards_ = kept;
  c.visible = {};
  for (int card : cards_) c.visible.put(card, true);
  for (int i = p_.count; i < runtime::max_cards; ++i) c.visible.put(i, true);
}

LOCUS_FUNCTION void session_reader::read_fraction(runtime::configuration& c) {
  double const f = o_.per_process_gpu_memory_fraction;
  if (internal::is_nan(f) || !(f >= 0 && f <= 1))
    refuse("per_process_gpu_memory_fraction is no part of a card",
           "write a number above 0 and at most 1, or 0 for all of it");
  c.memory_fraction = f > 0 ? f : 1;
}

LOCUS_FUNCTION void session_reader::read_virtual(runtime::configuration& c) {
  int const entries = o_.virtual_devices.size(), equal = o_.num_virtual_devices_per_gpu;
  if (equal < 0 || equal > 16)
    refuse("num_virtual_devices_per_gpu is ", equal, "write a number from 1 to 16, or 0");
  if (entries > 0 && o_.per_process_gpu_memory_fraction > 0)
    refuse("it's invalid to set per_process_gpu_memory_fraction when virtual devices have limits",
           "leave one of them out");
  if (entries > 0 && equal > 0)
    refuse("num_virtual_devices_per_gpu and virtual_devices are both set", "leave one of them out");
  if (entries > cards_.size())
    refuse("not enough GPUs to create virtual devices: ", entries, " entries of virtual_devices, ",
           cards_.size(), " visible cards", "write one entry for each visible card");
  if (entries > 0 && entries < cards_.size())
    refuse("the number of visible cards, ", cards_.size(),
           ", doesn't match the number of elements in the virtual_devices list, ", entries,
           "write one entry for each visible card");
  c.divided = {};
  bool in_order = true;
  for (int i = 1; i < cards_.size(); ++i) in_order = in_order && cards_[i - 1] < cards_[i];
  if (entries == 0 && equal <= 1 && in_order) return;
  for (int card = 0; card < p_.count; ++card)
    for (int i = 0; i < cards_.size(); ++i)
      if (cards_[i] == card)
        cut(c, card, i, in_order,
            entries > 0 ? listed(o_.virtual_devices[i], card)
                        : parts(c, card, equal > 0 ? equal : 1));
}

LOCUS_FUNCTION void session_reader::cut(runtime::configuration& c, int card, int position,
                                        bool in_order, options_list const& wanted) {
  require_gpu_options(wanted, make_physical(true, card));
  for (logical_options const& o : wanted) {
    runtime::logical_request r;
    static_cast<logical_options&>(r) = o, r.card = static_cast<short>(card);
    if (!in_order && r.ordinal == r.unset) r.ordinal = position;
    c.divided.push(r);
  }
  runtime::require_limits_fit(c.divided, card, total_of(card));
}

LOCUS_FUNCTION options_list session_reader::parts(runtime::configuration const& c, int card,
                                                  int count) const {
  options_list list;
  logical_options part;
  if (count > 1)
    part.memory_limit =
        static_cast<std::int64_t>(double(total_of(card)) * c.memory_fraction / count) / 256 * 256;
  for (int i = 0; i < count; ++i) list.push(part);
  return list;
}

LOCUS_FUNCTION options_list session_reader::listed(virtual_devices const& v, int card) const {
  int const count = v.memory_limit_mb.size();
  auto require_as_many = [&](int given, std::string_view what) {
    if (given != 0 && given != count)
      refuse("the number of virtual device ", what,
             " specified doesn't match with the number of "
             "memory limits of card ",
             card, ": ", given, " and ", count, "write as many");
  };
  require_as_many(v.priority.size(), "priorities");
  require_as_many(v.device_ordinal.size(), "ordinals");
  options_list list;
  for (int i = 0; i < count; ++i) {
    logical_options o;
    if (v.memory_limit_mb[i] <= 0)
      refuse("memory_limit_mb of card ", card, " is ", v.memory_limit_mb[i],
             "write a positive number");
    o.memory_limit =
        v.memory_limit_mb[i] > (INT64_MAX >> 20) ? INT64_MAX : v.memory_limit_mb[i] * (1 << 20);
    if (!v.priority.empty()) o.priority = v.priority[i];
    if (!v.device_ordinal.empty()) o.ordinal = v.device_ordinal[i];
    list.push(o);
  }
  if (count == 0) list.push({});
  return list;
}

}  // namespace locus::config::detail

namespace locus::config {

LOCUS_FUNCTION void apply(session_options const& options) {
  {
    lock_guard hold(runtime::table.lock);
    runtime::configuration const wanted =
        detail::session_reader(options, runtime::find_physical()).read();
    detail::change(runtime::configured, wanted, "the options of a session", "apply");
  }
  set_soft_device_placement(options.allow_soft_placement);
  debugging::set_log_device_placement(options.log_device_placement);
  set_intra_op_parallelism_threads(options.intra_op_parallelism_threads);
}

}  // namespace locus::config
