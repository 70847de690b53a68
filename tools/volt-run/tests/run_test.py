#!/usr/bin/env python3
"""run_test.py VOLT_RUN PLANTED [--whole]: volt-run on a program in which faults are planted (planted.c), and on
programs of this machine. Nothing here depends on how fast anything is: a deadlock ends the program."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

RUN, PLANTED = sys.argv[1:3]
WHOLE = "--whole" in sys.argv
SEED = int(os.environ.get("VOLT_TEST_SEED") or time.time()) % 1000000
LIMIT = 60
failures = 0


HAS_NAMES = b"libdw" in subprocess.run(["ldd", RUN], capture_output=True).stdout


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, expected, what):
    require(found == expected, f"{what}: {found!r}, not {expected!r}")


class Watched:
    """A program under volt-run, until its end."""

    def __init__(self, *command, options=(), env=None):
        self.reports = []
        with tempfile.TemporaryDirectory() as directory:
            path, text = f"{directory}/json", f"{directory}/text"
            done = subprocess.run([RUN, "--json", path, "--output", text, *options, *command], timeout=LIMIT,
                                  capture_output=True, text=True, env={**os.environ, **(env or {})})
            self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
            self.text = open(text).read() if os.path.exists(text) else ""
            if os.path.exists(path):
                self.reports = [json.loads(line) for line in open(path)]

    def report(self, why):
        found = [r for r in self.reports if r["why"] == why]
        equal(len(found), 1, f"reports of {why} ({self.err})")
        return found[0]

    def deadlocks(self):
        return [r for r in self.reports if r["why"] == "deadlock"]


def planted(*arguments, options=("--on-deadlock", "abort")):
    return Watched(PLANTED, *map(str, arguments), options=options)


def functions(stack):
    return [place.split(" ")[0] for place in stack]


# ---- deadlocks ----

def circles():
    """circles of 2 to 8 threads by seeds: each is reported, with all that are in it, and no other thread"""
    count = 100 if WHOLE else 12
    for seed in range(SEED, SEED + count):
        run = planted("circle", seed)
        equal(run.code, -signal.SIGABRT, f"seed {seed}: exit code; {run.err}")
        circle = run.report("deadlock")["circle"]
        threads = int(run.out.split()[0])
        equal(len(circle), threads, f"seed {seed}: threads in the circle")
        equal({c["thread"]["name"] for c in circle}, {f"planted-{i}" for i in range(threads)}, f"seed {seed}")
        for here, following in zip(circle, circle[1:] + circle[:1]):
            require("circle_thread" in functions(here["stack"]), f"seed {seed}: {here['stack']}")
            lock = here["waits_for"]
            if lock["kind"] in ("mutex", "read-write lock"):
                held = [h["address"] for h in following["holds"]]
                require(lock["address"] in held, f"seed {seed}: {lock} is not held: {following}")
        equal(len(run.text.split("deadlock in ")), 2, "the same as text")
    return f"{count} circles from seed {SEED} on"


def circles_at_once():
    """40 circles that close at the same moment: each is reported, and each once"""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/json"
        program = subprocess.Popen([RUN, "--json", path, PLANTED, "circles", str(SEED)], stdout=subprocess.PIPE)
        try:
            threads = int(program.stdout.readline().split()[0])
            wait_for(lambda: os.path.exists(path) and open(path).read().count("\n") >= 40, f"seed {SEED}: 40 reports")
            circles = [json.loads(line)["circle"] for line in open(path)]
            tids = [member["thread"]["tid"] for circle in circles for member in circle]
            equal((len(circles), len(tids), len(set(tids))), (40, threads, threads), f"seed {SEED}: circles, threads")
        finally:
            program.kill()
            program.wait()


def itself():
    """a thread that locks a mutex twice"""
    run = planted("itself")
    equal(run.code, -signal.SIGABRT, "exit code")
    circle = run.report("deadlock")["circle"]
    equal((len(circle), circle[0]["stack"][0].split(" ")[0]), (1, "itself"), "the circle")
    require("1 thread waits for itself" in run.text, run.text)


def readers():
    """a reader that reads again behind a writer"""
    run = planted("readers")
    equal(run.code, -signal.SIGABRT, "exit code")
    equal([c["waits_for"]["kind"] for c in run.report("deadlock")["circle"]], ["read-write lock"] * 2, "kinds")


def circles_of_two():
    """one that waits for a condition, and cannot come back; mutexes with priorities, and a signal that comes again"""
    for what, kinds in (("condition", ["mutex", "mutex"]), ("priority", ["mutex", "mutex"])):
        run = planted(what)
        equal(run.code, -signal.SIGABRT, f"{what}: exit code; {run.err}")
        equal([c["waits_for"]["kind"] for c in run.report("deadlock")["circle"]], kinds, what)


def on_small_stacks():
    """a deadlock of threads on the smallest stacks, whose function has the name of a type"""
    run = planted("tiny")
    equal(run.code, -signal.SIGABRT, f"exit code; {run.err}")
    circle = run.report("deadlock")["circle"]
    equal(["t" in functions(c["stack"]) for c in circle], [True] * 2, f"the stacks: {circle}")


def goes_on():
    """--on-deadlock report: the program stands still, and is asked for what it does"""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/json"
        program = subprocess.Popen([RUN, "--json", path, PLANTED, "circle", "7"], stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: os.path.exists(path) and open(path).read().count("\n") == 1, "it is reported")
            program.send_signal(signal.SIGUSR2)
            wait_for(lambda: open(path).read().count("\n") == 2, "it answers")
            equal([json.loads(line)["why"] for line in open(path)], ["deadlock", "asked"], "reports")
            equal(program.poll(), None, "it goes on")
        finally:
            program.kill()
            program.wait()


def reports():
    """a program that is asked for reports goes on when each is written, and sees no child that is not its own"""
    run = planted("reports")
    equal((run.code, run.out, run.err), (0, "", ""), "it ends well")
    equal([r["why"] for r in run.reports], ["asked"] * 5, "reports")


def wait_for(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        require(time.monotonic() < end, f"not within {LIMIT} s: {what}")
        time.sleep(0.01)


def no_false_alarm():
    """8 threads, locks taken in order, by calls with and without a time: no deadlock is reported"""
    count = 50 if WHOLE else 4
    for seed in range(SEED, SEED + count):
        run = planted("crowd", seed)
        equal((run.code, run.deadlocks()), (0, []), f"seed {seed}: {run.err}")
        require(run.report("end")["waits"] > 0, "its threads have waited")
    return f"{count} crowds from seed {SEED} on"


# ---- orders ----

def orders_of(run):
    return [order for report in run.reports if report["why"] == "end" for order in report["orders"]]


def orders():
    """orders of 2 to 5 locks that could deadlock: each is reported, with exactly these locks, and where each was taken"""
    count = 100 if WHOLE else 12
    for seed in range(SEED, SEED + count):
        run = planted("orders", seed)
        equal((run.code, run.err), (0, ""), f"seed {seed}")
        found, locks = orders_of(run), set(run.out.split())
        equal(len(found), 1, f"seed {seed}: circles of orders")
        steps = found[0]["steps"]
        equal({step["holds"]["address"] for step in steps}, locks, f"seed {seed}: locks that are held")
        equal(len(steps), len(locks), f"seed {seed}: steps")
        for here, following in zip(steps, steps[1:] + steps[:1]):
            equal(here["takes"]["address"], following["holds"]["address"], f"seed {seed}: the next lock")
            if HAS_NAMES:
                require("ordered_step" in functions(here["stack"]), f"seed {seed}: {here['stack']}")
                require("ordered_take_last" in functions(here["stack"]), f"seed {seed}: {here['stack']}")
                require("ordered_take_last" not in functions(here["held_stack"]) and
                        "ordered_step" in functions(here["held_stack"]), f"seed {seed}: {here['held_stack']}")
        equal(len({step["thread"]["tid"] for step in steps}), len(locks), f"seed {seed}: threads")
        equal(found[0]["certain"], True, f"seed {seed}: certain")
        equal(len(run.text.split("orders that could deadlock")), 2, "the same as text")
        equal(run.text.count("and then took"), len(locks), "its steps as text")
        equal(orders_of(planted("orders", seed, options=("--orders", "off"))), [], f"seed {seed}: --orders off")
    return f"{count} from seed {SEED} on"


def orders_of_two():
    """a mutex that a wait for a condition takes again; and locks of which it is not certain that they are two"""
    for how, is_certain in (("condition", True), ("memory", False)):
        run = planted(f"orders-{how}")
        equal((run.code, run.err), (0, ""), how)
        found = orders_of(run)
        equal([order["certain"] for order in found], [is_certain], f"{how}: certain")
        equal({step["holds"]["address"] for step in found[0]["steps"]}, set(run.out.split()), f"{how}: locks")
        equal("if they are these" in run.text, not is_certain, f"{how}: as text")


def no_order():
    """orders that could not: a gate, calls that do not wait for ever, one thread, locks made anew, readers, no other thread yet,
    a mutex that another thread has given back, or destroyed, reads"""
    ways = ("gate", "try", "timed", "alone", "again", "readers", "before", "foreign", "reused", "reads")
    count = 100 if WHOLE else 2 * len(ways)
    for seed in range(SEED, SEED + count):
        how = ways[seed % len(ways)]
        run = planted(f"orders-{how}", seed)
        equal((run.code, run.err), (0, ""), f"{how}, seed {seed}")
        equal(orders_of(run), [], f"{how}, seed {seed}")
    return f"{count} from seed {SEED} on"


# ---- what it says of waits ----

def lock_of(report, function, kind="mutex"):
    found = [lock for lock in report["locks"] if lock["kind"] == kind and lock["made_at"].startswith(function)]
    require(found, f"no {kind} of {function}: {[(k['kind'], k['made_at']) for k in report['locks']]}")
    return found[0]


def hold():
    """the longest wait, and the hold that it waited for: how long, by which thread, where"""
    run = planted("hold")
    equal(run.code, 0, run.err)
    lock = lock_of(run.report("end"), "keep_it_long")
    equal((lock["acquires"], lock["waits"]), (4, 2), "acquires and waits")
    require(lock["longest_wait"]["ns"] >= 40e6, lock["longest_wait"])
    require("want_it" in functions(lock["longest_wait"]["stack"]), lock["longest_wait"])
    require(lock["longest_hold"]["ns"] >= 50e6, lock["longest_hold"])
    equal(functions(lock["longest_hold"]["stack"])[:2], ["keep_it_long", "keeper"], "who gave it back")
    require("keep_it_long (planted.c:" in run.text or "keep_it_long in " in run.text, run.text)


def conditions():
    """signals that meet no waiter, and a thread that is woken for nothing"""
    run = planted("conditions")
    equal(run.code, 0, run.err)
    condition = lock_of(run.report("end"), "conditions", "condition variable")
    found = tuple(condition[name] for name in ("waits", "signals", "signals_to_none", "waits_again"))
    equal(found, (2, 4, 2, 1), "waits, signals, signals to none, waits again")


def wrong():
    """a mutex unlocked by another thread, and one destroyed while it is held"""
    run = planted("wrong")
    equal(run.code, 0, run.err)
    faults = {lock["fault"]: lock["fault_at"]["stack"][0] for lock in run.report("end")["locks"] if lock["faults"]}
    equal(set(faults), {"unlocked by a thread that had not locked it", "destroyed while a thread held it"}, "faults")
    require(all(place.startswith("wrong") for place in faults.values()), faults)


def as_with_glibc():
    """cancel, fork, signal handlers, edges: the program does what it does without volt-run, and nothing is said wrongly"""
    for what in ("cancel", "fork", "handler", "strict", "nothing"):
        run = planted(what)
        equal((run.code, run.out, run.err), (0, "", ""), what)
        equal(run.deadlocks(), [], what)
        equal([lock["fault"] for r in run.reports for lock in r["locks"] if lock["faults"]], [], f"{what}: faults")


# ---- programs that are there ----

def programs():
    """programs of this machine print what they print without it, and end with the same code"""
    data = os.urandom(1 << 16) * 16
    tried = []
    for command in (["python3", "-c", "import threading as t; s=t.Semaphore(0); "
                     "x=[t.Thread(target=s.release) for _ in range(20)]; [a.start() for a in x]; "
                     "[s.acquire() for _ in x]; [a.join() for a in x]; print('done')"],
                    ["sort", "--parallel=2"], ["xz", "-T2", "-c"], ["zstd", "-T2", "-q", "-c"], ["pigz", "-n", "-c"],
                    ["sh", "-c", "exit 7"], ["false"]):
        try:
            plain = subprocess.run(command, input=data, capture_output=True, timeout=LIMIT)
        except FileNotFoundError:
            continue
        run = subprocess.run([RUN, *command], input=data, capture_output=True, timeout=LIMIT)
        equal((run.returncode, run.stdout == plain.stdout), (plain.returncode, True), command)
        require(b"deadlock" not in run.stderr and b"wrong:" not in run.stderr, run.stderr) # nor orders that could
        tried.append(command[0])
    return ", ".join(tried)


def served_by(port, lines):
    with socket.create_connection(("127.0.0.1", port)) as s:
        answers = s.makefile("rb")
        for line in lines:
            s.sendall(line)
            require(answers.readline(), "an answer")


def servers():
    """servers of this machine: they serve, and no deadlock is said of them, nor an order that could be one"""
    tried = []
    for command, line in ((["memcached", "-u", "root", "-l", "127.0.0.1", "-U", "0", "-t", "4", "-p"], b"set k%d 0 0 2\r\nok\r\n"),
                          (["redis-server", "--bind", "127.0.0.1", "--save", "", "--io-threads", "2", "--port"], b"INCR k%d\r\n")):
        if not shutil.which(command[0]):
            continue
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/json"
            server = subprocess.Popen([os.path.abspath(RUN), "--json", path, *command, str(port)], stdout=subprocess.DEVNULL,
                                      cwd=directory, stderr=subprocess.PIPE)
            try:
                wait_for(lambda p=port: is_open(p), f"{command[0]} listens")
                clients = [threading.Thread(target=served_by, args=(port, [line % (i * j) for j in range(200)]))
                           for i in range(8)]
                for client in clients:
                    client.start()
                for client in clients:
                    client.join()
            finally:
                server.terminate()
                server.communicate(timeout=LIMIT)
            reports = [json.loads(line) for line in open(path)] if os.path.exists(path) else []
            equal([(r["orders"], r["deadlocks"]) for r in reports], [([], 0)] * len(reports), command[0])
            tried.append(command[0])
    return ", ".join(tried) or "none is here"


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


INTERPOSER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static int count;
int pthread_cond_signal(pthread_cond_t *c) {
  int (*real)(pthread_cond_t *);
  *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_signal", VERSION);
  __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  return real(c);
}
__attribute__((destructor)) static void end(void) { printf("%d signals\n", count); }
"""


def another_library():
    """a library of the program's that stands before the same calls is called, also where glibc has two versions"""
    version = "GLIBC_2.3.2" if os.uname().machine == "x86_64" else "GLIBC_2.17"
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/interposer.so"
        subprocess.run(["cc", "-shared", "-fPIC", f'-DVERSION="{version}"', "-x", "c", "-", "-o", path], input=INTERPOSER,
                       text=True, check=True)
        run = Watched(PLANTED, "conditions", env={"LD_PRELOAD": path})
        equal((run.code, run.out), (0, "4 signals\n"), run.err)


# ---- its own command line ----

def refused():
    """what cannot be watched is refused, with a word"""
    with tempfile.TemporaryDirectory() as directory:
        static = f"{directory}/static"
        source = "int main(void) { return 0; }"
        compiled = subprocess.run(["cc", "-static", "-x", "c", "-", "-o", static], input=source, text=True,
                                  capture_output=True)
        if compiled.returncode == 0:
            run = Watched(static)
            equal(run.code, 126, "exit code")
            require("linked statically" in run.err, run.err)
        for option, code, words in (("thread", 126, "built with ThreadSanitizer"), ("address", 126, "built with AddressSanitizer"),
                                    ("address -static-libasan", 0, "")):
            program = f"{directory}/{option.split()[0]}{code}"
            compiled = subprocess.run(["gcc", *f"-fsanitize={option}".split(), "-x", "c", "-", "-o", program], input=source,
                                      text=True, capture_output=True)
            if compiled.returncode == 0:
                run = Watched(program)
                equal(run.code, code, f"{option}: {run.err}")
                require(words in run.err, run.err)
    for options, words in ((("--top", "0", "true"), "--top"),
                           (("--on-deadlock", "x", "true"), "is report, abort or core"),
                           (("--orders", "x", "true"), "is report or off"), ((), "usage:")):
        done = subprocess.run([RUN, *options], capture_output=True, text=True, timeout=LIMIT)
        equal(done.returncode, 2, options)
        require(words in done.stderr, done.stderr)
    done = subprocess.run([RUN, "/no/such/program"], capture_output=True, text=True, timeout=LIMIT)
    equal(done.returncode, 127, "no program")
    done = subprocess.run([RUN, "--output", "/no/such/file", "true"], capture_output=True, text=True, timeout=LIMIT)
    equal((done.returncode, "/no/such/file" in done.stderr), (126, True), "no file")


def main():
    global failures
    names = (circles, itself, on_small_stacks, hold, conditions, wrong)
    for check in (circles, circles_at_once, itself, readers, circles_of_two, on_small_stacks, goes_on, reports, no_false_alarm, orders, orders_of_two, no_order, hold, conditions, wrong, as_with_glibc, another_library, programs, servers,
                  refused):
        if check in names and not HAS_NAMES:
            print(f"skipped: {check.__doc__} (without libdw there are no names of functions)", flush=True)
            continue
        try:
            said = check()
            print(f"ok: {check.__doc__}{f': {said}' if said else ''}", flush=True)
        except Exception as e:
            failures += 1
            print(f"FAILED: {check.__doc__}: {type(e).__name__}: {e}", flush=True)
    sys.exit(1 if failures else 0)


main()
