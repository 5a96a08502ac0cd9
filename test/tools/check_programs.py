#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_programs.py PROGRAM NAME... [not NAME...]: which kernels nvcc put into a program.

A NAME is a regular expression over the mangled names of kernels; those behind `not` name none. cuobjdump lists
them, where the toolkit has it (CUOBJDUMP names one); otherwise the text of the PTX itself does, which a
program has that was linked with --no-compress."""
import os
import re
import shutil
import subprocess
import sys

ENTRY = re.compile(rb'\.entry\s+(\w+)')


def kernels_of(program):
    """the names of its kernels, and who said them"""
    tool = os.environ.get('CUOBJDUMP') or shutil.which('cuobjdump') or shutil.which('/usr/local/cuda/bin/cuobjdump')
    if tool:
        listed = subprocess.run([tool, '-ptx', program], capture_output=True)
        if listed.returncode:
            sys.exit(f'{tool} does not read {program}: {listed.stderr.decode(errors="replace")[:500]}')
        return ENTRY.findall(listed.stdout), tool
    with open(program, 'rb') as file:
        return ENTRY.findall(file.read()), 'its text'


def main(program, rules):
    names, by = kernels_of(program)
    names = sorted({name.decode() for name in names})
    end = rules.index('not') if 'not' in rules else len(rules)
    wrong = []
    for number, rule in enumerate(rules):
        found = [name for name in names if re.search(rule, name)]
        if number < end and not found:
            wrong.append(f'no kernel is called {rule}')
        if number > end and found:
            wrong.append(f'{len(found)} kernels are called {rule}: {found[0]}')
    if not names:
        wrong.append('it has no kernels')
    for text in wrong:
        print(f'WRONG {program}: {text}')
    print(f'{len(names)} kernels by {by}, {len(wrong)} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]))
