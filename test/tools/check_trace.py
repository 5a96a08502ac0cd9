#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_trace.py FILE: a trace of locus is what Perfetto can show.

It is JSON; slices of one track nest; every arrow leaves one slice and arrives in another, not before
it left; tracks and the process have names; memory is never negative. Prints the number of slices on
each track, of arrows and of counter values, and each slice as "TRACK | NAME | DURATION us | ARGS | at BEGIN"."""
import json
import sys
from collections import defaultdict


def check(trace):
    events = trace['traceEvents']
    names = {e['tid']: e['args']['name'] for e in events if e['ph'] == 'M' and e['name'] == 'thread_name'}
    assert any(e['ph'] == 'M' and e['name'] == 'process_name' for e in events), 'the process has no name'
    assert len({e['pid'] for e in events}) == 1, 'more than one process'
    tracks, arrows = defaultdict(list), defaultdict(dict)
    for e in events:
        if e['ph'] == 'X':
            assert e['tid'] in names, f'a track without a name: {e}'
            assert e['ts'] >= 0 and e['dur'] > 0, f'no time: {e}'
            tracks[e['tid']].append(e)
        if e['ph'] in 'sf':
            assert e['ph'] not in arrows[e['id']], f'an arrow has two ends of one kind: {e}'
            arrows[e['id']][e['ph']] = e
        if e['ph'] == 'C':
            assert e['args']['bytes'] >= 0, f'negative memory: {e}'
    grain = 0.0005  # of a decimal fraction
    for tid, slices in tracks.items():
        open_until = []
        for e in sorted(slices, key=lambda e: (e['ts'], -e['dur'])):
            while open_until and open_until[-1] <= e['ts'] + grain:
                open_until.pop()
            end = e['ts'] + e['dur']
            assert not open_until or end <= open_until[-1] + grain, f'{names[tid]}: slices do not nest: {e}'
            open_until.append(end)

    def inside(e):
        return [s for s in tracks[e['tid']] if s['ts'] - grain <= e['ts'] <= s['ts'] + s['dur'] + grain]

    for number, ends in arrows.items():
        assert set(ends) == {'s', 'f'}, f'arrow {number} has one end'
        assert ends['s']['ts'] <= ends['f']['ts'] + grain, f'arrow {number} arrives before it leaves'
        assert ends['s']['tid'] != ends['f']['tid'], f'arrow {number} goes nowhere'
        assert inside(ends['s']) and inside(ends['f']), f'arrow {number} ends outside of a slice'
    return names, tracks, arrows


def main():
    trace = json.load(open(sys.argv[1], encoding='utf-8'))
    names, tracks, arrows = check(trace)
    for tid in sorted(tracks):
        print(f'track {names[tid]}: {len(tracks[tid])} slices')
    counters = sum(e['ph'] == 'C' for e in trace['traceEvents'])
    print(f"{len(arrows)} arrows, {counters} values of counters, {trace['otherData']['dropped events']} dropped, "
          f"{trace['otherData']['events without a time']} without a time")
    for tid in sorted(tracks):
        for e in tracks[tid]:
            print(f"{names[tid]} | {e['name']} | {e['dur']:.0f} us | {json.dumps(e['args'])} | at {e['ts']:.3f}")
    for e in trace['traceEvents']:
        if e['ph'] == 'i':
            print('note:', e['name'])


if __name__ == '__main__':
    main()
