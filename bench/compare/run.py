"""Rounds: in each, every arm of every row once, each in a process of its own.

The arms of a row run right after each other, in an order that changes from round to round; so
whatever happens to the machine happens to all of them, and ratios are taken within rounds. Each
program warms up by itself (../README.md).
"""

import json
import os
import platform
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from suite import Arm, Row

RUN_SECONDS = 60
LINE_OPERATIONS = 20000

# A run with this of `others` has not had the machine to itself: cores that were busy with anything
# else. Such runs count only if there are not enough others. The clock has 100 ticks a second: what
# is less than three of them may be none.
DISTURBED = 0.3
TICKS_SECONDS = 0.03


OURS = ("tasks", "threads")  # programs without which there is nothing to compare


class Failure(Exception):
    """A program that could not be run, failed, or said what cannot be."""


@dataclass
class Sample:
    """One run."""

    fields: dict[str, float]
    others: float
    round: int

    @property
    def disturbed(self) -> bool:
        return self.others >= DISTURBED


@dataclass
class Measured:
    """What came out of a row: its samples by arm, and the line beside it by round."""

    samples: dict[str, list[Sample]] = field(default_factory=dict)
    lines: list[float] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # arm: how


@dataclass
class Plan:
    programs: dict[str, str]  # name: path
    left_out: dict[str, str]  # name: why
    rounds: int
    seconds: float  # begin no further round after so many
    percent: int  # of the operations of each run


def busy_seconds() -> float:
    """CPU time that all of the machine has used."""
    with open("/proc/stat") as stat:
        ticks = [int(text) for text in stat.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_program(argv: list[str]) -> tuple[dict, float]:
    """What it says, and how many cores were busy with anything else."""
    busy, own, wall = busy_seconds(), children_seconds(), time.monotonic()
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failure(f"has not ended after {RUN_SECONDS} s: {' '.join(argv)}") from None
    except OSError as error:
        raise Failure(f"cannot run {argv[0]}: {error}") from None
    wall = time.monotonic() - wall
    other_seconds = busy_seconds() - busy - (children_seconds() - own)
    others = other_seconds / wall if other_seconds >= TICKS_SECONDS else 0.0
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()[-3:]
        raise Failure(f"exit code {ended.returncode}: {' '.join(argv)}\n  " + "\n  ".join(said))
    try:
        said = json.loads(ended.stdout)
        if not said["ns"] > 0:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise Failure(f"has measured nothing: {' '.join(argv)}: {ended.stdout.strip()}") from None
    return said, others


def argv_of(plan: Plan, row: Row, arm: Arm) -> list[str]:
    operations = arm.operations or row.operations
    tasks = arm.tasks or row.tasks
    if operations > 1:
        operations = max(operations * plan.percent // 100, 1)
    elif tasks >= 100000:  # it is tasks that make this run long
        tasks = max(tasks * plan.percent // 100, 1)
    argv = [plan.programs[arm.program], arm.workload or row.workload]
    if arm.engine:
        argv += ["--engine", arm.engine]
    argv += arm.options
    if arm.workload:  # a limit: it has no other numbers
        return argv + ["--operations", str(operations)]
    if row.workers:
        argv += ["--workers", str(row.workers)]
    argv += ["--tasks", str(tasks), "--operations", str(operations)]
    argv += ["--amount", str(row.amount)] if row.amount else []
    return argv + (["--apart", str(row.apart)] if row.apart else [])


class Runner:
    """Runs rows; knows how often it has had to repeat a run."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.runs = 0
        self.repeats = 0
        self.random = random.Random(1)

    def arms(self, row: Row) -> list[Arm]:
        return [arm for arm in row.arms if arm.program in self.plan.programs]

    def _undisturbed(self, argv: list[str]) -> tuple[dict, float]:
        """Again if something else was busy, but a machine that is never quiet must not make this
        endless."""
        self.runs += 1
        while True:
            said, others = run_program(argv)
            if others < DISTURBED or self.repeats >= self.runs / 5:
                return said, others
            self.repeats += 1

    def _line(self) -> float:
        argv = [self.plan.programs["threads"], "line", "--operations", str(LINE_OPERATIONS)]
        return run_program(argv)[0]["ns"]

    def row(self, row: Row, number: int, into: Measured) -> None:
        if row.contended and "threads" in self.plan.programs:
            into.lines.append(self._line())
        arms = self.arms(row)
        self.random.shuffle(arms)
        for arm in arms:
            if arm.label in into.failed:
                continue
            try:
                said, others = self._undisturbed(argv_of(self.plan, row, arm))
            except Failure as failure:
                if arm.program in OURS:
                    raise
                into.failed[arm.label] = str(failure)
                tell(f"left out from here on: {failure}")
                continue
            into.versions[arm.label] = str(said.get("version", ""))
            numbers = {k: float(v) for k, v in said.items() if isinstance(v, int | float)}
            into.samples.setdefault(arm.label, []).append(Sample(numbers, others, number))

    def all(self, rows: list[Row], tell: Callable[[str], None]) -> list[Measured]:
        """Every row; plan.rounds becomes what there was time for."""
        measured = [Measured() for _ in rows]
        began = time.monotonic()
        for number in range(self.plan.rounds):
            for row, into in zip(rows, measured, strict=True):
                if row.max_rounds == 0 or number < row.max_rounds:
                    self.row(row, number, into)
            passed = time.monotonic() - began
            tell(f"round {number + 1} of {self.plan.rounds}, {passed:.0f} s")
            next_ends = passed * (number + 2) / (number + 1)
            if number + 1 < self.plan.rounds and next_ends > self.plan.seconds:
                tell(f"no time for more: the limit is {self.plan.seconds:.0f} s; see --rounds")
                self.plan.rounds = number + 1
                break
        return measured


def tell(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


# ---- on what it was measured ----


def first_line(*argv: str) -> str:
    try:
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return said.splitlines()[0].strip() if said.strip() else "unknown"


def processor() -> str:
    with open("/proc/cpuinfo") as info:
        for line in info:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()


def commit() -> str:
    changed = first_line("git", "status", "--porcelain", "--untracked-files=no") != "unknown"
    return first_line("git", "rev-parse", "--short", "HEAD") + (" and changes" if changed else "")


def machine() -> str:
    """On what it was measured, on one line."""
    cores = len(os.sched_getaffinity(0))
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (f"{processor()}, {cores} cores, Linux {platform.release()}, "
            f"{first_line('gcc', '--version')}, commit {commit()}, {now}")  # fmt: skip
