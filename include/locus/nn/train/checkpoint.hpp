// SPDX-License-Identifier: Apache-2.0
// Checkpoints: all that a training is, in one .npz that is there as a whole or not at all.
#pragma once
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/files/npz.hpp>                  // npz_writer, npz_file
#include <locus/nn/train/checkpoint_entry.hpp>  // stored, counter

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
LOCUS_FUNCTION data::npy_type npy_type_of(element e);
inline std::string joined(std::string_view group, std::string_view name) {
  return std::string(group) += name;
}
LOCUS_FUNCTION void add_stored(data::npz_writer& file, std::string_view group, stored const& s);

/// What of a file does not fit a model: every difference, as far as a message reaches.
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

/// An array of a file that goes into a stored tensor once all of them were looked at.
struct pending {
  stored const* to;
  data::npy_array from;
};

/// means: the arrays of one group of a file for those tensors, compared by name, type and extents
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

}  // namespace detail

/// means: a training in a file: weights, what the optimizer keeps, its counters, and the position
/// device: the tensors may lie anywhere; what a file says does not depend on the number of replicas
/// cost:  one tensor at a time comes to the host; the file is stored, not deflated
/// fails: bad_file, and then the file that was there is there; bad_access in checked builds, where
///        replicas differ
/// after: a file of NumPy's format: numpy.load(path)["weights/dense/kernel"]
LOCUS_FUNCTION void save_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                    std::vector<stored> const& optimizer,
                                    std::vector<counter> const& counters, position const& at);

/// means: a training as it was saved, with any number of replicas; the position to go on from
/// fails: bad_file, and then nothing has changed: damaged, of a newer version, of another model
///        (names what differs), without the state of an optimizer or with that of another one
/// after: everything is read and compared before the first element is written
LOCUS_FUNCTION position load_checkpoint(std::string_view path, std::vector<stored> const& weights,
                                        std::vector<stored> const& optimizer,
                                        std::vector<counter> const& counters,
                                        load what = load::whole);

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
LOCUS_FUNCTION void export_weights(std::string_view path, std::vector<stored> const& weights);
/// means: weights from an archive that has an array for each, and no others
/// fails: bad_file, naming what differs, and then nothing has changed
LOCUS_FUNCTION void import_weights(std::string_view path, std::vector<stored> const& weights);

}  // namespace locus::nn

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/nn/train/bodies/checkpoint.hpp>  // bodies of the functions above
#endif
