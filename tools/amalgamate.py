#!/usr/bin/env python3
"""usage: amalgamate.py DIRECTORY

Writes volt as files to copy: volt.h, volt.c, and volt.hpp for C++. The files of the tree stand in them whole,
each once, behind those that they include; the same tree gives the same bytes.

What the one file asks of the sources, that no two of them call anything alike, is held to by the compiler;
macros of a source end with it.
"""
import re
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
DEFINE = re.compile(r'^\s*#\s*define\s+(\w+)')
UNDEF = re.compile(r'^\s*#\s*undef\s+(\w+)')
OF_THE_WHOLE = ('_GNU_SOURCE', 'VOLT_NO_PLACES')  # what a source defines before it includes: volt.c does, once
MODELS_OWN = 'model_atomic.hpp'  # of tests/model: stays an #include that nothing reaches

RUNTIME = ('task', 'runtime', 'fiber', 'bridge', 'sight')
IO = ('io', 'net', 'permit_client', 'process', 'simulated')
LOOPS = ('epoll', 'uv', 'glib', 'event', 'ev')
SYNC_ROOMS, RUNTIME_ROOMS, IO_ROOMS = ('core', 'sync', 'bcs', 'async'), ('rt', 'sight'), ('io',)


class Refused(Exception):
    """The tree has what cannot be put into one file."""


def comment_of(lines):
    """The lines that are in a comment from their beginning."""
    inside, found = False, set()
    for number, line in enumerate(lines):
        if inside:
            found.add(number)
        text = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        for mark in re.findall(r'/\*|\*/', text):
            inside = mark == '/*'
    return found


class Amalgam:
    """One file to be: its text, and what stands in it."""

    def __init__(self, text, has=()):
        self.text = [text]
        self.files, self.system = set(has), set()

    def put(self, text):
        self.text.append(text)

    @contextmanager
    def section(self, condition):
        """A part that is compiled under a condition: what it brings, nothing behind it can count on."""
        outside = set(self.files), set(self.system)
        self.put(f'\n{condition}\n')
        yield
        self.put(f'\n#endif /* {condition} */\n')
        self.files, self.system = outside

    def add(self, path):
        """A file, behind what it includes at its head."""
        if path in self.files:
            return
        self.files.add(path)
        source = Source(path)
        for number in source.head():
            file = source.file_of(number)
            if file:
                self.add(file)
        self.put(f'\n/* ======== {path.relative_to(ROOT)} ======== */\n\n')
        self.put(''.join(self.lines_of(source)))

    def lines_of(self, source):
        last_empty = True
        for number, line in enumerate(source.lines):
            if number in source.dropped:
                continue
            if number in source.includes:
                text = self.include(source, number)
            else:
                text = line
            if text == '\n' and last_empty:
                continue
            if text:
                last_empty = text == '\n'
                yield text
        for name in source.own_macros():
            yield f'#undef {name}\n'

    def include(self, source, number):
        """What stands for this #include."""
        file, is_conditional = source.file_of(number), number in source.conditional
        if not file:
            return self.include_of_system(source, number, is_conditional)
        if file in self.files:
            return ''
        if number in source.head():
            raise Refused(f'{source.path}: {file} is not there yet')
        inner = Amalgam('', self.files)  # in its place, not behind what is there
        inner.system = set(self.system)
        inner.add(file)
        if not is_conditional:
            self.files, self.system = inner.files, inner.system
        return ''.join(inner.text).lstrip('\n')

    def include_of_system(self, source, number, is_conditional):
        name = source.includes[number]
        if name in self.system:
            return ''
        if not is_conditional:
            self.system.add(name)
        return source.lines[number]


class Source:
    """A file of the tree: which lines include what, under a condition or not, and which are of no use here."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text(encoding='utf-8').splitlines(keepends=True)
        self.comments = comment_of(self.lines)
        self.includes, self.conditional, self.dropped = {}, set(), set()
        self.defined, self.optional = [], set()
        self.first_of_code, self.guard = len(self.lines), None
        self.read()

    def read(self):
        conditions = []
        for number, line in enumerate(self.lines):
            if number in self.comments or not line.strip() or line.lstrip().startswith('/*'):
                continue
            word = re.match(r'\s*#\s*(\w+)', line)
            if not word:
                self.first_of_code = min(self.first_of_code, number)
                continue
            self.read_directive(word[1], number, line, conditions)

    def read_directive(self, word, number, line, conditions):
        if word in ('if', 'ifdef', 'ifndef'):
            unless = re.match(r'\s*#\s*ifndef\s+(\w+)', line)
            conditions.append((number, unless[1] if unless else ''))
            self.look_at_guard(number, line, conditions)
        elif word == 'endif':
            begin, name = conditions.pop()
            if name in OF_THE_WHOLE:
                self.dropped.update(range(begin, number + 1))
        elif word == 'include':
            self.includes[number] = ''.join(filter(None, INCLUDE.match(line).groups()))
            if any(begin != self.guard for begin, _ in conditions):
                self.conditional.add(number)
        elif word == 'define':
            self.read_define(number, line, conditions)
        elif word == 'undef':
            name = UNDEF.match(line)[1]
            self.defined = [n for n in self.defined if n != name]

    def look_at_guard(self, number, line, conditions):
        following = self.lines[number + 1] if number + 1 < len(self.lines) else ''
        name = re.match(r'\s*#\s*ifndef\s+(\w+_(?:H|HPP))$', line)
        if name and len(conditions) == 1 and following.split() == ['#define', name[1]]:
            self.guard = number

    def read_define(self, number, line, conditions):
        name = DEFINE.match(line)[1]
        if name in OF_THE_WHOLE:
            self.dropped.add(number)
        elif any(name == condition for _, condition in conditions):
            self.optional.add(name)  # the person who compiles may have said it
        elif name not in self.defined:
            self.defined.append(name)

    def head(self):
        """Its unconditional includes before the first code."""
        return [n for n in self.includes if n < self.first_of_code and n not in self.conditional]

    def file_of(self, number):
        """The file of the tree that this line includes, or None: one of the system's."""
        line, name = self.lines[number], self.includes[number]
        if name == MODELS_OWN:
            return None
        if '"' in line.split('/*')[0]:
            return (self.path.parent / name).resolve(strict=True)
        if name.startswith('volt/'):
            return (ROOT / 'include' / name).resolve(strict=True)
        return None

    def own_macros(self):
        return [n for n in self.defined if n not in self.optional] if self.path.suffix == '.c' else []


# ---- what the three files say first ----

def version():
    text = (ROOT / 'include/volt/base.h').read_text()
    return '.'.join(re.findall(r'^#define VOLT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$', text, re.M))


def head(name, what):
    licence = (ROOT / 'LICENSE').read_text(encoding='utf-8').strip()
    text = f"""{name}: volt {version()}, {what}

Compile and link:  cc app.c volt.c -pthread

app.c includes "volt.h". Options, the same for volt.c and for all that include volt.h:
  -DVOLT_IO         sockets, files, signals, child processes, too; link with -luring (liburing 2.3 or later)
  -DVOLT_SYNC_ONLY  without the runtime: no tasks that run, no fibers, no dumps
  -DVOLT_SIGHT=1    the holders are known: deadlocks are reported
  -DVOLT_DEBUG=1    that, and checks at each call

It is C11, and for Linux. Written by ./x amalgamate from volt's sources, to be copied and not to be edited.

{licence}"""
    lines = [f' * {line}'.rstrip() for line in text.splitlines()]
    return '/*' + '\n'.join(lines)[2:] + ' */\n'


# ---- the three files ----

def public(name):
    return ROOT / 'include/volt' / name


def of_sync():
    """What the header of libvolt-sync includes; first what all others stand on."""
    source = Source(public('volt.h'))
    return [public('base.h'), *(source.file_of(n) for n in source.head())]


def volt_h():
    out = Amalgam(head('volt.h', 'in two files, with volt.c'), [public('volt.h')])
    out.put('#ifndef VOLT_VOLT_H\n#define VOLT_VOLT_H\n\n'
            '#if defined(VOLT_IO) && defined(VOLT_SYNC_ONLY)\n#error "VOLT_IO needs the runtime"\n#endif\n')
    for path in of_sync():
        out.add(path)
    with out.section('#ifndef VOLT_SYNC_ONLY'):
        for name in RUNTIME:
            out.add(public(f'{name}.h'))
        with out.section('#ifdef VOLT_IO'):
            for name in IO:
                out.add(public(f'{name}.h'))
        for name in LOOPS:
            with out.section(f'#ifdef VOLT_{name.upper()}'):
                out.add(public(f'{name}.h'))
    out.put('\n#endif\n')
    return out


def sources_of(rooms):
    for room in rooms:
        folder = ROOT / 'src' / room
        yield from sorted([*folder.glob('*.c'), *folder.glob('*/*.c')])


def volt_c(header):
    out = Amalgam(head('volt.c', 'in two files, with volt.h'), public_files())
    for name in OF_THE_WHOLE:
        out.put(f'#ifndef {name}\n#define {name}\n#endif\n')
    out.put('#include "volt.h"\n\n'
            '#ifdef __clang__ /* what headers of volt\'s own have for other sources */\n'
            '#pragma clang diagnostic ignored "-Wunused-function"\n#endif\n')
    for path in sources_of(SYNC_ROOMS):
        out.add(path)
    with out.section('#ifndef VOLT_SYNC_ONLY'):
        for path in sources_of(RUNTIME_ROOMS):
            out.add(path)
        with out.section('#ifdef VOLT_IO'):
            for path in sources_of(IO_ROOMS):
                out.add(path)
    return out


def public_files():
    return [*public('').glob('*.h'), *public('').glob('detail/*.h')]


def volt_hpp():
    out = Amalgam(head('volt.hpp', 'the interface in C++17, and coroutines as of C++20, on volt.h'), public_files())
    out.put('#ifndef VOLT_VOLT_IN_ONE_HPP\n#define VOLT_VOLT_IN_ONE_HPP\n\n#include "volt.h"\n\n'
            '#ifdef VOLT_SYNC_ONLY\n#error "volt.hpp needs the runtime"\n#endif\n')
    out.add(public('volt.hpp'))
    out.add(public('std.hpp'))
    with out.section('#ifdef VOLT_IO'):
        out.add(public('io.hpp'))
        out.add(public('permit_client.hpp'))
    with out.section('#ifdef __cpp_impl_coroutine'):
        for path in [*sorted(public('cpp').glob('coro_*.hpp')), public('coro.hpp')]:
            out.add(path)
    out.put('\n#endif\n')
    return out


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith('-'):
        sys.exit('usage: amalgamate.py DIRECTORY')
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    header = volt_h()
    for name, out in (('volt.h', header), ('volt.c', volt_c(header)), ('volt.hpp', volt_hpp())):
        (directory / name).write_text(''.join(out.text), encoding='utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
