#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_time.py [ROUNDS]: what compiling costs header-only and over a compiled run time (LOCUS_COMPILED), beside Eigen: seconds of
the processor for one statement that makes its vector, and for twenty (sources/), and bytes of the objects. g++ -O3 -march=native, in
random order within each of ROUNDS (7) rounds; the ratio is the median of those of the rounds. Then the seconds of the run time itself,
-O2, once. CXX and CXXFLAGS say otherwise."""
import os
import random
import statistics
import sys
import tempfile

import measure

UNITS = {'one statement': ('tensor_locus', 'tensor_eigen'), 'twenty statements': ('locus', 'eigen')}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as work:
        def command(source, *flags):
            level = os.environ.get('CXXFLAGS', '-O3 -march=native').split()
            return [os.environ.get('CXX', 'g++'), '-std=c++20', *level, *flags, '-c', source, '-o', os.path.join(work, 'unit.o')]

        def once(words):
            found, error = measure.compile_once(words)
            return (found[0], os.path.getsize(os.path.join(work, 'unit.o'))) if found else sys.exit(error)

        include = ['-isystem', str(measure.ROOT / 'include')]
        for name, (ours, theirs) in UNITS.items():
            ways = {'headers': command(measure.HERE / f'sources/{ours}.cpp', *include),
                    'compiled': command(measure.HERE / f'sources/{ours}.cpp', *include, '-DLOCUS_COMPILED'),
                    'Eigen': command(measure.HERE / f'sources/{theirs}.cpp', *measure.LIBRARIES['eigen'])}
            taken = {way: [] for way in ways}
            for _ in range(rounds):
                for way in random.sample(list(ways), len(ways)):
                    taken[way].append(once(ways[way]))
            for way in ways:
                ratios = sorted(a / b for (a, _), (b, _) in zip(taken[way], taken['Eigen']))
                print(f'{name}, {way}: {statistics.median(s for s, _ in taken[way]):.2f} s, object {taken[way][0][1] / 1024:.0f} KB, '
                      f'beside Eigen {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})', flush=True)
        os.environ['CXXFLAGS'] = '-O2'
        for part in ('implementation', 'nn/implementation'):
            seconds, size = once(command(measure.ROOT / f'include/locus/{part}.cpp', *include))
            print(f'the run time, {part}.cpp: {seconds:.1f} s, {size / 1024:.0f} KB', flush=True)


if __name__ == '__main__':
    main()
