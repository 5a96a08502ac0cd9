#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything that this machine can build, runs every test. The last
# line is "N passed, N failed, N skipped".
#     sh test/run.sh [options of meson setup]      BUILD: the folder, SUITES: some suites only
set -eu
cd "$(dirname "$0")/.."
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 doctest-dev zlib1g-dev \
  '?libopenblas0-openmp' '?libopenmpi-dev' '?openmpi-bin' '?dataset-fashion-mnist' '?fortunes' '?fortunes-min' '?clang' '?cmake' '?python3-numpy' '?libeigen3-dev' '?libfftw3-double3' '?libfftw3-single3' '?libdlpack-dev' '?libbenchmark-dev' '?clang-format-19' '?clang-tidy-19' '?clang-19' '?graphviz' '?gdb' '?lldb-19' '?doxygen' '?g++-aarch64-linux-gnu' '?qemu-user'
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
# a finding of UndefinedBehaviorSanitizer ends its test, which fails
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
build=${BUILD:-build}
[ -f "$build/build.ninja" ] || meson setup "$build" "$@"
ninja -C "$build" -k 0 ${TARGETS:-} && built=0 || built=1
suites=
for suite in ${SUITES:-}; do suites="$suites --suite $suite"; done
rm -f "$build/meson-logs/testlog.json"  # of an earlier run
meson test -C "$build" --no-rebuild --num-processes "${JOBS:-2}" --print-errorlogs $suites && tested=0 || tested=$?
EXTRA_FAILED=$built TESTED=$tested exec python3 test/tools/summary.py "$build/meson-logs/testlog.json"
