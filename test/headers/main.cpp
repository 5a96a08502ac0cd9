// SPDX-License-Identifier: Apache-2.0
// Units that hold every header are one program.
int main() {}
