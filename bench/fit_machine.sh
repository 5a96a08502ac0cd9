#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures this host for predictions, with one thread a rank, and writes a machine that
# machines::from_file reads. Takes half a minute.
#     sh bench/fit_machine.sh FILE [ranks: 4]
set -eu
file=$1
most=${2:-4}
cd "$(dirname "$0")/.."
build=${BUILD:-build-bench}
program=${PROGRAM:-$build/bench/fit_machine}
if [ ! -x "$program" ]; then
  sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev libopenblas-openmp-dev libopenmpi-dev openmpi-bin
  [ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dcuda=disabled
  ninja -C "$build" bench/fit_machine
fi
export LOCUS_QUIET=1 LOCUS_NUM_THREADS=1 OMP_NUM_THREADS=1
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() {
  ranks=$1
  shift
  ${BEFORE:-} mpirun -n "$ranks" --oversubscribe --map-by core --bind-to core:overload-allowed --mca mpi_yield_when_idle 1 "$program" "$@"
}
{
  echo '# locus machine 1'
  echo "name,,,$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1), $(getconf _NPROCESSORS_ONLN) processors"
  echo "replicas_per_node,,$most,"
  run 1
} > "$file.part"
# the shorter of two runs apart: others may have used this machine during one
alone=$({ cat "$file.part"; run 1; } | sed -n 's/^# seconds of steps: //p' | sort -g | head -n 1)
memory=$(sed -n 's/^bytes_per_second,,\([^,]*\),.*/\1/p' "$file.part")
ranks=2
while [ "$ranks" -le "$most" ]; do
  run "$ranks" "$alone" "$memory" >> "$file.part"
  ranks=$((ranks * 2))
done
echo 'end,,,' >> "$file.part"
mv "$file.part" "$file"
cat "$file"
