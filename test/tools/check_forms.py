#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_forms.py INCLUDE COMPILER...: <locus/locus.hpp> gives users the same names in both forms.
A unit with LOCUS_COMPILED leaves bodies/ out, and with them each header that bodies alone include. Such a
header must not open a namespace that users name."""
import pathlib
import re
import subprocess
import sys

OF_USERS = re.compile(r'^(?:inline )?namespace (?:locus::)?(config|debugging|collective|linalg|testing) \{', re.M)
include, *compiler = sys.argv[1:]


def headers(*words):
    """The headers of the library that a unit reads, without bodies."""
    said = subprocess.run([*compiler, '-std=c++20', *words, '-I', include, '-M', '-x', 'c++', '-'], check=True, text=True,
                          input='#include <locus/locus.hpp>\n', capture_output=True).stdout
    return {path for path in said.replace('\\\n', ' ').split()[1:]
            if path.startswith(include) and 'bodies' not in pathlib.Path(path).parts}


left_out = sorted(headers() - headers('-DLOCUS_COMPILED'))
wrong = [(path, found[1]) for path in left_out if (found := OF_USERS.search(pathlib.Path(path).read_text()))]
for path, name in wrong:
    print(f'{path}: bodies alone include this header, so units with LOCUS_COMPILED lack what it adds to `{name}`; '
          'include it from a header outside bodies/')
print(f'{len(left_out)} headers are read by bodies alone, {len(wrong)} wrong')
sys.exit(bool(wrong))
