#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contracts.py FILE: a file as Doxygen shall read it (INPUT_FILTER of test/tools/Doxyfile).

Each label of a contract block (means, shape, device, cost, fails, after, units) becomes a paragraph with that title;
signs that Doxygen would take for its own are kept as they stand. Behind ops/math.hpp come the functions that
ops/elementwise.hpp has as rows, since Doxygen does not expand a table."""
import html
import re
import sys
from pathlib import Path

import check_operations

LABEL = re.compile(r'^(\s*)/// (means|shape|device|cost|fails|after|units):\s*(.*)$')
PARAMETERS = {'one': ['x'], 'two': ['a', 'b'], 'three': ['a', 'b', 'c']}


def plain(text):
    """text in which Doxygen finds no commands, links or HTML"""
    return re.sub(r'([\\@#%*`])', r'\\\1', html.escape(text, quote=False)) if text else text


def contracts(text):
    """the lines of a header, labels as titles"""
    for line in text.split('\n'):
        if found := LABEL.match(line):
            yield f'{found[1]}/// @par {found[2]}\n{found[1]}/// {plain(found[3])}'
        elif comment := re.match(r'^(\s*///)( ?)(.*)$', line):
            # two labels in one line stand apart by spaces
            said = re.sub(r'\s{2,}(units|fails|false|null|cost|after):\s+', r'; \1: ', comment[3])
            yield f'{comment[1]} {plain(said.strip())}'
        else:
            yield line


def functions_of(table):
    """declarations of the element-wise operations that have a name"""
    for row in check_operations.rows_of(table):
        if check_operations.form_of(row['call']) not in ('named', 'apart') or row['name'] in ('identity', 'divide', 'add_n'):
            continue
        names = PARAMETERS.get(row['operands'])
        if not names:
            continue
        indexed = ', '.join(f'{name}[i]' for name in names)
        tensorflow = row['tensorflow'].strip('"')
        yield (f'/// @par means\n/// y[i] = {plain(row["name"])}({indexed}), operands stretched to one shape\n'
               + (f'/// @par after\n/// TensorFlow {tensorflow}\n' if tensorflow else '')
               + f'template <{", ".join(f"operand {name.upper()}" for name in names)}>\n'
                 f'constexpr auto {row["name"]}({", ".join(f"{name.upper()}&& {name}" for name in names)});\n')


def main():
    path = Path(sys.argv[1])
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.md':
        print(text)
        return
    print('\n'.join(contracts(text)))
    if path.as_posix().endswith('locus/ops/math.hpp'):
        table = path.with_name('elementwise.hpp').read_text(encoding='utf-8')
        print('namespace locus {\n', *functions_of(table), '}', sep='\n')


if __name__ == '__main__':
    main()
