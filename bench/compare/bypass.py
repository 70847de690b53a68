"""Locks whose oldest waiter may be passed by up to k: throughput, and how long single ones wait,
against k, beside the locks of others. With a bypass of 0 the lock is the one that serves in order.

--before names programs of an older commit, which the bypass of 0 must not be slower than. The rows
"looks" try what the library does not do: a task that finds the mutex locked looks again, up to so
many times, before it queues (bench/programs/tasks/locks.c).
"""

import argparse
import json
import sys
from dataclasses import asdict, replace
from typing import Any

import plots
from demands import Demands, passed
from results import Pair
from run import Failure, Plan, Runner, machine, tell
from stats import digits, duration
from suite import ASYNC_LOCK, GLIBC, GO_SYNC, PARKING_LOT, VOLT, Arm, Row
from text import markdown_table

KS = (0, 1, 4, 16, 64, 255)
WORK_NS = 1000
LOOKS = (16, 64)
COUNTS = {"mutex": (2, 4, 8), "rwlock": (6, 17)}
WRITERS = {6: 2, 17: 1}
WAITS = ("p50_ns", "p99_ns", "p999_ns", "longest_ns")


# ---- what is run ----


def arms(program: str, engine: str, *peers: Arm) -> tuple[Arm, ...]:
    """One for each k, and the others."""
    ours = tuple(Arm(f"k = {k}", program, engine, VOLT, options=("--bypass", str(k))) for k in KS)
    return (*ours, Arm("before", f"before-{program}", engine, VOLT), *peers)


BY_TASKS = arms("tasks", "native", ASYNC_LOCK, GO_SYNC)
BY_THREADS = arms("threads", "volt", GLIBC, PARKING_LOT)


def looking(k: int, looks: int) -> Arm:
    options = ("--bypass", str(k), *(("--looks", str(looks)) if looks else ()))
    label = f"k = {k}" + (f", {looks} looks" if looks else "")
    return Arm(label, "tasks", "native", VOLT, options=options)


def contended(workload: str, n: int, workers: int, of: tuple[Arm, ...]) -> Row:
    """Of tasks, on so many workers; of threads, 0."""
    who = f"{n} tasks, {workers} workers" if workers else f"{n} threads"
    what = "mutex" if workload == "mutex" else f"read-write lock, {WRITERS[n]} of them write"
    # 2,000,000 by tasks: long beside the time that a worker takes to wake
    operations = 2000000 // n if workers else 10000000
    key = f"{workload}-{n}" + (f"-{workers}w" if workers else "")
    return Row(key, f"{what}: {who}", workload, of, workers, n, WRITERS.get(n, 0), operations,
               ("slowest_share",))  # fmt: skip


def waits(work_ns: int, workers: int, of: tuple[Arm, ...]) -> Row:
    key = ("waits-" if work_ns else "waits-0-") + (f"8-{workers}w" if workers else "8")
    who = f"8 tasks, {workers} workers" if workers else "8 threads"
    title = f"lock held for {duration(work_ns) if work_ns else 'nothing'}: {who}"
    of = tuple(replace(arm, options=(*arm.options, "--amount", str(work_ns))) for arm in of)
    return Row(key, title, "waits", of, workers, 8, 0, 5000 if workers else 10000000, WAITS)


def rows() -> list[tuple[str, Row]]:
    """Section and row."""
    out = []
    for section, workers, of in (("tasks", 2, BY_TASKS), ("threads", 0, BY_THREADS)):
        out += [(section, contended(workload, n, workers, of))
                for workload, counts in COUNTS.items() for n in counts]  # fmt: skip
    for work_ns in (WORK_NS, 0):
        out += [("waits", waits(work_ns, 2, BY_TASKS)), ("waits", waits(work_ns, 0, BY_THREADS))]
    looks = tuple(looking(k, n) for k in (0, 16) for n in (0, *LOOKS))
    out += [("looks", contended("mutex", n, 2, looks)) for n in COUNTS["mutex"]]
    return out


# ---- what is demanded ----


def judge(pairs: dict[tuple[str, str], Pair]) -> list[dict[str, str]]:
    d = Demands(pairs)
    passed(d, ("k = 16", "async-lock", "Go sync", "glibc"), ("tasks", "threads", "waits"))
    for at, pair in pairs.items():
        if at[0] in ("tasks", "threads"):
            d.ratio(f"{pair.row.title}: k = 0 at most 1.03 times what it was before", at, "k = 0",
                    "before", 1.03)  # fmt: skip
    for at, pair in pairs.items():
        for k in (0, 16) if at[0] == "looks" else ():
            for looks in LOOKS:
                d.reported(f"{pair.row.title}, k = {k}: with {looks} looks / without", at,
                           f"k = {k}, {looks} looks", f"k = {k}")  # fmt: skip
    return [asdict(v) for v in d.verdicts]


# ---- what came out ----


def measure(plan: Plan) -> dict[str, Any]:
    every = rows()
    measured = Runner(plan).all([row for _, row in every], tell)
    pairs = {(section, row.key): Pair(row, of_row)
             for (section, row), of_row in zip(every, measured, strict=True)}  # fmt: skip

    def numbers(pair: Pair, arm: Arm) -> dict[str, Any]:
        summaries = {name: pair.summary(arm, name) for name in ("ns", *WAITS)}
        return {name: asdict(summary) for name, summary in summaries.items() if summary}

    return {
        "machine": machine(), "rounds": plan.rounds, "left_out": plan.left_out,
        "rows": [{"section": section, "key": key, "title": pair.row.title, "tasks": pair.row.tasks,
                  "arms": {arm.label: found for arm in pair.row.arms
                           if (found := numbers(pair, arm))}}
                 for (section, key), pair in pairs.items()],
        "demands": judge(pairs),
    }  # fmt: skip


def of_section(given: dict[str, Any], *sections: str) -> list[dict[str, Any]]:
    return [row for row in given["rows"] if row["section"] in sections]


def labels(lines: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(label for row in lines for label in row["arms"]))


def time_lines(lines: list[dict[str, Any]]) -> list[list[str]]:
    names = labels(lines)
    return [["ns per operation", *names],
            *([row["title"], *(digits(row["arms"][name]["ns"]["median"])
                               if name in row["arms"] else "" for name in names)]
              for row in lines)]  # fmt: skip


def wait_lines(row: dict[str, Any]) -> list[list[str]]:
    out = [["", "ns per operation", "p50 ns", "p99 ns", "p99.9 ns", "longest ns",
            "longest in the quietest round"]]  # fmt: skip
    for label, found in row["arms"].items():
        cells = [digits(found[name]["median"]) for name in ("ns", *WAITS)]
        out.append([label, *cells, digits(found["longest_ns"]["least"])])
    return out


def tables(given: dict[str, Any]) -> list[tuple[str, list[list[str]]]]:
    out = [("Contended", time_lines(of_section(given, "tasks", "threads")))]
    out += [(row["title"].capitalize(), wait_lines(row)) for row in of_section(given, "waits")]
    return [*out, ("Looking before queueing: tried, not in the library",
                   time_lines(of_section(given, "looks")))]  # fmt: skip


def verdict_lines(given: dict[str, Any]) -> list[list[str]]:
    return [["demanded", "here", "figures"], *([*v.values()] for v in given["demands"])]


def write_markdown(given: dict[str, Any], command: str) -> str:
    out = [
        "# Locks whose oldest waiter may be passed, measured\n",
        f"Written by `{command}`: {given['machine']}. {given['rounds']} rounds, interleaved; "
        "medians.\nk: how many may pass the oldest waiter; 0: nobody. before: the library before "
        "it had a bypass.\n",
        "![Throughput against the bypass](bypass-throughput.svg)",
        "![Waits against the bypass](bypass-waits.svg)\n",
        markdown_table(verdict_lines(given), 3),
    ]
    for title, lines in tables(given):
        out.append(f"\n## {title}\n\n{markdown_table(lines, 1)}")
    return "\n".join(out) + "\n"


def write_text(given: dict[str, Any]) -> str:
    out = [given["machine"], f"{given['rounds']} rounds, interleaved; medians"]
    for title, lines in [*tables(given), ("What is demanded", verdict_lines(given))]:
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        out += ["", title]
        out += ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                for line in lines]  # fmt: skip
    return "\n".join(out) + "\n"


# ---- plots: a panel for each kind of lock, k along the axis; what has no k is a dashed line ----

Series = tuple[str, list[float], bool]  # its name, a value for each k, whether it is dashed

PALETTE = ("#3412c4", "#dd6b2d", "#27a3cf", "#2c8a55", "#b5479b", "#5d6a78", "#c49a06")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def panel(number: int, title: str, series: list[Series], log: bool) -> str:
    data = "\n".join(" ".join(f"{values[i]:.8g}" for _, values, _ in series)
                     for i in range(len(KS)))  # fmt: skip
    drawn = [f"$p{number} using 0:{i + 1} with {'lines dashtype 2' if dashed else 'linespoints'} "
             f"linewidth {1.5 if dashed else 2.5} pointtype 7 pointsize 0.6 "
             f"linecolor rgb '{PALETTE[i % len(PALETTE)]}' title {quoted(name)}"
             for i, (name, _, dashed) in enumerate(series)]  # fmt: skip
    return "\n".join([
        f"$p{number} << END\n{data}\nEND", f"set title {quoted(title)}",
        "set logscale y" if log else "unset logscale y", "set autoscale y",
        "" if log else "set yrange [0:*]", "plot " + ", ".join(drawn),
    ])  # fmt: skip


def plot(panels: list[tuple[str, list[Series]]], y: str, unit: str, log: bool) -> str:
    ticks = ", ".join(f"'{k}' {i}" for i, k in enumerate(KS))
    panels = [(title, series) for title, series in panels if series]
    script = [
        f"set terminal svg size 900,{330 * len(panels)} noenhanced font 'sans,12' "
        "background 'white'",
        "set lmargin at screen 0.1", "set rmargin at screen 0.72",
        f"set xtics ({ticks})", f"set xrange [-0.3:{len(KS) - 0.7}]",
        "set xlabel 'k: how many may pass the oldest waiter'", f"set ylabel {quoted(y)}",
        f"set format y '%.0s%c{unit}'", "set key at screen 0.73, graph 1 left top Left reverse",
        "set grid ytics linetype 1 linecolor rgb '#dddddd'",
        f"set multiplot layout {len(panels)}, 1",
        *(panel(i, title, series, log) for i, (title, series) in enumerate(panels)),
        "unset multiplot",
    ]  # fmt: skip
    return plots.drawn("\n".join(script) + "\n")


def by_k(row: dict[str, Any], name: str, which: str = "median") -> list[float]:
    """Seconds."""
    return [row["arms"][f"k = {k}"][name][which] / 1e9 for k in KS]


def peers_of(row: dict[str, Any]) -> list[str]:
    return [label for label in row["arms"] if not label.startswith("k = ") and label != "before"]


def plot_throughput(given: dict[str, Any]) -> str:
    panels = []
    for section, who in (("tasks", "tasks, 2 workers"), ("threads", "threads")):
        for workload, what in (("mutex", "mutex"), ("rwlock", "read-write lock")):
            series: list[Series] = []
            of = [row for row in of_section(given, section) if row["key"].startswith(workload)]
            for row in of:
                rates = [1 / seconds for seconds in by_k(row, "ns")]
                series.append((f"volt, {row['tasks']} {section}", rates, False))
            for label in peers_of(of[-1]):
                rate = 1e9 / of[-1]["arms"][label]["ns"]["median"]
                series.append((f"{label}, {of[-1]['tasks']} {section}", [rate] * len(KS), True))
            panels.append((f"{what}: {who}", series))
    return plot(panels, "operations per second", "", log=False)


def plot_waits(given: dict[str, Any]) -> str:
    panels = []
    for row in of_section(given, "waits"):
        turns = by_k(row, "ns")
        series: list[Series] = [
            ("volt, p99.9", by_k(row, "p999_ns"), False),
            ("volt, longest", by_k(row, "longest_ns"), False),
            ("volt, longest, quietest round", by_k(row, "longest_ns", "least"), False),
            ("the bound: 7 (k + 1) turns",
             [7 * (k + 1) * turn for k, turn in zip(KS, turns, strict=True)], True),
            *((f"{label}, p99.9", [row["arms"][label]["p999_ns"]["median"] / 1e9] * len(KS), True)
              for label in peers_of(row)),
        ]  # fmt: skip
        panels.append((row["title"], series))
    return plot(panels, "how long one waits", "s", log=True)


# ---- the command ----


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="./x bench bypass", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--rounds", type=int, default=11, metavar="N", help="so many (11)")
    p.add_argument("--percent", type=int, default=100, metavar="N",
                   help="of the operations of each run, to see that it works")  # fmt: skip
    given = p.add_argument_group("given by ./x")
    given.add_argument("--program", nargs=2, action="append", default=[], metavar=("NAME", "PATH"))
    given.add_argument("--left-out", nargs=2, action="append", default=[], metavar=("NAME", "WHY"))
    given.add_argument("--command", default="./x bench bypass",
                       help="what the results say wrote them")  # fmt: skip
    for name in ("json", "markdown"):
        given.add_argument(f"--{name}", metavar="FILE", help="write it")
    given.add_argument("--plots", metavar="DIRECTORY", help="write two plots into it")
    o = p.parse_args()
    if not 1 <= o.rounds <= 1000 or not 1 <= o.percent <= 100:
        p.error("--rounds: 1..1000; --percent: 1..100")
    return o


def main() -> int:
    o = arguments()
    plan = Plan(dict(o.program), dict(o.left_out), o.rounds, float("inf"), o.percent)
    try:
        given = measure(plan)
        files = [(o.json, json.dumps(given, indent=1) + "\n"),
                 (o.markdown, write_markdown(given, o.command))]  # fmt: skip
        if o.plots:
            files += [(f"{o.plots}/bypass-throughput.svg", plot_throughput(given)),
                      (f"{o.plots}/bypass-waits.svg", plot_waits(given))]  # fmt: skip
        for path, content in files:
            if path:
                with open(path, "w") as file:
                    file.write(content)
    except (Failure, OSError, plots.NoPlot) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(write_text(given), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
