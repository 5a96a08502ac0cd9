#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Predictions beside measurements: measures this host, predicts and measures steps of training on 1, 2 and 4 ranks, in
# turns, and writes bench/results/DATE-predict*, a table and pictures. Takes two minutes besides compilation.
#     sh bench/predict.sh [rounds: 5]      BEFORE='chrt -r 1': a command in front of each run
set -eu
rounds=${1:-5}
cd "$(dirname "$0")/.."
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev libopenblas-openmp-dev libopenmpi-dev openmpi-bin
build=${BUILD:-build-bench}
if [ -z "${PROGRAMS:-}" ]; then
  [ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dcuda=disabled
  ninja -C "$build" bench/predict bench/fit_machine
  PROGRAMS=$build/bench
fi
export LOCUS_QUIET=1 LOCUS_NUM_THREADS=1 OMP_NUM_THREADS=1 PROGRAM="$PROGRAMS/fit_machine"
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
on() {
  ranks=$1
  shift
  ${BEFORE:-} mpirun -n "$ranks" --oversubscribe --map-by core --bind-to core:overload-allowed --mca mpi_yield_when_idle 1 "$PROGRAMS/predict" "$@"
}
round=1
while [ "$round" -le "$rounds" ]; do
  sh bench/fit_machine.sh "$work/host.csv" 4 > "$work/shown"
  on 1 host "$work/host.csv" > "$work/ones"
  cat "$work/ones" >> "$work/lines"
  for ranks in 2 4; do on "$ranks" host "$work/host.csv" "$work/ones" >> "$work/lines"; done
  round=$((round + 1))
done
stem=bench/results/$(date +%F)-predict
{
  python3 bench/predict_tables.py "$work/lines" "$stem" \
    "Predictions: $(date +%F), $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1), $(getconf _NPROCESSORS_ONLN) processors"
  printf '\n## The host, as it was measured in the last round\n\n```text\n'
  cat "$work/host.csv"
  printf '```\n\n## Beside published scaling\n\n'
  on 1 published
  printf '\n## Steps on H200\n\nNobody measured these.\n\n'
  on 1 cluster "$stem"
} > "$stem.md"
cat "$stem.md"
