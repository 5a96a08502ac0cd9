// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the whole state of a training in one .npz file, which is written completely or not
// at all.
#pragma once
#include <locus/core/macros.hpp>                 // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/files/npz.hpp>                   // npz_writer, npz_file
#include <locus/nn/layers/checkpoint_entry.hpp>  // stored, counter, setting

namespace locus::nn {

/// The position of a training. The order of batches and the random numbers of layers depend on
/// seeds and step numbers only, so that these numbers suffice to continue exactly: fit with
/// {.initial_epoch = int(at.epoch), .initial_step = at.step_of_epoch} and the former options does,
/// where the former fit was the first over its data.
struct position {
  std::int64_t epoch = 0;          // the next epoch
  std::int64_t step = 0;           // steps of the whole training
  std::int64_t step_of_epoch = 0;  // finished batches of the epoch
  std::int64_t seed = 0;           // of the random numbers of layers
  std::int64_t data_seed = 0;      // of the order of examples
};

/// The part of a checkpoint that load_checkpoint loads. whole: weights, optimizer and position, or
/// nothing; weights: weights only, for a fresh optimizer
enum class load : unsigned char { whole, weights };

namespace detail {

inline constexpr std::int64_t checkpoint_version = 1;
inline constexpr std::string_view version_name = "locus_checkpoint";
inline constexpr std::string_view weight_group = "weights/", optimizer_group = "optimizer/",
                                  counter_group = "counters/", setting_group = "settings/",
                                  position_group = "position/";
using member_of_position = std::int64_t position::*;  // nvcc misprints the direct form
struct position_row {
  std::string_view name;
  member_of_position value;
};
inline constexpr position_row position_rows[] = {{"epoch", &position::epoch},
                                                 {"step", &position::step},
                                                 {"step_of_epoch", &position::step_of_epoch},
                                                 {"seed", &position::seed},
                                                 {"data_seed", &position::data_seed}};

/// means: NumPy's type for an element type; bfloat16, which NumPy lacks, is stored as 16-bit
///        integers
LOCUS_FUNCTION data::npy_type npy_type_of(element e);
inline std::string joined(std::string_view group, std::string_view name) {
  return std::string(group) += name;
}
LOCUS_FUNCTION void add_stored(data::npz_writer& file, std::string_view group, stored const& s);

/// The differences between a file and a model: all are counted, the first four are in the text.
class differences {
 public:
  void add(std::string_view name, std::string_view what) {
    if (++count_ <= 4) text_ << (count_ > 1 ? "; " : "") << shown(name).view() << ": " << what;
  }
  int count() const { return count_; }
  void require_none(std::string_view path, std::string_view what);

 private:
  text_buffer<512> text_;
  int count_ = 0;
};

/// An array of a file and its target; copied after all arrays have been checked.
struct pending {
  stored const* to;
  data::npy_array from;
};

/// means: pairs the arrays of a group of a file with tensors, by name, type and extents; adds the
///        differs to d
LOCUS_FUNCTION void match(data::npz_file const& file, std::string_view group,
                          std::vector<stored> const& wanted, std::vector<pending>& out,
                          differences& d);
inline void write_all(std::vector<pending> const& all) {
  for (pending const& p : all) write_values(*p.to, p.from.bytes.data.get());
}
LOCUS_FUNCTION bool has_group(data::npz_file const& file, std::string_view group);
inline std::int64_t read_number(data::npz_file const& file, std::string_view name) {
  return *file.read<std::int64_t, 0>(name).data();
}
template <class Model>
std::vector<setting> settings_of(Model& model) {
  if constexpr (requires { model.settings(); })
    return model.settings();
  else
    return {};
}

}  // namespace detail

/// means: writes a training to a file: weights, optimizer state, counters, position, settings
/// device: tensors on any device; the file does not depend on the number of replicas, or of ranks.
///        Over ranks every rank calls it, and rank 0 writes
/// cost:  one tensor at a time is copied to the host; the file is stored without compression
/// fails: bad_file, and the former file stays; bad_access in checked builds, if replicas differ
/// after: NumPy's format: numpy.load(path)["weights/dense/kernel"]
LOCUS_FUNCTION void save_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                    std::vector<stored> const& optimizer,
                                    std::vector<counter> const& counters, position const& at,
                                    std::vector<setting> const& settings = {});

/// means: reads a training, for any number of replicas; returns the position to continue from. Over
///        ranks every rank calls it: rank 0 reads the file, and the others get its values. A setting
///        that an older file lacks stays as it is, and so does a learning rate that is a schedule
/// fails: bad_file, without any change: the file is damaged, newer, of another model (named
///        differences), or without the state of this optimizer
/// after: all arrays are read and checked before the first element is written
LOCUS_FUNCTION position load_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                        std::vector<stored> const& optimizer,
                                        std::vector<counter> const& counters,
                                        load what = load::whole,
                                        std::vector<setting> const& settings = {});

/// means: the same for anything with weights(), optimizer_state(), counters() and perhaps settings():
///        a trainer, or the training that callbacks get
template <class Model>
void save_checkpoint(std::string_view path, Model& model, position const& at = {}) {
  save_checkpoint(path, model.weights(), model.optimizer_state(), model.counters(), at,
                  detail::settings_of(model));
}
template <class Model>
position load_checkpoint(std::string_view path, Model& model, load what = load::whole) {
  return load_checkpoint(path, model.weights(), model.optimizer_state(), model.counters(), what,
                         detail::settings_of(model));
}

/// means: writes weights only, under their own names, for other frameworks     after: numpy.savez
LOCUS_FUNCTION void export_weights(std::string_view path, std::vector<stored> const& weights);
/// means: reads weights from an archive with exactly one array for each
/// fails: bad_file, naming the differences, without any change
LOCUS_FUNCTION void import_weights(std::string_view path, std::vector<stored> const& weights);

}  // namespace locus::nn

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/checkpoint.hpp>  // bodies of the functions above
#endif
