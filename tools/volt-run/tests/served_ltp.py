#!/usr/bin/env python3
"""served_ltp.py VOLT_RUN LTP [PATTERN]: the programs of the open POSIX test suite, from a checkout of the Linux Test
Project (its source, or the suite alone), that are after mutexes, conditions, read-write locks, barriers, pthread_once()
and semaphores: with glibc's locks, watched, and with volt's. Each difference is one of those below, or a failure."""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

RUN, LTP = os.path.realpath(sys.argv[1]), Path(sys.argv[2])
PATTERN = sys.argv[3] if len(sys.argv) > 3 else ""
WAYS = {"glibc": [], "watched": [RUN, "--output", "/dev/null"], "fair": [RUN, "--output", "/dev/null", "--fair"],
        "bypass": [RUN, "--output", "/dev/null", "--bypass", "16"]}
WORDS = {0: "pass", 1: "FAIL", 2: "unresolved", 4: "unsupported", 5: "untested", None: "hangs"}
INTERFACE = re.compile(r"(pthread_(mutex|cond|rwlock|barrier)_[a-z]+|pthread_once|sem_[a-z]+)$")
LIMIT = 120

# Program: ({way: what it says there; served: in both that have volt's locks}, why).
IN_USE = ({"served": "pass"}, "EBUSY, where glibc waits or does not see it")
PASSES = ({"bypass": "FAIL"}, "a reader may pass a writer that waits: that is what a bypass is")
EXPECTED = {
    "pthread_barrier_destroy 2-1": IN_USE,
    "pthread_cond_destroy speculative 4-1": IN_USE,
    "pthread_rwlock_rdlock 2-1": PASSES,
    "pthread_rwlock_rdlock 2-2": PASSES,
    "pthread_rwlock_rdlock 2-3": ({"fair": "FAIL"}, "first come, first served, whatever the priorities"),
    "pthread_rwlock_unlock 3-1": ({"served": "pass"}, "the writer that came first gets it, before readers"),
}
TRIES = 4  # a machine that is busy, or stood still: some of the programs have times


def suite():
    for below in ("testcases/open_posix_testsuite", "."):
        if (LTP / below / "conformance/interfaces").is_dir():
            return LTP / below
    sys.exit(f"served_ltp.py: {LTP} has no conformance/interfaces: a checkout of github.com/linux-test-project/ltp?")


def sources(root):
    for directory in sorted((root / "conformance/interfaces").iterdir()):
        if INTERFACE.fullmatch(directory.name):
            yield from (path for path in sorted(directory.rglob("*.c"))
                        if "buildonly" not in path.name and "-core" not in path.name and PATTERN in str(path))


def name_of(path, root):
    return str(path.relative_to(root / "conformance/interfaces"))[:-2].replace("/", " ")


def build(path, root, to):
    program = to / name_of(path, root).replace(" ", "_")
    command = ["cc", "-w", "-std=gnu99", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700", "-D_GNU_SOURCE", "-pthread",
               f"-I{root}/include", f"-I{path.parent}", str(path), str(root / "lib/common.c"), "-o", str(program), "-lrt"]
    done = subprocess.run(command, capture_output=True, text=True)
    return program if done.returncode == 0 else None


def run(program, before):
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([*before, str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   cwd=directory, start_new_session=True, text=True, errors="replace")
        try:
            said = process.communicate(timeout=LIMIT)[0]
            return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]


def word(code):
    return WORDS.get(code, f"ends with {code}")


def is_right(name, way, code, plain):
    """As it says above, or as with glibc."""
    expected = EXPECTED.get(name, ({}, ""))[0]
    wanted = expected.get(way, expected.get("served", plain) if way != "watched" else plain)
    return word(code) == wanted


def compare(path, root, to):
    name = name_of(path, root)
    program = build(path, root, to)
    if not program:
        return name, {}, "is not built"
    for _ in range(TRIES):
        found = {way: run(program, before) for way, before in WAYS.items()}
        plain = word(found["glibc"][0])
        wrong = [way for way in WAYS if way != "glibc" and not is_right(name, way, found[way][0], plain)]
        if not wrong:
            break
    said = {way: word(code) for way, (code, _) in found.items()}
    different = {way: said[way] for way in WAYS if said[way] != plain}
    if not wrong:
        return name, said, f"glibc {plain}, {different}: {EXPECTED[name][1]}" if different else ""
    return name, said, f"WRONG: glibc {plain}, {different}: { {way: found[way][1][-300:] for way in wrong} }"


def main():
    root, failures, counts, built = suite(), 0, {way: {} for way in WAYS}, 0
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, said, words in pool.map(lambda path: compare(path, root, Path(directory)), list(sources(root))):
            built += bool(said)
            failures += words.startswith("WRONG")
            for way, what in said.items():
                counts[way][what] = counts[way].get(what, 0) + 1
            if words:
                print(f"{name}: {words}", flush=True)
    print(f"{built} programs")
    for way, count in counts.items():
        print(f"{way}: " + ", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    sys.exit(1 if failures else 0)


main()
