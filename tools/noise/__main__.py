#!/usr/bin/env python3
"""Runs all tests on a machine that is as busy as it can be, and says which of them fail for it.

  noise [--minutes M] [--rounds N] [--seed S] BUILD [CTEST OPTION]...

While ctest runs the tests of a build directory, processes of theirs are stopped and continued at random (most for
less than 0.3 s, some for up to 2 s), each core has something else to do, and the page cache is filled. A test fails
for what happened, never for how long it took: whatever fails here, and passes alone, is a defect of the test or of
what it tests. Exit code 0: no test failed; 1: some did; 2: usage."""
import argparse
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
USUAL = 20  # times what is usual, a test may take: it is stopped and has a part of a core
NEVER_STOPPED = re.compile(r"cc1(plus)?|as|ld|collect2|clang(\+\+)?(-\d+)?|ninja|cmake|ctest")  # no tests
FILL_MB = 256


def children():
    """The processes of this machine by their parent."""
    by_parent = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            stat = Path("/proc", name, "stat").read_text(errors="replace")
        except OSError:
            continue  # it has ended
        comm, _, rest = stat.partition("(")[2].rpartition(")")
        by_parent.setdefault(int(rest.split()[1]), []).append((int(name), comm))
    return by_parent


def below(pid):
    """All descendants: (pid, name)."""
    by_parent, found, more = children(), [], [pid]
    while more:
        for child in by_parent.get(more.pop(), []):
            found.append(child)
            more.append(child[0])
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False


class Load:
    """What else the machine does: a process for each core that computes, one that fills the page cache."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="volt-noise.")
        self.processes = [self.start(self.compute) for _ in range(os.cpu_count() or 1)]
        self.processes.append(self.start(self.fill))

    def start(self, what):
        parent, pid = os.getpid(), os.fork()
        if pid:
            return pid
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            while os.getppid() == parent:
                what()
        finally:
            os._exit(0)

    @staticmethod
    def compute():
        sum(i * i for i in range(200000))

    def fill(self):
        path = os.path.join(self.directory.name, "filled")
        with open(path, "wb") as file:
            for _ in range(FILL_MB):
                file.write(os.urandom(1 << 10) * (1 << 10))
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass

    def stop(self):
        for pid in self.processes:
            send(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.directory.cleanup()


class Noise:
    """Stops processes below ctest, each for a while."""

    def __init__(self, ctest, rng, spared):
        self.ctest, self.rng, self.spared = ctest, rng, spared
        self.stopped, self.count, self.next = {}, 0, 0.0

    def step(self):
        now = time.monotonic()
        for pid in [pid for pid, until in self.stopped.items() if until <= now]:
            send(pid, signal.SIGCONT)
            del self.stopped[pid]
        if now < self.next:
            return
        self.next = now + self.rng.uniform(0.01, 0.15)
        candidates = [pid for pid, name in below(os.getpid())
                      if pid not in self.stopped and pid not in self.spared and not NEVER_STOPPED.fullmatch(name)]
        if candidates and send(pid := self.rng.choice(candidates), signal.SIGSTOP):
            is_long = self.rng.random() < 0.1
            self.stopped[pid] = now + (self.rng.uniform(0.3, 2) if is_long else self.rng.uniform(0.01, 0.3))
            self.count += 1

    def end(self):
        for pid in self.stopped:
            send(pid, signal.SIGCONT)


def one_round(build, options, rng):
    """The tests that failed, how many ran, how often a process was stopped."""
    load = Load()
    with tempfile.TemporaryFile("w+") as out:
        command = ["ctest", "--test-dir", build, "--timeout", str(300 * USUAL), "--no-tests=error", *options]
        ctest = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                 env={**os.environ, "VOLT_NOISE": "1"})
        noise = Noise(ctest, rng, {ctest.pid, *load.processes})
        try:
            while ctest.poll() is None:
                noise.step()
                time.sleep(0.005)
        finally:
            noise.end()
            ctest.terminate()
            ctest.wait()
            load.stop()
            for pid, _ in below(os.getpid()):  # what tests have left behind
                send(pid, signal.SIGCONT)
                send(pid, signal.SIGKILL)
        out.seek(0)
        said = out.read()
    ran = re.search(r"(\d+)% tests passed, (\d+) tests? failed out of (\d+)", said)
    if not ran:
        sys.exit(f"noise: ctest has run no tests:\n{said[-2000:]}")
    failed = re.findall(r"^\s*\d+ - (.+) \((?!Skipped|Not Run \(Disabled)", said, re.M)
    if len(failed) != int(ran.group(2)):
        sys.exit(f"noise: ctest counts {ran.group(2)} failures, and names {failed}:\n{said[-2000:]}")
    return failed, int(ran.group(3)), noise.count, said


def main():
    parser = argparse.ArgumentParser(prog="noise", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=0, help="go on in rounds for so long")
    parser.add_argument("--rounds", type=int, default=1, help="so many at least")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("build")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="of ctest")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error("at least one round")
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rng, end, rounds, failures = random.Random(asked.seed), time.monotonic() + asked.minutes * 60, 0, {}
    print(f"seed {asked.seed}", flush=True)
    while rounds < asked.rounds or time.monotonic() < end:
        started = time.monotonic()
        failed, ran, stopped, said = one_round(asked.build, asked.options, rng)
        rounds += 1
        for test in failed:
            failures[test] = failures.get(test, 0) + 1
        log = Path(asked.build, f"noise-{rounds}.log")
        log.write_text(said)
        print(f"round {rounds}: {ran} tests, {len(failed)} failed; {stopped} times a process was stopped;"
              f" {time.monotonic() - started:.0f} s; {log}", flush=True)
        for test in failed:
            print(f"  {test}", flush=True)
    print(f"{rounds} rounds, {sum(failures.values())} failures of {len(failures)} tests")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
