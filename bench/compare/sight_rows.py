"""The rows of ./x bench sight: what is run, and its bar."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """A program, by the name that ./x gives it, and its options; a number is scaled by --percent.

    sight            bench-sight of this build
    tasks, threads   bench-tasks and bench-threads of this build
    before-tasks, before-threads   those of the commit given by --before
    """

    program: str
    options: tuple[str | int, ...]
    enabled: int = 0  # flags of volt_sight_enable(), for tasks and threads; 0: it is not called
    is_named: bool = False  # what the crew works on has a name


@dataclass(frozen=True)
class Bar:
    key: str
    title: str
    run: Run
    field: str = "ns"  # of the line of JSON that the program prints
    unit: str = ""
    at_most: float | None = None  # None: reported only
    beside: Run | None = None  # the value is the ratio, or the difference, to what that says
    is_ratio: bool = True
    of: str = "median"  # of the rounds: median, least or most is held against the bar
    max_rounds: int = 0  # 0: all

    @property
    def runs(self) -> list[Run]:
        return [self.run] + ([self.beside] if self.beside else [])


# ---- what is always there: against the library before it ----

# Without it the first engine that has the workload is run, and the older program has not all of them.
NATIVE = ("--engine", "native")


def workload(name: str, *options: str | int) -> tuple[str, str, tuple[str | int, ...]]:
    return name, " ".join(str(option) for option in (name, *options)), (name, *options)


def tier_0(program: str, *workloads: tuple[str, str, tuple[str | int, ...]]) -> tuple[Bar, ...]:
    """At most 1 % more time than the same workload took before."""
    return tuple(
        Bar(f"tier0/{program}-{name}", f"{program}: {title}: now / before", Run(program, options),
            "cpu_ns", "", 1.01, Run(f"before-{program}", options))
        for name, title, options in workloads
    )  # fmt: skip


TIER_0 = (
    *tier_0("tasks",
            workload("yield", "--tasks", "100", "--operations", 20000),
            workload("spawn", "--tasks", "1000", "--operations", 300),
            workload("alone-sem", "--operations", 2000000),
            workload("alone-mutex", "--operations", 2000000),
            workload("mutex", "--tasks", "4", "--operations", 100000),
            workload("held", "--tasks", "8", "--operations", 25000),
            workload("rwlock", "--tasks", "6", "--operations", 50000),
            workload("pingpong", "--operations", 200000),
            workload("mpmc", "--tasks", "8", "--operations", 100000, "--amount", "1024"),
            workload("cancel", "--tasks", "8", "--operations", 20000),
            workload("timer", "--operations", 200000, *NATIVE)),
    *tier_0("threads",
            workload("mutex", "--tasks", "1", "--operations", 2000000),
            workload("sem", "--tasks", "1", "--operations", 2000000)),
    Bar("tier0/bytes", "bytes of a task that waits for a permit: now - before",
        Run("tasks", ("parked", "--tasks", 100000, *NATIVE)), "bytes", "bytes", 16,
        Run("before-tasks", ("parked", "--tasks", 100000, *NATIVE)), is_ratio=False, max_rounds=1),
)  # fmt: skip

# ---- the scene that the rows below stand on ----

SCENE = (
    Bar("scene/task", "a task that waits is woken, and waits again", Run("sight", ("scene",)),
        unit="ns"),
)  # fmt: skip

# ---- dumps ----

GROUPED = Run("sight", ("dump", "--tasks", 100000))
MILLION = Run("sight", ("dump", "--tasks", 1000000, "--operations", "1"))
EACH = Run("sight", ("dump-each", "--tasks", 100000))
STIRRED = Run("sight", ("dump-stirred", "--tasks", 20000))

DUMP = (
    Bar("dump/task", "100,000 tasks in groups: a task", GROUPED, "ns", "ns", 1000),
    Bar("dump/held", "the same: tasks are held back for, p99", GROUPED, "held_p99_ns", "ns", 100000),
    Bar("dump/million", "1,000,000 tasks in groups: all of it", MILLION, "all_ns", "ns", 2e9,
        max_rounds=3),
    Bar("dump/each-task", "100,000 tasks, each shown: a task", EACH, "ns", "ns"),
    Bar("dump/each-held", "the same: tasks are held back for, p99", EACH, "held_p99_ns", "ns", 100000),
    Bar("dump/stirred", "20,000 tasks that run meanwhile: a task", STIRRED, "ns", "ns", 1000),
    Bar("dump/stirred-held", "the same: tasks are held back for, p99", STIRRED, "held_p99_ns", "ns", 100000),
)  # fmt: skip

# ---- what volt-top asks each second ----

ANSWERS = (
    Bar("answer/tasks", "100,000 tasks: a page of the 1,000 oldest: a task",
        Run("sight", ("answer-tasks", "--tasks", 100000)), "ns", "ns", 1000),
    Bar("answer/objects", "100,000 tasks: the objects they wait for: a task",
        Run("sight", ("answer-objects", "--tasks", 100000)), "ns", "ns", 1000),
)  # fmt: skip

# ---- what is switched on: against the same without ----

WAITS_AND_WATCHDOG = 1 | 2


def tier_1(program: str, at_most: float,
           *workloads: tuple[str, str, tuple[str | int, ...]]) -> tuple[Bar, ...]:
    return tuple(
        Bar(f"tier1/{program}-{name}-{options[1]}-{options[-1]}", f"{program}: {title}: waits and watchdog on / off",
            Run(program, options, WAITS_AND_WATCHDOG), "cpu_ns", "", at_most, Run(program, options))
        for name, title, options in workloads
    )  # fmt: skip


TIER_1 = (
    *tier_1("tasks", 1.01,
            workload("alone-sem", "--operations", 2000000),
            workload("alone-mutex", "--operations", 2000000),
            workload("yield", "--tasks", "100", "--operations", 20000)),
    *tier_1("threads", 1.01,
            workload("mutex", "--tasks", "1", "--operations", 2000000),
            workload("sem", "--tasks", "1", "--operations", 2000000)),
    *tier_1("tasks", 1.05,
            workload("mutex", "--tasks", "4", "--operations", 100000),
            workload("held", "--tasks", "8", "--operations", 25000),
            workload("rwlock", "--tasks", "6", "--operations", 50000),
            workload("pingpong", "--operations", 200000),
            workload("mpmc", "--tasks", "8", "--operations", 100000, "--amount", "1024"),
            workload("cancel", "--tasks", "8", "--operations", 20000)),
    *tier_1("threads", 1.05,
            workload("mutex", "--tasks", "4", "--operations", 100000)),
)  # fmt: skip

TIER_1_NAMED = tuple(
    Bar(f"tier1/named-{name}", f"tasks: {title}, of an object with a name: waits and watchdog on / off",
        Run("tasks", options, WAITS_AND_WATCHDOG, is_named=True), "cpu_ns", "", 1.05,
        Run("tasks", options))
    for name, title, options in (
        workload("mutex", "--tasks", "4", "--operations", 100000),
        workload("held", "--tasks", "8", "--operations", 25000),
        workload("pingpong", "--operations", 200000),
        workload("mpmc", "--tasks", "8", "--operations", 100000, "--amount", "1024"),
        workload("cancel", "--tasks", "8", "--operations", 20000))
)  # fmt: skip

STALL = (
    Bar("stall/most", "a worker that computes is reported after, at most", Run("sight", ("stall",)),
        "most_ns", "ns", 200e6, of="most", max_rounds=1),
)  # fmt: skip


# ---- who holds what: a build with VOLT_SIGHT=1, against the same without ----


def owners(row: str, title: str, at_most: float | None) -> Bar:
    options = (row, "--operations", 4000000)
    return Bar(f"owners/{row}", f"{title}: VOLT_SIGHT=1 / 0", Run("locks-sight", options), "ns", "",
               at_most, Run("locks", options))  # fmt: skip


DEADLOCKS = Run("deadlocks", ("--runs", 1000))

OWNERS = (
    owners("mutex", "a mutex, of which one hold in 64 is timed", 1.10),
    owners("write", "a rwlock, to write", 1.10),
    owners("read", "a rwlock, to read", None),
    owners("sem", "a permit", None),
    owners("nested", "two mutexes, one within the other", None),
    Bar("owners/deadlock", "1,000 deadlocks: reported after, p99", DEADLOCKS, "p99_ns", "ns", 1e9, max_rounds=1),
    Bar("owners/false", "the same: reports without a deadlock", DEADLOCKS, "false", "", 0, max_rounds=1),
)  # fmt: skip

ROWS: tuple[Bar, ...] = (*TIER_0, *TIER_1, *TIER_1_NAMED, *STALL, *SCENE, *DUMP, *ANSWERS, *OWNERS)
