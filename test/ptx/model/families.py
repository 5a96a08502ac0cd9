#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""families.py LIBRARIES [MACHINE [FOLDER [LABEL]]]: what the statements of ../families.cu ask of a GPU, and how long the model says
that they take where their largest tensor has 256 MiB. LIBRARIES is the folder of the PTX machine's libcudart.so.13 and libcublas.so.13
(BUILD/test/ptx). LABEL: those alone whose label begins so. Takes two minutes."""
import subprocess
import sys

import law
import programs

ELEMENTS = 1 << 21
SIZE = 256 << 20


def sizes(printed):
    return {label: (int(largest), int(touched)) for label, largest, touched in
            (line.split('\t') for line in printed.splitlines())}


def extrapolated(c, smaller, times):
    """figures grow in straight lines: what they are `times` the difference of the two runs further on"""
    def further(k, v):
        return v + (v - smaller[k]) * times

    return {k: further(k, v) if isinstance(v, int) else v for k, v in c.items()}


def main():
    library, machine, program = programs.of_locus(programs.ROOT / 'test/ptx/families.cu', sys.argv[1:], __doc__)
    only = sys.argv[4:5]
    few, printed_of_few = programs.run(program, library, [str(ELEMENTS // 4), *only])
    launches, printed = programs.run(program, library, [str(ELEMENTS), *only])
    known, size_of, small_of = programs.resources(program), sizes(printed), sizes(printed_of_few)
    smaller = programs.by_kernel(few)
    bandwidth = law.MACHINES[machine]['dram']

    rows, times = {}, {}
    for (label, name, block), c in programs.by_kernel(launches).items():
        registers, shared, spills = known[c['symbol']]
        largest, small = size_of[label][0], small_of[label][0]
        times_further = (SIZE - largest) / (largest - small)
        # the last step of a fold is one block, whose threads are not all busy yet
        at_size = c if c['blocks'] == c['launches'] else extrapolated(c, smaller.get((label, name, block), dict.fromkeys(c, 0)), times_further)
        both = [law.predict(at_size, machine, 1, registers, shared + c['shared'] // c['launches'], False, by)
                for by in (False, True)]
        rows.setdefault(label, []).append((name, c, registers, spills, both[0]))
        times[label] = [t + r['with_launch'] for t, r in zip(times.get(label, (0, 0)), both)]
    for label, name, c, how in programs.by_others(launches):  # what the host copies, products by cuBLAS
        small = next((s for of, other, s, _ in programs.by_others(few) if (of, other) == (label, name)), dict.fromkeys(c, 0))
        largest = size_of[label][0]
        at_size = extrapolated(c, small, (SIZE - largest) / (largest - small_of[label][0]))
        seconds = (law.product_seconds(at_size, machine) if how == 'product'
                   else 2 * at_size['copied_bytes'] / (bandwidth * 1e9 * law.COMMON['achievable']))
        rows.setdefault(label, []).append((name, None, 0, 0, how))
        times[label] = [t + seconds + at_size['launches'] * law.COMMON['launch_us'] * 1e-6 for t in times.get(label, (0, 0))]

    commit = subprocess.run(['git', 'log', '-1', '--format=%h of %as', '--', 'include'], capture_output=True, text=True, cwd=programs.ROOT)
    print(f'''# Kernels on the PTX machine

`python3 test/ptx/model/families.py BUILD/test/ptx {machine}`, headers of {commit.stdout.strip()}. **Nothing was timed on a GPU.**
Counts are those of a run of about 2^21 numbers, PTX of compute_90, 132 processors; registers are ptxas\' for sm_90. Microseconds are
those of the [model](../../test/ptx/model/README.md) on an {machine.upper()} where the largest tensor has 256 MiB, launches included: each count
goes on in a straight line through a run of a quarter of the size and this one; a kernel of one block stays as it is. The copy is the
model\'s kernel of 16 bytes a lane that moves as many bytes as the statement must. A range: what stores of parts of sectors cost the
second cache is not known.
''')
    print('| statement | kernel | issue slots per 16 B | load sectors / ideal | store sectors / ideal | reads each sector | B in flight a thread '
          '| registers | warps/SM | limit | us | copy/this |')
    print('|---|---|---|---|---|---|---|---|---|---|---|---|')
    for label, kernels in rows.items():
        largest, touched = size_of[label]
        copy = law.copy_seconds(touched * SIZE / largest, machine) + law.COMMON['launch_us'] * 1e-6
        fast, slow = times[label]
        share = f'{100 * copy / fast:.0f} %' if copy / fast >= 0.01 else f'{100 * copy / fast:.2f} %'
        if slow > 1.05 * fast:
            share = f'{100 * copy / slow:.0f} to {share}'
        time = f'{1e6 * fast:.0f}' if slow <= 1.05 * fast else f'{1e6 * fast:.0f} to {1e6 * slow:.0f}'
        for k, (name, c, registers, spills, r) in enumerate(kernels):
            first = f'{label} | ' if k == 0 else ' | '
            last = f'{time} | {share}' if k == 0 else ' | '
            if c is None:
                print(f'| {first}{name} | | | | | | | | {"dram" if r == "copy" else "fp32 or dram"} | {last} |')
                continue
            q = law.ratios(c)
            again = c['load_misses'] / c['load_unique'] if c['load_unique'] else 0
            print(f'| {first}{name.removeprefix("bounded_").removeprefix("kernel<").split("<")[0].rstrip(">")} | {q["slots"]:.1f} | {q["loads"]:.2f} | {q["stores"]:.2f} | '
                  f'{again:.2f} | {q["flight"]:.1f} | {registers}{f" and {spills} B of spills" if spills else ""} | {r["resident"]} | '
                  f'{r["limit"]} | {last} |')


if __name__ == '__main__':
    main()
