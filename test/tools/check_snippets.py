#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_snippets.py README.md... --compiler g++ --flags "-std=c++20 ...": what the documents show is what runs.

Each ```cpp block is compiled and run; a ```text block that follows is its output (check_output.py
has the rules: <#> any number, <*> any text, ... any lines). A block without main() is wrapped into one.
A comment line before the block says what differs:
    <!-- snippet: continues -->    the block goes on where the block before ended
    <!-- snippet: compile -->      compiled, not run
    <!-- snippet: fails -->        must not compile; the text block is in its first error line
    <!-- snippet: skip, WHY -->    no program; the reason is printed
    <!-- [example: NAME] -->       equals, letter by letter, the lines between the comments
                                   [example: NAME] and [end] of a program in examples/; a text block
                                   that follows stands in what that program says it prints"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor

from check_output import difference, expected_lines

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = ''.join(f'#pragma GCC diagnostic ignored "-Wunused-{what}"\n'
                for what in ('variable', 'but-set-variable', 'function'))


class Block:
    def __init__(self, document, line, language, note):
        self.document, self.line, self.language, self.note = document, line, language, note
        self.code, self.output = '', None  # output: the text block that follows

    def __str__(self):
        return f'{self.document}:{self.line}'


def blocks_of(document):
    """The fenced blocks of a document; a text block goes to the C++ block before it."""
    blocks, inside, note, fence = [], None, '', ''
    for number, line in enumerate(open(document, encoding='utf-8'), 1):
        opening = re.match(r'(\s*)(```+|~~~+)\s*([\w+]*)', line)
        if inside is not None:
            if line.strip() == fence:
                inside.code = textwrap.dedent(inside.code)
                if inside.language == 'text' and blocks and blocks[-1].output is None:
                    blocks[-1].output = inside.code
                elif inside.language in ('cpp', 'c++', 'cc', 'cuda', 'C++'):
                    blocks.append(inside)
                inside, note = None, ''
            else:
                inside.code += line
        elif opening:
            fence = opening[2]
            inside = Block(document, number + 1, opening[3], note)
        elif re.match(r'\s*<!--.*-->\s*$', line):
            note = line.strip()[4:-3].strip()
        elif line.strip():
            note = ''
            if line.startswith('#') and blocks:  # a heading ends the reach of a block
                blocks[-1].output = blocks[-1].output or ''
    return blocks


def regions_of(folder):
    """name -> (lines of the region, program it stands in)."""
    regions = {}
    for path in sorted(pathlib.Path(folder).rglob('*.c*')):
        name, body = None, []
        for line in path.read_text(encoding='utf-8').splitlines(keepends=True):
            start = re.match(r'\s*// \[example: (.+)\]\s*$', line)
            if start:
                name, body = start[1], []
                if name in regions:
                    sys.exit(f'{path}: a second region is named {name}')
            elif re.match(r'\s*// \[end\]\s*$', line):
                regions[name] = (textwrap.dedent(''.join(body)), path)
                name = None
            elif name:
                body.append(line)
        if name:
            sys.exit(f'{path}: region {name} has no // [end]')
    return regions


def program(block, before):
    """A whole program: the block itself, or the block (after those it continues) inside main."""
    mark = f'#line {block.line} "{block.document}"\n'
    if re.search(r'\bmain\s*\(', block.code):
        return mark + block.code
    heads, bodies = [], []
    for part in [*before, block]:
        lines = part.code.splitlines(keepends=True)
        is_head = [bool(re.match(r'#include|using namespace', line)) for line in lines]
        heads += [line for line, head in zip(lines, is_head) if head]
        body = ''.join('\n' if head else line for line, head in zip(lines, is_head))
        bodies.append(f'#line {part.line} "{part.document}"\n{body}')
    return (f'{QUIET}#include <iostream>\n#include <locus/locus.hpp>\n{"".join(heads)}'
            f'using namespace locus;\nint main() {{\n{"".join(bodies)}}}\n')


def check_quote(block, name, regions):
    if name not in regions:
        return f'{block}: no program in examples/ has a region named {name}'
    code, path = regions[name]
    if code.strip('\n') != block.code.strip('\n'):
        return f'{block}: differs from the region {name} of {path.name}:\n{code}'
    said = '\n'.join(line.rstrip() for line in expected_lines(path.read_text(encoding='utf-8')))
    shown = '\n'.join(line.rstrip() for line in (block.output or '').strip('\n').split('\n'))
    if shown and f'\n{shown}\n' not in f'\n{said}\n':
        return f'{block}: {path.name} does not say that it prints\n{shown}'
    return None


def check_program(block, before, options, folder):
    source = pathlib.Path(folder) / f'snippet_{pathlib.Path(block.document).stem}_{block.line}.cpp'
    exe = source.with_suffix('')
    source.write_text(program(block, before), encoding='utf-8')
    words = [*shlex.split(options.compiler), *shlex.split(options.flags)]
    run_it = block.note not in ('snippet: compile', 'snippet: fails')
    libraries = shlex.split(options.libraries)
    command = [*words, str(source), *(['-o', str(exe), *libraries] if run_it else ['-fsyntax-only'])]
    made = subprocess.run(command, capture_output=True, text=True)
    errors = [line for line in made.stderr.splitlines() if 'error:' in line]
    if block.note == 'snippet: fails':
        want = ' '.join((block.output or '').split())
        if not made.returncode:
            return f'{block}: compiles although it says that it fails'
        return None if want and want in errors[0] else f'{block}: the first error is not\n  {want}\n  {errors[0]}'
    if made.returncode:
        return f'{block}: does not compile\n{made.stderr[:3000]}'
    if not run_it:
        return None
    done = subprocess.run([str(exe)], capture_output=True, timeout=120, cwd=folder)
    output = done.stdout.decode()
    if done.returncode:
        return f'{block}: exit code {done.returncode}\n{output}{done.stderr.decode()}'
    wrong = difference(block.output.rstrip('\n').split('\n'), output) if block.output else None
    return f'{block}: {wrong}' if wrong else None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument('documents', nargs='+')
    options.add_argument('--compiler', default='g++')
    options.add_argument('--flags', default=f'-std=c++20 -O1 -fopenmp -I{ROOT}/include')
    options.add_argument('--libraries', default='-pthread -ldl -lz')
    options.add_argument('--examples', default=ROOT / 'examples')
    options.add_argument('--jobs', type=int, default=2)
    words = sys.argv[1:]  # argparse takes a lone -std=c++20 behind --flags for an option of ours
    while '--flags' in words:
        at = words.index('--flags')
        words[at:at + 2] = ['='.join(words[at:at + 2])]
    options = options.parse_args(words)
    regions, work, wrong, quoted, skipped = regions_of(options.examples), [], [], 0, 0
    for document in options.documents:
        before = []  # the blocks that a `continues` goes on from
        for block in blocks_of(document):
            quote = re.fullmatch(r'\[example: (.+)\]', block.note)
            if block.note and not quote and not re.match(r'snippet: (continues|compile|fails|skip, .+)$', block.note):
                block.note = ''  # a comment about something else
            if quote:
                wrong.append(check_quote(block, quote[1], regions))
                quoted += 1
            elif block.note.startswith('snippet: skip'):
                print(f'{block}: skipped, {block.note[15:]}')
                skipped += 1
            else:
                before = before if block.note == 'snippet: continues' else []
                work.append((block, list(before)))
                if block.note != 'snippet: fails':
                    before.append(block)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        wrong += pool.map(lambda job: check_program(*job, options, folder), work)
    wrong = [text for text in wrong if text]
    print(*wrong, sep='\n')
    print(f'{len(work)} blocks compiled, {quoted} quoted from examples, {skipped} skipped, {len(wrong)} wrong')
    sys.exit(bool(wrong) or not work and not quoted and not skipped)


if __name__ == '__main__':
    main()
