# SPDX-License-Identifier: Apache-2.0
"""The constants of the model, each with where it comes from. Bandwidths are in GB/s, cycles in those of the card.

sheet:   NVIDIA's data sheets and white papers of the A100, H100 SXM and H200 SXM: processors, bandwidth of the DRAM, bytes of
         the second cache, units of a processor (Hopper: 128 fp32, 64 fp64, 16 special; Ampere: 64, 32, 16, so 4, 2, .5 warps
         a cycle, or 2, 1, .5), four schedulers a processor.
clock:   the highest that Chips and Cheese saw (2023, "Nvidia's H100: Funny L2, and Tons of Bandwidth"): 1755 MHz on an H100
         PCIe, 1410 on an A100. Whether an H200 holds it under load is not known here.
assumed: of the right size by what such articles say; nobody measured it for this model.
fitted:  set so that the six transposes marked `fit` in published.py come out."""

MACHINES = {
    # processors, clock, dram: sheet; l2: assumed; fp32, fp64: warps a cycle and processor, sheet
    'a100': dict(sms=108, ghz=1.410, dram=1555, l2=4000, fp32=2, fp64=1),
    'a100-80': dict(sms=108, ghz=1.410, dram=2039, l2=4000, fp32=2, fp64=1),
    'h100': dict(sms=132, ghz=1.755, dram=3352, l2=5500, fp32=4, fp64=2),
    'h200': dict(sms=132, ghz=1.755, dram=4800, l2=5500, fp32=4, fp64=2),
}
COMMON = dict(
    achievable=0.93,       # of the DRAM's bandwidth, by loads alone (CUB's reductions on H200 reach 0.90)
    mixed=0.96,            # of that, where reads and writes alternate (fitted)
    memory_cycles=700,     # from a load to the use of what it brings, in a busy machine (assumed)
    cached_cycles=250,     # the same, where the second cache has it (assumed)
    near_cycles=35,        # the same, where the first cache has it (assumed)
    start_cycles=350,      # of a block: its launch, first instructions and constants, its end (fitted)
    start_of_warp=30,      # and of each of its warps, which all end before the next block begins (fitted)
    shared_cycles=30,      # from a load of shared memory to its use (assumed, as the next three)
    shuffle_cycles=25,
    barrier_cycles=40,
    dependent_cycles=4.5,  # from an instruction to the next one of its warp; every second one depends
    issue_share=0.9,       # of the four schedulers' slots that can be filled (assumed)
    product_share=0.8,     # of the fp32 units' rate that a product by cuBLAS reaches (assumed)
    store_lines=0.26,      # pieces of 128 bytes that a processor stores in a cycle (fitted)
    sharpness=3,           # of the soft maximum of throughput and latency (fitted)
    launch_us=2.2,         # of a kernel that does nothing (assumed)
    registers=65536, shared_bytes=228 * 1024, warps=64, blocks=32,  # of a processor (sheet)
)
