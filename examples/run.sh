#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the main job and runs it: a network trained on Fashion-MNIST with mirrored
# replicas, on the GPUs that are there or on the CPU. Its last line says what was reached.
#     sh examples/run.sh [replicas: 1, 2 or 4] [epochs] [folder of the dataset]
#     sh examples/run.sh all      every example but the one for MPI, the main job last
set -eu
cd "$(dirname "$0")/.."
sh test/tools/install.sh g++ meson ninja-build pkgconf python3 zlib1g-dev '?libopenblas0-openmp' '?dataset-fashion-mnist' '?fortunes' '?fortunes-min'
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
build=${BUILD:-build-examples}
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=disabled -Dbenchmarks=disabled
suffix=
if grep -q 'example.*_cuda' "$build/build.ninja"; then suffix=_cuda; fi
main_job=04_mirrored_fashion_mnist
others=
if [ "${1:-}" = all ]; then
  shift
  others='01_hello_placement 02_cpu_vs_gpu 03_towers 05_devices 06_memory 07_text_cnn 08_fashion_mnist_cnn
    09_linear_regression 10_multi_gpu_basics 11_mobilenet_v2 12_configured_devices 13_devices_at_run_time
    14_heat_over_pieces 15_conjugate_gradients 16_heat_conduction'
fi
for example in $others $main_job; do
  ninja -C "$build" "examples/$example$suffix"
  echo "--- $example"
  case $example in
    04*) "$build/examples/$example$suffix" "$@" ;;
    07*) "$build/examples/$example$suffix" 2 ;;
    08*) "$build/examples/$example$suffix" 1 6000 ;;
    *) "$build/examples/$example$suffix" ;;
  esac
done
