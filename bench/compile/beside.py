#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling costs with these headers and with older ones: processor time of the compiler, in random order
within each round, and the median of the rounds' ratios.

    python3 bench/compile/beside.py OLDER [ROUNDS]      OLDER: another commit; CXX, CXXFLAGS (-O2)
"""
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
head = '#include <locus/locus.hpp>\nusing namespace locus;\nusing V = Tensor<float, Dextents<1>>;\n'
twenty = ['a + b', 'a * b - a', '2.f * a + b', 'exp(-a * a)', 'sin(a) * cos(b)', 'a / (1.f + b)', 'sqrt(abs(a))',
          'where(a > b, a, b)', 'log1p(abs(b))', 'tanh(a) - b', 'a * a * a', 'minimum(a, b)', 'maximum(a, 0.f)',
          'pow(abs(a), b)', 'a - 3.f', '-b', 'a + b * b', 'exp(a) / (1.f + exp(a))', 'abs(a - b)', 'square(a) + b']
sources = {
    'include': head,
    'one statement': head + 'void f(V& y, V const& a, V const& b) { y = exp(-a * a) * sin(a) + log1p(b); }\n',
    'twenty statements': head + ''.join(
        f'void f{i}(V& y, V const& a, V const& b) {{ y = {e}; }}\n' for i, e in enumerate(twenty)),
}


def seconds(include, source, out):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.environ.get('CXX', 'g++'), '-std=c++20', *os.environ.get('CXXFLAGS', '-O2').split(), '-I', include,
                    '-c', source, '-o', out], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    older, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as work:
        archive = subprocess.run(['git', '-C', root, 'archive', older, 'include'], check=True, capture_output=True).stdout
        subprocess.run(['tar', '-x', '-C', work], input=archive, check=True)
        trees = {'now': os.path.join(root, 'include'), 'before': os.path.join(work, 'include')}
        for name, text in sources.items():
            source = os.path.join(work, 'unit.cpp')
            with open(source, 'w') as file:
                file.write(text)
            taken = {tree: [] for tree in trees}
            for _ in range(rounds):
                for tree in random.sample(list(trees), 2):
                    taken[tree].append(seconds(trees[tree], source, os.path.join(work, 'unit.o')))
            ratios = sorted(n / b for n, b in zip(taken['now'], taken['before']))
            print(f"{name}: now {statistics.median(taken['now']):.2f} s, before {statistics.median(taken['before']):.2f} s, "
                  f'ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})', flush=True)


main()
