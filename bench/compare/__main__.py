"""Run the programs beside each other; write tables, JSON, a document and a page."""

import argparse
import json
import re
import sys
from dataclasses import asdict
from typing import Any

import bcs
import demands
import results as made
import rows as suite_rows
import text
from run import Failure, Plan, Runner, machine, tell
from suite import Row

OWN = {"tasks", "threads"}  # volt's programs; the others are its peers


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="./x bench", description=__doc__, allow_abbrev=False)
    how = p.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="2 rounds: about 3 minutes (the default)")
    how.add_argument("--full", action="store_true", help="5 rounds: about 8 minutes")
    p.add_argument("--rounds", type=int, metavar="N", help="so many")
    p.add_argument("--only", metavar="REGEX", help="rows whose section/key it is found in")
    p.add_argument("--percent", type=int, default=100, metavar="N",
                   help="of the operations of each run, to see that it works")  # fmt: skip
    p.add_argument("--list", action="store_true", help="name the rows, run nothing")
    given = p.add_argument_group("given by ./x")
    given.add_argument("--command", default="./x bench", help="what the results say wrote them")
    given.add_argument("--program", nargs=2, action="append", default=[], metavar=("NAME", "PATH"))
    given.add_argument("--left-out", nargs=2, action="append", default=[], metavar=("NAME", "WHY"))
    for name in ("json", "markdown", "page"):
        given.add_argument(f"--{name}", metavar="FILE", help="write it")
    given.add_argument("--instructions", metavar="FILE", help="JSON to include")
    given.add_argument("--bcs", metavar="PATH", help="bench-bcs: batched critical sections, too")
    o = p.parse_args()
    if (o.rounds is not None and not 1 <= o.rounds <= 1000) or not 1 <= o.percent <= 100:
        p.error("--rounds: 1..1000; --percent: 1..100")
    if o.only is not None:
        try:
            re.compile(o.only)
        except re.error as error:
            p.error(f"--only: {error}")
    return o


def load(path: str | None) -> Any:
    if path is None:
        return None
    with open(path) as file:
        return json.load(file)


def chosen(only: str | None) -> list[tuple[str, Row]]:
    """Section (or growth) key and row, in the order of the report."""
    every = [(s.key, r) for s in suite_rows.SECTIONS for r in s.rows]
    every += [(g.key, r) for g in suite_rows.GROWTH for r in g.rows]
    return [(key, r) for key, r in every if only is None or re.search(only, f"{key}/{r.key}")]


def measure(o: argparse.Namespace, plan: Plan) -> dict[str, Any]:
    rows = chosen(o.only)
    measured = Runner(plan).all([row for _, row in rows], tell)
    pairs = {
        (key, row.key): made.Pair(row, of_row)
        for (key, row), of_row in zip(rows, measured, strict=True)
    }

    growths = [g for g in suite_rows.GROWTH if any(key == g.key for key, _ in pairs)]

    def of(key: str) -> list[made.Pair]:
        return [pair for (section, _), pair in pairs.items() if section == key]

    of_sections = {at: p for at, p in pairs.items() if at[0] not in [g.key for g in growths]}
    sections = [s for s in suite_rows.SECTIONS if of(s.key)]
    verdicts = [v for v in demands.judge(of_sections) if not o.only or v.verdict != demands.UNKNOWN]
    return {
        "title": "Benchmarks",
        "command": o.command,
        "machine": machine(),
        "rounds": plan.rounds,
        "quick": not o.full,
        "dear_line_ns": made.DEAR_LINE_NS,
        "programs": made.programs(plan, list(pairs.values())),
        "sections": [made.section_dict(s, of(s.key), plan) for s in sections],
        "growth": [made.growth_dict(g, of(g.key)) for g in growths],
        "states": made.states(of("engines")),
        "demands": [asdict(v) for v in verdicts],
        "instructions": load(o.instructions),
        "bcs": sections_of(o),
    }


def sections_of(o: argparse.Namespace) -> dict[str, Any] | None:
    """Batched critical sections, if their program is named: a few cells; ./x bench bcs has all."""
    if o.bcs is None:
        return None
    rounds = o.rounds or (9 if o.full else 3)
    plan = Plan({"bcs": o.bcs}, {}, rounds, float("inf"), max(o.percent, 20))
    return bcs.measure(plan, bcs.quick_rows())


def write(path: str | None, content: str) -> None:
    if path is None:
        return
    with open(path, "w") as file:
        file.write(content)


def main() -> int:
    o = arguments()
    suite_rows.check()
    if o.list:
        for key, row in chosen(o.only):
            print(f"{key}/{row.key}: {row.title}")
        return 0
    rounds = o.rounds or (5 if o.full else 2)
    seconds = float("inf") if o.rounds else 1200 if o.full else 240
    plan = Plan(dict(o.program), dict(o.left_out), rounds, seconds, o.percent)
    if not plan.programs.keys() >= OWN or not chosen(o.only):
        print("bench: nothing to run: ./x bench names volt's programs; --list the rows",
              file=sys.stderr)  # fmt: skip
        return 2
    try:
        results = measure(o, plan)
        write(o.json, json.dumps(results, indent=1) + "\n")
        write(o.markdown, text.write_markdown(results))
        if o.page:
            import page

            page.write(o.page, results)
    except (Failure, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(text.write_text(results), end="")
    failed = [(a["program"], a["skipped"]) for s in results["sections"] for r in s["rows"] for a in r["arms"]
              if a["skipped"] and a["program"] in plan.programs]  # fmt: skip
    for program, how in failed:
        print(f"bench: failed: {program}: {how}", file=sys.stderr)
    return 1 if any(program in OWN for program, _ in failed) else 0  # a peer's failure is in the tables


if __name__ == "__main__":
    sys.exit(main())
