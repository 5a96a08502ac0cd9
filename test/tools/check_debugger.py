#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_debugger.py PRINTERS SOURCE PROGRAM: what the debugger prints of the program's values is what SOURCE expects, stopped at its
line "stop here"; two steps lead two lines further. PRINTERS is gdb.py or lldb_values.py, which names the debugger. 77, a skip,
without that debugger, and where it may not run a program."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

LLDB = ['lldb'] + [f'lldb-{version}' for version in range(30, 13, -1)]


def commands_of_gdb(names, line):
    yield from ['set confirm off', f'source {printers}', f'break {pathlib.Path(source).name}:{line}', 'run']
    for name, want in names.items():
        yield from [f'set print elements {4 if want.endswith("...}") else 200}', f'echo {name}:', f'output {name}', 'echo \\n']
    yield from ['step', 'step', 'echo at:', 'python print(gdb.selected_frame().find_sal().line)']


def commands_of_lldb(names, line):
    yield from [f'command script import {printers}', f'breakpoint set --file {pathlib.Path(source).name} --line {line}', 'run']
    for name, want in names.items():
        yield f'settings set target.max-children-count {4 if want.endswith("...}") else 200}'
        yield f'script print("{name}:" + str(lldb.frame.FindVariable("{name}").GetSummary()))'
    yield from ['step', 'step', 'script print("at:" + str(lldb.frame.GetLineEntry().GetLine()))']


printers, source, program = sys.argv[1:4]
is_gdb = pathlib.Path(printers).name == 'gdb.py'
text = pathlib.Path(source).read_text()
expected = dict(re.findall(r'^//     (\w+): (.*)$', text, re.M))
line = next(n for n, of in enumerate(text.splitlines(), 1) if 'stop here' in of)
debugger = next(filter(None, map(shutil.which, ['gdb'] if is_gdb else LLDB)), None)
if not debugger:
    print('no gdb' if is_gdb else 'no lldb')
    sys.exit(77)
commands = list((commands_of_gdb if is_gdb else commands_of_lldb)(expected, line))
if not expected:
    sys.exit(f'{source} expects no value')
expected['at'] = str(line + 2)  # no step went into what builds the expression
options = ['-q', '-batch'] if is_gdb else ['--no-lldbinit', '--batch']
done = subprocess.run([debugger, *options, *[word for c in commands for word in ('-ex' if is_gdb else '-o', c)], program],
                      capture_output=True, text=True, timeout=120, env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'})
if re.search(r'ptrace.*not permitted|personality set failed|failed to launch', done.stderr, re.I):
    print(done.stderr)
    sys.exit(77)
printed = dict(re.findall(r'^(\w+):(.*)$', done.stdout, re.M))
wrong = [f'{name}: expected {want}\n  printed: {printed.get(name)}' for name, want in expected.items() if printed.get(name) != want]
print(*wrong, sep='\n')
print(f'{len(expected)} values, {len(wrong)} wrong')
if wrong:
    print(done.stdout[-3000:], done.stderr[-3000:])
sys.exit(bool(wrong))
