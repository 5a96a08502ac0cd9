#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_state.py LIBRARY: every variable of locus in a library with hidden visibility that can change
is exported (LOCUS_SHARED_STATE), so that the process has it once. Exit code 77 where the machine
lacks objdump."""
import re
import shutil
import subprocess
import sys

# what each library may keep for itself
OWN = re.compile(r'''guard\ variable
  |mode_k                                          # of one mode: found kernels, plans, what was said
  |::is_quiet\(\)|::physical_memory\(\)|::default_threads\(\)|::thread_count\(\)  # answers that do not change
  |find_peer\(.*::wanted|path_of_process|::cblas\(\)::table
  |names_a_gpu<true>::registered                   # each library enters the same table
  |simulated::fake_nccl''', re.X)


def main():
    if not shutil.which('objdump'):
        sys.exit(77)

    def symbols(option):
        text = subprocess.run(['objdump', option, '-C', '-w', sys.argv[1]], capture_output=True, text=True, check=True)
        found = set()
        for line in text.stdout.splitlines():
            # address, flags, section, size, (visibility,) name
            if part := re.match(r'^[0-9a-f]+ .{7} (\.t?(?:bss|data))\s+[0-9a-f]+\s+(?:\.hidden |Base\s+)?(.*)$', line):
                if 'locus::' in part[2]:
                    found.add(part[2].strip())
        return found
    exported = symbols('-T')
    kept = sorted(name for name in symbols('-t') - exported if not OWN.search(name))
    for name in kept:
        print(f'{name}: each library has its own; write LOCUS_SHARED_STATE in front of it (or of its function)')
    print(f'{len(exported)} variables are shared, {len(kept)} should be')
    sys.exit(1 if kept or not exported else 0)


if __name__ == '__main__':
    main()
