#!/usr/bin/env python3
"""run_test.py VOLTGATE: voltgate run: a command under a permit is as it would be alone, and the gate has the permit
back, whatever ends. The gate is of the tests' own (permit_peer.py)."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from permit_peer import Peer
from voltgate_kit import LIMIT, Skip, at_end, equal, program, require, run_tests, scratch, wait_until

# Says "ready", and then each signal that comes; TERM ends it, with exit code 3.
SAYS_SIGNALS = [sys.executable, '-c', '''
import os, signal, sys
names = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGALRM"]
all = [getattr(signal, n) for n in names]
signal.pthread_sigmask(signal.SIG_BLOCK, all)
print("ready", os.getpid(), flush=True)
while True:
    got = signal.sigwaitinfo(all).si_signo
    print(signal.Signals(got).name, flush=True)
    if got == signal.SIGTERM: sys.exit(3)
''']
# As a shell with job control: the command leads a group that has the terminal; says what becomes of it in a file.
SHELL = [sys.executable, '-c', '''
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
says = open(sys.argv[1], "w")
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
print("pid", pid, file=says, flush=True)
while True:
    _, status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)
    print("stopped" if os.WIFSTOPPED(status) else "continued" if os.WIFCONTINUED(status) else
          f"ended {os.waitstatus_to_exitcode(status)}", file=says, flush=True)
    if os.WIFEXITED(status) or os.WIFSIGNALED(status): break
''']
WAITS = ['sh', '-c', 'echo ready $$; exec sleep 1000']


class Run:
    """A command by voltgate run, or without, which is a child of this process and leads a group of its own."""

    def __init__(self, *words, peer=None, terminal=None, **popen):
        self.command = [program(), 'run', '--gate', peer.path, *words] if peer else list(words)
        self.out = tempfile.TemporaryFile()
        self.errors = tempfile.TemporaryFile()
        streams = {'stdin': subprocess.DEVNULL, 'stdout': self.out, 'stderr': self.errors, 'start_new_session': True}
        if terminal is not None:
            streams = {'stdin': terminal, 'stdout': terminal, 'stderr': terminal, 'start_new_session': True,
                       'preexec_fn': lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}
        self.process = subprocess.Popen(self.command, **{**streams, **popen})
        self.pid = self.process.pid
        at_end.callback(self.kill)

    def said(self):
        return os.pread(self.out.fileno(), 1 << 20, 0).decode()

    def complained(self):
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()

    def waits_for(self, text):
        wait_until(lambda: text in self.said(), f'{text!r} is said, and not {self.said()!r}, {self.complained()!r}')

    def command_pid(self):
        self.waits_for('\n')
        return int(self.said().split()[1])

    def end(self):
        return self.process.wait(LIMIT)

    def kill(self):
        if self.process.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait(LIMIT)


class Terminal:
    """The far end of a terminal; what comes there is kept."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.text = ''
        at_end.callback(os.close, self.master)
        at_end.callback(os.close, self.slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536).decode()
        return self.text

    def waits_for(self, text):
        wait_until(lambda: text in self.read(), f'{text!r} is shown, and not {self.text!r}')


def peer(**limits):
    made = Peer(os.path.join(scratch(), 'permits.sock'), **(limits or {'cores': 2, 'memory': 1 << 34}))
    at_end.callback(lambda: made.is_over or made.end())
    return made


def state_of(pid):
    try:
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rpartition(')')[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return 'gone'


def is_gone(pid):
    return state_of(pid) in ('gone', 'Z')


def run(its, *words, **named):
    return subprocess.run([program(), 'run', '--gate', its.path, *words], capture_output=True, text=True,
                          timeout=LIMIT, stdin=subprocess.DEVNULL, **named)


# ---- as alone ----

def streams():
    """exit codes, streams, arguments and descriptors are the command's own"""
    its = peer()
    done = run(its, '--take', 'cores=2,memory=4G', '--label', 'a "b"', 'sh', '-c', 'echo out; echo err >&2; exit 7')
    equal((done.returncode, done.stdout, done.stderr), (7, 'out\n', 'err\n'), 'what it did')
    equal(its.lines('take'), ['take cores=2 memory=4294967296 label="a \\"b\\"" '
                              'command="sh -c echo out; echo err >&2; exit 7"'], 'what was asked for')
    equal(run(its, '--', 'printf', '%s|', '--take', '--', '').stdout, '--take|--||', 'arguments')
    shows = [sys.executable, '-c', 'import os; print(sorted(os.listdir("/proc/self/fd")), [line for line in '
             'open("/proc/self/status") if line[:6] in ("SigBlk", "SigIgn")])']
    for ignored in ([], [signal.SIGHUP, signal.SIGCHLD, signal.SIGTERM]):
        def before():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        alone = subprocess.run(shows, capture_output=True, text=True, preexec_fn=before, stdin=subprocess.DEVNULL)
        equal(run(its, *shows, preexec_fn=before).stdout, alone.stdout, 'descriptors and signals')
    equal(its.held(), 0, 'held in the end')


def failures_():
    """what cannot be run, or granted, has the exit codes of timeout(1)"""
    its = peer()
    equal(run(its, 'no-such-command').returncode, 127, 'no such command')
    equal(run(its, '/etc/passwd').returncode, 126, 'no program')
    for words, says in ((['--take', 'cores=3', 'true'], 'impossible'), (['--take', 'gpu=1', 'true'], 'kind'),
                        (['--take', 'cores', 'true'], "'cores' is no amount"), (['--no-such', 'true'], 'no such option'),
                        (['--wait', 'x', 'true'], '--wait'), (['--keep'], 'which command'),
                        (['--keep', '--keep', 'true'], 'twice')):
        done = run(its, *words)
        equal(done.returncode, 125, words)
        require(says in done.stderr and done.stdout == '', done)
    equal(its.lines('give'), ['give', 'give'], 'of those that were run')
    missing = subprocess.run([program(), 'run', '--gate', '/no/such/socket', 'true'], capture_output=True, text=True)
    equal(missing.returncode, 125, 'no gate')
    require('/no/such/socket' in missing.stderr, missing.stderr)


def signals():
    """a signal to voltgate run reaches the command, once"""
    its = peer()
    it = Run(*SAYS_SIGNALS, peer=its)
    it.waits_for('ready')
    sent = ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGALRM', 'SIGTERM']
    for number, name in enumerate(sent):
        os.kill(it.pid, getattr(signal, name))
        wait_until(lambda: len(it.said().splitlines()) == number + 2, f'{name} comes')
    equal(it.end(), 3, 'its exit code')
    equal(it.said().splitlines()[1:], sent, 'what came')
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV):
        equal(run(its, 'sh', '-c', f'kill -{int(number)} $$').returncode, -number, 'it dies by the same signal')
    equal(its.held(), 0, 'held in the end')


def terminal():
    """Ctrl-C, Ctrl-Z and the size of the terminal do what they do to any command, once"""
    its, screen, says = peer(), Terminal(), os.path.join(scratch(), 'says')
    shell = Run(*SHELL, says, program(), 'run', '--gate', its.path, *SAYS_SIGNALS, terminal=screen.slave)

    def said():
        with open(says) as file:
            return file.read().rpartition('\n')[0].splitlines()
    wait_until(lambda: re.search(r'ready \d+\r', screen.read()), 'the command is ready')
    wait_until(lambda: said(), 'the shell says which process it has started')
    command, it = int(screen.text.split()[1]), int(said()[0].split()[1])
    screen.type('\x03')
    screen.waits_for('SIGINT')
    fcntl.ioctl(screen.master, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 90, 0, 0))
    screen.waits_for('SIGWINCH')
    os.kill(it, signal.SIGUSR1)  # it comes behind those that voltgate might have sent on
    screen.waits_for('SIGUSR1')
    for number, stop in enumerate((lambda: screen.type('\x1a'), lambda: os.kill(it, signal.SIGTSTP))):
        stop()
        wait_until(lambda: said().count('stopped') == number + 1, 'voltgate run is stopped')
        equal(state_of(command), 'T', 'and so is the command')
        os.kill(it, signal.SIGCONT)
        wait_until(lambda: said().count('continued') == number + 1 and state_of(command) != 'T', 'both go on')
    os.kill(it, signal.SIGTERM)
    shell.end()
    equal(said()[1:], ['stopped', 'continued', 'stopped', 'continued', 'ended 3'], 'what the shell sees')
    screen.waits_for('SIGTERM')
    equal(re.findall('SIG[A-Z0-9]+', screen.text), ['SIGINT', 'SIGWINCH', 'SIGUSR1', 'SIGTERM'], 'what came')
    equal(its.held(), 0, 'held in the end')


def timer():
    """a timer that was set before reaches the command"""
    def before():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # until the command waits for it
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    its = peer()
    it = Run(*SAYS_SIGNALS, peer=its, preexec_fn=before)
    it.waits_for('SIGALRM\nSIGALRM')
    os.kill(it.pid, signal.SIGTERM)
    equal(it.end(), 3, 'its exit code')


def hangs_up():
    """a terminal hangs up, and voltgate run leads the session: the command hears of it"""
    its, (master, slave), out = peer(), pty.openpty(), tempfile.TemporaryFile()
    it = Run(*SAYS_SIGNALS, peer=its, terminal=slave, stdout=out)
    it.out = out
    it.waits_for('ready')
    os.close(slave)
    os.close(master)
    it.waits_for('SIGHUP')
    os.kill(it.pid, signal.SIGTERM)
    equal((it.end(), it.said().splitlines()[1:]), (3, ['SIGHUP', 'SIGTERM']), 'its end')


def too_early():
    """Ctrl-C when its signals are blocked, and the command is not there yet: the command gets it"""
    if not shutil.which('strace'):
        raise Skip('no strace')
    its, screen = peer(), Terminal()
    it = Run('strace', '-qq', '-o', '/dev/null', '-e', 'trace=signalfd4', '-e', 'inject=signalfd4:delay_exit=1000000',
             program(), 'run', '--gate', its.path, 'sleep', '1000', terminal=screen.slave)

    def tracee():
        with open(f'/proc/{it.pid}/task/{it.pid}/children') as file:
            return [int(pid) for pid in file.read().split() if blocks(pid)]

    def blocks(pid):  # what strace itself does not block
        with open(f'/proc/{pid}/status') as file:
            found = re.search(r'SigBlk:\s*([0-9a-f]+)', file.read())
        return int(found[1], 16) >> (signal.SIGWINCH - 1) & 1 and \
            os.path.samefile(f'/proc/{pid}/exe', program())
    wait_until(lambda: tracee() or it.process.poll() is not None, 'its signals are blocked')
    if it.process.poll() is not None:
        raise Skip('strace may not trace')
    screen.type('\x03')
    equal(it.end(), -signal.SIGINT, 'it ends, also if Ctrl-C came late')


def continued_too_early():
    """all go on when voltgate run has seen that the command is stopped, and before it stops itself: it does not"""
    if not shutil.which('strace'):
        raise Skip('no strace')
    its = peer()
    it = Run('strace', '-qq', '-o', '/dev/null', '-e', 'trace=tgkill', '-e', 'inject=tgkill:delay_enter=1000000:when=1',
             program(), 'run', '--gate', its.path, 'sh', '-c', 'kill -STOP $$; exit 7',
             start_new_session=False, preexec_fn=lambda: os.setpgid(0, 0),  # so that it can be stopped
             env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0'))  # LeakSanitizer refuses a process that is traced

    def children(pid):
        with open(f'/proc/{pid}/task/{pid}/children') as file:
            return [int(word) for word in file.read().split()]

    def is_about_to():
        mine = children(it.pid)
        return mine and [state_of(child) for child in children(mine[0])] == ['T'] and \
            all(state_of(mine[0]) == 't' for _ in range(5) if not time.sleep(0.01))
    wait_until(lambda: it.process.poll() is not None or is_about_to(), 'it is about to stop')
    if it.process.poll() is not None:
        raise Skip('strace may not trace')
    os.killpg(it.pid, signal.SIGCONT)
    equal(it.end(), 7, 'it sees the end of the command')


def stopped_alone():
    """only the command is stopped, and continued, where no shell would continue voltgate run: that does not stop"""
    its = peer()
    it = Run(*SAYS_SIGNALS, peer=its)
    command = it.command_pid()
    for _ in range(3):
        os.kill(command, signal.SIGSTOP)
        wait_until(lambda: state_of(command) == 'T', 'it is stopped')
        said = it.said().count('SIGUSR1')
        os.kill(it.pid, signal.SIGUSR1)  # is sent on if it is not stopped
        os.kill(command, signal.SIGCONT)
        wait_until(lambda: it.said().count('SIGUSR1') > said, 'a signal is sent on')
    os.kill(command, signal.SIGTERM)
    equal((it.end(), its.held()), (3, 0), 'its end')


# ---- while it waits ----

def places():
    """a terminal shows the place; standard error that is none has nothing"""
    its, screen = peer(), Terminal()
    first = Run('--take', 'cores=2', *WAITS, peer=its)
    first.command_pid()
    silent = Run('true', peer=its)
    wait_until(lambda: its.waiting() == 1, 'it waits')
    shown = Run('echo', 'done', peer=its, terminal=screen.slave)
    screen.waits_for('waits for cores=1, place 2')
    os.kill(silent.pid, signal.SIGINT)
    equal(silent.end(), -signal.SIGINT, 'Ctrl-C ends what waits')
    equal(silent.complained(), '', 'it has said nothing')
    screen.waits_for('waits for cores=1, place 1')
    first.kill()
    equal(shown.end(), 0, 'its exit code')
    screen.waits_for('place 1\r\x1b[Kdone')
    equal((its.held(), its.waiting()), (0, 0), 'in the end')


def limits_of_waiting():
    """--or-fail and --wait end with 124, and leave nothing behind"""
    its = peer()
    first = Run('--take', 'cores=2', *WAITS, peer=its)
    first.command_pid()
    equal(run(its, '--or-fail', 'echo', 'no').returncode, 124, '--or-fail')
    done = run(its, '--wait', '1ms', 'echo', 'no')
    equal((done.returncode, done.stdout), (124, ''), '--wait')
    equal(its.lines('take')[1:], ['take cores=1 wait=0 command="echo no"', 'take cores=1 wait=1ms command="echo no"'],
          'what was asked for')
    equal(its.waiting(), 0, 'waiting')
    first.kill()
    for _ in range(30):  # the gate has it back before the one before has ended
        equal(run(its, '--take', 'cores=2', '--or-fail', 'true').returncode, 0, 'one behind another')


def waits_on():
    """the gate ends, and is back, while a command waits: it queues again"""
    its = peer()
    opens = False
    its.fits = lambda wants: opens
    waits, late = Run('echo', 'done', peer=its), Run('--wait', '1h', 'true', peer=its)
    for _ in range(5):
        wait_until(lambda: its.waiting() == 2, 'both wait')
        its.end()
        its.begin()
    wait_until(lambda: its.waiting() == 2, 'both wait again')
    opens = True
    its.set()
    equal((waits.end(), late.end(), waits.said(), waits.complained()), (0, 0, 'done\n', ''), 'their ends')
    left = [int(line.split(' wait=')[1].split('ms')[0]) for line in its.lines('take') if ' wait=' in line]
    require(left[0] == 3600000 and left == sorted(left, reverse=True) and left[-1] < left[0], left)


# ---- what ends ----

def killed_run():
    """voltgate run is killed: so is the command, and the permit is back"""
    its = peer()
    it = Run(*WAITS, peer=its)
    command = it.command_pid()
    equal(its.held(), 1, 'held')
    os.kill(it.pid, signal.SIGKILL)
    equal(it.end(), -signal.SIGKILL, 'its exit code')
    wait_until(lambda: is_gone(command), 'the command is killed')
    wait_until(lambda: its.held() == 0, 'the permit is back')


def killed_command():
    """the command is killed: voltgate run dies by the same signal, with the permit given back"""
    its = peer()
    it = Run(*WAITS, peer=its)
    os.kill(it.command_pid(), signal.SIGKILL)
    equal(it.end(), -signal.SIGKILL, 'its exit code')
    equal((its.held(), its.lines('give')), (0, ['give']), 'the permit')


def gate_ends():
    """the gate ends and is back: the permit is claimed, before and behind all else"""
    its = peer()
    it = Run('--label', 'x', *SAYS_SIGNALS, peer=its)
    it.waits_for('ready')
    for _ in range(3):
        its.end()
        os.kill(it.pid, signal.SIGUSR1)
        its.begin()
        wait_until(lambda: its.held() == 1, 'it is held again')
    equal(its.lines('claim')[0].split(' command=')[0], 'claim cores=1 label="x"', 'what was claimed')
    equal(its.holders()[0].pid, it.pid, 'by whom')
    os.kill(it.pid, signal.SIGTERM)
    equal((it.end(), it.complained(), its.held()), (3, '', 0), 'its end')


def gate_is_gone():
    """the gate ends for good: a warning, and the command goes on"""
    its = peer()
    it = Run(*SAYS_SIGNALS, peer=its)
    it.waits_for('ready')
    its.end()
    wait_until(lambda: 'goes on without a permit' in it.complained(), 'the warning')
    os.kill(it.pid, signal.SIGTERM)
    equal((it.end(), it.complained().count('\n')), (3, 1), 'its end, and one line')


def gate_refuses():
    """a gate that is back and does not know the kind: said once, and the command goes on"""
    its = peer()
    it = Run('--take', 'memory=1', *SAYS_SIGNALS, peer=its)
    it.waits_for('ready')
    its.end()
    its.limits = {'cores': 1}
    its.begin()
    wait_until(lambda: 'no such kind' in it.complained(), 'why')
    os.kill(it.pid, signal.SIGTERM)
    equal((it.end(), it.complained().count('\n')), (3, 1), 'its end, and one line')


def nobody_reads():
    """a warning that nobody reads: the command goes on"""
    its, (reads, writes) = peer(), os.pipe()
    it = Run('--take', 'memory=1', *SAYS_SIGNALS, peer=its, stderr=writes)
    os.close(writes)
    os.close(reads)
    it.waits_for('ready')
    its.end()
    its.limits = {'cores': 1}
    its.begin()
    wait_until(lambda: its.lines('claim'), 'it claims, and is refused')
    for number in range(10):  # to hear of one, voltgate run has to be there
        os.kill(it.pid, signal.SIGUSR1)
        wait_until(lambda: it.said().count('SIGUSR1') > number or it.process.poll(), 'a signal is sent on')
    os.kill(it.pid, signal.SIGTERM)
    equal(it.end(), 3, 'its end')


def kept():
    """--keep: what the command leaves behind holds on to the permit"""
    its = peer()
    it = Run('--keep', 'sh', '-c', 'sleep 1000 & echo ready $! $$', peer=its)
    daemon = it.command_pid()
    at_end.callback(lambda: is_gone(daemon) or os.kill(daemon, signal.SIGKILL))
    equal(it.end(), 0, 'its exit code')
    equal(int(it.said().split()[2]), it.pid, 'the command is in its place')
    equal((its.held(), its.lines('give')), (1, []), 'the permit is held')
    os.kill(daemon, signal.SIGKILL)
    wait_until(lambda: its.held() == 0, 'it is back')


def no_answer():
    """a gate that says nothing: Ctrl-C ends it"""
    its = peer()
    its.is_mute = True
    it = Run('true', peer=its)
    wait_until(lambda: its.clients, 'it has connected')
    os.kill(it.pid, signal.SIGTERM)
    equal(it.end(), -signal.SIGTERM, 'its exit code')


if __name__ == '__main__':
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # a shell has them ignored in what it runs in the background
    run_tests([], streams, failures_, signals, timer, terminal, hangs_up, too_early, continued_too_early, stopped_alone,
              places, limits_of_waiting, waits_on, killed_run, killed_command, gate_ends, gate_is_gone, gate_refuses,
              nobody_reads, kept, no_answer)
