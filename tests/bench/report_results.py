"""Results such as ./x bench has, small, with one of everything that can be in them."""

from typing import Any

HOSTILE = "<b>bold</b> & \"quoted\" 'too' `ls` $HOME @macro"
REASON = "librust-nothing-dev & <others> are not installed"
COLUMNS = ["p50_ns", "p99_ns", "p999_ns", "longest_ns", "slowest_share", "lost"]


def summary(median: float) -> dict[str, float]:
    return {"median": median, "quartile_1": median * 0.95, "quartile_3": median * 1.04,
            "least": median * 0.9, "most": median * 1.3}


def arm(label: str, kind: str, ns: float, ratio: float | None = None,
        **more: Any) -> dict[str, Any]:
    return {
        "label": label, "program": "tasks", "engine": None, "kind": kind, "skipped": None,
        "version": f"{label} 1.2.3", "rounds": 11, "disturbed": 1 if kind == "unfair" else 0,
        "ns": summary(ns), "cpu_ns": summary(ns * 1.9), "ratio": ratio and summary(ratio),
        "fields": {}, "note": "",
    } | more


def skipped(label: str) -> dict[str, Any]:
    nothing = {"version": None, "rounds": 0, "ns": None, "cpu_ns": None}
    return arm(label, "fair", 1, skipped=REASON) | nothing


def row(key: str, title: str, workload: str, arms: list[dict[str, Any]], by: str = "ns",
        columns: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"key": key, "title": title, "workload": workload, "workers": 2, "tasks": 8,
            "amount": 64, "contended": by == "ns", "by": by, "columns": list(columns), "arms": arms,
            "line_ns": {"median": 53.1, "least": 25, "most": 231} if by == "ns" else None}


def sections() -> list[dict[str, Any]]:
    alone = row("alone-mutex", "mutex: lock + unlock", "alone-mutex", [
        arm("volt", "volt", 11.04),
        arm("volt, by a task", "volt", 12.5, 1.13),
        arm("two bare CAS", "limit", 10.3, 0.93),
        arm("ck fas", "spins", 5.7, 0.52, note="faster than volt; spins, never sleeps"),
        arm("parking_lot", "unfair", 10.2, 0.92),
        arm(HOSTILE, "fair", 34, 3.1),
        skipped("Tokio"),
    ], "cpu_ns")
    contended = row("mutex-8", "mutex, 8 threads <i>", "mutex", [
        arm("volt", "volt", 1234.4),
        arm("Go", "fair", 1250, 1.01),
        arm("nsync", "unfair", 2600, 2.1),
    ])
    waits = row("waits-8", "lock held for 1 us", "waits", [
        arm(label, kind, ns, ratio, fields={
            "p50_ns": summary(ns), "p999_ns": summary(ns * far), "lost": summary(0.25)})
        for label, kind, ns, ratio, far in
        (("volt", "volt", 8000, None, 1.5), ("Tokio", "fair", 16000, 2, 3),
         ("glibc", "unfair", 700, 0.1, 900))
    ], columns=tuple(COLUMNS))
    parked = row("parked", "1,000,000 tasks wait", "parked", [
        arm(label, kind, 80, ratio, fields={"bytes": summary(size)})
        for label, kind, ratio, size in
        (("volt", "volt", None, 231), ("Tokio", "fair", 1.4, 208.4),
         ("Boost.Fiber", "unfair", 30, 9657))
    ], columns=("bytes",))
    engines = row("held-8", "held across a yield", "held", [
        arm("volt", "volt", 250), arm("two_tier", "variant", 230, 0.92)])
    return [
        {"key": "alone", "title": "Nobody waits", "text": "One & no other.", "rows": [alone]},
        {"key": "threads", "title": "Threads", "text": "", "rows": [contended, waits]},
        {"key": "memory", "title": "Memory", "text": "", "rows": [parked]},
        {"key": "engines", "title": "Engines", "text": "", "rows": [engines]},
    ]


def bcs() -> dict[str, Any]:
    cells = [(t, locked) for t in (2, 8) for locked in (0, 100, 1000)]
    return {
        "rounds": 3,
        "results": [
            {"threads": t, "locked_ns": locked, "unlocked_ns": 1000, "candidate": c, "disturbed": 0,
             "per_second": summary(1e9 / (locked + 40 * (i + 1))),
             "slowest_share": summary(0.9 / (i + 1))}
            for t, locked in cells for i, c in enumerate(("waitfree", "pthread", "new one", "none"))
        ],
        "bars": [{"claim": "min/max >= 0.90", "verdict": "holds", "figures": "0.997"}],
        "hypotheses": [{"claim": "fairest of all", "verdict": "in 10 of 24 cells", "figures": ""}],
    }


def results() -> dict[str, Any]:
    series = [
        {"label": label, "kind": kind, "points": [[10**i, ns * (1 + i / 9)] for i in range(6)]}
        for label, kind, ns in (
            ("volt", "volt", 90), ("Tokio", "fair", 200), (HOSTILE, "fair", 300))
    ]
    return {
        "title": "Benchmarks", "command": "./x bench", "rounds": 11, "quick": False,
        "machine": "A <CPU> & more, 2 cores, Linux 6.1, gcc 12.2.0, commit abc1234, 2026-01-01",
        "programs": [
            {"name": "tasks", "versions": ["volt 1.2.3", HOSTILE], "skipped": None},
            {"name": "rust", "versions": [], "skipped": REASON},
        ],
        "sections": sections(),
        "growth": [
            {"key": "waiters", "title": "by how many wait", "x": "waiters", "y": "ns per operation",
             "series": series},
            {"key": "tasks", "title": "by how many there are", "x": "tasks",
             "y": "ns per operation", "series": series[:1]},
        ],
        "demands": [
            {"claim": f"volt / {HOSTILE} <= 0.50", "verdict": "holds", "figures": "0.39"},
            {"claim": "<= 150 ns", "verdict": "does not hold", "figures": "286 ns"},
            {"claim": "<= 1", "verdict": "not measured", "figures": ""},
        ],
        "instructions": {
            "operations": [{"title": "a hop", "instructions": 687.1, "bound": 690, "bar": None}],
            "alone": [{"path": "semaphore", "take_instructions": 7, "take_rmw": 1,
                       "give_instructions": 8, "give_rmw": 1}],
        },
        "bcs": bcs(),
    }
