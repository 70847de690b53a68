"""What a benchmark is made of: sections of rows, rows of arms.

A row is a workload with its numbers; an arm is a program that runs it, as one engine. The first arm
of a row is volt's: ratios are the others' over it. What a workload does and what an operation is:
../README.md.
"""

from dataclasses import dataclass, replace

VOLT, FAIR, UNFAIR, SPINS, LIMIT, VARIANT = "volt", "fair", "unfair", "spins", "limit", "variant"


@dataclass(frozen=True)
class Arm:
    label: str
    program: str
    engine: str | None = None
    kind: str = FAIR
    workload: str | None = None  # another one than the row's: of a limit
    beside: str | None = None  # rated against this arm of volt, not the first
    tasks: int | None = None  # another number: where the row's would not fit
    operations: int | None = None


@dataclass(frozen=True)
class Row:
    key: str
    title: str
    workload: str
    arms: tuple[Arm, ...]
    workers: int = 0  # 0: plain threads, which have none
    tasks: int = 1
    amount: int = 0
    operations: int = 1
    columns: tuple[str, ...] = ()  # what is shown beside the time
    max_rounds: int = 0  # 0: all
    apart: int = 0  # ns of work between two operations

    def base(self, arm: Arm) -> Arm:
        """The arm that this one is rated against."""
        return next((a for a in self.arms if a.label == arm.beside), self.arms[0])

    @property
    def contended(self) -> bool:
        """Whether several cores meet: then the state of the machine is probed beside it."""
        return self.workers > 1 or (self.workers == 0 and self.tasks > 1)

    @property
    def by(self) -> str:
        """What ratios are taken by: of one thread, CPU time, so that others do not count."""
        by_clock = self.workload in ("wake", "timer") or self.workload.startswith("path-")
        return "ns" if self.contended or by_clock else "cpu_ns"


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    text: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Growth:
    """A plot of rows that differ in one number."""

    key: str
    title: str
    x: str
    rows: tuple[Row, ...]
    xs: tuple[int, ...]


def beside(label: str, *arms: Arm) -> tuple[Arm, ...]:
    """These arms, rated against that one of volt's."""
    return tuple(replace(arm, beside=label) for arm in arms)


def at_most(arms: tuple[Arm, ...], program: str, tasks: int) -> tuple[Arm, ...]:
    """The same arms, but this program with fewer tasks."""
    return tuple(replace(a, tasks=tasks) if a.program == program else a for a in arms)
