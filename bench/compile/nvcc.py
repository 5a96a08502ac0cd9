#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvcc.py [OLDER [ROUNDS]]: seconds of nvcc (-O3 -arch=sm_90, processor time of all its processes) for a map, a sum and both: with locus, and
by CUB by hand; with LOCUS_GPU_ENGINE=own, and with the headers of the commit OLDER (eebe06b). In random order within each of ROUNDS (3) rounds;
the ratio is the median of those of the rounds."""
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure

PAIRS = {f'{what}, beside CUB by hand': (f'{source}_locus', f'{source}_cub')
         for what, source in (('map', 'elementwise'), ('sum', 'reduction'), ('both', 'both'))}


def main():
    older, rounds = sys.argv[1] if len(sys.argv) > 1 else 'eebe06b', int(sys.argv[2]) if len(sys.argv) > 2 else 3
    nvcc = shutil.which('nvcc') or str(measure.CUDA / 'bin/nvcc')
    with tempfile.TemporaryDirectory() as work:
        archive = subprocess.run(['git', '-C', measure.ROOT, 'archive', older, 'include'], check=True, capture_output=True).stdout
        subprocess.run(['tar', '-x', '-C', work], input=archive, check=True)

        def command(source, include=measure.ROOT / 'include', flags=()):
            return [nvcc, '-std=c++20', '-O3', '-arch=sm_90', *flags, f'-I{include}', '-c', measure.HERE / f'sources/{source}.cu',
                    '-o', os.path.join(work, 'unit.o')]

        own = ['-DLOCUS_GPU_ENGINE=own']
        jobs = {name: (command(ours), command(theirs)) for name, (ours, theirs) in PAIRS.items()}
        jobs[f'map with own kernels, beside {older}'] = (command('elementwise_locus', flags=own),
                                                         command('elementwise_locus', os.path.join(work, 'include'), own))
        taken = {name: ([], []) for name in jobs}
        for _ in range(rounds):
            for name, which in random.sample([(n, w) for n in jobs for w in (0, 1)], 2 * len(jobs)):
                found, error = measure.compile_once(jobs[name][which])
                taken[name][which].append(found[0] if found else sys.exit(error))
    for name, (ours, theirs) in taken.items():
        ratios = sorted(a / b for a, b in zip(ours, theirs))
        print(f'{name}: {statistics.median(ours):.1f} s and {statistics.median(theirs):.1f} s, ratio {statistics.median(ratios):.2f} '
              f'({ratios[0]:.2f} to {ratios[-1]:.2f})', flush=True)


if __name__ == '__main__':
    main()
