#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmarks, runs them, writes bench/results/DATE-host.md and the picture beside it. Run it
# on a quiet machine: each figure is a ratio to a rival that runs in the same minute.
set -eu
cd "$(dirname "$0")/.."
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev libbenchmark-dev libopenblas-openmp-dev
build=${BUILD:-build-bench}
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dcuda=disabled -Dbenchmarks=enabled
ninja -C "$build" bench/host_bench
mkdir -p bench/results
table=bench/results/$(date +%F)-host.md
"$build/bench/host_bench" >"$table"
python3 bench/plot.py "$table" "${table%.md}.svg"
cat "$table"
