#!/usr/bin/env python3
"""The files of ./x amalgamate: the same bytes each time, and nothing of the tree is missing. They compile without a
warning, in each language and with each option that their heads name, for glibc, musl and 32 bits; threads alone run.
What docs/two-files.md says, install.two_files does.

Code of volt that is compiled as one must not keep the address of a variable of a thread over a wait, after which a
fiber is on another thread: only functions that are never inlined have such an address. The quick form looks at what
gcc makes of all below the runtime; the long form at all, by each compiler that is here, and compiles each unit test
behind volt.h. All that is on x86-64, which reads the counters' variables of a thread without an address.
"""
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import fiber_switch  # noqa: E402, beside this file

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'tools/amalgamate.py'
NAMES = ('volt.h', 'volt.c', 'volt.hpp')
EXAMPLE = ROOT / 'examples/04_task.c'
READS_WITHOUT = os.uname().machine == 'x86_64'  # an address
WHOLE = fiber_switch.WHOLE
STRICT = ('-Wall', '-Wextra', '-Werror')
ROOMS = ('core', 'sync', 'bcs', 'async', 'rt', 'sight', 'io')
OF_OTHERS = {'cluster.h', 'cluster_backend.h', 'ensemble.h', 'tls.h'}
# The functions that may have the address of a variable of a thread. Those of sight's own thread, and of a worker's
# signal handler, wait in no fiber.
ASKS = re.compile(r'volt_thread_\w+|volt_party_slot_|volt_wait_times_begin_|locals_after_fork'
                  r'|(volt_)?(sight|stack_report)_\w+|volt_dump_on_signal')

SEMAPHORE = '''
#include "volt.h"
int main(void) {
  volt_sem sem = VOLT_SEM_INIT(1);
  if (volt_sem_acquire_until(&sem, 1, VOLT_NO_DEADLINE) != VOLT_OK) return 1;
  return volt_sem_acquire_until(&sem, 1, volt_deadline_ms(1)) == VOLT_ETIMEDOUT ? 0 : 2;
}
'''

CHANNEL = '''
#include "volt.hpp"
#include <thread>
int main() {
  volt::channel<int> numbers(8);
  std::thread sender([&] {
    for (int i = 1; i <= 100; i++) numbers.send(i).wait();
    numbers.close();
  });
  int sum = 0;
  for (int number : numbers) sum += number;
  sender.join();
  return sum == 5050 ? 0 : 1;
}
'''


def run(*command, **keywords):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **keywords)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def write(directory):
    run(sys.executable, '-B', SCRIPT, directory, cwd=directory.parent)
    return {name: (directory / name).read_bytes() for name in NAMES}


# ---- the text ----

def parts_of(text):
    return re.findall(r'^/\* ======== (\S+) ======== \*/$', text, re.M)


def check_text(files):
    version = (ROOT / 'include/volt/base.h').read_text()
    numbers = '.'.join(re.findall(r'^#define VOLT_VERSION_\w+ (\d+)$', version, re.M))
    licence = (ROOT / 'LICENSE').read_text().split()
    for name, text in files.items():
        head = text.decode().split('*/')[0]
        words = head.replace('*', ' ').split()
        for wanted in (f'volt {numbers},', 'cc app.c volt.c -pthread'):
            if wanted not in head:
                sys.exit(f'{name} does not begin with "{wanted}"')
        if licence != words[-len(licence):]:
            sys.exit(f'{name} does not begin with the licence')
    check_parts('volt.h', files, [p for p in (ROOT / 'include/volt').glob('**/*.h')
                                  if p.name not in OF_OTHERS and p != ROOT / 'include/volt/volt.h'])
    check_parts('volt.hpp', files, [p for p in (ROOT / 'include/volt').glob('**/*.hpp')
                                    if not p.name.startswith(('asio', 'tls'))])  # those stand on others'
    check_parts('volt.c', files, [p for room in ROOMS for p in (ROOT / 'src' / room).glob('**/*.[ch]')],
                twice={'src/rt/fiber/fiber_switch_ucontext.h'})


def check_parts(name, files, wanted, twice=()):
    found = parts_of(files[name].decode())
    again = {part for part in found if found.count(part) > 1} - set(twice)
    missing = {str(p.relative_to(ROOT)) for p in wanted} ^ set(found)
    if again or missing:
        sys.exit(f'{name}: more than once: {sorted(again)}; not in it, or of no room: {sorted(missing)}')


# ---- compilers ----

@functools.cache
def is_here(*compiler):
    """Whether it makes programs here."""
    return shutil.which(compiler[0]) is not None and subprocess.run(
        [*compiler, '-pthread', '-x', 'c', '-', '-o', '/dev/null'], input='#include <errno.h>\nint main(void) {}\n',
        text=True, capture_output=True).returncode == 0


def looks_at(directory):
    """Each way to say what is wrong, without code: the language, the options, the system."""
    uring = has_liburing()
    ways = [('clang -std=c11', 'volt.c', '-DVOLT_SYNC_ONLY'),
            ('clang -std=c2x', 'volt.c', '-DVOLT_EPOLL', *uring), ('g++ -std=c++17', 'volt.hpp', *uring),
            ('clang++ -std=c++20', 'volt.hpp', *uring), ('musl-gcc -std=c11', 'volt.c'),
            ('gcc -m32 -Wno-psabi -std=c11', 'volt.c')]
    if WHOLE:
        ways += [(f'{cc} -std={c}', 'volt.c', option) for cc in ('gcc', 'clang') for c in ('c11', 'c17', 'c2x')
                 for option in ('-DVOLT_SYNC_ONLY', '-DVOLT_DEBUG=1', '-DVOLT_SIGHT=1', *uring)]
        ways += [(f'{cxx} -std={c}', 'volt.hpp', *uring) for cxx in ('g++', 'clang++')
                 for c in ('c++17', 'c++20', 'c++2b')]
        ways += [(f'{cc} -std=c11', 'volt.h', '-DVOLT_EPOLL', *uring) for cc in ('gcc', 'clang')]
        ways += [(f'{cxx} -std=c++17', 'volt.h', option) for cxx in ('g++', 'clang++')
                 for option in ('-DVOLT_SYNC_ONLY', *uring)]
    for compiler, name, *options in ways:
        compiler, *standard = compiler.split()
        machine = [o for o in standard if o.startswith('-m')]
        if not is_here(compiler, *machine):
            print(f'skipped: {name} by {compiler} {" ".join(machine)}: it is not here')
            continue
        file = Path('user.cpp' if '++' in compiler else 'user.c')
        (directory / file).write_text(f'#include "{name}"\n')
        run(compiler, *standard, *STRICT, *options, '-fsyntax-only', name if name == 'volt.c' else file, cwd=directory)
        yield name


def has_liburing():
    found = subprocess.run(['cc', '-E', '-x', 'c', '-'], input='#include <liburing.h>\n', text=True,
                           capture_output=True).returncode == 0
    return ['-DVOLT_IO'] if found else []


# ---- programs ----

def programs(directory):
    """Threads alone; C++; and what each compiler makes when it optimises."""
    (directory / 'semaphore.c').write_text(SEMAPHORE)
    threads_alone = ('cc', '-DVOLT_SYNC_ONLY', '-std=c11', *STRICT)
    run(*threads_alone, '-O1', '-fPIC', '-c', 'volt.c', cwd=directory)
    check_threads(directory / 'volt.o', 'cc -O1 -fPIC -DVOLT_SYNC_ONLY')
    run(*threads_alone, 'semaphore.c', 'volt.o', '-pthread', '-o', 'semaphore', cwd=directory)
    run(directory / 'semaphore')
    shutil.copy(EXAMPLE, directory)
    if WHOLE:
        for cc, cxx in (('gcc', 'g++'), ('clang', 'clang++'), ('musl-gcc', None)):
            if is_here(cc):
                optimised(directory, cc, cxx)


def optimised(directory, cc, cxx):
    for options in (['-O2'], ['-O3', '-fPIC']):
        run(cc, '-std=c11', *STRICT, *options, '-c', 'volt.c', cwd=directory)
        check_threads(directory / 'volt.o', f'{cc} {" ".join(options)}')
        run(cc, EXAMPLE.name, 'volt.o', '-pthread', cwd=directory)
        run('bash', ROOT / 'tests/examples/example_test.sh', EXAMPLE, directory / 'a.out')
    if cxx and is_here(cxx):
        (directory / 'channel.cpp').write_text(CHANNEL)
        run(cxx, '-std=c++17', *STRICT, 'channel.cpp', 'volt.o', '-pthread', '-o', 'channel', cwd=directory)
        run(directory / 'channel')


def unit_tests(directory):
    """What the unit tests have of volt's public headers, they have of volt.h; with I/O those that it is of."""
    for source in sorted((ROOT / 'tests/unit').glob('*/*_test.c')):
        text = source.read_text()
        if source.parent.name in ('cluster', 'tls') or 'LOOPS:' in text:  # of each loop's library
            continue
        options = has_liburing() if 'BACK ENDS:' in text else []
        run('cc', '-std=c11', '-fsyntax-only', '-D_GNU_SOURCE=', *options, '-include', directory / 'volt.h',
            *(f'-I{ROOT}/{path}' for path in ('include', 'src', 'tests/support', 'bench/variants')), '-DSIGHT_PAGE=""',
            source)
        yield source


# ---- what a fiber must not keep ----

def has_address(instruction):
    """%fs:0 with a relocation reads a variable, and has no address of it."""
    return fiber_switch.ADDRESS.search(instruction) and not re.search(r'%fs:0x0.*TPOFF', instruction)


def check_threads(path, how, objdump='objdump'):
    if not READS_WITHOUT:
        return
    text = run(objdump, '-dr', '--no-show-raw-insn', path)
    found = set()
    for name, code in fiber_switch.functions_of(text).items():
        name = name.split('.')[0]
        if any(has_address(instruction) for _, instruction in code):
            found.add(name)
            if not ASKS.fullmatch(name):
                sys.exit(f'{how}: {name}() has the address of a variable of its thread, and may keep it over a wait')
    if len(found) < 5:
        sys.exit(f'{how}: only {len(found)} functions have one: the check does not see them')


def check_itself(directory):
    """A function that keeps such an address must be found."""
    (directory / 'broken.c').write_text(fiber_switch.BROKEN)
    run('cc', f'-I{ROOT}/include', f'-I{ROOT}/src', '-O2', '-fPIC', '-c', 'broken.c', cwd=directory)
    text = run('objdump', '-dr', '--no-show-raw-insn', directory / 'broken.o')
    if READS_WITHOUT and not any(has_address(instruction) for _, instruction in fiber_switch.functions_of(text)['fiber_broken']):
        sys.exit('the check does not see an address that is kept')


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name, 'one')
        directory.mkdir()
        files = write(directory)
        if files != write(Path(name, 'two')):
            sys.exit('it does not write the same bytes twice')
        check_text(files)
        count = len(list(looks_at(directory)))
        check_itself(directory)
        programs(directory)
        tests = len(list(unit_tests(directory))) if WHOLE else 0
    print(f'{count} ways to look at it; {tests} unit tests behind volt.h')


if __name__ == '__main__':
    main()
