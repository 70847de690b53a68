#!/usr/bin/env python3
"""served_ltp.py VOLT_RUN LTP [PATTERN]: the programs of the open POSIX test suite, from a checkout of the Linux Test
Project (its source, or the suite alone), that are after mutexes, conditions, read-write locks, barriers, pthread_once()
and semaphores: with glibc's locks, watched, and with volt's. Each difference is one of those below, or a failure."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from suites import Suite, at_once

RUN, LTP = os.path.realpath(sys.argv[1]), Path(sys.argv[2])
PATTERN = sys.argv[3] if len(sys.argv) > 3 else ""
WAYS = {"glibc": None, "watched": [], "fair": ["--fair"], "bypass": ["--bypass", "16"]}
WORDS = {0: "pass", 1: "FAIL", 2: "unresolved", 4: "unsupported", 5: "untested", None: "hangs"}
INTERFACE = re.compile(r"(pthread_(mutex|cond|rwlock|barrier)_[a-z]+|pthread_once|sem_[a-z]+)$")

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


def root_of_suite():
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


def compare(path, root, to, suite):
    program = build(path, root, to)
    return suite.compare(name_of(path, root), [str(program)]) if program else ({}, "is not built")


def main():
    root, suite = root_of_suite(), Suite(RUN, WAYS, WORDS, EXPECTED, 120)
    with tempfile.TemporaryDirectory() as directory:
        paths = list(sources(root))
        for path, (said, words) in zip(paths, at_once(lambda p: compare(p, root, Path(directory), suite), paths)):
            suite.count(name_of(path, root), said, words)
    sys.exit(suite.end())


main()
