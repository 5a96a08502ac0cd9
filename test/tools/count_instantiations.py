#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_instantiations.py FILES... [--update] -- CLANG ARGS...: compile time is bounded.

Seconds depend on the machine; counts of instantiations do not, for one version of clang. The
budgets stand at the top of each file:
    // budget: 5200 instantiations (clang 14)     of classes and functions, by -ftime-trace
    // budget: 31000 lines                        after the preprocessor, blank ones not counted
A count above its budget is an error, one below nine tenths of it is worth a smaller budget.
--update writes new budgets: what is measured now and three percent."""
import collections
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOM = 1.03


def seconds_of(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f'{" ".join(map(str, command))}\n{done.stderr[:3000]}')
    return after.ru_utime - before.ru_utime, time.monotonic() - start, done.stdout


def measure(unit, command):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / 'unit.o'
        trace = ['-ftime-trace', '-ftime-trace-granularity=0']
        user, wall, _ = seconds_of([*command, *trace, '-c', unit, '-o', out])
        events = json.loads(out.with_suffix('.json').read_text(encoding='utf-8'))['traceEvents']
    counts = collections.Counter(event['name'] for event in events if event.get('ph') == 'X')
    _, _, text = seconds_of([*command, '-E', '-P', unit])
    return {'instantiations': counts['InstantiateClass'] + counts['InstantiateFunction'],
            'lines': sum(bool(line.strip()) for line in text.splitlines())}, user, wall


def main():
    cut = sys.argv.index('--')
    arguments, command = sys.argv[1:cut], sys.argv[cut + 1:]
    command = command[1:] if command[0].endswith('ccache') else command
    about = subprocess.run([command[0], '--version'], capture_output=True, text=True).stdout
    version = re.search(r'clang version (\d+)', about)
    if not version:
        sys.exit(f'{command[0]} is no clang')
    wrong = compared = 0
    for name in (a for a in arguments if not a.startswith('--')):
        unit = pathlib.Path(name)
        text = unit.read_text(encoding='utf-8')
        found, user, wall = measure(unit, command)
        for budget, what, of in re.findall(r'^// budget: (\d+) (\w+)(?: \(clang (\d+)\))?$', text, re.M):
            count, limit = found[what], int(budget)
            if of and of != version[1]:
                print(f'{unit.name}: {count} {what}; the budget is one of clang {of}, not compared')
                continue
            compared += 1
            if '--update' in arguments:
                text = text.replace(f'// budget: {budget} {what}', f'// budget: {max(int(count * ROOM), 1)} {what}')
            elif count > limit:
                wrong += 1
            print(f'{unit.name:24} {count:7} {what:14} of {limit:7}, {100 * count / limit - 100:+6.1f} %'
                  + ('   TOO MANY' if count > limit else '   smaller budget?' if count < 0.9 * limit else ''))
        print(f'{unit.name:24} {user:7.2f} s, {wall:.2f} s on the clock')
        if '--update' in arguments:
            unit.write_text(text, encoding='utf-8')
    sys.exit(1 if wrong else 77 if not compared else 0)  # 77: skipped, as all budgets are of another clang


if __name__ == '__main__':
    main()
