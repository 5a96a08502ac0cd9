#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_budgets.py [--write] BUDGETS PROGRAM...: kernels do not get worse. The program runs on the PTX machine, twice: the
second time with late streams and its warps in another order. Both times its counts must be the same, but for those that say which of two
warps came first, and for each label no larger than its line of BUDGETS says; issue slots may be 2 % more, since compilers
differ. --write makes the numbers of now
the budgets: a change that pays one figure with another does so, and its commit says why."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FIGURES = ('launches', 'issue_slots', 'load_sectors', 'load_misses', 'store_sectors', 'waits', 'shared_wavefronts',
           'warp_barrier', 'divergent', 'atomic_sectors')
SLACK = {'issue_slots': 1.02}
BY_ORDER = ('load_near', 'load_cached')


def counts_of(command, more):
    """label -> figures, over its kernels; copies by the host count as launches"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'counts.jsonl'
        done = subprocess.run(command, capture_output=True, text=True,
                              env={**os.environ, 'PTX_PROCESSORS': '132', **more, 'PTX_COUNTS': str(path)})
        if done.returncode:
            sys.exit(f'{command[0]} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}')
        if not path.exists():
            sys.exit(f'{command[0]} counted nothing: LD_LIBRARY_PATH must lead to the PTX machine, BUILD/test/ptx')
        text = path.read_text()
    found = {}
    launches = [json.loads(line) for line in text.splitlines()]
    for launch in launches:
        of = found.setdefault(launch['label'], dict.fromkeys(FIGURES, 0))
        for f in FIGURES:
            of[f] += launch.get(f, f == 'launches')
    same = [{k: v for k, v in launch.items() if k not in BY_ORDER} for launch in launches]
    return found, same, done.stderr


arguments = sys.argv[1:]
writes = arguments[:1] == ['--write']
path, *command = arguments[writes:] or sys.exit(__doc__)
if not command:
    sys.exit(__doc__)
found, once, said = counts_of(command, {})
wrong = []
_, again, said_again = counts_of(command, {'PTX_LATE': '1', 'PTX_SEED': '7'})
if again != once:
    wrong.append('with late streams and warps in another order the counts are others')
wrong += [text.strip() for text in (said, said_again) if 'ptx machine:' in text]

lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines() if os.path.exists(path) else []
if writes:
    comments = [line for line in lines if line.startswith('#')]
    width = max(map(len, found))
    table = [' '.join([f'{label:{width}} |', *(f'{of[f]:>{max(len(f), 8)}}' for f in FIGURES)]) for label, of in found.items()]
    head = ' '.join([f'{"label":{width}} |', *(f'{f:>8}' for f in FIGURES)])
    pathlib.Path(path).write_text('\n'.join(comments + [head] + table) + '\n', encoding='utf-8')

budgets, better = {}, 0
for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
    label, bar, numbers = line.partition(' |')
    if line.startswith('#') or label.strip() == 'label' or not line.strip():
        continue
    if not bar or len(numbers.split()) != len(FIGURES) or not all(n.isdigit() for n in numbers.split()):
        sys.exit(f'{path}: a label, a bar and {len(FIGURES)} numbers expected: {line}')
    if label.strip() in budgets:
        sys.exit(f'{path}: {label.strip()} stands there twice')
    budgets[label.strip()] = dict(zip(FIGURES, map(int, numbers.split())))
for label in found.keys() | budgets.keys():
    if label not in budgets:
        wrong.append(f'{label}: no budget; --write writes it')
    elif label not in found:
        wrong.append(f'{label}: a budget, but nothing ran under that label')
for label in [each for each in budgets if each in found]:
    for f in FIGURES:
        now, budget = found[label][f], budgets[label][f]
        if now > budget * SLACK.get(f, 1):
            wrong.append(f'{label}: {f} {now}, the budget is {budget}')
        elif now * SLACK.get(f, 1) < budget:
            better += 1
            print(f'{label}: {f} {now}, better than the budget of {budget}')
print('\n'.join(wrong))
print(f'{len(found)} labels, {len(wrong)} faults' + (f'; {better} figures are better: --write keeps them' if better else ''))
sys.exit(1 if wrong else 0)
