#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Training beside four busy processes: steps in a second with one thread and with two, idle and beside them,
# in turn within each round, and the ratios that have goals. On two processors, whatever the machine has.
#     sh bench/shared_machine.sh [rounds: 9] [seconds of a slice: 0.4] [busy processes: 4]
set -eu
cd "$(dirname "$0")/.."
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev
build=${BUILD:-build-bench}
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dcuda=disabled
ninja -C "$build" bench/shared_machine
export LOCUS_QUIET=1
if command -v taskset >/dev/null && [ "$(nproc)" -gt 2 ]; then
  exec taskset -c "$(taskset -cp $$ | sed 's/.*: *//; s/-.*//; s/,.*//' | awk '{print $1 "," $1 + 1}')" \
    "$build/bench/shared_machine" "$@"
fi
exec "$build/bench/shared_machine" "$@"
