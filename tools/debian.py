#!/usr/bin/env python3
"""usage: debian.py [--update | --files ROOT]

What debian/ has of the version, the SONAMEs and src/volt.abi: control, and .install and .symbols of the
libraries, whose packages have the SONAME in their name. This holds those files against the sources, and the
version of debian/changelog against include/volt/base.h.

--update      write them, and remove those of another SONAME; the changelog is written by hand
--files ROOT  below ROOT is what cmake --install has installed, with the prefix /usr: each file is in exactly one
              package, or in debian/not-installed, and each line of these lists names something
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARIES = ('sync', 'rt', 'io', 'cluster', 'tls')
OF_A_LIBRARY = re.compile(r'libvolt-(?:sync|rt|io|cluster|tls)[0-9.]+\.(?:install|symbols)')


def version_of(root):
    parts = re.findall(r'^#define VOLT_VERSION_\w+ (\d+)$', (root / 'include/volt/base.h').read_text(), re.M)
    if len(parts) != 3:
        sys.exit('debian.py: include/volt/base.h has no version')
    return parts


def symbols_of(library, soversion, functions):
    """dpkg-gensymbols(1). A name of a node is there since that node's version; the node of private names, which
    only a library of the same package version may use, is as old as the SONAME."""
    since = {node: node[len('VOLT_'):] if re.fullmatch(r'VOLT_[0-9.]+', node) else soversion
             for node, _ in functions}
    lines = [f'libvolt-{library}.so.{soversion} libvolt-{library}{soversion} #MINVER#',
             '* Build-Depends-Package: libvolt-dev']
    lines += [f' {node}@{node} {since[node]}' for node in sorted(since)]
    lines += [f' {name}@{node} {since[node]}' for node, name in sorted(functions, key=lambda f: (f[1], f[0]))]
    return '\n'.join(lines) + '\n'


def generated(root):
    """{name of a file in debian/: its text}"""
    version = version_of(root)
    soversion = '.'.join(version[:2]) if version[0] == '0' else version[0]
    functions = {library: [] for library in LIBRARIES}
    for line in (root / 'src/volt.abi').read_text().splitlines():
        found = re.match(r'(\w+) +(VOLT_\S+) +.*?\b(volt_\w+)\(', line)
        if found:
            functions[found[1]].append((found[2], found[3]))
        elif not line.startswith('#'):
            sys.exit(f'debian.py: src/volt.abi: {line}')
    files = {'control': (root / 'debian/control.in').read_text().replace('@SO@', soversion)}
    for library in LIBRARIES:
        package = f'libvolt-{library}{soversion}'
        files[f'{package}.install'] = f'usr/lib/*/libvolt-{library}.so.*\n'
        files[f'{package}.symbols'] = symbols_of(library, soversion, functions[library])
    return files


def update(root):
    files = generated(root)
    for path in (root / 'debian').iterdir():
        if OF_A_LIBRARY.fullmatch(path.name) and path.name not in files:
            path.unlink()
    for name, text in files.items():
        (root / 'debian' / name).write_text(text)


def missing_packages(root):
    """What debian/control wants for the build, and ./x deb does not install."""
    listed = subprocess.run(['bash', '-c', '. "$1" && packages_of @deb', 'bash', root / 'tools/x/shared/packages.sh'],
                            capture_output=True, text=True, check=True).stdout.split()
    wanted = re.search(r'^Build-Depends:\n((?: .*\n)+)', (root / 'debian/control.in').read_text(), re.M)
    names = {re.split(r'[ :(<]', line.strip(), maxsplit=1)[0].rstrip(',') for line in wanted[1].splitlines()}
    names = {'debhelper' if name.startswith(('debhelper-compat', 'dh-sequence-')) else name for name in names}
    return sorted(names - set(listed))


def check(root):
    """A line for each thing that is not in order."""
    files, wrong = generated(root), []
    for name, text in files.items():
        path = root / 'debian' / name
        if not path.exists() or path.read_text() != text:
            wrong.append(f'debian/{name} is not of these sources: ./x deb --update')
    for path in sorted((root / 'debian').iterdir()):
        if OF_A_LIBRARY.fullmatch(path.name) and path.name not in files:
            wrong.append(f'debian/{path.name} is of another SONAME: ./x deb --update')
    version, first = '.'.join(version_of(root)), (root / 'debian/changelog').read_text().split('\n')[0]
    if not first.startswith(f'volt ({version}) '):
        wrong.append(f'debian/changelog begins with "{first}", include/volt/base.h says {version}')
    wrong += [f'debian/control.in wants {name}, which ./x deb does not install' for name in missing_packages(root)]
    return wrong


def patterns_of(root):
    """(file in debian/, pattern). A line may have a destination behind the pattern, and a file may be in two
    places of one package."""
    for path in sorted((root / 'debian').iterdir()):
        if path.suffix == '.install' or path.name == 'not-installed':
            for pattern in dict.fromkeys(line.split()[0] for line in path.read_text().splitlines()
                                         if line.strip() and not line.startswith('#')):
                yield path.name, pattern


def check_files(root, installed):
    """The same of what was installed."""
    wrong, owners = [], {str(path.relative_to(installed)): set() for path in installed.rglob('*')
                         if path.is_symlink() or not path.is_dir()}
    for name, pattern in patterns_of(root):
        matches = re.compile(re.escape(pattern).replace(r'\*', '[^/]*') + '(/.*)?')
        found = [path for path in owners if matches.fullmatch(path)]
        for path in found:
            owners[path].add(name)
        if not found:
            wrong.append(f'debian/{name}: {pattern}: nothing of that name is installed')
    for path, lists in sorted(owners.items()):
        if not lists:
            wrong.append(f'{path} is installed, and in no package')
        elif len(lists) > 1:
            wrong.append(f'{path} is in {", ".join(sorted(lists))}')
    return wrong, len(owners)


def main(arguments):
    if arguments == ['--update']:
        update(ROOT)
        wrong, said = check(ROOT), 'written; the changelog has the version, too'
    elif len(arguments) == 2 and arguments[0] == '--files':
        wrong, count = check_files(ROOT, pathlib.Path(arguments[1]))
        said = f'{count} files, each in one package'
    elif not arguments:
        wrong, said = check(ROOT), f'{len(generated(ROOT))} files and the changelog are of these sources'
    else:
        sys.exit(__doc__)
    if wrong:
        sys.exit('\n'.join(wrong))
    print(f'debian: {said}')


if __name__ == '__main__':
    main(sys.argv[1:])
