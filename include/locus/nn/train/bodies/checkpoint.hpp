// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that nn/train/checkpoint.hpp declares.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_FUNCTION
#include <locus/nn/train/checkpoint.hpp>    // the declarations
#include <locus/tensor/check_mirrored.hpp>  // require_equal_copies
#include <locus/tensor/ranks.hpp>           // on_first

namespace locus::nn::detail {

LOCUS_FUNCTION data::npy_type npy_type_of(element e) {
  element_row const& row = row_of(e);
  char const kind = e == element::bf16                   ? 'u'
                    : e == element::b8                   ? 'b'
                    : row.name[0] == 'u'                 ? 'u'
                    : row.kind == element_kind::floating ? 'f'
                    : row.kind == element_kind::complex  ? 'c'
                                                         : 'i';
  return {kind, row.bytes};
}

LOCUS_FUNCTION void add_stored(data::npz_writer& file, std::string_view group, stored const& s) {
  if (checked_build && s.block->where.is_mirrored())
    locus::internal::require_equal_copies(*s.block);  // replicas that differ have no single value
  data::byte_block host(static_cast<std::size_t>(s.bytes()));
  read_values(s, host.data.get());
  file.add(joined(group, s.name), npy_type_of(s.type()), s.extents, host.data.get());
}

LOCUS_FUNCTION void differences::require_none(std::string_view path, std::string_view what) {
  if (count_ == 0) return;
  message text;
  text << "locus: " << shown(path).view() << " is of another " << what << ": " << text_.view();
  if (count_ > 4) text << "; and " << count_ - 4 << " more";
  throw bad_file(text << ". Load it into the model that saved it, or give another path");
}

LOCUS_FUNCTION void match(data::npz_file const& file, std::string_view group,
                          std::vector<stored> const& wanted, std::vector<pending>& out,
                          differences& d) {
  for (stored const& s : wanted) {
    std::string const name = joined(group, s.name);
    if (!file.contains(name)) {
      d.add(s.name, "the file has none");
      continue;
    }
    data::npy_array a = file.array(name);
    message there, here;
    auto const type = npy_type_of(s.type());
    there << a.type.text() << a.extents_text();
    shape const& e = s.extents;
    here << type.text() << "(";
    for (int k = 0; k < e.rank; ++k) here << (k ? "," : "") << e.extent[k];
    here << ")";
    if (!(there == here.view())) {
      message what;
      what << there.view() << " in the file, " << here.view() << " in the model";
      d.add(s.name, what.view());
    } else
      out.push_back({&s, std::move(a)});
  }
  for (std::string const& name : file.names()) {
    if (!std::string_view(name).starts_with(group)) continue;
    bool known = false;
    for (stored const& s : wanted) known = known || joined(group, s.name) == name;
    if (!known) d.add(std::string_view(name).substr(group.size()), "only in the file");
  }
}

LOCUS_FUNCTION bool has_group(data::npz_file const& file, std::string_view group) {
  for (std::string const& name : file.names())
    if (std::string_view(name).starts_with(group)) return true;
  return false;
}

LOCUS_FUNCTION void write_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                     std::vector<stored> const& optimizer,
                                     std::vector<counter> const& counters, position const& at,
                                     std::vector<setting> const& settings) {
  data::npz_writer file(path);
  file.add(version_name, checkpoint_version);
  for (stored const& s : weights) add_stored(file, weight_group, s);
  for (stored const& s : optimizer) add_stored(file, optimizer_group, s);
  for (counter const& c : counters) file.add(joined(counter_group, c.name), *c.value);
  for (setting const& s : settings) file.add(joined(setting_group, s.name), *s.value);
  for (auto const& row : position_rows) file.add(joined(position_group, row.name), at.*row.value);
  file.save();
}

LOCUS_FUNCTION position read_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                        std::vector<stored> const& optimizer,
                                        std::vector<counter> const& counters, load what,
                                        std::vector<setting> const& settings) {
  data::npz_file const file(path);
  auto refuse = [&](std::string_view found, std::string_view remedy) {
    message text;
    throw bad_file(text << "locus: " << shown(path).view() << ": " << found << "; " << remedy);
  };
  if (!file.contains(version_name))
    refuse("it is no checkpoint of locus", "read arrays of other programs with import_weights");
  std::int64_t const version = read_number(file, version_name);
  if (version != checkpoint_version) {
    message found;
    found << "it is a checkpoint of version " << version << ", this locus reads version "
          << checkpoint_version;
    refuse(found.view(), "read it with the locus that wrote it");
  }
  std::vector<pending> all;
  differences of_model;
  match(file, weight_group, weights, all, of_model);
  of_model.require_none(path, "model");

  std::vector<std::int64_t> numbers;
  std::vector<std::pair<double*, double>> set;
  position at;
  if (what == load::whole) {
    bool const has = has_group(file, optimizer_group) || has_group(file, counter_group);
    if (!has && (!optimizer.empty() || !counters.empty()))
      refuse("it holds no state of an optimizer",
             "load the weights alone with load::weights, and train on with a fresh optimizer");
    differences of_optimizer;
    match(file, optimizer_group, optimizer, all, of_optimizer);
    for (counter const& c : counters) {
      std::string const name = joined(counter_group, c.name);
      if (file.contains(name))
        numbers.push_back(read_number(file, name));
      else
        of_optimizer.add(c.name, "the file has none");
    }
    of_optimizer.require_none(path, "optimizer");
    for (setting const& s : settings)
      if (std::string const name = joined(setting_group, s.name); file.contains(name))
        set.emplace_back(s.value, *file.read<double, 0>(name).data());
  }
  for (auto const& row : position_rows)
    at.*row.value = read_number(file, joined(position_group, row.name));
  write_all(all);
  for (std::size_t k = 0; k < numbers.size(); ++k) *counters[k].value = numbers[k];
  for (auto const& [to, value] : set) *to = value;
  return at;
}

LOCUS_FUNCTION void write_weights(std::string_view path, std::vector<stored> const& weights) {
  data::npz_writer file(path);
  for (stored const& s : weights) add_stored(file, {}, s);
  file.save();
}

LOCUS_FUNCTION void read_weights(std::string_view path, std::vector<stored> const& weights) {
  data::npz_file const file(path);
  std::vector<pending> all;
  differences d;
  match(file, {}, weights, all, d);
  d.require_none(path, "model");
  write_all(all);
}

// ---- over ranks: rank 0 reads and writes the file ----
LOCUS_FUNCTION bool lie_over_ranks(std::vector<stored> const& all) {
  for (stored const& s : all)
    if (runtime::lies_on_ranks(s.block->where.devices)) return true;
  return false;
}

/// means: every rank gets the values of rank 0
LOCUS_FUNCTION void share_values(std::vector<stored> const& all) {
  for (stored const& s : all) {
    data::byte_block host(static_cast<std::size_t>(s.bytes()));
    if (ranks::rank() == 0) read_values(s, host.data.get());
    locus::internal::share_from_first("load_checkpoint", host.data.get(), s.bytes());
    if (ranks::rank() > 0) write_values(s, host.data.get());
  }
}

/// means: in checked builds: the weights of all ranks are equal
/// fails: bad_access, naming the first rank whose weights differ from those of rank 0
LOCUS_FUNCTION void require_equal_ranks(std::vector<stored> const& all) {
  if constexpr (!checked_build) return;
  for (stored const& s : all) {
    data::byte_block host(static_cast<std::size_t>(s.bytes()));
    read_values(s, host.data.get());
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < s.bytes(); ++i)
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) * 31 +
                                      static_cast<unsigned char>(host.data.get()[i]));
    std::int64_t of_first = sum;
    locus::internal::share_from_first("save_checkpoint", &of_first, sizeof of_first);
    if (locus::internal::all_ranks_say(sum == of_first)) continue;
    message text;
    throw bad_access(text << "locus: the ranks have different values of '" << shown(s.name).view()
                          << "', so that there is no single one to save; set it to one value on "
                             "all ranks, by an expression that every rank evaluates");
  }
}

}  // namespace locus::nn::detail

namespace locus::nn {

LOCUS_FUNCTION void save_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                    std::vector<stored> const& optimizer,
                                    std::vector<counter> const& counters, position const& at,
                                    std::vector<setting> const& settings) {
  auto const write = [&] {
    detail::write_checkpoint(path, weights, optimizer, counters, at, settings);
  };
  if (!detail::lie_over_ranks(weights)) return write();
  detail::require_equal_ranks(weights);
  ranks::on_first(write);
}

LOCUS_FUNCTION position load_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                        std::vector<stored> const& optimizer,
                                        std::vector<counter> const& counters, load what,
                                        std::vector<setting> const& settings) {
  position at;
  auto const read = [&] {
    at = detail::read_checkpoint(path, weights, optimizer, counters, what, settings);
  };
  if (!detail::lie_over_ranks(weights)) {
    read();
    return at;
  }
  ranks::on_first(read);
  detail::share_values(weights);
  if (what == load::whole) {
    detail::share_values(optimizer);
    for (counter const& c : counters)
      locus::internal::share_from_first("load_checkpoint", c.value, sizeof *c.value);
    for (setting const& s : settings)
      locus::internal::share_from_first("load_checkpoint", s.value, sizeof *s.value);
  }
  locus::internal::share_from_first("load_checkpoint", &at, sizeof at);
  return at;
}

LOCUS_FUNCTION void export_weights(std::string_view path, std::vector<stored> const& weights) {
  auto const write = [&] { detail::write_weights(path, weights); };
  if (!detail::lie_over_ranks(weights)) return write();
  detail::require_equal_ranks(weights);
  ranks::on_first(write);
}

LOCUS_FUNCTION void import_weights(std::string_view path, std::vector<stored> const& weights) {
  auto const read = [&] { detail::read_weights(path, weights); };
  if (!detail::lie_over_ranks(weights)) return read();
  ranks::on_first(read);
  detail::share_values(weights);
}

}  // namespace locus::nn
