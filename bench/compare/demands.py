"""What is demanded of volt, and what came out."""

from dataclasses import dataclass

from results import Pair
from stats import Summary
from suite import FAIR, PASSED, VARIANT, Arm

HOLDS, FAILS, UNKNOWN, REPORTED = "holds", "does not hold", "not measured", "reported"

ONLY_REPORTED = ("family",)  # sections of which nothing is demanded


@dataclass(frozen=True)
class Verdict:
    claim: str
    verdict: str
    figures: str


class Demands:
    """Judges; pairs by section and key."""

    def __init__(self, pairs: dict[tuple[str, str], Pair]) -> None:
        self.pairs = pairs
        self.judged = [pair for (key, _), pair in pairs.items() if key not in ONLY_REPORTED]
        self.verdicts: list[Verdict] = []

    def add(self, claim: str, holds: bool | None, figures: str) -> None:
        verdict = UNKNOWN if holds is None else HOLDS if holds else FAILS
        self.verdicts.append(Verdict(claim, verdict, figures))

    # ---- of one row ----

    def ratio(self, claim: str, at: tuple[str, str], label: str, to: str, limit: float) -> None:
        """label's time at most limit times to's."""
        pair = self.pairs.get(at)
        ratio = pair and pair.ratio(arm_of(pair, label), arm_of(pair, to))
        if not ratio:
            return self.add(claim, None, "")
        self.add(claim, ratio.median <= limit, spread(ratio))

    def reported(self, claim: str, at: tuple[str, str], label: str, over: str) -> None:
        """No demand: label's time over another's, which the published texts give."""
        pair = self.pairs.get(at)
        ratio = pair and pair.ratio(arm_of(pair, label), arm_of(pair, over))
        verdict = REPORTED if ratio else UNKNOWN
        self.verdicts.append(Verdict(claim, verdict, spread(ratio) if ratio else ""))

    def times_of_rows(self, claim: str, at: tuple[str, str], to: tuple[str, str],
                      limit: float) -> None:  # fmt: skip
        """volt's median in one row at most limit times that in another."""
        pairs = [self.pairs.get(at), self.pairs.get(to)]
        found = [p.summary(p.row.arms[0], p.row.by) for p in pairs if p]
        if len(found) < 2 or not all(found):
            return self.add(claim, None, "")
        over = found[0].median / found[1].median
        self.add(claim, over <= limit, f"{over:.3g}")

    def time(self, claim: str, at: tuple[str, str], label: str, limit: float) -> None:
        self.field(claim, at, label, "", limit, "ns")

    def field(self, claim: str, at: tuple[str, str], label: str, name: str, limit: float,
              unit: str) -> None:  # fmt: skip
        pair = self.pairs.get(at)
        summary = pair and pair.summary(arm_of(pair, label), name or pair.row.by)
        if not summary:
            return self.add(claim, None, "")
        self.add(claim, summary.median <= limit, f"{spread(summary)} {unit}")

    def longest(self, claim: str, at: tuple[str, str], label: str, turns: int | None) -> None:
        """In the quietest round nobody waits for longer than so many turns of the row. In the
        others a worker may lose its core meanwhile, which no lock can help. None: no demand."""
        pair = self.pairs.get(at)
        arm = pair and arm_of(pair, label)
        samples = pair.samples(arm) if pair and arm else []
        waited = [s.fields["longest_ns"] / s.fields["ns"] for s in samples
                  if "longest_ns" in s.fields]  # fmt: skip
        if not waited:
            return self.add(claim, None, "")
        figures = f"{min(waited):.0f} turns, in all rounds up to {max(waited):.0f}"
        if turns is None:
            return self.verdicts.append(Verdict(claim, REPORTED, figures))
        self.add(claim, min(waited) <= turns, figures)

    # ---- of all rows of which anything is demanded ----

    def ahead_of(self, claim: str, labels: tuple[str, ...]) -> None:
        """Wherever both run, volt is not slower than these by more than the rounds' spread."""
        count, lost = 0, []
        for pair in self.judged:
            for arm in pair.row.arms:
                if arm.label not in labels:
                    continue
                ratio = pair.ratio(arm, pair.row.base(arm))
                if not ratio:
                    continue
                count += 1
                if ratio.quartile_3 < 1:
                    lost.append(f"{pair.row.title} ({arm.label}: {1 / ratio.median:.2f})")
        figures = f"{count - len(lost)} of {count} rows" + (": not " if lost else "")
        self.add(claim, not lost if count else None, figures + "; ".join(lost))

    def beside_fair(self, claim: str, limit: float) -> None:
        count, lost = 0, []
        for pair in self.judged:
            rated = [(r.median, arm) for arm in pair.row.arms if arm.kind == FAIR
                     and (r := pair.ratio(arm, pair.row.base(arm)))]  # fmt: skip
            if not rated:
                continue
            count += 1
            least, arm = min(rated, key=lambda each: each[0])
            if least * limit < 1:
                lost.append(f"{pair.row.title} ({arm.label}: {1 / least:.2f})")
        figures = f"{count - len(lost)} of {count} rows" + (": not " if lost else "")
        self.add(claim, not lost if count else None, figures + "; ".join(lost))

    def best_variant(self, claim: str, at: tuple[str, str], limit: float) -> None:
        """The library's time at most limit times that of the best of bench/variants/."""
        pair = self.pairs.get(at)
        rated = [] if not pair else [
            (r, arm) for arm in pair.row.arms if arm.kind == VARIANT
            and (r := pair.ratio(pair.row.arms[0], arm))]  # fmt: skip
        if not rated:
            return self.add(claim, None, "")
        worst, arm = max(rated, key=lambda each: each[0].median)
        self.add(claim, worst.median <= limit, f"{spread(worst)} beside {arm.label}")


def arm_of(pair: Pair, label: str) -> Arm:
    return next(arm for arm in pair.row.arms if arm.label == label)


def spread(s: Summary) -> str:
    return f"{s.median:.3g} ({s.quartile_1:.3g} .. {s.quartile_3:.3g})"


def passed(d: Demands, labels: tuple[str, str, str, str], where: tuple[str, str, str]) -> None:
    """What is demanded of locks whose oldest waiter may be passed by 16. labels: of this form,
    async-lock's, Go's, glibc's; where: the sections of tasks, of threads, and of waits."""
    ours, async_lock, go, glibc = labels
    tasks, threads, waits = where
    for n in (2, 4, 8):
        for peer in (go, async_lock):
            d.ratio(f"bypass 16: mutex, {n} tasks, 2 workers: at most 1.1 times {peer}'s",
                    (tasks, f"mutex-{n}-2w"), ours, peer, 1.1)  # fmt: skip
    for n, who in ((6, "4 read, 2 write"), (17, "16 read, 1 writes")):
        d.ratio(f"bypass 16: read-write lock, {who}, 2 workers: at most 1.3 times {async_lock}'s",
                (tasks, f"rwlock-{n}-2w"), ours, async_lock, 1.3)  # fmt: skip
    for n in (2, 4, 8):
        d.ratio(f"bypass 16: mutex, {n} threads: at most 1.1 times {glibc}'s",
                (threads, f"mutex-{n}"), ours, glibc, 1.1)  # fmt: skip
    d.longest("bypass 16: lock held for 1 us, 8 tasks: nobody waits for longer than 7 * 17 turns",
              (waits, "waits-8-2w"), ours, 7 * 17)  # fmt: skip
    # of 8 threads on fewer cores one that holds the lock, or is next, may be off its core
    d.longest("bypass 16: lock held for 1 us, 8 threads: the longest wait", (waits, "waits-8"),
              ours, None)  # fmt: skip


def judge(pairs: dict[tuple[str, str], Pair]) -> list[Verdict]:
    d = Demands(pairs)
    for key, what in (("alone-mutex", "lock + unlock"), ("alone-sem", "acquire + release"),
                      ("alone-read", "read"), ("alone-write", "write")):  # fmt: skip
        d.ratio(f"{what}, nobody waits: at most 1.2 times two bare CAS", ("alone", key), "volt",
                "two bare CAS", 1.2)  # fmt: skip
        d.ratio(f"{what}, nobody waits: not above glibc's", ("alone", key), "volt", "glibc", 1.0)
    for peer in ("Tokio", "Tokio mpsc", "Boost.Fiber", "async-lock", "async-channel"):
        d.ahead_of(f"nowhere behind {peer}", (peer,))
    d.ahead_of("nowhere behind Go", ("Go", "Go sync", "Go x/sync", "Go chan"))
    d.beside_fair("nowhere more than twice the best fair peer's", 2.0)
    d.ratio("semaphore, 8 tasks, 2 permits, 2 workers: at most 0.5 of Tokio's",
            ("tasks", "sem-8-2w"), "volt", "Tokio", 0.5)  # fmt: skip
    d.ratio("mutex, 4 tasks, 2 workers: at most 0.25 of Tokio's", ("tasks", "mutex-4-2w"), "volt",
            "Tokio", 0.25)  # fmt: skip
    d.time("spawn + join, 1 worker: at most 100 ns", ("tasks", "spawn-1000-1w"), "volt", 100)
    d.time("spawn + join, 2 workers: at most 150 ns", ("tasks", "spawn-1000-2w"), "volt", 150)
    d.time("yield, 1 worker: at most 20 ns", ("tasks", "yield-100-1w"), "volt", 20)
    d.field("a parked task: at most 320 bytes", ("memory", "parked"), "volt", "bytes", 320, "bytes")
    d.field("a million lock + unlock: no allocation", ("memory", "cycles"), "volt", "allocations",
            0, "an operation")  # fmt: skip
    d.time("channel, typed, one thread: at most 14 ns", ("alone", "alone-chan-64"), "volt, typed",
           14)  # fmt: skip
    d.time("channel, by functions, one thread: at most 14 ns", ("alone", "alone-chan-64"),
           "volt, by functions", 14)  # fmt: skip
    mpmc = ("channels", "mpmc-8-2w")
    d.ratio("4 send, 4 receive, capacity 1024: at most 0.5 of async-channel's", mpmc, "volt",
            "async-channel", 0.5)  # fmt: skip
    d.ratio("4 send, 4 receive, capacity 1024: not above Go's", mpmc, "volt", "Go chan", 1.0)
    d.times_of_rows("capacity 64: at most 1.3 times capacity 1024", ("channels", "mpmc-64-8-2w"),
                    mpmc, 1.3)  # fmt: skip
    d.time("channels of 1, 1 worker: at most 60 ns a hop", ("channels", "chan-pingpong-2-1w"),
           "volt", 60)  # fmt: skip
    passed(d, (PASSED, "async-lock", "Go sync", "glibc"), ("tasks", "threads", "waiting"))
    for key in ("sem-8-1w", "sem-8-2w", "held-8-1w", "held-8-2w", "held-3-2w", "held-11-2w",
                "pingpong-2-2w", "mpmc-8-2w", "chan-pingpong-2-2w"):  # fmt: skip
        pair = pairs.get(("engines", key))
        if pair:
            d.best_variant(f"{pair.row.title}: within 10 % of the best variant", ("engines", key),
                           1.10)  # fmt: skip
    for key in ("sem-8-1w", "sem-8-2w", "held-8-1w", "held-8-2w"):
        if pair := pairs.get(("engines", key)):
            d.reported(f"{pair.row.title}: locked / two_tier (the text says 1.6)", ("engines", key),
                       "locked", "two_tier")  # fmt: skip
    for key in ("mpmc-8-1w", "mpmc-8-2w", "chan-pingpong-2-1w", "chan-pingpong-2-2w"):
        if pair := pairs.get(("engines", key)):
            d.reported(f"{pair.row.title}: dekker / slots (the text says 1.5)", ("engines", key),
                       "dekker", "slots")  # fmt: skip
    return d.verdicts
