#!/usr/bin/env python3
"""served_nptl.py VOLT_RUN GLIBC_SOURCE [PATTERN]: glibc's own tests of threads (nptl/tst-*.c, sysdeps/pthread/tst-*.c
of its unpacked source, of the version that is installed), built outside of its tree against the installed one: with
glibc's locks, watched, and with volt's. Those that need glibc's internals, or do not pass by themselves, are left out,
and it is said why. Each difference is one of those below, or a failure. PATTERN: a regular expression of names."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from suites import Suite, at_once

RUN, GLIBC = os.path.realpath(sys.argv[1]), Path(os.path.realpath(sys.argv[2]))
PATTERN = sys.argv[3] if len(sys.argv) > 3 else ""
WAYS = {"glibc": None, "watched": [], "fair": ["--fair"], "bypass": ["--bypass", "4"]}
WORDS = {0: "pass", 77: "unsupported", None: "hangs"}
WORKERS = 8  # most of them sleep most of the time

# Program: ({way: what it says there; served: in both that have volt's locks}, why).
ITSELF = ({way: "pass, a deadlock is reported" for way in ("watched", "served")},
          "it locks again what it holds, and ends by a timer")
NOT_LOCKED = ({"served": "ends with 1"}, "waits for a condition with a mutex that is not locked: EPERM")
BEHIND = ({"served": "hangs"}, "a reader waits for another one, which is queued behind a writer")
EXPECTED = {
    **dict.fromkeys(("tst-eintr2", "tst-eintr3", "tst-mutex6", "tst-mutexpi6", "tst-mutexpp6", "tst-rwlock5"), ITSELF),
    "tst-eintr5": NOT_LOCKED,
    "tst-rwlock16": BEHIND,
}

# What they include of glibc's tree that needs nothing else of it, and in the place of what does.
AS_THEY_ARE = ("include/array_length.h", "include/intprops.h", "include/libc-diag.h", "include/libc-pointer-arith.h",
               "sysdeps/generic/tst-stack-align.h", "sysdeps/unix/sysv/linux/tst-skeleton-affinity.c",
               "sysdeps/unix/sysv/linux/tst-skeleton-thread-affinity.c")
INSTEAD = {"config.h": "", "stackinfo.h": "#define _STACK_GROWS_DOWN 1\n",
           "dso_handle.h": "extern void *__dso_handle __attribute__((visibility(\"hidden\")));\n"}
PATHS = ("SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "BINDIR", "SBINDIR", "SLIBDIR", "ROOTSBINDIR",
         "COMPLOCALEDIR")
# Of the makefiles.
ARGUMENTS = {"tst-umask1": ["umask1.temp"], "tst-exec4": ["{program}"], "tst-cancel7": ["--command", "exec {program}"],
             "tst-cancelx7": ["--command", "exec {program}"]}
PART = re.compile(r"(mod\w?|aux|-common)$")


def cc(*arguments):
    return subprocess.run(["cc", "-w", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-DTIMEOUTFACTOR=3",
                           "-Dattribute_hidden=__attribute__((visibility(\"hidden\")))",
                           *[f"-D{name}_PATH=\"/\"" for name in PATHS], "-include", "limits.h", *arguments],
                          capture_output=True, text=True)


def included(to):
    """Returns the options for what they include: glibc's tree after the system's."""
    for path in AS_THEY_ARE:
        (to / Path(path).name).symlink_to(GLIBC / path)
    for name, text in INSTEAD.items():
        (to / name).write_text(text)
    return [f"-I{to}", f"-I{GLIBC}/support", f"-I{GLIBC}/nptl", f"-I{GLIBC}/sysdeps/pthread", f"-idirafter{GLIBC}"]


def build_support(to, options):
    def compile_one(path):
        cc(*options, "-c", str(path), "-o", f"{to}/{path.stem}.o")
    (to / "support").mkdir()
    to = to / "support"
    sources = [path for path in sorted((GLIBC / "support").glob("*.c")) if not path.name.startswith(("test-", "tst-"))]
    list(at_once(compile_one, sources))
    subprocess.run(["ar", "crs", f"{to}/libsupport.a", *map(str, to.glob("*.o"))], check=True)
    return f"{to}/libsupport.a"


def flags(name):
    """As in the makefiles: the same test, unwound in another way."""
    if re.match(r"tst-oncey", name):
        return ["-fno-exceptions", "-fno-asynchronous-unwind-tables"]
    unwound = ["-fexceptions", "-fasynchronous-unwind-tables"] if re.match(r"tst-(cancel|cleanup|once)x", name) else []
    return unwound + (["-fno-builtin"] if "cleanup" in name else [])


def why_not_built(said):
    for found, words in ((r"fatal error: (\S+): No such", "includes glibc's internals ({})"),
                         (r"undefined reference to", "needs another file, or what this glibc does not export"),
                         (r"error: (.*)", "is not compiled: {}")):
        match = re.search(found, said)
        if match:
            return words.format(*match.groups())
    return "is not built: " + said[-200:]


class Program:
    def __init__(self, path, to):
        self.path, self.name, self.program = path, path.stem, to / path.stem
        self.why_not = "is linked statically" if self.name.endswith("-static") else ""

    def build(self, options, support):
        done = cc(*options, *flags(self.name), "-rdynamic", str(self.path), support, "-o", str(self.program), "-lrt",
                  "-lm")
        if done.returncode:
            self.why_not = why_not_built(done.stderr)

    def command(self):
        return [str(self.program), *[word.format(program=self.program) for word in ARGUMENTS.get(self.name, ())]]


def compare(program, suite):
    """Alone first. Returns what Suite.compare() does."""
    for _ in range(2):
        word, _ = alone = suite.run(program.command(), None)
        if word == "pass":
            return suite.compare(program.name, program.command(), alone)
    program.why_not = "is not supported here" if word == "unsupported" else "does not pass by itself"
    return {}, ""


def sources():
    for path in sorted([*(GLIBC / "nptl").glob("tst-*.c"), *(GLIBC / "sysdeps/pthread").glob("tst-*.c")]):
        if re.search(PATTERN, path.stem):
            yield path


def main():
    if not (GLIBC / "nptl").is_dir():
        sys.exit(f"served_nptl.py: {GLIBC} has no nptl: is it an unpacked source of glibc?")
    with tempfile.TemporaryDirectory() as directory:
        to = Path(directory)
        suite = Suite(RUN, WAYS, WORDS, EXPECTED, 200, {"LD_LIBRARY_PATH": directory}, ["Makefile"])
        (to / "include").mkdir()
        options = included(to / "include")
        support = build_support(to, options)
        for path in [*(GLIBC / "nptl").glob("tst-*mod*.c"), *(GLIBC / "sysdeps/pthread").glob("tst-*mod*.c")]:
            cc(*options, "-shared", "-fPIC", str(path), "-o", f"{to}/{path.stem}.so")
        programs = [Program(path, to) for path in sources() if not PART.search(path.stem)]
        list(at_once(lambda program: program.why_not or program.build(options, support), programs))
        built = [program for program in programs if not program.why_not]
        for program, (said, words) in zip(built, at_once(lambda p: compare(p, suite), built, WORKERS)):
            suite.count(program.name, said, words)
        code = suite.end()
        left = {}
        for program in programs:
            if program.why_not:
                left.setdefault(program.why_not, []).append(program.name)
        print(f"left out: {sum(map(len, left.values()))}")
        for why, names in sorted(left.items()):
            print(f"  {why}: {' '.join(names)}")
    sys.exit(code)


main()
