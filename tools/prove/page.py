"""What docs/testing.md says has been proved: the table between two marks. ./x prove writes it; a test refuses
one that says more than the ledger."""
import re

from sources import ROOT

PAGE = ROOT / "docs/testing.md"
FIRST, LAST = "<!-- ./x prove writes this -->", "<!-- to here -->"
LONG_S = 60  # a model that is not exhausted is searched for so long at least
MISSING = "not on these sources"
EXHAUSTED, REJECTED = "models exhausted", "published forms rejected"
LONG, BRIEF = f"models searched for {LONG_S} s or longer", "models searched for less"
NO_MODEL, MUTANTS, NO_MUTANT = f"models {MISSING}", "mutants rejected", f"mutants {MISSING}"


def counts(models, mutants):
    """Of entries, or of None where there is none: what the rows of the table say."""
    known = [entry for entry in models if entry]
    part = [entry for entry in known if entry.verdict == "truncated"]
    long = sum(entry.seconds >= LONG_S for entry in part)
    return {EXHAUSTED: sum(entry.verdict == "exhausted" for entry in known),
            REJECTED: sum(entry.verdict == "rejected" for entry in known),
            LONG: long, BRIEF: len(part) - long, NO_MODEL: models.count(None),
            MUTANTS: sum(entry is not None for entry in mutants), NO_MUTANT: mutants.count(None)}


def said_of(check):
    if not check:
        return MISSING
    lasted = f", {check.seconds:g} s" if check.seconds else ""
    skipped = f", {check.interleavings} tests skipped" if check.interleavings > 0 else ""
    return f"passed{lasted}{skipped} (of {check.commit})"


def table(models, mutants, checks):
    rows = [(what, f"{count:,}") for what, count in counts(models, mutants).items()]
    for name, entry in checks:
        rows.append((f"`{name}`", said_of(entry)))
    return "\n".join(["| | |", "|---|--:|"] + [f"| {what} | {value} |" for what, value in rows])


def write(text):
    before, rest = PAGE.read_text().split(FIRST)
    PAGE.write_text(f"{before}{FIRST}\n{text}\n{LAST}{rest.split(LAST)[1]}")


def says_more(text, ledgers):
    """What this page says that no line of the ledger does."""
    if text.count(FIRST) != 1 or text.count(LAST) != 1:
        return [f"there is no table between {FIRST} and {LAST}"]
    rows = dict(re.findall(r"^\| (\S.*?) \| (.*?) \|$", text.split(FIRST)[1].split(LAST)[0], re.M))
    entries = [entry for book in ledgers.values() for entry in book.entries.values()]
    shown = counts([entry for entry in entries if entry.kind == "model"],
                   [entry for entry in entries if entry.kind == "mutant"])
    passed = {f"`{entry.name}`": entry for entry in entries if entry.kind == "check"}
    wrong = [f"there is no row '{what}'" for what in shown if what not in rows]
    for what, value in rows.items():
        if what in shown:
            if what not in (NO_MODEL, NO_MUTANT, BRIEF) and int(value.replace(",", "")) > shown[what]:
                wrong.append(f"'{what}': the page says {value}, the ledger {shown[what]}")
        elif value != MISSING:
            if value != said_of(passed.get(what)):
                wrong.append(f"'{what}': the page says {value}, the ledger {said_of(passed.get(what))}")
    return wrong
