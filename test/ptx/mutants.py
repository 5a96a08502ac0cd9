#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py BUILD [NAME...]: faults of the GPU side, planted one at a time: a barrier, a mask, a wait or a bound is taken out of
a copy of the headers, and a test on cards is compiled over it.
mutants.py --quick LIBRARIES [NAME...]: nothing is compiled: the machine leaves instructions and calls out (PTX_WITHOUT).
LIBRARIES is BUILD/test/ptx; a test that ends by itself ends with 0 or 1 here, and says how much was left out.
Each test passes without a fault, and fails with it: a signal is a failure too, since a bound that is left out may spoil memory
of the host. A test that runs for more than 300 s, or with --quick ends with another code, says nothing of its fault, and the
mutant counts as failed. The last line is "N passed, N failed, N skipped"."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPU, ENGINE = "locus/backend/cuda/", "locus/engine/gpu/"
# name: file (or, where the functions of a header have their bodies apart, that header), what is there once, what stands there then, a program of test/ptx, why it may stay unseen
MUTANTS = {
    "a fold without its barrier between writing and reading": (
        GPU + "kernel.cuh", "each[threadIdx.x / warp] = mine;\n    __syncthreads();", "each[threadIdx.x / warp] = mine;",
        "rows", None),
    "a fold without its barrier behind reading": (
        GPU + "kernel.cuh", "mine = each[first + (threadIdx.x & (mates - 1))];\n    __syncthreads();",
        "mine = each[first + (threadIdx.x & (mates - 1))];",
        "rows", "no kernel of this test folds twice with one reducer in teams of 256"),
    "a row that a library and a kernel both add": (
        ENGINE + "kernels.hpp", "*work.row.added = true;", "", "product_row", None),
    "a row that nobody adds where a library has no kernel": (
        ENGINE + "kernels.hpp", "a.fits_blas() && b.fits_blas() &&\n        cuda_side::start_product_with_row(site, element_of_v<T>, c, a, b, work.row)) {",
        "a.fits_blas() && b.fits_blas()) {\n      cuda_side::start_product(site, element_of_v<T>, c, a, b);", "product_row", None),
    "vectors of pools from any address": (
        ENGINE + "vectors.hpp", "are_vectors(n, first, more...) ? f(", "n % vector_elements<T> == 0 ? f(", "image_kernels", None),
    "a normalisation that stores rows where they do not lie": (
        "locus/nn/kernels/batch_norm_card.hpp", "cuda_side::store_whole(y + of.vector(i, r) * Size, v[r]);",
        "cuda_side::store_whole(y + (i + 2 * r * of.apart) * Size, v[r]);", "image_kernels", None),
    "phases without a barrier": (
        GPU + "kernel.cuh", "f(threadIdx.x);\n    __syncthreads();", "f(threadIdx.x);", "reduce", None),
    "a shuffle of half a warp": (
        GPU + "kernel.cuh", "__shfl_xor_sync(0xffffffffu,", "__shfl_xor_sync(0x0000ffffu,", "rows", None),
    "a butterfly that leaves out a distance": (
        GPU + "kernel.cuh", "unsigned half = Size / 2; half > 0;", "unsigned half = Size / 2; half > 1;", "rows", None),
    "a row kernel past the last row": (
        ENGINE + "rows.hpp", "s.row = s.row < rows ? s.row : -1;", "", "rows", None),
    "a fold of columns that all threads halve": (
        ENGINE + "reduce.hpp", "i < at_once && t < half;", "i < at_once;", "reduce", None),
    "a fold of columns past the last one": (
        ENGINE + "reduce.hpp", "if (t >= across() || first + t >= vectors) return;", "if (t >= across()) return;", "reduce", None),
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
    "the null stream beside one that is captured": (
        GPU + "real_api.cuh", "*is = another || status", "*is = status", "cards", None),
    "shapes of cuBLASLt that are forgotten": (
        GPU + "real_cublaslt.hpp", "if (shapes_[k]->serves(g)) return *shapes_[k];", ";", "cards", None),
    "a refusal of cuBLASLt that is forgotten": (
        GPU + "real_cublaslt.hpp", "cublaslt_table::invalid_value)\n    has_ = false;", "cublaslt_table::invalid_value)\n    ;",
        "cards", None),
    "a refusal of cuBLASLt behind which nobody multiplies": (
        ENGINE + "product.hpp", "return has_kernel(false);", "has_kernel(false);\n  return true;", "cards", None),
    "cuBLAS opened while no card may be given work": (
        GPU + "products.hpp", "if (gpu_api->blas_open) gpu_api->blas_open();", "", "cudnn", None),
    "cuDNN opened while no card may be given work": (
        GPU + "convolutions.hpp", "if (gpu_api->dnn_open) gpu_api->dnn_open();", "", "cudnn", None),
    "products behind a refusal of cuDNN, whose workspace nobody measured": (
        "locus/nn/kernels/conv_card.hpp", "cudnn && !cudnn->may_refuse();", "cudnn && *cudnn;", "cudnn", None),
}
# name: what is left out, a program of test/ptx, its cases or None, why it may stay unseen
QUICK = {
    "teams of a row without their first barrier": ("bar.sync@rows_by_teams#1", "rows", None, None),
    "rows without a bound": ("ret@rows_by_teams#1", "rows", None, None),
    "rows without their first shuffle": ("shfl@rows_by_teams#1", "rows", None, None),
    "folds of rows without a barrier": ("bar.sync@fold_rows#1", "reduce", None, None),
    "folds of columns without a barrier": ("bar.sync@fold_columns#1", "reduce", None, None),
    "folds of columns without a bound": ("ret@fold_columns", "rows_and_columns", None, None),
    # in memory of the host, later cases would end in memory that this one spoiled
    "maps without a bound": ("ret@flat_map", "map", "element-wise kernels*", None),
    "turned tiles without a barrier": ("bar.sync@point_map#1", "moves", None, None),
    "streams that do not wait": ("cudaStreamWaitEvent", "cards", "a network learns*", None),
    "events that are not recorded": ("cudaEventRecord", "cards", "a network learns*", None),
}
HOST_MEMORY = {"map", "reduce", "rows"}


def pattern_of(text):
    """the text, however its lines are indented"""
    return r"\s+".join(map(re.escape, text.split()))


def file_with(file, text):
    """the header, or the file with its bodies, whichever has the text"""
    bodies = ROOT / "include" / re.sub(r"/([^/]+)$", r"/bodies/\1", file)
    has = bodies.is_file() and re.search(pattern_of(text), bodies.read_text())
    return bodies.relative_to(ROOT / "include").as_posix() if has else file


def commands_of(build, program):
    """how ninja makes the program: the unit's compilation and the link"""
    text = subprocess.run(["ninja", "-C", build, "-t", "commands", f"test/ptx/cards_{program}"], capture_output=True,
                          text=True, check=True).stdout.splitlines()
    unit = [c for c in text if f"cards_{program}.p/" in c and " -c " in c]
    link = [c for c in text if f"-o test/ptx/cards_{program} " in c]
    if len(unit) != 1 or len(link) != 1:
        sys.exit(f"mutants.py: no way to make cards_{program} is found in {build}")
    return unit[0], link[0]


def judge(file, libraries, program, cases=None, without=None):
    """'passes' in both orders, 'fails' in one, or why a run says nothing"""
    for order in ({}, {"PTX_LATE": "1", "PTX_SEED": "7"}):
        environment = {**os.environ, "LOCUS_QUIET": "1", "OMP_NUM_THREADS": "2", "PTX_CARDS": "4",
                       "LOCUS_CUDNN": "libcudnn.so.9" if program == "cudnn" else "off",
                       "LD_LIBRARY_PATH": str(libraries), **order, **({"PTX_WITHOUT": without} if without else {})}
        if program in HOST_MEMORY:
            environment["PTX_HOST_MEMORY"] = "1"
        try:
            ended = subprocess.run([file, *([f"-tc={cases}"] if cases else [])], env=environment, capture_output=True, text=True,
                                   errors="replace", timeout=300)
        except subprocess.TimeoutExpired:
            return "runs for more than 300 s"
        except OSError as wrong:
            return f"does not run: {wrong}"
        if ended.returncode < 0:  # a signal, before the test could say what was left out
            return "fails"
        if without and ended.returncode not in (0, 1):
            return f"ends with {ended.returncode}"
        if without and not re.search(r"PTX_WITHOUT: [1-9]", ended.stderr):
            return f"has nothing of {without}; correct the list"
        if ended.returncode:
            return "fails"
    return "passes"


@functools.cache
def whole(libraries, program, cases=None):
    """what the program says without a fault"""
    return judge(str(libraries / f"cards_{program}"), libraries, program, cases)


def compiled(build, folder, program):
    """what the program says, compiled over the headers in the folder"""
    unit, link = commands_of(build, program)
    object_file = re.search(r" -o (\S+)", unit).group(1)
    headers = [i for i in re.findall(r"-I(\S+)", unit) if pathlib.Path(build, i).resolve() == ROOT / "include"]
    if len(headers) != 1:
        sys.exit(f"mutants.py: {headers} of cards_{program}'s command are the headers; one is expected")
    unit = unit.replace(f"-I{headers[0]} ", f"-I{folder}/include ").replace(f"-o {object_file}", f"-o {folder}/unit.o")
    unit = re.sub(r"-MD -MF \S+ -MT \S+", "", unit)
    link = link.replace(f"-o test/ptx/cards_{program} ", f"-o {folder}/program ").replace(object_file, f"{folder}/unit.o")
    for command in (unit, link):
        made = subprocess.run(command, shell=True, cwd=build, capture_output=True, text=True)
        if made.returncode != 0:
            print(made.stderr[-2000:])
            return "does not compile"
    return judge(f"{folder}/program", pathlib.Path(build) / "test/ptx", program)


def quick(libraries, names):
    """(name, where, what the test says without the fault, and with it, why the fault may stay unseen)"""
    at = pathlib.Path(libraries).resolve()
    for name in names:
        without, program, cases, unseen = QUICK[name]
        before = whole(at, program, cases)
        yield (name, f"{without}, {program}", before,
               before == "passes" and judge(str(at / f"cards_{program}"), at, program, cases, without), unseen)


def in_full(build, names):
    for name in names:
        file, there, instead, program, unseen = MUTANTS[name]
        before = whole(pathlib.Path(build) / "test/ptx", program)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "include", f"{folder}/include")
            mutated = pathlib.Path(folder) / "include" / file_with(file, there)
            mutated.write_text(re.sub(pattern_of(there), lambda _: instead, mutated.read_text()))
            yield name, f"{file}, {program}", before, before == "passes" and compiled(build, folder, program), unseen


def main():
    is_quick = sys.argv[1:2] == ["--quick"]
    place, names = (sys.argv[1 + is_quick:] or [None])[0], sys.argv[2 + is_quick:]
    every = QUICK if is_quick else MUTANTS
    if place is None or not pathlib.Path(place).is_dir() or not all(n in every for n in names):
        sys.exit(__doc__ + "\nNames:\n  " + "\n  ".join(every))
    for name, (file, there, *_) in MUTANTS.items():
        if (n := len(re.findall(pattern_of(there), (ROOT / "include" / file_with(file, there)).read_text()))) != 1:
            sys.exit(f"mutants.py: {name}: {file} has {n} times: {there}; correct the list")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    of = quick(place, names or list(QUICK)) if is_quick else in_full(str(pathlib.Path(place).resolve()), names or list(MUTANTS))
    for name, where, before, after, unseen in of:
        if before != "passes":
            end, what = "failed", f"the test {before} without a fault"
        elif after == "fails":
            end, what = "passed", "is found"
        elif after == "passes":
            end, what = "skipped" if unseen else "failed", "is not found" + (f": {unseen}" if unseen else "")
        else:
            end, what = "failed", f"is not judged: the test {after}"
        counts[end] += 1
        print(f"{name} ({where}): {what}", flush=True)
    print(", ".join(f"{n} {k}" for k, n in counts.items()))
    return 1 if counts["failed"] else 0


sys.exit(main())
