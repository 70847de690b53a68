#!/usr/bin/env python3
"""usage: abi.py [--update]

What the libraries export, by name, library, version node and type, is in src/volt.abi. This holds
that list against the declarations in the headers (VOLT_API, VOLT_INLINE), the symbol maps
src/volt-*.map against the list, and the type of each function, as compilers see it, against the
list. exports.sh holds the libraries against it. include/volt/volt.h has to include all headers of
libvolt-sync, each with its first line.

--update  write the list, the maps and volt.h from the headers; a name keeps the node it is in, a new
          one comes into that of the present version
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = 'src/volt.abi'
HEADERS = {'rt': ('bridge.h', 'task.h', 'runtime.h', 'fiber.h', 'sight.h'),
           'io': ('io.h', 'net.h', 'permit_client.h', 'process.h', 'simulated.h'),
           'cluster': ('cluster.h', 'cluster_backend.h', 'ensemble.h'),
           'tls': ('tls.h',)}
FOREIGN = ('uv.h', 'glib.h', 'event.h', 'ev.h', 'epoll.h')  # of no library: each needs another's headers
PRIVATE = 'VOLT_PRIVATE'  # the node of what a library takes from the internal headers of another
LIBRARIES = ('sync', 'rt', 'io', 'cluster', 'tls')
ROOMS = {'rt': 'rt', 'sight': 'rt', 'io': 'io', 'cluster': 'cluster', 'tls': 'tls'}  # all others: libvolt-sync
LIST_HEAD = '''\
# What the libraries export: library, version node, function with its type. Written by ./x abi --update,
# held against the headers, the symbol maps and the libraries by the tests. A name never leaves its
# node. A name that ends in an underscore is private: inline functions of the headers call it, or, in
# the node VOLT_PRIVATE, another library of the same version does.
'''
UMBRELLA = 'include/volt/volt.h'
UMBRELLA_HEAD = '''\
/* volt.h: fair waiting for threads, tasks and event loops: all of libvolt-sync in one header
 *
'''
UMBRELLA_NOTE = '/* Written by ./x abi --update. */\n'
MAP_HEAD = '/* What libvolt-%s exports. Written by ./x abi --update, from volt.abi. */\n'
DECLARATION = re.compile(r'^VOLT_(?:API|INLINE)\s+([^;{]*?\b(volt_\w+)\s*\([^;{]*\))\s*[;{]', re.M)
ATTRIBUTE = re.compile(r'\b(VOLT_NODISCARD|VOLT_NORETURN|VOLT_NOINLINE)\s+|'
                       r'\s*\bVOLT_PRINTF_\([^)]*\)')


class Function:
    def __init__(self, library, node, name, text):
        self.library, self.node, self.name, self.text = library, node, name, text

    def __str__(self):
        return f'{self.library:<4}  {self.node:<12}  {self.text}'


def without_comments(text):
    return re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)


def split_arguments(text):
    """At the commas that are in no brackets."""
    arguments, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == '(') - (c == ')')
        if c == ',' and depth == 0:
            arguments.append(text[start:i])
            start = i + 1
    return [a.strip() for a in arguments + [text[start:]]]


def without_name(argument):
    """int n -> int; void (*fn)(void *arg) -> void (*)(void *)"""
    pointer = re.fullmatch(r'(.*?)\(\*(\w*)\)\((.*)\)', argument)
    if pointer:
        return f'{pointer[1]}(*)({types_of(pointer[3])})'
    if argument in ('void', '...'):
        return argument
    return re.sub(r'(?<=[\s*])\w+$', '', argument).strip()


def types_of(arguments):
    return ', '.join(without_name(a) for a in split_arguments(arguments))


def declared_in(path, library, node):
    text = without_comments(path.read_text())
    for declaration, name in DECLARATION.findall(text):
        declaration = ' '.join(ATTRIBUTE.sub('', declaration).split())
        result, arguments = declaration.split(name, 1)
        yield Function(library, node, name, f'{result}{name}({types_of(arguments[1:-1])})')


def version_node(root):
    base = (root / 'include/volt/base.h').read_text()
    number = [re.search(rf'define VOLT_VERSION_{part} (\d+)', base)[1] for part in ('MAJOR', 'MINOR')]
    return 'VOLT_' + '.'.join(number)


def library_of(header):
    """All headers that are not named are those of libvolt-sync."""
    if header in FOREIGN:
        return None
    return next((library for library in HEADERS if header in HEADERS[library]), 'sync')


def declared(root):
    """Every function that the headers declare as exported, by file."""
    node = version_node(root)
    found = []
    for path in sorted((root / 'include/volt').rglob('*.h')):
        found += declared_in(path, library_of(path.name), node)
    for path in sorted((root / 'src').rglob('*.h')):
        found += declared_in(path, ROOMS.get(path.relative_to(root / 'src').parts[0], 'sync'), PRIVATE)
    return sorted(found, key=lambda f: (LIBRARIES.index(f.library), f.node == PRIVATE, f.name))


def listed(root):
    functions = []
    for line in (root / LIST).read_text().splitlines():
        if line and not line.startswith('#'):
            library, node, text = line.split(None, 2)
            functions.append(Function(library, node, re.search(r'\b(volt_\w+)\(', text)[1], text))
    return functions


def expected(root):
    """The list as it should be: the headers' functions, those that are known in their old nodes."""
    old = {f.name: f for f in listed(root)} if (root / LIST).exists() else {}
    functions = declared(root)
    for f in functions:
        if f.name in old and PRIVATE not in (f.node, old[f.name].node):
            f.node = old[f.name].node
    return functions


def list_text(functions):
    return LIST_HEAD + ''.join(f'{f}\n' for f in functions)


def map_text(library, functions):
    """Later nodes stand on earlier ones; what is private stands alone."""
    mine = [f for f in functions if f.library == library]
    public = sorted({f.node for f in mine if f.node != PRIVATE},
                    key=lambda node: [int(n) for n in re.findall(r'\d+', node)])
    text, below = MAP_HEAD % library, ''
    for node in public + [PRIVATE] * any(f.node == PRIVATE for f in mine):
        names = ''.join(f'    {f.name};\n' for f in mine if f.node == node)
        local = '\n  local:\n    *;\n' if node == public[0] else ''
        text += f'{node} {{\n  global:\n{names}{local}}}{below if node != PRIVATE else ""};\n'
        below = f' {node}'
    return text


def umbrella_text(root):
    """volt.h: what every header says of itself in its first line, and the header."""
    text, includes = UMBRELLA_HEAD, ''
    for path in sorted((root / 'include/volt').glob('*.h')):
        if path.name != 'volt.h' and library_of(path.name) == 'sync':
            about = re.match(r'/\* ' + path.name + r': (.*[^.])\.?\n', path.read_text())
            text += f' * - {path.name}: {about[1] if about else "?"}\n'
            includes += f'#include "{path.name}"\n'
    guard = 'VOLT_VOLT_H'
    return f'{text[:-1]} */\n{UMBRELLA_NOTE}#ifndef {guard}\n#define {guard}\n\n{includes}\n#endif\n'


def unused_private(root, functions):
    """Private names in a public node that no header uses: nothing outside the library needs them."""
    headers = ' '.join(without_comments(p.read_text()) for p in (root / 'include/volt').rglob('*.h*'))
    return [f.name for f in functions if f.name.endswith('_') and f.node != PRIVATE
            and len(re.findall(rf'\b{f.name}\b', headers)) < 2]


def unmarked_private(functions):
    return [f.name for f in functions if f.node == PRIVATE and not f.name.endswith('_')]


def pointers(functions):
    """Compiles if every function of the public headers has the type that the list gives it."""
    own = [h for headers in HEADERS.values() for h in headers if (ROOT / 'include/volt' / h).exists()]
    lines = [f'#include <volt/{header}>' for header in own + ['volt.h']]
    for f in functions:
        if f.node != PRIVATE:
            pointer = f.text.replace(f.name + '(', f'(*const abi_{f.name})(', 1)
            lines += [f'extern {pointer};', f'{pointer} = {f.name};']
    return '\n'.join(lines) + '\n'


def compiles(compiler, language, standard, text):
    command = [compiler, '-x', language, f'-std={standard}', '-Wall', '-Wextra', '-Wpedantic', '-Werror',
               f'-I{ROOT}/include', '-fsyntax-only', '-']
    return subprocess.run(command, input=text, text=True, capture_output=True)


def compile_types(functions):
    """How many compilers have seen that the types are those of the list, and that another is not."""
    another = [Function(f.library, f.node, f.name, f.text.replace('uint64_t)', 'uint32_t)'))
               for f in functions]
    compilers = 0
    for compiler, language, standard in ((os.environ.get('CC', 'cc'), 'c', 'c11'),
                                         (os.environ.get('CXX', 'c++'), 'c++', 'c++17')):
        if shutil.which(compiler):
            run = compiles(compiler, language, standard, pointers(functions))
            if run.returncode != 0:
                sys.exit(f'a function has not the type in {LIST}:\n{run.stderr}')
            if compiles(compiler, language, standard, pointers(another)).returncode == 0:
                sys.exit(f'{compiler} takes a function for one of another type')
            compilers += 1
    return compilers


def problems(root):
    """What is wrong with the tree, in words."""
    if not (root / LIST).exists():
        return [f'there is no {LIST}']
    wrong = []
    want, have = expected(root), listed(root)
    want_lines, have_lines = {str(f) for f in want}, {str(f) for f in have}
    wrong += [f'in the headers, not in {LIST}: {line}' for line in sorted(want_lines - have_lines)]
    wrong += [f'in {LIST}, not in the headers: {line}' for line in sorted(have_lines - want_lines)]
    if not wrong and (root / LIST).read_text() != list_text(want):
        wrong.append(f'{LIST} is not as ./x abi --update writes it')
    for library in LIBRARIES:
        if (root / f'src/volt-{library}.map').read_text() != map_text(library, have):
            wrong.append(f'src/volt-{library}.map is not what {LIST} says')
    if (root / UMBRELLA).read_text() != umbrella_text(root):
        wrong.append(f'{UMBRELLA} is not what the first lines of the headers say')
    wrong += [f'private, but no header uses it: {name}' for name in unused_private(root, want)]
    wrong += [f'in {PRIVATE} without an underscore: {name}' for name in unmarked_private(want)]
    return wrong


def must_be_found(words, path, old, new):
    """Break a copy of the tree: problems() has to say so in these words."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch)
        subprocess.run(['cp', '-r', ROOT / 'include', ROOT / 'src', copy], check=True)
        text = (copy / path).read_text()
        if old not in text:
            sys.exit(f'abi.py: cannot try "{words}": no {old!r} in {path}')
        (copy / path).write_text(text.replace(old, new, 1))
        if words not in '\n'.join(problems(copy)):
            sys.exit(f'abi.py: this is not found: {words}')


def prove_that_it_fails():
    latch, wait = 'include/volt/latch.h', 'VOLT_API VOLT_NODISCARD int volt_latch_wait_until('
    changed = 'in the headers, not in src/volt.abi: sync  VOLT_0.1      '
    gone = 'in src/volt.abi, not in the headers: sync  VOLT_0.1      '
    must_be_found(changed + 'long volt_latch_wait_until(volt_latch *, uint64_t)', latch, wait,
                  wait.replace(' int ', ' long '))
    must_be_found(gone + 'int volt_latch_wait_until', latch, wait, wait.replace('VOLT_API', ''))
    must_be_found(changed + 'void volt_latch_new(volt_latch *)', latch, wait,
                  'VOLT_API void volt_latch_new(volt_latch *l);\n' + wait)
    must_be_found('no header uses it: volt_latch_new_', latch, wait,
                  'VOLT_API void volt_latch_new_(volt_latch *l);\n' + wait)
    must_be_found('src/volt-sync.map is not', 'src/volt-sync.map', '    volt_latch_wait;\n', '')
    must_be_found('volt.h is not', UMBRELLA, '#include "latch.h"\n', '')
    for library in ('rt', 'io'):
        must_be_found(f'src/volt-{library}.map is not', LIST, f'{library}    VOLT_0.1 ',
                      f'{library}    VOLT_0.0 ')
    private = 'volt_driver_ *volt_rt_driver_(volt_rt *rt);'
    must_be_found('not in src/volt.abi: rt    VOLT_PRIVATE  volt_driver_ *volt_rt_driver_new_',
                  'src/rt/host/driver.h', f'VOLT_API {private}',
                  'VOLT_API volt_driver_ *volt_rt_driver_new_(volt_rt *rt);')


def main():
    how = sys.argv[1:]
    if how == ['--update']:
        functions = expected(ROOT)
        (ROOT / LIST).write_text(list_text(functions))
        (ROOT / UMBRELLA).write_text(umbrella_text(ROOT))
        for library in LIBRARIES:
            (ROOT / f'src/volt-{library}.map').write_text(map_text(library, functions))
        print(f'{len(functions)} functions')
    elif not how:
        wrong = problems(ROOT)
        if wrong:
            sys.exit('\n'.join(wrong + ['./x abi --update writes the list, the maps and volt.h anew']))
        prove_that_it_fails()
        functions = listed(ROOT)
        compilers = compile_types(functions)
        private = sum(f.name.endswith('_') for f in functions)
        print(f'{len(functions)} functions, {private} of them private; types seen by {compilers} compilers')
    else:
        sys.exit(__doc__)


main()
