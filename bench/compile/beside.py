#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""beside.py OLDER [ROUNDS]: what compiling costs with these headers, and with those of the commit OLDER: processor
time of the compiler for units of test/compile_time, in random order within each of ROUNDS (7) rounds, and the median
of the rounds' ratios. CXX (g++) and CXXFLAGS (-O2) say how."""
import os
import random
import statistics
import subprocess
import sys
import tempfile

import measure

UNITS = {'include': 'include_only', 'one statement': 'one_statement', 'twenty statements': 'twenty_statements'}


def seconds(include, unit, out):
    found, error = measure.compile_once([
        os.environ.get('CXX', 'g++'), '-std=c++20', *os.environ.get('CXXFLAGS', '-O2').split(), '-I', include,
        '-c', measure.ROOT / f'test/compile_time/{unit}.cpp', '-o', out])
    return found[0] if found else sys.exit(error)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    older, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as work:
        archive = subprocess.run(['git', '-C', measure.ROOT, 'archive', older, 'include'], check=True,
                                 capture_output=True).stdout
        subprocess.run(['tar', '-x', '-C', work], input=archive, check=True)
        trees = {'now': str(measure.ROOT / 'include'), 'before': os.path.join(work, 'include')}
        for name, unit in UNITS.items():
            taken = {tree: [] for tree in trees}
            for _ in range(rounds):
                for tree in random.sample(list(trees), 2):
                    taken[tree].append(seconds(trees[tree], unit, os.path.join(work, 'unit.o')))
            ratios = sorted(n / b for n, b in zip(taken['now'], taken['before']))
            print(f"{name}: now {statistics.median(taken['now']):.2f} s, before {statistics.median(taken['before']):.2f} s, "
                  f'ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})', flush=True)


if __name__ == '__main__':
    main()
