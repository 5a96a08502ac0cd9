// SPDX-License-Identifier: Apache-2.0
// Machines whose constants others published: nodes of eight H100 or H200, and two of P100 whose
// scaling was published, too. `assumed` says that nobody measured it for this table.
#pragma once
#include <locus/predict/machine.hpp>  // description

namespace locus::machines {

/// How the GPUs of several nodes add up: NCCL, which reads their memory, or the ranks of the program
/// through host memory, where NCCL cannot join them.
enum class between_nodes : unsigned char { by_library, through_hosts };

namespace detail {

/// means: the table of a ring or of switches with one time of a call, and one bandwidth of a bus
constexpr reduce_table by_latency(int replicas, double seconds, double bytes_per_second,
                                  std::string_view source) {
  reduce_table t;
  t.replicas = replicas, t.source = source;
  double const per_byte = 2. * (replicas - 1) / replicas / bytes_per_second;
  for (double const bytes : {1., 1e9}) t.push(bytes, seconds + bytes * per_byte);
  return t;
}

/// eight H200, nccl-tests by NCCL 2.30.7: microseconds
constexpr reduce_table eight_by_nvswitch(std::string_view source) {
  reduce_table t;
  t.replicas = 8, t.source = source;
  constexpr double kib = 1024, mib = 1024 * kib;
  constexpr time_table::entry us[] = {{32 * kib, 17.9}, {256 * kib, 18.6},   {mib, 25.3},
                                      {2 * mib, 40.1},  {4 * mib, 52.4},     {8 * mib, 80.6},
                                      {16 * mib, 121},  {32 * mib, 197},     {64 * mib, 318},
                                      {128 * mib, 571}, {1024 * mib, 4050.}, {16384 * mib, 62540.}};
  for (time_table::entry const& r : us) t.push(r.bytes, r.seconds * 1e-6);
  return t;
}

/// what nodes of H100 and of H200 share
constexpr description hgx(std::string_view name, int nodes, between_nodes how) {
  description m;
  m.name = name, m.nodes = nodes, m.replicas_per_node = 8;
  m.float_operations_per_second = {51.2e12,
                                   "bench/results/2026-11-26-gpu.md, H200: product of 4096"};
  m.double_operations_per_second = {61.9e12, "the same page: product of 4096"};
  m.half_operations_per_second = {687e12, "the same page: product of 8192"};
  m.launch_seconds = {2.2e-6, "assumed: test/ptx/model/machines.py"};
  m.neighbour_bytes_per_second = {360e9, "0.8 (assumed) of 450e9, NVLink of the data sheet"};
  m.neighbour_seconds = {10e-6, "assumed: a send and a receive of NCCL"};
  m.call_seconds = {5e-6, "assumed: the host's call of NCCL"};
  m.networks_per_node = {8, "data sheet: one NIC for each GPU"};
  m.network_bytes_per_second = {47e9, "NVIDIA/nccl-tests#290: 46 to 48 of 50 GB/s"};
  m.hop_seconds = {14e-6, "NCCL 2.28.9, src/graph/tuning.cc: ring, Simple, network"};
  if (how == between_nodes::through_hosts)
    m.staging_bytes_per_second = {50e9, "assumed: 0.8 of PCIe 5.0 x16"};
  return m;
}

/// measured on an H200 by locus
constexpr void add_convolutions(description& m) {
  constexpr std::string_view own =
      "bench/results/2026-11-26-gpu.md, H200: median of the six shapes above 10 Gflop, by cuBLAS";
  m.add(kernel_rate{"conv2d", {30.6e12, own}});
  m.add(kernel_rate{"conv2d_input_gradient", {27.7e12, own}});
  m.add(kernel_rate{"conv2d_kernel_gradient", {33.9e12, own}});
}

/// a P100 whose launches and calls cost what is assumed
constexpr description p100(std::string_view name, int nodes, int each) {
  description m;
  m.name = name, m.nodes = nodes, m.replicas_per_node = each;
  m.float_operations_per_second = {8.5e12, "0.8 (assumed) of 10.6e12, data sheet"};
  m.double_operations_per_second = {4.2e12, "0.8 (assumed) of 5.3e12, data sheet"};
  m.bytes_per_second = {585e9, "0.8 (assumed) of 732e9, data sheet"};
  m.launch_seconds = {5e-6, "assumed"};
  m.call_seconds = {20e-6, "assumed"};
  return m;
}

}  // namespace detail

/// means: nodes of eight H200 with NVLink and InfiniBand of 400 Gbit/s for each GPU
struct hgx_h200 {
  int nodes = 1;
  between_nodes carrier = between_nodes::by_library;
  constexpr description describe() const {
    description m = detail::hgx("HGX H200", nodes, carrier);
    m.bytes_per_second = {4.24e12, "bench/results/2026-11-26-gpu.md, H200: an update of Adam"};
    detail::add_convolutions(m);
    m.add(detail::eight_by_nvswitch("nccl-tests on 8 x H200, NCCL 2.30.7 (stas00/ml-engineering)"));
    return m;
  }
};

/// means: the same of H100, which has the processors of an H200 and a slower memory
struct hgx_h100 {
  int nodes = 1;
  between_nodes carrier = between_nodes::by_library;
  constexpr description describe() const {
    description m = detail::hgx("HGX H100", nodes, carrier);
    m.bytes_per_second = {2.993e12,
                          "0.93 * 0.96 of 3.352e12: data sheet, test/ptx/model/machines.py"};
    detail::add_convolutions(m);
    m.add(detail::eight_by_nvswitch("that of 8 x H200; 8 x H100 reach 476 to 480 GB/s at most, "
                                    "too (NVIDIA/nccl-tests#290)"));
    return m;
  }
};

/// means: a DGX-1 of eight P100, with which TensorFlow's scaling of 2017 was measured
struct dgx1_p100 {
  constexpr description describe() const {
    description m = detail::p100("DGX-1 with P100", 1, 8);
    m.add(detail::by_latency(8, 60e-6, 40e9, "assumed: half of 80e9, four NVLinks of a P100"));
    return m;
  }
};

/// means: hosts with four P100 and one NIC of 25 Gbit/s, with which Horovod's scaling was measured
struct p100_hosts {
  int nodes = 128;
  constexpr description describe() const {
    description m = detail::p100("hosts of four P100, 25 Gbit/s", nodes, 4);
    m.add(detail::by_latency(4, 60e-6, 10e9, "assumed: PCIe 3.0 x16 through a switch"));
    m.networks_per_node = {1, "horovod/horovod, docs/benchmarks.rst: 25 Gbit/s RoCE"};
    m.network_bytes_per_second = {3.1e9, "25 Gbit/s of the same page, less headers (assumed)"};
    m.hop_seconds = {30e-6, "assumed"};
    return m;
  }
};

}  // namespace locus::machines
