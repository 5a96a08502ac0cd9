#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_forms.py INCLUDE COMPILER...: <locus/locus.hpp> and <locus/training.hpp> give users the same names in both forms.
A unit with LOCUS_COMPILED leaves bodies/ out, and with them each header that bodies alone include. Such a
header must not open a namespace that users name; in `locus` itself it declares structs at most."""
import pathlib
import re
import subprocess
import sys

OF_USERS = re.compile(r'^(?:inline )?namespace (?:locus::)?(config|debugging|collective|linalg|testing|nn|data|strategy|files|fft|'
                      r'sparse|algorithms|metrics)(?:::(?!detail|internal)\w+)* \{', re.M)
ITSELF = re.compile(r'^namespace locus \{\n(.*?)^\}  // namespace locus$', re.M | re.S)
NESTED = re.compile(r'^namespace (?:detail|internal|runtime|host|kernel|lowering) \{\n.*?^\}.*?$', re.M | re.S)
include, *compiler = sys.argv[1:]


def names_of_users(text):
    """the first namespace that gives users a name, or None"""
    if found := OF_USERS.search(text):
        return found[1]
    for block in ITSELF.findall(text):
        left = re.sub(r'//[^\n]*', '', NESTED.sub('', block))
        if re.sub(r'^(?:template <[^>]*>\s*)?(?:struct|class) \w+;$', '', left, flags=re.M).strip():
            return 'locus'
    return None


def headers(door, *words):
    """The headers of the library that a unit reads, without bodies."""
    said = subprocess.run([*compiler, '-std=c++20', *words, '-I', include, '-M', '-x', 'c++', '-'], check=True, text=True,
                          input=f'#include <locus/{door}>\n', capture_output=True).stdout
    return {path for path in said.replace('\\\n', ' ').split()[1:]
            if path.startswith(include) and 'bodies' not in pathlib.Path(path).parts}


left_out = sorted(set().union(*(headers(door) - headers(door, '-DLOCUS_COMPILED') for door in ('locus.hpp', 'training.hpp'))))
wrong = [(path, name) for path in left_out if (name := names_of_users(pathlib.Path(path).read_text()))]
for path, name in wrong:
    print(f'{path}: bodies alone include this header, so units with LOCUS_COMPILED lack what it adds to `{name}`; '
          'include it from a header outside bodies/')
print(f'{len(left_out)} headers are read by bodies alone, {len(wrong)} wrong')
sys.exit(bool(wrong))
