#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py HEADERS... [--jobs N] [--single] -- COMPILER ARGS...: each header compiles alone, also twice.

The headers are named as one includes them. With nvcc as the compiler both sides are looked at. A unit
may begin with several headers, each of which reads all those before it by itself: then nothing that
stands before a header can give it what it forgot to include, and half of the units will do.
--single: one unit for each header, what a unit that fails is asked for, too."""
import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

def certain_includes(path):
    """what a header includes in every unit, before anything else: what stands before an include may not need it"""
    depth = 0
    for line in re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'), flags=re.S).splitlines():
        if not depth and line.strip() and not re.match(r'\s*(#|//)', line):
            return
        if re.match(r'\s*#\s*if', line):
            depth += 1
        elif re.match(r'\s*#\s*endif', line):
            depth -= 1
        elif not depth and (found := re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)):
            yield found[1]


def closures(headers, folders):
    """for each header all that it reads for certain, as far as that lies in the folders"""
    known = {}

    def visit(name):
        if name not in known:
            path = next((f / name for f in folders if (f / name).is_file()), None)
            known[name] = set()
            for included in certain_includes(path) if path else ():
                known[name] |= {included} | visit(included)
        return known[name]

    return {header: visit(header) for header in headers}


def chains(headers, reads):
    """the headers in as few rows as possible; in a row each reads all those before it (Dilworth)"""
    after = {a: [b for b in headers if a in reads[b]] for a in headers}
    before = {}

    def augment(a, seen):
        for b in after[a]:
            if b in seen:
                continue
            seen.add(b)
            if b not in before or augment(before[b], seen):
                before[b] = a
                return True
        return False

    sys.setrecursionlimit(10000)
    for a in headers:
        augment(a, set())
    follows = {a: b for b, a in before.items()}
    for first in headers:
        if first not in before:
            row = [first]
            while row[-1] in follows:
                row.append(follows[row[-1]])
            yield row


def main():
    cut = sys.argv.index('--')
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('headers', nargs='+')
    options.add_argument('--jobs', type=int, default=2)
    options.add_argument('--single', action='store_true')
    options = options.parse_args(sys.argv[1:cut])
    command = sys.argv[cut + 1:]
    nvcc = any(word.endswith('nvcc') for word in command[:2])
    check_only = ['-fdevice-syntax-only', '-c', '-o', '/dev/null'] if nvcc else ['-fsyntax-only']

    def compile_unit(row):
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / ('unit.cu' if nvcc else 'unit.cpp')
            unit.write_text(''.join(f'#include <{header}>\n' for header in 2 * row), encoding='utf-8')
            done = subprocess.run([*command, *check_only, str(unit)], capture_output=True, text=True)
        if not done.returncode:
            return []
        alone = [text for header in row for text in compile_unit([header])] if len(row) > 1 else []
        return alone or [f'{" ".join(row)}:\n{(done.stdout + done.stderr)[:2000]}']

    rows = [[header] for header in options.headers]
    if not options.single:
        folders = [Path(word[2:]) for word in command if word.startswith('-I')]
        rows = list(chains(options.headers, closures(options.headers, folders)))
    with ThreadPoolExecutor(options.jobs) as pool:
        wrong = [text for texts in pool.map(compile_unit, rows) for text in texts]
    print(*wrong, sep='\n')
    print(f'{len(options.headers)} headers alone in {len(rows)} units, {len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
