# SPDX-License-Identifier: Apache-2.0
"""How long a launch takes, by its counts (../counts/figures.hpp) and a machine. README.md says what it cannot know."""
from machines import COMMON, MACHINES


def resident_warps(m, threads, registers, shared):
    """warps that a processor has at once: what blocks, registers (in steps of eight) and shared memory allow"""
    warps = (threads + 31) // 32
    by_registers = m['registers'] // ((max(registers, 16) + 7) // 8 * 8 * 32 * warps)
    by_shared = m['shared_bytes'] // (shared + 1024) if shared else m['blocks']
    return max(1, min(m['blocks'], m['warps'] // warps, by_registers, by_shared)) * warps


def predict(c, machine, scale=1, registers=32, shared=0, fixed=False, by_sector=False):
    """c: counts of the launches of one kernel; scale: as if there were so many times the blocks; fixed: the same blocks do
    that much more instead; by_sector: a sector that is stored in part costs the second cache as much as a line."""
    m = {**COMMON, **MACHINES[machine]}
    hz = m['ghz'] * 1e9
    launches = max(1, c['launches'])
    threads = c['block'][0] * c['block'][1] * c['block'][2]
    in_block = (threads + 31) // 32
    blocks, warps = (c[k] * (1 if fixed else scale) for k in ('blocks', 'warps'))
    per_sm = resident_warps(m, threads, registers, shared)
    resident = min(per_sm * m['sms'], warps / launches)  # of one launch
    busy_sms = min(m['sms'], blocks / launches) if fixed or warps / launches < m['sms'] else m['sms']
    cycles = busy_sms * hz  # of all processors that work, in a second

    def figure(name):
        return c[name] * scale

    def instructions(kind):
        return c['warp_' + kind] * scale

    t = {}
    reads, writes = figure('load_unique') * 32, figure('store_unique') * 32
    both = m['mixed'] if min(reads, writes) > 0.1 * max(reads, writes, 1) else 1
    # what is stored in part is read first
    t['dram'] = (reads + writes + figure('store_partial') * 32) / (m['dram'] * 1e9 * m['achievable'] * both)
    t['l2'] = 32 * (figure('load_misses') + figure('store_sectors') + figure('atomic_sectors')) / (m['l2'] * 1e9)
    in_part = figure('store_sectors') - figure('store_whole')
    pieces = in_part + figure('store_whole') / 4 if by_sector else figure('store_lines')
    t['stores'] = (pieces + figure('atomic_sectors')) / (m['store_lines'] * cycles)
    t['issue'] = figure('issue_slots') / (4 * m['issue_share'] * cycles)
    t['lsu'] = (figure('load_lines') + figure('store_lines') + figure('shared_wavefronts') + instructions('shuffle') +
                figure('atomic_sectors')) / cycles
    t['fp32'] = (instructions('fp32') + instructions('integer')) / (m['fp32'] * cycles)
    t['fp64'] = instructions('fp64') / (m['fp64'] * cycles)
    t['sfu'] = (instructions('sfu') * 2 + instructions('convert') * 0.5) / cycles

    # Little's law: what the warps wait for in their lives, over the warps that are there
    requests = max(1, c['load_requests'])  # a request waits for its slowest sector
    near, cached = c['load_near'] / requests, c['load_cached'] / requests
    if c['prefetches']:
        cached = 1 - near
    latency = near * m['near_cycles'] + cached * m['cached_cycles'] + (1 - near - cached) * m['memory_cycles']
    lives = (m['start_cycles'] + m['start_of_warp'] * in_block) * warps
    lives += figure('waits') * latency + figure('shared_waits') * m['shared_cycles']
    lives += instructions('shuffle') * m['shuffle_cycles'] + instructions('barrier') * m['barrier_cycles']
    lives += figure('issue_slots') * m['dependent_cycles'] / 2
    if c['warp_barrier']:  # behind a barrier all warps of a block come at once
        lives += figure('shared_wavefronts') * in_block
    t['latency'] = lives / resident / hz

    flow = sum(v ** 8 for k, v in t.items() if k != 'latency') ** (1 / 8)  # the units work side by side
    p = m['sharpness']
    seconds = (flow ** p + t['latency'] ** p) ** (1 / p)
    useful = figure('load_unique_bytes') + figure('store_unique_bytes')
    return dict(seconds=seconds, with_launch=seconds + launches * m['launch_us'] * 1e-6, limit=max(t, key=t.get), parts=t,
                useful=useful, gbs=useful / seconds / 1e9 if seconds else 0,
                share=useful / seconds / (m['dram'] * 1e9) if seconds else 0, resident=per_sm)


def copy_seconds(useful, machine):
    """the model's time of the copy of 16 bytes a lane that reads and writes as many bytes, in blocks of 256"""
    requests = useful / 1024  # each 512 bytes read and 512 written
    c = dict.fromkeys(('launches', 'load_near', 'load_cached', 'prefetches', 'store_partial', 'atomic_sectors', 'shared_waits',
                       'shared_wavefronts'), 0)
    c.update(dict.fromkeys(('warp_' + k for k in ('shuffle', 'barrier', 'fp32', 'fp64', 'sfu', 'convert')), 0))
    c.update(launches=1, block=[256, 1, 1], blocks=requests / 8, warps=requests, waits=requests, load_requests=requests,
             issue_slots=13 * requests, warp_integer=5 * requests)
    for kind in ('load', 'store'):
        c.update({f'{kind}_lines': 4 * requests, f'{kind}_unique': 16 * requests, f'{kind}_unique_bytes': 512 * requests})
    c.update(load_misses=16 * requests, store_sectors=16 * requests, store_whole=16 * requests)
    return predict(c, machine, registers=14)['seconds']


def product_seconds(c, machine):
    """products of floats by cuBLAS, of which only the sizes are known: the fp32 units or DRAM, tails of tiles not counted"""
    m = {**COMMON, **MACHINES[machine]}
    rate = m['sms'] * m['ghz'] * 1e9 * m['fp32'] * 32 * m['product_share']
    return max(c['multiplications'] / rate, c['library_bytes'] / (m['dram'] * 1e9 * m['achievable'] * m['mixed']))


def ratios(c):
    """what a table says of counts besides their time"""
    def over(a, b):
        return c[a] / c[b] if c[b] else 0

    moved = (c['load_bytes'] + c['store_bytes']) / 16
    return dict(loads=over('load_sectors', 'load_ideal'), stores=over('store_sectors', 'store_ideal'),
                slots=c['issue_slots'] * 32 / moved if moved else 0, flight=over('wait_bytes', 'waits') / 32,
                banks=over('shared_wavefronts', 'shared_ideal'))
