#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The reference of locus: every public name with its contract, the guide, the decisions. Doxygen makes it.
#     sh test/tools/reference.sh [FOLDER]      build/reference without it; open FOLDER/html/index.html
set -eu
folder=${1:-build/reference}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/../.."
sh test/tools/install.sh doxygen
(cat test/tools/Doxyfile; echo "OUTPUT_DIRECTORY = \"$folder\"") | doxygen - 2>"$folder/warnings.txt"
echo "$folder/html/index.html"
