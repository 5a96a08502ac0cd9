#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_reference.py ROOT: the reference that test/tools/reference.sh makes has each public name: those that the guide names as
operations and types, and those of its pages about training, devices and exceptions. Exit code 77 where the machine lacks doxygen."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

PAGES = ['04-training', '09-types-and-operations', '13-exceptions']
# words in quotes that are no names of locus: of C++, of functions' parameters, of other libraries
OTHERS = set('''bool const cpp double float high int int8 int32 int64 uint8 int16 int64_t main namespace operator return std struct using x y w fit mask
    locus nn data collective config debugging testing grad catch try what include seconds operation bucket replica class auto this throw run from_logits
    true false nullptr'''.split())


def names_of(folder):
    """names of classes, enumerations, functions and variables that the reference has"""
    names = set()
    for file in folder.glob('*.xml'):
        for part in xml.parse(file).getroot().iter('compounddef'):
            if part.get('kind') in ('class', 'struct', 'namespace'):
                names.add(part.find('compoundname').text.split('::')[-1])
            names |= {member.find('name').text for member in part.iter('memberdef')}
            names |= {value.find('name').text for value in part.iter('enumvalue')}
    return names


def words_of(page):
    """the first name of each word in quotes, without its namespace; code blocks do not count"""
    text = re.sub(r'```.*?```', '', page, flags=re.S)
    for quoted in re.findall(r'`([^`]*)`', text):
        for word in quoted.replace('\\', '').split():
            if found := re.match(r'(?:(?:nn|data|collective|config|debugging|testing|locus)::)?([A-Za-z_]\w*)(?![\w/.-]*\.(?:hpp|cuh|md|cpp|npz))', word):
                yield found[1]


def main():
    root = pathlib.Path(sys.argv[1])
    if not shutil.which('doxygen'):
        print('there is no doxygen')
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(['sh', root / 'test/tools/reference.sh', folder], capture_output=True, text=True)
        if made.returncode:
            sys.exit(made.stdout + made.stderr)
        there = names_of(pathlib.Path(folder) / 'xml')
    wrong = [f'examples/guide/{page}.md: the reference has no {word}' for page in PAGES
             for word in sorted(set(words_of((root / f'examples/guide/{page}.md').read_text(encoding='utf-8'))) - there - OTHERS)]
    print(*wrong, sep='\n')
    print(f'{len(there)} names, {len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
