#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples with one thread, with all, and as an older commit has them: wall time, in random order within each
round. Ratios are medians of the rounds: above 1 the example is quicker now, with all threads.

    python3 bench/examples.py OLDER [ROUNDS [EXAMPLE...]]      OLDER: another commit
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
arguments = {'04_mirrored_fashion_mnist': ['1', '2'], '07_text_cnn': ['1'], '08_fashion_mnist_cnn': ['1', '6000']}


def build(tree, folder, names):
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, 'build.ninja')):
        subprocess.run(['meson', 'setup', folder, tree, '-Dtests=disabled', '-Dcuda=disabled'], check=True, capture_output=True)
    subprocess.run(['ninja', '-C', folder, *('examples/' + n for n in names)], check=True, capture_output=True)


def seconds(folder, name, threads):
    began = time.monotonic()
    more = {} if threads is None else {'LOCUS_NUM_THREADS': str(threads), 'OMP_NUM_THREADS': str(threads)}
    subprocess.run([os.path.join(folder, 'examples', name), *arguments.get(name, [])], check=True, cwd=folder,
                   env={**os.environ, 'LOCUS_QUIET': '1', **more}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    older, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    listed = sorted(n[:-4] for n in os.listdir(os.path.join(root, 'examples')) if n[0].isdigit() and n.endswith('.cpp'))
    names = sys.argv[3:] or listed
    with tempfile.TemporaryDirectory() as work:
        archive = subprocess.run(['git', '-C', root, 'archive', older], check=True, capture_output=True).stdout
        os.mkdir(os.path.join(work, 'tree'))
        subprocess.run(['tar', '-x', '-C', os.path.join(work, 'tree')], input=archive, check=True)
        now, before = os.environ.get('BUILD', os.path.join(work, 'now')), os.path.join(work, 'before')
        build(root, now, names)
        build(os.path.join(work, 'tree'), before, names)
        candidates = {'now': (now, None), 'one thread': (now, 1), 'before': (before, None)}
        for name in names:
            taken = {c: [] for c in candidates}
            for _ in range(rounds):
                for c in random.sample(list(candidates), len(candidates)):
                    taken[c].append(seconds(candidates[c][0], name, candidates[c][1]))
            over = {c: statistics.median(t / n for t, n in zip(taken[c], taken['now'])) for c in candidates}
            print(f"{name}: {1000 * statistics.median(taken['now']):.0f} ms, one thread / now {over['one thread']:.2f}, "
                  f"before / now {over['before']:.2f}", flush=True)


main()
