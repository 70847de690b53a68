#!/usr/bin/env python3
"""beside.py VOLT_RUN [--volt-run-only | --tool=NAME] [CASE]...: faults that are planted in programs of Debian, and what volt-run, gdb, Helgrind and
the kernel's events say of each. Prints the tables of docs/volt-run.md: what a tool said, word by word, or that it
said nothing of the fault. Exits with 1 if volt-run has not said what it must."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

RUN = os.path.realpath(sys.argv[1])
HERE = os.path.dirname(os.path.realpath(__file__))
PYTHON = "/usr/bin/python3"
OFFCPU = """
tracepoint:sched:sched_switch /pid == %d/ { @since[tid] = nsecs; @at[tid] = ustack(6); }
tracepoint:sched:sched_switch /@since[args->next_pid]/ { @slept_ms[@at[args->next_pid]] = sum((nsecs - @since[args->next_pid]) / 1000000);
  delete(@since[args->next_pid]); }
interval:s:4 { exit(); } END { clear(@since); clear(@at); print(@slept_ms, 3); clear(@slept_ms); }"""


class Missing(Exception):
    pass


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"there is no {program} here")


def output(command, seconds=120, **how):
    """Its output and errors, as far as it came."""
    how.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            start_new_session=True, **how)
    try:
        return done.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGTERM)
        try:
            return done.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            return done.communicate()[0]


def shim(name, directory):
    needs("cc")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", f"{directory}/{name}.so", f"{HERE}/{name}.c", "-ldl"], check=True)
    return {"LD_PRELOAD": f"{directory}/{name}.so"}


# ---- the programs ----

class Case:
    """must: what volt-run has to say; facts: what of any tool's output says something of the fault."""

    def __init__(self, title, command, must, facts, plant=None, load=None, ends=False):
        self.title, self.command, self.must, self.facts = title, command, must, facts
        self.plant, self.load, self.ends = plant, load, ends

    def start(self, directory, before=()):
        env = {**os.environ, **(shim(self.plant, directory) if self.plant else {})}
        program = subprocess.Popen([*before, *self.command(directory)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
        return program


# What a tool says of any program: threads in futex(), and the stack of the longest sleep.
ALWAYS = {"perf trace -s -e futex": [r"(?m)^ +futex +\d+.*"], "bpftrace, off-CPU time": [r"@slept_ms\[\n +.+"]}
UNABLE = [r"not built-in because .*", r"NOT UP.*", r"ptrace: .*"]  # what keeps a tool from its work


def python(script, *arguments):
    def command(_):
        needs(PYTHON)
        minor = int(subprocess.check_output([PYTHON, "-c", "import sys; print(sys.version_info[1])"]))
        if script == "deadlock.py" and minor > 12:
            raise Missing("this Python's locks are its own")
        return [PYTHON, f"{HERE}/{script}", *arguments]
    return command


def pigz(directory):
    needs("pigz")
    path = f"{directory}/data"
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(os.urandom(1 << 24))
    return ["pigz", "-p", "4", "-k", "-f", path]


def mariadb(directory):
    needs("mariadbd", "mariadb-install-db", "sysbench", "mariadb")
    place = f"{directory}/db"
    if not os.path.exists(place):
        subprocess.run(["mariadb-install-db", "--user=root", f"--datadir={place}", "--auth-root-authentication-method=normal"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return ["mariadbd", "--no-defaults", "--user=root", f"--datadir={place}", "--skip-networking", f"--socket={directory}/socket",
            "--log-bin", "--sync-binlog=1", "--innodb-buffer-pool-size=32M"]


def commits(directory, seconds):
    """8 clients that commit, for so long. Returns the load, which runs."""
    socket_path = f"{directory}/socket"
    client = ["mariadb", "-u", "root", f"--socket={socket_path}"]
    end = time.monotonic() + 300
    while subprocess.run([*client, "-e", "create database if not exists sbtest"], capture_output=True).returncode:
        if time.monotonic() > end:
            raise Missing("mariadbd does not come up")
        time.sleep(0.2)
    load = ["sysbench", "oltp_update_index", "--db-driver=mysql", f"--mysql-socket={socket_path}", "--mysql-user=root",
            "--tables=1", "--table-size=1000", "--threads=8"]
    subprocess.run([*load, "prepare"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return subprocess.Popen([*load, f"--time={seconds}", "run"], stdout=subprocess.PIPE, text=True)


CASES = [
    Case("python3: three threads that wait for each other", python("deadlock.py"),
         [r"deadlock in .*: 3 threads wait for each other for ever", r"waits for semaphore 0x\w+", r"which thread \d+ 'python3' holds"],
         [r"deadlock", r"lock order.*", r"in do_futex_wait .*", r"PyThread_acquire_lock\w*"]),
    Case("python3: a writer that never gets in", python("starved.py", "8"),
         [r"read-write lock 0x\w+, .*\n +taken \d+ times; \d+ waits?, .*", r"waits now, for (\d{4} ms|[\d.]+ s), for read-write lock 0x\w+"],
         [r"rwlock_wrlock\w*", r"rwlock_rdlock\w*"], ends=True),
    Case("pigz: broadcasts that get lost", pigz,
         [r"all of its threads wait without a deadline: no thread of it can go on",
          r"waits now, for (\d{4} ms|[\d.]+ s), for condition variable 0x\w+"],
         [r"pthread_cond_wait\w*", r"dubious.*", r"condition variable.*"], plant="lost_signal"),
    Case("mariadbd: a log that is written while a lock is held, on a slow disk", mariadb,
         [r"mutex 0x\w+, made or first used at .*", r"held it for \d+ ms; it had taken it at"],
         [r"in (fsync|fdatasync|wait_for_disk) .*", r"MYSQL_BIN_LOG::\w+.*", r"lll_lock_wait .*"], plant="slow_disk", load=commits),
]


# ---- the tools: each returns what was said ----

def by_volt_run(case, directory):
    path = f"{directory}/report"
    program = case.start(directory, [RUN, "--output", path, "--top", "3"])
    try:
        said = ""
        load = case.load(directory, 6) if case.load else None
        end = time.monotonic() + 120
        if load:
            said += load.communicate()[0]
            program.terminate()
        while time.monotonic() < end and program.poll() is None and not any(re.search(m, said) for m in case.must[-1:]):
            time.sleep(0.5)
            if os.path.exists(path):
                said = open(path).read()
            said += output([RUN, "--attach-report", str(program.pid), "--top", "3"])
        if case.ends or load:
            program.wait(timeout=120)
            said += open(path).read()
    finally:
        end_of(program)
    return said


def end_of(program):
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    program.communicate()


def while_it_runs(case, directory, look):
    """look(pid), a few seconds after the beginning, under its load."""
    program = case.start(directory)
    load = None
    try:
        load = case.load(directory, 20) if case.load else None
        time.sleep(3)
        return look(program.pid)
    finally:
        if load:
            load.kill()
            load.communicate()
        end_of(program)


def by_gdb(case, directory):
    needs("gdb")
    return while_it_runs(case, directory, lambda pid: output(
        ["gdb", "-q", "-batch", "-p", str(pid), "-ex", "set print frame-arguments none", "-ex", "thread apply all bt 12"]))


def by_helgrind(case, directory):
    needs("valgrind")
    program = case.start(directory, ["valgrind", "--tool=helgrind", "--log-file=" + directory + "/helgrind"])
    try:
        if case.load:
            end = time.monotonic() + 90
            while time.monotonic() < end and subprocess.run(["mariadb", "-u", "root", f"--socket={directory}/socket", "-e", "select 1"],
                                                            capture_output=True).returncode:
                time.sleep(1)
            if time.monotonic() > end:
                return "NOT UP: it had not come up after 90 s"
        else:
            try:
                program.wait(timeout=25)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGTERM)
                time.sleep(5)
    finally:
        end_of(program)
    with open(f"{directory}/helgrind") as log:
        said = re.sub(r"==\d+== ?", "", log.read())
    return said.split("Process terminating")[0]  # what follows is how we ended it


def by_perf_lock(case, directory):
    needs("perf")
    path = f"{directory}/perf"
    said = while_it_runs(case, directory, lambda pid: output(["perf", "lock", "contention", "-b", "-p", str(pid), "sleep", "3"]))
    if "not built-in" in said:
        said += while_it_runs(case, directory, lambda pid: output(["perf", "lock", "record", "-o", path, "-p", str(pid), "sleep", "3"]))
        said += output(["perf", "lock", "contention", "-i", path])
    return said


def by_perf_trace(case, directory):
    needs("perf")
    return while_it_runs(case, directory, lambda pid: output(["perf", "trace", "-s", "-e", "futex", "-p", str(pid), "sleep", "4"]))


def by_offcpu(case, directory):
    needs("bpftrace")
    return while_it_runs(case, directory, lambda pid: output(["bpftrace", "-e", OFFCPU % pid]))


def by_mutrace(case, directory):
    needs("mutrace")
    return output(["mutrace", *case.command(directory)], 60)


TOOLS = {"volt-run": by_volt_run, "gdb": by_gdb, "Helgrind": by_helgrind, "perf lock": by_perf_lock,
         "perf trace -s -e futex": by_perf_trace, "bpftrace, off-CPU time": by_offcpu, "mutrace": by_mutrace}


# ---- tables ----

def cell(text):
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", " ".join(text.split())).replace(tempfile.gettempdir() + "/", ".../")
    text = re.sub(r"\.\.\./tmp[^/ ]+/", ".../", text)  # a directory of this run
    return "`" + (text[:150] + ("..." if len(text) > 150 else "")).replace("|", "/").replace("`", "'") + "`"


def lines_of(said, patterns):
    found = []
    for pattern in patterns:
        lines = [said[said.rfind("\n", 0, m.start()) + 1:(said + "\n").index("\n", m.end())] for m in re.finditer(pattern, said)]
        if lines and cell(lines[0]) not in found:
            found.append(cell(lines[0]) + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""))
    return "<br>".join(found)


def row(case, name):
    """Whether it is as it must be."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            said = TOOLS[name](case, directory)
        except Missing as missing:
            print(f"| {name} | {missing} |", flush=True)
            return True
    if name == "volt-run":
        wrong = [m for m in case.must if not re.search(m, said)]
        print(f"| {name} | {lines_of(said, case.must)} |", flush=True)
        if wrong:
            print(f"volt-run has not said {wrong}: {said}", file=sys.stderr)
        return not wrong
    said = "\n".join(line for line in said.splitlines() if not line.startswith("Command:"))
    facts = lines_of(said, UNABLE + ALWAYS.get(name, []) + case.facts)
    if os.environ.get("BESIDE_VERBOSE"):
        print(f"---- {name}\n{said}", file=sys.stderr)
    print(f"| {name} | {facts or 'nothing of it'} |", flush=True)
    return True


def main():
    chosen = [a.split("=")[1] for a in sys.argv if a.startswith("--tool=")]
    only = ["volt-run"] if "--volt-run-only" in sys.argv else [t for t in TOOLS if not chosen or t in chosen]
    wanted = [a for a in sys.argv[2:] if not a.startswith("--")]
    results = []
    for case in CASES:
        if wanted and not any(w in case.title for w in wanted):
            continue
        print(f"\n**{case.title}**\n\n| tool | what it said |\n|---|---|", flush=True)
        results += [row(case, name) for name in only]
    sys.exit(0 if all(results) else 1)


main()
