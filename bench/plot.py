#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot.py TABLE.md PICTURE.svg: a bar for each rival, its time over that of locus (median, min to
max); right of the line at 1 locus is the faster one."""
import math
import re
import sys

ROW = re.compile(r'\| ([^|]+) \| ([^|]+) \| [^|]+ \| ([^|]*) \| ([\d.]+) \(([\d.]+)\.\.([\d.]+)\) \|')


def rows(path):
    with open(path) as table:
        for what, candidate, rate, *ratios in ROW.findall(table.read()):
            if candidate.strip() != 'locus':
                yield f'{what.strip()}: {candidate.strip()}', *(float(r) for r in ratios)


def draw(data, left=430, width=400, bar=22):
    low, high = 0.5, 2.0

    def x(ratio):
        ratio = min(max(ratio, low), high)
        return left + width * math.log(ratio / low) / math.log(high / low)

    height = bar * (len(data) + 2)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for tick in (0.5, 0.7, 1.0, 1.4, 2.0):
        out.append(f'<line x1="{x(tick):.0f}" x2="{x(tick):.0f}" y1="0" y2="{height - 20}" '
                   f'stroke="{"black" if tick == 1 else "#ddd"}"/>'
                   f'<text x="{x(tick):.0f}" y="{height - 6}" text-anchor="middle">{tick}</text>')
    for i, (name, middle, least, most) in enumerate(data):
        y = bar * i + 6
        colour = '#2a7' if middle >= 0.95 else '#c62'
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{name}</text>'
                   f'<rect x="{min(x(1), x(middle)):.1f}" y="{y}" height="{bar - 8}" '
                   f'width="{abs(x(middle) - x(1)) + 1:.1f}" fill="{colour}"/>'
                   f'<line x1="{x(least):.1f}" x2="{x(most):.1f}" y1="{y + 7}" y2="{y + 7}" stroke="#444"/>'
                   f'<text x="{left + width + 8}" y="{y + 12}">{middle:.2f}</text>')
    out.append(f'<text x="{left - 8}" y="{height - 6}" text-anchor="end">time of the rival / time of locus'
               '</text></svg>')
    return '\n'.join(out)


with open(sys.argv[2], 'w') as picture:
    picture.write(draw(list(rows(sys.argv[1]))))
