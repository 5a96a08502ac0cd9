#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py TREE [PROGRAMS...] [--lines FOLDER]: which lines of each folder of include/locus the unit tests run.

Makes TREE with g++ and gcov's counters where it is not there, builds the unit programs of these names (all without
names), runs them and prints a table. --lines FOLDER prints the lines of that folder that never ran instead.
A line counts if a unit compiled code for it: a template without an instance has no lines, nor has what only the
compiler runs (consteval, static_assert). A line that ran in one instance ran. Kernels of GPUs are not counted.
Exit code 77 where g++ or gcov is not there."""
import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / 'include' / 'locus'
JOBS = int(os.environ.get('JOBS', '2'))


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f'{" ".join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}')
    return done.stdout


def build(tree, names):
    """the unit programs, built and run; their counters lie in the tree"""
    if not (tree / 'build.ninja').exists():
        run('meson', 'setup', tree, ROOT, '-Db_coverage=true', '-Dcuda=disabled', '-Doptimization=0',
            '-Dcpp_args=-fprofile-update=atomic', env={**os.environ, 'CXX': 'g++'})
    run('ninja', '-C', tree, f'-j{JOBS}', *([f'test/unit/unit_{name}' for name in names] or ['units']))
    for old in tree.rglob('*.gcda'):
        old.unlink()
    tests = names or ['--suite', 'unit']
    done = subprocess.run(['meson', 'test', '-C', str(tree), '--no-rebuild', '--num-processes', str(JOBS), *tests],
                          capture_output=True, text=True)
    return done.returncode == 0, done.stdout


def lines_of(counters):
    """{(header, line): it ran} of one object"""
    found = {}
    text = run('gcov', '--json-format', '--stdout', counters.name, cwd=counters.parent)
    report = json.loads(text) if text.strip() else {'files': []}
    for file in report['files']:
        path = pathlib.Path(os.path.normpath(os.path.join(report['current_working_directory'], file['file'])))
        if path.is_relative_to(HEADERS):
            name = path.relative_to(HEADERS).as_posix()
            for line in file['lines']:
                at = name, line['line_number']
                found[at] = found.get(at, False) or line['count'] > 0
    return found


def folder_of(name):
    """nn/layers of nn/layers/bodies/summary.hpp; locus.hpp and its like have none"""
    parts = [part for part in name.split('/')[:-1] if part != 'bodies']
    return '/'.join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tree', type=pathlib.Path)
    parser.add_argument('programs', nargs='*')
    parser.add_argument('--lines', metavar='FOLDER')
    arguments = parser.parse_args()
    if not (shutil.which('g++') and shutil.which('gcov')):
        print('no g++ or no gcov')
        sys.exit(77)
    tree = arguments.tree.resolve()
    passed, said = build(tree, arguments.programs)
    ran = {}
    with ThreadPoolExecutor(JOBS) as pool:
        for found in pool.map(lines_of, sorted(tree.rglob('*.gcda'))):
            for at, was_run in found.items():
                ran[at] = ran.get(at, False) or was_run
    if not ran:
        sys.exit(f'no counters in {tree}\n{said[-3000:]}')
    if arguments.lines is not None:
        print(*(f'{name}:{line}' for (name, line), was_run in sorted(ran.items())
                if not was_run and folder_of(name) == arguments.lines), sep='\n')
    else:
        all_lines, run_lines = collections.Counter(), collections.Counter()
        for (name, _), was_run in ran.items():
            for folder in (folder_of(name) or '.', 'all'):
                all_lines[folder] += 1
                run_lines[folder] += was_run
        print('| folder | lines | run | % |\n|---|---|---|---|')
        for folder in sorted(all_lines, key=lambda folder: (folder == 'all', folder)):
            print(f'| {folder} | {all_lines[folder]} | {run_lines[folder]} | {100 * run_lines[folder] / all_lines[folder]:.1f} |')
    if not passed:
        sys.exit(f'a test failed\n{said[-3000:]}')


if __name__ == '__main__':
    main()
