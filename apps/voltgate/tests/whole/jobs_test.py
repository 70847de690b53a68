#!/usr/bin/env python3
"""jobs_test.py VOLTGATE: voltgate run --jobs: a jobserver for make, whose tokens are permits: several makes share one
limit, a make grows and gives back, and what a killed one had comes back."""
import os
import re
import shutil
import signal
import subprocess
import sys

from permit_peer import Peer
from voltgate_kit import LIMIT, at_end, equal, program, require, run_tests, scratch, wait_until

# A job: notes how many run, and waits until as many run, or have run at once before, as argv[2] says; or, if that is
# a name, until there is such a file.
JOB = '''
import fcntl, os, sys, time
def add(n):
    with open(sys.argv[1], "r+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        now, most = map(int, f.read().split())
        f.seek(0)
        f.truncate()
        f.write(f"{now + n} {max(most, now + n)}\\n")
        return max(most, now + n)
add(1)
until = sys.argv[2]
while not (add(0) >= int(until) if until.isdigit() else os.path.exists(until)):
    time.sleep(0.002)
add(-1)
'''


def make_is_there():
    """make"""
    return shutil.which('make')


class Project:
    """A directory with so many targets, and its ledger."""

    def __init__(self, targets, until):
        self.path = scratch()
        self.ledger = os.path.join(self.path, 'ledger')
        with open(self.ledger, 'w') as file:
            file.write('0 0')
        with open(os.path.join(self.path, 'job.py'), 'w') as file:
            file.write(JOB)
        names = ' '.join(f't{n}' for n in range(targets))
        with open(os.path.join(self.path, 'Makefile'), 'w') as file:
            file.write(f'all: {names}\n{names}:\n\t@{sys.executable} job.py {self.ledger} {until}\n')

    def start(self, its, *words, **variables):
        env = {name: value for name, value in os.environ.items() if name not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')}
        env.update(variables)
        process = subprocess.Popen([program(), 'run', '--gate', its.path, '--jobs', *words], cwd=self.path, env=env,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        at_end.callback(lambda: process.returncode is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def counts(self):
        with open(self.ledger) as file:
            words = file.read().split()
            return tuple(map(int, words)) if len(words) == 2 else (0, 0)


def peer(cores):
    made = Peer(os.path.join(scratch(), 'permits.sock'), cores=cores)
    at_end.callback(lambda: made.is_over or made.end())
    return made


def ends(process):
    _, errors = process.communicate(timeout=LIMIT)
    equal((process.returncode, errors), (0, ''), 'its end')


def grows():
    """a make alone gets all that the gate has"""
    its, project = peer(3), Project(9, 3)
    ends(project.start(its, 'make', '-j'))
    equal(project.counts(), (0, 3), 'jobs in the end, and at once')
    equal((its.highest['cores'], its.held()), (3, 0), 'permits at once, and in the end')


def flags():
    """options and variables of a make around it stay; -j and --jobs without a number go, -j 2 does not"""
    for flags in ('', 'k', ' -- NAME=1', 'k -- NAME=a\\ --\\ b', '-- NAME=1', '-j2 --jobserver-auth=98,99 -- NAME=1'):
        its, project = peer(3), Project(3, 3)
        ends(project.start(its, 'make', '-j', '--jobs', MAKEFLAGS=flags))
        equal((project.counts(), its.held()), ((0, 3), 0), flags)
    shows = [sys.executable, '-c', 'import os, sys; print(sys.argv[1:], os.environ["MAKEFLAGS"], file=sys.stderr)']
    said = Project(1, 1).start(peer(1), *shows, '-j', '-j', '2', '--jobs', '3', '--jobs', MAKEFLAGS='k -- A=1')
    words, _, left = said.communicate(timeout=LIMIT)[1].strip().partition('] ')
    equal(words, "['-j', '2', '--jobs', '3'", 'arguments')
    require(re.fullmatch(r'k -j --jobserver-auth=\d+,\d+ +-- A=1', left), left)


def two():
    """two makes under one gate of 2 cores: never more than 2 jobs"""
    its, project = peer(2), Project(12, 1)
    makes = [project.start(its, 'make') for _ in range(2)]
    for process in makes:
        ends(process)
    now, most = project.counts()
    equal(now, 0, 'jobs in the end')
    require(1 <= most <= 2, most)
    equal((its.highest['cores'], its.held()), (2, 0), 'permits at once, and in the end')
    equal(len(its.lines('take')), len(its.lines('give')), 'what was given back')


def gives_back():
    """a make that runs one job gives its tokens back, and gets them again"""
    its, project = peer(3), Project(1, 'go')
    process = project.start(its, 'make')
    wait_until(lambda: project.counts()[0] == 1 and its.lines('give'), 'a token that it does not use goes back')
    everything = subprocess.run([program(), 'run', '--gate', its.path, '--take', 'cores=2', 'true'], timeout=LIMIT)
    equal(everything.returncode, 0, 'all but one are granted to another command')
    before = len(its.lines('give'))
    wait_until(lambda: len(its.lines('give')) > before, 'it asks for more, and gives it back again')
    open(os.path.join(project.path, 'go'), 'w').close()
    ends(process)
    equal(its.held(), 0, 'permits in the end')


def not_granted_any_more():
    """a token that is asked for as make ends leaves the queue before the command's own permit goes back"""
    its, project = peer(1), Project(1, 'go')
    process = project.start(its, 'make')
    wait_until(lambda: project.counts()[0] == 1 and its.waiting() == 1, 'a job runs, and a token waits')
    open(os.path.join(project.path, 'go'), 'w').close()
    ends(process)
    equal((its.grants, its.held()), (1, 0), 'grants, and what is held in the end')


def killed():
    """make is killed with tokens in its hands: all come back, before voltgate run has ended"""
    its, project = peer(3), Project(9, 'never')
    process = project.start(its, 'sh', '-c', 'echo $$ > pid; exec make')
    wait_until(lambda: project.counts()[0] == 3, 'three jobs run')
    with open(os.path.join(project.path, 'pid')) as file:
        os.kill(int(file.read()), signal.SIGKILL)
    equal(process.wait(LIMIT), -signal.SIGKILL, 'its end')
    equal(its.held(), 0, 'permits')
    os.killpg(process.pid, signal.SIGKILL)  # the jobs that are left
    process.communicate()


def claims():
    """the gate ends and is back: the tokens are claimed, too"""
    its, project = peer(3), Project(3, 'go')
    process = project.start(its, 'make')
    wait_until(lambda: project.counts()[0] == 3, 'three jobs run')
    its.end()
    its.begin()
    wait_until(lambda: its.held() == 3 and len(its.lines('claim')) == 3, 'three permits are claimed')
    open(os.path.join(project.path, 'go'), 'w').close()
    ends(process)
    equal(its.held(), 0, 'permits in the end')


if __name__ == '__main__':
    run_tests([make_is_there], grows, flags, two, gives_back, not_granted_any_more, killed, claims)
