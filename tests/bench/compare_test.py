#!/usr/bin/env python3
"""The runner of bench/compare, without its programs: what counts, ratios, who loses, and that a
program which fails or says nonsense is an error. One line per check; exit code 0 if none failed."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "compare"))

import bcs  # noqa: E402
import bypass  # noqa: E402
import demands  # noqa: E402
import results  # noqa: E402
import rows  # noqa: E402
import run  # noqa: E402
import sight  # noqa: E402
import sight_rows  # noqa: E402
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


def fake(row: Row) -> results.Pair:
    """Every arm has measured everything."""
    fields = dict.fromkeys(("ns", "cpu_ns", "bytes", "allocations", *rows.WAITS), 1.0)
    every = {arm.label: [run.Sample(fields, 0, i) for i in range(3)] for arm in row.arms}
    return results.Pair(row, run.Measured(every, [50.0] * 3))


def test_demands() -> None:
    """No demand names a row or an arm that is not there."""
    whole = {(s.key, row.key): fake(row) for s in rows.SECTIONS for row in s.rows}
    unknown = [v.claim for v in demands.judge(whole) if v.verdict == demands.UNKNOWN]
    check(f"every demand finds what it is about {unknown}", not unknown)
    swept = {at: fake(at[1]) for at in bypass.rows()}
    swept = {(section, row.key): pair for (section, row), pair in swept.items()}
    check("every row of the sweep has a key of its own", len(swept) == len(bypass.rows()))
    judged = bypass.judge(swept)
    unknown = [v["claim"] for v in judged if v["verdict"] == demands.UNKNOWN]
    check(f"so does every one of the sweep {unknown}", not unknown and len(judged) > 30)
    arm = bypass.rows()[0][1].arms[3]
    argv = run.argv_of(run.Plan({"tasks": "/t"}, {}, 1, 10, 100), bypass.rows()[0][1], arm)
    check("an arm has its bypass",
          argv[:6] == ["/t", "mutex", "--engine", "native", "--bypass", "16"])  # fmt: skip
    slow = fake(bypass.rows()[0][1])
    for sample in slow.measured.samples["k = 16"]:
        sample.fields = {"ns": 1.2, "cpu_ns": 1.2}
    judged = bypass.judge({("tasks", "mutex-2-2w"): slow})
    failed = [v for v in judged if v["verdict"] == demands.FAILS]
    check("what is slower than its bar does not hold", len(failed) == 2)


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


# The queue's operations: what each row tells bench-threads.
QUEUE = {
    "alone-try", "alone-sem", "handoff-1", "handoff-8", "handoff-10", "cancel-queued",
    "cancel-queued-8", "path-try", "path-take", "path-queue", "path-queue-1", "path-queue-8",
    "path-give", "path-grant-1", "path-grant-8", "path-cancel", "path-cancel-8",
}


def test_queue() -> None:
    of = {r.key: r for r in rows.QUEUE.rows}
    check("the queue's operations have their rows", of.keys() == QUEUE)
    engines = {"volt", "locked", "two_tier", "slot_in_word", "combining", "allocating"}
    check("each on every engine", all(engines <= {a.engine for a in r.arms} for r in of.values()))
    plan = run.Plan({"threads": "/t"}, {}, 1, 10, 100)
    row = of["path-grant-8"]
    argv = run.argv_of(plan, row, row.arms[1])
    check("their command line", argv == ["/t", "path-grant", "--engine", "locked", "--tasks", "1",
          "--operations", "500", "--amount", "8"])  # fmt: skip
    check("a path is told by the clock", (row.by, of["handoff-1"].by) == ("ns", "cpu_ns"))


# A bench-bcs: rates by engine, so that volt_bcs_lock is twice as fast as pthread_mutex, and as even
# as it is with sections of 1 us only.
FAKE_BCS = """#!/usr/bin/env python3
import json, sys
o = dict(zip(sys.argv[2::2], sys.argv[3::2]))
engine, section = o["--engine"], int(o.get("--amount", 0))
if engine == "nsync": sys.exit("bench-bcs: nsync is not in this build")
if engine == "spin": sys.exit("bench-bcs: two threads were inside at once")
ns = 100 if engine in ("waitfree", "lockfree") else 200
share = 0.8 if section == 1000 or engine == "pthread" else 0.5
said = {"version": "volt 1", "ns": ns, "cpu_ns": ns, "apart": int(o.get("--apart", 0))}
if sys.argv[1] == "sections":
    said |= {"per_second": 1e9 / ns, "slowest_share": share, "sleeps": 0.001, "cores": 2,
             "work_ns": 1001}
    said |= {"thread_" + name: 5 for name in ("mean", "least", "most", "deviation")}
print(json.dumps(said))
"""


def test_sections(scratch: Path) -> None:
    program = scratch / "bench-bcs"
    program.write_text(FAKE_BCS)
    program.chmod(0o755)
    plan = run.Plan({"bcs": str(program)}, {}, 2, 100, 100)
    every = bcs.rows([4], [0, 1000], [0, 1000], bcs.QUICK, 7)
    row = every[3]
    check("a cell's command line", run.argv_of(plan, row, row.arms[0])[1:] == ["sections",
          "--engine", "waitfree", "--tasks", "4", "--operations", "7", "--amount", "1000",
          "--apart", "1000"])  # fmt: skip
    given = bcs.measure(plan, every)
    check("every cell has its candidates", len(given["results"]) == 4 * (len(bcs.QUICK) - 1))
    check("but the one that is not in the build", list(given["left_out"]) == ["nsync"])
    first = given["results"][0]
    check("rates are taken over pthread's", (first["candidate"], first["to_pthread"]["median"],
          first["rounds"]) == ("waitfree", 2, 2))  # fmt: skip
    verdicts = {v["claim"]: v["verdict"] for v in given["bars"]}
    uneven, faster = "min/max >= 0.90: 4 threads, section of 1 us, ", "x pthread >= 0.80: 4 threads, "
    check("the bars are judged", verdicts[uneven + "0 outside"] == demands.FAILS
          and verdicts[faster + "section of 1 us, 1 us outside"] == demands.HOLDS)  # fmt: skip
    check("run() alone, too", given["bars"][-1]["verdict"] == demands.HOLDS)
    check("what was not measured is told", list(verdicts.values()).count(demands.UNKNOWN) == 17)
    said = [v["verdict"] for v in given["hypotheses"]]
    check("and what the text says", said == ["in 2 of 4 cells", "in 2 of 4 cells", "not here",
          "not here", demands.UNKNOWN])  # fmt: skip
    document = bcs.write_markdown(given, "a command")
    check("the document has them", all(text in document for text in (
          "a command", "| volt_mutex | 5000, 1.00, 0.50 | 5000, 1.00, 0.80 |",
          "| volt_bcs_lock wait-free run | 100.0 | 0.50 |")))  # fmt: skip
    data = bcs.write_plot_data(given).splitlines()
    check("so have the columns", data[2:] == ['4 "1 us" 1e+07 1e+07 5e+06 5e+06 0.8 0.8 0.8 0.8'])
    check("and the text", "nsync_mu is left out" in bcs.write_text(given))
    try:
        bcs.measure(plan, bcs.rows([4], [0], [0], ("waitfree", "spin"), 7))
        check("a lock that lets two in is an error", False)
    except run.Failure as failure:
        check("a lock that lets two in is an error", "inside at once" in str(failure))


def test_sight(directory: Path) -> None:
    """A program that says twice what it is given, and one that says what it is given."""
    for name, times in (("twice", 2), ("once", 1)):
        program = directory / name
        program.write_text(f'#!/bin/sh\necho "{{\\"ns\\": $(($2 * {times})), \\"bytes\\": $2}}"\n')
        program.chmod(0o755)
    twice, once = (sight_rows.Run(name, ("row", 500)) for name in ("twice", "once"))
    bars = [
        sight_rows.Bar("ratio", "a ratio", twice, "ns", "", 1.9, once),
        sight_rows.Bar("difference", "a difference", twice, "ns", "ns", 250, once, is_ratio=False),
        sight_rows.Bar("value", "a value", once, "bytes", "bytes", 249, max_rounds=1),
        sight_rows.Bar("reported", "no bar", once),
        sight_rows.Bar("away", "not there", sight_rows.Run("before-once", ()), "ns", "", 1),
    ]
    bench = sight.Bench({name: str(directory / name) for name in ("twice", "once")}, 50)
    found = {row["key"]: row for row in sight.measure(bench, bars, 3)}
    said = {key: row["measured"] and row["measured"]["median"] for key, row in found.items()}
    check("ratios, differences and values of sight", said == {
          "ratio": 2, "difference": 250, "value": 250, "reported": 250, "away": None})  # fmt: skip
    check("and their bars", [row["verdict"] for row in found.values()] == [
          demands.FAILS, demands.HOLDS, demands.FAILS, "reported", demands.UNKNOWN])  # fmt: skip
    given = {"machine": "here", "rounds": 3, "rows": list(found.values())}
    check("they are in the document", "| a ratio | at most 1.90 | 2.00 |" in
          sight.write_markdown(given, "a command"))  # fmt: skip
    check("and in the text", "does not hold" in sight.write_text(given))
    try:
        sight.measure(bench, [sight_rows.Bar("none", "", once, "cycles")], 1)
        check("what a program does not say is an error", False)
    except run.Failure as failure:
        check("what a program does not say is an error", "does not say cycles" in str(failure))
    keys = [bar.key for bar in sight_rows.ROWS]
    check("no key of sight is there twice", len(keys) == len(set(keys)))


test_figures()
test_standing()
with tempfile.TemporaryDirectory() as directory:
    test_programs(Path(directory))
    test_sections(Path(directory))
    test_sight(Path(directory))
test_queue()
test_demands()
test_rows()
test_family()
sys.exit(1 if failed else 0)
