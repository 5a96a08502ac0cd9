// SPDX-License-Identifier: Apache-2.0
// Batches cut over replicas, on their way to the devices while the batch before them is computed with.
#pragma once
#include <exception>  // exception_ptr, uncaught_exceptions
#include <vector>     // vector

#include <locus/backend/queues.hpp>   // copy, wait, mark
#include <locus/data/batch.hpp>       // release_pinned
#include <locus/data/distribute.hpp>  // rows_over
#include <locus/execute/log.hpp>      // log_copy

namespace locus::data::detail {

LOCUS_COLD_BEGIN

/// A batch that its devices may still be receiving: the points at which each has its piece.
struct arrivals {
  stamp of[max_devices]{};
  /// means: what the devices compute from now on comes behind them
  void order(place const& where) const {
    for (int r = 0; r < where.count(); ++r)
      if (of[r].is_set())
        runtime::wait(runtime::find_device(where.at(r)), queue_kind::compute, of[r]);
  }
  /// means: the host goes on when all have arrived
  /// fails: with what the first device says, after all others have been waited for
  void synchronize() const {
    std::exception_ptr said;
    for (stamp const& s : of) try {
        runtime::synchronize(s);
      } catch (...) {
        if (!said) said = std::current_exception();
      }
    if (said) std::rethrow_exception(said);
  }
  /// means: the same where nothing can be thrown: what a kernel threw is said by the next who waits,
  ///        unless another exception is on its way
  void settle() const noexcept {
    runtime::unreported_waits const later(std::uncaught_exceptions() == 0);
    try {
      synchronize();
    } catch (...) {}  // or a lost card: nothing of it reads any more
  }
};

/// means: the rows of a host tensor to the pieces of another one, on copy queues, behind what the
///        devices have been given to compute; `pinned`: the source stays until they have arrived
inline void send_rows(tensor_block const& from, tensor_block const& to, bool pinned,
                      arrivals& when) {
  logical_device& host = runtime::find_device(cpu(0));
  std::int64_t const n = from.extents.extent[0], row = n ? from.extents.size() / n : 0;
  for (int r = 0; r < to.where.count(); ++r) {
    logical_device& d = runtime::find_device(to.where.at(r));
    std::int64_t const begin = to.where.piece_begin(n, r) * row * from.element_bytes,
                       bytes = to.where.piece_size(n, r) * row * from.element_bytes;
    if (bytes == 0) continue;
    if (d.how != backing::host)
      runtime::wait(d, queue_kind::copy, runtime::mark(d, queue_kind::compute));
    when.of[r] = runtime::copy(d, to.pieces[r].data, host,
                               static_cast<char const*>(from.pieces[0].data) + begin, bytes,
                               queue_kind::copy, {-1, "a batch", d.name}, pinned);
    if (d.name == cpu(0)) continue;
    ++runtime::executed.copies, runtime::executed.bytes_moved += bytes;
    static constexpr char sent = 0;
    if (!runtime::is_watched(runtime::watcher::log) || !runtime::is_wanted(&sent, {})) continue;
    step what;
    what.name = "a batch";
    locus::detail::log_copy(transfer_kind::scatter, what, -1, bytes, cpu(0), to.where.at(r), {},
                            {});
  }
}
[[gnu::cold]] inline void warn_of_idle_replicas(std::int64_t batch_size, int replicas) {
  static int said = 0;
  if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) return;
  log_line line;
  runtime::warn(line << "locus: batches of " << batch_size << " rows over " << replicas
                     << " replicas leave some of them without rows in every step; write batches of "
                     << replicas << " rows or more");
}
LOCUS_COLD_END
LOCUS_LEAN_BEGIN

template <class Replicas, class Element>
struct on_replicas;
template <class Replicas, class... T, class... E>
struct on_replicas<Replicas, std::tuple<Tensor<T, E, CpuDevice>...>> {
  using element = std::tuple<Tensor<T, E, rows_over<Replicas>>...>;
};

/// Batches of one kind on their way, whatever they come from.
template <class Replicas, class Batch>
struct replica_sender {
  using element = typename on_replicas<Replicas, Batch>::element;
  using rows_policy = rows_over<Replicas>;
  struct delivery {
    std::optional<Batch> from;  // while GPUs may be reading it
    element there;
    arrivals arrived;
  };
  static place where() {
    place const at = rows_policy::value;
    return at.is_open() ? at.over(runtime::visible_gpus()) : at;
  }
  /// means: the pieces of a batch, under way
  static delivery send(Batch&& from, bool keep) {
    arrivals when;
    element there = std::apply([&](auto&... t) { return element{piece_of(t, when)...}; }, from);
    delivery d{std::nullopt, std::move(there), when};
    if (keep) d.from.emplace(std::move(from));
    return d;
  }

 private:
  template <class T, class E>
  static Tensor<T, E, rows_policy> piece_of(Tensor<T, E, CpuDevice>& from, arrivals& when) {
    using Pieces = Tensor<T, E, rows_policy>;
    Pieces t{typename Pieces::unmade{}};
    place const at = where();
    if (at.count() == 1 && at.at(0) == cpu(0)) {
      t.block = std::move(from.block);  // it is there
      t.block->where = at;
      t.block->tensor = static_cast<tensor_base const*>(&t);
    } else
      try {
        t.make_for(from.extents().as_shape(), at);
        bool const pinned = from.block->release == release_pinned;
        send_rows(*from.block.get(), *t.block.get(), pinned, when);  // a queue is in order
      } catch (...) {  // these pieces go, and those before them; devices may still write to them
        when.settle();
        throw;
      }
    return t;
  }
};

/// means: each batch as tensors whose rows are cut over the replicas. One batch is under way while the
///        one before it is computed with.
template <class Replicas, class Up>
struct replica_stage {
  static_assert(Up::is_batched,
                "locus: elements are distributed over replicas in batches; write batch(n) first");
  using batch = typename Up::element;
  using sender = replica_sender<Replicas, batch>;
  using element = typename sender::element;
  static constexpr bool is_shuffled = Up::is_shuffled, is_batched = true, is_distributed = true;
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
      sent_.arrived.synchronize();  // long ago; it may say what a kernel threw
      // from here on their memory may go in the order of the compute queues
      under_way_->arrived.order(std::get<0>(under_way_->there).block->where);
      std::optional<element> out(std::move(under_way_->there));
      sent_ = {std::move(under_way_->from), under_way_->arrived};
      under_way_.reset();
      // before the caller computes with what it gets, but never waiting for what is not read yet
      if (overlaps_ && is_ready()) send();
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
      overlaps_ = any_gpu && runtime::table.gpu_backing != backing::host;
      o.pinned = overlaps_;
      return o;
    }
    bool is_ready() {
      if constexpr (requires { up_.ready(); })
        return up_.ready();
      else
        return false;
    }
    /// the next batch on its way
    void send() {
      if (ended_) return;
      ended_ = true;
      try {
        std::optional<batch> from = up_.next();
        if (!from) return;
        int const replicas = sender::where().count();
        if (std::int64_t const n = std::get<0>(*from).extent(0); first_ && n < replicas)
          warn_of_idle_replicas(n, replicas);
        first_ = false;
        under_way_.emplace(sender::send(*std::move(from), overlaps_));
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
