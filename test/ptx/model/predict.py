#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""predict.py COUNTS [--machine h200] [--scale 64] [--fixed REGEX] [--ptxas LOG]: how long the launches of a run take.
COUNTS is what PTX_COUNTS=file wrote; LOG what `nvcc -arch=sm_90 -Xptxas -v` said (without it, 32 registers)."""
import argparse
import pathlib
import re

import law
import programs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('counts')
parser.add_argument('--machine', default='h200', choices=law.MACHINES)
parser.add_argument('--scale', type=float, default=1, help='as if each launch had that many times the blocks')
parser.add_argument('--fixed', default='(?!)', help='labels and kernels whose blocks stay as many: each does more')
parser.add_argument('--ptxas', type=pathlib.Path)
o = parser.parse_args()
known = programs.resources(o.ptxas) if o.ptxas else {}
print(f'| label | kernel | load sectors/ideal | store | slots/16 B | B in flight | banks | registers | warps/SM | limit | us as '
      f'counted | GB/s at {o.scale:g}x | of {o.machine} |')
print('| --- ' * 13 + '|')
for (label, name, block), c in programs.by_kernel(programs.read(o.counts)).items():
    registers, shared, _ = known.get(c['symbol'], (32, 0, 0))
    shared += c['shared'] // c['launches']
    fixed = re.search(o.fixed, f'{label} {name}') is not None
    once = law.predict(c, o.machine, 1, registers, shared)
    much, low = (law.predict(c, o.machine, o.scale, registers, shared, fixed, by) for by in (False, True))
    r = law.ratios(c)
    least = f'{100 * low["share"]:.0f} to ' if low['share'] < 0.95 * much['share'] else ''
    print(f'| {label} | {name} | {r["loads"]:.2f} | {r["stores"]:.2f} | {r["slots"]:.1f} | {r["flight"]:.1f} | {r["banks"]:.2f} | '
          f'{registers} | {much["resident"]} | {much["limit"]} | {once["with_launch"] * 1e6:.1f} | {much["gbs"]:.0f} | '
          f'{least}{100 * much["share"]:.1f} % |')
