#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_kernels.py UNIT.cu -- NVCC ARGS...: fused kernels against hand-written ones, in machine code.

The unit says what it must become (names are regular expressions over mangled names):
    // check: flat_map.*triad like hand_triad, at most 32 registers
                     the same loads and stores of global memory by width, the same floating-point
                     arithmetic; of more than one kernel each
    // check: line_map computes as hand_sum, at most 48 registers
                     the same arithmetic alone
    // check: fold_rows loops like hand_sum, at most 48 registers
                     the same in the straight piece of code with the most loads of 16 bytes
    // check: rows_by_teams, at most 80 registers and 384 bytes of memory
                     spills and a stack, where a measurement found them worth it
    // count: map_work is 2
No other kernel that is checked may spill or have a stack; none may call. With --ptx FILE --log
FILE in place of a compiler, what nvcc wrote before is read."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ARITHMETIC = {'add', 'sub', 'mul', 'fma', 'div', 'sqrt', 'rcp', 'rsqrt', 'ex2', 'lg2', 'sin', 'cos',
              'tanh', 'min', 'max', 'abs', 'neg'}
BITS = re.compile(r'[a-z]+(\d+)$')


def count_of(body):
    """loads and stores of global memory by bytes, arithmetic by type, and what must not be there"""
    seen = collections.Counter()
    for op in re.findall(r'^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)', body, re.M):
        parts = op.split('.')
        if parts[0] in ('ld', 'st') and len(parts) > 2:
            space = next((p for p in parts[1:] if p in ('global', 'local', 'shared', 'param')), 'generic')
            if space in ('param', 'shared'):
                continue
            lanes = next((int(p[1:]) for p in parts if re.fullmatch(r'v\d', p)), 1)
            bits = BITS.match(parts[-1])
            seen[f'{parts[0]}.{space} {lanes * int(bits[1]) // 8 if bits else 1}'] += 1
        elif parts[0] in ARITHMETIC and re.fullmatch(r'b?f\d+(x2)?', parts[-1]):
            seen[f'{parts[0]}.{parts[-1]}'] += 1
        elif parts[0] == 'call':
            seen['call'] += 1
    return seen


def loop_of(body):
    """the straight piece of code with the most loads of 16 bytes"""
    pieces = map(count_of, re.split(r'^\s*(?:\$\w+:|(?:@!?%p\d+\s+)?bra\b.*)', body, flags=re.M))
    return max(pieces, key=lambda c: c['ld.global 16'])


def arithmetic_of(count):
    return {k: n for k, n in count.items() if k.split('.')[0] in ARITHMETIC}


def kernels_of(ptx, log):
    """name: its counts, registers, bytes of stack and spills"""
    kernels = {}
    for name, body in re.findall(r'\.entry (\w+)\(.*?\)[^{]*?\{(.*?)^\}', ptx, re.S | re.M):
        kernels[name] = {'count': count_of(body), 'loop': loop_of(body)}
    parts = re.split(r"Compiling entry function '(\w+)'", log)
    for name, text in zip(parts[1::2], parts[2::2]):
        numbers = re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads', text)
        used = re.search(r'Used (\d+) registers', text)
        if name in kernels and numbers and used:
            kernels[name].update(stack=sum(map(int, numbers.groups())), registers=int(used[1]))
    return kernels


def compile_unit(unit, command):
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([*command, '-cubin', '-Xptxas', '-v', '--keep', '--keep-dir', folder, unit, '-o',
                               pathlib.Path(folder) / 'unit.cubin'], capture_output=True, text=True)
        if made.returncode:
            sys.exit(f'{unit} does not compile:\n{made.stderr[:3000]}')
        return next(pathlib.Path(folder).glob('*.ptx')).read_text(), made.stdout + made.stderr


def check(text, kernels):
    wrong, checks = [], 0

    def matching(pattern):
        found = {n: k for n, k in kernels.items() if re.search(pattern, n)}
        if not found:
            wrong.append(f'no kernel is called {pattern}')
        return found

    for rule in re.findall(r'^// (check|count): (.*)$', text, re.M):
        checks += 1
        if rule[0] == 'count':
            pattern, number = rule[1].rsplit(' is ', 1)
            found = [n for n in kernels if re.search(pattern, n)]
            if len(found) != int(number):
                wrong.append(f'{len(found)} kernels, not {number}, are called {pattern}:\n  ' + '\n  '.join(found))
            continue
        line = re.fullmatch(r'(.*?)(?: (like|loops like|computes as) (\w+))?, at most (\d+) registers(?: and (\d+) bytes of memory)?', rule[1])
        if not line:
            wrong.append(f'not understood: {rule[1]}')
            continue
        compared = {'loops like': lambda k: k['loop'], 'computes as': lambda k: arithmetic_of(k['count'])}.get(
            line[2], lambda k: k['count'])
        hand = matching(f'^{line[3]}$') if line[3] else {}
        for name, kernel in matching(line[1]).items():
            count = kernel['count']
            short = f'{line[1]}: {kernel.get("registers")} registers, {dict(sorted(count.items()))}'
            print(short)
            if 'registers' not in kernel:
                wrong.append(f'{name}: ptxas says nothing of it')
                continue
            if kernel['registers'] > int(line[4]):
                wrong.append(f'{short}\n  more than {line[4]} registers')
            if kernel['stack'] > int(line[5] or 0):
                wrong.append(f'{short}\n  a stack, or spills: {kernel["stack"]} bytes')
            if any(k == 'call' or (not line[5] and ('local' in k or 'generic' in k)) for k in count):
                wrong.append(f'{short}\n  calls, local or generic memory')
            for other in hand.values():
                if compared(other) != compared(kernel):
                    wrong.append(f'{line[1]} {line[2]} {line[3]}:\n  {dict(sorted(compared(kernel).items()))}, by hand'
                                 f'\n  {dict(sorted(compared(other).items()))}')
    if not checks:
        wrong.append('nothing to check')
    return checks, wrong


def main(arguments):
    unit = pathlib.Path(arguments[0])
    if '--ptx' in arguments:
        ptx, log = (pathlib.Path(arguments[arguments.index(a) + 1]).read_text() for a in ('--ptx', '--log'))
    else:
        ptx, log = compile_unit(unit, arguments[arguments.index('--') + 1:])
    checks, wrong = check(unit.read_text(), kernels_of(ptx, log))
    for text in wrong:
        print(f'WRONG {text}')
    print(f'{checks} checks, {len(wrong)} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
