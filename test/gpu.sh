#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of device code on a real GPU: builds those of test/ptx for the architecture ARCH (90) and runs them. One card
# is enough: it becomes four logical GPUs. Without a GPU all are skipped. The last line is "N passed, N failed, N skipped".
#     sh test/gpu.sh      ARCH=90: of the card      BUILD=folder
cd "$(dirname "$0")/.."
TARGETS="gpu_programs test/cuda/nccl_on_one_gpu test/cuda/nccl_among_ranks" SUITES=gpu BUILD=${BUILD:-build-gpu-tests} exec sh test/run.sh -Dgpu_tests=true \
  -Dgpu_arch="${ARCH:-90}" -Dbenchmarks=disabled
