#!/usr/bin/env python3
"""nearby_test.py VOLTGATE: the gate of a user, which voltgate run starts when it is not there: one, whoever is first;
it ends when it is not used, and what it held is claimed when it was killed."""
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import threading

from voltgate_kit import LIMIT, at_end, equal, gate_is_there, program, require, run_tests, scratch, wait_until

# Notes how many run at once: argv[1] is a file of two numbers, those that run and the most so far.
COUNTS = [sys.executable, '-c', '''
import fcntl, sys, time
def add(n):
    with open(sys.argv[1], "r+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        now, most = map(int, f.read().split())
        f.seek(0)
        f.truncate()
        f.write(f"{now + n} {max(most, now + n)}")
add(1)
time.sleep(0.02)
add(-1)
''']


class Home:
    """A user's directories, and the gates that run for them."""

    def __init__(self, ini=None):
        self.path = scratch()
        self.socket = os.path.join(self.path, 'voltgate', 'permits.sock')
        self.env = {**os.environ, 'XDG_RUNTIME_DIR': self.path, 'XDG_CONFIG_HOME': self.path, 'LC_ALL': 'C'}
        self.env.pop('VOLTGATE_PERMITS', None)
        if ini:
            os.mkdir(os.path.join(self.path, 'voltgate'))
            with open(os.path.join(self.path, 'voltgate', 'permits.ini'), 'w') as file:
                file.write(ini)
        at_end.callback(self.end)

    def gates(self):
        """The processes that are gates of this home. One that has just been forked is not yet."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as line, open(f'/proc/{pid}/environ', 'rb') as environ:
                    is_gate = line.read().startswith(b'voltgate\0permits\0')
                    if is_gate and f'XDG_RUNTIME_DIR={self.path}'.encode() in environ.read().split(b'\0'):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def end(self):
        for pid in self.gates():
            os.kill(pid, signal.SIGKILL)

    def run(self, *words, **named):
        return subprocess.run([program(), 'run', *words], env=self.env, capture_output=True, text=True,
                              timeout=LIMIT, stdin=subprocess.DEVNULL, **named)

    def start(self, *words):
        process = subprocess.Popen([program(), 'run', *words], env=self.env, stdout=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL)
        at_end.callback(process.wait)
        at_end.callback(process.kill)
        return process

    def listed(self, word):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(LIMIT)
            s.connect(self.socket)
            s.sendall(b'list\n')
            said = b''
            while not said.endswith(b'end\n'):
                piece = s.recv(65536)
                require(piece, said)
                said += piece
        return [line for line in said.decode().splitlines() if line.startswith(word)]


INI = '[gate permits]\nprotocol = permit\nlisten = fd:permits\nkinds = cores=2\nclaim-period = 10s\n'


def started():
    """without a configuration: all cores and all memory, and a socket of the user alone"""
    home = Home()
    done = home.run('--take', 'cores=1,memory=1M', 'echo', 'done')
    equal((done.returncode, done.stdout, done.stderr), (0, 'done\n', ''), 'what it did')
    equal(len(home.gates()), 1, 'gates')
    equal(os.stat(home.socket).st_mode & 0o777, 0o600, 'mode of the socket')
    kinds = {line.split()[1]: line.split()[2] for line in home.listed('kind')}
    equal(kinds['cores'], f'limit={len(os.sched_getaffinity(0))}', 'cores')
    require(int(kinds['memory'].split('=')[1]) > 1 << 20, kinds)


def at_once():
    """twelve begin at once: one gate, and no more run than it has cores"""
    home = Home(INI.replace('10s', '0'))
    ledger = os.path.join(home.path, 'ledger')
    with open(ledger, 'w') as file:
        file.write('0 0')
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(home.run(*COUNTS, ledger).returncode)) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(codes, [0] * 12, 'exit codes')
    equal(len(home.gates()), 1, 'gates')
    with open(ledger) as file:
        now, most = map(int, file.read().split())
    equal(now, 0, 'running in the end')
    require(1 <= most <= 2, most)


def limits():
    """--or-fail, --wait, and more than there is, at voltgate's own gate"""
    home = Home(INI.replace('10s', '0'))
    holder = home.start('--take', 'cores=2', 'sh', '-c', 'echo ready; exec sleep 1000')
    equal(holder.stdout.readline(), 'ready\n', 'it runs')
    for words, code, says in ((['--or-fail'], 124, 'busy'), (['--wait', '10ms'], 124, 'timeout'),
                              (['--take', 'cores=3'], 125, 'impossible'), (['--take', 'gpu=1'], 125, 'kind')):
        done = home.run(*words, 'true')
        equal(done.returncode, code, words)
        require(f': {says}: ' in done.stderr, done.stderr)
    waits = home.start('--label', 'a "b"', 'echo', 'done')
    wait_until(lambda: home.listed('waiter'), 'it waits')
    require('label="a \\"b\\""' in home.listed('waiter')[0], home.listed('waiter'))
    holder.kill()
    equal(waits.communicate(timeout=LIMIT)[0], 'done\n', 'it is next')


def killed():
    """the gate is killed: those that held start another one, and claim before one that takes"""
    home = Home(INI)
    home.run('true')  # behind the claim period of the first
    holders = [home.start('sh', '-c', 'echo ready; exec sleep 1000') for _ in range(2)]
    for h in holders:
        equal(h.stdout.readline(), 'ready\n', 'it runs')
    before = home.gates()
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: home.gates() not in ([], before), 'there is another one')
    equal(home.run('--or-fail', 'true').returncode, 124, 'one that takes')
    wait_until(lambda: len(home.listed('holder')) == 2, 'both hold it again')
    pids = sorted(int(line.split('pid=')[1].split()[0]) for line in home.listed('holder'))
    equal(pids, sorted(h.pid for h in holders), 'who holds it')
    equal(len(home.gates()), 1, 'gates')


def is_started():
    """the gate is killed, and another process is long about to start it: a command and its signals do not wait for that"""
    home = Home(INI.replace('10s', '0'))
    holder = home.start('sh', '-c', 'trap "echo USR1" USR1; echo ready; while :; do sleep 0.01; done')
    equal(holder.stdout.readline(), 'ready\n', 'it runs')
    with open(home.socket + '.lock') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        killed = home.gates()
        os.kill(killed[0], signal.SIGKILL)
        for _ in range(20):
            os.kill(holder.pid, signal.SIGUSR1)
            require(select.select([holder.stdout], [], [], LIMIT)[0], 'the command gets a signal')
            equal(holder.stdout.readline(), 'USR1\n', 'what it gets')
    wait_until(lambda: home.gates() not in ([], killed), 'there is another gate')
    wait_until(lambda: len(home.listed('holder')) == 1, 'it holds it again')


def unused():
    """it ends when it is not used, and is there again when it is asked"""
    home = Home(INI.replace('10s', '0') + '[voltgate]\nend-unused = 100ms\n')
    for _ in range(3):
        equal(home.run('true').returncode, 0, 'it runs')
        wait_until(lambda: not home.gates(), 'it ends')
    holder = home.start('sh', '-c', 'echo ready; read line')
    equal(holder.stdout.readline(), 'ready\n', 'it runs')
    first = home.gates()
    equal(home.run('true').returncode, 0, 'another one')
    equal(home.gates(), first, 'it does not end while it is used')


def wrong():
    """a configuration that is wrong is an error, and not a wait"""
    home = Home('[gate permits]\nprotocol = nothing\n')
    done = home.run('true')
    equal((done.returncode, done.stdout), (125, ''), 'it has failed')
    require(done.stderr.count('\n') == 1 and home.socket in done.stderr, done.stderr)


def cannot():
    """it cannot be started: standard error says why; and nothing is left in the directory of another user"""
    home = Home()
    os.makedirs(home.socket + '.lock')
    done = home.run('true')
    equal((done.returncode, done.stderr), (125, f'voltgate: run: unix:{home.socket}: Is a directory\n'), 'why')
    if os.geteuid() == 0:
        home = Home()
        os.chown(home.path, 65534, 65534)
        equal((home.run('true').returncode, os.listdir(home.path)), (125, []), "another user's")


def ignored():
    """the ends of its children are ignored: it starts the gate, and runs"""
    home = Home()
    done = home.run('echo', 'done', preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    equal((done.returncode, done.stdout, done.stderr), (0, 'done\n', ''), 'what it did')


def inherited():
    """voltgate permits serves at a socket that systemd gives it"""
    home = Home()
    os.mkdir(os.path.dirname(home.socket))
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(home.socket)
        s.listen(10)
        gate = subprocess.Popen(['sh', '-c', f'export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=permits; '
                                 f'exec "{program()}" permits 3<&{s.fileno()}'],
                                env=home.env, pass_fds=[s.fileno()])
        at_end.callback(gate.wait)
        at_end.callback(gate.kill)
        equal(home.run('echo', 'x').stdout, 'x\n', 'it is asked')
    equal(home.gates(), [], 'and no other was started')
    equal(subprocess.run([program(), 'permits'], env=home.env, capture_output=True).returncode, 1, 'without a socket')


if __name__ == '__main__':
    run_tests([gate_is_there], started, at_once, limits, killed, is_started, unused, wrong, cannot, ignored, inherited)
