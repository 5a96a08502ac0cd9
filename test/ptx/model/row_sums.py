#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""row_sums.py LIBRARIES [MACHINE [FOLDER]]: how long the model says that sums of rows take, by locus and by CUB, of 256 MiB. LIBRARIES is
the folder of the PTX machine's libcudart.so.13 (BUILD/test/ptx). Takes five minutes."""
import pathlib
import sys

import law
import programs

SIZE = 256 << 20


def main():
    library, machine, program = programs.of_locus(pathlib.Path(__file__).with_name('row_sums.cu'), sys.argv[1:], __doc__)
    runs = [programs.run(program, library, [part]) for part in ('4', '8')]
    (counts, fewer), sizes = (programs.by_kernel(launches) for launches, _ in runs), [
        dict(line.split('\t') for line in printed.splitlines()) for _, printed in runs]
    known, us, limits = programs.resources(program), {}, {}
    for key, c in counts.items():
        label, size = key[0], int(sizes[0][key[0]])
        if size < SIZE:  # in a straight line through both runs
            times = (SIZE - size) / (size - int(sizes[1][label]))
            c = {k: v + (v - fewer[key][k]) * times if isinstance(v, int) else v for k, v in c.items()}
        registers, shared, _ = known[c['symbol']]
        r = law.predict(c, machine, 1, registers, shared + c['shared'] // c['launches'])
        us[label] = us.get(label, 0) + 1e6 * r['with_launch']
        q = law.ratios(c)
        limits.setdefault(label, f'{q["slots"]:.0f} | {q["flight"]:.0f} | {registers} | {r["limit"]}')
    print('| sums of rows of 256 MiB | us | issue slots per 16 B | B in flight a thread | registers | limit |\n|---|---|---|---|---|---|')
    for label, time in us.items():
        print(f'| {label} | {time:.1f} | {limits[label]} |')


if __name__ == '__main__':
    main()
