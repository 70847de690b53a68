"""The ledger: what models and mutants have shown, and of which sources. A text file for each program
of models, tests/proof/PROGRAM.txt, whose lines are sorted, so that changes of different models merge:

  model NAME HASH exhausted SEARCH INTERLEAVINGS SECONDS COMMIT
  model NAME HASH truncated SEARCH INTERLEAVINGS SECONDS COMMIT
  model NAME HASH rejected SEARCH INTERLEAVINGS SECONDS COMMIT      a form that is known to be wrong
  mutant NAME HASH rejected SEARCH INTERLEAVINGS SECONDS COMMIT

and tests/proof/checks.txt for what is not a model:

  check NAME HASH passed - SKIPPED AMOUNT COMMIT

HASH       of all that the verdict depends on: sources.py. It holds as long as that does not change.
SEARCH     "full": every interleaving, and every value that a load may see; "3": every schedule with up to
           three preemptions; "1/3": truncated in the search with three, exhausted with one
INTERLEAVINGS  of the last search: the same number each time, if it is exhausted
SECONDS    of computing that were allowed
SKIPPED    how many tests of a check were skipped, because this machine lacks what they need
AMOUNT     how long a check was told to last, in seconds; 0: it was not told
COMMIT     that was checked out; "+" behind it: with changes"""
import re
from dataclasses import dataclass
from pathlib import Path

VERDICTS = {"model": ("exhausted", "truncated", "rejected"), "mutant": ("rejected",), "check": ("passed",)}
LINE = re.compile(r"(model|mutant|check) (\S+) ([0-9a-f]{16}) (\w+) (\S+) (\d+|-) (\d+(?:\.\d+)?) ([0-9a-f]{8}\+?)")


class Wrong(Exception):
    """The ledger, or a line of it, is not what it has to be."""


@dataclass(frozen=True)
class Entry:
    kind: str
    name: str
    hash: str
    verdict: str
    search: str
    interleavings: int
    seconds: float
    commit: str

    def __str__(self):
        count = self.interleavings if self.interleavings >= 0 else "-"
        return (f"{self.kind} {self.name} {self.hash} {self.verdict} {self.search} {count}"
                f" {self.seconds:g} {self.commit}")


def parse(line):
    found = LINE.fullmatch(line)
    if not found:
        raise Wrong(f"not a line of the ledger: {line}")
    kind, name, digest, verdict, search, count, seconds, commit = found.groups()
    if verdict not in VERDICTS[kind]:
        raise Wrong(f"no verdict of a {kind}: {verdict}, of {name}")
    return Entry(kind, name, digest, verdict, search, -1 if count == "-" else int(count), float(seconds), commit)


def is_better(new, old):
    """Whether a verdict replaces another. On other sources it does; on the same, what says more does."""
    if old is None or new.hash != old.hash:
        return True
    if (new.verdict == "exhausted") != (old.verdict == "exhausted"):
        return new.verdict == "exhausted"
    return new.verdict != "exhausted" and new.seconds > old.seconds


class Ledger:
    """One file, by kind and name."""

    def __init__(self, path):
        self.path = Path(path)
        self.entries = {}
        if not self.path.is_file():
            return
        lines = self.path.read_text().splitlines()
        for line in lines:
            entry = parse(line)
            if (entry.kind, entry.name) in self.entries:
                raise Wrong(f"{self.path}: {entry.kind} {entry.name} stands there twice")
            self.entries[entry.kind, entry.name] = entry
        if lines != sorted(lines):
            raise Wrong(f"{self.path}: the lines are not sorted")

    def of(self, kind, name, digest):
        """The verdict on these sources, or None."""
        entry = self.entries.get((kind, name))
        return entry if entry and entry.hash == digest else None

    def record(self, entry):
        """Whether it was taken."""
        if not is_better(entry, self.entries.get((entry.kind, entry.name))):
            return False
        self.entries[entry.kind, entry.name] = entry
        return True

    def forget(self, kind, name):
        """A verdict that has turned out to be wrong, or of what is no longer there."""
        return self.entries.pop((kind, name), None) is not None

    def write(self):
        text = "".join(line + "\n" for line in sorted(map(str, self.entries.values())))
        if not text:
            self.path.unlink(missing_ok=True)
        elif not self.path.is_file() or self.path.read_text() != text:
            self.path.parent.mkdir(exist_ok=True)
            beside = self.path.with_name(self.path.name + ".new")
            beside.write_text(text)
            beside.replace(self.path)  # whole, or not at all, whenever it is stopped


def contradiction(entry, seen):
    """What is wrong with a verdict, if a new search of the same sources has seen this; or None. What is
    exhausted is exhausted after the same number of interleavings each time; what was truncated may be
    exhausted by a longer search."""
    if seen.hash != entry.hash:
        return None
    if entry.verdict == "exhausted" and seen.verdict == "exhausted":
        if (entry.search, entry.interleavings) != (seen.search, seen.interleavings):
            return (f"it says {entry.search}, {entry.interleavings} interleavings;"
                    f" there are {seen.search}, {seen.interleavings}")
    if entry.verdict == "exhausted" and seen.verdict == "truncated" and seen.interleavings > entry.interleavings:
        if seen.search.split("/")[-1] == entry.search:
            return f"it says {entry.interleavings} interleavings; {seen.interleavings} are not all"
    if (entry.verdict == "rejected") != (seen.verdict == "rejected"):
        return f"it says {entry.verdict}; now it is {seen.verdict}"
    if entry.verdict == "truncated" and seen.verdict == "exhausted" and seen.interleavings < entry.interleavings:
        if seen.search == entry.search.split("/")[-1]:
            return f"it says truncated after {entry.interleavings}; there are no more than {seen.interleavings}"
    return None
