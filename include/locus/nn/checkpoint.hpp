// SPDX-License-Identifier: Apache-2.0
// Checkpoints: all that a training is, in one .npz that is there as a whole or not at all.
#pragma once
#include <locus/data/npz.hpp>       // npz_writer, npz_file
#include <locus/nn/stored.hpp>      // stored, counter
#include <locus/tensor/copies.hpp>  // require_equal_copies

namespace locus::nn {

/// Where a training stands. The order of batches and the random numbers of layers are functions of
/// seeds and numbers of steps, so these numbers are all that is needed to go on as if never stopped.
struct position {
  std::int64_t epoch = 0;          // the next one
  std::int64_t step = 0;           // of the whole training
  std::int64_t step_of_epoch = 0;  // batches of the epoch that are done
  std::int64_t seed = 0;           // of the model's random numbers
  std::int64_t data_seed = 0;      // of the order of the examples
};

/// means: what of a file a model takes
/// whole: weights, optimizer and position, else nothing; weights: a fresh optimizer goes on from them
enum class load : unsigned char { whole, weights };

namespace detail {

inline constexpr std::int64_t checkpoint_version = 1;
inline constexpr std::string_view version_name = "locus_checkpoint";
inline constexpr std::string_view weight_group = "weights/", optimizer_group = "optimizer/",
                                  counter_group = "counters/", position_group = "position/";
using member_of_position =
    std::int64_t position::*;  // nvcc writes parentheses around the other way
struct position_row {
  std::string_view name;
  member_of_position value;
};
inline constexpr position_row position_rows[] = {{"epoch", &position::epoch},
                                                 {"step", &position::step},
                                                 {"step_of_epoch", &position::step_of_epoch},
                                                 {"seed", &position::seed},
                                                 {"data_seed", &position::data_seed}};

/// NumPy's name of an element type; bfloat16, which NumPy has not, is stored as its 16 bits
inline data::npy_type npy_type_of(element e) {
  element_row const& row = row_of(e);
  char const kind = e == element::bf16                   ? 'u'
                    : e == element::b8                   ? 'b'
                    : e == element::u8                   ? 'u'
                    : row.kind == element_kind::floating ? 'f'
                                                         : 'i';
  return {kind, row.bytes};
}
inline std::string joined(std::string_view group, std::string_view name) {
  return std::string(group) += name;
}
inline void add_stored(data::npz_writer& file, std::string_view group, stored const& s) {
  if (checked_build && s.block->where.is_mirrored())
    locus::detail::require_equal_copies(*s.block);  // copies that differ are nobody's weights
  data::detail::byte_block host(static_cast<std::size_t>(s.bytes()));
  read_values(s, host.data.get());
  file.add(joined(group, s.name), npy_type_of(s.type()), s.extents, host.data.get());
}

/// What of a file does not fit a model: every difference, as far as a message reaches.
class differences {
 public:
  void add(std::string_view name, std::string_view what) {
    if (++count_ <= 4) text_ << (count_ > 1 ? "; " : "") << shown(name).view() << ": " << what;
  }
  int count() const { return count_; }
  void require_none(std::string_view path, std::string_view what) {
    if (count_ == 0) return;
    message text;
    text << "locus: " << shown(path).view() << " is of another " << what << ": " << text_.view();
    if (count_ > 4) text << "; and " << count_ - 4 << " more";
    throw bad_file(text << ". Load it into the model that saved it, or give another path");
  }

 private:
  text_buffer<512> text_;
  int count_ = 0;
};

/// An array of a file that goes into a stored tensor once all of them were looked at.
struct pending {
  stored const* to;
  data::npy_array from;
};

/// means: the arrays of one group of a file for those tensors, compared by name, type and extents
inline void match(data::npz_file const& file, std::string_view group,
                  std::vector<stored> const& wanted, std::vector<pending>& out, differences& d) {
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
inline void write_all(std::vector<pending> const& all) {
  for (pending const& p : all) write_values(*p.to, p.from.bytes.data.get());
}
inline bool has_group(data::npz_file const& file, std::string_view group) {
  for (std::string const& name : file.names())
    if (std::string_view(name).starts_with(group)) return true;
  return false;
}
inline std::int64_t read_number(data::npz_file const& file, std::string_view name) {
  return *file.read<std::int64_t, 0>(name).data();
}

}  // namespace detail

/// means: a training in a file: weights, what the optimizer keeps, its counters, and the position
/// device: the tensors may lie anywhere; what a file says does not depend on the number of replicas
/// cost:  one tensor at a time comes to the host; the file is stored, not deflated
/// fails: bad_file, and then the file that was there is there; bad_access in checked builds, where
///        replicas differ
/// after: a file of NumPy's format: numpy.load(path)["weights/dense/kernel"]
inline void save_checkpoint(std::string_view path, std::vector<stored> const& weights,
                            std::vector<stored> const& optimizer,
                            std::vector<counter> const& counters, position const& at) {
  data::npz_writer file(path);
  file.add(detail::version_name, detail::checkpoint_version);
  for (stored const& s : weights) detail::add_stored(file, detail::weight_group, s);
  for (stored const& s : optimizer) detail::add_stored(file, detail::optimizer_group, s);
  for (counter const& c : counters)
    file.add(detail::joined(detail::counter_group, c.name), *c.value);
  for (auto const& row : detail::position_rows)
    file.add(detail::joined(detail::position_group, row.name), at.*row.value);
  file.save();
}

/// means: a training as it was saved, with any number of replicas; the position to go on from
/// fails: bad_file, and then nothing has changed: damaged, of a newer version, of another model
///        (names what differs), without the state of an optimizer or with that of another one
/// after: everything is read and compared before the first element is written
inline position load_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                std::vector<stored> const& optimizer,
                                std::vector<counter> const& counters, load what = load::whole) {
  data::npz_file const file(path);
  auto refuse = [&](std::string_view found, std::string_view remedy) {
    message text;
    throw bad_file(text << "locus: " << shown(path).view() << ": " << found << "; " << remedy);
  };
  if (!file.contains(detail::version_name))
    refuse("it is no checkpoint of locus", "read arrays of other programs with import_weights");
  std::int64_t const version = detail::read_number(file, detail::version_name);
  if (version != detail::checkpoint_version) {
    message found;
    found << "it is a checkpoint of version " << version << ", this locus reads version "
          << detail::checkpoint_version;
    refuse(found.view(), "read it with the locus that wrote it");
  }
  std::vector<detail::pending> all;
  detail::differences of_model;
  detail::match(file, detail::weight_group, weights, all, of_model);
  of_model.require_none(path, "model");

  std::vector<std::int64_t> numbers;
  position at;
  if (what == load::whole) {
    bool const has = detail::has_group(file, detail::optimizer_group) ||
                     detail::has_group(file, detail::counter_group);
    if (!has && (!optimizer.empty() || !counters.empty()))
      refuse("it holds no state of an optimizer",
             "load the weights alone with load::weights, and train on with a fresh optimizer");
    detail::differences of_optimizer;
    detail::match(file, detail::optimizer_group, optimizer, all, of_optimizer);
    for (counter const& c : counters) {
      std::string const name = detail::joined(detail::counter_group, c.name);
      if (file.contains(name))
        numbers.push_back(detail::read_number(file, name));
      else
        of_optimizer.add(c.name, "the file has none");
    }
    of_optimizer.require_none(path, "optimizer");
  }
  for (auto const& row : detail::position_rows)
    at.*row.value = detail::read_number(file, detail::joined(detail::position_group, row.name));
  detail::write_all(all);
  for (std::size_t k = 0; k < numbers.size(); ++k) *counters[k].value = numbers[k];
  return at;
}

/// means: the same of whatever has weights(), optimizer_state() and counters(): a model that is
///        trained, or what callbacks get
template <class Model>
void save_checkpoint(std::string_view path, Model& model, position const& at = {}) {
  save_checkpoint(path, model.weights(), model.optimizer_state(), model.counters(), at);
}
template <class Model>
position load_checkpoint(std::string_view path, Model& model, load what = load::whole) {
  return load_checkpoint(path, model.weights(), model.optimizer_state(), model.counters(), what);
}

/// means: weights alone under their own names, for another framework     after: numpy.savez
inline void export_weights(std::string_view path, std::vector<stored> const& weights) {
  data::npz_writer file(path);
  for (stored const& s : weights) detail::add_stored(file, {}, s);
  file.save();
}
/// means: weights from an archive that has an array for each, and no others
/// fails: bad_file, naming what differs, and then nothing has changed
inline void import_weights(std::string_view path, std::vector<stored> const& weights) {
  data::npz_file const file(path);
  std::vector<detail::pending> all;
  detail::differences d;
  detail::match(file, {}, weights, all, d);
  d.require_none(path, "model");
  detail::write_all(all);
}

}  // namespace locus::nn
