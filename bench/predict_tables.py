#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""predict_tables.py LINES STEM TITLE: the table of predictions beside measurements, to stdout; STEM-host.svg is its picture.

A cell is a median over rounds; an error is predicted / measured - 1, taken within each round."""
import json
import sys
from collections import OrderedDict
from statistics import median
from xml.sax.saxutils import escape

GOAL = {1: 0.15, 2: 0.15, 4: 0.25}


def seconds(t):
    return f'{t * 1e6:.3g} us' if t < 1e-3 else f'{t * 1e3:.3g} ms'


def table(groups):
    out = ['| step | ranks | measured | predicted [full overlap to none] | error: median (lowest to highest) | goal | '
           'error with the measured time of one rank |', '|---' * 7 + '|']
    for (what, ranks), rows in groups.items():
        errors = [r['predicted'] / r['measured'] - 1 for r in rows]
        ones = [r['with_one'] / r['measured'] - 1 for r in rows if r['with_one']]
        goal = GOAL[ranks]
        met = '' if abs(median(errors)) <= goal else ' **missed**'
        out.append(
            f"| {what} | {ranks} | {seconds(median(r['measured'] for r in rows))} | "
            f"{seconds(median(r['predicted'] for r in rows))} [{seconds(median(r['low'] for r in rows))} to "
            f"{seconds(median(r['high'] for r in rows))}] | {median(errors):+.1%} ({min(errors):+.1%} to {max(errors):+.1%}) | "
            f"{goal:.0%}{met} | " + (f'{median(ones):+.1%}' if ones else '') + ' |')
    return out


def picture(groups, title):
    left, width, step = 330, 400, 20
    rows = [(f'{what}: {ranks}', [r['predicted'] / r['measured'] - 1 for r in rs], GOAL[ranks])
            for (what, ranks), rs in groups.items()]
    height = step * (len(rows) + 3)

    def x(v):
        return left + width * (min(max(v, -0.6), 0.6) + 0.6) / 1.2

    parts = [f'<text x="{left}" y="14">predicted / measured - 1; grey: the goal</text>']
    for tick in (-0.5, -0.25, 0, 0.25, 0.5):
        parts += [f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{step}" y2="{height - step}" stroke="{"black" if tick == 0 else "#ddd"}"/>',
                  f'<text x="{x(tick):.1f}" y="{height - 5}" text-anchor="middle">{tick:+.0%}</text>']
    for k, (label, errors, goal) in enumerate(rows):
        y = step * (k + 1.5)
        colour = '#2a7' if abs(median(errors)) <= goal else '#c62'
        parts += [f'<rect x="{x(-goal):.1f}" y="{y - 7:.1f}" width="{x(goal) - x(-goal):.1f}" height="14" fill="#eee"/>',
                  f'<line x1="{x(min(errors)):.1f}" x2="{x(max(errors)):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>',
                  f'<circle cx="{x(median(errors)):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>',
                  f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="11">{escape(label)}</text>']
    return '\n'.join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}" font-family="sans-serif" '
                      'font-size="12">', f'<title>{escape(title)}</title>', '<rect width="100%" height="100%" fill="white"/>', *parts, '</svg>\n'])


def main():
    lines, stem, title = sys.argv[1:4]
    groups = OrderedDict()
    with open(lines) as text:
        for line in text:
            if line.startswith('{'):
                r = json.loads(line)
                groups.setdefault((r['what'], r['ranks']), []).append(r)
    groups = OrderedDict(sorted(groups.items(), key=lambda g: ([w for w, _ in groups].index(g[0][0]), g[0][1])))
    rounds = max(len(r) for r in groups.values())
    name = stem.split('/')[-1]
    print(f'# {title}\n\n`sh bench/predict.sh {rounds}`. Steps of training over ranks, one thread each, with the rows of the name on each rank.\n')
    print('\n'.join(table(groups)))
    print(f'\n![predicted beside measured]({name}-host.svg)')
    for what in ('07', '08', '11', 'resnet'):
        print(f'![efficiency of {what} on H200]({name}-{what}.svg)')
    with open(f'{stem}-host.svg', 'w') as out:
        out.write(picture(groups, title))


main()
