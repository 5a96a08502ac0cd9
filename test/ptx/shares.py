#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shares.py LIBRARIES [EXAMPLE...]: whose kernels a step of training runs: CUB's, Thrust's, cuBLAS', NCCL's or ours, by launches and by
bytes. Examples 04, 07 and 08 run on two cards of the PTX machine with few steps and with more of them; a step is what they differ by.
LIBRARIES is BUILD/test/ptx, with libcudart.so.13, libcublas.so.13, libnccl.so.2 and the programs. Bytes of a kernel are those that
it reads and writes, each once; of a library those of its operands. Our dense map is flat_map, and a fold of ours is whole where it leaves
one number; line_map has the strides, the broadcasts and what is too small for two launches. Fails where CUB has less than 0.9 of the
bytes of dense maps and folds of whole values, or where 04 or 08 has none of them."""
import os
import pathlib
import subprocess
import sys
import tempfile

import examples

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'model'))
import programs

# fewer and more steps, how many more, what else they differ by, whether a step has dense maps or folds of whole values
RUNS = {
    '04_mirrored_fashion_mnist': (['2', '1', 'fashion:128:64'], ['2', '1', 'fashion:256:64'], 2, '', True),
    '07_text_cnn': (['1', '40'], ['1', '80'], 1, ' and the validation of 8 texts', False),
    '08_fashion_mnist_cnn': (['1', '64', 'fashion:128:16'], ['1', '128', 'fashion:128:16'], 1, '', True),
}
OWNERS = ('CUB', 'Thrust', 'cuBLAS', 'NCCL', 'ours', 'copies')
CUBS = {'transform_kernel': 'dense maps', 'static_kernel': 'dense maps', 'DeviceReduceKernel': 'whole folds',
        'DeviceReduceSingleTileKernel': 'whole folds'}


def owner(c):
    if 'symbol' not in c:
        return 'copies' if 'copied_bytes' in c else 'NCCL' if c['name'] == 'NCCL' else 'cuBLAS'
    return next((who for start, who in (('_ZN3cub', 'CUB'), ('_ZN6thrust', 'Thrust')) if c['symbol'].startswith(start)), 'ours')


def family(c):
    """dense maps and whole folds, of whoever they are; a fold of ours that leaves one number is whole"""
    name = c['name'].split('<')[0] if owner(c) == 'CUB' else c['name'].removeprefix('bounded_').removeprefix('kernel<').rstrip('>')
    if owner(c) == 'CUB':
        return CUBS.get(name)
    if owner(c) != 'ours':
        return None
    if name == 'flat_map':
        return 'dense maps'
    return 'whole folds' if 'fold' in name and c['store_unique_bytes'] <= 16 else None


def bytes_of(c):
    return sum(c.get(k, 0) for k in ('load_unique_bytes', 'store_unique_bytes', 'copied_bytes', 'library_bytes'))


def sums(library, name, args):
    """(owner, kernel, family) -> launches, bytes"""
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder) / 'counts.jsonl'
        done = subprocess.run([library / f'cards_{name}', *examples.in_place(args, folder)], capture_output=True, text=True, env={
            **os.environ, 'LD_LIBRARY_PATH': str(library), 'PTX_CARDS': '2', 'PTX_PROCESSORS': '132', 'PTX_COUNTS': str(counts),
            'LOCUS_QUIET': '1', 'LOCUS_CUDNN': 'off'})
        if done.returncode:
            sys.exit(f'{name} ended with {done.returncode}\n{done.stderr[-2000:]}')
        found = {}
        for c in programs.read(counts):
            row = found.setdefault((owner(c), c['name'], family(c)), [0, 0])
            row[0] += 1
            row[1] += bytes_of(c)
        return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    library, wrong = pathlib.Path(sys.argv[1]).resolve(), []
    names = [n for n in RUNS if not sys.argv[2:] or any(n.startswith(a) for a in sys.argv[2:])]
    if not names:
        sys.exit(__doc__)
    for name in names:
        fewer, more, steps, besides, has_any = RUNS[name]
        before, after = sums(library, name, fewer), sums(library, name, more)
        step = {k: [(n - m) / steps for n, m in zip(v, before.get(k, (0, 0)))] for k, v in after.items()}
        step = {k: v for k, v in step.items() if v[0] or v[1]}
        launches, moved = (sum(v[k] for v in step.values()) or 1 for k in (0, 1))
        print(f'{name}: a step{besides} on two cards: {launches:g} launches, calls and copies, {moved:g} bytes')
        for who in OWNERS:
            rows = {k: v for k, v in step.items() if k[0] == who}
            n, b = (sum(v[k] for v in rows.values()) for k in (0, 1))
            print(f'  {who:7} {100 * n / launches:5.1f} % of launches, {100 * b / moved:5.1f} % of bytes')
            for (_, kernel, of), (n, b) in sorted(rows.items(), key=lambda r: -r[1][1]):
                print(f'    {n:7g} {b:12g} B  {kernel}{f" ({of})" if of else ""}')
        for of in ('dense maps', 'whole folds'):
            rows = {k: v for k, v in step.items() if k[2] == of}
            all_of, cub = sum(v[1] for v in rows.values()), sum(v[1] for k, v in rows.items() if k[0] == 'CUB')
            print(f'  {of}: {cub / all_of:.3f} of {all_of:g} bytes are CUB\'s' if all_of else f'  {of}: none')
        both = {k: v for k, v in step.items() if k[2]}
        all_of, cub = sum(v[1] for v in both.values()), sum(v[1] for k, v in both.items() if k[0] == 'CUB')
        if has_any and not all_of:
            wrong.append(f'{name}: a step has no dense map and no fold of a whole value')
        elif cub < 0.9 * all_of:
            wrong.append(f'{name}: {cub / all_of:.3f} of the bytes of dense maps and whole folds are CUB\'s')
    sys.exit('\n'.join(wrong) if wrong else 0)


if __name__ == '__main__':
    main()
