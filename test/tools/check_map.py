#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_map.py ROOT: test/map.txt says which test proves which header.

Each header below include/locus stands in one line (a file of a folder `bodies` belongs to the header of its name), and each name in a line is that of a header. Each
test of a line is a file that reads all headers of the line, directly or by way of others. Each unit test
is named. (That a test fails when a header is wrong, no script can see.)"""
import itertools
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

READS = re.compile(r'^\s*#\s*include\s*(?:<|")([^>"]+)[>"]', re.M)


def names_of(pattern):
    """x{y,z} is xy and xz"""
    parts = [part.split(',') for part in re.split(r'[{}]', pattern)]
    return [''.join(choice) for choice in itertools.product(*parts)]


def test_of(name):
    return name if '.' in name else f'unit/{name}_test.cpp'


class Reader:
    """Which headers of locus a file reads, directly or by way of others."""

    def __init__(self, root):
        self.include, self.test, self.direct = root / 'include', root / 'test', {}

    def included_by(self, file):
        if file not in self.direct:
            names = READS.findall(file.read_text(encoding='utf-8'))
            paths = [folder / name for name in names for folder in (self.include, self.test, file.parent)]
            self.direct[file] = [path for path in paths if path.is_file()]
        return self.direct[file]

    def headers_of(self, file):
        found, todo = set(), [file]
        while todo:
            new = set(self.included_by(todo.pop())) - found
            found |= new
            todo += new
        return {path.relative_to(self.include / 'locus').as_posix() for path in found
                if path.is_relative_to(self.include)}


def wrong_lines(root, named):
    include, tests, reader, seen = root / 'include' / 'locus', root / 'test', Reader(root), {}
    headers = sorted(p.relative_to(include).as_posix() for p in include.rglob('*') if p.suffix in ('.hpp', '.cuh')
                     and p.parent.name != 'bodies')
    for number, line in enumerate((tests / 'map.txt').read_text(encoding='utf-8').split('\n'), 1):
        at = f'test/map.txt:{number}:'
        if not line or line.startswith('#'):
            continue
        pattern, *proofs = line.split()
        mine = []
        for name in names_of(pattern):
            found = [h for h in headers if fnmatchcase(h.rsplit('.', 1)[0], name)]
            if not found:
                yield f'{at} there is no header {name}'
            mine += found
        for header in mine:
            if header in seen:
                yield f'{at} {header} stands in line {seen[header]} already'
            seen[header] = number
        if not proofs:
            yield f'{at} no test is named'
        for name in proofs:
            test = tests / test_of(name)
            named.add(test)
            if not test.is_file():
                yield f'{at} there is no test/{test_of(name)}'
                continue
            for header in sorted({*mine} - reader.headers_of(test)):
                yield f'{at} test/{test_of(name)} does not read {header}'
    for header in headers:
        if header not in seen:
            yield f'test/map.txt: no line has {header}; name the test that fails when it is wrong'


def main():
    root, named = Path(sys.argv[1]).resolve(), set()
    wrong = [*wrong_lines(root, named)]
    for test in sorted((root / 'test' / 'unit').rglob('*_test.cpp')):
        if test not in named:
            wrong.append(f'test/map.txt: no line names {test.relative_to(root / "test")}')
    print(*wrong, sep='\n')
    print(f'{len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
