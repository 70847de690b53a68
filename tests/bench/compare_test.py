#!/usr/bin/env python3
"""The runner of bench/compare, without its programs: what counts, ratios, who loses, and that a
program which fails or says nonsense is an error. One line per check; exit code 0 if none failed."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "compare"))

import demands  # noqa: E402
import results  # noqa: E402
import rows  # noqa: E402
import run  # noqa: E402
from stats import summarize  # noqa: E402
from suite import FAIR, LIMIT, UNFAIR, VOLT, Arm, Row  # noqa: E402

failed = 0


def check(what: str, holds: bool) -> None:
    global failed
    failed += not holds
    print(f"{'ok' if holds else 'FAILED'}: {what}")


ARMS = (Arm("volt", "a", None, VOLT), Arm("fast", "b", None, UNFAIR), Arm("slow", "b", "x", FAIR),
        Arm("limit", "a", None, LIMIT, workload="atomics", operations=7))  # fmt: skip
ROW = Row("sem", "a row", "sem", ARMS, workers=2, tasks=8, amount=2, operations=1000)


def samples(*runs: tuple[float, float]) -> list[run.Sample]:
    """ns and others of each round."""
    return [run.Sample({"ns": ns, "cpu_ns": ns}, o, i) for i, (ns, o) in enumerate(runs)]


def pair() -> results.Pair:
    """volt doubles in the second round, and so do the others: ratios stay what they are. In the
    third, something else was busy."""
    measured = run.Measured()
    measured.samples = {
        "volt": samples((10, 0), (20, 0.1), (900, 0.9), (10, 0)),
        "fast": samples((5, 0), (10, 0), (5, 0), (5, 0)),
        "slow": samples((30, 0), (60, 0), (30, 0), (30, 0)),
    }
    measured.lines = [50, 230, 50, 60]
    return results.Pair(ROW, measured)


def test_figures() -> None:
    s = summarize([4, 1, 3, 2])
    check("a summary", s is not None and (s.least, s.median, s.most) == (1, 2.5, 4))
    check("of nothing there is none", summarize([]) is None)
    p = pair()
    check("a disturbed run does not count", len(p.samples(ARMS[0])) == 3)
    only = run.Measured({"volt": samples((900, 0.9), (910, 0.9), (20, 0))})
    check("unless there are too few others", len(results.Pair(ROW, only).samples(ARMS[0])) == 3)
    ratio = p.ratio(ARMS[2], ARMS[0])
    check("ratios are taken within rounds", ratio is not None and ratio.least == ratio.most == 3)
    dear = results.states([p])[0]
    check("dear lines are told from cheap ones", (dear["cheap"], dear["dear"]) == (3, 1))
    check("with the time in each", dear["arms"][2]["dear"]["median"] == 60)


def test_standing() -> None:
    plan = run.Plan({"a": "/bin/a"}, {"b": "no such package"}, 4, 10, 100)
    arm = results.arm_dict(pair(), ARMS[1], run.Plan({"a": "", "b": ""}, {}, 4, 10, 100))
    check("the row in which volt loses says so", arm["note"].startswith("faster than volt"))
    arm = results.arm_dict(pair(), ARMS[2], run.Plan({"a": "", "b": ""}, {}, 4, 10, 100))
    check("the one in which it wins does not", arm["note"] == "")
    skipped = results.arm_dict(pair(), ARMS[1], plan)
    check("a peer that is left out says why", skipped["skipped"] == "no such package")
    d = demands.Demands({("tasks", "sem"): pair()})
    d.ahead_of("ahead", ("fast",))
    d.ahead_of("ahead", ("slow",))
    d.beside_fair("beside the fair", 2.0)
    d.ahead_of("ahead", ("nobody",))
    d.ratio("ratio", ("tasks", "sem"), "volt", "slow", 0.3)
    d.time("time", ("tasks", "none"), "volt", 1)
    verdicts = [v.verdict for v in d.verdicts]
    expected = [demands.FAILS, demands.HOLDS, demands.HOLDS, demands.UNKNOWN, demands.FAILS,
                demands.UNKNOWN]  # fmt: skip
    check("demands are judged", verdicts == expected)


def test_programs(scratch: Path) -> None:
    plan = run.Plan({"a": "/a", "b": "/b"}, {}, 1, 10, 10)
    argv = run.argv_of(plan, ROW, ARMS[2])
    check("an arm's command line", argv == ["/b", "sem", "--engine", "x", "--workers", "2",
          "--tasks", "8", "--operations", "100", "--amount", "2"])  # fmt: skip
    argv = run.argv_of(plan, ROW, ARMS[3])
    check("a limit's", argv == ["/a", "atomics", "--operations", "1"])

    def fails(script: str) -> str:
        path = scratch / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        try:
            run.run_program([str(path)])
        except run.Failure as failure:
            return str(failure)
        return ""

    check("a program that fails is an error, with what it said",
          "it broke" in fails("echo it broke >&2; exit 3"))  # fmt: skip
    check("so is one that says nothing", "measured nothing" in fails("true"))
    check("and one that took no time", "measured nothing" in fails("echo '{\"ns\": 0}'"))
    check("one that measures is not", fails("echo '{\"ns\": 1.5}'") == "")
    check("one that is not there is an error", bool_of_missing())


def bool_of_missing() -> bool:
    try:
        run.run_program(["/no/such/program"])
    except run.Failure as failure:
        return "cannot run" in str(failure)
    return False


def test_rows() -> None:
    rows.check()
    keys = [f"{s.key}/{r.key}" for s in rows.SECTIONS for r in s.rows]
    check("every row has a name of its own", len(keys) == len(set(keys)) > 50)
    sizes = [len(g.rows) == len(g.xs) for g in rows.GROWTH]
    check("a growth has a row for each x", all(sizes) and len(sizes) == 2)


# Of each, its workload and how many tasks that has when somebody waits; of drain nobody does.
FAMILY = {"notify": 2, "oneshot": 2, "broadcast": 5, "watch": 5, "barrier": 4, "once": 4, "latch": 5,
          "cond": 2, "token": 2, "limit": 2, "all": 2, "drain": 0}  # fmt: skip


def test_family() -> None:
    of = {r.key: r for r in rows.FAMILY.rows}
    alone = {f"alone-{name}" for name in FAMILY}
    waits = {name for name, tasks in FAMILY.items() if tasks}
    check("each primitive has a row alone and one with a waiter", of.keys() == alone | waits)
    check("by the workload of that name", all(r.workload == key for key, r in of.items()))
    check("on one worker, by CPU time", all((r.workers, r.by) == (1, "cpu_ns") for r in of.values()))
    check("by one task", all(of[key].tasks == 1 for key in alone))
    check("by as many as it needs", all(of[key].tasks == FAMILY[key] for key in waits))
    check("beside what people use", all(any(a.kind not in (VOLT, LIMIT) for a in r.arms)
          for r in of.values()))  # fmt: skip
    labels = {a.program: r.base(a).label for r in of.values() for a in r.arms if a.kind != VOLT}
    check("threads beside a thread", {labels.pop(name) for name in ("glibc", "nsync")}
          == {rows.BY_THREAD})  # fmt: skip
    check("tasks beside a task", set(labels.values()) == {"volt"})
    d = demands.Demands({("family", "notify"): pair()})
    d.ahead_of("ahead", ("fast",))
    d.beside_fair("beside the fair", 2.0)
    check("nothing is demanded of it", {v.verdict for v in d.verdicts} == {demands.UNKNOWN})


test_figures()
test_standing()
with tempfile.TemporaryDirectory() as directory:
    test_programs(Path(directory))
test_rows()
test_family()
sys.exit(1 if failed else 0)
