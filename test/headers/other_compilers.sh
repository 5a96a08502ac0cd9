#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The compilers of newer Debians compile the headers without a word. debootstrap fills a folder for each Debian: this takes
# root and a mirror, and without them the exit status is 77.
#     sh test/headers/other_compilers.sh FOLDER ALL_HEADERS      ALL_HEADERS: a unit that includes every header
set -u
cd "$(dirname "$0")/../.."
folder=$1 unit=$2 mirror=${MIRROR:-http://deb.debian.org/debian}
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || exit 77
mkdir -p "$folder"
folder=$(cd "$folder" && pwd) wrong=0
for suite in trixie:g++-13,g++-14,clang-19 sid:g++-15,g++-16,clang-21,clang-23; do
  root=$folder/${suite%%:*} packages=${suite#*:}
  [ -d "$root/usr/include/c++" ] || debootstrap --variant=minbase --include="zlib1g-dev,$packages" "${suite%%:*}" "$root" "$mirror" \
    >"$folder/log" 2>&1 || { tail -n 3 "$folder/log"; exit 77; }
  rm -rf "$root/locus" && mkdir "$root/locus"
  cp -r include test/headers "$root/locus"
  cp "$unit" "$root/locus/all_headers.cpp"
  for package in $(echo "$packages" | tr , ' '); do
    case $package in clang*) compiler=clang++-${package#clang-} shadow= ;; *) compiler=$package shadow=-Wshadow ;; esac
    for flags in '' -DLOCUS_COMPILED -fsanitize=undefined '-O2 -march=haswell' '-O2 -march=skylake-avx512'; do
      for source in headers/uses.cpp all_headers.cpp; do
        chroot "$root" "$compiler" -std=c++20 -I/locus/include -I/locus/headers -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion \
          $shadow $flags "/locus/$source" >"$folder/log" 2>&1 && [ ! -s "$folder/log" ] && continue
        echo "$compiler $flags $source:"
        head -n 5 "$folder/log"
        wrong=1
      done
    done
  done
done
exit $wrong
