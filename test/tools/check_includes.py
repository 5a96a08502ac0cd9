#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_includes.py ROOT [--report]: the headers of locus lie in levels.

A header includes lower levels or its own folder, without cycles, by full path and with a comment
that says what the include brings; the folders inside nn have levels of their own; no header of the core includes one of the training package. A header begins with the licence, then `#pragma once`, or, where it is
read once for each set of instructions (simd/clones.hpp), with the guard of its first part; CUDA's own
headers stand in .cuh alone; include/meson.build lists exactly what lies on disk. A function that returns vectors is one that is always inlined. A file of a folder `bodies`
has the bodies of functions that the header of its name declares: that header includes it in its last lines,
it includes that header, and one of the two implementation.hpp lists it. For cycles both are one header.
What a folder declares in a namespace `detail` it keeps: no header of another folder names it, by its path or from the same
namespace. Names for other folders stand in locus::internal, or beside `detail` where programs see nothing (locus::runtime).
--report prints the public entities without a contract (`means:`); that is advice, not an error."""
import pathlib
import re
import sys

LEVELS = {
    'core': 0, 'device': 1, 'shape': 1, 'expr': 2, 'simd': 2, 'ops': 3, 'plan': 4, 'runtime': 4, 'work': 4,
    'watch': 5, 'machine': 6, 'memory': 7, 'backend': 8, 'engine': 9, 'config': 10, 'collective': 10, 'run': 11,
    'tensor': 12, 'files': 13, 'data': 14, 'grad': 14, 'strategy': 14, 'testing': 14, 'thrust': 14,
    'interop': 14,
    'algebra': 15, 'algorithms': 15, 'fft': 15, 'linalg': 15, 'nn': 15, 'predict': 15, 'sparse': 15,
    '': 16,  # the umbrellas locus.hpp, cuda.cuh, cub.cuh and those of the training package
}
INNER = {'nn': {'kernels': 0, 'layers': 1, 'losses': 2, 'optimizers': 2, 'train': 3, '': 4}}  # levels inside a folder
FIRST = 'locus/core/compiler.hpp'
READER = 'locus/simd/clones.hpp'  # is included again and again
FOREIGN = re.compile(r'^(cuda|cub/|thrust/|nccl|cublas|curand|cooperative_groups)')


def includes_of(text):
    return re.findall(r'^#include <([^>]+)>[ \t]*(.*)$', text, re.M)


def folder_of(name):
    return name.split('/')[1] if name.count('/') > 1 else ''


def inner_of(name):
    """the folder inside a folder that has levels of its own"""
    parts = name.split('/')[2:]
    return parts[0] if len(parts) > 1 else ''


TAIL = '\n#if LOCUS_HAS_{}BODIES\n#include <{}>  // bodies of the functions above\n#endif\n'


TRAINING = ('data', 'files', 'nn', 'strategy')  # the folders of the training package; the others are the core


def is_training(name):
    return folder_of(name) in TRAINING or name.startswith('locus/training')


def declared_by(name):
    """the header whose functions' bodies a file of a folder `bodies` has; another header itself"""
    return name.replace('/bodies/', '/')


def check_bodies(texts):
    listed = [to for name in texts if name.endswith('/implementation.hpp') for to, _ in includes_of(texts[name])]
    for name in texts:
        header = declared_by(name)
        if header == name:
            continue
        if header not in texts:
            yield f'{name}: there is no {header}, whose functions it could have'
        else:
            if not texts[header].endswith(TAIL.format('TRAINING_' if folder_of(name) in TRAINING else '', name)):
                yield f'{header}: its last lines do not include {name} where this unit has bodies'
            if header not in [to for to, _ in includes_of(texts[name])]:
                yield f'{name}: it does not include {header}'
        if listed.count(name) != 1:
            yield f'{name}: one implementation.hpp lists it, {listed.count(name)} do'


# a function of a file that is read once for each set of instructions, and that returns vectors
RETURNS_VECTORS = re.compile(r'^(?!.*\b(?:LOCUS_VECTOR_FUNCTION|always_inline|return)\b)[^\n/#]*?\b'
                             r'(?:results|wides?|lanes|Lanes|V|packet<[^;={}()]*>) (\w+)\([^;{}]*\) *(?:const *)?\{', re.M)


def check_header(name, text):
    folder = '' if name.endswith('/implementation.hpp') else folder_of(name)
    if not text.startswith('// SPDX-License-Identifier: Apache-2.0\n'):
        yield 'the first line is not the licence'
    guard = 'LOCUS_' + name.removeprefix('locus/').removesuffix('.hpp').replace('/', '_').upper()
    begins = rf'#pragma once\n|#if !defined\(LOCUS_CLONE\) && !defined\({guard}\)\n#define {guard}\n'
    if name != READER and not re.match(rf'//.*\n(//.*\n)*({begins})', text):
        yield 'comment lines and then #pragma once are what a header begins with'
    for section in ('COLD', 'LEAN', 'LOOPS', 'VECTORS'):  # one that stays open changes the code of all headers behind
        if len(re.findall(rf'^LOCUS_{section}_BEGIN$', text, re.M)) != len(re.findall(rf'^LOCUS_{section}_END$', text, re.M)):
            yield f'LOCUS_{section}_BEGIN and LOCUS_{section}_END are not equally many'
    if '#define LOCUS_CLONED' in text:  # g++ returns wide vectors of a struct in other ways than it takes them
        for found in RETURNS_VECTORS.finditer(text):
            if not text[:found.start()].rstrip().endswith('LOCUS_VECTOR_FUNCTION'):
                yield f'{found[1]} returns vectors: a call that is not inlined may lose half of them; write LOCUS_VECTOR_FUNCTION'
    if re.search(r'^#include "', text, re.M):
        yield 'includes a file in quotes: write its full path in angle brackets'
    for included, comment in includes_of(text):
        if not included.startswith('locus/'):
            if FOREIGN.match(included) and not name.endswith('.cuh'):
                yield f'{included} belongs into a .cuh'
            if included == 'mpi.h' and name != 'locus/mpi.hpp':
                yield 'mpi.h belongs into locus/mpi.hpp'
            continue
        if not re.match(r'// \S', comment):
            yield f'{included}: a comment says what the include brings'
        if folder_of(included) not in LEVELS:
            yield f'{included}: its folder has no level'
        elif is_training(included) and not is_training(name) and not name.endswith('/implementation.hpp'):
            yield f'{included} belongs to the training package, of which the core knows nothing'
        elif folder_of(included) != folder and LEVELS[folder_of(included)] >= LEVELS[folder]:
            yield f'{included}: level {LEVELS[folder_of(included)]} is not below level {LEVELS[folder]}'
        elif folder in INNER and folder_of(included) == folder and inner_of(included) != inner_of(name):
            inner, level = inner_of(included), INNER[folder].get
            if level(inner) is None or level(inner_of(name)) is None:
                yield f'{included}: {folder}/{inner} or {folder}/{inner_of(name)} has no level'
            elif level(inner) >= level(inner_of(name)):
                yield f'{included}: {folder}/{inner} is not below {folder}/{inner_of(name)}'
    if name != FIRST and not any(included.startswith('locus/') for included, _ in includes_of(text)):
        yield f'includes nothing of locus: it begins with {FIRST}, which says what a compiler must have'


DECLARED = re.compile(
    r'(?:class|struct|union|enum|enum class|concept)\s(?:\[\[.*?\]\]\s)?(?:LOCUS_\w+\s)?(\w+)\s*(?:final\s*)?(?::[^:].*)?[{;=<]|'
    r'using (\w+) =|'
    r'(?:inline|constexpr|constinit|extern|LOCUS_SHARED_STATE)\b[^(]*?[\w>&*] (\w+)(?:<.*>)?(?: =|[{;\[])|'
    r'[^=]*?[\w>&*\]] (\w+)\(')
LOCAL = re.compile(r'(?:\b(?!(?:return|else|case|throw|goto|new)\b)\w+|[>&*]) (\w+)\b(?: =|[;=,){:\[(])')


def lines_in_spaces(text):
    """each line of code with the namespaces around it, inline ones left out"""
    spaces, opened_at = [], -2
    for number, line in enumerate(text.splitlines()):
        opened = re.match(r'(?:inline )?namespace (.*) \{$', line)
        if opened:
            space = re.sub(r'LOCUS_SPACE\((.*)\)', r'locus::\1', re.sub(r'inline \w+::', '', opened[1]))
            spaces.append([] if line.startswith('inline') else space.split('::'))
            opened_at = number
        elif re.match(r'\}  // (inline )?namespace', line) or line == '}' and opened_at == number - 2:
            spaces.pop()
        else:
            yield sum(spaces, []), re.sub(r'"(\\.|[^"\\])*"|//.*', '', line)


def details_of(lines):
    """what a header declares in namespaces `detail`: pairs of namespace and name"""
    for space, line in lines:
        line = re.sub(r'^template <.*?> (?=\w)', '', line)
        if space[-1:] == ['detail'] and re.match(r'(?!template|using namespace)[\w\[]', line):
            if found := DECLARED.match(line):
                yield '::'.join(space), next(filter(None, found.groups()))


def check_details(texts, graph):
    lines = {name: list(lines_in_spaces(text)) for name, text in texts.items()}
    homes = {}  # namespace and name: the folders that declare it
    for name in texts:
        for declared in details_of(lines[name]):
            homes.setdefault(declared, set()).add(folder_of(name))
    names = {name for _, name in homes}
    for name, text in texts.items():
        below, ways = set(), [name, declared_by(name)]
        while ways:
            if (way := ways.pop()) in graph and way not in below:
                below.add(way)
                ways += graph[way]
        below = set(map(folder_of, below))
        own = set(LOCAL.findall(re.sub(r'//.*', '', text)))  # members, parameters, variables of this header
        for space, line in lines[name]:
            for path, used in re.findall(r'(?<![\w.:>])((?:\w+::)*)(\w+)', line):
                if used not in names or not path and used in own:
                    continue
                # internal and lowering see detail
                around = [['detail' if part in ('internal', 'lowering') else part for part in space[:end]] + path.split('::')[:-1]
                          for end in range(len(space), -1, -1)]
                home = next((home for home in map('::'.join, around) if (home, used) in homes), None)
                if home and folder_of(name) not in homes[home, used] and (path or homes[home, used] & below):
                    yield (f'{name}: {home}::{used} belongs to {" and ".join(sorted(homes[home, used]))}/; '
                           'a name for other folders stands in no namespace detail')


def find_cycle(graph):
    done, way = set(), []

    def visit(name):
        if name in way:
            return way[way.index(name):] + [name]
        if name in done or name not in graph:
            return None
        way.append(name)
        for next_name in graph[name]:
            found = visit(next_name)
            if found:
                return found
        done.add(way.pop())
        return None

    return next((cycle for cycle in map(visit, graph) if cycle), None)


def without_contract(name, text):
    """Namespace-level entities (outside detail) whose comment above says no `means:` or `after:`."""
    inner, comment = [], ''
    for line in text.splitlines():
        space = re.match(r'(?:inline )?namespace ([\w:]*)', line)
        if space and '}' not in line:
            inner.append(space[1])
        elif re.match(r'}  // namespace', line) and inner:
            inner.pop()
        elif line.startswith('///'):
            comment += line
        elif re.match(r'(class|struct|enum class|constexpr|inline|auto|void|bool|double|template)\b', line):
            hidden = any(part in space for space in inner for part in ('detail', 'lowering', 'kernel', 'cuda', 'host'))
            entity = re.search(r'(?:class|struct|enum class) (\w+)|(\w+)\(', line)
            if not hidden and entity and not comment and not line.startswith('template'):
                yield f'{name}: {entity[1] or entity[2]}'
        if not line.startswith(('///', 'template', '  requires', '    requires')):
            comment = ''


def main():
    root = pathlib.Path(sys.argv[1])
    texts = {path.relative_to(root / 'include').as_posix(): path.read_text(encoding='utf-8')
             for path in sorted((root / 'include').rglob('*')) if path.suffix in ('.hpp', '.cuh')}
    wrong = [f'{name}: {fault}' for name, text in texts.items() for fault in check_header(name, text)]
    wrong += check_bodies(texts)
    graph = {name: [to for to, _ in includes_of(text)] for name, text in texts.items()}
    wrong += [f'{name}: includes {to}, which is not there' for name, tos in graph.items() for to in tos
              if to.startswith('locus/') and to not in texts]
    wrong += sorted(set(check_details(texts, graph)))
    whole = {}
    for name, tos in graph.items():
        header = declared_by(name)
        whole.setdefault(header, []).extend(to for to in map(declared_by, tos) if to != header)
    cycle = find_cycle(whole)
    wrong += [f'a cycle: {" -> ".join(cycle)}'] if cycle else []
    listed = re.findall(r"^  '(locus/.*)',$", (root / 'include' / 'meson.build').read_text(encoding='utf-8'), re.M)
    wrong += [f'include/meson.build lists {name} twice' for name in set(listed) if listed.count(name) > 1]
    installed = [path.relative_to(root / 'include').as_posix() for path in sorted((root / 'include/locus').rglob('*'))
                 if path.is_file() and path.suffix not in ('.md', '.pyc')]
    wrong += [f'include/meson.build lists {name}, which is not there' for name in listed if name not in installed]
    wrong += [f'include/meson.build does not list {name}' for name in installed if name not in listed]
    if '--report' in sys.argv:
        advice = [line for name, text in texts.items() for line in without_contract(name, text)]
        print(*advice, f'{len(advice)} entities without a contract', sep='\n')
    print(*wrong, sep='\n')
    print(f'{len(texts)} headers, {sum(map(len, graph.values()))} includes, {len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
