#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_training.py EXE: the main job reaches 0.87 test accuracy within 10 epochs on 1, 2 and 4
replicas, and they agree within 0.005. Skipped (77) where the dataset is not installed."""
import os
import re
import subprocess
import sys

EPOCH = re.compile(r'^epoch +(\d+)  loss (\S+)  accuracy (\S+)  test accuracy (\S+)  (\d+) images/s$', re.M)


def train(replicas):
    ran = subprocess.run([sys.argv[1], str(replicas)], capture_output=True, text=True)
    print(ran.stdout, ran.stderr, sep='')
    if 'no dataset' in ran.stderr and not os.path.isdir('/usr/share/datasets/fashion-mnist'):
        sys.exit(77)
    epochs = EPOCH.findall(ran.stdout)
    plan = ran.stdout.startswith('plan under') and '1 all-reduce (' in ran.stdout
    if ran.returncode or len(epochs) != 10 or not plan:
        sys.exit(f'{replicas} replicas: exit status {ran.returncode}, {len(epochs)} epochs, plan printed: {plan}')
    losses = [float(e[1]) for e in epochs]
    if losses[-1] > 0.6 * losses[0]:
        sys.exit(f'{replicas} replicas: the loss went from {losses[0]} to {losses[-1]} only')
    return float(epochs[-1][3])


final = {replicas: train(replicas) for replicas in (1, 2, 4)}
print('test accuracy after 10 epochs:', final)
if min(final.values()) < 0.87:
    sys.exit('below 0.87')
if max(final.values()) - min(final.values()) > 0.005:
    sys.exit('the replica counts differ by more than 0.005')
