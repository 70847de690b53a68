#!/usr/bin/env python3
"""usage: colourless.py

Each exported function (src/volt.abi) either never waits, or is tested both on a thread and in a
fiber: it has a SCENE in tests/unit/sync/colourless_scenes.h, or a test elsewhere, as below. Which never
wait says the file never-blocks; a name that says that a function blocks is no match for it. So a
new function that can block has to be tested, and any other has to be reviewed.
"""
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENES = 'tests/unit/sync/colourless_scenes.h'
NEVER = 'tests/compile/never-blocks'
# By its name; and what is called as others that never wait.
BLOCKS = re.compile(r'_until$|^volt_(future_wait|future_cancel|rt_destroy)$')
ELSEWHERE = {  # what is no call on an object: where its test is
    'volt_cluster_acquire': 'examples/15_cluster.c',
    'volt_cluster_acquire_until': 'tests/unit/cluster/cluster_sem_test.c',
    'volt_process_close': 'tests/unit/io/process_test.c',
    'volt_sleep': 'tests/unit/rt/fiber_cancel_test.c',
    'volt_sleep_until': 'tests/unit/rt/fiber_cancel_test.c',
    'volt_deadlocks': 'tests/unit/sight/deadlock_test.c',
    'volt_fiber_rehome': 'tests/unit/rt/home_test.c',
    'volt_fiber_yield': 'tests/unit/rt/fiber_test.c',
}
RUNS = {  # calls that run tasks: they abort in one, and so in a fiber
    'volt_bridge_run': 'tests/unit/rt/bridge_test.c',
    'volt_rt_advance': 'tests/unit/rt/by_hand_test.c',
    'volt_rt_create': 'tests/support/by_hand.h',  # starts threads, and waits until they have begun
    'volt_rt_run': 'tests/unit/rt/by_hand_test.c',
    'volt_rt_run_until': 'tests/unit/rt/until_test.c',
}


def text(path):
    return (ROOT / path).read_text(encoding='utf-8')


def exported():
    names = re.findall(r'\b(volt_\w+)\(', re.sub(r'^#.*\n', '', text('src/volt.abi'), flags=re.M))
    return [name for name in names if not name.endswith('_')]


def never():
    lines = (line.split('#')[0].strip() for line in text(NEVER).splitlines())
    return [line for line in lines if line]


def scenes():
    named = re.findall(r'^(?:[A-Z]+_)?SCENE\(\s*(volt_\w+?)(?:__\w+)?,', text(SCENES), re.M)
    listed = re.findall(r'\bX\(\s*(volt_\w+?)(?:__\w+)?,', text(SCENES))
    return set(named) & set(listed)


def wrong_with(name, patterns, tested):
    """What is wrong with a function, or None."""
    elsewhere = (ELSEWHERE | RUNS).get(name)
    if name in tested:
        return None
    if elsewhere:
        path = ROOT / elsewhere
        is_tested = path.exists() and name in path.read_text(encoding='utf-8')
        return None if is_tested else f'{name}: {elsewhere} does not test it'
    if BLOCKS.search(name) and name not in patterns:
        return f'{name}: it blocks, says its name, and has no SCENE in {SCENES}'
    if not any(fnmatch.fnmatchcase(name, p) for p in patterns):
        return f'{name}: say in {NEVER} that it never waits, or give it a SCENE in {SCENES}'
    return None


def wrong(names, patterns, tested):
    yield from filter(None, (wrong_with(name, patterns, tested) for name in names))
    for name in sorted(tested | set(ELSEWHERE | RUNS)):
        if name not in names:
            yield f'{name}: is not exported'
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            yield f'{NEVER}: nothing is called {pattern}'


def self_test(patterns, tested):
    """A function that blocks, or that was never reviewed, is found."""
    for name in ('volt_pause_until', 'volt_sem_ponder'):
        if not wrong_with(name, patterns, tested):
            yield f'{name} would come in unseen'
    for name in sorted(tested):
        if not wrong_with(name, patterns, tested - {name}):
            yield f'{name} would not be missed'


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    names, patterns, tested = exported(), never(), scenes()
    found = list(wrong(names, patterns, tested)) + list(self_test(patterns, tested))
    for line in found:
        print(line)
    print(f'colourless: {len(names)} functions, {len(tested) + len(ELSEWHERE)} that wait; '
          f'{len(found)} not in order')
    sys.exit(1 if found else 0)


if __name__ == '__main__':
    main()
