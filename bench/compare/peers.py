"""Who is measured, by workload family. What is marked fair serves in the order of arrival."""

from suite import FAIR, LIMIT, SPINS, UNFAIR, VARIANT, VOLT, Arm

# ---- limits: what nothing can be faster than ----

ATOMICS = Arm("two bare CAS", "threads", None, LIMIT, workload="atomics", operations=2000000)
LINE = Arm("a cache line, one way", "threads", None, LIMIT, workload="line", operations=50000)
FUTEX = Arm("futex, one way", "threads", None, LIMIT, workload="futex", operations=3000)

# ---- plain threads ----

VOLT_THREADS = Arm("volt", "threads", "volt", VOLT)
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
