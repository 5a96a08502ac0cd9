# SPDX-License-Identifier: Apache-2.0
# Faults of the GPU side, planted one at a time: a barrier, a mask, a wait or a bound is taken out of a copy of the
# headers, a test on cards is compiled over it, and must fail. The last line is "N passed, N failed, N skipped".
#     mutants.py BUILD [name of a mutant...]
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPU = "locus/backend/cuda/"
# name: file, what is there once, what stands there then, a program of test/ptx, why it may stay unseen
MUTANTS = {
    "a fold without its barrier between writing and reading": (
        GPU + "kernel.cuh", "each[threadIdx.x / warp] = mine;\n    __syncthreads();", "each[threadIdx.x / warp] = mine;",
        "rows", None),
    "a fold without its barrier behind reading": (
        GPU + "kernel.cuh", "mine = each[threadIdx.x % warps];\n    __syncthreads();", "mine = each[threadIdx.x % warps];",
        "rows", "no kernel of this test folds twice with one reducer in teams of 256"),
    "phases without a barrier": (
        GPU + "kernel.cuh", "f(threadIdx.x);\n    __syncthreads();", "f(threadIdx.x);", "reduce", None),
    "a shuffle of half a warp": (
        GPU + "kernel.cuh", "__shfl_xor_sync(0xffffffffu,", "__shfl_xor_sync(0x0000ffffu,", "rows", None),
    "a butterfly that leaves out a distance": (
        GPU + "kernel.cuh", "unsigned half = Size / 2; half > 0;", "unsigned half = Size / 2; half > 1;", "rows", None),
    "a row kernel past the last row": (
        GPU + "rows.hpp", "if (s.row < 0) return;", "", "rows", None),
    "a fold of columns that all threads halve": (
        GPU + "reduce.hpp", "if (t < half) shared[t] =", "shared[t] =", "reduce", None),
    "a fold of columns past the last one": (
        GPU + "reduce.hpp", "if (t >= across || first + t >= map.run.vectors) return;", "if (t >= across) return;", "reduce", None),
    "totals past the last output": (
        GPU + "reduce.hpp", "if (t % team != 0 || output(block, t) >= outputs) return;", "if (t % team != 0) return;", "cards", None),
    "a map past its last vector": (
        GPU + "map.hpp", "if (v >= over.vectors) return;", "", "cards", None),
    "a stream that waits for no event": (
        GPU + "streams.hpp", "gpu_api->stream_wait_event(q.stream, cuda_event_of(s))", "0", "cards", None),
    "an event that is not recorded": (
        GPU + "streams.hpp", "gpu_api->event_record(q.events[ticket % cuda_queue::kept], q.stream)", "0", "cards", None),
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
    for more in ({}, {"PTX_LATE": "1", "PTX_SEED": "7"}):
        environment = {**os.environ, "LOCUS_QUIET": "1", "OMP_NUM_THREADS": "2", "PTX_CARDS": "4",
                       "LD_LIBRARY_PATH": str(pathlib.Path(build) / "test/ptx"), **more}
        if program in HOST_MEMORY:
            environment["PTX_HOST_MEMORY"] = "1"
        try:
            ended = subprocess.run([f"{folder}/program"], env=environment, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            return False
        if ended.returncode != 0:
            return False
    return True


def main():
    build, names = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:] or list(MUTANTS)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in names:
        file, there, instead, program, unseen = MUTANTS[name]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "include", f"{folder}/include")
            mutated = pathlib.Path(folder) / "include" / file
            text = mutated.read_text()
            if text.count(there) != 1:
                print(f"{name}: {file} has {text.count(there)} times: {there}; correct the list", flush=True)
                counts["failed"] += 1
                continue
            mutated.write_text(text.replace(there, instead))
            passes = run(build, folder, program)
        what = "does not compile" if passes is None else "is found" if not passes else "is not found" + (f": {unseen}" if unseen else "")
        counts["failed" if passes is None else "passed" if not passes else "skipped" if unseen else "failed"] += 1
        print(f"{name} ({file}, {program}): {what}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in counts.items()))
    return 1 if counts["failed"] else 0


sys.exit(main())
