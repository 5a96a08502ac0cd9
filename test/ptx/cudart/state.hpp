// SPDX-License-Identifier: Apache-2.0
// What the CUDA runtime keeps: kernels that nvcc's code registered, streams, events, blocks of memory.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../machine/machine.hpp"

#define PTX_API extern "C" __attribute__((visibility("default")))

namespace ptx::cudart {

inline unsigned from_environment(char const* name, unsigned otherwise) {
  char const* const s = std::getenv(name);
  return s ? static_cast<unsigned>(std::strtoul(s, nullptr, 0)) : otherwise;
}
/// what the machine pretends to have
struct machine_facts {
  int devices = int(from_environment("PTX_CARDS", 1));
  int capability = int(from_environment("PTX_CAPABILITY", 90));
  int processors = int(from_environment("PTX_PROCESSORS", 4));
  std::uint64_t bytes = std::uint64_t(from_environment("PTX_MEGABYTES", 16384)) << 20;
  bool late = from_environment("PTX_LATE", 0) != 0;  // streams run as late as they may
};
inline constexpr std::size_t shared_without_asking = 49152, shared_of_a_block = 232448,
                             shared_of_a_processor = 233472;

// ---- what nvcc's code registers before main ----
struct fat_binary {
  void const* data;
  std::unique_ptr<program> loaded;
  std::string problem;
  bool tried = false;
  std::vector<std::string> texts;
};
struct kernel_entry {
  fat_binary* in;
  std::string name;
  std::size_t dynamic_shared = 0;  // what was asked for; 0: what every kernel has
};
struct stream;
struct capture;
struct graph;
struct graph_exec;
struct event {
  std::shared_ptr<capture> captured_by;  // its last record was captured
  std::vector<std::size_t> last;         // with the works that it comes after
  stream* on = nullptr;
  std::uint64_t ticket = 0;
  std::int64_t when = 0;
  int device = 0;
  bool timed = true;
};
struct task {
  std::vector<event> waits;
  std::function<void()> work;
  std::uint64_t ticket;
};
struct stream {
  int device = 0;
  bool blocking = true;
  std::deque<task> tasks;
  std::vector<event> waits;
  std::uint64_t given = 0, done = 0;
  std::shared_ptr<capture> captured_by;
  std::vector<std::size_t> last;  // captured works that the next one comes after
};
enum class host_kind : std::uint8_t { pinned, managed, registered };
struct host_block {
  std::uint64_t bytes;
  host_kind kind;
  int device;
};

struct state {
  machine_facts facts;
  std::recursive_mutex lock;
  std::vector<std::unique_ptr<fat_binary>> binaries;
  std::map<void const*, kernel_entry> kernels;
  std::map<void const*, std::pair<fat_binary*, std::string>> variables;
  struct managed_variable {
    fat_binary* in;
    void** host;  // a pointer to it, which nvcc's code follows
    std::string name;
  };
  std::vector<managed_variable> managed;
  std::map<std::uint64_t, std::pair<std::uint64_t, int>> device_blocks;  // begin -> bytes, device
  std::map<void*, host_block> host_blocks;
  std::map<int, std::uint64_t> in_use;  // bytes of a device
  std::set<stream*> streams;
  std::map<int, stream> default_streams;
  std::set<event*> events;
  std::map<cudaGraph_t, std::shared_ptr<graph const>> graphs;
  std::set<graph_exec*> graph_execs;
  cudaError_t lost = cudaSuccess;  // what a kernel did
  std::uint64_t launches = 0;
};
state& all();
extern thread_local int current;
extern thread_local cudaError_t last;

inline cudaError_t note(cudaError_t e) {
  if (e != cudaSuccess && e != cudaErrorNotReady) last = e;
  return e;
}
/// A call that CUDA refuses; the program goes on.
struct refusal {
  cudaError_t code;
};
inline void require(bool holds, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!holds) throw refusal{otherwise};
}
inline void require_device(int d) {
  require(d >= 0 && d < all().facts.devices, cudaErrorInvalidDevice);
}
/// what a test planned for this call of a function; cudaSuccess: nothing
cudaError_t planned_failure(char const* function);
/// after these no call succeeds
bool ends_context(cudaError_t e);

/// a kernel, a copy or a library ended the context
inline void lose(fault const& what) {
  std::fprintf(stderr, "ptx machine: %s\n", what.what());
  if (options::instance().abort) std::abort();
  all().lost = cudaError_t(what.code);
}
/// every function of the runtime: one at a time, and none after a kernel failed
template <class F>
cudaError_t api(F&& f, char const* function = __builtin_FUNCTION()) {
  std::lock_guard hold(all().lock);
  if (all().lost != cudaSuccess) return note(all().lost);
  if (options::instance().without.what == function)
    return ++statistics::instance().left_out, cudaSuccess;
  if (cudaError_t const e = planned_failure(function)) {
    if (ends_context(e)) all().lost = e;
    return note(e);
  }
  try {
    return note(f(all()));
  } catch (refusal const& r) {
    return note(r.code);
  } catch (fault const& what) {
    lose(what);
    return note(all().lost);
  } catch (std::exception const& what) {
    std::fprintf(stderr, "ptx machine: %s\n", what.what());
    return note(cudaErrorInvalidKernelImage);
  }
}
/// a function that answers after a kernel failed, too
template <class F>
cudaError_t question(F&& f, char const* function = __builtin_FUNCTION()) {
  std::lock_guard hold(all().lock);
  if (cudaError_t const e = planned_failure(function)) return note(e);
  try {
    return note(f(all()));
  } catch (refusal const& r) {
    return note(r.code);
  }
}

// ---- streams.cpp ----
/// one for each card; the stream of each thread is the same one here
bool is_default(cudaStream_t s);
bool is_default(stream const& s);
stream& at(cudaStream_t s);
void complete(stream& s, std::uint64_t ticket);
/// all that it was given, and what its next task would wait for
void finish(stream& s);
void submit(cudaStream_t on, std::function<void()> work);
void finish_all();
void finish_device(int device);
void forget_stream(stream& s);

// ---- graphs.cpp ----
void capture_work(stream& s, std::function<void()> work);
/// a stream waits for an event, and one of them is captured
void capture_wait(stream& s, event const& e);
/// what is not possible with a captured stream or event ends its capture
void refuse_captured(std::shared_ptr<capture> const& c, cudaError_t code);
/// what is not possible while streams are captured ends the captures
void refuse_while_capturing(bool (*of)(capture const&, stream const&), cudaError_t code);
/// a call that may wait for a stream
bool is_unsafe_in(capture const& c, stream const& s);
/// a call for the default stream, which waits for all streams that block
bool is_waited_for(capture const& c, stream const& s);
void leave_capture(stream& s);

// ---- kernels.cpp ----
program& program_of(fat_binary& b);
kernel_entry* find_kernel(void const* symbol);
int target_of(std::string const& text);

}  // namespace ptx::cudart
