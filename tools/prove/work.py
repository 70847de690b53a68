"""What there is to prove: each model, mutant and check, with the digest of what its verdict depends on, and
how to come to a verdict."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import ledger
import page
import sources
from sources import ROOT

sys.path.insert(0, str(ROOT / "tests/model"))
import mutants as mutation  # noqa: E402

PROOF = ROOT / "tests/proof"
CHECKS = ROOT / "tools/prove/checks.table"
RECORD = re.compile(r"^record (\S+) (\w+) (\S+) (\d+)$", re.M)


class Failed(Exception):
    """A model, mutant or check did not come out as it has to."""


class OutOfTime(Exception):
    pass


def git(*words):
    """What git says of this tree, or None: there is none, or this is no checkout."""
    try:
        ran = subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return None
    return os.fsdecode(ran.stdout) if ran.returncode == 0 else None


def commit():
    """What is checked out: eight digits, "+" if there are changes beside what ./x prove writes."""
    head = git("rev-parse", "--short=8", "HEAD")
    if head is None:
        return "00000000"
    changed = git("status", "--porcelain", "--", ".", ":!tests/proof", ":!docs/testing.md")
    return head.strip()[:8] + ("+" if changed else "")


def search(binary, seconds, names, log=None):
    """What these models show when each computes for so long: by name (verdict, search, interleavings)."""
    ran = subprocess.run([binary, "--record", "--seconds", str(seconds), *names], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if log:
        log(re.sub(RECORD, "", ran.stdout))
    seen = {name: (verdict, how, int(count)) for name, verdict, how, count in RECORD.findall(ran.stdout)}
    for name in names:
        if name not in seen:
            raise Failed(f"{binary} has not run {name}:\n{ran.stdout}")
    failed = [name for name, what in seen.items() if what[0] == "FAILED"]
    if failed or ran.returncode != 0:
        raise Failed(ran.stdout)
    return seen


@dataclass
class Model:
    program: str
    name: str
    hash: str
    binary: Path
    kind = "model"

    def run(self, seconds, now):
        verdict, how, count = search(self.binary, seconds, [self.name])[self.name]
        return ledger.Entry("model", self.name, self.hash, verdict, how, count, seconds, now)


@dataclass
class Mutant:
    program: str
    name: str
    hash: str
    programs: Path
    kind = "mutant"

    def run(self, seconds, now):
        with tempfile.TemporaryDirectory(prefix="volt-mutant.") as work:
            ran = subprocess.run([sys.executable, ROOT / "tests/model/mutants.py", "run", self.name, self.programs,
                                  work, "--seconds", str(seconds)], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        found = re.search(r"(\d+) interleavings", ran.stdout)
        if ran.returncode != 0 or not found:
            raise Failed(ran.stdout)
        return ledger.Entry("mutant", self.name, self.hash, "rejected", "-", int(found.group(1)), seconds, now)


@dataclass
class Check:
    name: str
    minutes: float
    command: str
    amount: float
    hash: str
    program = "checks"
    kind = "check"

    def run(self, seconds, now):
        with tempfile.NamedTemporaryFile("w+", prefix="volt-check.", errors="replace") as out:
            ran = subprocess.run(["bash", "-c", self.command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
            out.seek(0)
            said = out.read()
        if ran.returncode != 0:
            raise Failed(f"{self.command}: exit code {ran.returncode}\n{said[-4000:]}")
        return ledger.Entry("check", self.name, self.hash, "passed", "-", skipped_of(said), self.amount, now)


def skipped_of(said):
    """How many tests ctest has skipped, by what it said: what they are for is not checked."""
    return len(re.findall(r"\*\*\*Skipped", said))


def models_of(programs):
    return [Model(program, name, digest, programs.binaries[program])
            for program, models in programs.models.items() for name, digest in models.items()]


def mutants_of(programs):
    """Each depends on what its model depends on, and on what it changes."""
    files, found = mutation.read_models(ROOT), []
    listed, wrong = mutation.read_mutants(ROOT)
    if wrong:
        raise Failed("\n".join(wrong))
    directory = programs.build / "tests/model/programs"
    for mutant in listed.values():
        program = mutation.objects_of(mutant, files[mutant.killer], directory).stem
        changes = [(c.path, c.name, c.label, c.order, "\n".join(c.old), "\n".join(c.new)) for c in mutant.changes]
        digest = sources.digest_of(programs.models[program][mutant.killer], mutant.killer, mutant.options, changes)
        found.append(Mutant(program, mutant.name, digest, directory))
    return found


# ---- checks ----

COMMENT = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|/\*.*?\*/|//[^\n]*""", re.S)
NO_SOURCE = ("bench/results/", "tests/proof/", "CHANGELOG.md")
WRITTEN = re.compile(f"{re.escape(page.FIRST)}.*?{re.escape(page.LAST)}", re.S)  # by ./x prove itself


def files():
    """The files of the tree: all that git does not ignore, or all that are not built."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        return [file for name in set(listed.split("\0")) if name and (file := ROOT / name).is_file()]
    return [file for file in ROOT.rglob("*") if file.is_file() and not {"build", ".git"} & set(file.parts)]


def files_of_checks():
    return [file for file in files() if not str(file.relative_to(ROOT)).startswith(NO_SOURCE)]


def digest_of_files(some):
    """Of their text; comments of C and white space count for nothing."""
    parts = []
    for file in sorted(some):
        text = file.read_bytes()
        if file.suffix in (".c", ".h", ".cpp", ".hpp"):
            bare = COMMENT.sub(lambda found: found.group(1) or " ", text.decode())
            text = "\n".join(line for line in map(str.strip, bare.split("\n")) if line).encode()
        elif file == page.PAGE:
            text = WRITTEN.sub("", text.decode()).encode()
        parts += [str(file.relative_to(ROOT)), text]
    return sources.digest_of(*parts)


class Standing:
    """The files as they are now, by which a change is noticed while something runs."""

    def __init__(self):
        self.seen = self.look()

    @staticmethod
    def look():
        seen = {}
        for file in files_of_checks():
            try:
                stat = file.stat()
            except FileNotFoundError:  # gone since it was listed
                continue
            if file != page.PAGE:
                seen[file] = stat.st_mtime_ns, stat.st_size
        return seen

    def is_so(self):
        return self.look() == self.seen


def place():
    """Of a verdict by compilers and packages: a system with others has to come to its own."""
    named = Path("/etc/os-release")
    said = [named.read_text() if named.exists() else "", os.uname().machine]
    for tool in ("cc", "c++"):
        command = [os.environ.get({"cc": "CC", "c++": "CXX"}[tool]) or tool, "--version"]
        try:
            said.append(subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.split("\n")[0])
        except FileNotFoundError:
            said.append("")
    return said


def checks():
    digest, found = sources.digest_of(digest_of_files(files_of_checks()), *place()), []
    for line in CHECKS.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, minutes, command = line.split(None, 2)
        amount = re.search(r"AMOUNT=(\d+)", command)
        command = command.replace("AMOUNT=", "")
        found.append(Check(name, float(minutes), command, float(amount.group(1)) if amount else 0, digest))
    return found


TESTS = re.compile(r"./x test -R '(.*)'$")


def settled(every, known, day):
    """The checks that are tests alone and hold on these sources, but for those whose turn it is: name, and which tests."""
    out = []
    for check in every:
        tests = TESTS.search(check.command)
        if tests and ledger_of(known, check.program).of(check.kind, check.name, check.hash) and \
                not turn_of(check.name, day, 5):
            out.append((check.name, tests.group(1)))
    return out


def ledgers():
    return {file.stem: ledger.Ledger(file) for file in sorted(PROOF.glob("*.txt"))}


def ledger_of(known, program):
    if program not in known:
        known[program] = ledger.Ledger(PROOF / f"{program}.txt")
    return known[program]


def turn_of(name, day, turns):
    """Whether it is this one's turn today, of so many turns."""
    return zlib.crc32(name.encode()) % turns == day % turns
