#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py SOURCE CARDS [HOST ARGS...]: an example on two cards of the PTX machine. CARDS prints what SOURCE says, or,
with HOST, what HOST prints on two simulated GPUs: the same words, and numbers that differ by at most 0.1 % and 0.0002
more. Times and what depends on them do not count. A program that prints nothing fails. The argument fashion:N:M is a folder with
the first N training and M test images of Fashion-MNIST; without the dataset the test is skipped (77). A finding of the
machine fails it."""
import gzip
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'tools'))
import check_output

NUMBER = re.compile(r'[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?')
FASHION = pathlib.Path('/usr/share/datasets/fashion-mnist')
TIMES = re.compile(r'\d+ images/s|time +\S+ s|\d+(?:\.\d+)? ?(?:ms|us|s)(?:/step)?\b|\d+:\d\d\b|peak memory +\d+ MB|on (?:GPUs|the CPU)|\S+ times as fast')


def cut(images, tests, folder):
    """the first images of the dataset, as files of their own"""
    for name, n in (('train', images), ('t10k', tests)):
        for kind, each in (('images-idx3', 28 * 28), ('labels-idx1', 1)):
            file = f'{name}-{kind}-ubyte.gz'
            with gzip.open(FASHION / file) as whole:
                head = whole.read(16 if each > 1 else 8)
                rows = whole.read(n * each)
            with gzip.open(f'{folder}/{file}', 'wb', 1) as part:
                part.write(head[:4] + struct.pack('>I', n) + head[8:] + rows)


def in_place(args, folder):
    """the arguments, with a cut dataset in the folder; ends the test where there is none"""
    for a in args:
        if a.startswith('fashion:'):
            if not FASHION.exists():
                sys.exit(77)
            cut(*map(int, a.split(':')[1:]), folder)
    return [folder if a.startswith('fashion:') else a for a in args]


def run(program, args, more):
    done = subprocess.run([program, *args], capture_output=True, env={
        **os.environ, 'LOCUS_QUIET': '1', 'OMP_WAIT_POLICY': 'passive', **more})
    sys.stderr.write(done.stderr.decode()[-4000:])
    if done.returncode:
        sys.exit(f'{program}: exit code {done.returncode} after\n{done.stdout.decode()[-4000:]}')
    return done


def differences(one, other):
    """where two outputs part: words, or numbers by more than 0.1 % and 0.0002"""
    a, b = ([TIMES.sub('', line) for line in check_output.printed_lines(text)] for text in (one, other))
    if len(a) != len(b):
        return [f'{len(a)} lines on cards, {len(b)} on the host']
    found = []
    for x, y in zip(a, b):
        numbers = [[float(v) for v in NUMBER.findall(line)] for line in (x, y)]
        near = len(numbers[0]) == len(numbers[1]) and all(
            abs(v - w) <= 1e-3 * max(abs(v), abs(w)) + 2e-4 for v, w in zip(*numbers))
        if NUMBER.sub('#', x).split() != NUMBER.sub('#', y).split() or not near:
            found.append(f'on cards: {x}\non the host: {y}')
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source, cards, host, args = sys.argv[1], sys.argv[2], sys.argv[3:4], sys.argv[4:]
    with tempfile.TemporaryDirectory() as folder:
        args = in_place(args, folder)
        done = run(cards, args, {'PTX_CARDS': '2', 'PTX_ABORT': '1', 'PTX_SPEED': '1'})
        launches = re.search(r'ptx machine: (\d+) launches, (\d+) works', done.stderr.decode())
        if not launches or launches.group(1, 2) == ('0', '0'):
            sys.exit(f'{source}: nothing ran on the machine')
        if host:
            compared = run(host[0], args, {'LOCUS_SIMULATED_GPUS': '2'})
    printed = done.stdout.decode()
    print(printed)
    if not printed.strip():
        sys.exit(f'{source}: nothing was printed')
    if host:
        found = differences(printed, compared.stdout.decode())
        wrong = '\n'.join(found[:10])
    else:
        wrong = check_output.difference(check_output.expected_lines(open(source, encoding='utf-8').read()), printed)
    if wrong:
        sys.exit(f'{source}: {wrong}')


if __name__ == '__main__':
    main()
