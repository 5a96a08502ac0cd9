// SPDX-License-Identifier: Apache-2.0
// NCCL itself on one GPU: a communicator of one rank through the library's own path, and two
// processes that NCCL takes for two hosts (NCCL_HOSTID; a test's trick, never for real nodes).
// Exit status 77: no GPU or no NCCL here.
#include <locus/cuda.cuh>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace locus;

namespace {

int failures = 0;
void check(bool ok, char const* what) {
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what);
}

/// what a plan would do over one card, were one card worth a communicator
void one_rank() {
  constexpr std::int64_t n = 1000;
  Tensor<float, Extents<n>, GpuDevice<0>> t(iota<float>(Extents<n>{}));
  replica_topology alone = look_at(device_list(gpu(0)));
  alone.how = collective_algorithm::nccl;
  for (auto const order : {reduction_order::fast, reduction_order::ranked}) {
    config::set_reduction_order(order);
    internal::reduction_job j;
    j.count = n, j.element_bytes = 4, j.type = runtime::nccl_type::float32;
    j.terms[0] = j.outs[0] = t.data(), j.fold = &fold_replicas<reduction::sum, float>;
    j.record = {-1, "all_reduce", gpu(0)};
    internal::replica_reducer(alone, {"all_reduce", -1}).all_reduce(&j, 1);
    if (j.done[0].is_set()) runtime::wait(*alone.on[0], queue_kind::compute, j.done[0]);
  }
  config::set_reduction_order(reduction_order::fast);
  check(fetch(sum(t)) == n * (n - 1) / 2, "a sum over one rank is the value");
  check(detail::communicators().sets.size() == 1, "one set of communicators");
}

/// one of two processes that share the card; what they know of each other goes through a pipe
int run_rank(int rank, int channel) {
  runtime::nccl_api const& api = *runtime::nccl;
  runtime::nccl_id id{};
  if (rank == 0) {
    check(api.make_id(&id) == 0, "a unique id");
    check(write(channel, &id, sizeof id) == ssize_t(sizeof id), "the id is sent");
  } else
    check(read(channel, &id, sizeof id) == ssize_t(sizeof id), "the id arrives");
  logical_device& d = runtime::find_device(gpu(0));
  Tensor<float, Extents<4>, GpuDevice<0>> t{1.f + float(rank), 10, 100, float(rank)};
  void* comm = nullptr;
  {
    detail::nccl_card_scope const card(d);
    int const code = api.init_rank(&comm, 2, &id, rank);
    check(code == 0 || code == runtime::nccl_in_progress, "a rank begins");
  }
  auto settled = [&](double seconds) {
    double const begin = seconds_now();
    for (int state = runtime::nccl_in_progress;; usleep(1000)) {
      if (api.async_state(comm, &state) != 0) return -1;
      if (state != runtime::nccl_in_progress) return state;
      if (seconds_now() - begin > seconds) return state;
    }
  };
  if (settled(60) != 0) {
    std::fprintf(stderr, "rank %d: %s\n", rank, api.last_error(nullptr));
    api.abort(comm);
    return 1;
  }
  void* const stream = detail::stream_of(d, queue_kind::compute);
  int const code = api.all_reduce(t.data(), t.data(), 4, runtime::nccl_type::float32,
                                  runtime::nccl_sum, comm, stream);
  check(code == 0 || code == runtime::nccl_in_progress, "an all_reduce of two processes");
  check(settled(60) == 0, "it is taken");
  auto const host = to<CpuDevice>(t);
  check(host(0) == 3 && host(1) == 20 && host(2) == 200 && host(3) == 1, "its sums");
  if (rank == 1) _exit(failures ? 1 : 0);  // without a word: the other must find out
  // rank 1 is gone: the next operation does not end, and is ended
  t = full<float>(Extents<4>{}, 1.f);
  api.all_reduce(t.data(), t.data(), 4, runtime::nccl_type::float32, runtime::nccl_sum, comm,
                 stream);
  void* const behind = runtime::cuda_event_of(runtime::mark(d, queue_kind::compute));
  double const begin = seconds_now();
  bool ended = false, failed = false;
  while (!ended && !failed && seconds_now() - begin < 10) {
    int state = 0;
    failed =
        api.async_state(comm, &state) != 0 || (state != 0 && state != runtime::nccl_in_progress);
    runtime::gpu_api->event_query(behind, &ended);
    usleep(1000);
  }
  // the socket tells NCCL that its peer is gone: NCCL 2.28 reports a remote error and lets the stream go on (H200,
  // 2026-11-26), another way of NCCL waits for ever; it never says that all is well
  check(!ended || failed, "an all_reduce without its peer is not done");
  check(api.abort(comm) == 0, "it can be ended");
  return failures ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return run_rank(std::atoi(argv[1]), std::atoi(argv[2]));
  int version = 0;
  if (config::count_logical_gpus() == 0 || runtime::nccl->version(&version) != 0) {
    std::puts("skipped: no GPU, or no NCCL, is here");
    return 77;
  }
  one_rank();
  int ends[2];
  if (pipe(ends) != 0) return 1;
  pid_t ranks[2];
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = fork();
    if (ranks[rank] != 0) continue;
    setenv("NCCL_HOSTID", rank == 0 ? "locus-test-0" : "locus-test-1", 1);
    for (char const* off : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) setenv(off, "1", 1);
    setenv("NCCL_NET", "Socket", 1), setenv("NCCL_MAX_CTAS", "1", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    std::string const number = std::to_string(rank), channel = std::to_string(ends[rank == 0]);
    execl("/proc/self/exe", argv[0], number.c_str(), channel.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  for (pid_t const r : ranks) {
    int status = 0;
    waitpid(r, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process of two");
  }
  return failures ? 1 : 0;
}
