"""Batched critical sections: bench-bcs in many cells, what is demanded of the lock, and whether
what the text that it comes from (kprotty, "Batched Critical Sections") says of it is so here.

A cell is a number of threads, the length of the section, and that of what each thread does between
two. A claim of the text is looked at in every cell it is about, for both forms of the lock; it is
confirmed if it is so in all of them.
"""

import argparse
import json
import sys
from dataclasses import asdict
from itertools import product
from typing import Any

from demands import FAILS, HOLDS, UNKNOWN, Verdict
from results import Pair
from run import Failure, Plan, Runner, machine, tell
from stats import as_dict
from suite import FAIR, LIMIT, SPINS, UNFAIR, VOLT, Arm, Row

NAMES = {
    "waitfree": "volt_bcs_lock wait-free", "lockfree": "volt_bcs_lock lock-free",
    "actor": "volt_actor", "mutex": "volt_mutex", "pthread": "pthread_mutex",
    "adaptive": "pthread_mutex adaptive", "nsync": "nsync_mu", "spin": "spinlock",
    "none": "(no lock)",
}
KINDS = {"pthread": UNFAIR, "adaptive": UNFAIR, "nsync": UNFAIR, "spin": SPINS, "none": LIMIT,
         "actor": FAIR}
QUICK = ("waitfree", "lockfree", "mutex", "pthread", "nsync")
ALONE = ("pthread", "mutex", "waitfree", "lockfree")
FIELDS = ("per_second", "slowest_share", "thread_mean", "thread_least", "thread_most",
          "thread_deviation", "cores", "sleeps", "work_ns")
PLOTTED_APART = 1000  # the cells with this outside of the section are plotted
LEVEL = 0.95  # of pthread's rate, and above: level or ahead; below: behind
FAIR_LEVEL = 0.02  # of the slowest thread's share: not more than this below the best is as fair

Cells = dict[tuple[int, int, int], dict[str, Any]]  # threads, section, outside: row by candidate

SHARE_BARS = [("slowest_share", 0.90, (threads, locked, apart))
              for apart, threads, locked in product((0, 1000), (4, 8), (0, 1000, 10000))]
RATE_BARS = [("to_pthread", limit, (threads, locked, apart)) for limit, locked, apart, count in
             ((1.0, 10000, 0, 3), (1.0, 10000, 1000, 3), (0.8, 1000, 1000, 3), (1.2, 1000, 1000, 1))
             for threads in (2, 4, 8)[:count]]  # fmt: skip


def length(ns: int) -> str:
    return f"{ns // 1000} us" if ns and ns % 1000 == 0 else f"{ns} ns" if ns else "0"


def cell_text(at: tuple[int, int, int]) -> str:
    return f"{at[0]} threads, section of {length(at[1])}, {length(at[2])} outside"


# ---- running ----


def rows(threads: list[int], locked: list[int], apart: list[int], engines: tuple[str, ...],
         slice_ms: int) -> list[Row]:
    """Those that contend; then the one of a thread alone."""
    def arms(names: tuple[str, ...]) -> tuple[Arm, ...]:
        return tuple(Arm(name, "bcs", name, KINDS.get(name, VOLT)) for name in names)

    every = [Row(f"{t}-{l}-{a}", cell_text((t, l, a)), "sections", arms(engines), tasks=t,
                 amount=l, apart=a, operations=slice_ms)
             for t, a, l in product(threads, apart, locked)]  # fmt: skip
    alone = tuple(name for name in ALONE if name in engines)
    if alone:
        every.append(Row("alone", "nobody else there", "alone", arms(alone), operations=5000000))
    return every


def quick_rows() -> list[Row]:
    return rows([2, 8], [0, 100, 1000, 10000, 100000], [PLOTTED_APART], QUICK, 120)


def row_dict(pair: Pair, arm: Arm) -> dict[str, Any]:
    row = pair.row
    every = pair.measured.samples[arm.label]
    pthread = next((a for a in row.arms if a.label == "pthread"), arm)
    out = {"threads": row.tasks, "locked_ns": row.amount, "unlocked_ns": row.apart,
           "candidate": arm.label, "name": NAMES[arm.label], "rounds": len(every),
           "disturbed": sum(s.disturbed for s in every),
           "ns": as_dict(pair.summary(arm, row.by))}  # fmt: skip
    if pthread.label in pair.measured.samples and pthread != arm or arm.label == "pthread":
        out["to_pthread"] = as_dict(pair.ratio(pthread, arm))
    found = {name: as_dict(pair.summary(arm, name)) for name in FIELDS}
    return out | {name: summary for name, summary in found.items() if summary}


def measure(plan: Plan, every: list[Row]) -> dict[str, Any]:
    """What ./x bench keeps of it. A candidate that is not in this build is left out; any other one
    that fails is an error."""
    measured = Runner(plan).all(every, tell)
    left_out = {}
    for of_row in measured:
        for label, how in of_row.failed.items():
            if "is not in this build" not in how:
                raise Failure(how)
            left_out[label] = "it was not there when the program was built"
    done = [(row, row_dict(Pair(row, of_row), arm))
            for row, of_row in zip(every, measured, strict=True)
            for arm in row.arms if arm.label in of_row.samples]  # fmt: skip
    results = [d for row, d in done if row.workload == "sections"]
    cells: Cells = {}
    for d in results:
        cells.setdefault((d["threads"], d["locked_ns"], d["unlocked_ns"]), {})[d["candidate"]] = d
    alone = [d for row, d in done if row.workload == "alone"]
    return {
        "machine": machine(), "rounds": plan.rounds,
        "slice_ms": max((row.operations for row in every if row.workload == "sections"), default=0),
        "left_out": left_out, "results": results, "uncontended": alone,
        "bars": [asdict(v) for v in bars(cells, alone)],
        "hypotheses": [asdict(v) for v in hypotheses(cells)],
    }


# ---- what is demanded of the lock over the wait-free queue ----


def bars(cells: Cells, alone: list[dict]) -> list[Verdict]:
    out = []
    for measure, limit, at in SHARE_BARS + RATE_BARS:
        name = "min/max" if measure == "slowest_share" else "x pthread"
        claim = f"{name} >= {limit:.2f}: {cell_text(at)}"
        of = cells.get(at, {}).get("waitfree", {}).get(measure)
        if not of:
            out.append(Verdict(claim, UNKNOWN, ""))
            continue
        figures = f"{of['median']:.3f} (in rounds {of['least']:.3f} .. {of['most']:.3f})"
        no_lock = cells[at].get("none")
        if no_lock and measure == "slowest_share":
            figures += f", without a lock {no_lock[measure]['median']:.3f}"
        out.append(Verdict(claim, HOLDS if of["median"] >= limit else FAILS, figures))
    found = [d["to_pthread"]["median"] for d in alone
             if d["candidate"] == "waitfree" and d.get("to_pthread")]
    verdict = UNKNOWN if not found else HOLDS if 1 / found[0] <= 1.3 else FAILS
    out.append(Verdict("run() alone <= 1.30 x pthread_mutex lock+unlock", verdict,
                       f"{1 / found[0]:.2f}" if found else ""))
    return out


# ---- what the text says ----


def median(row: dict, name: str) -> float:
    return row[name]["median"]


def extent(values: list[float], places: int = 3) -> str:
    return f"{min(values):.{places}f} .. {max(values):.{places}f}"


def decided(claim: str, so: list[bool], figures: str) -> Verdict:
    if not so:
        return Verdict(claim, UNKNOWN, "")
    verdict = ("confirmed" if all(so) else "not here" if not any(so)
               else f"in {sum(so)} of {len(so)} cells")
    return Verdict(claim, verdict, figures)


def forms(cell: dict, name: str) -> list[float]:
    """Of both forms of the lock."""
    return [median(cell[form], name) for form in ("waitfree", "lockfree")]


def rate(claim: str, cells: Cells, locked: int, behind: bool) -> Verdict:
    found = [forms(cell, "to_pthread") for at, cell in cells.items() if at[1] == locked]
    so = [all((ratio < LEVEL) == behind for ratio in both) for both in found]
    if not found:
        return decided(claim, so, "")
    first, second = zip(*found, strict=True)
    return decided(claim, so, f"x pthread: wait-free {extent(first, 2)}, "
                   f"lock-free {extent(second, 2)}")  # fmt: skip


def wakes(claim: str, cells: Cells) -> Verdict:
    """Whether sections do end with a wake: at least one in two, and more often than pthread's."""
    found = [(forms(cell, "sleeps"), median(cell["pthread"], "sleeps"))
             for at, cell in cells.items() if at[1] == 0]
    so = [min(both) >= 0.5 and min(both) > other for both, other in found]
    if not found:
        return decided(claim, so, "")
    ours = [value for both, _ in found for value in both]
    return decided(claim, so, "sleeps, each ended by a wake, per section: "
                   f"{extent(ours)}, pthread {extent([other for _, other in found])}")


def fairness(claim: str, cells: Cells, others: tuple[str, ...]) -> Verdict:
    """Beside the fairest of the others in each cell."""
    found = []
    for at, cell in cells.items():
        if at[0] > 1:
            best = max((name for name in others if name in cell),
                       key=lambda name: median(cell[name], "slowest_share"))
            both = forms(cell, "slowest_share")
            found.append((at, both, best, median(cell[best], "slowest_share")))
    so = [min(both) >= share - FAIR_LEVEL for _, both, _, share in found]
    if not found:
        return decided(claim, so, "")
    at, both, best, share = min(found, key=lambda each: min(each[1]) - each[3])
    ours = [value for _, each, _, _ in found for value in each]
    return decided(claim, so, f"min/max {extent(ours)}, the best of the others "
                   f"{extent([f[3] for f in found])}; at worst {min(both):.3f} beside {share:.3f}"
                   f" of {NAMES[best]} ({at[0]} threads, {length(at[1])}, {length(at[2])})")


def hypotheses(cells: Cells) -> list[Verdict]:
    needed = {"waitfree", "lockfree", "pthread"}
    whole = {at: cell for at, cell in cells.items() if needed <= cell.keys()}
    overtaking = ("pthread", "adaptive", "nsync", "spin")
    return [
        fairness("fairest of all, beside locks that let others overtake", whole, overtaking),
        fairness("fairest of all, volt_mutex and volt_actor included", whole,
                 (*overtaking, "actor", "mutex")),
        rate("behind on empty sections", whole, 0, behind=True),
        wakes("... because every section is followed by a wake", whole),
        rate("level or ahead on long sections (10 us)", whole, 10000, behind=False),
    ]


# ---- as text, as a document, as columns for bcs.gp ----


def by_cell(given: dict) -> dict[tuple[int, int, int], list[dict]]:
    cells: dict[tuple[int, int, int], list[dict]] = {}
    for d in given["results"]:
        cells.setdefault((d["threads"], d["locked_ns"], d["unlocked_ns"]), []).append(d)
    return cells


def text_line(d: dict) -> str:
    def spread(name: str, width: int, places: int, factor: float = 1) -> str:
        s = d.get(name)
        if not s:
            return " " * (3 * width + 5)
        mid, least, most = (f"{s[k] * factor:{width}.{places}f}" for k in
                            ("median", "least", "most"))  # fmt: skip
        return f"{mid} {least} ..{most}"

    thread = " ".join(f"{median(d, 'thread_' + name):8.0f}" for name in
                      ("mean", "least", "most", "deviation"))  # fmt: skip
    return (f"  {d['name']:<24} {spread('per_second', 8, 1, 1e-3)}  {spread('to_pthread', 6, 2)}"
            f"  {thread}  {spread('slowest_share', 5, 3)}  {median(d, 'cores'):5.2f}"
            f" {median(d, 'sleeps'):7.3f}  {d['disturbed']}/{d['rounds']}")


def write_text(given: dict) -> str:
    out = [given["machine"], f"{given['rounds']} rounds, interleaved; slices of "
           f"{given['slice_ms']} ms; medians, and the least and most of a round"]  # fmt: skip
    out += [f"{NAMES[name]} is left out: {why}" for name, why in given["left_out"].items()]
    work = [d["work_ns"] for d in given["results"]]
    if work:
        least, most = min(w["least"] for w in work), max(w["most"] for w in work)
        off = ": more than 5 % off, measure again" if least < 950 or most > 1050 else ""
        out.append(f"1,000 ns of work took {least:.0f} .. {most:.0f} ns of CPU time{off}")
        out.append("sleeps: of threads, per section, each ended by a wake; disturbed: runs during"
                   " which something else was busy")
    for at, lines in by_cell(given).items():
        head = (f"  {'':<24} {'k/s  least .. most':>27}  {'x pthread  in rounds':>21}"
                f"  {'of a thread: mean, least, most, sd':>35}  {'min/max  in rounds':>19}  cores"
                "  sleeps  disturbed")
        out += [f"\n{cell_text(at)}", head, *(text_line(d) for d in lines)]
    if given["uncontended"]:
        out.append("\nnobody else there: ns, x pthread_mutex")
        out += [f"  {name:<32} {ns:>6} {times:>5}" for name, ns, times in alone_lines(given)]
    for key, title in (("bars", "what the lock over the wait-free queue has to reach"),
                       ("hypotheses", "what the text it comes from says, for both forms")):
        known = [v for v in given[key] if v["verdict"] != UNKNOWN]
        out.append(f"\n{title}")
        out += [f"  {v['verdict']:<18}  {v['claim']:<62}  {v['figures']}" for v in known]
        if len(known) < len(given[key]):
            out.append(f"  {UNKNOWN}: {len(given[key]) - len(known)} of {len(given[key])}")
    disturbed = sum(d["disturbed"] for d in given["results"])
    runs = sum(d["rounds"] for d in given["results"])
    if disturbed > runs / 20:
        out.append(f"\n{disturbed} of {runs} runs were disturbed: this machine was not quiet,"
                   " measure again")
    return "\n".join(out) + "\n"


def alone_lines(given: dict) -> list[list[str]]:
    lines = []
    for d in given["uncontended"]:
        what = "run" if d["name"].startswith("volt_bcs_lock") else "lock+unlock"
        rated = d["candidate"] != "pthread" and "to_pthread" in d
        lines.append([f"{d['name']} {what}", f"{median(d, 'ns'):.1f}",
                      f"{1 / median(d, 'to_pthread'):.2f}" if rated else ""])  # fmt: skip
    return lines


def table(head: list[str], left: int, lines: list[list[str]]) -> str:
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def write_markdown(given: dict, command: str) -> str:
    """A table for each number of threads and work outside: a line per candidate, a column per
    length of the section."""
    out = ["# Batched critical sections, measured\n",
           f"Written by `{command}`: {given['machine']}. {given['rounds']} rounds, slices of "
           f"{given['slice_ms']} ms; medians.\n"]
    for key, head in (("hypotheses", "the text says"),
                      ("bars", "the lock over the wait-free queue has to reach")):
        out.append(table([head, "here", "figures"], 3, [[*v.values()] for v in given[key]]) + "\n")
    out.append(f"With {length(PLOTTED_APART)} outside of the section:\n")
    out += ["![Throughput against section length](bcs-throughput.svg)",
            "![Fairness against section length](bcs-fairness.svg)\n",
            "In each field: thousand sections per second, of all threads; that over pthread_mutex's"
            " in the\nsame round; the sections of the slowest thread over those of the fastest.\n"]
    groups: dict[tuple[int, int], dict[int, dict[str, dict]]] = {}
    for (threads, locked, apart), lines in by_cell(given).items():
        groups.setdefault((threads, apart), {})[locked] = {d["candidate"]: d for d in lines}
    for (threads, apart), columns in groups.items():
        lines = []
        for name in next(iter(columns.values())):
            cells = [f"{median(of[name], 'per_second') / 1e3:.0f}, "
                     f"{(of[name].get('to_pthread') or {'median': 0})['median']:.2f}, "
                     f"{median(of[name], 'slowest_share'):.2f}" for of in columns.values()]
            lines.append([NAMES[name], *cells])
        head = ["section of", *(length(locked) for locked in columns)]
        out.append(f"{threads} threads, {length(apart)} outside of the section:\n\n"
                   + table(head, 1, lines) + "\n")
    if given["uncontended"]:
        out.append("Nobody else there:\n\n"
                   + table(["", "ns", "x pthread_mutex"], 1, alone_lines(given)) + "\n")
    return "\n".join(out)


def write_plot_data(given: dict) -> str:
    """A block for each number of threads; in it a line for each section length, with the rates of
    all candidates, then their shares."""
    blocks: dict[int, list[str]] = {}
    for (threads, locked, apart), lines in by_cell(given).items():
        if apart != PLOTTED_APART:
            continue
        if threads not in blocks:
            names = " ".join(f'"{d["name"]}"' for d in lines)
            blocks[threads] = [f"threads section {names} {names}"]
        values = [f"{median(d, name):.6g}"
                  for name in ("per_second", "slowest_share") for d in lines]  # fmt: skip
        blocks[threads].append(f'{threads} "{length(locked)}" ' + " ".join(values))
    return "\n\n\n".join("\n".join(block) for block in blocks.values()) + "\n"


# ---- alone: ./x bench bcs ----


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="./x bench bcs", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--quick", action="store_true", help="half a minute instead of 12: 2 and 8"
                   " threads, 1 us outside, fewer rounds; no actor, spinlock or adaptive mutex")
    p.add_argument("--rounds", type=int, metavar="N", help="how often each runs in each cell")
    p.add_argument("--slice", type=int, metavar="MS", help="for how long each time")
    for name in ("threads", "locked", "unlocked"):
        p.add_argument(f"--{name}", type=int, action="append", metavar="N",
                       help="may be repeated: these cells only")  # fmt: skip
    p.add_argument("--only", action="append", choices=NAMES, help="may be repeated")
    p.add_argument("--uncontended", action="store_true", help="one thread alone, no cells")
    given = p.add_argument_group("given by ./x")
    given.add_argument("--program", required=True, metavar="PATH")
    given.add_argument("--command", default="./x bench bcs", help="what the results say wrote them")
    for name in ("json", "markdown", "plot-data"):
        given.add_argument(f"--{name}", metavar="FILE", help="write it")
    o = p.parse_args()
    if o.rounds is not None and not 1 <= o.rounds <= 1000:
        p.error("--rounds: 1..1000")
    if o.slice is not None and not 1 <= o.slice <= 20000:
        p.error("--slice: 1..20000")
    return o


def rows_of(o: argparse.Namespace) -> list[Row]:
    engines = tuple(o.only or (QUICK if o.quick else NAMES))
    if o.uncontended:
        return [row for row in rows([], [], [], engines, 0) if row.workload == "alone"]
    locked = [0, 100, 1000, 10000] + ([100000] if o.quick else [])
    every = rows(o.threads or ([2, 8] if o.quick else [2, 4, 8]), o.locked or locked,
                 o.unlocked or ([PLOTTED_APART] if o.quick else [0, PLOTTED_APART]), engines,
                 o.slice or (120 if o.quick else 500))
    whole = not (o.threads or o.locked or o.unlocked)
    return [row for row in every if whole or row.workload == "sections"]


def main() -> int:
    o = arguments()
    every = rows_of(o)
    plan = Plan({"bcs": o.program}, {}, o.rounds or (3 if o.quick else 5), float("inf"), 100)
    try:
        given = measure(plan, every)
        for path, content in ((o.json, json.dumps(given, indent=1) + "\n"),
                              (o.markdown, write_markdown(given, o.command)),
                              (o.plot_data, write_plot_data(given))):
            if path:
                with open(path, "w") as file:
                    file.write(content)
    except (Failure, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(write_text(given), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
