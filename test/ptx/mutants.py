# SPDX-License-Identifier: Apache-2.0
# Faults of the GPU side, planted one at a time: a barrier, a mask, a wait or a bound is taken out of a copy of the
# headers, a test on cards is compiled over it, and must fail. The last line is "N passed, N failed, N skipped".
#     mutants.py BUILD [name of a mutant...]
#     mutants.py --quick LIBRARIES [name...]      nothing is compiled: the machine leaves instructions and calls out (PTX_WITHOUT)
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPU, ENGINE = "locus/backend/cuda/", "locus/engine/gpu/"
# name: file, what is there once, what stands there then, a program of test/ptx, why it may stay unseen
MUTANTS = {
    "a fold without its barrier between writing and reading": (
        GPU + "kernel.cuh", "each[threadIdx.x / warp] = mine;\n    __syncthreads();", "each[threadIdx.x / warp] = mine;",
        "rows", None),
    "a fold without its barrier behind reading": (
        GPU + "kernel.cuh", "mine = each[first + (threadIdx.x & (mates - 1))];\n    __syncthreads();",
        "mine = each[first + (threadIdx.x & (mates - 1))];",
        "rows", "no kernel of this test folds twice with one reducer in teams of 256"),
    "phases without a barrier": (
        GPU + "kernel.cuh", "f(threadIdx.x);\n    __syncthreads();", "f(threadIdx.x);", "reduce", None),
    "a shuffle of half a warp": (
        GPU + "kernel.cuh", "__shfl_xor_sync(0xffffffffu,", "__shfl_xor_sync(0x0000ffffu,", "rows", None),
    "a butterfly that leaves out a distance": (
        GPU + "kernel.cuh", "unsigned half = Size / 2; half > 0;", "unsigned half = Size / 2; half > 1;", "rows", None),
    "a row kernel past the last row": (
        GPU + "rows.hpp", "s.row = s.row < rows ? s.row : -1;", "", "rows", None),
    "a fold of columns that all threads halve": (
        ENGINE + "reduce.hpp", "i < at_once && t < half;", "i < at_once;", "reduce", None),
    "a fold of columns past the last one": (
        ENGINE + "reduce.hpp", "if (t >= across() || first + t >= map.run.vectors) return;", "if (t >= across()) return;", "reduce", None),
    "totals past the last output": (
        ENGINE + "fold_parts.hpp", "if (t >= across || n >= end.in_part) return;", "if (t >= across) return;", "reduce", None),
    "a map past its last line": (
        ENGINE + "line_map.hpp", "p.whole[r] = r < p.lines && ", "p.whole[r] = ", "map", None),
    "a tile that is read before all of it is turned": (
        ENGINE + "point_map.hpp", "block.each([&](unsigned t) { turn(", "block.apart([&](unsigned t) { turn(", "moves", None),
    "a stream that waits for no event": (
        GPU + "streams.hpp", "gpu_api->stream_wait_event(cuda_queue_of(d, kind).stream, event)", "0", "cards", None),
    "an event that is not recorded": (
        GPU + "streams.hpp", "gpu_api->event_record(detail::event_for(q, ticket, d.name), q.stream)", "0", "cards", None),
}
# name: what is left out, a program of test/ptx, its cases or None, why it may stay unseen
QUICK = {
    "teams of a row without their first barrier": ("bar.sync@rows_by_teams#1", "rows", None, None),
    "rows without a bound": ("ret@rows_by_teams#1", "rows", None, None),
    "rows without their first shuffle": ("shfl@rows_by_teams#1", "rows", None, None),
    "folds of rows without a barrier": ("bar.sync@fold_rows#1", "reduce", None, None),
    "folds of columns without a barrier": ("bar.sync@fold_columns#1", "reduce", None, None),
    "folds of columns without a bound": ("ret@fold_columns", "reduce", None, None),
    "maps without a bound": ("ret@flat_map", "map", None, None),
    "turned tiles without a barrier": ("bar.sync@point_map#1", "moves", None, None),
    "streams that do not wait": ("cudaStreamWaitEvent", "cards", "a network learns*", None),
    "events that are not recorded": ("cudaEventRecord", "cards", "a network learns*", None),
}
HOST_MEMORY = {"map", "reduce", "rows"}


def commands_of(build, program):
    """how ninja makes the program: the unit's compilation and the link"""
    text = subprocess.run(["ninja", "-C", build, "-t", "commands", f"test/ptx/cards_{program}"], capture_output=True,
                          text=True, check=True).stdout.splitlines()
    unit = [c for c in text if f"cards_{program}.p/" in c and " -c " in c]
    link = [c for c in text if f"-o test/ptx/cards_{program} " in c]
    if len(unit) != 1 or len(link) != 1:
        sys.exit(f"mutants.py: no way to make cards_{program} is found in {build}")
    return unit[0], link[0]


def run(build, folder, program):
    """true: the test passes in both orders; false: it fails; None: it does not compile"""
    unit, link = commands_of(build, program)
    object_file = re.search(r" -o (\S+)", unit).group(1)
    unit = unit.replace("-I../include", f"-I{folder}/include").replace(f"-o {object_file}", f"-o {folder}/unit.o")
    unit = re.sub(r"-MD -MF \S+ -MT \S+", "", unit)
    link = link.replace(f"-o test/ptx/cards_{program} ", f"-o {folder}/program ").replace(object_file, f"{folder}/unit.o")
    for command in (unit, link):
        made = subprocess.run(command, shell=True, cwd=build, capture_output=True, text=True)
        if made.returncode != 0:
            print(made.stderr[-2000:])
            return None
    return passes(f"{folder}/program", pathlib.Path(build) / "test/ptx", program)


def passes(file, libraries, program, cases=None, more=None):
    for order in ({}, {"PTX_LATE": "1", "PTX_SEED": "7"}):
        environment = {**os.environ, "LOCUS_QUIET": "1", "OMP_NUM_THREADS": "2", "PTX_CARDS": "4",
                       "LD_LIBRARY_PATH": str(libraries), **order, **(more or {})}
        if program in HOST_MEMORY:
            environment["PTX_HOST_MEMORY"] = "1"
        try:
            ended = subprocess.run([file, *([f"-tc={cases}"] if cases else [])], env=environment, capture_output=True, text=True,
                                   timeout=300)
        except subprocess.TimeoutExpired:
            return False
        if ended.returncode != 0:
            return False
        if more and not re.search(r"PTX_WITHOUT: [1-9]", ended.stderr):
            sys.exit(f"mutants.py: {program} has nothing of {more['PTX_WITHOUT']}; correct the list")
    return True


def quick(libraries, names):
    """(name, where, whether the test passes, why it may)"""
    for name in names:
        without, program, cases, unseen = QUICK[name]
        at = pathlib.Path(libraries).resolve()
        yield name, f"{without}, {program}", passes(str(at / f"cards_{program}"), at, program, cases, {"PTX_WITHOUT": without}), unseen


def in_full(build, names):
    for name in names:
        file, there, instead, program, unseen = MUTANTS[name]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "include", f"{folder}/include")
            mutated = pathlib.Path(folder) / "include" / file
            text = mutated.read_text()
            mutated.write_text(text.replace(there, instead))
            yield name, f"{file}, {program}", run(build, folder, program), unseen


def main():
    is_quick = sys.argv[1] == "--quick"
    for name, (file, there, *_) in MUTANTS.items():
        if (n := (ROOT / "include" / file).read_text().count(there)) != 1:
            sys.exit(f"mutants.py: {name}: {file} has {n} times: {there}; correct the list")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, where, seen_nothing, unseen in (
            quick(sys.argv[2], sys.argv[3:] or list(QUICK)) if is_quick else in_full(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:] or list(MUTANTS))):
        what = ("does not compile" if seen_nothing is None else "is found" if not seen_nothing
                else "is not found" + (f": {unseen}" if unseen else ""))
        counts["failed" if seen_nothing is None else "passed" if not seen_nothing else "skipped" if unseen else "failed"] += 1
        print(f"{name} ({where}): {what}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in counts.items()))
    return 1 if counts["failed"] else 0


sys.exit(main())
