#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_emitted.py UNIT -- COMPILER ARGS...: a unit that names no GPU compiles nothing of what stands
behind GPUs. A header-only run time is compiled by every unit that uses it; what is reached through
the tables of machine/machine_functions.hpp and of a program's crossings is not in a unit that does not fill them.
A unit that does name GPUs shows that each of the words is a right one."""
import re
import subprocess
import sys
import tempfile

WORDS = ('simulated::cards', 'fake_nccl', 'communicator_set', 'cuda_queue', 'cuda_timing', 'current_card', 'host_operands')
BEYOND_HOST = '|'.join(WORDS)


def emitted(command, unit, *more):
    with tempfile.NamedTemporaryFile(suffix='.o') as out:
        done = subprocess.run([*command, *more, '-O0', '-c', unit, '-o', out.name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr[:3000])
        symbols = subprocess.run(['nm', '-C', '--defined-only', out.name], capture_output=True, text=True).stdout
    return [line.split(' ', 2)[2] for line in symbols.splitlines() if re.match(r'\w+ [tTwWuV] ', line)]


def main():
    cut = sys.argv.index('--')
    unit, command = sys.argv[1], sys.argv[cut + 1:]
    found = emitted(command, unit)
    wrong = [name for name in found if re.search(BEYOND_HOST, name)]
    print(f'{len(found)} symbols, {len(wrong)} of them from beyond the host')
    for name in wrong[:20]:
        print('   ', name[:160])
    with tempfile.NamedTemporaryFile('w', suffix='.cpp') as other:
        other.write('#include <locus/locus.hpp>\nusing namespace locus;\n'
                    'void f(Tensor<float, Extents<8>, GpuDevice<0>>& y) { y = 2.f * y; }\n'
                    'float g(Tensor<float, Extents<8>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>& y) { return fetch(sum(y)); }\n')
        other.flush()
        names = emitted(command, other.name)
    there = {word: sum(word in name for name in names) for word in WORDS}
    print(f'{sum(there.values())} such symbols in a unit that names GPUs')
    missing = [word for word, count in there.items() if not count]
    if missing:
        print('none with', *missing)
    sys.exit(bool(wrong or missing))


if __name__ == '__main__':
    main()
