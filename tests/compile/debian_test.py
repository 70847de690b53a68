#!/usr/bin/env python3
"""What debian/ has of the version, the SONAMEs and src/volt.abi is of these sources (tools/debian.py); and each way in
which it could be older, or a file of the install in no package, is refused."""
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
sys.dont_write_bytecode = True
import debian  # noqa: E402

refusals = 0


def refused(words, wrong):
    global refusals
    if not any(words in line for line in wrong):
        sys.exit(f'not refused: {words}: {wrong}')
    refusals += 1


def replace(path, old, new):
    text = path.read_text()
    if old not in text:
        sys.exit(f'{path}: no {old}')
    path.write_text(text.replace(old, new, 1))


def copy_of(scratch, name):
    tree = scratch / name
    (tree / 'include/volt').mkdir(parents=True)
    (tree / 'src').mkdir()
    (tree / 'tools/x/shared').mkdir(parents=True)
    for path in ('include/volt/base.h', 'src/volt.abi', 'tools/x/shared/packages.sh'):
        shutil.copy(ROOT / path, tree / path)
    shutil.copytree(ROOT / 'debian', tree / 'debian')
    return tree


def packages(scratch):
    tree = copy_of(scratch, 'new_package')
    replace(tree / 'debian/control.in', ' libdw-dev,\n', ' libdw-dev,\n libnothing-dev (>= 1),\n')
    refused('wants libnothing-dev', debian.check(tree))


def versions(scratch):
    tree = copy_of(scratch, 'new_function')
    replace(tree / 'src/volt.abi', 'void volt_actor_stop(', 'void volt_actor_stop_all(')
    refused('symbols is not of these sources', debian.check(tree))
    debian.update(tree)
    if debian.check(tree):
        sys.exit(f'--update leaves {debian.check(tree)}')

    tree = copy_of(scratch, 'new_version')
    major, minor, patch = debian.version_of(ROOT)
    replace(tree / 'include/volt/base.h', f'VERSION_MINOR {minor}', f'VERSION_MINOR {int(minor) + 1}')
    wrong = debian.check(tree)
    refused('control is not of', wrong)
    refused('is of another SONAME', wrong)
    refused('debian/changelog begins with', wrong)
    debian.update(tree)
    wrong = debian.check(tree)
    refused('debian/changelog begins with', wrong)  # that is all: a person writes it
    replace(tree / 'debian/changelog', f'({major}.{minor}.{patch})', f'({major}.{int(minor) + 1}.{patch})')
    if len(wrong) != 1 or debian.check(tree):
        sys.exit(f'a new version: {wrong}, {debian.check(tree)}')

    tree = copy_of(scratch, 'by_hand')
    replace(tree / 'debian/control', 'Multi-Arch: same', 'Multi-Arch: no')
    refused('control is not of', debian.check(tree))


def files(scratch):
    tree, installed = copy_of(scratch, 'files'), scratch / 'installed'
    for _, pattern in debian.patterns_of(tree):
        path = installed / pattern.replace('*', '0')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    wrong, _ = debian.check_files(tree, installed)
    if wrong:
        sys.exit(f'each pattern has a file: {wrong}')
    (installed / 'usr/bin/stray').touch()
    refused('usr/bin/stray is installed, and in no package', debian.check_files(tree, installed)[0])
    (tree / 'debian/volt-tools.install').write_text('usr/bin/*\nusr/bin/nothing\n')
    wrong, _ = debian.check_files(tree, installed)
    refused('usr/bin/voltgate is in volt-tools.install, voltgate.install', wrong)
    refused('usr/bin/nothing: nothing of that name', wrong)


def main():
    wrong = debian.check(ROOT)
    if wrong:
        sys.exit('\n'.join(wrong))
    with tempfile.TemporaryDirectory() as scratch:
        packages(pathlib.Path(scratch))
        versions(pathlib.Path(scratch))
        files(pathlib.Path(scratch))
    print(f'debian/ is of these sources; {refusals} refusals')


main()
