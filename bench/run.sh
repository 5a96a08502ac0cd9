#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmarks with every rival that Debian has, runs them, and writes tables and pictures to
# bench/results/DATE-host*. Run it on a quiet machine: each figure is a ratio to a rival that ran in the
# same round. Then the table is compared with the one before it: exit code 1 where a row has become slower
# (bench/compare.py).
#     sh bench/run.sh [programs: machine maps math ...]      FILTER=TEXT: groups with that text alone
set -eu
cd "$(dirname "$0")/.."
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev libbenchmark-dev libopenblas-openmp-dev \
  '?libeigen3-dev' '?libfftw3-double3' '?libfftw3-single3' '?libxtensor-dev' '?libxsimd-dev' '?libarmadillo-dev' '?libtrilinos-kokkos-dev' '?libtorch-dev'
build=${BUILD:-build-bench}
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dcuda=disabled -Dbenchmarks=enabled
[ $# -gt 0 ] || set -- $(sed -n "s/^bench_programs = \[\(.*\)\]$/\1/p" bench/meson.build | tr -d "',")
targets=
for name; do targets="$targets bench/host_$name"; done
ninja -C "$build" $targets
# threads on cores of their own; those of rivals look out for the next loop for a tenth of a
# millisecond, as those of locus do, so that none spins beside what is measured after them
export OMP_PROC_BIND=true OMP_PLACES=cores GOMP_SPINCOUNT=20000
stem=bench/results/$(date +%F)-host
mkdir -p bench/results
: >"$build/results.jsonl"
for name; do "$build/bench/host_$name" ${FILTER:+"--filter=$FILTER"} >>"$build/results.jsonl"; done
python3 bench/tables.py "$build/results.jsonl" "$stem" \
  "Host: $(date +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(c++ --version | head -n 1)"
cat "$stem.md"
before=$(ls bench/results/*-host.md | grep -v "^$stem.md$" | tail -n 1)
[ -z "$before" ] || python3 bench/compare.py "$stem.md" "$before"
