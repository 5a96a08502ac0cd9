#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_mpijob.py FILE: an MPIJob has the fields of kubeflow.org/v2beta1 alone, each of its type, and starts as many
ranks as its workers have slots.

SCHEMA holds the fields that pkg/apis/kubeflow/v2beta1/types.go and common_types.go of github.com/kubeflow/mpi-operator
declare (013fa15b), and of a pod template of Kubernetes (core/v1) those that we may use. The script reads the part of
YAML that the file is written in: maps and lists by indentation, lists in brackets, plain and quoted scalars. It also
changes the file in ways that are wrong, and each must be refused."""
import re
import sys

QUANTITY = re.compile(r'\d+(\.\d+)?([mkKMGTPE]i?)?$')
CONTAINER = {'name': str, 'image': str, 'imagePullPolicy': ('Always', 'IfNotPresent', 'Never'), 'command': [str], 'args': [str],
             'workingDir': str, 'env': [{'name': str, 'value': str}],
             'resources': {'limits': QUANTITY, 'requests': QUANTITY}, 'volumeMounts': [{'name': str, 'mountPath': str}]}
REPLICA = {'replicas': int, 'restartPolicy': ('Never', 'OnFailure', 'Always', 'ExitCode'),
           'template': {'metadata': {'labels': str, 'annotations': str},
                        'spec': {'containers': [CONTAINER], 'nodeSelector': str, 'hostNetwork': bool,
                                 'volumes': [{'name': str, 'emptyDir': {'medium': str}}]}}}
SCHEMA = {'apiVersion': ('kubeflow.org/v2beta1',), 'kind': ('MPIJob',),
          'metadata': {'name': str, 'namespace': str, 'labels': str, 'annotations': str},
          'spec': {'slotsPerWorker': int, 'sshAuthMountPath': str, 'waitForWorkers': bool,
                   'mpiImplementation': ('OpenMPI', 'Intel', 'MPICH'),
                   'runPolicy': {'cleanPodPolicy': ('All', 'Running', 'None'), 'ttlSecondsAfterFinished': int,
                                 'activeDeadlineSeconds': int, 'backoffLimit': int, 'suspend': bool,
                                 'schedulingPolicy': {'minAvailable': int, 'queue': str, 'priorityClass': str,
                                                      'minResources': QUANTITY, 'scheduleTimeoutSeconds': int}},
                   'mpiReplicaSpecs': {'Launcher': REPLICA, 'Worker': REPLICA}}}
MAPS_OF_NAMES = ('labels', 'annotations', 'nodeSelector', 'limits', 'requests', 'minResources')
NEEDED = {'': ('apiVersion', 'kind', 'metadata', 'spec'), '.metadata': ('name',), '.spec': ('mpiReplicaSpecs',),
          '.spec.mpiReplicaSpecs': ('Launcher', 'Worker')}


def scalar(text):
    if text[:1] in '"\'' and text[:1]:
        if len(text) < 2 or text[-1] != text[0] or text[0] in text[1:-1] or '\\' in text:
            raise ValueError(f'a quoted text that this script does not read: {text}')
        return text[1:-1]
    if text.startswith('['):
        if not text.endswith(']'):
            raise ValueError(f'a list without its end: {text}')
        return [scalar(one) for one in re.findall(r'"[^"]*"|\'[^\']*\'|[^,\s][^,]*', text[1:-1])]
    if re.match(r'[{&*!|>%@`]', text) or ': ' in text or ' #' in text:
        raise ValueError(f'YAML that this script does not read: {text}')
    if re.fullmatch(r'-?\d+', text):
        return int(text)
    return {'true': True, 'false': False}.get(text, text)


def block(lines, indent):
    """the value whose lines stand at that indentation; lines: (indentation, text), removed as they are read"""
    is_list, value = lines[0][1].startswith('- '), None
    value = [] if is_list else {}
    while lines and lines[0][0] == indent and lines[0][1].startswith('- ') == is_list:
        _, text = lines.pop(0)
        if is_list:
            lines.insert(0, (indent + 2, text[2:].strip()))
            value.append(block(lines, indent + 2) if re.match(r'[\w./-]+:( |$)', text[2:]) else scalar(lines.pop(0)[1]))
            continue
        found = re.match(r'([\w./-]+):(?: +(.*))?$', text)
        if not found or found[1] in value:
            raise ValueError(f'no field, or one that is there twice: {text}')
        deeper = lines and (lines[0][0] > indent or (lines[0][0] == indent and lines[0][1].startswith('- ')))
        value[found[1]] = scalar(found[2]) if found[2] else block(lines, lines[0][0]) if deeper else ''
    if lines and lines[0][0] > indent:
        raise ValueError(f'an indentation that fits nothing: {lines[0][1]}')
    return value


def read(text):
    lines = [(len(line) - len(line.lstrip(' ')), line.strip()) for line in text.splitlines()
             if line.strip() and not line.lstrip().startswith('#')]
    value = block(lines, 0)
    if lines:
        raise ValueError(f'a line that fits nothing: {lines[0][1]}')
    return value


def faults_of(value, schema, path=''):
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f'{path} is no map']
        return [f'{path} lacks {name}' for name in NEEDED.get(path, ()) if name not in value] + [
            fault for name, one in value.items()
            for fault in ([f'{path}.{name} is no field'] if name not in schema else faults_of(one, schema[name], f'{path}.{name}'))]
    if path.rpartition('.')[2] in MAPS_OF_NAMES and isinstance(value, dict):
        return [fault for name, one in value.items() for fault in faults_of(one, schema, f'{path}[{name}]')]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f'{path} is no list']
        return [fault for k, one in enumerate(value) for fault in faults_of(one, schema[0], f'{path}[{k}]')]
    if isinstance(schema, tuple):
        return [] if value in schema else [f'{path} is {value!r}, not one of {", ".join(schema)}']
    if isinstance(schema, re.Pattern):
        return [] if schema.match(str(value)) else [f'{path} is {value!r}, which is no quantity']
    return [] if type(value) is schema else [f'{path} is {value!r}, which is no {schema.__name__}']


def faults_of_job(text):
    try:
        job = read(text)
    except ValueError as error:
        return [str(error)]
    faults = faults_of(job, SCHEMA)
    if faults:
        return faults
    spec = job['spec']
    launcher, worker = spec['mpiReplicaSpecs']['Launcher'], spec['mpiReplicaSpecs']['Worker']
    containers = [one for part in (launcher, worker) for one in part['template']['spec']['containers']]
    if any('name' not in one or 'image' not in one for one in containers) or len(containers) < 2:
        faults.append('a container lacks its name or its image')
    if launcher.get('replicas', 1) != 1:
        faults.append('there is one launcher')
    command = containers[0].get('command', []) + containers[0].get('args', [])
    ranks = int(command[command.index('-n') + 1]) if '-n' in command else None
    slots = spec.get('slotsPerWorker', 1) * worker.get('replicas', 0)
    if ranks != slots:
        faults.append(f'mpirun starts {ranks} ranks, and the workers have {slots} slots')
    return faults


WRONG = (('slotsPerWorker: 1', 'slotsPerWorker: 2'), ('slotsPerWorker: 1', 'slots: 1'), ('replicas: 4', 'replicas: "4"'),
         ('replicas: 1', 'replicas: 2'), ('v2beta1', 'v1'), ('cleanPodPolicy: Running', 'cleanPodPolicy: Never'),
         ('Worker:', 'Workers:'), ('"4"', '4'), ('image: ', 'images: '), ('gpu: 1', 'gpu: one'),
         ('  runPolicy:', '  cleanPodPolicy: None\n  runPolicy:'), ('- name: worker', '- title: worker'),
         ('restartPolicy: OnFailure', 'restartPolicy: Sometimes'))


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        text = file.read()
    faults = faults_of_job(text)
    for right, wrong in WRONG:
        if right not in text:
            faults.append(f'the file has no {right!r}, which this script would change')
        elif not faults_of_job(text.replace(right, wrong)):
            faults.append(f'{wrong!r} in place of {right!r} is not refused')
    print(*faults, f'{len(faults)} wrong', sep='\n')
    return len(faults) > 0


if __name__ == '__main__':
    sys.exit(main())
