#!/usr/bin/env python3
"""attach_test.py VOLT_RUN PLANTED [VOLT_TOP]: reports from outside: of programs that hang, that are deaf to signals, that are stopped,
that go on, that end just then; and words for all that cannot be asked."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

RUN, PLANTED = sys.argv[1:3]
SEED = int(os.environ.get("VOLT_TEST_SEED") or time.time()) % 1000000
LIMIT = 200


class Skip(Exception):
    pass


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, expected, what):
    require(found == expected, f"{what}: {found!r}, not {expected!r}")


def ask(pid, *options, **how):
    return subprocess.run([RUN, *options, "--attach-report", str(pid)], capture_output=True, text=True, timeout=LIMIT, **how)


def ask_json(pid):
    done = ask(pid, "--json", "-")
    equal((done.returncode, done.stderr), (0, ""), "asked")
    return json.loads(done.stdout)


class Running:
    """A planted program that stands still once it has printed a line."""

    def __init__(self, *what, options=(), waits=True):
        self.directory = tempfile.TemporaryDirectory()
        self.path = f"{self.directory.name}/json"
        self.program = subprocess.Popen([RUN, "--json", self.path, *options, PLANTED, *what], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.line = self.program.stdout.readline() if waits else ""
        self.pid = self.program.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.communicate()
        self.directory.cleanup()

    def reports(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path) as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_for(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        require(time.monotonic() < end, f"not within {LIMIT} s: {what}")
        time.sleep(0.01)


def circle_of(report):
    return {(e["waiter"]["tid"], e["holder"]["tid"]) for e in report["graph"] if e["in_circle"]}


# ---- what can be asked ----

def a_deadlock():
    """a deadlock, as text, as JSON and as a page: its circle is the one that was reported"""
    for seed in range(SEED, SEED + 5):
        with Running("circle", str(seed)) as running:
            wait_for(lambda: len(running.reports()) == 1, "it is reported")
            members = [c["thread"]["tid"] for c in running.reports()[0]["circle"]]
            report = ask_json(running.pid)
            equal((report["why"], report["pid"], report["deadlocks"]), ("asked", running.pid, 1), f"seed {seed}")
            require(set(zip(members, members[1:] + members[:1])) <= circle_of(report), f"seed {seed}: {report['graph']}")
            equal({t for edge in circle_of(report) for t in edge}, set(members), f"seed {seed}: threads in circles")
            for thread in report["threads"]:
                if thread["thread"]["tid"] in members:
                    require(thread["waits_now"]["stack"] and thread["waits_now"]["ns"] > 0, thread)
            text = ask(running.pid)
            require(text.stdout.startswith("volt-run: ") and text.stdout.count("waits now, for") >= len(members), text)
            require(text.stdout.count(", in a circle") >= len(members), text)
            page = ask(running.pid, "--html", "-")
            require("wait for each other in a circle" in page.stdout, page.stdout[:200])
            ET.fromstring(page.stdout)
            equal((len(running.reports()), running.program.poll()), (1, None), "the program has not been disturbed")
    return f"from seed {SEED} on"


def to_files():
    """several forms at once, to files"""
    with Running("circle", str(SEED)) as running, tempfile.TemporaryDirectory() as directory:
        done = ask(running.pid, "--json", f"{directory}/j", "--html", f"{directory}/h", "--output", f"{directory}/t")
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "asked")
        equal(sorted(os.listdir(directory)), ["h", "j", "t"], "files")
        os.symlink(f"{directory}/h", f"{directory}/link")
        equal(ask(running.pid, "--html", f"{directory}/link").returncode, 0, "by a link")
        require(os.path.islink(f"{directory}/link"), "a link stays one")


def deaf():
    """a program that blocks all signals and has a handler of its own for SIGUSR2; and when it is stopped"""
    with Running("deaf") as running:
        wait_for(lambda: len(circle_of(ask_json(running.pid))) == 2, "both wait")
        running.program.send_signal(signal.SIGSTOP)
        wait_for(lambda: open(f"/proc/{running.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T", "it is stopped")
        report = ask_json(running.pid)
        equal(len(circle_of(report)), 2, "edges in the circle")
        equal(open(f"/proc/{running.pid}/stat").read().rsplit(")", 1)[1].split()[0], "T", "it still is")
        with open(f"/proc/{running.pid}/status") as status:
            pending = [line for line in status if line.startswith(("SigPnd", "ShdPnd"))]
        require(all(int(line.split()[1], 16) & (1 << (signal.SIGUSR2 - 1)) == 0 for line in pending), pending)


def all_sleep(pid):
    tasks = f"/proc/{pid}/task"
    states = [open(f"{tasks}/{tid}/stat").read().rsplit(")", 1)[1].split()[0] for tid in os.listdir(tasks)]
    return set(states) == {"S"}


def standstill():
    """all threads wait, for a condition, a post and an end: no thread can go on; not if one is left that could"""
    for options in ((), ("--fair",)):
        with Running("standstill", options=options) as running:
            wait_for(lambda: ask_json(running.pid)["is_standstill"], f"{options}: it is seen")
            require("no thread of it can go on" in ask(running.pid).stdout, "as text")
            page = ask(running.pid, "--html", "-").stdout
            ET.fromstring(page)
            require("No thread of it can go on" in page, "as a page")
            running.program.send_signal(signal.SIGSTOP)
            wait_for(lambda: not all_sleep(running.pid), "it is stopped")
            require(not ask_json(running.pid)["is_standstill"], "it is stopped: a debugger may do that")
        for left, waiters in (("timed", 4), ("reads", 3), ("unknown", 3)):
            with Running(f"standstill-{left}", options=options) as running:
                def is_left_alone():
                    report = ask_json(running.pid)
                    require(not report["is_standstill"], f"{options}: {left}: {report['threads']}")
                    return sum(bool(t["waits_now"]) for t in report["threads"]) == waiters and all_sleep(running.pid)
                for _ in range(5):
                    wait_for(is_left_alone, f"{options}: {left}: the others wait")


def a_child():
    """the child of a fork has books of its own"""
    with Running("parent") as running:
        parent, child = ask_json(running.pid), ask_json(int(running.line))
        waits = [[t for t in r["threads"] if t["waits_now"]] for r in (parent, child)]
        equal([len(w) for w in waits], [1, 1], "threads that wait")
        equal([r["pid"] for r in (parent, child)], [running.pid, int(running.line)], "processes")
        require(waits[0][0]["thread"]["tid"] != waits[1][0]["thread"]["tid"], waits)


def one_that_goes_on():
    """a program that takes locks all the time is asked all the time: no circle is seen, because there is none"""
    asked = 0
    for seed in range(SEED, SEED + 6):
        with Running("crowd", str(seed), waits=False) as running:
            while running.program.poll() is None:
                done = ask(running.pid, "--json", "-")
                if done.returncode != 0:
                    require(re.search("was not started by|just ended|just begun another|is not watched", done.stderr), done)
                    continue
                report = json.loads(done.stdout)
                equal(circle_of(report), set(), f"seed {seed}: {report['graph']}")
                require(not report["is_standstill"], f"seed {seed}: {report['threads']}")
                asked += 1
            equal(running.program.returncode, 0, f"seed {seed}")
    require(asked > 0, "it was asked")
    return f"{asked} times, from seed {SEED} on"


def one_that_ends():
    """a process that ends just then: a report, or a word"""
    answered = refused = 0
    for i in range(60):
        with Running("hold", waits=False) as running:
            time.sleep(i % 20 / 200)
            done = ask(running.pid, "--json", "-")
            if done.returncode == 0:
                answered += 1
                json.loads(done.stdout)
            else:
                refused += 1
                equal((done.returncode, done.stdout), (1, ""), done.stderr)
                require(re.fullmatch("volt-run: [^\n]*\n", done.stderr), done.stderr)
    return f"{answered} reports, {refused} words"


def by_volt_top():
    """volt-top PID shows it, too"""
    if len(sys.argv) < 4 or not os.path.exists(sys.argv[3]):
        raise Skip("volt-top is not built")
    with Running("deaf") as running:
        wait_for(lambda: len(circle_of(ask_json(running.pid))) == 2, "both wait")
        done = subprocess.run([sys.argv[3], str(running.pid)], capture_output=True, text=True, timeout=LIMIT)
        equal((done.returncode, done.stderr), (0, ""), "volt-top")
        require(done.stdout.count("waits now, for") >= 2, done.stdout)


# ---- what cannot ----

def refused():
    """what was not started by volt-run, is not there, or is of another version"""
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        for pid, words in ((sleeper.pid, "was not started by volt-run"), (2**22 + 5, "there is no process")):
            done = ask(pid)
            equal((done.returncode, done.stdout), (1, ""), words)
            require(words in done.stderr, done.stderr)
    finally:
        sleeper.kill()
        sleeper.wait()
    for options in (("--attach-report", "0"), ("--attach-report", "x"), ("--attach-report", "1", "true")):
        done = subprocess.run([RUN, *options], capture_output=True, text=True, timeout=LIMIT)
        equal(done.returncode, 2, options)
    done = ask(os.getpid(), "--json", "/no/such/file")
    equal(done.returncode, 1, "not started by volt-run")


def door_of(pid):
    """(where the door is, its bytes)"""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            if "libvolt-pthread.so" not in line or " rw-p " not in line:
                continue
            begin, end = (int(n, 16) for n in line.split()[0].split("-"))
            memory.seek(begin)
            data = memory.read(end - begin)
            found = data.find(b"volt-run's books")
            if found >= 0:
                return begin + found, data[found:found + 48]
    raise AssertionError("there is no door")


def another_version():
    """books of another version, and a library that has no door"""
    with Running("circle", str(SEED)) as running:
        at, _ = door_of(running.pid)
        with open(f"/proc/{running.pid}/mem", "r+b", buffering=0) as memory:
            for place, data, words in ((at + 24, (77).to_bytes(4, "little"), "its books are of version 77, and this one reads version"),
                                       (at, b"x", "an older version of volt-run")):
                memory.seek(place)
                memory.write(data)
                done = ask(running.pid)
                equal((done.returncode, done.stdout), (1, ""), words)
                require(words in done.stderr, done.stderr)


def lies():
    """books in which all but the counts is made up: a report or a word, and no crash (root may ask any user's program)"""
    for seed in range(4):
        with Running("circle", str(SEED)) as running:
            _, door = door_of(running.pid)
            of_thread, of_detail = (int.from_bytes(door[at:at + 4], "little") for at in (28, 32))
            books = int.from_bytes(door[40:48], "little")
            threads = books + 16 + 24 + 8 + 2 * 8 * 256 + 4 * 65536
            details = threads + 4097 * of_thread
            running.program.send_signal(signal.SIGSTOP)
            with open(f"/proc/{running.pid}/mem", "r+b", buffering=0) as memory:
                for begin, size in ((books + 16, threads - books - 16 + 12 * of_thread), (details, 12 * of_detail),
                                    (details + 8193 * of_detail, 4096)):
                    memory.seek(begin)
                    memory.write(os.urandom(size) if seed % 2 else b"\xff" * size)
            for form in ("--json", "--html", "--output"):
                done = ask(running.pid, form, "-", errors="replace")
                is_word = done.returncode == 1 and re.fullmatch("volt-run: [^\n]*\n", done.stderr)
                require(is_word or (done.returncode, done.stderr) == (0, ""), f"{form}: {done.returncode} {done.stderr}")
                if form == "--html" and done.returncode == 0:
                    ET.fromstring(done.stdout)
                if form == "--json" and done.returncode == 0:
                    json.loads(done.stdout)


def another_user():
    """another user is refused, with a word"""
    if os.getuid() != 0:
        raise Skip("only root can be another user")
    with Running("circle", str(SEED)) as running:
        try:
            done = ask(running.pid, user=65534, group=65534, extra_groups=[])
        except PermissionError:
            raise Skip("another user cannot run this file") from None
        equal(done.returncode, 1, "another user")
        require("may not be read" in done.stderr, done.stderr)


def main():
    failures = 0
    for check in (a_deadlock, to_files, deaf, standstill, a_child, one_that_goes_on, one_that_ends, by_volt_top, refused, another_version,
                  lies, another_user):
        try:
            said = check()
            print(f"ok: {check.__doc__}{f': {said}' if said else ''}", flush=True)
        except Skip as e:
            print(f"skipped: {check.__doc__}: {e}", flush=True)
        except Exception as e:
            failures += 1
            print(f"FAILED: {check.__doc__}: {type(e).__name__}: {e}", flush=True)
    sys.exit(1 if failures else 0)


main()
