#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_output.py SOURCE EXE [ARGS...]: what EXE prints is what SOURCE says it prints.

SOURCE says it in comments, all of them together, in their order:
    std::cout << c << '\\n';  // prints: [[22, 28], [49, 64]]
    explain(std::cout, e);   // prints:
                             //   first line
                             //   second line
A SOURCE that is no C++ (a .txt) is the output itself, line by line.
Within a line <#> stands for any number and <*> for any text; a line ... stands for any lines.
Spaces at the end of a line do not count; of a line drawn several times (progress) the last counts."""
import re
import subprocess
import sys

NUMBER = r'[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)'


def expected_lines(text):
    """The lines that the `prints:` comments of a source announce."""
    lines, indent = [], None
    for line in text.splitlines():
        start = re.search(r'//\s*prints:(.*)$', line)
        more = re.match(r'\s*//(\s*)(.*)$', line)
        if start:
            said = start[1].strip()
            lines += [said] if said else []
            indent = None if said else -1  # the first line of a block fixes its indentation
        elif indent is not None and more:
            indent = len(more[1]) if indent < 0 else indent
            lines.append(line.split('//', 1)[1][indent:])
        else:
            indent = None
    return lines


def printed_lines(text):
    """Output as a terminal leaves it: of an overdrawn line only the last drawing."""
    return [line.rstrip('\r').rsplit('\r', 1)[-1].rstrip() for line in text.rstrip('\n').split('\n')]


def pattern(lines):
    """One regular expression for the whole output."""
    masks = {'<#>': NUMBER, '<*>': '.*'}
    parts = []
    for line in lines:
        if line.strip() == '...':
            parts.append(r'(?:.*\n)*?')
        else:
            tokens = re.split(r'(<#>|<\*>)', line.rstrip())
            parts.append(''.join(masks.get(t) or re.escape(t) for t in tokens) + r'\n')
    return re.compile(''.join(parts))


def difference(expected, output):
    """None when the output is as expected, else what to print."""
    got = printed_lines(output)
    if pattern(expected).fullmatch('\n'.join(got) + '\n'):
        return None
    good = 0  # as many lines as agree from the beginning
    while good < len(expected) and pattern(expected[: good + 1] + ['...']).fullmatch('\n'.join(got) + '\n'):
        good += 1
    want = expected[good] if good < len(expected) else '(nothing more)'
    where = next((k for k in range(len(got) + 1)
                  if pattern(expected[:good]).fullmatch(''.join(g + '\n' for g in got[:k]))), 0)
    have = got[where] if where < len(got) else '(nothing more)'
    return f'after {good} lines as expected\n  expected: {want}\n  printed:  {have}\nall of it:\n{output}'


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source, command = sys.argv[1], sys.argv[2:]
    text = open(source, encoding='utf-8').read()
    code = source.endswith(('.cpp', '.cu', '.hpp', '.cuh'))
    expected = expected_lines(text) if code else text.splitlines()
    if not expected:
        sys.exit(f'{source}: no prints: comment says what to expect')
    done = subprocess.run(command, stdout=subprocess.PIPE)
    output = done.stdout.decode()  # text=True would turn every carriage return into a new line
    if done.returncode == 77:
        sys.exit(77)  # Meson's code for skipped
    if done.returncode:
        sys.exit(f'{source}: exit code {done.returncode} after\n{output}')
    wrong = difference(expected, output)
    if wrong:
        sys.exit(f'{source}: {wrong}')
    print(f'{source}: {len(expected)} lines as expected')


if __name__ == '__main__':
    main()
