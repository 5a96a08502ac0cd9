#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All that takes hours: the sanitizers over every unit, the lines of each folder that the unit tests run, device code
# for every kind of PTX, its mutants, and whose kernels a step of training runs (ptx/shares.py), each header in a unit
# of its own for each compiler, unit tests on 64-bit Arm, random tests by the thousand, trainings over ranks that are
# killed, each test of many processes a hundred times, ranks of MPICH, ranks under SLURM. The last line is "N passed, N failed, N skipped".
#     sh test/long.sh      BUILD: the folder, SEED: of the random tests, JOBS: how many at once
set -u
cd "$(dirname "$0")/.."
out=${BUILD:-build-long}
export JOBS="${JOBS:-2}" SEED="${SEED:-$(date -u +%Y%m%d)}"
mkdir -p "$out"
passed=0 failed=0 skipped=0
echo "seed $SEED; SEED=$SEED gives it again"

# add NAME PASSED FAILED SKIPPED
add() {
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
  echo "$1: $2 passed; $3 failed; $4 skipped"
}
# tree NAME [options of meson setup]: a tree of its own, its counts added up
tree() {
  name=$1
  shift
  BUILD="$out/$name" sh test/run.sh "$@" >"$out/$name.log" 2>&1
  set -- $(tail -n 1 "$out/$name.log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
  [ $# = 3 ] || set -- 0 1 0
  [ "$2" = 0 ] || grep -E 'FAILED|ERROR|error:' "$out/$name.log" | head -n 40
  add "$name" "$@"
}
# once NAME COMMAND...: one test; 77 says that something which it needs is not there
once() {
  name=$1
  shift
  "$@" >"$out/log" 2>&1
  case $? in
    0) add "$name" 1 0 0 ;;
    77) add "$name" 0 0 1 ;;
    *) tail -n 40 "$out/log"; add "$name" 0 1 0 ;;
  esac
}

tree default -Druntime=headers
SUITES='unit laws random examples' TARGETS= tree compiled-run-time -Druntime=compiled -Dcuda=disabled
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; then
  SUITES=one_thread TARGETS=units tree arm --cross-file test/arm/aarch64.ini -Dcuda=disabled -Dopenmp=disabled
else
  add arm 0 0 1
fi
if command -v clang++ >/dev/null; then
  export CXX=clang++
  SUITES=unit TARGETS=units tree addresses -Dcuda=disabled -Dopenmp=disabled -Doptimization=0 \
    -Db_sanitize=address,undefined -Db_lundef=false
  SUITES=threads TARGETS=threads_units tree threads -Dcuda=disabled -Dopenmp=disabled -Doptimization=0 \
    -Db_sanitize=thread -Db_lundef=false
  unset CXX
else
  add sanitizers 0 0 2
fi
python=$(python3 -c 'import numpy' 2>/dev/null && echo python3 || echo /usr/bin/python3)
once 'algorithms of 10^6 rows beside NumPy, host' \
  "$python" test/numpy/check.py "$out/default/test/numpy/numpy_host" host 1000000
once 'each test of many processes 100 times' python3 test/mpi/repeat.py "$out/default" 100 "$JOBS"
once '200 trainings over ranks that are killed and go on' \
  python3 test/mpi/restarts.py mpirun "$out/default/test/mpi/mpi_restarts" 200 "$SEED"
if command -v mpirun.mpich >/dev/null; then
  SUITES=mpich TARGETS=mpich_programs tree mpich -Dcuda=disabled -Dlong_tests=true
else
  add 'ranks of MPICH' 0 0 1
fi
once 'ranks under SLURM' python3 test/mpi/slurm.py mpirun "$out/default/test/mpi/mpi_laws" "$out/default/test/mpi/mpi_heat"
once 'coverage of lines' python3 test/tools/coverage.py "$out/coverage"
cat "$out/log"
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if command -v nvcc >/dev/null; then
  SUITES='ptx numpy' TARGETS='card_programs numpy_programs' tree cards -Dlong_tests=true
  once 'algorithms of 10^6 rows beside NumPy, cards' env LD_LIBRARY_PATH="$out/cards/test/ptx" PTX_CARDS=1 LOCUS_CUDNN=off \
    PTX_DROPS=DeviceSegmentedSortKernel "$python" test/numpy/check.py "$out/cards/test/numpy/numpy_cards" cards 1000000
  once 'misuse under nvcc' python3 test/tools/compile_fail.py --jobs "$JOBS" test/fail/*.cpp -- \
    nvcc -std=c++20 -Iinclude -arch=sm_90 -DLOCUS_GPU_ENGINE=own
  once 'mutants of the GPU side' python3 test/ptx/mutants.py "$out/cards"
  once 'kernels of CUB in steps of training' python3 test/ptx/shares.py "$out/cards/test/ptx"
else
  add 'device code' 0 0 5
fi
headers=$(sed -n "s/^  '\(locus\/.*\.hpp\)',/\1/p" include/meson.build)
for compiler in g++ clang++-14 clang++-19; do
  if command -v "$compiler" >/dev/null; then
    once "each header alone ($compiler)" python3 test/tools/check_headers.py --jobs "$JOBS" --single $headers -- \
      "$compiler" -std=c++20 -Iinclude -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  else
    add "each header alone ($compiler)" 0 0 1
  fi
done
once 'compilers of newer Debians' sh test/headers/other_compilers.sh "$out/compilers" "$out/default/test/headers/all_headers.cpp"
once 'random programs' sh -c "g++ -std=c++20 -g0 -O1 -Iinclude test/random/programs.cpp -o $out/programs -ldl -pthread &&
  LOCUS_QUIET=1 $out/programs 1000000 $SEED"
once 'random strategies' sh -c "g++ -std=c++20 -g0 -O1 -Iinclude test/random/strategies.cpp -o $out/strategies -ldl -pthread &&
  LOCUS_QUIET=1 $out/strategies 1000000 $SEED"
once 'random expressions' sh -c "mkdir -p $out/random && rm -f $out/random/* &&
  python3 test/random/generate.py --seed $SEED --count 500 --out $out/random &&
  for u in test/random/main.cpp $out/random/*.cpp; do
    g++ -std=c++20 -g0 -Iinclude -Itest -c \$u -o $out/random/\$(basename \$u).o || exit 1
  done && g++ $out/random/*.o -o $out/random/run -ldl -pthread && LOCUS_QUIET=1 $out/random/run $out/random"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
