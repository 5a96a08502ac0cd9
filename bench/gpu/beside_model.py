#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""beside_model.py TIMES.tsv PREDICTIONS.md...: times that bench/gpu/families.cu measured on a card beside those that the
model of test/ptx/model predicted for statements whose largest tensor has 256 MiB; a table for bench/results."""
import statistics
import sys

LARGEST = 256 << 20


def measured(path):
    """statement -> microseconds at 256 MiB, bytes a second; of several runs the median"""
    times = {}
    with open(path) as lines:
        for line in lines:
            cells = line.rstrip('\n').split('\t')
            if len(cells) == 5:
                median, _, label, largest, touched = cells
                times.setdefault(label, []).append((float(median), int(largest), int(touched)))
    found = {}
    for label, runs in times.items():
        us, largest, touched = sorted(runs)[len(runs) // 2]
        found[label] = (us * LARGEST / largest, touched / us / 1e6)
    return found


def predicted(path):
    """statement -> microseconds; a row without a statement belongs to the one above, and the last row of one counts"""
    found, columns, label = {}, {}, ''
    with open(path) as lines:
        for line in lines:
            cells = [c.strip() for c in line.strip().strip('|').split('|')]
            if line.startswith('| statement'):
                columns = {name: k for k, name in enumerate(cells)}
            elif line.startswith('| ') and 'us' in columns and len(cells) > columns['us']:
                label = cells[0] or label
                us = cells[columns['us']].split('..')[-1]
                if us.replace('.', '').isdigit():
                    found[label] = float(us)
    return found


def main(times, *pages):
    model = {}
    for page in pages:
        model.update(predicted(page))
    errors = []
    print('| statement | predicted, us | measured, us | predicted / measured | TB/s |\n|---|---|---|---|---|')
    for label, (us, rate) in measured(times).items():
        if label not in model:
            continue
        errors.append(model[label] / us - 1)
        print(f'| {label} | {model[label]:.0f} | {us:.0f} | {model[label] / us:.2f} | {rate:.2f} |')
    off = [abs(e) for e in errors]
    print(f'\n{len(errors)} statements: the model is {100 * statistics.median(off):.1f} % off in the median, '
          f'{100 * max(off):.0f} % at most.')


if __name__ == '__main__':
    sys.exit(__doc__) if len(sys.argv) < 3 else main(*sys.argv[1:])
