// SPDX-License-Identifier: Apache-2.0
// Batches sharded over replicas; the next batch is copied while devices compute on this one.
#pragma once
#include <exception>  // exception_ptr

#include <locus/core/macros.hpp>       // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/data/batch.hpp>        // release_pinned
#include <locus/tensor/rows_over.hpp>  // rows_over

namespace locus::data::detail {

LOCUS_COLD_BEGIN

/// The copies of a batch to its devices: a stamp for each piece.
struct arrivals {
  stamp of[max_devices]{};
  /// means: later work of the devices waits for the copies
  void order(place const& where) const;
  /// means: the host waits for all copies
  /// fails: the error of the first device, after a wait for all others
  void synchronize() const;
  /// means: the same without an exception: the next wait reports the error of a kernel, unless
  ///        another exception is already in flight
  void settle() const noexcept;
};

/// units: rows of a whole batch, and of those that other ranks have in front of these
struct rows_of_batch {
  std::int64_t all = 0, before = 0;
};
/// means: copies the rows of a host tensor to the pieces of another tensor on copy queues, after
///        the work that the devices have; `pinned`: the source stays unchanged until the copies
///        have run
/// rows: those of the whole batch, of which `from` has those behind the first ones
LOCUS_FUNCTION void send_rows(tensor_block const& from, tensor_block const& to,
                              rows_of_batch const& rows, bool pinned, arrivals& when);
/// means: the batch of all ranks, of which this rank has n rows; all = 0: no rank has a batch
/// fails: shape_error on all ranks, if only some have a batch, or a rank has other rows than those of
///        its replicas
[[gnu::cold]] LOCUS_FUNCTION rows_of_batch meet_rows_of_ranks(std::int64_t n, place const& where);
[[gnu::cold]] LOCUS_FUNCTION void warn_of_idle_replicas(std::int64_t batch_size, int replicas);
LOCUS_COLD_END
LOCUS_LEAN_BEGIN

template <class Replicas, class Element>
struct on_replicas;
template <class Replicas, class... T, class... E>
struct on_replicas<Replicas, std::tuple<Tensor<T, E, CpuDevice>...>> {
  using element = std::tuple<Tensor<T, E, rows_over<Replicas>>...>;
};

/// Copies batches of one type to replicas.
template <class Replicas, class Batch>
struct replica_sender {
  using element = typename on_replicas<Replicas, Batch>::element;
  using rows_policy = rows_over<Replicas>;
  struct delivery {
    std::optional<Batch> from;  // kept while GPUs may read it
    element there;
    arrivals arrived;
  };
  static place where() { return runtime::place_now(rows_policy::value); }
  /// means: starts the copies of a batch to its pieces
  static delivery send(Batch&& from, rows_of_batch const& rows, bool keep) {
    arrivals when;
    element there =
        std::apply([&](auto&... t) { return element{piece_of(t, rows, when)...}; }, from);
    delivery d{std::nullopt, std::move(there), when};
    if (keep) d.from.emplace(std::move(from));
    return d;
  }

 private:
  template <class T, class E>
  static Tensor<T, E, rows_policy> piece_of(Tensor<T, E, CpuDevice>& from,
                                            rows_of_batch const& rows, arrivals& when) {
    using Pieces = Tensor<T, E, rows_policy>;
    Pieces t{typename Pieces::unmade{}};
    place const at = where();
    if (at.global_count() == 1 && at.at(0) == cpu(0)) {
      t.block = std::move(from.block);  // already there
      t.block->where = at;
      t.block->tensor = static_cast<tensor_base const*>(&t);
    } else
      try {
        shape whole = from.extents().as_shape();
        whole.extent[0] = rows.all;
        t.make_for(whole, at);
        bool const pinned = from.block->release == release_pinned;
        send_rows(*from.block.get(), *t.block.get(), rows, pinned, when);  // a queue is in order
      } catch (...) {  // the pieces are freed; devices may still write to them
        when.settle();
        throw;
      }
    return t;
  }
};

/// Batches that are rows of this rank.
template <class Up>
struct rank_rows_stage : Up {
  static constexpr bool is_of_rank = true;
};

/// means: each batch as tensors with rows sharded over the replicas. The next batch is copied while
///        the program computes on this one.
template <class Replicas, class Up>
struct replica_stage {
  static_assert(Up::is_batched,
                "locus: elements are distributed over replicas in batches; write batch(n) first");
  using batch = typename Up::element;
  using sender = replica_sender<Replicas, batch>;
  using element = typename sender::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = true, is_distributed = true;
  static constexpr bool is_of_rank = Up::is_of_rank;
  Up up;

  class cursor {
   public:
    cursor(replica_stage const& s, opening const& o) : up_(s.up.open(prepared(o))) {}
    cursor(cursor const&) = delete;
    ~cursor() {
      if (under_way_) under_way_->arrived.settle();
      sent_.arrived.settle();
    }
    std::optional<element> next() {
      if (!under_way_) send();
      if (!under_way_) {
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        return std::nullopt;
      }
      sent_.arrived.synchronize();  // ended long ago; reports the error of a kernel
      // from here on the order of the compute queues protects their memory
      under_way_->arrived.order(std::get<0>(under_way_->there).block->where);
      std::optional<element> out(std::move(under_way_->there));
      sent_ = {std::move(under_way_->from), under_way_->arrived};
      under_way_.reset();
      // sends the next batch before the caller computes on this one; never waits for a batch that
      // is not read yet
      if (!is_of_rank && overlaps_ && is_ready()) send();
      return out;
    }

   private:
    struct sent {
      std::optional<batch> from;
      arrivals arrived;
    };
    opening prepared(opening o) {
      constexpr bool any_gpu = has_gpu(rows_over<Replicas>::value.devices);
      runtime::note_gpus<any_gpu>();
      runtime::devices("a dataset was read");
      runtime::request_devices(replica_sender<Replicas, batch>::where(), "a dataset");
      overlaps_ = any_gpu && runtime::table.has_gpus();
      o.pinned = overlaps_;
      return o;
    }
    bool is_ready() {
      if constexpr (requires { up_.ready(); })
        return up_.ready();
      else
        return false;
    }
    /// starts the copies of the next batch
    void send() {
      if (ended_) return;
      ended_ = true;
      try {
        std::optional<batch> from = up_.next();
        place const where = sender::where();
        rows_of_batch rows{from ? std::get<0>(*from).extent(0) : 0};
        if (is_of_rank) rows = meet_rows_of_ranks(rows.all, where);
        if (!from) return;
        if (first_ && rows.all < where.global_count())
          warn_of_idle_replicas(rows.all, where.global_count());
        first_ = false;
        under_way_.emplace(sender::send(*std::move(from), rows, overlaps_));
        ended_ = false;
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    bool overlaps_ = false;
    decltype(std::declval<Up const&>().open(opening{})) up_;
    std::optional<typename sender::delivery> under_way_;
    sent sent_;
    std::exception_ptr failure_;
    bool ended_ = false, first_ = true;
  };
  cursor open(opening const& o) const { return cursor(*this, o); }
  std::int64_t size() const { return up.size(); }
  std::int64_t rows() const { return up.rows(); }
};

}  // namespace locus::data::detail

LOCUS_LEAN_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/data/bodies/replicas.hpp>  // bodies of the functions above
#endif
