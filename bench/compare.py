#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py NEW.md OLD.md [SHARE]: two tables of bench/tables.py beside one another. A cell is the time of a rival over that of
locus, so the rival is the measure of both machines. A row has become slower where the new median is below SHARE (0.9) of the
old one and the whole new range lies below the old median: one noisy round is no finding. Exit code 1 where a row has."""
import re
import sys
from pathlib import Path

CELL = re.compile(r'^([\d.]+) \(([\d.]+)\.\.([\d.]+)\)')


def cells_of(text):
    """(table, what, size, rival): median, lowest, highest"""
    found, table, head = {}, '', []
    for line in text.splitlines():
        if line.startswith('## '):
            table, head = line[3:], []
        elif line.startswith('|') and not line.startswith('|---'):
            words = [word.strip() for word in line.strip('|').split('|')]
            if not head:
                head = words
                continue
            for rival, word in zip(head[3:], words[3:]):
                if numbers := CELL.match(word):
                    found[table, words[0], words[1], rival] = tuple(map(float, numbers.groups()))
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    new, old = (cells_of(Path(name).read_text(encoding='utf-8')) for name in sys.argv[1:3])
    share = float(sys.argv[3]) if len(sys.argv) > 3 else 0.9
    both = [key for key in new if key in old]
    slower = [key for key in both if new[key][0] < share * old[key][0] and new[key][2] < old[key][0]]
    for key in sorted(slower, key=lambda k: new[k][0] / old[k][0]):
        print(f'{", ".join(key)}: {old[key][0]:.2f} before, {new[key][0]:.2f} ({new[key][1]:.2f} to {new[key][2]:.2f}) now')
    print(f'{len(both)} rows in both tables, {len(slower)} slower')
    sys.exit(bool(slower) or not both)


if __name__ == '__main__':
    main()
