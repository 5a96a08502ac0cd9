#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compile_fail.py FILES... [--headers DIR] [--jobs N] -- COMPILER ARGS...: misuse reads well.

Each file compiles as it stands, and does not with -DLOCUS_MUST_FAIL=k; then the FIRST error says
what the file quotes:
    // expect: TEXT             one mistake, -DLOCUS_MUST_FAIL=1
    // expect-k: TEXT           the k-th of several
    // flags: -DSOMETHING       for both compilations, a mistake's own with flags-k
    // only: host, only: nvcc   where the mistake can be made
A compiler reads the headers of locus, and of CUDA, for seconds: all mistakes of several files stand in one unit, each in
a namespace of its own. A mistake whose first error is not the expected one there is tried alone, and only that counts.
With --headers every assertion, #error and [[nodiscard]] text in DIR has the form `locus: what is wrong; what to
write` and is quoted by as many mistakes as there are such assertions."""
import argparse
import collections
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LITERAL = r'"(?:[^"\\]|\\.)*"'


class Misuse:
    def __init__(self, path):
        self.path, self.text = path, path.read_text(encoding='utf-8')
        self.expected = {int(k or 1): text.strip()
                         for k, text in re.findall(r'^// expect(?:-(\d+))?: (.+)$', self.text, re.M)}
        self.only = (re.findall(r'^// only: (\w+)$', self.text, re.M) or [''])[0]
        # what decides about the mode of a unit cannot come after a precompiled header
        self.own_mode = re.search(r'#define (?:LOCUS_(?!MUST_FAIL)|__)|^// flags.*-(?:DLOCUS_|std=|m32|fno-)|cuda\.cuh|recorder\.hpp', self.text, re.M)

    def stands_alone(self):
        """its mode, or a line in front of its code, would be that of other files in its unit"""
        lines = self.text.splitlines()
        return bool(self.own_mode or '// flags' in self.text or
                    any(line and not line.startswith(('//', '#include')) for line in lines[:self.code_begins()]))

    def code_begins(self):
        """the number of lines up to the last include"""
        return 1 + max((i for i, line in enumerate(self.text.splitlines()) if line.startswith('#include')), default=-1)

    def flags(self, k):
        own = re.findall(rf'^// flags(?:-{k})?: (.+)$', self.text, re.M)
        return [word for line in own for word in line.split()]


def unit_of(mistakes):
    """one unit with the proper program and the mistakes of each file {misuse: [k, ...]}, each in a namespace"""
    unit, body = '', ''
    for n, (misuse, numbers) in enumerate(mistakes.items()):
        lines, after = misuse.text.splitlines(), misuse.code_begins()
        unit += '\n'.join(lines[:after]) + '\n'
        for k in [0, *numbers]:
            body += '#undef LOCUS_MUST_FAIL\n' + (f'#define LOCUS_MUST_FAIL {k}\n' if k else '')
            body += f'namespace mistake_{n}_{k} {{\n#line {after + 1} "mistake_{n}_{k}.cpp"\n'
            body += '\n'.join(lines[after:]) + f'\n}}  // mistake_{n}_{k}\n'
    return unit + body


class Compiler:
    def __init__(self, command, folder):
        command = command[1:] if command[0].endswith('ccache') else command
        about = subprocess.run([*command[:1], '--version'], capture_output=True, text=True).stdout
        self.kind = 'nvcc' if 'NVIDIA' in about else 'clang' if 'clang' in about else 'gcc'
        self.command, self.precompiled = command, []
        if self.kind == 'nvcc':
            return
        header = pathlib.Path(folder) / 'all.hpp'
        header.write_text('#include <locus/locus.hpp>\n', encoding='utf-8')
        if self.kind == 'gcc':
            made = [*command, '-x', 'c++-header', header, '-o', f'{header}.gch']
            self.precompiled = ['-include', str(header)]
        else:
            made = [*command, '-x', 'c++-header', header, '-o', f'{header}.pch']
            self.precompiled = ['-include-pch', f'{header}.pch']
        subprocess.run(made, check=True)
        self.command = [*command, '-x', 'c++', '-fsyntax-only']

    def front_end(self, words):
        """nvcc's own steps up to its front end, which reads a whole unit once; not the code that it makes of it"""
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, 'TMPDIR': folder}
            asked = [*self.command, '-x', 'cu', '-c', '-o', '/dev/null', '--dryrun', *map(str, words)]
            steps = subprocess.run(asked, capture_output=True, text=True, env=env)
            if steps.returncode or 'cudafe++' not in steps.stderr:
                return steps
            script = 'set -e\n'
            for line in steps.stderr.splitlines():
                if not line.startswith('#$ '):
                    continue  # a warning about its options
                line = line[3:]
                setting = re.match(r'(\w+)=(.*)$', line)
                script += f'export {setting[1]}={shlex.quote(setting[2])}\n' if setting else line + '\n'
                if line.startswith('cudafe++'):
                    break
            return subprocess.run(['sh', '-c', script], capture_output=True, text=True, env=env)

    def device_code(self, words):
        """nvcc's steps for GPUs: some mistakes show there alone"""
        asked = [*self.command, '-x', 'cu', '-fdevice-syntax-only', '-c', '-o', '/dev/null']
        return subprocess.run([*asked, *words], capture_output=True, text=True)

    def messages(self, said):
        """the errors, each with the line that says which instantiation it is in: g++ prints this line before the first of
        several errors, clang behind it"""
        if self.kind == 'nvcc':
            return re.split(r'^(?=\S.*\(\d+\): .*\berror\b)', said, flags=re.M)[1:]
        found, place = [], ''
        for line in said.splitlines():
            if re.match(r'mistake_\d+_\d+\.cpp(?::\d+)+:   (?:required|in .constexpr)', line):
                place = line
            elif re.match(r'\S.*?(?::\d+)+: (?:fatal )?error: ', line):
                found.append([line, place])
            elif found and re.match(r'mistake_\d+_\d+\.cpp(?::\d+)+: note: (?:in|while) ', line):
                found[-1][1] = place = line
        return ['\n'.join(message) for message in found]

    def first_errors(self, mistakes):
        """{(misuse, k): the first error of mistake k, '' for a proper program without error} in one unit with
        {misuse: [k, ...]}; up to an error that names none of them"""
        files = list(mistakes)
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / 'mistakes.cpp'
            unit.write_text(unit_of(mistakes), encoding='utf-8')
            if self.kind == 'nvcc':
                done = self.front_end([unit])
                if not done.returncode:
                    done = self.device_code([unit])
            else:
                without_limit = '-ferror-limit=0' if self.kind == 'clang' else '-fmax-errors=0'
                beside = f'-I{files[0].path.parent}'  # files of misuse include some by a path from their folder
                done = subprocess.run([*self.command, *self.precompiled, without_limit, beside, unit],
                                      capture_output=True, text=True)
        said = done.stdout + done.stderr
        if done.returncode and not re.search(r' detected in the compilation of |\bmistake_\d', said):
            return {}  # the front end has not read the unit
        first = {(misuse, 0): '' for misuse in files}
        for message in self.messages(said):
            mistake = re.search(r'\bmistake_(\d+)_(\d+)\.cpp', message)
            if not mistake or mistake[2] == '0':  # behind it, nothing is certain
                for misuse in files if not mistake else [files[int(mistake[1])]]:
                    first.pop((misuse, 0), None)
                break
            first.setdefault((files[int(mistake[1])], int(mistake[2])), message.splitlines()[0].replace('\\"', '"'))
        return first

    def read_together(self, misuses):
        """{(misuse, k)}: mistakes whose first error is the expected one in a unit with others, and proper programs (0)"""
        well, left = set(), {misuse: sorted(misuse.expected) for misuse in misuses}
        while left:  # an error in a declaration hides those in bodies of functions: they show in the next round
            first = self.first_errors(left)
            found = {(misuse, k) for misuse, k in first if not k or misuse.expected[k] in first[misuse, k]}
            well |= found
            if not any(k for _, k in found):
                break
            left = {misuse: [k for k in numbers if (misuse, k) not in first] for misuse, numbers in left.items()}
            left = {misuse: numbers for misuse, numbers in left.items() if numbers}
        return well

    def compile(self, misuse, k):
        flags = ([] if misuse.own_mode else self.precompiled) + misuse.flags(k)
        flags += [f'-DLOCUS_MUST_FAIL={k}'] if k else []
        if self.kind == 'nvcc':
            done = self.front_end([*flags, misuse.path])
            if k and not done.returncode:
                done = self.device_code([*flags, misuse.path])
        else:
            done = subprocess.run([*self.command, *flags, misuse.path], capture_output=True, text=True)
        said = done.stdout + done.stderr              # nvcc uses both
        return done.returncode, said.replace('\\"', '"')  # clang prints a literal as it was written


def check_all(job):
    """[(fault, length)] of the proper program and of each mistake of these files"""
    compiler, misuses = job
    together = [m for m in misuses if not m.stands_alone()]
    well = compiler.read_together(together)
    alone = [(m, k) for m in misuses for k in [0, *sorted(m.expected)] if (m, k) not in well]
    return [check(compiler, m, k) for m, k in alone]


def check(compiler, misuse, k):
    code, said = compiler.compile(misuse, k)
    name = f'{misuse.path.name}, mistake {k}' if k else misuse.path.name
    if not k:
        return None if code == 0 else f'{name}: does not compile without its mistake\n{said[:3000]}', ''
    first = next((line for line in said.splitlines() if re.search(r'\berror\b', line) and not re.match(r'\s*(In file included )?from ', line)), '')
    if code == 0:
        return f'{name}: compiles, and must not', ''
    if misuse.expected[k] not in first:
        return f'{name}: the first error is not\n  {misuse.expected[k]}\nbut\n  {first[:1000]}', ''
    return None, f'{len(said.splitlines()):5d} lines of errors: {name}'


def texts_in(folder):
    """(place, text) of each static_assert, #error and [[nodiscard]]; a macro's argument inside becomes an ellipsis."""
    for path in sorted(folder.rglob('*')):
        if path.suffix not in ('.hpp', '.cuh'):
            continue
        source = path.read_text(encoding='utf-8').replace('\\\n', ' ')
        source = re.sub(rf'//[^\n]*|({LITERAL})', lambda m: m[1] or '', source)
        for found in re.finditer(r'\bstatic_assert\s*\(|#error|\[\[nodiscard\(', source):
            if found[0] == '#error':
                said = source[found.end():source.index('\n', found.end())]
            elif 'nodiscard' in found[0]:
                said = source[found.end():source.index(']]', found.end())]
            else:
                end, depth = found.end(), 1
                while depth:
                    quoted = re.compile(LITERAL).match(source, end)
                    depth += 0 if quoted else {'(': 1, ')': -1}.get(source[end], 0)
                    end = quoted.end() if quoted else end + 1
                said = re.search(rf'(?:,\s*(?:{LITERAL}|\btext\b|\s)+)?$', source[found.end():end - 1])[0]
            parts = re.findall(rf'{LITERAL}|\btext\b', said)
            yield path, ''.join('...' if part == 'text' else part[1:-1] for part in parts).replace('\\"', '"')


def check_headers(folder, misuses):
    wrong, count = [], 0
    quoted = [text for misuse in misuses for text in misuse.expected.values()]
    places = collections.Counter(text for _, text in texts_in(folder))
    for path, text in texts_in(folder):
        count += 1
        pattern = re.compile('.+'.join(re.escape(part) for part in text.split('...') if part or '...' in text))
        if not re.match(r'locus: .+[;,:] ', text):
            wrong.append(f'{path}: not of the form "locus: what is wrong; what to write": "{text}"')
        elif (quotes := sum(bool(quote in text or pattern.search(quote)) for quote in quoted)) < places[text]:
            wrong.append(f'{path}: no file quotes "{text}"' if not quotes else
                         f'{path}: {quotes} mistakes quote "{text}", which {places[text]} assertions say')
    print(f'{count} texts in {folder}')
    return wrong


def main():
    cut = sys.argv.index('--') if '--' in sys.argv else len(sys.argv)
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument('files', nargs='+', type=pathlib.Path)
    options.add_argument('--headers', type=pathlib.Path)
    options.add_argument('--jobs', type=int, default=2)
    options.add_argument('--verbose', action='store_true')
    options = options.parse_args(sys.argv[1:cut])
    misuses = [Misuse(path) for path in options.files]
    wrong = [f'{m.path.name}: no line // expect:' for m in misuses if not m.expected]
    if options.headers:
        wrong += check_headers(options.headers, misuses)
    tried, lengths = 0, []
    if cut < len(sys.argv):
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
            compiler = Compiler(sys.argv[cut + 1:], folder)
            side = 'nvcc' if compiler.kind == 'nvcc' else 'host'
            tried_here = [m for m in misuses if m.only in ('', side)]
            jobs = [(compiler, tried_here[i:i + 8]) for i in range(0, len(tried_here), 8)]
            for fault, length in (result for results in pool.map(check_all, jobs) for result in results):
                wrong += [fault] if fault else []
                lengths += [length] if length else []
            tried = sum(len(m.expected) for m in tried_here)
    print(*(sorted(lengths, reverse=True)[: None if options.verbose else 5]), sep='\n')
    print(*wrong, sep='\n')
    print(f'{len(misuses)} files, {tried} mistakes, {len(wrong)} wrong')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
