#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""consume.py WAY SOURCE_ROOT BUILD_ROOT COMPILER...: installs locus into a temporary folder, builds
and runs the consumer there. WAY: plain, pkg-config, nvcc; meson (as a subproject), meson_cuda, wrap;
cmake (by pkg-config), find_package, cmake_cuda;
add_subdirectory, fetch_content, and cmake_install: find_package of what `cmake --install` put there;
runtime, meson_runtime, cmake_runtime, cmake_runtime_cuda, subdirectory_runtime: the compiled run time, by a unit that
pkg-config names and by the targets of both; the last in a shared library.
Exit code 77 where the machine lacks the tool."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STRICT = ['-std=c++20', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror']


def need(tool):
    if not shutil.which(tool):
        print(f'there is no {tool}')
        sys.exit(77)
    return tool


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f'{" ".join(map(str, command))}\n{(done.stdout + done.stderr)[:4000]}')
    return done.stdout


def install(source, build, folder):
    """What `meson install` puts there: the headers that the list names, and a .pc file."""
    run(need('meson'), 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', folder)
    include = next(folder.rglob('locus/locus.hpp')).parents[1]
    installed = {path.relative_to(include).as_posix() for path in (include / 'locus').rglob('*') if path.is_file()}
    listed = set(re.findall(r"^  '(locus/.*)',$", (source / 'include' / 'meson.build').read_text(), re.M))
    if installed != listed:
        sys.exit(f'installed, and not listed: {sorted(installed - listed)}; '
                 f'listed, and not installed: {sorted(listed - installed)}')
    return include, next(folder.rglob('locus.pc')).parent


def copy_project(source, to):
    """What a subproject needs of locus."""
    for folder in ('include', 'cmake'):
        shutil.copytree(source / folder, to / folder)
    for file in ('meson.build', 'meson_options.txt', 'CMakeLists.txt'):
        shutil.copy(source / file, to)


def main():
    way, source, build = sys.argv[1], *map(pathlib.Path, sys.argv[2:4])
    compiler = [word for word in sys.argv[4:] if not word.endswith('ccache')]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        include, pc = install(source, build, folder / 'installed')
        cuda = way.endswith('cuda')
        environment = dict(os.environ, PKG_CONFIG_PATH=str(pc), PKG_CONFIG_SYSROOT_DIR=str(folder / 'installed'),
                           LOCUS_QUIET='1')
        environment['CUDACXX' if cuda else 'CXX'] = ' '.join(compiler)
        environment['CMAKE_PREFIX_PATH'] = str(include.parent)
        work = folder / 'work'
        project = HERE / f"with_{'find_package' if way == 'cmake_install' else way}"
        shutil.copytree(project if project.is_dir() else HERE, work)
        for file in ('main.cpp', 'kernels.cu'):
            shutil.copy(HERE / file, work)
        exe = work / 'build' / 'consumer'
        exe.parent.mkdir()
        if way == 'plain':
            run(*compiler, *STRICT, '-I', include, work / 'main.cpp', '-o', exe)
        elif way == 'pkg-config':
            flags = run(need('pkg-config'), '--cflags', '--libs', 'locus >= 0.2', env=environment).split()
            run(*compiler, *STRICT, work / 'main.cpp', *flags, '-o', exe)
        elif way == 'runtime':
            flags = run(need('pkg-config'), '--cflags', '--libs', 'locus', env=environment).split()
            unit = run('pkg-config', '--variable=runtime', 'locus', env=environment).strip()
            run(*compiler, '-std=c++20', '-O1', unit, '-c', *flags, '-o', work / 'runtime.o')
            run(*compiler, *STRICT, '-DLOCUS_COMPILED', work / 'main.cpp', work / 'runtime.o', *flags, '-o', exe)
        elif way == 'nvcc':  # no flag but the standard: extended lambdas and the like are the user's affair
            run(*compiler, '-std=c++20', '-arch=sm_90', '-x', 'cu', '-Werror=all-warnings', '-I', include,
                work / 'main.cpp', '-o', exe)
        elif way in ('meson', 'meson_cuda', 'meson_runtime', 'wrap'):
            subprojects = work / 'subprojects'
            if way == 'wrap':
                copy_project(source, folder / 'locus')
                packed = folder / 'locus.tar.gz'
                with tarfile.open(packed, 'w:gz') as tar:
                    tar.add(folder / 'locus', 'locus')
                subprojects.mkdir()
                text = (HERE / 'locus.wrap.in').read_text().replace('@URL@', packed.as_uri())
                digest = hashlib.sha256(packed.read_bytes()).hexdigest()
                (subprojects / 'locus.wrap').write_text(text.replace('@HASH@', digest))
            else:
                copy_project(source, subprojects / 'locus')
            del environment['PKG_CONFIG_PATH']
            if cuda:
                environment['NVCC'] = environment['CUDACXX']
            said = run('meson', 'setup', exe.parent, work, '--wrap-mode=forcefallback', env=environment)
            if 'doctest' in said or ('nvcc' in said and not cuda):
                sys.exit(f'a subproject looks for what only our own build needs:\n{said}')
            run('meson', 'compile', '-C', exe.parent, env=environment)
        elif way in ('cmake', 'find_package', 'cmake_cuda', 'add_subdirectory', 'fetch_content', 'cmake_install', 'cmake_runtime',
                     'cmake_runtime_cuda', 'subdirectory_runtime'):
            if way in ('add_subdirectory', 'fetch_content', 'subdirectory_runtime'):
                copy_project(source, work / 'locus')
            elif way == 'cmake_install':
                run(need('cmake'), '-G', 'Ninja', '-S', source, '-B', folder / 'cmake', env=environment)
                run('cmake', '--install', folder / 'cmake', '--prefix', folder / 'prefix', env=environment)
                environment['CMAKE_PREFIX_PATH'] = str(folder / 'prefix')
            run(need('cmake'), '-G', 'Ninja', '-S', work, '-B', exe.parent,
                *(['-DCMAKE_CUDA_ARCHITECTURES=90'] if cuda else []), env=environment)
            run('cmake', '--build', exe.parent, env=environment)
        printed = run(exe, env=environment).strip()
        if printed != '163':
            sys.exit(f'the consumer prints {printed}')
        print(f'{way}: built and run')


if __name__ == '__main__':
    main()
