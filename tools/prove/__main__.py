#!/usr/bin/env python3
"""What has been proved of these sources, and what has not.

  prove run BUILD [HOURS]      come to a verdict on what has none, cheapest first, then search longer, for so many
                               hours (1), on all cores; what comes out is kept in tests/proof
  prove status BUILD           what holds of these sources: a table
  prove page                   whether docs/testing.md says no more than the ledger
  prove plan BUILD             for tests: how long each model is searched, by what the ledger says of it
  prove search BUILD PROGRAM   for tests: search the models of a program as planned; the ledger must not say more
  prove settled                for tests: "NAME REGEX" of each check that is tests alone, holds on these sources, and has
                               not its turn today
  prove mutant BUILD NAME OPTION...  for tests: mutants.py run, if the mutant has no verdict or it is its turn

BUILD is a build directory with all models built in it. Exit code 0: nothing was found; 1: something failed;
2: usage."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

import ledger  # noqa: E402
import page  # noqa: E402
import sources  # noqa: E402
import work  # noqa: E402

# ---- run ----


class Run:
    def __init__(self, build, hours):
        self.end = time.monotonic() + hours * 3600
        self.known, self.now = work.ledgers(), work.commit()
        self.lock, self.failures, self.written = threading.Lock(), [], 0
        self.has_changed = False
        self.standing = work.Standing()
        self.programs = sources.Programs(build).read()
        self.models, self.mutants = work.models_of(self.programs), work.mutants_of(self.programs)
        self.checks = work.checks()

    def left(self):
        return self.end - time.monotonic()

    def entry(self, item):
        return work.ledger_of(self.known, item.program).of(item.kind, item.name, item.hash)

    def changes(self):
        """Whether the sources are others than those that were looked at: then nobody knows of which a verdict is."""
        self.has_changed = self.has_changed or not self.standing.is_so()
        return self.has_changed

    def one(self, item, seconds):
        """Come to a verdict on one, if there is time."""
        if not self.can_search(seconds):
            return
        try:
            entry = item.run(min(seconds, max(self.left(), 1)), self.now)
        except work.Failed as failed:
            with self.lock:
                if self.changes():
                    return
                self.failures.append(f"{item.kind} {item.name}")
                work.ledger_of(self.known, item.program).forget(item.kind, item.name)
            print(f"FAILED: {item.kind} {item.name}\n{failed}", flush=True)
            return
        with self.lock:
            if self.changes():
                return
            book = work.ledger_of(self.known, item.program)
            old = book.of(item.kind, item.name, item.hash)
            wrong = old and ledger.contradiction(old, entry)
            if wrong:
                print(f"the ledger was wrong of {item.kind} {item.name}: {wrong}", flush=True)
                self.failures.append(f"the ledger's line of {item.kind} {item.name}")
                book.forget(item.kind, item.name)
            book.record(entry)
            if time.monotonic() > self.written + 10:
                self.write()
        print(f"{entry.kind} {entry.name} {entry.verdict} {entry.search} {entry.interleavings}", flush=True)

    def write(self):
        for book in self.known.values():
            book.write()
        self.written = time.monotonic()

    def all(self, items, seconds, workers):
        with ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(self.one, item, seconds) for item in items]:
                done.result()

    def prune(self):
        """Entries of what is no longer there."""
        there = {(item.program, item.kind, item.name) for item in self.models + self.mutants + self.checks}
        for program, book in self.known.items():
            for kind, name in list(book.entries):
                if (program, kind, name) not in there:
                    book.forget(kind, name)

    def can_search(self, seconds):
        """Whether enough time is left for a search that is to take so many."""
        return self.left() >= seconds / 4 and not self.has_changed

    def deepen(self, cores):
        """Search those that are not exhausted, for longer and longer."""
        seconds = page.LONG_S
        while self.can_search(seconds):
            short = [model for model in self.models if self.is_short(model, seconds)]
            self.all(sorted(short, key=lambda model: self.entry(model).seconds), seconds, cores)
            if not any(self.is_short(model, 10 ** 9) for model in self.models):
                break
            seconds *= 2

    def run(self):
        cores = os.cpu_count() or 1
        self.prune()
        try:
            fresh = [model for model in self.models if not self.entry(model)]
            self.all(fresh, 1, cores)
            self.all([mutant for mutant in self.mutants if not self.entry(mutant)], 30, cores)
            for check in sorted(self.checks, key=lambda check: check.minutes):
                if not self.entry(check) and self.left() > check.minutes * 60:
                    self.all([check], check.minutes * 60, 1)
            self.deepen(cores)
        finally:
            self.write()
        if self.has_changed:
            self.failures.append("the sources have changed meanwhile: what was not done yet, begins anew the next time")
        print("".join(f"FAILED: {what}\n" for what in self.failures), end="")
        return 1 if self.failures else 0

    def is_short(self, model, seconds):
        entry = self.entry(model)
        return entry is not None and entry.verdict == "truncated" and entry.seconds < seconds


def command_run(build, hours="1"):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run = Run(build, float(hours))
    code, now = run.run(), table(run)
    page.write(now)
    print(now)
    return code


# ---- status ----


def table(run):
    return page.table([run.entry(model) for model in run.models], [run.entry(mutant) for mutant in run.mutants],
                      [(check.name, run.entry(check)) for check in run.checks])


def command_status(build):
    print(table(Run(build, 0)))
    return 0


def command_page():
    wrong = page.says_more(page.PAGE.read_text(), work.ledgers())
    print("\n".join(wrong) if wrong else f"{page.PAGE} says no more than the ledger")
    return 1 if wrong else 0


# ---- for tests ----

TOKEN_S = 0.002
BRIEF_S = 0.05  # what a model without a verdict is searched for at least
MOST_S = 2
TOGETHER_S = 60  # what all models without a verdict may take together, if that is more
TURNS, TURN_S = 20, 1


def plan_of(models, known, day):
    """For each program the seconds of each model, and what the ledger says of it."""
    fresh = [m for m in models if not work.ledger_of(known, m.program).of("model", m.name, m.hash)]
    brief = min(MOST_S, max(BRIEF_S, TOGETHER_S / max(len(fresh), 1)))
    plan = {}
    for model in models:
        entry = work.ledger_of(known, model.program).of("model", model.name, model.hash)
        if entry is None:
            seconds = brief
        elif work.turn_of(model.name, day, TURNS):
            seconds = min(TURN_S, entry.seconds)
        else:
            seconds = TOKEN_S
        program = plan.setdefault(model.program, {"binary": str(model.binary), "models": {}})
        program["models"][model.name] = [seconds, str(entry) if entry else ""]
    return plan


def today():
    return int(time.time()) // 86400


def plan_file(build):
    return f"{build}/tests/model/plan.json"


def command_plan(build):
    begun = time.time()
    programs = sources.Programs(build).read()
    models, known = work.models_of(programs), work.ledgers()
    plan = plan_of(models, known, today())
    mutants = {}
    for mutant in work.mutants_of(programs):
        entry = work.ledger_of(known, mutant.program).of("mutant", mutant.name, mutant.hash)
        mutants[mutant.name] = entry is None or work.turn_of(mutant.name, today(), 5)
    with open(plan_file(build) + ".new", "w", encoding="utf-8") as file:
        json.dump({"programs": plan, "mutants": mutants}, file)
    os.utime(plan_file(build) + ".new", (begun, begun))  # what changes meanwhile is newer
    os.replace(plan_file(build) + ".new", plan_file(build))
    fresh = sum(not entry for program in plan.values() for _, entry in program["models"].values())
    print(f"{len(models)} models, {fresh} without a verdict on these sources;"
          f" {len(mutants)} mutants, {sum(mutants.values())} of them to be run if they are quick")
    return 0


def command_settled():
    for name, tests in work.settled(work.checks(), work.ledgers(), today()):
        print(name, tests)
    return 0


def read_plan(build):
    with open(plan_file(build), encoding="utf-8") as file:
        return json.load(file)


def command_search(build, name):
    program = read_plan(build)["programs"][name]
    by_seconds, wrong = {}, []
    for model, (seconds, _) in program["models"].items():
        by_seconds.setdefault(seconds, []).append(model)
    for seconds, models in by_seconds.items():
        try:
            seen = work.search(program["binary"], seconds, models, log=lambda text: print(text, end="", flush=True))
        except work.Failed as failed:
            print(failed)
            return 1
        for model, (verdict, how, count) in seen.items():
            line = program["models"][model][1]
            entry = ledger.parse(line) if line else None
            said = entry and ledger.contradiction(
                entry, ledger.Entry("model", model, entry.hash, verdict, how, count, seconds, entry.commit))
            if said:
                wrong.append(f"tests/proof/{name}.txt: model {model}: {said}")
    print("\n".join(wrong) if wrong else "the ledger says no more than this")
    return 1 if wrong else 0


def is_planned(build):
    """Whether there is a plan, and of these sources: ./x try makes none, nor does a mutant alone."""
    if not os.path.exists(plan_file(build)):
        return False
    planned = os.path.getmtime(plan_file(build))
    places = ("include", "src", "apps", "bench/variants", "cmake", "tests/model", "tests/proof")
    looked = [path for place in places for path in (work.ROOT / place).rglob("*")]  # folders, too: what is gone
    looked += [work.ROOT / name for name in ("CMakeLists.txt", "CMakePresets.json", *places)]
    return all(path.stat().st_mtime < planned for path in looked if path.exists())


def command_mutant(build, name, *options):
    if is_planned(build) and not read_plan(build)["mutants"][name]:
        print(f"rejected, as the ledger says: {name}; not its turn today")
        return 0
    return subprocess.run([sys.executable, work.ROOT / "tests/model/mutants.py", "run", name,
                           f"{build}/tests/model/programs", f"{build}/tests/model/mutants/{name}",
                           *options]).returncode


COMMANDS = {"run": (command_run, 1, 2), "status": (command_status, 1, 1),
            "page": (command_page, 0, 0), "plan": (command_plan, 1, 1),
            "search": (command_search, 2, 2), "settled": (command_settled, 0, 0), "mutant": (command_mutant, 2, 99)}


def main(arguments):
    command, least, most = COMMANDS.get(arguments[0] if arguments else "", (None, 0, 0))
    if not command or not least <= len(arguments) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return command(*arguments[1:])
    except (sources.CannotSay, ledger.Wrong, work.Failed) as error:
        print(f"prove: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
