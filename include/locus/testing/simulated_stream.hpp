// SPDX-License-Identifier: Apache-2.0
// A stream of the program's own beside simulated GPUs, for tests of on_stream and use_stream.
#pragma once
#include <locus/backend/simulated/user_stream.hpp>  // guest_queue

namespace locus::testing {

/// means: a late queue that the program fills with kernels of its own
/// cost:  three of them exist, besides the default stream
class simulated_stream {
 public:
  /// number: 1, 2 or 3; the default stream is number 0
  explicit simulated_stream(int number = 1) : number_(number) {}
  void* handle() const { return number_ ? simulated::guest_handles + number_ : nullptr; }

  /// means: f(first) runs in the queue and reads or writes n elements of a GPU; first: their
  ///        address inside the kernel
  template <class T, class F>
  void launch(T* elements, std::int64_t n, bool writes, F f) const {
    simulated::cards& m = simulated::gpus();
    auto* const first = const_cast<std::remove_const_t<T>*>(elements);
    touched const operand{first, static_cast<std::size_t>(n) * sizeof(T), writes};
    m.issue(simulated::guest_queue(handle()), {-1, "a kernel of the user", m.device_of(first)},
            &operand, 1, [&m, first, f] { f(static_cast<T*>(m.behind(first))); });
  }
  void synchronize() const {
    simulated::gpus().synchronize(simulated::gpus().last(simulated::guest_queue(handle())));
  }

 private:
  int number_;
};

}  // namespace locus::testing
