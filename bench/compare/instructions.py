"""Count the instructions of one operation, which neither another load nor the clock can change.

A count is a difference: a run of 2 N operations less one of N, over the operations between them. So
what begins and ends a run cancels out. Of what has waiters, bench-tasks runs the workload on one
worker under callgrind, with a clock that its readers move (programs/queue/ticks.c). Of what has
none, paths takes and gives (paths-cpp in C++), and rmw counts single steps; the loop around it is
subtracted.

instructions.txt has a bound for each row of volt's, which ./x test holds, and the bar that was set
for it. The bars of the family's rows are what Tokio takes, by the same count.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import FAMILY
from run import Failure, machine
from text import markdown_table, operation_lines, path_lines

BOUNDS = Path(__file__).with_name("instructions.txt")
SLACK = 0.5  # what two counts of the same program may differ by: threads start at different times
TRIES = 5  # of a row that is above its bound
# Of a path of paths: how many times what another one takes and gives together.
AT_MOST = {"volt_cluster_acquire_future": (2, "volt_sem_acquire_future")}
STEPS = 20  # turns of an uncontended path
COUNTED_WITH = "# counted with "


@dataclass(frozen=True)
class Row:
    """A workload of bench-tasks; `each` operations are one operation of all tasks."""

    name: str
    title: str
    workload: str
    operations: int
    each: int
    numbers: tuple[str, ...] = ()
    tokio: str | None = None  # the engine of bench-rust that makes its bar

    def counted(self, operations: int) -> int:
        """Those of a run: an eighth more, and one, to warm up."""
        return (operations + operations // 8 + 1) * self.each


ROWS = (
    Row("hop", "a hop: one of two tasks gives the other its permit, and awaits its own", "pingpong",
        8000, 2),
    Row("channel-hop", "the same, through two channels of one place", "chan-pingpong", 8000, 2),
    Row("spawn", "spawn and join a task, 1,000 at a time", "spawn", 40, 1000),
    Row("yield", "a yield, 100 tasks", "yield", 800, 100),
    Row("held", "a permit of 2, held across a yield, 8 tasks", "held", 4000, 8),
    Row("lock-10", "a mutex with 10 waiters, held across a yield", "cycles", 3000, 11,
        ("--tasks", "11")),
    Row("lock-10-bypass", "the same, with a bypass of 16", "cycles", 3000, 11,
        ("--tasks", "11", "--bypass", "16")),
    Row("free-macros", "a free mutex, awaited and unlocked, by the macros", "alone-mutex", 16000, 1,
        ("--tasks", "1")),
    Row("free-coroutine", "the same by a coroutine", "alone-mutex", 16000, 1,
        ("--tasks", "1", "--engine", "coroutine")),
    Row("held-coroutine", "a permit of 2, held across a yield, 8 coroutines", "held", 4000, 8,
        ("--engine", "coroutine")),
    Row("yield-coroutine", "a yield, 100 coroutines", "yield", 800, 100, ("--engine", "coroutine")),
    Row("child", "a coroutine awaits one that is ready", "child", 16000, 1,
        ("--tasks", "1", "--engine", "coroutine")),
    Row("spawn-coroutine", "spawn and join a coroutine, 1,000 at a time", "spawn", 40, 1000,
        ("--engine", "coroutine")),
)  # fmt: skip


def family_rows() -> tuple[Row, ...]:
    """Those of ./x bench: each primitive when nobody waits, and with a task that does."""

    def row(of: Any) -> Row:
        numbers = ("--tasks", str(of.tasks), *(("--amount", str(of.amount)) if of.amount else ()))
        tokio = next((a.engine for a in of.arms if a.label in ("Tokio", "tokio-util")), None)
        return Row(of.key, of.title, of.workload, 16000 // of.tasks, of.tasks, numbers, tokio)

    return tuple(row(of) for of in FAMILY.rows)


EVERY_ROW = ROWS + family_rows()


@dataclass
class Bound:
    most: float | None  # None: counted elsewhere
    bar: float | None  # what was set as the aim


@dataclass
class Count:
    name: str
    title: str
    instructions: float
    bound: float | None = None
    bar: float | None = None

    @property
    def is_above(self) -> bool:
        return self.bound is not None and self.instructions > self.bound + SLACK


# ---- the bounds ----


def here(compiler: str) -> str:
    """What a count depends on, beside the source."""
    macros = subprocess.run([compiler, "-dM", "-E", "-xc", "/dev/null"], capture_output=True,
                            text=True, check=True).stdout  # fmt: skip
    version = re.search(r'^#define __VERSION__ "(.*)"', macros, re.M)
    family = "clang" if "__clang__" in macros else "gcc"
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        libc = "another libc"
    return f"{family} {version[1] if version else '?'}, {libc}, {platform.machine()}"


def read_bounds(there: str) -> tuple[str, dict[str, Bound]]:
    """On what they were counted; and by row. They bound nothing that is counted elsewhere."""
    where, bounds = "", {}
    for line in BOUNDS.read_text().splitlines():
        if line.startswith(COUNTED_WITH):
            where = line.removeprefix(COUNTED_WITH)
        if line and not line.startswith("#"):
            name, most, bar = line.split()
            bounds[name] = Bound(float(most) if where == there else None,
                                 None if bar == "-" else float(bar))  # fmt: skip
    return where, bounds


def update(counts: list[Count], there: str) -> None:
    """Lower the bounds to what was counted; those of rows that are above theirs stay."""
    for count in counts:
        count.bound = min(count.instructions, count.bound or count.instructions)
    new = {count.name: count.bound for count in counts}
    lines = []
    for line in BOUNDS.read_text().splitlines():
        if line.startswith(COUNTED_WITH):
            line = COUNTED_WITH + there
        elif line and not line.startswith("#"):
            name, most, bar = line.split()
            line = as_line(name, new.get(name, float(most)), bar)
        lines.append(line)
    BOUNDS.write_text("\n".join(lines) + "\n")


def set_bars(bars: dict[str, float]) -> None:
    """Those of the rows that are named."""
    lines = []
    for line in BOUNDS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, most, bar = line.split()
            line = as_line(name, float(most), f"{bars[name]:g}" if name in bars else bar)
        lines.append(line)
    BOUNDS.write_text("\n".join(lines) + "\n")


def as_line(name: str, most: float, bar: str) -> str:
    return f"{name:<32} {most:8g} {bar:>6}"


def why_not(compiler: str) -> str | None:
    """Why the bounds cannot be held here; None: they can."""
    there = here(compiler)
    where, _ = read_bounds(there)
    if where != there:
        return f"the bounds are those of {where}; this is {there}"
    return None if shutil.which("valgrind") else "there is no valgrind"


# ---- counting ----


def said(argv: list[str], **environment: str) -> str:
    ended = subprocess.run(argv, capture_output=True, text=True, env=os.environ | environment)
    if ended.returncode != 0:
        raise Failure(f"exit code {ended.returncode}: {' '.join(argv)}\n{ended.stderr[-400:]}")
    return ended.stdout + ended.stderr


def executed(argv: list[str], **environment: str) -> int:
    """Instructions of a whole run."""
    text = said(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv],
                **environment)  # fmt: skip
    found = re.search(r"Collected : (\d+)", text)
    if not found:
        raise Failure(f"callgrind has counted nothing: {' '.join(argv)}\n{text[-400:]}")
    return int(found[1])


class Counter:
    """Counts a row as often as it is asked to. Whatever else happens in a run is more instructions,
    never less: so the least of each of the two runs counts. Clock: what to preload."""

    def __init__(self, program: str, row: Row, engine: str | None = None,
                 clock: Path | None = None) -> None:  # fmt: skip
        self.program, self.row, self.engine, self.least = program, row, engine, {}
        self.environment = {"LD_PRELOAD": str(clock)} if clock else {}

    def _run(self, operations: int) -> int:
        row = self.row
        argv = [self.program, row.workload, "--workers", "1", "--operations", str(operations),
                *row.numbers, *(("--engine", self.engine) if self.engine else ())]  # fmt: skip
        found = min(executed(argv, **self.environment), self.least.get(operations, sys.maxsize))
        self.least[operations] = found
        return found

    def count(self) -> float:
        once, twice = self.row.operations, 2 * self.row.operations
        between = self.row.counted(twice) - self.row.counted(once)
        return round((self._run(twice) - self._run(once)) / between, 1)


def of_turn(rmw: str, paths: str, name: str) -> tuple[int, int]:
    """One turn of the loop around a path: read-modify-writes, instructions."""
    once, twice = ([int(n) for n in said([rmw, paths, name, str(steps)]).split()]
                   for steps in (STEPS, 2 * STEPS))  # fmt: skip
    return tuple(round((b - a) / STEPS) for a, b in zip(once, twice, strict=True))


def of_path(rmw: str, paths: str, name: str, empty: int) -> dict[str, Any]:
    (take_rmw, take), (pair_rmw, pair) = (of_turn(rmw, paths, n) for n in (name, name + "+"))
    return {"path": name, "take_instructions": take - empty, "give_instructions": pair - take,
            "take_rmw": take_rmw, "give_rmw": pair_rmw - take_rmw}  # fmt: skip


def of_languages(paths: str) -> list[str]:
    """The program of the paths in C, and that of those in C++ if it was built beside it."""
    return [paths, *(cpp for cpp in (f"{paths}-cpp",) if Path(cpp).exists())]


def listed(program: str) -> list[str]:
    return [name for name in said([program, "--list"]).split() if name != "empty"]


def uncontended(rmw: str, paths: str, names: list[str]) -> list[dict[str, Any]]:
    programs = {name: program for program in of_languages(paths) for name in listed(program)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        empty = {program: of_turn(rmw, program, "empty")[1] for program in set(programs.values())}
        return list(pool.map(
            lambda name: of_path(rmw, programs[name], name, empty[programs[name]]), names))  # fmt: skip


def with_waiters(tasks: str, bounds: dict[str, Bound], often: bool) -> list[Count]:
    """Often: count each row TRIES times, not only those that are above their bounds."""

    def of(row: Row) -> Count:
        bound, counter = bounds[row.name], Counter(tasks, row, clock=clock)
        count = Count(row.name, row.title, counter.count(), bound.most, bound.bar)
        for _ in range(TRIES - 1):
            if often or count.is_above:
                count.instructions = counter.count()
        return count

    clock = Path(tasks).resolve().with_name("ticks.so")
    if not clock.exists():  # the loader would only warn
        raise Failure(f"there is no {clock}")
    unbound = [row.name for row in EVERY_ROW if row.name not in bounds]
    if unbound:
        raise Failure(f"{BOUNDS.name} has no line for {', '.join(unbound)}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(of, EVERY_ROW))


def of_tokio(rust: str) -> dict[str, float]:
    """What Tokio takes for the rows of the family that it has. Its warm-up is one operation less:
    that is in both runs."""
    rows = [row for row in EVERY_ROW if row.tokio]

    def of(row: Row) -> float:
        counter = Counter(rust, row, row.tokio)
        return min(counter.count() for _ in range(TRIES))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip((row.name for row in rows), pool.map(of, rows), strict=True))


def halves(alone: list[dict[str, Any]], bounds: dict[str, Bound]) -> list[Count]:
    """The bounded rows of the paths, a take and a give each."""
    return [
        Count(name, f"{half}: {path['path']}", path[f"{half}_instructions"], bound.most, bound.bar)
        for path in alone
        for half in ("take", "give")
        if (bound := bounds.get(name := f"{path['path']}.{half}")) is not None
    ]


def out_of_proportion(alone: list[dict[str, Any]]) -> list[str]:
    """The paths that take and give more than AT_MOST says."""
    both = {p["path"]: p["take_instructions"] + p["give_instructions"] for p in alone}
    return [
        f"{name}: {both[name]}, more than {times} x {both[other]} of {other}"
        for name, (times, other) in AT_MOST.items()
        if name in both and both[name] > times * both[other]
    ]


def path_names(paths: str, bounds: dict[str, Bound] | None = None) -> list[str]:
    """All; or those with a bound."""
    names = [name for program in of_languages(paths) for name in listed(program)]
    return [name for name in names if bounds is None or f"{name}.take" in bounds]


# ---- as tables ----


def as_text(lines: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for
                               i, (cell, width) in enumerate(zip(line, widths, strict=True)))
                     for line in lines)  # fmt: skip


def as_markdown(given: dict[str, Any]) -> str:
    return "\n".join([
        "# Instructions of one operation\n",
        f"Written by `./x instructions --save`: {given['machine']}; {given['counted_with']}.\n"
        "Counted by callgrind, the difference of two runs, one worker: "
        "[bench/README.md](../README.md).\nbound: what `./x test` holds. bar: what was set as the "
        "aim.\n",
        "## Tasks\n",
        "The bars of those that ./x bench has under \"The rest of the family\" are what Tokio "
        "takes.\n",
        markdown_table(operation_lines(given["operations"]), 1),
        "\n## Nobody waits\n",
        "RMW: read-modify-write operations.\n",
        markdown_table(path_lines(given["alone"]), 1),
    ]) + "\n"  # fmt: skip


# ---- the command ----


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="./x instructions", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--update", action="store_true", help="lower the bounds to what is counted")
    p.add_argument("--tokio", metavar="BENCH-RUST", help="count Tokio's, and make them the bars")
    given = p.add_argument_group("given by ./x")
    given.add_argument("--programs", required=True, metavar="DIRECTORY",
                       help="where bench-tasks, paths, paths-cpp and rmw are")  # fmt: skip
    given.add_argument("--compiler", default="gcc", help="what they were built with")
    for name in ("json", "markdown"):
        given.add_argument(f"--{name}", metavar="FILE", help="write it")
    return p.parse_args()


def main() -> int:
    o = arguments()
    tasks, paths, rmw = (f"{o.programs}/{name}" for name in ("bench-tasks", "paths", "rmw"))
    there = here(o.compiler)
    try:
        if o.tokio:
            set_bars(of_tokio(o.tokio))
        where, bounds = read_bounds(there)
        operations = with_waiters(tasks, bounds, often=o.update)
        alone = uncontended(rmw, paths, path_names(paths))
    except (Failure, OSError) as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    counts = operations + halves(alone, bounds)
    above = [count for count in counts if count.is_above]
    if o.update:
        update(counts, there)
    given = {"machine": machine(), "counted_with": there,
             "operations": [vars(count) for count in operations], "alone": alone}  # fmt: skip
    for path, content in ((o.json, json.dumps(given, indent=1) + "\n"),
                          (o.markdown, as_markdown(given))):  # fmt: skip
        if path:
            Path(path).write_text(content)
    print(as_text(operation_lines(given["operations"])) + "\n\n" + as_text(path_lines(alone)))
    if where != there and not o.update:
        print(f"\nwithout bounds: they are those of {where}; this is {there}")
    for count in above:
        print(f"above its bound of {count.bound:g}: {count.name}: {count.instructions:g}")
    wrong = out_of_proportion(alone)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if above or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
