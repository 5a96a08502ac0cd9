// SPDX-License-Identifier: Apache-2.0
// Threads that compute elements ahead of the consumer. The order of the results is that of the
// elements, for every number of threads.
#pragma once
#include <chrono>              // steady_clock
#include <condition_variable>  // condition_variable
#include <memory>              // unique_ptr
#include <mutex>               // mutex
#include <optional>            // optional
#include <thread>              // thread
#include <unistd.h>            // getpid
#include <utility>             // exchange
#include <vector>              // vector

#include <locus/core/macros.hpp>      // LOCUS_LEAN_BEGIN
#include <locus/data/stage.hpp>       // opening, name_element
#include <locus/runtime/signals.hpp>  // without_signals

LOCUS_LEAN_BEGIN

namespace locus::data::detail {

/// means: f(element, position) of a stage's elements, computed by `threads` threads, in order
/// cost:  two locks for each chunk of elements: one element at first, and up to `most` where they are
///        made within microseconds. At most `ahead` elements, and a chunk, are in memory at a time
/// fails: next() throws the exception of the source or of f at the element that caused it, and ends
///        the pass
/// after: the destructor waits for elements in work. In a forked child, which does not have the
///        threads, next() throws, and memory is not freed before the end of the process.
template <class Up, class F, class Out>
class workers {
 public:
  workers(Up const& up, F const& f, opening const& o, int threads, std::int64_t ahead, int most)
      : team_(new team(up, f, o, ahead, most)) {
    try {
      runtime::without_signals const hold_back;
      for (int k = 0; k < threads; ++k) team_->threads.emplace_back([t = team_] { t->serve(); });
    } catch (std::system_error const&) {}  // fewer then; without any the consumer computes
  }
  workers(workers const&) = delete;
  ~workers() {
    if (getpid() != team_->process) return;
    {
      std::lock_guard hold(team_->lock);
      team_->stop = true;
    }
    team_->room.notify_all();
    for (std::thread& t : team_->threads) t.join();
    delete team_;
  }
  std::optional<Out> next() {
    for (;;) {
      if (at_ < now_.made.size()) return std::move(now_.made[at_++]);
      if (now_.failure) {
        now_.last = true;
        std::rethrow_exception(std::exchange(now_.failure, nullptr));
      }
      if (now_.last) return std::nullopt;
      now_.made.clear(), at_ = 0;
      team_->take(now_);
    }
  }

  /// means: next() would return without waiting
  bool ready() {
    if (at_ < now_.made.size() || now_.failure || now_.last) return true;
    if (getpid() != team_->process) return false;
    std::lock_guard hold(team_->lock);
    return team_->ring[std::size_t(team_->taken) % team_->ring.size()].full;
  }

 private:
  struct slot {
    std::vector<Out> made;
    std::exception_ptr failure;  // thrown after the elements of `made`
    bool full = false, last = false;
  };
  struct team {
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::microseconds short_time{
        100};  // a chunk that takes less is doubled

    team(Up const& up, F const& of, opening const& o, std::int64_t ahead, int limit)
        : source(up.open(o)), f(of), epoch(o.epoch), most(limit), ring(std::size_t(ahead)) {}

    void serve() noexcept {
      while (make_one()) {}
    }
    /// false: there is nothing more to do
    bool make_one() {
      std::unique_lock pulling(pull_lock);
      int size;
      {
        std::unique_lock l(lock);
        room.wait(l, [&] {
          return stop || elements + chunk <= taken_elements + std::int64_t(ring.size());
        });
        if (stop) return false;
        size = chunk;
      }
      if (ended) return false;
      auto const begin = clock::now();
      std::int64_t const number = pulled++, first = elements;
      std::vector<typename Up::element> in;
      slot s;
      try {
        for (int k = 0; k < size; ++k) {
          auto e = source.next();
          if (!e) {
            ended = true;
            break;
          }
          in.push_back(*std::move(e)), ++elements;
        }
      } catch (...) {
        s.failure = std::current_exception(), ended = true;
      }
      s.last = ended;
      pulling.unlock();
      position at{epoch, first};
      try {
        s.made.reserve(in.size());
        for (auto& e : in) s.made.push_back(f(std::move(e), at)), ++at.element;
      } catch (...) {
        s.failure = name_element("map", at), s.last = true;
      }
      bool const is_short = clock::now() - begin < short_time;
      {
        std::lock_guard hold(lock);
        chunk = is_short ? (2 * size < most ? 2 * size : most) : (size + 1) / 2;
        s.full = true;
        ring[std::size_t(number) % ring.size()] = std::move(s);
      }
      ready.notify_one();
      return true;
    }
    void take(slot& to) {
      if (getpid() != process)
        throw configuration_error("locus: a dataset that was being read when this process was "
                                  "forked has no threads here; "
                                  "begin the pass in the child");
      if (threads.empty()) make_one();
      std::unique_lock l(lock);
      slot& s = ring[std::size_t(taken) % ring.size()];
      ready.wait(l, [&] { return s.full; });
      std::swap(to, s);
      s = slot{};
      ++taken, taken_elements += std::int64_t(to.made.size());
      l.unlock();
      room.notify_one();
    }

    std::mutex pull_lock, lock;
    std::condition_variable room, ready;
    decltype(std::declval<Up const&>().open(opening{})) source;  // pull_lock
    F const& f;
    std::uint64_t epoch;
    int most;
    std::int64_t pulled = 0, elements = 0;  // pull_lock
    bool ended = false;                     // pull_lock
    std::vector<slot> ring;                 // lock
    std::int64_t taken = 0;                 // lock: chunks
    std::int64_t taken_elements = 0;        // lock
    int chunk = 1;                          // lock: elements of the next chunk
    bool stop = false;                      // lock
    std::vector<std::thread> threads;
    int process = getpid();
  };
  team* team_;
  slot now_;
  std::size_t at_ = 0;
};

}  // namespace locus::data::detail

LOCUS_LEAN_END
