#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Looks for bytes that a reader of locus does not refuse: libFuzzer from the corpus on, some seconds for
# each target. A finding ends it, and the input lies in FINDINGS: repair, and keep it in corpus/.
#     sh test/fuzz/run.sh                                builds with clang++, then 4 seconds a target
#     SECONDS_EACH=3600 sh test/fuzz/run.sh npy npz      an hour for each of two targets
#     PROGRAM=build/test/fuzz/fuzz_explore sh test/fuzz/run.sh     with a program that is there
# (-U__OPTIMIZE__: nothing is left without -O, see LOCUS_COLD_BEGIN.) One input has 10 seconds, 16 MiB in one piece and 512 MiB in all, sanitizers included. NEW keeps what
# was found worth keeping between runs; it is never written into corpus/.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${PROGRAM:-}" ]; then
  PROGRAM=$work/explore
  "${CXX:-clang++}" -std=c++20 -O1 -U__OPTIMIZE__ -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DLOCUS_LIBFUZZER \
    -I"$here/../../include" "$here/main.cpp" "$here/files.cpp" "$here/words.cpp" -o "$PROGRAM" -ldl -lz -pthread
fi
findings=${FINDINGS:-$PWD/fuzz-findings}
new=${NEW:-$work/new}
[ $# -gt 0 ] || set -- npy npz idx gz csv text checkpoint tensor machine names variables messages tables
export LOCUS_QUIET=1 OMP_NUM_THREADS=1 UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=4
total=0
for target; do
  mkdir -p "$new/$target" "$findings"
  case $target in
    names | variables | messages | tables) length=320 ;;
    npz | checkpoint) length=4096 ;;
    *) length=1024 ;;
  esac
  # shellcheck disable=SC2086
  LOCUS_FUZZ_TARGET=$target "$PROGRAM" "$new/$target" "$here/corpus/$target" -max_total_time="${SECONDS_EACH:-4}" \
    -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=16 -max_len="${MAX_LEN:-$length}" -dict="$here/words.dict" \
    -print_final_stats=1 -artifact_prefix="$findings/$target-" ${OPTIONS:-} >"$work/log" 2>&1 || {
    tail -n 60 "$work/log"
    echo "fuzz: $target: a finding; its input lies in $findings"
    exit 1
  }
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
  speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$work/log")
  echo "$target: $runs executions, $speed a second"
  total=$((total + runs))
done
rmdir "$findings" 2>/dev/null || :
echo "$total executions, no finding"
