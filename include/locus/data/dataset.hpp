// SPDX-License-Identifier: Apache-2.0
// Dataset: a sequence of elements from a source, transformed, shuffled, put into batches.
//     auto train = data::from_tensors(images, labels)
//                      .shuffle({.seed = 7}).map(scaled, {.threads = 4}).batch(64).prefetch(2);
//     for (auto&& [x, label] : distribute<Replicas>(train)) ...
#pragma once
#include <iterator>  // default_sentinel
#include <utility>   // exchange

#include <locus/data/batch.hpp>     // batch_stage
#include <locus/data/cache.hpp>     // cache_stage
#include <locus/data/map.hpp>       // map_stage, demand_stage
#include <locus/data/repeat.hpp>    // repeat_stage, part_stage
#include <locus/data/replicas.hpp>  // replica_stage
#include <locus/data/shuffle.hpp>   // shuffle_stage
#include <locus/data/sources.hpp>   // tensor_source
#include <locus/data/waiting.hpp>   // pass_clock
#include <locus/tensor/view.hpp>    // tensor_owner

namespace locus::data {

template <class Stage>
class Dataset;
namespace detail {
template <class Stage>
Dataset<Stage> dataset_of(Stage stage) {
  return Dataset<Stage>(std::move(stage));
}
}  // namespace detail

template <class D>
concept dataset = requires { typename std::remove_cvref_t<D>::is_dataset; };

/// means: the elements of a pass, in order. Nothing is read before a pass begins; each pass is an
///        epoch. Its order depends only on seeds and on the number of the epoch.
/// cost:  a copy copies the description; copies share sources and caches
/// fails: a pass, with the exception of a source or function, at the element that caused it
/// after: tf.data.Dataset
template <class Stage>
class Dataset {
 public:
  using is_dataset = void;
  using element = typename Stage::element;
  static constexpr bool is_batched = Stage::is_batched;
  static constexpr bool is_distributed = requires { Stage::is_distributed; };

  explicit Dataset(Stage stage) : stage_(std::move(stage)) {}

  // ---- datasets made of this one ----

  /// means: elements in random order; with a buffer smaller than a pass, an element moves forward
  ///        by at most the size of the buffer
  /// fails: configuration_error for a dataset without an end and no buffer
  auto shuffle(shuffle_options const& options = {}) const {
    if (options.buffer != unknown && options.buffer < 1)
      detail::refuse_number("the buffer of shuffle", options.buffer, "write a positive number");
    if (options.buffer == unknown && size() == infinite)
      detail::refuse_no_end("shuffle reads all of a pass first",
                            "shuffle().repeat(), or a buffer: shuffle({.buffer = 1024})");
    return detail::dataset_of(detail::shuffle_stage<Stage>{stage_, options});
  }
  /// means: f(components...), or f(position, components...), of each element; if f returns a tuple,
  ///        the tuple is the new element
  /// cost:  `threads` threads compute ahead, an element at a time where f takes long; the order of the
  ///        elements stays
  /// fails: element_error, naming the element, when f throws
  template <class F>
  auto map(F f, map_options const& options = {}) const {
    int const n = options.threads == 0 ? thread_count() : options.threads;
    if (n < 0 || n > 256)
      detail::refuse_number("the number of threads of map", n, "write 0 to 256");
    using M = detail::mapped<F, element>;
    using S = detail::map_stage<Stage, M>;
    return detail::dataset_of(S{stage_, M{std::move(f)}, n == 1 ? 0 : n, 2 * n * S::chunk});
  }
  /// means: n elements stacked; a short last batch is kept, unless drop_remainder is set
  /// shape: every component gets a new first axis
  /// fails: a pass, with shape_error, for components of different extents, and if it makes no batch
  auto batch(std::int64_t n, batch_rule const& rule = {}) const {
    if (n <= 0) detail::refuse_number("the batch size", n, "write a positive number");
    return detail::dataset_of(detail::batch_stage<Stage>{stage_, n, rule.drop_remainder});
  }
  /// means: `passes` passes as one, each in its own order; endless without a number. A pass without
  ///        elements ends the sequence
  /// fails: a pass, with shape_error, for a pass without elements that would be repeated without
  ///        end
  auto repeat(std::int64_t passes = -1) const {
    return detail::dataset_of(detail::repeat_stage<Stage>{stage_, passes});
  }
  auto take(std::int64_t n) const {
    if (n < 0) detail::refuse_number("the number of elements to take", n, "write 0 or more");
    return detail::dataset_of(detail::part_stage<Stage>{stage_, 0, n});
  }
  auto skip(std::int64_t n) const {
    if (n < 0) detail::refuse_number("the number of elements to skip", n, "write 0 or more");
    return detail::dataset_of(detail::part_stage<Stage>{stage_, n, -1});
  }
  /// means: elements part, part + parts, part + 2 parts, ... of a pass
  /// after: tf.data.Dataset.shard
  auto shard(std::int64_t parts, std::int64_t part) const {
    if (parts < 1) detail::refuse_number("the number of parts", parts, "write 1 or more");
    if (part < 0 || part >= parts)
      detail::refuse_number("the part of a dataset", part, "write 0 to the number of parts less 1");
    return detail::dataset_of(detail::part_stage<Stage>{stage_, part, -1, parts});
  }
  /// means: the batches of each rank are rows of its own. Over ranks, distribute and fit put the
  ///        rows of all ranks together, in the order of the ranks, as one batch. Without this call
  ///        every rank reads the same batches, and takes its rows of them
  /// cost:  the ranks tell each other their rows before each batch; the next batch is not copied
  ///        while devices compute
  /// fails: a pass, with shape_error on all ranks: a rank has no batch more and another one has, or
  ///        has other rows than those of its replicas
  /// after: tf.distribute.Strategy.distribute_datasets_from_function
  auto rows_of_rank() const {
    static_assert(is_batched && !is_distributed,
                  "locus: the rows of a rank are those of its batches; write batch(n) first, and "
                  "distribute behind it");
    return detail::dataset_of(detail::rank_rows_stage<Stage>{stage_});
  }
  /// means: the elements of the first complete pass, kept in memory for later passes
  /// fails: configuration_error for a dataset without an end
  auto cache() const {
    if (size() == infinite) detail::refuse_no_end("cache keeps all of a pass", "cache().repeat()");
    return detail::dataset_of(detail::cache_stage<Stage>{stage_});
  }
  /// means: a thread reads up to n elements ahead
  auto prefetch(std::int64_t n = 2) const {
    static_assert(!is_distributed,
                  "locus: prefetch() reads ahead on the host; write it before distribute, which "
                  "sends the next batch while this one is computed with");
    constexpr std::int64_t most = 1 << 20;  // each element has a slot from the start
    if (n < 1 || n > most)
      detail::refuse_number("the number of elements to prefetch", n, "write 1 to 1048576");
    using Same = detail::unchanged<element>;
    return detail::dataset_of(detail::map_stage<Stage, Same>{stage_, {}, 1, n});
  }
  /// means: each batch as tensors with Sharded<0, ...> over the devices of Replicas
  template <device_policy Replicas>
  auto distribute() const {
    return detail::dataset_of(detail::replica_stage<Replicas, Stage>{stage_});
  }
  /// fails: a pass, with shape_error naming record and label, for a label outside [0, classes)
  template <int Component>
  auto require_labels(std::int64_t classes) const {
    using Look = detail::labels_below<Component>;
    static_assert(detail::is_scalar<std::tuple_element_t<Component, element>>,
                  "locus: a label is one number of an element; look at labels before batch()");
    return detail::dataset_of(detail::demand_stage<Stage, Look>{stage_, {classes}});
  }
  /// fails: a pass, with shape_error naming the record, for NaN and infinity
  auto require_finite() const {
    using Look = detail::finite_fields;
    return detail::dataset_of(detail::demand_stage<Stage, Look>{stage_, {}});
  }

  // ---- sizes ----

  /// units: elements of a pass, or `unknown`, or `infinite`
  std::int64_t size() const { return stage_.size(); }
  /// units: examples of a pass
  std::int64_t rows() const { return stage_.rows(); }
  std::int64_t batches_per_epoch() const
    requires is_batched
  {
    return size();
  }

  // ---- passes ----

  /// means: the next pass is the next epoch. Without this call, a pass that follows another pass is
  ///        the next epoch, too
  void next_epoch() { ++epoch_, used_ = false; }
  /// means: the next pass is epoch n, where training continues
  void seek_epoch(std::uint64_t n) { epoch_ = n, used_ = false; }
  std::uint64_t epoch() const { return epoch_; }

  /// The elements of a pass. It may be destroyed before its end: it then waits for threads that
  /// work ahead.
  class iterator {
   public:
    using value_type = element;
    using difference_type = std::ptrdiff_t;
    iterator(Stage const& s, opening const& o) : cursor_(s.open(o)) { advance(); }
    iterator(iterator const&) = delete;
    ~iterator() { clock_.close(); }
    /// an rvalue: auto [x, label] moves the tensors out and copies none
    element&& operator*() {
      return std::move(*now_);  // NOLINT(bugprone-unchecked-optional-access): end() came otherwise
    }
    iterator& operator++() {
      now_.reset();  // frees its memory for the next element
      advance();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !now_; }
    pass_times times() const { return clock_.times(); }

   private:
    void advance() {
      if (std::exchange(ended_, true)) return;  // an exception leaves it true
      clock_.begin();
      now_ = cursor_.next();
      ended_ = !now_;
      clock_.end(now_.has_value());
      if (!now_) clock_.close();
    }
    decltype(std::declval<Stage const&>().open(opening{})) cursor_;
    detail::pass_clock clock_;
    std::optional<element> now_;
    bool ended_ = false;
  };
  /// each pass after the first is the next epoch
  iterator begin() { return iterator(stage_, {begin_epoch()}); }
  /// a constant dataset gives the same epoch again and again
  iterator begin() const { return iterator(stage_, {epoch_}); }
  std::default_sentinel_t end() const { return {}; }

  /// means: a pass begins, of this dataset or of one made of it; returns its epoch
  std::uint64_t begin_epoch() {
    if (used_) ++epoch_;
    used_ = true;
    return epoch_;
  }
  Stage const& stage() const { return stage_; }

 private:
  Stage stage_;
  std::uint64_t epoch_ = 0;
  bool used_ = false;
};

/// means: elements (row i of each tensor) of tensors on the host; a number for a tensor of rank 1
/// cost:  none; the dataset shares the memory of the tensors and keeps it alive
/// fails: shape_error, when the tensors differ in rows; at compile time, for views
/// after: tf.data.Dataset.from_tensor_slices
template <class... Tensors>
auto from_tensors(Tensors const&... tensors) {
  static_assert(sizeof...(Tensors) > 0,
                "locus: batches of nothing; name at least one tensor, as in batches({}, x, label)");
  static_assert(
      ((std::is_same_v<typename Tensors::policy, CpuDevice> && Tensors::rank() > 0) && ...),
      "locus: a dataset reads rows of tensors on the host; write from_tensors(fetch(x)) for "
      "others, and give each an axis for its rows");
  static_assert(
      (tensor_owner<Tensors> && ...),
      "locus: a dataset keeps the memory of its tensors alive, and a view has none; write "
      "from_tensors(eval(v))");
  std::int64_t const rows[] = {tensors.extent(0)...};
  for (std::int64_t const n : rows) detail::require_equal_rows(rows[0], n);
  return detail::dataset_of(
      detail::tensor_source<Tensors...>{{detail::rows_of_tensor<Tensors>(tensors)...}, rows[0]});
}
/// means: the numbers 0 to n - 1: range(n).map(f, {.threads = 4}) calls f on four threads
inline auto range(std::int64_t n) {
  if (n < 0) detail::refuse_number("the end of a range", n, "write 0 or more");
  return detail::dataset_of(detail::range_source{n});
}
/// means: make() or make(epoch) returns a function for each pass; the function returns
///        std::optional elements, an empty one at the end of the pass
/// units: elements of each pass in size, or `unknown`, or `infinite`
/// fails: a pass, with shape_error, that gives more or fewer elements than size
/// after: tf.data.Dataset.from_generator, with assert_cardinality
template <class Make>
auto from_generator(Make make, std::int64_t size = unknown) {
  if (size < infinite)
    detail::refuse_number("the size of a generator", size,
                          "write the number of elements of a pass, or leave it out");
  return detail::dataset_of(detail::generator_source<Make>{std::move(make), size});
}

}  // namespace locus::data

namespace locus {

/// means: each batch of a dataset, with its rows sharded over the replicas:
///            for (auto&& [x, label] : distribute<Replicas>(batches))
/// cost:  one copy to each replica for each tensor of a batch; if the dataset ends in prefetch(),
///        during the computation on the batch before
/// after: TensorFlow's experimental_distribute_dataset. The device list decides the rule that cuts:
///        ceil(n / R) rows, or balanced pieces for Mirrored<Balanced, ...>
template <device_policy Replicas, data::dataset D>
auto distribute(D&& batches) {
  auto there = std::as_const(batches).template distribute<Replicas>();
  if constexpr (std::is_const_v<std::remove_reference_t<D>>)
    there.seek_epoch(batches.epoch());
  else  // each call is the next epoch
    there.seek_epoch(batches.begin_epoch());
  return there;
}

}  // namespace locus
