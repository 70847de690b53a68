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
    options: tuple[str, ...] = ()  # more of its own


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


# ---- who is measured, by workload family; what is marked fair serves in the order of arrival ----

# ---- limits: what nothing can be faster than ----

ATOMICS = Arm("two bare CAS", "threads", None, LIMIT, workload="atomics", operations=2000000)
ADDS = Arm("two bare adds", "threads", None, LIMIT, workload="adds", operations=2000000)
LINE = Arm("a cache line, one way", "threads", None, LIMIT, workload="line", operations=50000)
FUTEX = Arm("futex, one way", "threads", None, LIMIT, workload="futex", operations=3000)
FUTEX_WAKE = Arm("a bare futex", "threads", "limit", LIMIT)

# ---- plain threads ----

PASSED = "volt, bypass 16"
BYPASS_16 = ("--bypass", "16")
VOLT_THREADS = Arm("volt", "threads", "volt", VOLT)
VOLT_PASSED_THREADS = Arm(PASSED, "threads", "volt", VOLT, options=BYPASS_16)
GLIBC = Arm("glibc", "glibc", "default", UNFAIR)
GLIBC_ADAPTIVE = Arm("glibc, adaptive", "glibc", "adaptive", UNFAIR)
GLIBC_WRITER = Arm("glibc, writers first", "glibc", "writer", UNFAIR)
GLIBC_COND = Arm("glibc, mutex+cond", "glibc", "cond", UNFAIR)
NSYNC = Arm("nsync", "nsync", None, UNFAIR)
CK_FAS = Arm("ck fas", "ck", "fas", SPINS)
CK_TICKET = Arm("ck ticket", "ck", "ticket", SPINS)
CK_MCS = Arm("ck mcs", "ck", "mcs", SPINS)
CK_RW = Arm("ck rwlock", "ck", "rwlock", SPINS)
CK_TFLOCK = Arm("ck tflock", "ck", "tflock", SPINS)
CK_RING = Arm("ck ring", "ck", "ring", SPINS)
ABSL = Arm("abseil", "absl", None, UNFAIR)
TBB = Arm("oneTBB", "tbb", "mutex", UNFAIR)
TBB_QUEUING = Arm("oneTBB queuing", "tbb", "queuing", SPINS)
TBB_QUEUE = Arm("oneTBB queue", "tbb", "queue", UNFAIR)
MOODYCAMEL = Arm("moodycamel", "moodycamel", None, UNFAIR)
PARKING_LOT = Arm("parking_lot", "rust", "parking_lot", UNFAIR)
PARKING_LOT_FAIR = Arm("parking_lot, fair unlock", "rust", "parking_lot-fair", FAIR)
RUST_STD = Arm("Rust std", "rust", "std", UNFAIR)
CROSSBEAM = Arm("crossbeam", "rust", "crossbeam", UNFAIR)
FLUME_THREADS = Arm("flume", "rust", "flume-threads", FAIR)

# ---- tasks, on a runtime of their own ----

VOLT_TASKS = Arm("volt", "tasks", "native", VOLT)
VOLT_PASSED_TASKS = Arm(PASSED, "tasks", "native", VOLT, options=BYPASS_16)
TOKIO = Arm("Tokio", "rust", "tokio", FAIR)
ASYNC_LOCK = Arm("async-lock", "rust", "async-lock", UNFAIR)
GO_SYNC = Arm("Go sync", "go", "sync", UNFAIR)
GO_XSYNC = Arm("Go x/sync", "go", "xsync", FAIR)
GO_CHAN = Arm("Go chan", "go", "chan", FAIR)
GO = Arm("Go", "go", None, FAIR)
GO_LOCKED = Arm("Go, locked threads", "go", "locked", FAIR)
GO_FREE = Arm("Go", "go", "free", FAIR)
GO_CONTEXT = Arm("Go context", "go", "context", FAIR)
BOOST = Arm("Boost.Fiber", "boost", None, UNFAIR)
VOLT_MACROS = Arm("volt, macros", "tasks", "native", VOLT)
VOLT_FIBERS = Arm("volt, fibers", "tasks", "fiber", VOLT)
VOLT_COROUTINES = Arm("volt, coroutines", "tasks", "coroutine", VOLT)
ASIO = Arm("Asio, coroutines", "asio", None, FAIR)
PTH = Arm("GNU Pth", "pth", None, FAIR)
STATE_THREADS = Arm("State Threads", "st", None, FAIR)
TOKIO_UTIL = Arm("tokio-util", "rust", "tokio-util", FAIR)
VOLT_THREAD = Arm("volt, by a thread", "tasks", "thread", VOLT)  # beside tasks, which come first

# ---- channels ----

VOLT_CHAN = Arm("volt", "tasks", "volt", VOLT)
VOLT_CHAN_GENERIC = Arm("volt, by functions", "tasks", "generic", VOLT)
VOLT_CHAN_TYPED = Arm("volt, typed", "tasks", "typed", VOLT)
ASYNC_CHANNEL = Arm("async-channel", "rust", "async-channel", UNFAIR)
FLUME = Arm("flume", "rust", "flume", UNFAIR)
TOKIO_MPSC = Arm("Tokio mpsc", "rust", "tokio", FAIR)

# ---- the engines of bench/variants/, by one adapter ----

ENGINES = tuple(
    Arm(name, "tasks", name, VOLT if name == "volt" else VARIANT)
    for name in ("volt", "locked", "two_tier", "slot_in_word", "combining", "allocating")
)
THREAD_ENGINES = tuple(
    Arm(name, "threads", name, VOLT if name == "volt" else VARIANT)
    for name in ("volt", "locked", "two_tier", "slot_in_word", "combining", "allocating")
)
CHANNELS = (VOLT_CHAN, Arm("dekker", "tasks", "dekker", VARIANT),
            Arm("slots", "tasks", "slots", VARIANT))  # fmt: skip
