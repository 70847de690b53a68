#!/usr/bin/env python3
"""The switch of fibers in machine code, for each compiler that is here, and with each option that
might change it.

  - The address at which a side goes on is that of the instruction behind its jump, which is a landing
    pad where the processor wants one.
  - Between the first register that is saved and the jump there is no call, push, pop or return.
  - A function of a fiber that switches (fiber_wait.c, fiber.c) touches no thread-local variable, by
    itself or by one of the functions that give its address: what it kept would be another thread's.
  - What the headers of a build with VOLT_SIGHT=1 make inline, in a function that waits, keeps no address of a
    thread: in a program, and in a shared library.
  - A program of fibers runs, linked with what was compiled so; and with swapcontext().

The quick form, without VOLT_TEST_SECONDS of 5 and more, has the options of QUICK and the landing pads. It
compiles the rooms in ROOMS once, to be optimised as one, by gcc, and the runtime once with swapcontext():
the rest of a program, but for the files in SOURCES, is that of a release. Of another processor's code it
reads the switches and runs nothing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARNINGS = ['-std=c11', '-Wall', '-Wextra', '-Werror', f'-I{ROOT}/include', f'-I{ROOT}/src']
OPTIONS = (['-O0'], ['-O1'], ['-O2'], ['-O3'], ['-Os'], ['-O2', '-fPIC', '-fno-omit-frame-pointer'],
           ['-O2', '-fstack-protector-strong', '-fstack-clash-protection'])
QUICK = (['-O0'], ['-O1'], ['-O3'], ['-O2', '-fstack-protector-strong', '-fstack-clash-protection'])
LANDING = {'x86-64': ['-fcf-protection'], 'aarch64': ['-mbranch-protection=standard']}
WHOLE = float(os.environ.get('VOLT_TEST_SECONDS') or 0) >= 5
ROOMS = ('core', 'rt')  # where the switches are, and the variables of a thread
SOURCES = ('fiber/fiber.c', 'fiber/fiber_wait.c', 'sched/worker.c')
ASKS_THREAD = re.compile(r'volt_thread_\w+|__errno_location|__tls_get_addr|__cxa_get_globals')
ADDRESS = re.compile(r'%fs:0x0(?!\()|tpidr|R_\w*(TLSGD|TLSLD|TLSDESC)')
TLS = re.compile(r'%fs:(?!0x28\b)|tpidr|R_\w*(TPOFF|TLS|TPREL)')

PROGRAM = r'''
#include <errno.h>
#include <volt/fiber.h>
#include <volt/semaphore.h>

static volt_sem sem;

static double walks(double step, int depth) {
  if (depth == 0) return volt_fiber_yield() == VOLT_OK ? step : -1000;
  double below = walks(step, depth - 1);
  return below + step;
}

static int fiber(void *arg) {
  double step = *(const double *)arg;
  volt_future f;
  errno = (int)(100 * step);
  for (int i = 0; i < 1000; i++) {
    if (walks(step, 10) != 11 * step) return -100;
    if (volt_future_wait(volt_sem_acquire_future(&f, &sem, 1)) != VOLT_OK) return -101;
    volt_sem_release(&sem, 1);
  }
  if (volt_sleep_until(volt_deadline_ns(1000)) != VOLT_OK) return -102;
  return errno;
}

int main(void) {
  volt_rt *rt;
  volt_task *t[20];
  double step[20];
  volt_rt_config config = {.workers = 2};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  volt_sem_init(&sem, 2);
  for (int i = 0; i < 20; i++) {
    step[i] = 0.5 * i;
    t[i] = volt_fiber_new(rt, fiber, &step[i], NULL);
    if (volt_spawn(rt, t[i]) != VOLT_OK) return 2;
  }
  for (int i = 0; i < 20; i++) {
    if (volt_task_join(t[i]) != 50 * i) return 3;
    volt_task_detach(t[i]);
  }
  return (int)volt_rt_destroy(rt);
}
'''

HOLDS = r'''
#include <volt/fiber.h>
#include <volt/mutex.h>
#include <volt/semaphore.h>
int holds(volt_mutex *m, volt_sem *sem);
int holds(volt_mutex *m, volt_sem *sem) {
  if (volt_mutex_lock_until(m, VOLT_NO_DEADLINE) != VOLT_OK) return -1;
  int result = volt_fiber_yield();
  volt_sem_release(sem, 1);
  result += volt_fiber_yield();
  volt_mutex_unlock(m);
  return result;
}
'''

BROKEN = r'''
#include "rt/fiber/fiber_switch.h"
static _Thread_local int variable;
void fiber_broken(volt_switch_ *from, volt_switch_outside_ *to);
void fiber_broken(volt_switch_ *from, volt_switch_outside_ *to) {
  int *kept = &variable;
  *kept += 1;
  volt_switch_out_(from, to);
  *kept += 1;
}
'''


def run(*command, **keywords):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Compiler:
    def __init__(self, command, machine, prefix='', runner=()):
        self.command, self.machine, self.runner = command, machine, list(runner)
        self.objdump = prefix + 'objdump'

    def compile(self, options, source, output):
        run(self.command, *WARNINGS, *options, '-c', source, '-o', output)


def compilers():
    here = os.uname().machine
    native = {'x86_64': 'x86-64', 'aarch64': 'aarch64'}.get(here)
    found = [Compiler(c, native) for c in ('gcc', 'clang') if native and shutil.which(c)]
    cross = shutil.which('aarch64-linux-gnu-gcc')
    if here != 'aarch64' and cross:
        qemu = shutil.which('qemu-aarch64') or shutil.which('qemu-aarch64-static')
        runner = [qemu, '-L', '/usr/aarch64-linux-gnu'] if qemu else None
        found.append(Compiler(cross, 'aarch64', 'aarch64-linux-gnu-', runner or ()))
        found[-1].cannot_run = runner is None
    return found


# ---- what the machine code says ----

INSTRUCTION = re.compile(r'^\s+([0-9a-f]+):\s+(\S.*)$')
FUNCTION = re.compile(r'^[0-9a-f]+ <(\S+)>:$')


def functions_of(text):
    """Each function as a list of (address, instruction); a relocation belongs to the instruction
    before it."""
    name, found = None, {}
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            name = match[1]
            found[name] = []
        elif 'R_' in line and name and found[name]:
            address, code = found[name][-1]
            found[name][-1] = (address, code + ' ' + line.strip())
        elif (match := INSTRUCTION.match(line)) and name:
            found[name].append((int(match[1], 16), match[2]))
    return found


JUMP = {'x86-64': re.compile(r'jmp\s+\*\(%rsi\)'), 'aarch64': re.compile(r'br\s+x16')}
SAVED = {'x86-64': re.compile(r'lea\s+.*\(%rip\),%rax\s+# ([0-9a-f]+)'),
         'aarch64': re.compile(r'adr\s+x16, ([0-9a-f]+)')}
PAD = {'x86-64': re.compile(r'endbr64'), 'aarch64': re.compile(r'bti\s+j|hint\s+#0x24')}
STRAY = re.compile(r'^(call|bl\b|blr|push|pop|ret|leave)')


def switches_of(machine, code):
    """Where each switch of a function begins and jumps. A jump like that without a saved address is the
    call of a pointer."""
    begin = None
    for i, (_, text) in enumerate(code):
        if SAVED[machine].match(text):
            begin = i
        elif JUMP[machine].match(text) and begin is not None and i + 1 < len(code):
            yield begin, i
            begin = None


def faults_of(machine, code, wants_pad, is_fibers):
    """What is wrong with a function that switches."""
    for begin, jump in switches_of(machine, code):
        if int(SAVED[machine].match(code[begin][1])[1], 16) != code[jump + 1][0]:
            yield 'it would go on elsewhere than behind its jump'
        if wants_pad and not PAD[machine].match(code[jump + 1][1]):
            yield f'no landing pad behind the jump: {code[jump + 1][1]}'
        for _, text in code[begin:jump]:
            if STRAY.match(text):
                yield f'between save and jump: {text}'
    if is_fibers:
        for _, text in code:
            if TLS.search(text) or ASKS_THREAD.search(text):
                yield f'it asks the thread: {text}'


def look(compiler, objects, wants_pad):
    """Returns how many functions switch."""
    count = 0
    for path, is_fibers in objects:
        text = run(compiler.objdump, '-dr', '--no-show-raw-insn', path)
        for name, code in functions_of(text).items():
            if not any(switches_of(compiler.machine, code)):
                continue
            count += 1
            for fault in faults_of(compiler.machine, code, wants_pad, is_fibers):
                sys.exit(f'{compiler.command} {path}: {name}(): {fault}')
    return count


# ---- build ----

def room_of(source):
    return source.relative_to(ROOT / 'src').parts[0]


def library(compiler, options, scratch, base=(), rooms=ROOMS):
    """The sources of the library; those of some rooms alone if the others are there."""
    if not base:
        rooms = ('core', 'sync', 'bcs', 'async', 'rt', 'sight')
    sources = [s for s in sorted(ROOT.glob('src/**/*.c')) if room_of(s) in rooms]
    objects = [scratch / f'{room_of(s)}-{s.name}.o' for s in sources]
    for source, output in zip(sources, objects):
        compiler.compile(options, source, output)
    return replaced(base, objects) if base else objects


def of_a_release(scratch):
    """The same rooms of a release, which other tests have, too: objects.sh."""
    script = f'set -e; scratch={scratch}; . tests/compile/objects.sh; release_objects; echo "$objects"'
    compiled = Path(run('bash', '-c', script, cwd=ROOT).strip())
    for source in ROOT.glob('src/**/*.c'):
        if (compiled / f'{source.name}.o').exists():
            name = f'{room_of(source)}-{source.name}.o'
            (scratch / name).symlink_to(compiled / f'{source.name}.o')
            yield scratch / name


def program(compiler, options, objects, scratch):
    (scratch / 'program.c').write_text(PROGRAM)
    run(compiler.command, *WARNINGS, *options, scratch / 'program.c', *objects, '-pthread', '-o',
        scratch / 'program')
    if not getattr(compiler, 'cannot_run', False):
        run(*compiler.runner, scratch / 'program', timeout=100)


def replaced(objects, others):
    by_name = {o.name: o for o in others}
    return [by_name.get(o.name, o) for o in objects]


def look_at_switches(compiler, options, objects, wants_pad=False):
    count = look(compiler, [(o, 'worker' not in o.name) for o in objects], wants_pad)
    if count < 3:
        sys.exit(f'{compiler.command} {options}: only {count} functions switch')
    return count


def try_options(compiler, base, options, scratch):
    scratch.mkdir()
    objects = [scratch / f'rt-{Path(s).name}.o' for s in SOURCES]
    for source, output in zip(SOURCES, objects):
        compiler.compile(options, ROOT / 'src/rt' / source, output)
    wants_pad = options[-1:] == LANDING[compiler.machine]
    count = look_at_switches(compiler, options, objects, wants_pad)
    if base:
        program(compiler, options, replaced(base, objects), scratch)
    return count


def try_whole_program(compiler, base, scratch):
    """Everything optimised as one: the functions of a fiber still stand alone."""
    scratch.mkdir()
    options = ['-O3', '-flto']
    program(compiler, options, library(compiler, options, scratch, base), scratch)
    count = 0
    text = run(compiler.objdump, '-d', '--no-show-raw-insn', scratch / 'program')
    for name, code in functions_of(text).items():
        is_fibers = name.startswith('fiber_') or name.startswith('volt_fiber_')
        if not any(switches_of(compiler.machine, code)):
            continue
        count += 1
        for fault in faults_of(compiler.machine, code, False, is_fibers):
            sys.exit(f'{compiler.command} -flto: {name}(): {fault}')
    if count < 3:
        sys.exit(f'{compiler.command} -flto: only {count} functions switch')
    return count


def look_at_inlined(compiler, scratch):
    """A thread's address that is kept over a wait is another thread's in a fiber that moves. Compilers differ in
    how far they keep one, so there must be none."""
    (scratch / 'holds.c').write_text(HOLDS)
    for options in (['-O2'], ['-O2', '-fPIC']):
        compiler.compile([*options, '-DVOLT_SIGHT=1'], scratch / 'holds.c', scratch / 'holds.o')
        text = run(compiler.objdump, '-dr', '--no-show-raw-insn', scratch / 'holds.o')
        for name, code in functions_of(text).items():
            for _, instruction in code:
                if ADDRESS.search(instruction):
                    sys.exit(f'{compiler.command} {options}: {name}() has an address of its thread: {instruction}')


def check_itself(compiler, scratch):
    """A function that keeps the address of a thread-local variable must be found."""
    (scratch / 'broken.c').write_text(BROKEN)
    compiler.compile(['-O2'], scratch / 'broken.c', scratch / 'broken.o')
    text = run(compiler.objdump, '-dr', '--no-show-raw-insn', scratch / 'broken.o')
    code = functions_of(text)['fiber_broken']
    if not list(faults_of(compiler.machine, code, False, True)):
        sys.exit(f'{compiler.command}: the check does not see a thread-local variable')
    if not list(faults_of(compiler.machine, code, True, False)):
        sys.exit(f'{compiler.command}: the check does not see that a landing pad is missing')


def main():
    found = compilers()
    if not found:
        print('skipped: no compiler for a processor with a switch of its own')
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        scratch, ways, count, base = Path(name), 0, 0, []
        for n, compiler in enumerate(found):
            at = scratch / str(n)
            at.mkdir()
            check_itself(compiler, at)
            look_at_inlined(compiler, at)
            if WHOLE:
                base = library(compiler, ['-O1'], at)
            elif n == 0:
                (at / 'release').mkdir()
                base = list(of_a_release(at / 'release'))
            elif compiler.machine != found[0].machine:
                base = []
            for i, options in enumerate([*(OPTIONS if WHOLE else QUICK), ['-O2', *LANDING[compiler.machine]]]):
                count += try_options(compiler, base, options, at / str(i))
                ways += 1
            if 'gcc' in compiler.command and base:
                count += try_whole_program(compiler, [] if WHOLE else base, at / 'lto')
                ways += 1
            if WHOLE or n == 0:
                (at / 'ucontext').mkdir()
                options = ['-O2', '-DVOLT_FIBER_UCONTEXT=1']
                others = library(compiler, options, at / 'ucontext', [] if WHOLE else base, ['rt'])
                program(compiler, options, others, at / 'ucontext')
        print(f'{len(found)} compilers, {ways} ways, {count} functions that switch')


if __name__ == '__main__':
    main()
