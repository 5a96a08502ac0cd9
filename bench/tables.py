#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tables.py RESULTS.jsonl STEM [TITLE]: writes STEM.md, a table for each table of the results, and
pictures beside it: STEM-TABLE.svg, a bar for each rival (its time over that of locus, median, min to
max), and STEM-roofline.svg.

Each cell of a table is rival / locus: median (min..max) of the ratios taken round by round; above 1
locus is the faster one. `>= goal` follows where there is one, `missed` where the median is below."""
import json
import math
import sys
from collections import OrderedDict
from xml.sax.saxutils import escape


def load(path):
    """table -> (what, size, threads) -> the candidates' lines"""
    tables = OrderedDict()
    with open(path) as lines:
        for line in lines:
            if line.startswith('{'):
                r = json.loads(line)
                groups = tables.setdefault(r['table'], OrderedDict())
                groups.setdefault((r['what'], r['size']), []).append(r)
    return tables


def seconds(t):
    for unit, scale in (('ns', 1e9), ('us', 1e6), ('ms', 1e3)):
        if t * scale < 1000:
            return f'{t * scale:.3g} {unit}'
    return f'{t:.3g} s'


def rate(r, key='best'):
    if r['operations'] and not r['bytes']:
        return f"{r['operations'] / r[key] / 1e9:.0f} Gop/s"
    return f"{r['bytes'] / r[key] / 1e9:.0f} GB/s" if r['bytes'] else ''


def reached(r):
    return r['goal'] == 0 or r['ratio'] >= r['goal']


def cell(r):
    text = f"{r['ratio']:.2f} ({r['low']:.2f}..{r['high']:.2f})"
    if r['goal']:
        text += f" >= {r['goal']:g}" + ('' if reached(r) else ' **missed**')
    return text


def markdown(tables, stem, title):
    out = [f'# {title}', '']
    misses = []
    for name, groups in tables.items():
        rivals = list(OrderedDict.fromkeys(r['candidate'] for g in groups.values() for r in g
                                           if r['role'] != 'locus'))
        out += [f'## {name}', '', '| what | size | locus | ' + ' | '.join(rivals) + ' | accuracy |',
                '|---' * (len(rivals) + 4) + '|']
        for (what, size), rows in groups.items():
            by = {r['candidate']: r for r in rows}
            own = by.get('locus')
            cells = [cell(by[n]) if own and n in by else
                     f"{seconds(by[n]['median'])} {rate(by[n])}" if n in by else '' for n in rivals]
            accuracy = '; '.join(f"{r['candidate']}: {r['accuracy']}" for r in rows if r['accuracy'])
            mine = f"{seconds(own['median'])}, {rate(own, 'median')}" if own else ''
            out.append(f'| {what} | {size} | {mine} | ' + ' | '.join(cells) + f' | {accuracy} |')
            misses += [f"{name}: {what}, {size}: {r['candidate']} {cell(r)}" for r in rows if not reached(r)]
        out += ['', f'![{name}]({stem.split("/")[-1]}-{name.replace(" ", "-")}.svg)', '']
    out += ['## Goals that were missed', ''] + ([f'- {m}' for m in misses] or ['None.'])
    return '\n'.join(out) + '\n'


def line(x1, y1, x2, y2, colour, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def text(x, y, words, anchor='start', size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


def picture(width, height, parts):
    return '\n'.join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      'font-family="sans-serif" font-size="12">',
                      '<rect width="100%" height="100%" fill="white"/>', *parts, '</svg>\n'])


def bars(name, groups, left=470, width=420, step=19):
    """a bar for each rival and limit, on a logarithmic axis"""
    rows = [(f"{what}, {size}: {r['candidate']}", r) for (what, size), g in groups.items() for r in g
            if r['role'] != 'locus' and any(o['role'] == 'locus' for o in g)]
    most = max([r['high'] for _, r in rows] + [2])
    low, high = 0.4, 2 ** math.ceil(math.log2(min(most, 100)))

    def x(v):
        return left + width * math.log(min(max(v, low), high) / low) / math.log(high / low)

    height = step * (len(rows) + 3)
    parts = [text(left, 14, f'{name}: time of the rival / time of locus (right of 1: locus is faster)', 'middle')]
    ticks = [0.5, 1] + [2 ** k for k in range(1, int(math.log2(high)) + 1)]
    for t in ticks:
        parts += [line(x(t), step, x(t), height - step, 'black' if t == 1 else '#ddd'),
                  text(x(t), height - 5, f'{t:g}', 'middle', 11)]
    for i, (label, r) in enumerate(rows):
        y = step * (i + 1) + 4
        colour = '#bbb' if r['role'] == 'limit' else '#2a7' if reached(r) and r['ratio'] >= 0.95 else '#c62'
        begin, end = sorted((x(1), x(r['ratio'])))
        parts += [text(left - 8, y + 10, label, 'end', 11),
                  f'<rect x="{begin:.1f}" y="{y}" width="{end - begin + 1:.1f}" height="{step - 7}" fill="{colour}"/>',
                  line(x(r['low']), y + 6, x(r['high']), y + 6, '#444')]
        if r['goal']:
            parts.append(line(x(r['goal']), y - 2, x(r['goal']), y + step - 5, '#06c', 2))
        parts.append(text(left + width + 8, y + 10, f"{r['ratio']:.2f}", size=11))
    return picture(left + width + 60, height, parts)


def roofline(tables, left=60, width=640, height=420):
    """operations per byte against operations per second, under what the machine can do"""
    points, roofs, peak = [], {}, 0
    for name, groups in tables.items():
        for (what, size), g in groups.items():
            for r in g:
                if name == 'machine' and r['role'] == 'limit':
                    if what.startswith('peak'):
                        peak = max(peak, r['operations'] / r['best'])
                    elif what.startswith('STREAM') and r['threads'] == 1:
                        roofs[size] = max(roofs.get(size, 0), r['bytes'] / r['best'])
                if r['role'] == 'locus' and r['bytes'] and r['operations'] and r['threads'] == 1:
                    points.append((r['operations'] / r['bytes'], r['operations'] / r['median'], f'{what}, {size}'))
    if not points or not peak or not roofs:
        return None
    x_low, x_high = 2.0 ** -5, 2.0 ** 8
    y_low, y_high = 2.0 ** 28, 2.0 ** math.ceil(math.log2(peak) + 0.3)

    def x(v):
        return left + width * math.log(min(max(v, x_low), x_high) / x_low) / math.log(x_high / x_low)

    def y(v):
        return height - 40 - (height - 70) * math.log(max(v, y_low) / y_low) / math.log(y_high / y_low)

    parts = [text(left + width / 2, height - 6, 'operations per byte', 'middle'),
             text(left, 16, 'operations per second, one thread; dots: locus, lines: this machine')]
    for k in range(-5, 9):
        parts.append(text(x(2.0 ** k), height - 22, f'{2.0 ** k:g}', 'middle', 10))
    for k in range(28, int(math.log2(y_high)) + 1):
        parts += [line(left, y(2.0 ** k), left + width, y(2.0 ** k), '#eee'),
                  text(left - 4, y(2.0 ** k) + 4, f'{2.0 ** k / 1e9:.3g} G', 'end', 10)]
    for label, bandwidth in roofs.items():
        ridge = peak / bandwidth
        parts += [line(x(x_low), y(bandwidth * x_low), x(ridge), y(peak), '#06c'),
                  text(x(x_low) + 4, y(bandwidth * x_low) - 4, f'{label} {bandwidth / 1e9:.0f} GB/s', size=10)]
    parts += [line(x(peak / max(roofs.values())), y(peak), x(x_high), y(peak), '#06c'),
              text(x(x_high), y(peak) - 5, f'peak {peak / 1e9:.0f} Gop/s', 'end', 10)]
    for at, value, label in points:
        parts.append(f'<circle cx="{x(at):.1f}" cy="{y(value):.1f}" r="4" fill="#2a7"><title>{escape(label)}</title></circle>')
    return picture(left + width + 20, height, parts)


def main():
    results, stem = sys.argv[1:3]
    title = sys.argv[3] if len(sys.argv) > 3 else 'Host, measured'
    tables = load(results)
    files = {f'{stem}-{name.replace(" ", "-")}.svg': bars(name, groups) for name, groups in tables.items()}
    files[f'{stem}-roofline.svg'] = roofline(tables)
    files[f'{stem}.md'] = markdown(tables, stem, title)
    for path, content in files.items():
        if content:
            with open(path, 'w') as out:
                out.write(content)


main()
