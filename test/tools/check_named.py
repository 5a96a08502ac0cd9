#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_named.py ROOT: what is named is there, and what is there is built.

Each *.cpp and *.cu below test/ is named by a meson.build of its folder or of a folder above it, or by
a script that a meson.build names. Each path that a comment, a README, a build file or a script names
(words with a slash and a suffix of ours) is a file: seen from ROOT, from include/, from include/locus/,
from test/ or test/unit/, or from the folder of the file that names it."""
import re
import sys
from pathlib import Path

SOURCES = {'.cpp', '.cu'}
READ = {'.hpp', '.cuh', '.cpp', '.cu', '.py', '.sh', '.md', '.build', '.in', '.txt', '.cmake'}
NAMED = re.compile(r'(?<![\w./<$*{-])((?:\.\./)*(?:[\w.-]+/)+[\w.-]+\.(?:hpp|cuh|cpp|cu|py|sh|md|build))\b(?!\.\w)')
FOLDERS = ('include', 'examples', 'test', 'bench', 'cmake', '.ci')
# folders of other projects, and of what is built or planted
FOREIGN = re.compile(r'^(tsl|tensorflow|keras|cub|thrust|cuda|nccl|usr|build|src|std|sys|tmp|python)\b|(^|/)build')


def without_includes(text):
    return re.sub(r'^\s*#\s*include\b.*$', '', text, flags=re.M)


def sources_not_built(root):
    built = [(path.parent, re.sub(r'(^|\s)#.*', '', path.read_text(encoding='utf-8'))) for path in sorted(root.rglob('meson.build'))
             if 'build-' not in path.parts]
    scripts = '\n'.join(path.read_text(encoding='utf-8') for path in sorted((root / 'test').rglob('*.py')))
    for path in sorted((root / 'test').rglob('*')):
        if path.suffix not in SOURCES:
            continue
        named = any(path.is_relative_to(folder) and
                    f"'{path.relative_to(folder).as_posix()}'" in text for folder, text in built)
        # a whole folder that a script compiles
        if not named and f"'{path.name}'" not in scripts:
            yield f'{path.relative_to(root)}: no meson.build names it, so it is not built'


def names_of_nothing(root):
    paths = [p for f in FOLDERS for p in sorted((root / f).rglob('*'))] + sorted(root.glob('*.*'))
    for path in paths:
        if path.suffix not in READ and path.name != 'run' or not path.is_file() or '__pycache__' in path.parts:
            continue
        text = without_includes(path.read_text(encoding='utf-8'))
        if path.name in ('self_test.py', 'check_named.py'):
            continue  # they plant such names
        for number, line in enumerate(text.split('\n'), 1):
            for name in NAMED.findall(line):
                if FOREIGN.search(name):
                    continue
                places = (root, root / 'include', root / 'include' / 'locus', root / 'test', root / 'test' / 'unit', path.parent)
                if not any((place / name).is_file() for place in places):
                    yield f'{path.relative_to(root)}:{number}: there is no {name}'


def main():
    root = Path(sys.argv[1]).resolve()
    wrong = [*sources_not_built(root), *names_of_nothing(root)]
    print(*wrong, sep='\n')
    print(f'{len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
