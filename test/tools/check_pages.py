#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_pages.py ROOT: each link of a page leads to a file, and to a heading of it; pages stay short.

Links of *.md files below ROOT that name no protocol are looked up from the folder of the page. A part behind
# is a heading of the page that it leads to, as GitHub spells it. A page of a folder in SHORT has at most as
many lines as the table says, the page above the folder links to it, and where it shows C++ test/meson.build
names it, so that its code is compiled."""
import re
import sys
from pathlib import Path

SHORT = {'include/locus/decisions': (60, 'include/locus/README.md'), 'examples/guide': (150, 'README.md')}
LINK = re.compile(r'\]\(([^()\s]+)\)')


def without_code(text):
    return re.sub(r'`[^`\n]*`', '', re.sub(r'^```.*?^```', '', text, flags=re.M | re.S))


def anchors_of(path):
    """GitHub's names: small letters, blanks become hyphens, marks go"""
    text = re.sub(r'^```.*?^```', '', path.read_text(encoding='utf-8'), flags=re.M | re.S)
    titles = re.findall(r'^#+ (.+)$', text, re.M)
    return {re.sub(r'[^\w\- ]', '', title.strip().lower()).replace(' ', '-') for title in titles}


def wrong_links(root, page):
    for link in LINK.findall(without_code(page.read_text(encoding='utf-8'))):
        if re.match(r'\w+:', link):
            continue
        name, _, heading = link.partition('#')
        target = page.parent / name if name else page
        if not target.exists():
            yield f'{page.relative_to(root)}: there is no {link}'
        elif heading and heading not in anchors_of(target):
            yield f'{page.relative_to(root)}: no heading of {target.name} is #{heading}'


def wrong_lengths(root):
    built = (root / 'test' / 'meson.build').read_text(encoding='utf-8')
    for folder, (limit, above) in SHORT.items():
        text = (root / above).read_text(encoding='utf-8')
        for page in sorted((root / folder).glob('*.md')):
            lines = len(page.read_text(encoding='utf-8').splitlines())
            if lines > limit:
                yield f'{folder}/{page.name}: {lines} lines, at most {limit}'
            if '```cpp' in page.read_text(encoding='utf-8') and page.stem not in built:
                yield f'test/meson.build: no test compiles the code of {folder}/{page.name}'
            if f'{page.parent.name}/{page.name}' not in text:
                yield f'{above}: no link to {folder}/{page.name}'


def main():
    root = Path(sys.argv[1]).resolve()
    pages = [page for page in sorted(root.rglob('*.md'))
             if not any(part == 'build' or part.startswith(('build-', '.')) for part in page.relative_to(root).parts)]
    wrong = [fault for page in pages for fault in wrong_links(root, page)] + [*wrong_lengths(root)]
    print(*wrong, f'{len(pages)} pages, {len(wrong)} wrong', sep='\n')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
