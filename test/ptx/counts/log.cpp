// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ptx::counts {

log& log::instance() {
  static log& all = *new log;
  return all;
}
log::log() {
  if (char const* const s = std::getenv("PTX_COUNTS"); s && *s && std::strcmp(s, "0") != 0) {
    on_ = true, at_exit_ = std::strcmp(s, "1") == 0;
    if (!at_exit_ && !(file_ = std::fopen(s, "a")))
      std::fprintf(stderr, "ptx machine: PTX_COUNTS: %s cannot be opened\n", s);
  }
  if (char const* const s = std::getenv("PTX_L1_KILOBYTES"))
    first_cache_bytes_ = std::strtoull(s, nullptr, 0) << 10;
}
std::vector<instruction_facts> const& log::facts(program const& p) {
  std::lock_guard const hold(lock_);
  auto const [at, is_new] = facts_.try_emplace(&p);
  if (is_new) at->second = facts_of(p);
  return at->second;
}
void log::set_label(std::string text) {
  std::lock_guard const hold(lock_);
  label_ = std::move(text);
}
void log::forget() {
  std::lock_guard const hold(lock_);
  sums_.clear();
}
figures& log::sum_of(std::string const& name) {
  for (sum& each : sums_)
    if (each.label == label_ && each.name == name) return each.of;
  return sums_.push_back({label_, name, {}}), sums_.back().of;
}

namespace {
std::string quoted(std::string const& s) {
  std::string q = "\"";
  for (char const c : s) {
    if (c == '"' || c == '\\') q += '\\';
    q += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return q + "\"";
}
void write_json(std::FILE* to, std::string const& label, grid const& g, figures const& f) {
  dimensions const &b = g.blocks, &t = g.threads;
  std::fprintf(to, "{\"label\":%s,\"name\":%s,\"symbol\":%s", quoted(label).c_str(),
               quoted(short_name(g.entry.name)).c_str(), quoted(g.entry.name).c_str());
  std::fprintf(to, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared\":%llu", b.x, b.y, b.z, t.x,
               t.y, t.z, static_cast<unsigned long long>(g.dynamic_shared));
  auto const put = [to](char const* before, char const* name, std::uint64_t v) {
    std::fprintf(to, ",\"%s%s\":%llu", before, name, static_cast<unsigned long long>(v));
  };
  for (std::size_t k = 0; k < figure_count; ++k) put("", figure_names[k], f.of[k]);
  for (std::size_t k = 0; k < kind_count; ++k)
    put("warp_", kind_names[k], f.warps_of[k]), put("thread_", kind_names[k], f.threads_of[k]);
  std::fputs("}\n", to);
  std::fflush(to);
}
}  // namespace

void log::add(grid const& g, figures const& f) {
  std::lock_guard const hold(lock_);
  sum_of(short_name(g.entry.name)) += f;
  if (file_) write_json(file_, label_, g, f);
}
void log::add_others(std::string const& name, std::initializer_list<count> counts) {
  if (!on_) return;
  std::lock_guard const hold(lock_);
  figures& f = sum_of(name);
  for (auto const& [what, n] : counts) f[what] += n;
  if (!file_) return;
  std::fprintf(file_, "{\"label\":%s,\"name\":\"%s\"", quoted(label_).c_str(), name.c_str());
  for (auto const& [what, n] : counts)
    std::fprintf(file_, ",\"%s\":%llu", figure_names[std::size_t(what)],
                 static_cast<unsigned long long>(n));
  std::fputs("}\n", file_);
  std::fflush(file_);
}
void log::add_copy(std::uint64_t bytes) {
  add_others("copy by the host", {{figure::copies, 1}, {figure::copied_bytes, bytes}});
}
void log::add_library(std::string const& name, std::uint64_t bytes, std::uint64_t multiplications) {
  add_others(name, {{figure::library_work, 1},
                    {figure::library_bytes, bytes},
                    {figure::multiplications, multiplications}});
}

double log::value(std::string_view label, std::string_view what) {
  figures f;
  {
    std::lock_guard const hold(lock_);
    for (sum const& each : sums_)
      if (label.empty() || each.label == label) f += each.of;
  }
  if (what == "load_ratio") return f.ratio(figure::load_sectors, figure::load_ideal);
  if (what == "store_ratio") return f.ratio(figure::store_sectors, figure::store_ideal);
  if (what == "conflict_ratio") return f.ratio(figure::shared_wavefronts, figure::shared_ideal);
  if (what == "lanes") return f.ratio(figure::thread_instructions, figure::warp_instructions);
  if (what == "bytes_in_flight") return f.ratio(figure::wait_bytes, figure::waits) / lane_count;
  auto const among = [&](auto const& names, std::string_view name) -> std::ptrdiff_t {
    auto const at = std::find(std::begin(names), std::end(names), name);
    return at == std::end(names) ? -1 : at - std::begin(names);
  };
  if (auto const k = among(figure_names, what); k >= 0) return double(f.of[std::size_t(k)]);
  if (what.substr(0, 5) == "warp_")
    if (auto const k = among(kind_names, what.substr(5)); k >= 0)
      return double(f.warps_of[std::size_t(k)]);
  if (what.substr(0, 7) == "thread_")
    if (auto const k = among(kind_names, what.substr(7)); k >= 0)
      return double(f.threads_of[std::size_t(k)]);
  return -1;
}

std::string log::kernels(std::string_view label) {
  std::lock_guard const hold(lock_);
  std::string all;
  for (sum const& each : sums_)
    if (each.label == label && each.of[figure::launches] > 0)
      all +=
          (all.empty() ? "" : ", ") + each.name + " x " + std::to_string(each.of[figure::launches]);
  return all;
}

void log::say_at_exit() {
  if (!at_exit_ || sums_.empty()) return;
  std::fprintf(stderr, "ptx machine: %-40s %6s %9s %11s %5s | %5s %5s %5s | %5s %6s %6s | %s\n",
               "label kernel", "launch", "threads", "slots", "lanes", "ld/id", "st/id", "bank",
               "16Bld", "B/wait", "diverg", "slots/16B");
  for (sum const& each : sums_) {
    figures const& f = each.of;
    auto const number = [&](figure k) { return static_cast<unsigned long long>(f[k]); };
    double const moved = double(f[figure::load_bytes] + f[figure::store_bytes]) / 16;
    std::fprintf(stderr,
                 "ptx machine: %-40.40s %6llu %9llu %11llu %5.1f | %5.2f %5.2f %5.2f | %4.0f%% "
                 "%6.1f %6llu | "
                 "%.1f\n",
                 (each.label.empty() ? each.name : each.label + " " + each.name).c_str(),
                 number(figure::launches), number(figure::threads), number(figure::issue_slots),
                 f.ratio(figure::thread_instructions, figure::warp_instructions),
                 f.ratio(figure::load_sectors, figure::load_ideal),
                 f.ratio(figure::store_sectors, figure::store_ideal),
                 f.ratio(figure::shared_wavefronts, figure::shared_ideal),
                 100 * f.ratio(figure::load_16, figure::load_requests),
                 f.ratio(figure::wait_bytes, figure::waits) / lane_count, number(figure::divergent),
                 moved > 0 ? double(f[figure::issue_slots]) * lane_count / moved : 0.);
  }
}

}  // namespace ptx::counts
