#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""any_x86.py [ROUNDS [SEED]]: see any_x86.sh."""
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
UNARY = ['exp({})', 'log1p({})', 'sin({})', 'tanh({})', 'sqrt({})', 'abs({})', 'square({})', '-{}', 'sigmoid({})']
BINARY = ['({} + {})', '({} - {})', '({} * {})', '({} / ({} + 2.f))', 'maximum({}, {})', 'minimum({}, {})']


def expression(draw, depth):
    if depth == 0:
        return draw.choice('abc')
    if draw.random() < 0.4:
        return draw.choice(UNARY).format(expression(draw, depth - 1))
    return draw.choice(BINARY).format(expression(draw, depth - 1), expression(draw, depth - draw.randint(1, depth)))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1000000
    draw = random.Random(seed)
    drawn = [expression(draw, draw.randint(1, 3)) for _ in range(29)]
    drawn = [e if len(e) > 1 else f'{e} + 1.f' for e in drawn] + ['map(own_functor{}, a) * b + c']
    compiler = os.environ.get('CXX', 'g++').split()
    flags = {'-O2': ['-O2'], 'native': ['-O3', '-march=native']}
    times = {name: {} for name in flags}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / 'any_x86_expressions.hpp').write_text(
            ''.join(f'LOCUS_ONE("e{k:02d}", {e})\n' for k, e in enumerate(drawn)))
        for name, words in flags.items():
            subprocess.run([*compiler, '-std=c++20', *words, '-w', f'-I{HERE.parent / "include"}', f'-I{folder}',
                            str(HERE / 'any_x86.cpp'), '-o', str(folder / name), '-ldl', '-pthread'], check=True)
        for _ in range(rounds):
            for name in random.sample(sorted(flags), 2):
                out = subprocess.run([folder / name], check=True, capture_output=True, text=True,
                                     env={**os.environ, 'LOCUS_QUIET': '1'},
                                     preexec_fn=lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]))
                for line in out.stdout.splitlines():
                    key, value = line.split()
                    times[name].setdefault(key, []).append(float(value))
    ratios = {key: [x / y for x, y in zip(times['-O2'][key], times['native'][key])] for key in times['native']}
    print(f'seed {seed}, {rounds} rounds: time at -O2 / time at -O3 -march=native, median (lowest to highest)')
    for key, found in ratios.items():
        text = drawn[int(key[1:])] if key[0] == 'e' and key[1:].isdigit() else ''
        print(f'{key:12} {statistics.median(found):5.2f} ({min(found):.2f} to {max(found):.2f})  {text}')
    of_drawn = [statistics.median(v) for k, v in ratios.items() if k[0] == 'e' and k[1:].isdigit()]
    print(f'thirty expressions: median {statistics.median(of_drawn):.2f}, worst {max(of_drawn):.2f}')


if __name__ == '__main__':
    main()
