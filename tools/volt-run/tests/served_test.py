#!/usr/bin/env python3
"""served_test.py VOLT_RUN PLANTED SERVED SERVED_CXX [--whole] [--ltp DIR]: programs give the same answers with glibc's
locks, watched, and with volt's (volt-run --fair, --bypass K). Nothing here depends on how fast anything is.

--whole     more rounds of each; 3,000 of the one in which glibc loses a post that meets a cancel
--ltp DIR   instead: the open POSIX test suite of a checkout of the Linux Test Project (served_ltp.py)"""

import os
import signal
import subprocess
import sys
import tempfile
import json

RUN, PLANTED, SERVED, SERVED_CXX = sys.argv[1:5]
WHOLE = "--whole" in sys.argv
LIMIT = 1200 if WHOLE else 120
WAYS = {"glibc": None, "watched": (), "fair": ("--fair",), "bypass": ("--bypass", "16")}

SAME = ("kinds", "statics", "memory", "conditions", "users", "processes", "destroyed", "signal", "asynchronous", "handler",
        "interrupted", "again", "forks", "queued", "handed", "shared", "last", "clocks", "barriers", "readers", "ends", "error")
# glibc does not do these: it loses a post, counts a thread for ever that was cancelled while it was queued, and lets
# readers pass.
SERVED_ALONE = ("post", "writer", "passing")


def require(condition, what):
    if not condition:
        raise AssertionError(what)


class Run:
    """A program to its end, in one of the ways."""

    def __init__(self, way, *command, **more):
        options = WAYS[way]
        with tempfile.TemporaryDirectory() as directory:
            before = [] if options is None else [RUN, "--json", f"{directory}/json", "--on-deadlock", "abort", *options]
            done = subprocess.run([*before, *command], capture_output=True, timeout=LIMIT, **more)
            self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
            path = f"{directory}/json"
            self.reports = [json.loads(line) for line in open(path)] if os.path.exists(path) else []
        self.deadlocks = [r for r in self.reports if r["why"] == "deadlock"]


def expect_well(way, *command):
    run = Run(way, *command)
    require((run.code, run.out, run.err, run.deadlocks) == (0, b"", b"", []),
            f"{way}: {command}: {run.code} {run.out} {run.err} {run.deadlocks}")


def same():
    """each ends well in each of the ways"""
    for what in SAME:
        for way in WAYS:
            expect_well(way, SERVED, what)
    return f"{len(SAME)} programs, {len(WAYS)} ways"


def served_alone():
    """a cancel that meets a post, or a writer that is queued, a reader behind a writer with a deadline: with volt's locks alone"""
    for what in SERVED_ALONE:
        for way in ("fair", "bypass"):
            expect_well(way, SERVED, what, *(["3000"] if WHOLE and what == "post" else []))


def more_rounds():
    """the races, many times"""
    for what, rounds in (("statics", 3000), ("destroyed", 3000), ("signal", 5000), ("asynchronous", 1000),
                         ("handler", 20000), ("forks", 1000), ("last", 5000), ("lost", 3000)):
        for way in ("fair", "bypass"):
            expect_well(way, SERVED, what, str(rounds))


def order():
    """threads have the lock in the order in which they came, whatever looks at them meanwhile"""
    expect_well("fair", SERVED, "order", *(["20"] if WHOLE else []))


def cxx():
    """all locks of libstdc++"""
    for way in WAYS:
        expect_well(way, SERVED_CXX)


def planted():
    """planted deadlocks are reported, and programs without any go on"""
    for way in ("fair", "bypass"):
        for seed in range(1, 101 if WHOLE else 9):
            run = Run(way, PLANTED, "circle", str(seed))
            threads = int(run.out.split()[0])
            require(run.code == -signal.SIGABRT and len(run.deadlocks) == 1, f"{way}, seed {seed}: {run.err}")
            require(len(run.deadlocks[0]["circle"]) == threads, f"{way}, seed {seed}: {run.deadlocks[0]['circle']}")
        for what in ("itself", "condition", "priority", "tiny", "depth"):
            run = Run(way, PLANTED, what)
            require(run.code == -signal.SIGABRT and len(run.deadlocks) == 1, f"{way}: {what}: {run.err}")
        for seed in range(1, 51 if WHOLE else 4):
            run = Run(way, PLANTED, "crowd", str(seed))
            require((run.code, run.deadlocks) == (0, []), f"{way}: crowd {seed}: {run.err}")
        for what in ("hold", "conditions", "wrong", "cancel", "fork", "handler", "strict", "nothing"):
            expect_well(way, PLANTED, what)


def orders():
    """reads of two locks in two orders could deadlock, which they cannot with glibc's; memory that is used again"""
    for way, what, count in (("watched", "orders-reads", 0), ("fair", "orders-reads", 1), ("fair", "orders-reused", 0)):
        run = Run(way, PLANTED, what)
        require(run.code == 0, f"{way}: {what}: {run.err}")
        found = [order for report in run.reports for order in report["orders"]]
        require(len(found) == count, f"{way}: {what}: {found}")


def books():
    """what the books say of a served program: who held, for how long"""
    run = Run("fair", PLANTED, "hold")
    lock = next(lock for lock in run.reports[-1]["locks"] if lock["kind"] == "mutex" and lock["waits"])
    require((lock["acquires"], lock["waits"]) == (4, 2), lock)
    require(lock["longest_wait"]["ns"] >= 40e6 and lock["longest_hold"]["ns"] >= 50e6, lock)
    run = Run("fair", PLANTED, "tiny")
    require("barrier" in [lock["kind"] for lock in run.reports[0]["locks"]], run.reports)
    require([lock for lock in run.reports[0]["locks"] if lock["made_at"] == "0x0"] == [], run.reports)


PYTHON = ("import threading as t, queue, subprocess, concurrent.futures as f\n"
          "q = queue.Queue(3)\n"
          "x = [t.Thread(target=lambda: [q.put(i) for i in range(300)]) for _ in range(6)]\n"
          "[a.start() for a in x]\n"
          "print(sum(q.get() for _ in range(1800)), subprocess.run(['sh', '-c', 'exit 3']).returncode)\n"
          "print(sum(f.ThreadPoolExecutor(5).map(abs, range(-300, 0))))\n")


def programs():
    """programs of this machine print what they print with glibc's locks"""
    data, tried = os.urandom(1 << 16) * 64, []
    for command in (["python3", "-c", PYTHON], ["sort", "--parallel=4"], ["xz", "-T4", "-0", "-c"],
                    ["zstd", "-T4", "-q", "-c"], ["pigz", "-p", "4", "-n", "-c"], ["sh", "-c", "exit 7"]):
        try:
            plain = Run("glibc", *command, input=data)
        except FileNotFoundError:
            continue
        for way in ("fair", "bypass"):
            run = Run(way, *command, input=data)
            require((run.code, run.out, run.deadlocks) == (plain.code, plain.out, []), f"{way}: {command}: {run.err}")
        tried.append(command[0])
    return ", ".join(tried)


def python_tests():
    """Python's own tests of its threads and queues"""
    for way in ("fair", "bypass"):
        run = Run(way, "python3", "-m", "test", "test_thread", "test_queue")
        if b"No module named test" in run.err:
            return "there are none"
        require((run.code, run.deadlocks) == (0, []), f"{way}: {run.out[-500:]} {run.err[-500:]}")


def command_line():
    """what it is not is refused, with words"""
    for options, words in ((("--bypass", "256"), "bypass"), (("--bypass", "x"), "bypass"),
                           (("--fair", "--bypass", "3"), "exclude")):
        done = subprocess.run([RUN, *options, "true"], capture_output=True, text=True, timeout=LIMIT)
        require(done.returncode == 2 and words in done.stderr, f"{options}: {done.stderr}")
    library = os.path.join(os.path.dirname(os.path.realpath(RUN)), "libvolt-pthread.so")
    for wrong in ("fair", "-1", "256", ""):
        env = {**os.environ, "LD_PRELOAD": library, "VOLT_RUN_PROGRAM": RUN, "VOLT_RUN_SERVE": wrong}
        done = subprocess.run(["true"], capture_output=True, text=True, timeout=LIMIT, env=env)
        require(done.returncode == 126 and "VOLT_RUN_SERVE" in done.stderr, f"{wrong}: {done}")


def main():
    failures = 0
    for check in (same, served_alone, order, cxx, planted, orders, books, programs, command_line) + ((more_rounds, python_tests) * WHOLE):
        try:
            said = check()
            print(f"ok: {check.__doc__}{f': {said}' if said else ''}", flush=True)
        except Exception as e:
            failures += 1
            print(f"FAILED: {check.__doc__}: {type(e).__name__}: {e}", flush=True)
    sys.exit(1 if failures else 0)


if "--ltp" in sys.argv:
    os.execvp("python3", ["python3", "-B", os.path.join(os.path.dirname(__file__), "served_ltp.py"), RUN,
                          sys.argv[sys.argv.index("--ltp") + 1]])
main()
