#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""published.py LIBRARIES [FOLDER]: the model beside figures that others measured and published. LIBRARIES is the folder of
the PTX machine's libcudart.so.13 (BUILD/test/ptx); the programs are built in FOLDER (BUILD/test/ptx/model). Ends with 1
where an error is larger than README.md says."""
import pathlib
import statistics
import sys

import law
import programs

TRANSPOSE = 'yencal.github.io/gpu-matrix-transpose-optimization, 32768^2, H100'
COPY = 'yencal/gpu-bandwidth-benchmark, CSV, 2 x 134 MB; only a 40 GB A100 fits its numbers'
REDUCE = 'yencal.github.io, reduction, H100 ("~" figures, their middle)'
CUB_REDUCE = 'NVIDIA/cccl pull request 9722, H200'
CUB_TRANSFORM = 'NVIDIA/cccl pull request 2086, mul I8, H200'

# label, PTX of, machine, role, GB/s, times as many blocks as published.cu has, source
BANDWIDTHS = [
    ('transpose naive 32x32', 80, 'h100', 'fit', 475.5, 1024, TRANSPOSE),
    ('transpose tiled 32x32', 80, 'h100', 'fit', 996.1, 1024, TRANSPOSE),
    ('transpose padded 32x32', 80, 'h100', 'fit', 1693.4, 1024, TRANSPOSE),
    ('transpose padded 32x16', 80, 'h100', 'fit', 2385.1, 1024, TRANSPOSE),
    ('transpose padded 32x8', 80, 'h100', 'fit', 2772.4, 1024, TRANSPOSE),
    ('transpose padded 32x4', 80, 'h100', 'fit', 2775.3, 1024, TRANSPOSE),
    ('copy 1 B', 80, 'a100', 'test', 435.1, 128, COPY),
    ('copy 2 B', 80, 'a100', 'test', 862.5, 64, COPY),
    ('copy 4 B', 80, 'a100', 'test', 1320.8, 16, COPY),
    ('copy 8 B', 80, 'a100', 'test', 1361.7, 16, COPY),
    ('copy 16 B', 80, 'a100', 'test', 1363.3, 16, COPY),
    ('sum loop 4 B', 80, 'h100', 'test', 2300, 1024, REDUCE),
    ('sum loop 8 B', 80, 'h100', 'test', 3050, 1024, REDUCE),
    ('sum loop 16 B', 80, 'h100', 'test', 3150, 1024, REDUCE),
    ('cub reduce sum i32', 80, 'h200', 'test', 4307, 128, CUB_REDUCE + ', 2^28'),
    ('cub for i8', 80, 'h200', 'test', 1030, 128, CUB_TRANSFORM + ', 2^28, fallback_for of 2024'),
    ('cub transform i8', 90, 'h200', 'test', 3982, 64, CUB_TRANSFORM + ', 2^28, ublkcp of 2024'),
]
# label, PTX of, machine, us of the whole call, times as many blocks, source; a kernel of one block stays one
TIMES = [
    ('cub reduce sum i32', 80, 'h200', 7.13, 0.5, CUB_REDUCE + ', 2^20'),
    ('cub reduce sum i32', 80, 'h200', 25.7, 8, CUB_REDUCE + ', 2^24'),
    ('cub reduce sum i32', 80, 'h200', 249.3, 128, CUB_REDUCE + ', 2^28'),
    ('cub for i8', 80, 'h200', 6.265, 0.5, CUB_TRANSFORM + ', 2^20'),
    ('cub for i8', 80, 'h200', 37.137, 8, CUB_TRANSFORM + ', 2^24'),
    ('cub transform i8', 90, 'h200', 5.610, 0.25, CUB_TRANSFORM + ', 2^20'),
    ('cub transform i8', 90, 'h200', 14.292, 4, CUB_TRANSFORM + ', 2^24'),
]
MOST = dict(bandwidth=12, median=7, time=31)  # per cent


def predictions(counted, known, label, machine, scale):
    for (each, _, _), c in programs.by_kernel(counted).items():
        if each == label:
            registers, shared, _ = known[c['symbol']]
            alone = c['blocks'] == c['launches']
            yield c, law.predict(c, machine, 1 if alone else scale, registers, shared + c['shared'] // c['launches'])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    library = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else library / 'model').resolve()
    counted, known = {}, {}
    for ptx in (80, 90):
        program = folder / f'published_{ptx}'
        programs.build(pathlib.Path(__file__).with_name('published.cu'), program, ptx)
        counted[ptx], _ = programs.run(program, library)
        known[ptx] = programs.resources(program)

    print('| kernel | PTX of | machine | role | published GB/s | predicted | error | source |')
    print('| --- ' * 8 + '|')
    errors = {'fit': [], 'test': [], 'time': []}
    for label, ptx, machine, role, published, scale, source in BANDWIDTHS:
        found = max(predictions(counted[ptx], known[ptx], label, machine, scale), key=lambda each: each[1]['useful'])[1]['gbs']
        error = 100 * (found / published - 1)
        errors[role].append(abs(error))
        print(f'| {label} | {ptx} | {machine} | {role} | {published:.1f} | {found:.1f} | {error:+.1f} % | {source} |')
    print('\n| whole call | PTX of | machine | published us | predicted | error | source |')
    print('| --- ' * 7 + '|')
    for label, ptx, machine, published, scale, source in TIMES:
        found = 1e6 * sum(r['with_launch'] for _, r in predictions(counted[ptx], known[ptx], label, machine, scale))
        error = 100 * (found / published - 1)
        errors['time'].append(abs(error))
        print(f'| {label} | {ptx} | {machine} | {published:.2f} | {found:.2f} | {error:+.1f} % | {source} |')
    print()
    for role, all_of in errors.items():
        print(f'{role}: {len(all_of)} figures, error {statistics.median(all_of):.1f} % in the median, {max(all_of):.1f} % at most')
    return (max(errors['fit'] + errors['test']) > MOST['bandwidth'] or statistics.median(errors['test']) > MOST['median'] or
            max(errors['time']) > MOST['time'])


if __name__ == '__main__':
    sys.exit(main())
