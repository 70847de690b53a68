#!/usr/bin/env python3
"""usage: misuse.py [rows]...

What a compiler sees of a mistake: each row is compiled with and without the
mistake by each compiler, as C11 and as C++17, and the message has the words that say why.

unawaited  each function of src/volt.abi that returns a future, and those of VOLT_CHAN_DECLARE: as a
           statement it warns, and with volt_future_made() around it does not
first      VOLT_TASK_NEW of a struct whose task is not its first member
zeroed     each type with an init() in src/volt.abi is in tests/unit/core/zeroed_test.c
locals     the flags that find a local variable that does not survive an await
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILERS = [c for c in (('gcc', 'c', 'c11'), ('clang', 'c', 'c11'), ('g++', 'c++', 'c++17'),
                         ('clang++', 'c++', 'c++17')) if shutil.which(c[0])]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow']
HEADERS = {'sync': ('volt.h',), 'rt': ('runtime.h', 'task.h'), 'io': ('io.h', 'net.h', 'permit_client.h', 'process.h'),
           'cluster': ('cluster.h',), 'tls': ('tls.h',)}
CONSTRUCTOR = re.compile(r'^(\w+)\s+VOLT_\S+\s+volt_future \*(volt_\w*[a-z0-9])\((.*)\)$', re.M)


def messages(compiler, source, *flags):
    """What the compiler says; an error that is no warning ends the test."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, 'source')
        path.write_text(source, encoding='utf-8')
        run = subprocess.run([compiler[0], '-x', compiler[1], f'-std={compiler[2]}', *WARNINGS, *flags,
                              f'-I{ROOT}/include', '-c', '-o', f'{scratch}/object', path], text=True,
                             stderr=subprocess.PIPE, env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'})
    return run.returncode, run.stderr


def refuse(compiler, what, text):
    sys.exit(f'{compiler[0]}: {what}:\n' + '\n'.join(text.splitlines()[:20]))


# ---- unawaited ----

def split(types):
    """At the commas that are in no brackets."""
    depth, parts = 0, ['']
    for c in types:
        depth += (c == '(') - (c == ')')
        if c == ',' and depth == 0:
            parts.append('')
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def constructors():
    """Name, headers, parameters of each."""
    abi = (ROOT / 'src/volt.abi').read_text(encoding='utf-8')
    found = [(name, HEADERS[library], split(types)) for library, name, types in CONSTRUCTOR.findall(abi)]
    headers = ''.join(p.read_text(encoding='utf-8') for p in (ROOT / 'include/volt').glob('*.h'))
    for generated in re.findall(r'volt_future \*name##(\w+)\(', headers):
        kind = 'const int' if 'send' in generated else 'int'
        found.append((f'ints{generated}', ('volt.h',), ['volt_future *', 'ints *', f'{kind} *']))
    return found


def unawaited_source(found, form):
    lines = [f'#include <volt/{h}>' for h in sorted({h for _, headers, _ in found for h in headers})]
    lines.append('VOLT_CHAN_DECLARE(ints, int);')
    for name, _, types in found:
        parameters = ', '.join(f'__typeof__({t}) a{i}' for i, t in enumerate(types))
        call = f'{name}({", ".join(f"a{i}" for i in range(len(types)))})'
        lines.append(f'void use_{name}({parameters});')
        lines.append(f'void use_{name}({parameters}) {{')
        lines += [f'{form.format(call)};', '}']
    return '\n'.join(lines + [''])


def unawaited():
    found = constructors()
    assert len(found) > 60, 'the list is not read'
    for compiler in COMPILERS:
        source = unawaited_source(found, '{}')
        code, said = messages(compiler, source)
        warned = [source.splitlines()[int(line) - 1]
                  for line in re.findall(r':(\d+):\d+: warning: ignoring return value', said)]
        silent = [name for name, _, _ in found if not any(w.startswith(f'{name}(') for w in warned)]
        if code != 0 or silent:
            refuse(compiler, f'no warning of a statement that only makes a future, by {silent}', said)
        code, said = messages(compiler, unawaited_source(found, 'volt_future_made({})'), '-Werror')
        if code != 0:
            refuse(compiler, 'volt_future_made() is not enough', said)
    print(f'{len(found)} constructors')


# ---- first ----

FIRST = '''#include <volt/task.h>
struct run {{ {} }};
int poll_it(volt_task *t, volt_ctx *ctx);
struct run *make(volt_rt *rt);
struct run *make(volt_rt *rt) {{ return VOLT_TASK_NEW(rt, struct run, poll_it); }}
'''


def first():
    for compiler in COMPILERS:
        code, said = messages(compiler, FIRST.format('volt_task task; int bytes;'), '-Werror')
        if code != 0:
            refuse(compiler, 'does not compile a task that is first', said)
        code, said = messages(compiler, FIRST.format('int bytes; volt_task task;'))
        if code == 0 or 'the first member of the struct is not' not in said:
            refuse(compiler, 'does not say that the task must be first', said)


# ---- zeroed ----

def zeroed():
    abi = (ROOT / 'src/volt.abi').read_text(encoding='utf-8')
    test = (ROOT / 'tests/unit/core/zeroed_test.c').read_text(encoding='utf-8')
    types = set(re.findall(r' (volt_\w+?)_init\w*\(\1 \*', abi)) - {'volt_fd', 'volt_tls', 'volt_permit_client'}  # all-zero: closed
    assert len(types) > 25, 'the list is not read'
    missing = [t for t in sorted(types) if not re.search(rf'^  {t} (\w+);$', test, re.M)]
    if missing:
        sys.exit(f'tests/unit/core/zeroed_test.c does not say what is of an all-zero {", ".join(missing)}')
    print(f'{len(types)} types')


# ---- locals ----

LOCALS = '''#include <volt/task.h>
#include <volt/semaphore.h>
struct run {{ volt_task task; volt_future permit; volt_sem *pool; int kept; }};
int use(int number);
int poll_it(volt_task *t, volt_ctx *ctx);
int poll_it(volt_task *t, volt_ctx *ctx) {{
  struct run *self = volt_container_of(t, struct run, task);
  VOLT_TASK_BEGIN(self);
  {}
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, self->pool, 1));
  {}
  VOLT_TASK_END(self);
}}
'''
# In C++ it is an error without any flag: a jump into the scope of a variable.
FLAGS = {'gcc': ('-Wjump-misses-init', 'jump-misses-init'),
         'clang': ('-Wconditional-uninitialized', 'uninitialized'),
         'g++': ('', 'jump to|crosses init'), 'clang++': ('', 'jump|bypasses')}


def locals_():
    for compiler in COMPILERS:
        flag, words = FLAGS[compiler[0]]
        flags = [flag] if flag else []
        code, said = messages(compiler, LOCALS.format('self->kept = use(1);', 'self->kept = use(self->kept);'),
                              '-Werror', *flags)
        if code != 0:
            refuse(compiler, 'does not take a variable in the struct', said)
        for level in ('-O0', '-O2'):
            _, said = messages(compiler, LOCALS.format('int lost = use(1);', 'self->kept = use(lost);'),
                               level, *flags)
            if not re.search(words, said):
                refuse(compiler, f'{level} {flag} does not see a local variable across an await', said)


ROWS = {'unawaited': unawaited, 'first': first, 'zeroed': zeroed, 'locals': locals_}
if not COMPILERS:
    sys.exit(77)
for row in sys.argv[1:] or ROWS:
    ROWS[row]()
print(f'{len(COMPILERS)} compilers')
