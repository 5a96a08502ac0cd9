#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_modes.py SOURCE INCLUDE COMPILER...: which functions do units of different modes share? The
linker keeps one copy of an inline function for the whole program, so a function whose name says
nothing of the mode must not
  - call one of a mode (its caller's mode would decide for everybody), nor
  - hold a kernel, a functor or the run-time loop (a unit for AVX-512 or with -ffast-math would decide
    for everybody).
And in a unit for any processor only what is named after AVX2 or AVX-512 holds their instructions: the
clones of kernels (simd/clones.hpp) and the tiles of products, which run where the processor has them.
What else a clone calls, of std:: or of core/, is compiled for any.
What remains shared is bookkeeping: the device table, pools, texts, logs, simulated GPUs, members of
Tensor. Exit code 77 where the machine lacks objdump."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

KERNELS = re.compile(r'locus::(host|kernel|cuda_side)::(?!missing|host_operands|announce|require_same|find_cblas|functions::)|(?<!held)(?<!erased)_work\b|_fn\b|'
                     r'::operand_placer::|parallel_for')
# The run-time loop: functions over the state of one run.
LOOP = re.compile(r'\(locus::detail::run_state( const)?&|locus::detail::(check_owner|copy_strided|moves_as_block)\b')
MODE = 'mode_k'
# Where tensors are made the run-time loop is offered to statements of other units, of whichever mode
# comes first: it calls the statement's own kernel and computes nothing itself.
OFFER = re.compile(r'offer_statement_loop')


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


# The name of a function, without template arguments: that of a clone; with them: that of a tile or a product.
FOR_WIDER = re.compile(r'(^|[ (&*])locus::for_avx(2|512)::')
TILE_FOR_WIDER = re.compile(r'<[^<>]*\bisa_avx(2|512)>::|isa_avx(2|512)::fused')


def without_arguments(name):
    """a plain name without what stands in <...>"""
    out, depth = '', 0
    for c in re.sub(r'operator(<=>|<<=?|>>=?|<=?|>=?|->\*?)', 'operator', name):
        depth += c == '<'
        if depth == 0:
            out += c
        depth -= c == '>'
    return out


def is_for_wider(name):
    """this function is compiled for instructions that not every processor has"""
    return bool(FOR_WIDER.search(without_arguments(name)) or TILE_FOR_WIDER.search(name))


def with_wide_registers(file):
    """the functions that name a register of more than 16 bytes"""
    found, name = set(), None
    for line in output('objdump', '-d', '--no-show-raw-insn', file).splitlines():
        if start := re.match(r'^[0-9a-f]+ <(.*)>:$', line):
            name = start[1]
        elif re.search(r'%[yz]mm', line):
            found.add(name)
    return found


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
        def object_of(*flags):
            file = str(pathlib.Path(folder) / 'shared.o')
            subprocess.run([*compiler, '-std=c++20', '-I', include, *flags, '-c', source, '-o', file], check=True)
            return file

        def build(*flags):
            return functions(object_of(*flags))
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
                if KERNELS.search(plain(name).split('(')[0]) or LOOP.search(plain(name)):
                    faults.append(f'{plain(name)}\n  is shared by units of all modes and computes')
        clones = 0
        if probe.returncode == 0:
            for level in ('-O1', '-O2'):
                wide = with_wide_registers(object_of(level))
                strays = [name for name in wide if not is_for_wider(plain(name))]
                faults += [f'{plain(name)}\n  is for any processor and holds wider instructions ({level})' for name in strays]
                clones += len(wide) - len(strays)
            if clones == 0:
                faults.append('no function is compiled for AVX2 or AVX-512')
    print('\n'.join(faults[:20]))
    print(f'{len(shared)} shared functions, {vector} of them bookkeeping with vector moves, {clones} for wider instructions, {len(faults)} faults')
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
