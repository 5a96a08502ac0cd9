#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_engines.py UNIT -- NVCC ARGS...: a unit has the kernel of CUB or that of locus for a statement, never both in full.

What CUB does not take (slices, broadcasts, strides: known when the program runs) has kernels of locus in each unit: line_map
and point_map for a map, and for a fold of a whole value a fold_rows without the loop over whole vectors."""
import re
import subprocess
import sys
import tempfile

# kernels of the three statements by the default engine and by that of locus, those behind `not` in no unit of it
KERNELS = {'cub': ('transform_kernel', 'DeviceReduceKernel', 'fold_rows', 'not', 'flat_map', 'DeviceSegmented'),
           'own': ('flat_map', 'fold_rows', 'not', 'transform_kernel', 'DeviceReduce', 'DeviceSegmented')}
FOLDS_ALL = re.compile(r'fold_rows.*reduce_work.*Lb1ELb1EEE')  # the last parameter of reduce_work


def kernels_of(unit, command):
    """name of an entry -> how many loads of 16 bytes it has"""
    with tempfile.NamedTemporaryFile(suffix='.ptx') as to:
        done = subprocess.run([*command, '-ptx', unit, '-o', to.name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f'{unit} does not compile:\n{done.stderr[:3000]}')
        text = open(to.name, encoding='utf-8').read()
    parts = re.split(r'\.entry\s+(\w+)', text)
    return {name: len(re.findall(r'\bld\.(?:global\.)?(?:nc\.)?(?:v4|v2)\.', body)) for name, body in zip(parts[1::2], parts[2::2])}


def main():
    cut = sys.argv.index('--')
    unit, command = sys.argv[1], sys.argv[cut + 1:]
    wrong, loads = [], {}
    for engine, rules in KERNELS.items():
        found = kernels_of(unit, [*command, f'-DLOCUS_GPU_ENGINE={engine}'] + (['-DFP16_FIRST'] if engine == 'own' else []))
        end = rules.index('not')
        wrong += [f'{engine}: no kernel is called {r}' for r in rules[:end] if not any(r in name for name in found)]
        wrong += [f'{engine}: {name}' for r in rules[end + 1:] for name in found if r in name]
        whole = [n for name, n in found.items() if FOLDS_ALL.search(name)]
        if len(whole) != 1:
            wrong.append(f'{engine}: {len(whole)} kernels fold_rows of a whole value')
        loads[engine] = sum(whole)
    if loads['own'] == 0 or loads['cub'] * 2 > loads['own']:
        wrong.append(f'fold_rows beside CUB has {loads["cub"]} loads of vectors, alone {loads["own"]}: CUB has whole vectors')
    for text in wrong:
        print('WRONG', text)
    print(f'loads of vectors in fold_rows of a whole value: {loads}, {len(wrong)} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
