"""What is measured: sections in the order of the report. A run takes some 50 to 200 ms."""

from dataclasses import replace

from suite import (
    ABSL, ADDS, ASIO, ASYNC_CHANNEL, ASYNC_LOCK, ATOMICS, BOOST, CHANNELS, CK_FAS, CK_MCS, CK_RING, CK_RW,
    CK_TFLOCK, CK_TICKET, CROSSBEAM, ENGINES, FAIR, FLUME, FLUME_THREADS, FUTEX, FUTEX_WAKE, GLIBC,
    GLIBC_ADAPTIVE, GLIBC_COND, GLIBC_WRITER, GO, GO_CHAN, GO_CONTEXT, GO_FREE, GO_LOCKED, GO_SYNC,
    GO_XSYNC, LINE, MOODYCAMEL, NSYNC, PARKING_LOT, PARKING_LOT_FAIR, PTH, RUST_STD, STATE_THREADS,
    TBB, TBB_QUEUE, TBB_QUEUING, THREAD_ENGINES, TOKIO, TOKIO_MPSC, TOKIO_UTIL, VOLT_CHAN,
    VOLT_CHAN_GENERIC, VOLT_CHAN_TYPED, VOLT_COROUTINES, VOLT_FIBERS, VOLT_MACROS, VOLT_PASSED_TASKS, VOLT_PASSED_THREADS, VOLT_TASKS, VOLT_THREAD, VOLT_THREADS,
    Arm, Growth, Row, Section, at_most, beside,
)  # fmt: skip

AWAITED = "volt, by a task"
VOLT_AWAITED = replace(VOLT_TASKS, label=AWAITED)
WAITS = ("p50_ns", "p99_ns", "p999_ns", "longest_ns")
BY_TASKS = (VOLT_TASKS, TOKIO, ASYNC_LOCK)
MUTEXES = (*BY_TASKS, GO_SYNC, BOOST)
CONTENDED = (VOLT_TASKS, VOLT_PASSED_TASKS, *MUTEXES[1:])
RW_CONTENDED = (VOLT_TASKS, VOLT_PASSED_TASKS, *BY_TASKS[1:], GO_SYNC)
SEMS = (*BY_TASKS, GO_XSYNC, GO_CHAN, BOOST)
BOOST_SLOW = replace(BOOST, operations=20000)  # on two workers it is ten times slower


def alone(key: str, title: str, arms: tuple[Arm, ...], amount: int = 0) -> Row:
    workload = "-".join(key.split("-")[:2])
    return Row(key, title, workload, arms, workers=1, amount=amount, operations=2000000)


def threads(count: int, key: str, title: str, arms: tuple[Arm, ...], amount: int = 0) -> Row:
    """Operations are a bound that the time comes before: 100 ms."""
    return Row(f"{key}-{count}", f"{title}, {count} threads", key, arms, tasks=count, amount=amount,
               operations=10000000, columns=("slowest_share",))  # fmt: skip


def tasks(workers: int, count: int, key: str, title: str, arms: tuple[Arm, ...],
          operations: int, amount: int = 0, columns: tuple[str, ...] = ()) -> Row:  # fmt: skip
    many = "1 worker" if workers == 1 else f"{workers} workers"
    return Row(f"{key}-{count}-{workers}w", f"{title}, {many}", key, arms, workers, count, amount,
               operations, columns)  # fmt: skip


ALONE = Section(
    "alone", "Nobody waits",
    "One thread or task takes what nobody else wants, and gives it back. Libraries of plain threads"
    " have a second thread that sleeps. By CPU time. What tasks, goroutines and fibers await is rated"
    " against volt by a task.",
    (
        alone("alone-mutex", "mutex: lock + unlock",
              (VOLT_THREADS, VOLT_AWAITED, ATOMICS, CK_FAS, CK_TICKET, CK_MCS, GLIBC,
               GLIBC_ADAPTIVE, NSYNC, ABSL, TBB, TBB_QUEUING, PARKING_LOT, RUST_STD,
               *beside(AWAITED, GO_SYNC, ASYNC_LOCK, TOKIO, BOOST))),
        alone("alone-sem", "semaphore: acquire + release",
              (VOLT_THREADS, VOLT_AWAITED, ATOMICS, GLIBC, NSYNC, ABSL, MOODYCAMEL, PARKING_LOT,
               *beside(AWAITED, GO_XSYNC, GO_CHAN, ASYNC_LOCK, TOKIO, BOOST))),
        alone("alone-read", "read-write lock: read",
              (VOLT_THREADS, VOLT_AWAITED, ATOMICS, ADDS, CK_RW, CK_TFLOCK, GLIBC, NSYNC, ABSL, TBB,
               TBB_QUEUING, PARKING_LOT, RUST_STD,
               *beside(AWAITED, GO_SYNC, ASYNC_LOCK, TOKIO))),
        alone("alone-write", "read-write lock: write",
              (VOLT_THREADS, VOLT_AWAITED, ATOMICS, CK_RW, CK_TFLOCK, GLIBC, NSYNC, ABSL, TBB,
               TBB_QUEUING, PARKING_LOT, RUST_STD,
               *beside(AWAITED, GO_SYNC, ASYNC_LOCK, TOKIO))),
        alone("alone-chan-64", "channel: send + receive, capacity 64",
              (VOLT_CHAN_TYPED, VOLT_CHAN_GENERIC, replace(VOLT_CHAN, label=AWAITED),
               CK_RING, MOODYCAMEL, TBB_QUEUE, CROSSBEAM, FLUME_THREADS,
               *beside(AWAITED, ASYNC_CHANNEL, TOKIO_MPSC, GO_CHAN, BOOST)), 64),
    ),
)  # fmt: skip

THREADS = Section(
    "threads", "Plain threads that contend",
    "Each takes and gives back at once, again and again. Locks that let the running thread overtake"
    " those that sleep (unfair) need no context switch for that; those that serve in order do, for"
    " every turn, once more threads want the lock than there are cores. The slowest thread's share"
    " of the fastest one's operations says what it costs the others. volt with a bypass of 16 lets"
    " 16 pass the oldest waiter, and no more.",
    (
        *(threads(n, "mutex", "mutex",
                  (VOLT_THREADS, VOLT_PASSED_THREADS, LINE, CK_FAS, CK_TICKET, CK_MCS, GLIBC,
                   GLIBC_ADAPTIVE, NSYNC, ABSL, TBB, TBB_QUEUING, PARKING_LOT, PARKING_LOT_FAIR,
                   RUST_STD))
          for n in (2, 4, 8)),
        threads(8, "sem", "semaphore of 2 permits",
                (VOLT_THREADS, LINE, GLIBC, NSYNC, ABSL, MOODYCAMEL, PARKING_LOT), 2),
        threads(6, "rwlock", "read-write lock, 4 read, 2 write",
                (VOLT_THREADS, VOLT_PASSED_THREADS, LINE, CK_RW, CK_TFLOCK, GLIBC, GLIBC_WRITER,
                 NSYNC, ABSL, TBB, TBB_QUEUING, PARKING_LOT, PARKING_LOT_FAIR, RUST_STD), 2),
        threads(17, "rwlock", "read-write lock, 16 read, 1 writes",
                (VOLT_THREADS, VOLT_PASSED_THREADS, LINE, CK_RW, CK_TFLOCK, GLIBC, GLIBC_WRITER,
                 NSYNC, ABSL, TBB, TBB_QUEUING, PARKING_LOT, PARKING_LOT_FAIR, RUST_STD), 1),
        Row("pingpong-threads", "two threads hand over to each other: a hop", "pingpong",
            (VOLT_THREADS, LINE, FUTEX, CK_RING, GLIBC, GLIBC_COND, NSYNC, ABSL, MOODYCAMEL,
             PARKING_LOT, RUST_STD, CROSSBEAM, TBB_QUEUE), tasks=2, operations=5000),
        Row("spsc", "channel of 64: one thread sends, one receives", "spsc",
            (replace(VOLT_CHAN_TYPED, label="volt"), LINE, CK_RING, MOODYCAMEL, TBB_QUEUE,
             CROSSBEAM, FLUME_THREADS, GO_CHAN), tasks=2, amount=64, operations=300000),
    ),
)  # fmt: skip

TASKS = Section(
    "tasks", "Tasks that contend",
    "volt's tasks on its runtime, Tokio's and async-lock on Tokio's, goroutines, fibers. Each is"
    " awaited as its documentation has it in a hot loop: volt tries before it makes a future. With"
    " one worker, nobody meets another but where something is held across a yield.",
    (
        tasks(1, 8, "sem", "semaphore, 8 tasks, 2 permits", SEMS, 100000, 2),
        tasks(2, 8, "sem", "semaphore, 8 tasks, 2 permits", SEMS, 100000, 2),
        tasks(1, 8, "held", "the same, a permit held across a yield", SEMS, 25000, 2),
        tasks(2, 8, "held", "the same, a permit held across a yield", SEMS, 25000, 2),
        tasks(1, 11, "held", "lock with 10 waiters, held across a yield", SEMS, 20000, 1),
        tasks(2, 11, "held", "lock with 10 waiters, held across a yield", SEMS, 20000, 1),
        tasks(1, 4, "mutex", "mutex, 4 tasks", MUTEXES, 200000),
        *(tasks(2, n, "mutex", f"mutex, {n} tasks", CONTENDED, 400000 // n) for n in (2, 4, 8)),
        tasks(2, 6, "rwlock", "read-write lock, 4 read, 2 write", RW_CONTENDED, 60000, 2),
        tasks(2, 17, "rwlock", "read-write lock, 16 read, 1 writes", RW_CONTENDED, 30000, 1),
        tasks(1, 2, "pingpong", "two tasks hand over to each other: a hop", SEMS, 200000),
        tasks(2, 2, "pingpong", "two tasks hand over to each other: a hop",
              (*SEMS[:-1], BOOST_SLOW), 100000),
        tasks(1, 1000, "spawn", "spawn + join, 1,000 at a time", (VOLT_TASKS, TOKIO, GO, BOOST),
              300),
        tasks(2, 1000, "spawn", "spawn + join, 1,000 at a time", (VOLT_TASKS, TOKIO, GO, BOOST),
              300),
        tasks(1, 100, "yield", "yield, 100 tasks", (VOLT_TASKS, TOKIO, GO, BOOST), 20000),
        tasks(2, 100, "yield", "yield, 100 tasks", (VOLT_TASKS, TOKIO, GO, BOOST), 20000),
        tasks(1, 1, "timer", "timer: start + cancel, 1,000 others pending",
              (VOLT_TASKS, TOKIO, GO), 200000, 1000),
    ),
)  # fmt: skip

VOLTS = (VOLT_MACROS, VOLT_FIBERS, VOLT_COROUTINES)
STRAIGHT = (*VOLTS, BOOST, GO, ASIO)
ONE_THREAD = (PTH, STATE_THREADS)  # of these libraries all threads run on one

WAYS = Section(
    "ways", "Ways to write a task",
    "The same work as a stackless task, in a fiber, as a C++20 coroutine, and by libraries of fibers"
    " and of coroutines. Asio's permits are what is in one of its channels. Each fiber has a stack of its own; GNU Pth's and State Threads' run on one thread of the system.",
    (
        tasks(1, 100, "yield", "yield, 100 of them", (*STRAIGHT, *ONE_THREAD), 20000),
        tasks(1, 1000, "yield", "yield, 1,000 of them", STRAIGHT, 2000),
        tasks(1, 8, "held", "one of 2 permits, held across a yield, 8 of them",
              (*VOLTS, BOOST, GO_CHAN, ASIO), 25000, 2),
        tasks(1, 11, "held", "lock with 10 waiters, held across a yield",
              (*VOLTS, BOOST, GO_CHAN), 20000, 1),
        tasks(1, 1, "alone-sem", "semaphore: acquire + release; nobody waits",
              (*VOLTS, BOOST, GO_CHAN, ASIO), 1000000),
        tasks(1, 2, "pingpong", "two hand over to each other: a hop",
              (*VOLTS, BOOST, GO_CHAN, ASIO), 200000),
        tasks(2, 2, "pingpong", "two hand over to each other: a hop",
              (*VOLTS, GO_CHAN, BOOST_SLOW), 100000),
        tasks(1, 1000, "spawn", "spawn + join, 1,000 at a time", (*STRAIGHT, *ONE_THREAD), 300),
        tasks(1, 1, "child", "a coroutine awaits one that is ready", (VOLT_COROUTINES, ASIO),
              1000000),
        Row("parked", "100,000 wait for one permit", "parked",
            (*VOLTS, BOOST, GO_CHAN, ASIO), 1, 100000, columns=("bytes",),
            max_rounds=1),
    ),
)  # fmt: skip

PLAYERS = (VOLT_CHAN, ASYNC_CHANNEL, FLUME, TOKIO_MPSC, GO_CHAN, BOOST)
PLAYERS_2W = (*PLAYERS[:-1], BOOST_SLOW)

CHANNEL = Section(
    "channels", "Channels between tasks",
    "Tokio's mpsc has one receiver, who receives everything; crossbeam's ends are threads.",
    (
        tasks(1, 8, "mpmc", "4 send, 4 receive, capacity 1024", PLAYERS, 100000, 1024),
        replace(tasks(2, 8, "mpmc", "4 send, 4 receive, capacity 1024",
                      (*PLAYERS_2W, replace(CROSSBEAM, label="crossbeam, threads")), 100000, 1024)),
        replace(tasks(2, 8, "mpmc", "4 send, 4 receive, capacity 64",
                      (*PLAYERS_2W, replace(CROSSBEAM, label="crossbeam, threads")), 100000, 64),
                key="mpmc-64-8-2w"),
        tasks(1, 2, "chan-pingpong", "two tasks, two channels of 1: a hop", PLAYERS, 150000, 1),
        tasks(2, 2, "chan-pingpong", "two tasks, two channels of 1: a hop", PLAYERS_2W, 100000, 1),
    ),
)  # fmt: skip


BY_THREAD = VOLT_THREAD.label
IN_ORDER = replace(GO_SYNC, kind=FAIR)  # all of it but its locks


def nobody_waits(key: str, title: str, *arms: Arm, operations: int = 2000000) -> Row:
    return replace(alone(f"alone-{key}", f"{title}; nobody waits", (VOLT_TASKS, *arms)),
                   operations=operations)  # fmt: skip


def waited_for(count: int, key: str, title: str, operations: int, *arms: Arm,
               amount: int = 0) -> Row:  # fmt: skip
    return replace(tasks(1, count, key, title, (VOLT_TASKS, *arms), operations, amount),
                   title=title, key=key)  # fmt: skip


FAMILY = Section(
    "family", "The rest of the family",
    "What is neither a lock nor a channel, each primitive twice: when nobody waits, and with a task"
    " that does; all on one worker, so that each operation of the second is a wait, a wake and a"
    " switch of tasks, as often for all. Beside each is what people use for it: where a library has"
    " no such thing, what its users make of what it has (in Go a channel of one place, or one that"
    " is closed). By CPU time. Plain threads are rated against volt by a thread.",
    (
        nobody_waits("notify", "notify: one, and wait", TOKIO, GO_CHAN),
        waited_for(2, "notify", "notify: two tasks notify each other, a hop", 800000, TOKIO,
                   GO_CHAN),
        nobody_waits("oneshot", "oneshot: made, sent, received", TOKIO, GO_CHAN),
        waited_for(2, "oneshot", "oneshot: two tasks, one made for each hop", 400000, TOKIO,
                   GO_CHAN),
        nobody_waits("broadcast", "broadcast: send, receive", TOKIO, GO_CHAN),
        waited_for(5, "broadcast", "broadcast: a send that 4 tasks wait for", 160000, TOKIO,
                   GO_CHAN),
        nobody_waits("watch", "watch: send, await the change, look", TOKIO, GO_CHAN),
        waited_for(5, "watch", "watch: a send that 4 tasks wait for", 160000, TOKIO, GO_CHAN),
        nobody_waits("barrier", "barrier of 1", VOLT_THREAD, TOKIO, IN_ORDER, BOOST,
                     *beside(BY_THREAD, GLIBC), operations=1000000),
        waited_for(4, "barrier", "barrier of 4 tasks, a round", 240000, TOKIO, IN_ORDER, BOOST),
        nobody_waits("once", "once: come when it is done", VOLT_THREAD, TOKIO, IN_ORDER,
                     *beside(BY_THREAD, GLIBC, NSYNC), operations=10000000),
        waited_for(4, "once", "once: one task does it, 3 wait, a round", 150000, TOKIO, IN_ORDER),
        nobody_waits("latch", "latch: made for 1, counted down, awaited", VOLT_THREAD, IN_ORDER,
                     *beside(BY_THREAD, NSYNC)),
        waited_for(5, "latch", "latch: 4 tasks wait for one, and it for them, a round", 120000,
                   IN_ORDER),
        nobody_waits("cond", "condition variable: signal", VOLT_THREAD, IN_ORDER, BOOST,
                     *beside(BY_THREAD, GLIBC, NSYNC), operations=10000000),
        waited_for(2, "cond", "condition variable: two tasks take turns, a hop", 400000, IN_ORDER,
                   BOOST),
        nobody_waits("token", "token: is it cancelled?", VOLT_THREAD, TOKIO_UTIL, GO_CONTEXT,
                     *beside(BY_THREAD, NSYNC), operations=4000000),
        waited_for(2, "token", "token: two tasks, one made and cancelled for each hop", 250000,
                   TOKIO_UTIL, GO_CONTEXT),
        nobody_waits("limit", "semaphore: limit down, limit up", TOKIO),
        waited_for(2, "limit", "semaphore: the limit raised for a task that waits, a hop", 600000,
                   TOKIO),
        nobody_waits("drain", "semaphore: drain, release", TOKIO),
        nobody_waits("all", "semaphore: acquire all, release", TOKIO, GO_XSYNC),
        waited_for(2, "all", "semaphore: one task acquires all of 4, one holds 1", 250000, TOKIO,
                   GO_XSYNC, amount=4),
    ),
)  # fmt: skip


def waits(row: Row) -> Row:
    return replace(row, columns=(*WAITS, "slowest_share"))


def given_up(workload: str, share: int, workers: int, count: int, arms: tuple[Arm, ...],
             operations: int) -> Row:  # fmt: skip
    what = "given up" if workload == "cancel" else "with a deadline of 20 us"
    who = f"{count} tasks, {workers} workers" if workers else f"{count} threads"
    return Row(f"{workload}-{share}", f"one permit, {share} % of the acquires {what}, {who}",
               workload, arms, workers, count, share, operations, ("lost",))  # fmt: skip


CANCELLERS = (*BY_TASKS, GO_XSYNC, GO_CHAN)
TIMED = (VOLT_THREADS, GLIBC, GLIBC_ADAPTIVE, NSYNC, ABSL, MOODYCAMEL, PARKING_LOT)

WAITING = Section(
    "waiting", "How long one waits",
    "Not how long an operation takes on average, but how long single ones waited: for a thread that"
    " sleeps to be woken; for a lock that everybody wants, held for a microsecond at a time. Then"
    " what becomes of it when many give up: lost is the share of acquires that did.",
    (
        Row("wake", "a thread that sleeps is given what it waits for", "wake",
            (VOLT_THREADS, FUTEX_WAKE, GLIBC, GLIBC_COND, NSYNC, ABSL, MOODYCAMEL, PARKING_LOT,
             RUST_STD, CROSSBEAM, GO_LOCKED, GO_FREE), tasks=2, operations=300, columns=WAITS[1:]),
        waits(threads(8, "waits", "lock held for 1 us",
                      (VOLT_THREADS, VOLT_PASSED_THREADS, GLIBC, GLIBC_ADAPTIVE, NSYNC, ABSL,
                       PARKING_LOT, PARKING_LOT_FAIR, RUST_STD), 1000)),
        waits(tasks(2, 8, "waits", "lock held for 1 us, 8 tasks",
                    (*CONTENDED[:-1], GO_XSYNC, GO_CHAN, BOOST), 5000, 1000)),
        *(given_up("cancel", share, 2, 8, CANCELLERS, 20000) for share in (10, 50)),
        *(given_up("timeout", share, 0, 4, TIMED, 10000000) for share in (10, 50)),
    ),
)  # fmt: skip

ALLOCATING = Arm("variant: allocates", "tasks", "allocating", "variant")
LOCKED = Arm("variant: the same without", "tasks", "locked", "variant")

MEMORY = Section(
    "memory", "Memory",
    "What a parked task costs, everything included: resident memory before and after. And how often"
    " an allocator is called while 10 tasks wait for what another one holds, a million times.",
    (
        Row("parked", "1,000,000 tasks wait for one permit (Boost.Fiber: 100,000)", "parked",
            at_most((*BY_TASKS, GO_XSYNC, GO_CHAN, BOOST), "boost", 100000), 1, 1000000,
            columns=("bytes",), max_rounds=1),
        Row("cycles", "a million lock + unlock by 11 tasks, held across a yield", "cycles",
            (*MUTEXES, GO_XSYNC, ALLOCATING, LOCKED), 1, 11, operations=90910,
            columns=("allocations",), max_rounds=3),
        Row("cycles-1", "a million lock + unlock by one task, held across a yield", "cycles",
            (*MUTEXES, GO_XSYNC, ALLOCATING, LOCKED), 1, 1, operations=1000000,
            columns=("allocations",), max_rounds=3),
    ),
)  # fmt: skip

ENGINE_ROWS = Section(
    "engines", "The wait queue and its rivals",
    "The library's queue and the engines of bench/variants/ under volt's runtime, each by one"
    " adapter. locked and two_tier are the forms of the published texts, corrected; so are the"
    " channels dekker and slots.",
    (
        tasks(1, 8, "sem", "semaphore, 8 tasks, 2 permits", ENGINES, 100000, 2),
        tasks(2, 8, "sem", "semaphore, 8 tasks, 2 permits", ENGINES, 100000, 2),
        tasks(1, 8, "held", "the same, held across a yield", ENGINES, 25000, 2),
        tasks(2, 8, "held", "the same, held across a yield", ENGINES, 25000, 2),
        tasks(2, 3, "held", "3 tasks, 2 permits, held across a yield", ENGINES, 60000, 2),
        tasks(2, 11, "held", "lock with 10 waiters, held across a yield", ENGINES, 20000, 1),
        tasks(1, 2, "pingpong", "two tasks hand over: a hop", ENGINES, 150000),
        tasks(2, 2, "pingpong", "two tasks hand over: a hop", ENGINES, 100000),
        replace(given_up("cancel", 50, 2, 8, ENGINES, 20000), key="cancel-50-engines"),
        threads(4, "mutex", "one permit", THREAD_ENGINES),
        tasks(1, 8, "mpmc", "channel: 4 send, 4 receive, capacity 1024", CHANNELS, 100000, 1024),
        tasks(2, 8, "mpmc", "channel: 4 send, 4 receive, capacity 1024", CHANNELS, 100000, 1024),
        tasks(1, 2, "chan-pingpong", "channels of 1: a hop", CHANNELS, 150000, 1),
        tasks(2, 2, "chan-pingpong", "channels of 1: a hop", CHANNELS, 100000, 1),
    ),
)  # fmt: skip

def by_hand(workload: str, title: str, amount: int = 0, operations: int = 1000000) -> Row:
    key = f"{workload}-{amount}" if amount else workload
    return Row(key, title, workload, THREAD_ENGINES, amount=amount, operations=operations)


def path(name: str, title: str, amount: int = 0) -> Row:
    return by_hand(f"path-{name}", title, amount, 500)


QUEUE = Section(
    "queue", "The wait queue's operations",
    "One thread queues, grants and cancels waiters by hand; no other thread is there. A path is"
    " timed by itself, on semaphores that are made for it. What the text says: the table of the"
    " text that two_tier comes from, for its own form.",
    (
        replace(alone("alone-try", "try_acquire + release",
                      (*THREAD_ENGINES, ATOMICS, GLIBC)), workers=0),
        replace(alone("alone-sem", "acquire + release", (*THREAD_ENGINES, ATOMICS, GLIBC)),
                workers=0),
        by_hand("handoff", "acquire queues, release grants it: 1 waiter", 1),
        by_hand("handoff", "8 wait: release grants the oldest, which queues again", 8),
        by_hand("handoff", "the same with 10", 10),
        by_hand("cancel-queued", "acquire queues, cancel: nobody else waits"),
        by_hand("cancel-queued", "acquire queues, cancel: behind 8 others", 8),
        path("try", "try_acquire, finds a permit (the text says 5-10 ns)"),
        path("take", "acquire, finds a permit (the text says 5-10 ns)"),
        path("queue", "acquire, queues as the first (the text says 50-100 ns)"),
        path("queue", "acquire, queues behind one (the text says 50-100 ns)", 1),
        path("queue", "acquire, queues behind 8 (the text says 50-100 ns)", 8),
        path("give", "release, nobody waits (the text says 30 ns)"),
        path("grant", "release, grants the only waiter (the text says 10-30 ns)", 1),
        path("grant", "release, grants the oldest of 8 (the text says 50-100 ns)", 8),
        path("cancel", "cancel, the only waiter (the text says 5 ns)"),
        path("cancel", "cancel, behind 8 (the text says: with its mutex)", 8),
    ),
)  # fmt: skip

SECTIONS = (ALONE, THREADS, TASKS, WAYS, CHANNEL, FAMILY, WAITING, MEMORY, ENGINE_ROWS, QUEUE)


def growth(key: str, title: str, x: str, workload: str, arms: tuple[Arm, ...], amount: int,
           xs: tuple[int, ...], total: int) -> Growth:  # fmt: skip
    """Rows of x tasks that do `total` operations together, two each at least."""
    rows = tuple(
        Row(f"{key}-{n}", f"{title}: {n:,}", workload, arms, 1, n, amount, max(total // n, 2),
            max_rounds=3)
        for n in xs
    )  # fmt: skip
    return Growth(key, title, x, rows, xs)


BY_TENS = (1, 10, 100, 1000, 10000, 100000)
GROWTH = (
    growth("by-waiters", "an acquire and its handoff, by how many wait", "waiters", "held",
           (VOLT_TASKS, TOKIO, ASYNC_LOCK, GO_XSYNC, GO_CHAN), 1, BY_TENS, 200000),
    growth("by-tasks", "a turn of each task, by how many there are", "tasks", "yield",
           (VOLT_TASKS, TOKIO, GO), 0, BY_TENS, 1000000),
)  # fmt: skip


def check() -> None:
    """Keys name a row; the first arm is volt's."""
    parts = [part.key for part in (*SECTIONS, *GROWTH)]
    if len(set(parts)) != len(parts):
        raise AssertionError(f"a key twice: {parts}")
    for section in SECTIONS:
        keys = [row.key for row in section.rows]
        if len(set(keys)) != len(keys):
            raise AssertionError(f"a key twice in {section.key}: {keys}")
        for row in section.rows:
            labels = [arm.label for arm in row.arms]
            if row.arms[0].kind != "volt" or len(set(labels)) != len(labels):
                raise AssertionError(f"the arms of {row.key}: {labels}")
