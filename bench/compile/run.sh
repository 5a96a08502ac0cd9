#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What compiling costs, of locus and of Eigen, xtensor, Armadillo, Thrust, CUB and plain loops: a table
# and a picture in bench/results/DATE-compile*. About three minutes a round on a quiet machine.
#     sh bench/compile/run.sh [ROUNDS]      5 rounds without it
set -eu
cd "$(dirname "$0")/../.."
sh test/tools/install.sh g++ python3 '?clang' '?libomp-dev' '?libeigen3-dev' '?libxtensor-dev' '?libxsimd-dev' '?libarmadillo-dev'
mkdir -p bench/results
exec python3 bench/compile/measure.py "bench/results/$(date +%F)-compile" "${1:-5}"
