"""What it costs to see which task waits for what: dumps, counts, watchers, owners; each beside its
bar. The rows are in sight_rows.py; docs/sight.md says what they mean.

A row runs one program, or two that differ in one thing only. Of two, each round runs one right after
the other, in an order that changes, and the ratio (or difference) is taken within the round. So
whatever happens to the machine happens to both.
"""

import argparse
import json
import random
import re
import sys
from dataclasses import asdict
from typing import Any

from demands import FAILS, HOLDS, UNKNOWN
from run import Failure, machine, run_program, tell
from sight_rows import ROWS, Bar, Run
from stats import Summary, digits, summarize
from text import markdown_table


class Bench:
    def __init__(self, programs: dict[str, str], percent: int) -> None:
        self.programs = programs
        self.percent = percent
        self.random = random.Random(1)

    def has(self, bar: Bar) -> bool:
        return all(run.program in self.programs for run in bar.runs)

    def argv(self, run: Run) -> list[str]:
        options = [str(max(option * self.percent // 100, 1)) if isinstance(option, int) else option
                   for option in run.options]  # fmt: skip
        enable = [f"BENCH_SIGHT={run.enabled}"] if run.enabled else []
        enable += ["BENCH_SIGHT_NAMES=1"] if run.is_named else []
        return [*(["env", *enable] if enable else []), self.programs[run.program], *options]

    def value(self, bar: Bar) -> float:
        """One round."""
        found = {}
        for run in self.random.sample(bar.runs, len(bar.runs)):
            said, _ = run_program(self.argv(run))
            if bar.field not in said:
                raise Failure(f"does not say {bar.field}: {' '.join(self.argv(run))}")
            found[run] = float(said[bar.field])
        ours = found[bar.run]
        if bar.beside is None:
            return ours
        return ours / found[bar.beside] if bar.is_ratio else ours - found[bar.beside]


def verdict(bar: Bar, summary: Summary | None) -> str:
    if summary is None:
        return UNKNOWN
    if bar.at_most is None:
        return "reported"
    return HOLDS if getattr(summary, bar.of) <= bar.at_most else FAILS


def measure(bench: Bench, bars: list[Bar], rounds: int) -> list[dict[str, Any]]:
    values: dict[str, list[float]] = {bar.key: [] for bar in bars}
    for number in range(rounds):
        for bar in bars:
            if bench.has(bar) and (bar.max_rounds == 0 or number < bar.max_rounds):
                values[bar.key].append(bench.value(bar))
        tell(f"round {number + 1} of {rounds}")
    out = []
    for bar in bars:
        summary = summarize(values[bar.key])
        out.append({"key": bar.key, "title": bar.title, "unit": bar.unit, "of": bar.of,
                    "at_most": bar.at_most, "verdict": verdict(bar, summary),
                    "measured": asdict(summary) if summary else None})  # fmt: skip
    return out


def lines(rows: list[dict[str, Any]]) -> list[list[str]]:
    out = [["", "bar", "here", "quartiles", ""]]
    for row in rows:
        found = row["measured"]
        bar = "" if row["at_most"] is None else f"at most {digits(row['at_most'])} {row['unit']}"
        here = f"{digits(found[row['of']])} {row['unit']}".strip() if found else ""
        around = f"{digits(found['quartile_1'])} – {digits(found['quartile_3'])}" if found else ""
        out.append([row["title"], bar.strip(), here, around, row["verdict"]])
    return out


def write_markdown(given: dict[str, Any], command: str) -> str:
    return "\n".join([
        "# What seeing costs, measured\n",
        f"Written by `{command}`: {given['machine']}. {given['rounds']} rounds, interleaved.\n",
        markdown_table(lines(given["rows"]), 1),
    ]) + "\n"  # fmt: skip


def write_text(given: dict[str, Any]) -> str:
    out = [given["machine"], f"{given['rounds']} rounds, interleaved"]
    table = lines(given["rows"])
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    out += ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in table]  # fmt: skip
    return "\n".join(out) + "\n"


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="./x bench sight", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--rounds", type=int, default=7, metavar="N", help="so many (7)")
    p.add_argument("--only", metavar="REGEX", help="rows in whose key it is found")
    p.add_argument("--percent", type=int, default=100, metavar="N",
                   help="of the numbers of each run, to see that it works")  # fmt: skip
    p.add_argument("--list", action="store_true", help="name the rows, run nothing")
    given = p.add_argument_group("given by ./x")
    given.add_argument("--program", nargs=2, action="append", default=[], metavar=("NAME", "PATH"))
    given.add_argument("--command", default="./x bench sight",
                       help="what the results say wrote them")  # fmt: skip
    for name in ("json", "markdown"):
        given.add_argument(f"--{name}", metavar="FILE", help="write it")
    o = p.parse_args()
    if not 1 <= o.rounds <= 1000 or not 1 <= o.percent <= 100:
        p.error("--rounds: 1..1000; --percent: 1..100")
    return o


def main() -> int:
    o = arguments()
    bars = [bar for bar in ROWS if o.only is None or re.search(o.only, bar.key)]
    if o.list:
        for bar in bars:
            print(f"{bar.key}: {bar.title}")
        return 0
    try:
        given = {"machine": machine(), "rounds": o.rounds,
                 "rows": measure(Bench(dict(o.program), o.percent), bars, o.rounds)}  # fmt: skip
        for path, content in ((o.json, json.dumps(given, indent=1) + "\n"),
                              (o.markdown, write_markdown(given, o.command))):  # fmt: skip
            if path:
                with open(path, "w") as file:
                    file.write(content)
    except (Failure, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(write_text(given), end="")
    return 1 if any(row["verdict"] == FAILS for row in given["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
