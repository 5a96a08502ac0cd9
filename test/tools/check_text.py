#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_text.py [CLANG_FORMAT]: every source names its licence, has no tabs and no spaces at the ends of
lines, and is laid out as .clang-format says. A test keeps the NaN among its errors: test/worst_of.hpp."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ('include', 'examples', 'test', 'bench', 'cmake', '.ci')
CODE = {'.hpp', '.cuh', '.cpp', '.cu'}
TEXT = CODE | {'.py', '.sh', '.build', '.md', '.in', '.txt', '.cmake'}

FORGETS_NAN = re.compile(r'\b(worst\w*|far|error) = std::f?max\(\1|if \(!\((\w+) <= (\w+)\)\) \3 = \2|(\bworst) = (\w+) <= \4 \?')

files = [p for f in FOLDERS for p in sorted((ROOT / f).rglob('*')) if p.is_file() and '__pycache__' not in p.parts]
files += sorted(p for p in ROOT.glob('*') if p.is_file())
wrong = []
for path in files:
    if path.suffix not in TEXT and path.name != 'run':
        continue
    lines = path.read_text(encoding='utf-8').split('\n')
    name = path.relative_to(ROOT)
    if path.suffix not in ('.md', '.in', '.txt') and not any('SPDX-License-Identifier: Apache-2.0' in l for l in lines[:2]):
        wrong.append(f'{name}: the first line names no licence')
    if path.suffix != '.txt':
        wrong += [f'{name}:{i}: a tab or a space at the end' for i, l in enumerate(lines, 1)
                  if '\t' in l or l != l.rstrip()]
    if path.suffix in CODE and name.parts[0] in ('test', 'bench'):
        wrong += [f'{name}:{i}: drops a NaN; write worst_of' for i, l in enumerate(lines, 1) if FORGETS_NAN.search(l)]
    if lines[-1]:
        wrong.append(f'{name}: the last line does not end')
if len(sys.argv) > 1:
    code = [str(p) for p in files if p.suffix in CODE]
    checked = subprocess.run([sys.argv[1], '--dry-run', '-Werror', *code], capture_output=True, text=True)
    faults = [l for l in checked.stderr.splitlines() if 'error:' in l]
    wrong += faults if faults or not checked.returncode else [f'clang-format ended with {checked.returncode}']
print('\n'.join(wrong[:50]))
print(f'{len(files)} files, {len(wrong)} faults' + ('' if len(sys.argv) > 1 else ' (no clang-format 19: layout not checked)'))
sys.exit(1 if wrong else 0)
