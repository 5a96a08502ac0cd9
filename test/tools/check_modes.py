#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_modes.py SOURCE INCLUDE COMPILER...: which functions do units of different modes share? The
linker keeps one copy of an inline function for the whole program, so a function whose name says
nothing of the mode must not
  - call one of a mode (its caller's mode would decide for everybody), nor
  - hold a kernel, a functor or the run-time loop (a unit for AVX-512 or with -ffast-math would decide
    for everybody).
What remains shared is bookkeeping: the device table, pools, texts, logs, simulated GPUs, members of
Tensor. Exit code 77 where the machine lacks objdump."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

KERNELS = re.compile(r'locus::(host|kernel|cuda_side)::(?!missing|host_operands|announce|require_same|find_cblas)|(?<!held)(?<!far)_work\b|_fn\b|'
                     r'::(runner|transport|placing|results|replica_reduction|operand_placer|run_memory)::|parallel_for')
MODE = 'mode_k'
# Where tensors are made the run-time loop is offered to statements of other units, of whichever mode
# comes first: it calls the statement's own kernel and computes nothing itself.
OFFER = re.compile(r'offer_home_loop')


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def functions(file):
    """name: (instructions, names it refers to) of the functions that a linker may merge"""
    weak = {line.split()[-1] for line in output('nm', '--defined-only', file).splitlines() if line.split()[-2] in 'WVu'}
    found, name = {}, None
    for line in output('objdump', '-dr', '--no-show-raw-insn', file).splitlines():
        if start := re.match(r'^[0-9a-f]+ <(.*)>:$', line):
            name = start[1]
            if name in weak:
                found[name] = ([], set())
        elif name in found:
            if to := re.search(r'\sR_\w+\s+([^\s+-]+)', line):
                found[name][1].add(to[1])
            elif '\t' in line:
                found[name][0].append(line.split('\t')[1])
    return found


def plain(name):
    return output('c++filt', name).strip()


def main():
    source, include, compiler = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not shutil.which('objdump') or not shutil.which('c++filt'):
        sys.exit(77)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        def build(*flags):
            file = str(pathlib.Path(folder) / 'shared.o')
            subprocess.run([*compiler, '-std=c++20', '-I', include, *flags, '-c', source, '-o', file], check=True)
            return functions(file)
        shared = {name: f for name, f in build('-O0').items() if MODE not in name}
        for name, (_, uses) in shared.items():
            for other in sorted(uses):
                if MODE in other and not OFFER.search(other):
                    faults.append(f'{plain(name)}\n  is shared by units of all modes and calls\n  {plain(other)}')
                    break
        probe = subprocess.run([*compiler, '-mavx512f', '-E', '-x', 'c++', '/dev/null'], capture_output=True)
        vector = 0
        if probe.returncode == 0:
            for name, (code, _) in build('-O1', '-mavx512f').items():
                if MODE in name or not any(re.match(r'v[a-z]', word) for word in code):
                    continue
                vector += 1
                if KERNELS.search(plain(name).split('(')[0]):
                    faults.append(f'{plain(name)}\n  is shared by units of all modes and computes')
    print('\n'.join(faults[:20]))
    print(f'{len(shared)} shared functions, {vector} of them bookkeeping with vector moves, {len(faults)} faults')
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
