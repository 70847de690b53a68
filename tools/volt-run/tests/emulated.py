#!/usr/bin/env python3
"""emulated.py LIBRARY SERVED EMULATOR...: what served_test.py has programs do, of another machine under qemu's emulation of
user space: watched, and with volt's locks. Reports are not made there: another program would have to be emulated, too."""

import os
import subprocess
import sys

LIBRARY, SERVED, *EMULATOR = sys.argv[1:]
LIMIT = 600
WAYS = {"watched": (), "fair": ("VOLT_RUN_SERVE=0",), "bypass": ("VOLT_RUN_SERVE=16",)}
PROGRAMS = ("kinds", "statics", "memory", "conditions", "destroyed", "signal", "asynchronous", "handler", "interrupted",
            "again", "queued", "shared", "last", "clocks", "barriers", "readers", "ends", "error")
# What qemu 7.2 does not do, also with glibc's locks alone: "processes" hangs, and "forks" ends in an assertion of its own
# (a thread in the child of a fork). "handed" wants a page that is zero in the child of a clone(): qemu says that it is
# (MADV_WIPEONFORK), and it is not.


def run(program, more):
    ours = [f"LD_PRELOAD={LIBRARY}", "VOLT_RUN_PROGRAM=/bin/true", *more]
    command = [*EMULATOR, *(word for one in ours for word in ("-E", one)), SERVED, program]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT)
    if (done.returncode, done.stdout, done.stderr) != (0, b"", b""):
        raise AssertionError(f"{program} {more}: {done.returncode} {done.stdout} {done.stderr}")


def main():
    for what in (LIBRARY, SERVED):
        if not os.path.exists(what):
            sys.exit(f"emulated.py: there is no {what}")
    for program in PROGRAMS:
        for more in WAYS.values():
            run(program, more)
    print(f"{len(PROGRAMS)} programs, {len(WAYS)} ways")


main()
