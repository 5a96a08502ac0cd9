#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_debugger.py PRINTERS SOURCE PROGRAM: what gdb prints of the program's values is what SOURCE expects, stopped at its line
"stop here"; two steps lead two lines further. 77, a skip, without gdb, and where it may not run a program."""
import pathlib
import re
import shutil
import subprocess
import sys

printers, source, program = sys.argv[1:4]
text = pathlib.Path(source).read_text()
expected = dict(re.findall(r'^//     (\w+): (.*)$', text, re.M))
line = next(n for n, of in enumerate(text.splitlines(), 1) if 'stop here' in of)
if not shutil.which('gdb'):
    print('no gdb')
    sys.exit(77)
commands = ['set confirm off', f'source {printers}', f'break {pathlib.Path(source).name}:{line}', 'run']
for name, want in expected.items():
    commands += [f'set print elements {4 if want.endswith("...}") else 200}', f'echo {name}:', f'output {name}', 'echo \\n']
commands += ['step', 'step', 'echo at:', 'python print(gdb.selected_frame().find_sal().line)']
expected['at'] = str(line + 2)  # no step went into what builds the expression
done = subprocess.run(['gdb', '-q', '-batch', *[word for c in commands for word in ('-ex', c)], program],
                      capture_output=True, text=True, timeout=120)
if 'ptrace' in done.stderr and 'not permitted' in done.stderr:
    print(done.stderr)
    sys.exit(77)
printed = dict(re.findall(r'^(\w+):(.*)$', done.stdout, re.M))
wrong = [f'{name}: expected {want}\n  printed: {printed.get(name)}' for name, want in expected.items() if printed.get(name) != want]
print(*wrong, sep='\n')
print(f'{len(expected)} values, {len(wrong)} wrong')
if wrong:
    print(done.stdout[-3000:], done.stderr[-3000:])
sys.exit(bool(wrong) or not expected)
