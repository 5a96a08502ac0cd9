#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvcc.py [OLDER [ROUNDS [ROW...]]]: seconds of nvcc (-O3 -arch=sm_90, processor time of all its processes) for a map, a sum and both: with
locus, and by CUB by hand; with LOCUS_GPU_ENGINE=own, and with the headers of the commit OLDER (eebe06b). In random order within each of ROUNDS
(2) rounds; the ratio is the median of those of the rounds. ROW: `map beside OLDER`, `sum with own kernels beside OLDER`, `both over a compiled run time beside CUB by hand` ... in place of the
goals."""
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure

SOURCES = {'map': 'elementwise', 'sum': 'reduction', 'both': 'both'}
GOALS = ['map beside CUB by hand', 'sum beside CUB by hand', 'both beside CUB by hand', *(f'{what} over a compiled run time beside CUB by hand' for what in SOURCES), 'map with own kernels beside OLDER']


def main():
    older, rounds = sys.argv[1] if len(sys.argv) > 1 else 'eebe06b', int(sys.argv[2]) if len(sys.argv) > 2 else 2
    nvcc = shutil.which('nvcc') or str(measure.CUDA / 'bin/nvcc')
    with tempfile.TemporaryDirectory() as work:
        archive = subprocess.run(['git', '-C', measure.ROOT, 'archive', older, 'include'], check=True, capture_output=True).stdout
        subprocess.run(['tar', '-x', '-C', work], input=archive, check=True)

        def command(source, include=measure.ROOT / 'include', flags=()):
            return [nvcc, '-std=c++20', '-O3', '-arch=sm_90', *flags, f'-I{include}', '-c', measure.HERE / f'sources/{source}.cu',
                    '-o', os.path.join(work, 'unit.o')]

        compiled, own, before = ['-DLOCUS_COMPILED'], ['-DLOCUS_GPU_ENGINE=own'], os.path.join(work, 'include')
        jobs = {}
        for what, source in SOURCES.items():
            ours = f'{source}_locus'
            jobs[f'{what} beside CUB by hand'] = command(ours), command(f'{source}_cub')
            jobs[f'{what} over a compiled run time beside CUB by hand'] = command(ours, flags=compiled), command(f'{source}_cub')
            jobs[f'{what} beside OLDER'] = command(ours), command(ours, before)
            jobs[f'{what} with own kernels beside OLDER'] = command(ours, flags=own), command(ours, before, own)
        rows = sys.argv[3:] or GOALS
        taken = {name: ([], []) for name in rows}
        for _ in range(rounds):
            for name, which in random.sample([(n, w) for n in rows for w in (0, 1)], 2 * len(rows)):
                found, error = measure.compile_once(jobs[name][which])
                taken[name][which].append(found[0] if found else sys.exit(error))
    for name, (ours, theirs) in taken.items():
        ratios = sorted(a / b for a, b in zip(ours, theirs))
        print(f'{name.replace("OLDER", older)}: {statistics.median(ours):.1f} s and {statistics.median(theirs):.1f} s, '
              f'ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})', flush=True)


if __name__ == '__main__':
    main()
