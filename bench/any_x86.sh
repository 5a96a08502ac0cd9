#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program for all x86-64 beside one for this machine: the same kernels at -O2 and at -O3 -march=native,
# time of the first / time of the second, median of paired rounds in random order. Thirty expressions
# are drawn at random, the seed is printed.
#     sh bench/any_x86.sh [ROUNDS [SEED]]      9 rounds without it; CXX: the compiler
exec python3 "$(dirname "$0")/any_x86.py" "$@"
