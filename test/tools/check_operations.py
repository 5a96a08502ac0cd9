#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_operations.py ROOT: the table of element-wise operations, include/locus/ops/elementwise.hpp, is what
the guide and the tests say.

The guide (examples/guide/09-types-and-operations.md) names each function and each operator of the table, and no other
element-wise operation but those that have no row: cast, map, one_hot. Each derivative of the table is
compared with differences (unit/grad/derivatives_test.cpp), each vector function with a wider libm
(unit/simd/accuracy.hpp), each function of ours (own) with known values (unit/ops/special_functions_test.cpp)."""
import re
import sys
from pathlib import Path

WITHOUT_ROW = {'cast', 'map', 'one_hot'}
PAGE = 'examples/guide/09-types-and-operations.md'
COMPARISONS = {'==', '!=', '<', '<=', '>', '>='}  # the page says `comparisons`
COLUMNS = ('operands', 'name', 'tensorflow', 'law', 'elements', 'cost', 'end', 'call', 'scalar', 'vector', 'derivative')


def cells_of(text):
    """a, (b, c), d: split at the commas outside parentheses"""
    cells, depth = [''], 0
    for letter in text:
        depth += (letter == '(') - (letter == ')')
        if letter == ',' and depth == 0:
            cells.append('')
        else:
            cells[-1] += letter
    return [' '.join(cell.split()) for cell in cells]


def rows_of(header):
    """The rows of the table: dicts by column."""
    text = re.sub(r'/\*.*?\*/', '', header.replace('\\\n', '\n'), flags=re.S)
    text = re.sub(r'^\s*//.*$', '', text, flags=re.M)
    for start in re.finditer(r'^  ROW\(', text, re.M):
        end, depth = start.end(), 1
        while depth:
            depth += {'(': 1, ')': -1}.get(text[end], 0)
            end += 1
        cells = cells_of(text[start.end():end - 1])
        if len(cells) != len(COLUMNS):
            sys.exit(f'a row has {len(cells)} cells, not {len(COLUMNS)}: {", ".join(cells)}')
        yield dict(zip(COLUMNS, cells))


def form_of(cell):
    """(by_vector, f, g) is by_vector"""
    return re.match(r'\(([^,)]*)', cell)[1]


def wrong_names(rows, readme):
    line = re.search(r'^\| element-wise \|(.*)\|$', readme, re.M)
    if not line:
        yield f'{PAGE}: no row `element-wise`'
        return
    said = {word for quoted in re.findall(r'`([^`]*)`', line[1]) for word in quoted.replace('\\', '').split()}
    operators = {row['call'].split(', ')[1][:-1] for row in rows if form_of(row['call']) == 'symbol'} | {'/', '%'}
    # identity is no function, divide is the operator /; % is fmod of integers
    functions = {row['name'] for row in rows if form_of(row['call']) != 'symbol'} - {'identity', 'divide'}
    for name in sorted((functions | operators | WITHOUT_ROW) - COMPARISONS - said):
        yield f'{PAGE}: element-wise operations lack `{name}`, which the table has'
    for name in sorted(said - functions - operators - WITHOUT_ROW):
        yield f'{PAGE}: `{name}` is no operation of the table'
    if 'comparisons' not in line[1]:
        yield f'{PAGE}: element-wise operations lack the comparisons'


def wrong_tests(rows, unit):
    def text(name):
        whole = (unit / name).read_text(encoding='utf-8')
        return re.sub(r'/\*.*?\*/|//[^\n]*', '', whole, flags=re.S)  # a comment tests nothing

    derivatives, accuracy, special = text('grad/derivatives_test.cpp'), text('simd/accuracy.hpp'), text('ops/special_functions_test.cpp')
    for row in rows:
        name = row['name']
        if form_of(row['call']) == 'named' and form_of(row['derivative']) == 'reading' \
                and not re.search(rf'\b{name}\(', derivatives):
            yield f'test/unit/grad/derivatives_test.cpp: no test compares the derivative of {name}'
        if form_of(row['scalar']) == 'by_vector' and not re.search(rf'\brow\({name},', accuracy):
            yield f'test/unit/simd/accuracy.hpp: no row for vector_{name}'
        if form_of(row['scalar']) == 'own' and not re.search(rf'\b{name}_fn\b', special):
            yield f'test/unit/ops/special_functions_test.cpp: no test of {name}'


def main():
    root = Path(sys.argv[1])
    rows = list(rows_of((root / 'include/locus/ops/elementwise.hpp').read_text(encoding='utf-8')))
    names = [row['name'] for row in rows]
    wrong = [f'{name} stands in two rows' for name in sorted({n for n in names if names.count(n) > 1})]
    wrong += [*wrong_names(rows, (root / PAGE).read_text(encoding='utf-8')), *wrong_tests(rows, root / 'test/unit')]
    wrong += [] if rows else ['include/locus/ops/elementwise.hpp: no rows']
    print(*wrong, sep='\n')
    print(f'{len(rows)} rows, {len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
