// SPDX-License-Identifier: Apache-2.0
// Plans ordered into a stream of the program's own, and such a stream as the queue of a device.
#pragma once
#include <locus/backend/gpus.hpp>         // devices_with_gpus
#include <locus/backend/user_stream.hpp>  // follow_guest, lend_stream
#include <locus/tensor/assign.hpp>        // run
#include <locus/tensor/eval.hpp>          // eval

namespace locus {

/// In place of a stream: use_stream<Device>(own_stream) gives the device its own stream again.
struct own_stream_t {};
inline constexpr own_stream_t own_stream{};

namespace detail {
/// a step of the plan runs, or a result lies, on a CPU
template <class Graph>
consteval bool touches_host() {
  auto const on_cpu = [](place const& p) {
    for (int r = 0; r < p.local_count(); ++r)
      if (p.at(r).is_cpu()) return true;
    return false;
  };
  for (step const& s : unchecked_plan<Graph>.steps)
    if (on_cpu(s.where)) return true;
  for (root const& r : unchecked_plan<Graph>.roots)
    if (on_cpu(r.result)) return true;
  return false;
}
template <class Graph, class F>
auto run_beside(on_stream const& s, F&& f) {
  if constexpr (touches_host<Graph>()) runtime::await_guest(s);
  runtime::guest_scope const scope(s);
  return f();
}
inline void lend(device d, void* stream, call_site where) {
  runtime::devices_with_gpus("use_stream", where);
  runtime::request_devices(single(d), "use_stream", where);
  runtime::lend_stream(runtime::find_device(d), stream);
}
inline void take_back(device d) { runtime::take_stream_back(runtime::find_device(d)); }
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: run(step) after the work that the stream has now, and before the stream's later work
/// cost:  two events for each device; the host waits for the stream only where the plan touches
///        host memory, and for the plan only where a destination is on the host
/// fails: placement_error, for a stream of another card, or for a pointer that is no stream
template <class Policy, class... Assignments>
void run(Plan<Policy, Assignments...> const& step, on_stream s,
         call_site where = call_site::here()) {
  detail::run_beside<typename Plan<Policy, Assignments...>::graph_type>(s,
                                                                        [&] { run(step, where); });
}
template <placement_policy Policy = default_policy, class E, class To>
void run(Assignment<E, To> assignment, on_stream s, call_site where = call_site::here()) {
  run(plan<Policy>(std::move(assignment)), s, where);
}
/// means: eval(x), ordered into a stream like run(step, stream)
template <placement_policy Policy = default_policy, tensor_operand X>
[[nodiscard]] auto eval(X&& x, on_stream s, call_site where = call_site::here()) {
  using E = std::remove_cvref_t<decltype(as_operand<void>(std::forward<X>(x)))>;
  return detail::run_beside<graph<Policy, root_of<E, nowhere>>>(
      s, [&] { return eval<Policy>(std::forward<X>(x), where); });
}

}  // namespace LOCUS_MODE

/// means: the device launches its kernels into that stream until use_stream<Device>(own_stream).
///        The program owns the stream and keeps it alive so long. Null is CUDA's default stream.
/// device: a GPU; without a GPU nothing happens
/// fails: placement_error, for a stream of another card, or for a pointer that is no stream
template <single_device Device>
void use_stream(void* stream, call_site where = call_site::here()) {
  detail::lend(Device::value.at(0), stream, where);
}
template <single_device Device>
void use_stream(own_stream_t) {
  detail::take_back(Device::value.at(0));
}
inline void use_stream(std::string_view name, void* stream, call_site where = call_site::here()) {
  detail::lend(device_named(name), stream, where);
}
inline void use_stream(std::string_view name, own_stream_t) {
  detail::take_back(device_named(name));
}

}  // namespace locus
