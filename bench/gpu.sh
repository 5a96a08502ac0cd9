#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One GPU in at most a quarter of an hour, besides compilation: builds, runs the test that needs a GPU, measures locus
# beside copies, hand-written kernels, CUB, Thrust, cuBLAS, cuFFT, cuSPARSE, and PyTorch and CuPy where they are installed, and writes
# tables and pictures to bench/results/DATE-gpu*. Without a GPU it builds, says so and ends with 77.
#     sh bench/gpu.sh      ARCH=90: of the card      BUILD=folder
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo 'no nvcc: nothing was built or measured' >&2; exit 77; }
build=${BUILD:-build-gpu} arch=${ARCH:-90}
mkdir -p "$build" bench/results
flags="-std=c++20 -O3 -DNDEBUG -arch=sm_$arch -Iinclude"
nvcc $flags bench/gpu/gpu.cu -o "$build/gpu_bench" -ldl
nvcc $flags bench/gpu/training.cu -o "$build/gpu_training" -ldl
nvcc $flags bench/gpu/arrays.cu -o "$build/gpu_arrays" -ldl -lz
nvcc $flags bench/gpu/libraries.cu -o "$build/gpu_libraries" -ldl -lz
nvcc $flags bench/gpu/families.cu -o "$build/families" -ldl -lz
nvcc $flags bench/gpu/convolutions.cu -o "$build/convolutions" -ldl -lz
nvcc $flags test/cuda/nccl_on_one_gpu.cu -o "$build/nccl_on_one_gpu" -ldl
: >"$build/results.jsonl"
code=0
for program in gpu_bench gpu_training gpu_arrays gpu_libraries; do
  timeout 300 "$build/$program" >>"$build/results.jsonl" || code=$?
  [ "$code" != 77 ] || exit 77
  [ "$code" = 0 ] || { echo "$program ended with $code: no tables" >&2; exit 1; }
done
timeout 60 "$build/nccl_on_one_gpu" || [ $? = 77 ] || { echo 'NCCL on one GPU failed' >&2; exit 1; }
timeout 400 python3 bench/gpu/peers.py "$build/results.jsonl" || echo 'peers.py ended early' >&2
stem=bench/results/$(date +%F)-gpu
python3 bench/tables.py "$build/results.jsonl" "$stem" \
  "GPU: $(date +%F), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $(nvcc --version | tail -n 1)"
# the statements that the model of test/ptx predicted, at 256 MiB, without cuDNN as there
for run in 1 2 3; do LOCUS_CUDNN=off timeout 60 "$build/families" $((1 << 26)); done >"$build/families.tsv"
cudnn=$(ls "${VIRTUAL_ENV:-/usr}"/lib/python3*/*-packages/nvidia/cudnn/lib/libcudnn.so.9 2>/dev/null | head -n 1)
{
  printf '\n## Times that the model predicted\n\n'
  python3 bench/gpu/beside_model.py "$build/families.tsv" bench/results/2026-11-23-ptx-after.md
  printf '\n## Convolutions\n\nMicroseconds, fp32.\n\n'
  printf '| images, filters | work of each | library | results | gradient of the images | gradient of the filters |\n|---|---|---|---|---|---|\n'
  for library in off $cudnn; do LOCUS_CUDNN=$library timeout 60 "$build/convolutions"; done
} >>"$stem.md"
cat "$stem.md"
