#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""self_test.py COMPILER... [--nvcc NVCC...]: the tools of this folder, and those of test/ptx, find what is planted for them."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent
ROOT = TOOLS.parents[1]
failures = []


def expect(code, text, tool, *arguments):
    """The tool ends with that code and says that text."""
    done = subprocess.run([sys.executable, TOOLS / tool, *map(str, arguments)], capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != code or text not in said:
        failures.append(f'{tool}: expected {code} and "{text}", got {done.returncode} and\n{said[:1500]}')


def output(folder):
    program = [sys.executable, '-c', r'print("step\r1\rtwo 2\nx 1.5 s\n  indented\nany\nlast")']
    source = folder / 'program.cpp'
    good = ('a();  // prints: two 2\n  b();  // prints: x <#> s\n  c();  // prints:\n'
            '        // all:\n        //   indented\n')
    source.write_text(good)
    expect(0, '4 lines', 'check_output.py', source, sys.executable, '-c', r'print("two 2\nx -1e-9 s\nall:\n  indented")')
    expect(1, 'expected: all:', 'check_output.py', source, *program)
    text = folder / 'golden.txt'
    text.write_text('two 2\nx <#> s\n  indented\n...\nla<*>\n')
    expect(0, '5 lines as expected', 'check_output.py', text, *program)
    for wrong in ('two 3', 'x <#>', 'indented', 'last\nmore'):
        text.write_text(f'two 2\n...\n{wrong}\n...\n')
        expect(1, f'expected: {wrong.splitlines()[-1]}', 'check_output.py', text, *program)
    expect(1, 'exit code 3', 'check_output.py', text, sys.executable, '-c', 'raise SystemExit(3)')
    expect(77, '', 'check_output.py', text, sys.executable, '-c', 'raise SystemExit(77)')
    source.write_text('int main() {}\n')
    expect(1, 'no prints: comment', 'check_output.py', source, *program)


def snippets(folder, compiler):
    (folder / 'examples').mkdir()
    (folder / 'examples' / 'one.cpp').write_text('// [example: quoted]\nf();  // prints: 7\n// [end]\n')
    document = folder / 'README.md'
    good = ('```cpp\n#include <cstdio>\nint main() { std::puts("seven"); }\n```\n```text\nseven\n```\n'
            '<!-- [example: quoted] -->\n```cpp\nf();  // prints: 7\n```\n```text\n7\n```\n'
            '<!-- snippet: fails -->\n```cpp\nint main() { return unknown; }\n```\n```text\nunknown\n```\n'
            '<!-- snippet: skip, no program -->\n```cpp\n...\n```\n')
    for code, text, what, by in [(0, ' 0 wrong', '', ''), (1, 'printed:  seven', '\nseven', '\neight'),
                                 (1, 'differs from the region', 'f();', 'g();'),
                                 (1, 'does not say that it prints', '\n7\n', '\n8\n'),
                                 (1, 'compiles although', 'unknown;', '0;'),
                                 (1, 'the first error is not', '\nunknown\n', '\nnever said\n'),
                                 (1, 'does not compile', 'std::puts', 'puts_it')]:
        document.write_text(good.replace(what, by))
        expect(code, text, 'check_snippets.py', document, '--examples', folder / 'examples',
               '--compiler', ' '.join(compiler), '--flags', '-std=c++20', '--libraries', '')


def misuse(folder, compiler, nvcc):
    source = folder / 'mistake.cpp'
    good = ('// expect: locus: that is wrong; write it right\n#ifdef LOCUS_MUST_FAIL\n'
            'static_assert(false, "locus: that is wrong; write it right");\n#endif\n')
    for code, text, what, by in [(0, ' 0 wrong', '', ''), (1, 'the first error is not', 'expect: locus', 'expect: lotus'),
                                 (1, 'compiles, and must not', 'static_assert(false', 'static_assert(true'),
                                 (1, 'does not compile without', '#ifdef', '#ifndef'),
                                 (1, 'the first error is not', 'static_assert', 'int x = y;\nstatic_assert'),
                                 (1, 'no line // expect', '// expect', '// except')]:
        for first, tried in [('// flags: -DLOCUS_X\n', compiler), ('', nvcc)]:
            source.write_text(first + good.replace(what, by))
            if tried:
                expect(code, text, 'compile_fail.py', source, '--', *tried, '-std=c++20', f'-I{ROOT}/include')
    source.write_text(good)
    headers = folder / 'headers'
    headers.mkdir()
    for code, text, said in [(0, ' 0 wrong', '"locus: that is wrong; write it right"'),
                             (1, 'no file quotes', '"locus: nobody tests this; write a test"'),
                             (1, 'not of the form', '"wrong"')]:
        (headers / 'h.hpp').write_text(f'static_assert(f(")", 1) < 2,\n              {said});\n')
        expect(code, text, 'compile_fail.py', source, '--headers', headers)
    (headers / 'h.hpp').write_text('static_assert(true, "locus: that is wrong; write it right");\n' * 2)
    expect(1, '1 mistakes quote', 'compile_fail.py', source, '--headers', headers)


def includes(folder):
    name = folder / 'tree' / 'include' / 'locus' / 'core' / 'text.hpp'
    shutil.copytree(ROOT / 'include', folder / 'tree' / 'include')
    expect(0, ' 0 wrong', 'check_includes.py', folder / 'tree')
    good = name.read_text()
    for text, line in [('is not below level 0', '#include <locus/expr/leaf.hpp>  // Leaf'),
                       ('a cycle', '#include <locus/core/error.hpp>  // error'),
                       ('says what the include brings', '#include <locus/core/macros.hpp>'),
                       ('belongs into a .cuh', '#include <cuda_runtime.h>'),
                       ('which is not there', '#include <locus/core/nothing.hpp>  // nothing'),
                       ('LOCUS_COLD_END are not equally many', 'LOCUS_COLD_BEGIN'),
                       ('angle brackets', '#include "config.hpp"')]:
        name.write_text(good.replace('#pragma once\n', f'#pragma once\n{line}\n'))
        expect(1, text, 'check_includes.py', folder / 'tree')
    name.write_text(good.replace('#pragma once\n', ''))
    expect(1, '#pragma once', 'check_includes.py', folder / 'tree')
    name.write_text(good)
    lanes = folder / 'tree' / 'include' / 'locus' / 'engine' / 'host' / 'fold_lanes.hpp'
    other = lanes.read_text()
    lanes.write_text(other.replace('  LOCUS_VECTOR_FUNCTION static results tail(', '  static results tail('))
    expect(1, 'tail returns vectors', 'check_includes.py', folder / 'tree')
    lanes.write_text(other)
    core = folder / 'tree' / 'include' / 'locus' / 'thrust.hpp'
    other = core.read_text()
    for line in ('#include <locus/data/batches.hpp>  // batches', '#include <locus/training.hpp>  // Sequential'):
        core.write_text(other.replace('#pragma once\n', f'#pragma once\n{line}\n'))
        expect(1, 'belongs to the training package', 'check_includes.py', folder / 'tree')
    core.write_text(other)
    kernel = folder / 'tree' / 'include' / 'locus' / 'nn' / 'kernels' / 'window.hpp'
    other = kernel.read_text()
    kernel.write_text(other.replace('#pragma once\n', '#pragma once\n#include <locus/nn/layers/layer.hpp>  // label_of\n'))
    expect(1, 'nn/layers is not below nn/kernels', 'check_includes.py', folder / 'tree')
    kernel.write_text(other)
    higher = folder / 'tree' / 'include' / 'locus' / 'grad' / 'targets.hpp'
    other = higher.read_text()
    for space, kept, line in [('locus::detail', 'locus::detail::kept', 'inline int f() { return kept(); }'),
                              ('locus::internal', 'locus::detail::kept', 'inline int f() { return kept(); }'),
                              ('locus::config', 'locus::detail::kept', 'inline int f() { return locus::detail::kept(); }'),
                              ('locus::config', 'locus::runtime::detail::kept', 'using locus::runtime::detail::kept;')]:
        home = kept.removesuffix('::kept')
        name.write_text(f'{good}\nnamespace {home} {{\ninline int kept() {{ return 1; }}\n}}  // namespace {home}\n')
        planted = f'\nnamespace {space} {{\n{line}\n}}  // namespace {space}\n'
        higher.write_text(other.replace('#pragma once\n', '#pragma once\n#include <locus/core/text.hpp>  // kept\n') + planted)
        expect(1, f'grad/targets.hpp: {kept} belongs to core/', 'check_includes.py', folder / 'tree')
    higher.write_text(other + '\nnamespace locus::detail {\ninline int f(int kept) { return kept; }\n}  // namespace locus::detail\n')
    expect(0, ' 0 wrong', 'check_includes.py', folder / 'tree')
    higher.write_text(other)
    name.write_text(good)
    (name.parent / 'unlisted.hpp').write_text(good)
    expect(1, 'does not list locus/core/unlisted.hpp', 'check_includes.py', folder / 'tree')


def forms(folder, compiler):
    shutil.copytree(ROOT / 'include', folder / 'include')
    expect(0, ' 0 wrong', 'check_forms.py', folder / 'include', *compiler)
    settings = folder / 'include' / 'locus' / 'config' / 'settings.hpp'
    settings.write_text(''.join(line for line in settings.read_text().splitlines(True) if 'halo_reuse.hpp' not in line))
    expect(1, 'units with LOCUS_COMPILED lack what it adds to `config`', 'check_forms.py', folder / 'include', *compiler)


def headers(folder, compiler):
    (folder / 'good.hpp').write_text('#pragma once\nint f();\n')
    (folder / 'twice.hpp').write_text('struct S {};\n')
    (folder / 'over.hpp').write_text('#pragma once\n#include <good.hpp>\ninline int g() { return f(); }\n')
    (folder / 'lacks.hpp').write_text('#pragma once\n#if 0\n#include <good.hpp>\n#endif\ninline int h() { return f(); }\n')
    (folder / 'reads_all.hpp').write_text('#pragma once\n#include <over.hpp>\n#include <lacks.hpp>\n')
    command = ['--', *compiler, '-std=c++20', f'-I{folder}']
    expect(0, '2 headers alone in 1 units, 0 wrong', 'check_headers.py', 'over.hpp', 'good.hpp', *command)
    expect(1, 'twice.hpp:', 'check_headers.py', 'good.hpp', 'twice.hpp', *command)
    expect(1, 'lacks.hpp:', 'check_headers.py', 'good.hpp', 'over.hpp', 'lacks.hpp', *command)
    expect(1, '1 wrong', 'check_headers.py', '--single', 'good.hpp', 'over.hpp', 'lacks.hpp', 'reads_all.hpp', *command)


def named(folder):
    for path, text in [('test/unit/meson.build', "files('here_test.cpp')\n"), ('test/unit/here_test.cpp', '// include/a.hpp\n'),
                       ('include/a.hpp', '// held by unit/here_test.cpp\n#include <gone/b.hpp>\n')]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    expect(0, '0 wrong', 'check_named.py', folder)
    (folder / 'include' / 'a.hpp').write_text('// held by unit/gone_test.cpp\n')
    expect(1, 'include/a.hpp:1: there is no unit/gone_test.cpp', 'check_named.py', folder)
    (folder / 'test' / 'unit' / 'dead_test.cpp').write_text('int main() {}\n')
    expect(1, 'test/unit/dead_test.cpp: no meson.build names it', 'check_named.py', folder)


def pages(folder):
    wall = '```cpp\nint main() {}\n```\n'
    for path, text in [('README.md', '[guide](examples/guide/01-one.md#a-word) [web](https://x.y)\n'),
                       ('examples/guide/01-one.md', f'# One\n\n## A *word*\n\n{wall}'),
                       ('include/locus/README.md', '[one](decisions/01-one.md) [below](#two)\n# Two\n'),
                       ('include/locus/decisions/01-one.md', '# One\n`[no](link)`\n'), ('test/meson.build', "'01-one'\n")]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    expect(0, '4 pages, 0 wrong', 'check_pages.py', folder)
    for path, text, said in [
            ('README.md', '[guide](examples/guide/01-one.md#words)\n', 'README.md: no heading of 01-one.md is #words'),
            ('README.md', '[guide](examples/guide/02-two.md)\n', 'README.md: there is no examples/guide/02-two.md'),
            ('README.md', 'nothing\n', 'README.md: no link to examples/guide/01-one.md'),
            ('include/locus/decisions/01-one.md', 'line\n' * 61, '01-one.md: 61 lines, at most 60'),
            ('test/meson.build', '\n', 'test/meson.build: no test compiles the code of examples/guide/01-one.md')]:
        good = (folder / path).read_text()
        (folder / path).write_text(text)
        expect(1, said, 'check_pages.py', folder)
        (folder / path).write_text(good)


def header_map(folder):
    tests = ('test/unit/a/one_test.cpp', '#include <locus/a/one.hpp>\n'), ('test/cuda/two.cu', '#include "../unit/a/one_test.cpp"\n')
    headers = [(f'include/locus/{name}', '#pragma once\n') for name in ('a/one.hpp', 'a/one_more.hpp', 'b/two.cuh', 'all.hpp')]
    for path, text in (*tests, *headers):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / 'include/locus/a/one.hpp').write_text('#include <locus/a/one_more.hpp>\n#include <locus/b/two.cuh>\n')
    good = '# a comment\n\na/{one,one_more}  a/one cuda/two.cu\nb/t*  a/one\n'
    for code, text, what, by in [
            (1, 'no line has all.hpp', '', ''), (1, 'there is no header c/t*', 'b/', 'c/'), (1, 'no test is named', 't*  a/one', 't*'),
            (1, 'there is no test/unit/a/two_test.cpp', '*  a/one', '*  a/two'),
            (1, ':4: a/one.hpp stands in line 3 already', 'b/t*', '{b/two,a/one}'),
            (1, 'no line names unit/a/one_test.cpp', 'a/one', 'cuda/two.cu')]:
        (folder / 'test/map.txt').write_text(good.replace(what, by))
        expect(code, text, 'check_map.py', folder)
    (folder / 'test/map.txt').write_text(good + 'all  a/one\n')
    expect(1, ':5: test/unit/a/one_test.cpp does not read all.hpp', 'check_map.py', folder)
    (folder / 'include/locus/all.hpp').unlink()
    (folder / 'test/map.txt').write_text(good)
    expect(0, '0 wrong', 'check_map.py', folder)


def operations(folder):
    files = ('examples/guide/09-types-and-operations.md', 'include/locus/ops/elementwise.hpp', 'test/unit/grad/derivatives_test.cpp', 'test/unit/simd/accuracy.hpp',
             'test/unit/ops/special_functions_test.cpp')
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    page, table, derivatives, accuracy, special = files
    for code, text, name, what, by in [
            (0, ' 0 wrong', page, '', ''), (1, 'lack `digamma`', page, ' digamma ', ' '),
            (1, '`tgamma` is no operation', page, ' digamma ', ' digamma tgamma '), (1, 'lack `-`', page, '`+ - * / %`', '`+ * / %`'),
            (1, 'exp2 stands in two rows', table, 'exp, ', 'exp2, '), (1, 'a row has 10 cells', table, '"Exp",', ''),
            (1, 'the derivative of digamma', derivatives, 'digamma(', 'sin('), (1, 'no row for vector_erfc', accuracy, 'row(erfc,', 'row(erf,'),
            (1, 'no test of trigamma', special, 'trigamma_fn', 'digamma_fn')]:
        for each in files:
            (folder / each).write_text((ROOT / each).read_text(encoding='utf-8'))
        (folder / name).write_text((ROOT / name).read_text(encoding='utf-8').replace(what, by))
        expect(code, text, 'check_operations.py', folder)


def silent(folder):
    expect(0, '0 lines', 'silent.py', sys.executable, '-c', '')
    expect(1, '1 lines', 'silent.py', sys.executable, '-c', 'print("a note")')
    expect(1, 'exit code 3', 'silent.py', sys.executable, '-c', 'raise SystemExit(3)')


def kernels(folder):
    unit, ptx, log = (folder / name for name in ('unit.cu', 'unit.ptx', 'unit.log'))
    entry = '.visible .entry {}(\n.param .u64 p\n)\n{{\n\tld.param.u64 %rd1, [p];\n$L__BB0_1:\n{}\tret;\n}}\n'
    body = ('\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n\t@%p1 ld.global.f32 %f5, [%rd1];\n'
            '\tfma.rn.f32 %f1, %f2, %f3, %f4;\n\tst.global.f32 [%rd1], %f1;\n')
    said = ("Compiling entry function '{}' for 'sm_90'\n    {} bytes stack frame, 0 bytes spill stores, "
            '0 bytes spill loads\nptxas info    : Used {} registers\n')
    rules = ('// check: fused like hand, at most 20 registers\n// check: fused loops like hand, at most 20 registers\n'
             '// check: fused computes as hand, at most 20 registers\n// count: fused is 1\n')
    for code, text, more, stack, registers in [
            (0, ' 0 wrong', '', 0, 20), (1, 'more than 20', '', 0, 21), (1, 'a stack', '', 8, 20),
            (1, "{'fma.f32': 1}", '\tadd.rn.f32 %f1, %f2, %f3;\n', 0, 20),
            (1, "'ld.global 4': 2", '\tld.global.nc.f32 %f1, [%rd1];\n', 0, 20),
            (1, 'local', '\tst.local.f32 [%rd1], %f1;\n', 0, 20), (1, 'calls', '\tcall.uni f;\n', 0, 20),
            (1, "loops like hand", '\tbra $L__BB0_1;\n' + 2 * body, 0, 20)]:
        unit.write_text(rules)
        ptx.write_text(entry.format('_Z5fused', body + more) + entry.format('hand', body))
        log.write_text(said.format('_Z5fused', stack, registers) + said.format('hand', 0, 9))
        expect(code, text, 'check_kernels.py', unit, '--ptx', ptx, '--log', log)
    for rule, text in [('// count: fused is 2\n', '1 kernels, not 2'), ('', 'nothing to check'),
                       ('// check: other, at most 9 registers\n', 'no kernel is called other')]:
        unit.write_text(rule)
        expect(1, text, 'check_kernels.py', unit, '--ptx', ptx, '--log', log)


def programs(folder):
    program = folder / 'program'
    program.write_bytes(b'\x7fELF\x00.visible .entry _Z8line_mapv(\n\x00.visible .entry _Z4foldv(\n')
    lister = folder / 'lister.sh'
    lister.write_text('#!/bin/sh\ncat "$2"\n')
    lister.chmod(0o755)
    os.environ['CUOBJDUMP'] = str(lister)
    expect(0, '2 kernels', 'check_programs.py', program, 'line_map', 'fold')
    expect(0, ' 0 wrong', 'check_programs.py', program, 'fold', 'not', 'flat_map')
    expect(1, 'no kernel is called flat_map', 'check_programs.py', program, 'fold', 'flat_map')
    expect(1, '1 kernels are called line_map', 'check_programs.py', program, 'fold', 'not', 'line_map')
    program.write_bytes(b'')
    expect(1, 'it has no kernels', 'check_programs.py', program, 'not', 'line_map')
    lister.write_text('#!/bin/sh\nexit 3\n')
    expect(1, 'does not read', 'check_programs.py', program, 'fold')
    del os.environ['CUOBJDUMP']


def budgets(folder):
    program, table = folder / 'program.py', folder / 'budgets.txt'
    figures = 'launches issue_slots load_sectors load_misses store_sectors waits shared_wavefronts warp_barrier divergent atomic_sectors'
    program.write_text('import os, sys\nopen(os.environ["PTX_COUNTS"], "w").write(open(sys.argv[1]).read().replace('
                       '"SEED", os.environ.get("PTX_SEED", "0")))\n')
    counts = folder / 'counts.jsonl'
    command = [sys.executable, program, counts]

    def ran(label, **changes):
        of = dict.fromkeys(figures.split(), 100) | changes
        return json.dumps({'label': label, 'name': 'kernel', 'load_near': 'SEED', **of}) + '\n'
    counts.write_text(ran('a map') + ran('a sum') + ran('a sum', waits=7))
    table.write_text('# what it is\n')
    expect(1, 'a sum: no budget', 'check_budgets.py', table, *command)
    expect(0, '2 labels, 0 faults', 'check_budgets.py', '--write', table, *command)
    expect(0, '2 labels, 0 faults', 'check_budgets.py', table, *command)
    if '# what it is\n' not in table.read_text() or ' 107 ' not in table.read_text():
        failures.append('check_budgets.py: its table has no comment, or no sums')
    for figure in figures.split():
        counts.write_text(ran('a map', **{figure: 103}) + ran('a sum'))
        expect(1, f'a map: {figure} ', 'check_budgets.py', table, *command)
    half = ran('a sum', **dict.fromkeys(figures.split(), 50))
    counts.write_text(ran('a map', issue_slots=102) + half)
    expect(0, 'a sum: waits 50, better than the budget of 107', 'check_budgets.py', table, *command)
    counts.write_text(half)
    expect(1, 'a map: a budget, but nothing ran', 'check_budgets.py', table, *command)
    counts.write_text(ran('a map', grid='SEED') + half)
    expect(1, 'warps in another order', 'check_budgets.py', table, *command)
    table.write_text('a map | 1 2\n')
    expect(1, '10 numbers expected', 'check_budgets.py', table, *command)
    table.write_text(2 * ('a map |' + 10 * ' 100' + '\n'))
    expect(1, 'a map stands there twice', 'check_budgets.py', table, *command)


def cards(folder):
    def program(name, lines):
        file = folder / name
        file.write_text('#!/usr/bin/env python3\nimport json, os, sys\n' + '\n'.join(lines) + '\n')
        file.chmod(0o755)
        return file
    mutant = 'turned tiles without a barrier'
    for code, text, whole, broken, left_out in [(0, 'is found', 0, 1, 1), (1, 'is not found', 0, 0, 1),
                                                (1, 'the test fails without a fault', 1, 1, 1),
                                                (1, 'the test fails without a fault', 3, 1, 1),
                                                (1, 'is not judged: the test ends with 3', 0, 3, 1),
                                                (1, 'is not judged: the test has nothing of', 0, 1, 0)]:
        program('cards_moves', ['broken = "PTX_WITHOUT" in os.environ',
                                f'if broken: print("PTX_WITHOUT: {left_out} were left out", file=sys.stderr)',
                                f'sys.exit({broken} if broken else {whole})'])
        expect(code, text, '../ptx/mutants.py', '--quick', folder, mutant)
    (folder / 'cards_moves').unlink()
    expect(1, 'the test does not run', '../ptx/mutants.py', '--quick', folder, mutant)
    for wrong in ([], ['--quick'], ['--quick', folder, 'no such name'], [folder / 'nowhere']):
        expect(1, 'mutants.py BUILD [NAME...]: faults', '../ptx/mutants.py', *wrong)

    shares = folder / 'shares_of_toy.py'
    shares.write_text(f'import sys\nsys.path.insert(0, {str(TOOLS.parent / "ptx")!r})\nimport shares\n'
                      'shares.RUNS = {"toy": (["1"], ["2"], 1, "", True)}\nshares.main()\n')
    for code, text, name, symbol in [(0, "1.000 of 64 bytes are CUB's", 'transform_kernel<f>', '_ZN3cub1f'),
                                     (1, "0.000 of the bytes of dense maps", 'kernel<flat_map>', '_ZN5locus1f'),
                                     (1, 'a step has no dense map and no fold', 'kernel<line_map>', '_ZN5locus1f')]:
        program('cards_toy', [
            'line = json.dumps(' + repr({'label': '', 'name': name, 'symbol': symbol, 'load_unique_bytes': 64, 'store_unique_bytes': 0}) + ')',
            'open(os.environ["PTX_COUNTS"], "w").write((line + "\\n") * int(sys.argv[1]))'])
        expect(code, text, shares, folder)

    source = folder / 'example.cpp'
    source.write_text('')
    for code, text, printed, on_host in [(0, 'loss 1.0', 'loss 1.0', 'loss 1.0005'), (1, 'on cards: loss 1.0', 'loss 1.0', 'loss 1.01'),
                                         (1, 'nothing was printed', '', '')]:
        both = [program(n, [f'print({p!r})', 'print("ptx machine: 3 launches, 1 works", file=sys.stderr)'])
                for n, p in (('on_cards', printed), ('on_host', on_host))]
        expect(code, text, '../ptx/examples.py', source, *both)


def sums(folder):
    log = folder / 'testlog.json'
    good = {'name': 'good', 'result': 'OK', 'stdout': '[doctest] test cases: 3 | 3 passed | 0 failed | 0 skipped'}
    bad = {'name': 'bad', 'result': 'FAIL', 'stdout': 'why\n\n2 passed, 1 failed, 0 skipped', 'stderr': 'where'}
    for code, text, tests in [(0, '3 passed, 0 failed, 0 skipped', [good]), (0, '3 passed, 0 failed, 1 skipped', [good, {**bad, 'result': 'SKIP'}]),
                              (1, '5 passed, 1 failed, 0 skipped', [good, bad]), (1, 'FAILED: bad FAIL\nFAILED:      why\n', [bad]),
                              (1, 'FAILED:      where\n', [bad]), (1, '0 passed, 1 failed, 0 skipped', []),
                              (1, 'good has no test case', [{**good, 'stdout': '[doctest] test cases: 0 | 0 passed | 0 failed | 0 skipped'}])]:
        log.write_text('\n'.join(map(json.dumps, tests)))
        expect(code, text, 'summary.py', log)


def slower_rows(folder):
    head, old, new = '## maps\n\n| what | size | locus | Eigen | accuracy |\n|---|---|---|---|---|\n', folder / 'old.md', folder / 'new.md'
    old.write_text(head + '| y = a x | L2 | 1 us, 2 GB/s | 1.00 (0.90..1.10) >= 0.97 |  |\n')
    for code, text, cell in [(0, '1 rows in both tables, 0 slower', '0.95 (0.90..1.20)'), (0, '0 slower', '0.85 (0.80..1.05)'),
                             (1, '1.00 before, 0.85', '0.85 (0.80..0.95) >= 0.97 **missed**')]:
        new.write_text(head + f'| y = a x | L2 | 1 us, 2 GB/s | {cell} |  |\n')
        expect(code, text, '../../bench/compare.py', new, old)
    new.write_text(head)
    expect(1, '0 rows in both tables', '../../bench/compare.py', new, old)


def main():
    words = [word for word in sys.argv[1:] if not word.endswith('ccache')]
    cut = words.index('--nvcc') if '--nvcc' in words else len(words)
    compiler, nvcc = words[:cut], words[cut + 1:]
    for check in (output, includes, kernels, named, pages, header_map, operations, silent, budgets, programs, cards, sums, slower_rows):
        with tempfile.TemporaryDirectory() as name:
            check(pathlib.Path(name))
    for check in (forms, snippets, headers):
        with tempfile.TemporaryDirectory() as name:
            check(pathlib.Path(name), compiler)
    with tempfile.TemporaryDirectory() as name:
        misuse(pathlib.Path(name), compiler, nvcc)
    print(*failures, sep='\n')
    print(f'{len(failures)} failures')
    sys.exit(bool(failures))


if __name__ == '__main__':
    main()
