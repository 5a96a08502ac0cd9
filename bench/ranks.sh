#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs over ranks beside the same programs with MPI by hand: a sum, a stencil, a step of training.
#     sh bench/ranks.sh [ranks: 2] [pairs: 41]
# A step of training beside PyTorch's DistributedDataParallel with gloo, on 1, 2 and 4 ranks of 256 rows:
#     sh bench/ranks.sh ddp [rounds: 21] [ranks: 1,2,4] [rows: 256]      PYTHON=python3: one that has torch
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
[ "${1:-}" != ddp ] || "$python" bench/ranks_ddp.py check
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev libopenblas-openmp-dev libopenmpi-dev openmpi-bin
build=${BUILD:-build-bench}
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dcuda=disabled
if [ "${1:-}" = ddp ]; then
  shift
  ninja -C "$build" bench/ranks_ddp
  exec "$python" bench/ranks_ddp.py "$build/bench/ranks_ddp" "$@"
fi
ninja -C "$build" bench/ranks
export LOCUS_QUIET=1
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec mpirun -n "${1:-2}" --bind-to core "$build/bench/ranks" "${2:-41}"
