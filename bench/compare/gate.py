"""The gate in front of PostgreSQL, beside PostgreSQL alone, HAProxy and PgBouncer.

Everything runs on this machine's cores at once: PostgreSQL, what is in front of it, and pgbench. So
a transaction a second is what is left when all have had their part; the CPU time for each
transaction is that of the process in front, by the scheduler's clock. Each figure is the median of
the rounds, with the lowest and the highest; in each round every line is measured once, in an order
that changes. PostgreSQL does not wait for the disk (fsync=off).
"""

import argparse
import json
import math
import random
import re
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from gate_load import Load, Queue, copy_us, pgbench, queue
from gate_servers import Database, Front, database, is_there
from plots import Line, lines
from run import Failure, machine, tell
from text import markdown_table

LIMIT = 16
MODES = ("simple", "extended", "prepared")
DIRECT, HAPROXY, SESSION, POOLED, OURS = (
    "PostgreSQL alone", "HAProxy", "PgBouncer, session", "PgBouncer, transaction", "voltgate")
ALL = (DIRECT, HAPROXY, SESSION, POOLED, OURS)
ONE, FOUR = "voltgate, 1 worker", "voltgate, 4 workers"  # its default is one for each CPU
WORKERS = {ONE: "1", FOUR: "4"}
POOLED_TLS, OURS_TLS = f"{POOLED}, TLS on both sides", f"{OURS}, TLS on both sides"
PICTURE = (16, 50, 100, 250, 500)
COPY_MB = 200


def front(db: Database, name: str, program: str, clients: int, limit: int = LIMIT) -> Front:
    """HAProxy and a session of PgBouncer hold a permit as long as a client is connected: with more
    clients than permits, some would never be served. They get as many as there are clients."""
    if name == DIRECT:
        return Front(DIRECT, db.port)
    if name == HAPROXY:
        return db.haproxy(clients)
    if name == SESSION:
        return db.pgbouncer("session", clients)
    if name in (POOLED, POOLED_TLS):
        return db.pgbouncer("transaction", limit, tls=name == POOLED_TLS)
    if name == OURS_TLS:
        return db.voltgate(program, limit, tls=True)
    return db.voltgate(program, limit, extra=("--workers", WORKERS[name]) if name in WORKERS else ())


def metric(f: Front, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{f.admin}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    if not found:
        raise Failure(f"/metrics has no {name}")
    return float(found.group(1))


# ---- what is measured: a section is lines, each measured once in a round ----


@dataclass
class Cell:
    section: str
    what: str  # "500 clients, simple"
    name: str
    run: Callable[[], dict[str, float]]


class Plan:
    def __init__(self, db: Database, o: argparse.Namespace) -> None:
        self.db, self.o = db, o
        self.fronts: dict[tuple[str, int], Front] = {}

    def front(self, name: str, clients: int) -> Front:
        """Kept for the whole run, as they would be."""
        at = (name, clients if name in (HAPROXY, SESSION) else 0)
        if at not in self.fronts:
            self.fronts[at] = front(self.db, name, self.o.program, clients)
        return self.fronts[at]

    def bench(self, name: str, clients: int, mode: str, script: str) -> dict[str, float]:
        # a server process fills its caches in its first transactions: 500 of them take seconds
        warm = 1 if script == "select-only" else self.o.warm
        load: Load = pgbench(self.db, self.front(name, clients), clients, mode, self.o.seconds,
                             script, warm)
        if name == SESSION:  # it keeps a connection to the server for each client that it has had
            self.fronts.pop((name, clients)).stop()
        return asdict(load)

    def copy(self, name: str) -> dict[str, float]:
        return {"us": copy_us(self.db, self.front(name, LIMIT), COPY_MB)}

    def queue(self, name: str, count: int) -> dict[str, float]:
        speaks = name != HAPROXY and not name.endswith("tcp")
        if name.startswith(OURS):
            f = self.db.voltgate(self.o.program, 1, "postgres" if speaks else "tcp")
            measured: Queue = queue(f, count, speaks, lambda: metric(f, "voltgate_queue_length"))
        else:
            f = self.db.haproxy(1) if name == HAPROXY else self.db.pgbouncer("transaction", 1)
            measured = queue(f, count, speaks, None)
        f.stop()
        return asdict(measured)

    def cells(self) -> list[Cell]:
        out = []
        for clients in (100, 500):
            for mode in MODES:
                for name in ALL:
                    out.append(Cell("tpcb", f"{clients} clients, {mode}", name,
                                    lambda n=name, c=clients, m=mode: self.bench(
                                        n, c, m, "tpcb-like")))  # fmt: skip
        for mode in MODES:
            for name in (*ALL[1:], ONE, FOUR):
                out.append(Cell("cpu", f"{LIMIT} clients, {mode}", name,
                                lambda n=name, m=mode: self.bench(n, LIMIT, m, "select-only")))
        for script in ("tpcb-like", "select-only"):
            for name in (POOLED_TLS, OURS_TLS, POOLED, OURS):
                out.append(Cell("tls", f"{LIMIT} clients, {script}", name,
                                lambda n=name, s=script: self.bench(n, LIMIT, "simple", s)))
        for name in (*ALL[1:], ONE, FOUR):
            out.append(Cell("copy", f"COPY of {COPY_MB} MB", name, lambda n=name: self.copy(n)))
        for count in (5000, 10000):
            for name in (f"{OURS}, tcp", HAPROXY)[: 2 if count == 5000 else 1]:
                out.append(Cell("queue", f"{count} queue", name,
                                lambda n=name, c=count: self.queue(n, c)))
        for name in (OURS, POOLED):  # a session needs a server process for each client of ours
            out.append(Cell("queue", "500 queue, postgres", name,
                            lambda n=name: self.queue(n, 500)))
        for clients in PICTURE:
            for name in (DIRECT, HAPROXY, POOLED, OURS):
                out.append(Cell("picture", f"{clients}", name,
                                lambda n=name, c=clients: self.bench(n, c, "simple", "tpcb-like")))
        return [c for c in out if re.search(self.o.only or "", f"{c.section}/{c.what}/{c.name}")]


def measure(plan: Plan, o: argparse.Namespace) -> tuple[list[dict[str, Any]], int]:
    """Returns what was measured, and in how many rounds."""
    cells = plan.cells()
    results = [{"section": c.section, "what": c.what, "name": c.name, "runs": [], "failed": ""}
               for c in cells]
    began, number = time.monotonic(), 0
    for number in range(1, o.rounds + 1):
        order = list(range(len(cells)))
        random.Random(number).shuffle(order)
        for i in order:
            tell(f"round {number}: {cells[i].section}, {cells[i].what}, {cells[i].name}")
            try:
                results[i]["runs"].append(cells[i].run())
            except (Failure, OSError) as failure:
                results[i]["failed"] = str(failure)
        if time.monotonic() - began > o.minutes * 60:
            break
    return results, number


# ---- what is told ----


def median(values: list[float]) -> float:
    values = sorted(v for v in values if not math.isnan(v))
    if not values:
        return math.nan
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def figure(result: dict[str, Any], key: str) -> str:
    values = [run[key] for run in result["runs"]]
    if not values or math.isnan(median(values)):
        return ""
    spread = f" ({min(values):,.4g} to {max(values):,.4g})" if len(values) > 1 else ""
    return f"{median(values):,.4g}{spread}"


COLUMNS = {
    "tpcb": [("tps", "tps"), ("p50, ms", "p50_ms"), ("p99, ms", "p99_ms"),
             ("slowest / fastest client", "slowest"), ("clients aborted", "aborted")],
    "cpu": [("CPU, us a transaction", "cpu_us"), ("tps", "tps")],
    "tls": [("CPU, us a transaction", "cpu_us"), ("tps", "tps"), ("p50, ms", "p50_ms"), ("p99, ms", "p99_ms")],
    "copy": [("CPU, us a MB", "us")],
    "queue": [("bytes each", "bytes_each"), ("idle CPU, %", "idle_percent"),
              ("empty after, ms", "empty_ms")],
}  # fmt: skip
TITLES = {
    "tpcb": f"pgbench, TPC-B, scale 4; limit {LIMIT}",
    "cpu": "CPU time of the process in front: pgbench -S",
    "tls": "CPU time of the process in front: TLS towards clients and to PostgreSQL",
    "copy": "CPU time of the process in front: a large result",
    "queue": "Connections that wait for the only permit",
}


def table(results: list[dict[str, Any]], section: str) -> str:
    rows = [["", "", *(title for title, _ in COLUMNS[section])]]
    last = ""
    for r in (r for r in results if r["section"] == section):
        cells = [figure(r, key) for _, key in COLUMNS[section]]
        if not r["runs"]:
            cells[0] = "failed"
        rows.append([r["what"] if r["what"] != last else "", r["name"], *cells])
        last = r["what"]
    return markdown_table(rows)


def of(results: list[dict[str, Any]], section: str, what: str, name: str, key: str) -> float:
    for r in results:
        if (r["section"], r["what"], r["name"]) == (section, what, name):
            return median([run[key] for run in r["runs"]])
    return math.nan


def verdict(holds: bool, *figures: float) -> str:
    if any(math.isnan(f) for f in figures):
        return "not measured"
    return "holds" if holds else "**fails**"


def demands(results: list[dict[str, Any]]) -> str:
    rows = [["demanded", "voltgate", "beside", "here"]]

    def add(claim: str, ours: float, theirs: float, holds: bool) -> None:
        rows.append([claim, f"{ours:,.4g}", f"{theirs:,.4g}", verdict(holds, ours, theirs)])

    for clients in (100, 500):
        for mode in MODES[:2]:
            at = ("tpcb", f"{clients} clients, {mode}")
            ours, theirs = (of(results, *at, name, "tps") for name in (OURS, POOLED))
            add(f"{at[1]}: tps at least PgBouncer's (transaction)", ours, theirs, ours >= theirs)
            ours, theirs = (of(results, *at, name, "p99_ms") for name in (OURS, POOLED))
            add(f"{at[1]}: p99 at most PgBouncer's (transaction)", ours, theirs, ours <= theirs)
        for mode in MODES:
            even = of(results, "tpcb", f"{clients} clients, {mode}", OURS, "slowest")
            add(f"{clients} clients, {mode}: slowest / fastest client at least 0.9", even, 0.9,
                even >= 0.9)
        aborted = of(results, "tpcb", f"{clients} clients, prepared", OURS, "aborted")
        add(f"{clients} clients, prepared: no client aborts", aborted, 0, aborted == 0)
    for mode in MODES:
        ours = of(results, "cpu", f"{LIMIT} clients, {mode}", OURS, "cpu_us")
        others = [of(results, "cpu", f"{LIMIT} clients, {mode}", n, "cpu_us")
                  for n in ALL[1:4]]  # fmt: skip
        least = min((o for o in others if not math.isnan(o)), default=math.nan)
        add(f"{mode}: CPU a transaction at most the others', us", ours, least, ours <= least)
        alone = of(results, "cpu", f"{LIMIT} clients, {mode}", ONE, "cpu_us")
        add(f"{mode}: CPU a transaction at most 1.1 times that with one worker, us", ours, alone,
            ours <= 1.1 * alone)
    for script in ("tpcb-like", "select-only"):
        ours, theirs = (of(results, "tls", f"{LIMIT} clients, {script}", n, "cpu_us") for n in (OURS_TLS, POOLED_TLS))
        add(f"TLS on both sides, {script}: CPU a transaction at most PgBouncer's, us", ours, theirs, ours <= theirs)
    what = f"COPY of {COPY_MB} MB"
    ours, theirs = (of(results, "copy", what, name, "us") for name in (OURS, HAPROXY))
    add("CPU a MB at most HAProxy's, us", ours, theirs, ours <= theirs)
    for count in (5000, 10000):
        at = ("queue", f"{count} queue", f"{OURS}, tcp")
        for claim, key, most in (("bytes each", "bytes_each", 1536),
                                 ("idle CPU, %", "idle_percent", 0.1),
                                 ("empty after all have left, ms", "empty_ms", 50)):
            value = of(results, *at, key)
            add(f"{count} queue: {claim}", value, most, value <= most)
    return markdown_table(rows)


FAMILIES = {DIRECT: ("glibc", 4), HAPROXY: ("tokio", 6), POOLED: ("nsync", 8), OURS: ("volt", 7)}


def picture(results: list[dict[str, Any]], key: str, title: str) -> str:
    """Latency against clients, a line for each."""
    series = []
    for name, (family, point) in FAMILIES.items():
        at = []
        for r in (r for r in results if r["section"] == "picture" and r["name"] == name):
            values = [run[key] for run in r["runs"]]
            if values:
                at.append((float(r["what"]), median(values), min(values), max(values)))
        if at:
            series.append(Line(name, family, at, point, ""))
    ticks = [(f"{x}", float(x)) for x in PICTURE]
    return lines(f"gate-{key}", series, ticks, "clients", title)


def document(results: list[dict[str, Any]], rounds: int, o: argparse.Namespace) -> str:
    parts = ["# The gate, measured", f"\nWritten by `{o.command}`: {machine()}. {rounds} rounds.\n",
             (__doc__ or "").split("\n\n", 1)[1],
             "HAProxy and PgBouncer by session hold a permit for as long as a client is connected."
             " They get as many permits as\nthere are clients: with fewer, some clients would never"
             " be served.\n",
             "HAProxy needs two descriptors for each connection that may come: 10,000 are more than"
             " a process has here.\n", "\n## What is demanded\n", demands(results)]
    for section, title in TITLES.items():
        if any(r["section"] == section for r in results):
            parts += [f"\n## {title}\n", table(results, section)]
    if any(r["section"] == "picture" for r in results):
        parts += ["\n## Latency against clients\n", f"TPC-B, simple protocol, limit {LIMIT}.\n",
                  "![p99 against clients](gate-p99_ms.svg)\n",
                  "![p50 against clients](gate-p50_ms.svg)"]
    failed = [f"- {r['section']}, {r['what']}, {r['name']}: {r['failed']}" for r in results
              if r["failed"]]
    if failed:
        parts += ["\n## What failed\n", *failed]
    return "\n".join(parts) + "\n"


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="./x bench gate", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=3, metavar="N")
    p.add_argument("--seconds", type=float, default=4, metavar="S", help="of each pgbench")
    p.add_argument("--warm", type=float, default=6, metavar="S", help="before that, not counted")
    p.add_argument("--minutes", type=float, default=30, metavar="M", help="begin no round after")
    p.add_argument("--only", metavar="REGEX", help="section/what/name, in which it is found")
    given = p.add_argument_group("given by ./x")
    given.add_argument("--program", required=True, help="voltgate")
    given.add_argument("--command", default="./x bench gate")
    given.add_argument("--into", default="results", metavar="DIRECTORY")
    return p.parse_args()


def main() -> int:
    o = arguments()
    for program in ("haproxy", "pgbouncer"):
        if not is_there(program):
            tell(f"there is no {program}: its lines fail")
    with database(4, 1100) as db:
        results, rounds = measure(Plan(db, o), o)
    with open(f"{o.into}/gate.json", "w") as file:
        json.dump({"command": o.command, "machine": machine(), "rounds": rounds,
                   "results": results}, file, indent=1)  # fmt: skip
    text = document(results, rounds, o)
    with open(f"{o.into}/gate.md", "w") as file:
        file.write(text)
    if any(r["section"] == "picture" for r in results):
        for key, title in (("p99_ms", "p99, ms"), ("p50_ms", "p50, ms")):
            with open(f"{o.into}/gate-{key}.svg", "w") as file:
                file.write(picture(results, key, title))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
