"""I/O: servers beside raw epoll and raw io_uring, and what is demanded of volt's.

Each run starts one server on one core and loads it from the other one (bench/programs/io). The
first figure is the CPU time of the server for one operation, by the server's own clock; its ratio
to the first line of the table is taken within rounds.

A client that slept for less than 5 % of a run was as busy as the server: how many messages a second
went round, and how long they took, says more of the client than of the server. Those figures of
such a run are refused. At a fixed rate all of the run is refused, also if the rate was missed. In a
closed loop the CPU time stands: each server answers what the same client can send, and its clock
runs only while it works.

Of the rows "on all cores" no one is bound to a core: a server of several workers has the cores that
its client has. What is demanded there is that a worker more costs nothing.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from demands import FAILS, HOLDS, UNKNOWN, Verdict
from results import Pair
from run import Failure, Plan, Runner, Sample, machine, tell
from stats import Summary, digits, span, summarize
from suite import FAIR, LIMIT, VOLT, Arm, Row
from text import markdown_table

IDLE_LEAST = 0.05
RATE_LEAST = 0.99
RATE = 20000
HELLO = b"Hello, world!\n"
CLOCKED = ("connects", "echo", "http")  # workloads of a client, of which a busy one is told
WAITS = ("p50_ns", "p99_ns", "p999_ns")


# ---- who ----


@dataclass(frozen=True)
class Server:
    label: str
    peer: str  # what has to be there: left out by this name
    command: str  # {ours}, {peers}, {scripts}, {apps}; @ and %: ports (bench-io --help)
    kind: str = FAIR
    engine: str | None = None  # of a program that measures itself


def volts(command: str) -> list[Server]:
    """By each back end."""
    return [Server(f"volt, {name}", "volt", f"env VOLT_IO={name} {command}", VOLT)
            for name in ("epoll", "uring")]


EPOLL = Server("raw epoll", "limits", "{ours}/bench-io-epoll @", LIMIT)
URING = Server("raw io_uring", "uring", "{ours}/bench-io-uring @", LIMIT)
ECHO = (
    EPOLL, URING, *volts("{apps}/volt-echo --listen 127.0.0.1:@ --workers 1"),
    Server("libuv", "libuv", "{peers}/bench-io-libuv @"),
    Server("Tokio", "tokio", "{peers}/bench-io-tokio @"),
    Server("Asio", "asio", "{peers}/bench-io-asio @"),
    Server("Go", "go", "{peers}/bench-io-go @"),
    Server("libevent", "libevent", "{peers}/bench-io-libevent @"),
    Server("libevent, events alone", "libevent", "{peers}/bench-io-libevent-events @"),
)  # fmt: skip
WAYS = ("epoll", "uring")  # a connection is a fiber, or a stackless task


def ways(back_end: str) -> tuple[Server, ...]:
    command = f"env VOLT_IO={back_end} {{apps}}/volt-echo --listen 127.0.0.1:@ --workers 1"
    return (Server("volt, fibers", "volt", f"{command} --fibers", VOLT),
            Server("volt, tasks", "volt", command))


WORKERS = (1, 2, 4)
TOKIO_2 = Server("Tokio, 2 workers", "tokio", "env BENCH_WORKERS=2 {peers}/bench-io-tokio @")


def workers_text(n: int) -> str:
    return f"{n} worker{'s'[:n > 1]}"


def spread(command: str) -> list[Server]:
    """With 1, 2 and 4 workers, by each back end."""
    return [replace(s, label=f"{s.label}, {workers_text(n)}", command=f"{s.command} --workers {n}")
            for s in volts(command) for n in WORKERS]


SPREAD = (
    EPOLL, *spread("{apps}/volt-echo --listen 127.0.0.1:@"), TOKIO_2,
    Server("Go, 2 workers", "go", "env BENCH_WORKERS=2 {peers}/bench-io-go @"),
)  # fmt: skip
RELAY = (
    *(replace(s, command=s.command + " %") for s in (EPOLL, URING)),
    *volts("{apps}/volt-echo --listen 127.0.0.1:@ --workers 1 --relay-to 127.0.0.1:%"),
    Server("HAProxy", "haproxy", "{scripts}/haproxy.sh @ %"),
    Server("Tokio", "tokio", "{peers}/bench-io-tokio @ %"),
    Server("Go", "go", "{peers}/bench-io-go @ %"),
)
HTTP = (
    Server("lighttpd", "lighttpd", "{scripts}/lighttpd.sh @"),
    *volts("{apps}/volt-httpd --listen 127.0.0.1:@ --workers 1 --hello --connections 16000"
           " --requests 1000000000 --idle-s 3600 --root {www}"),
    Server("nginx", "nginx", "{scripts}/nginx.sh @"),
    Server("nginx, files kept open", "nginx", "{scripts}/nginx.sh @ cached"),
)  # fmt: skip
SPREAD_HTTP = (
    Server("lighttpd", "lighttpd", "{scripts}/lighttpd.sh @"),
    *spread("{apps}/volt-httpd --listen 127.0.0.1:@ --hello --connections 16000"
            " --requests 1000000000 --idle-s 3600 --root {www}"),
)  # fmt: skip
FILES = (  # programs that measure themselves
    Server("threads that pread", "limits", "{ours}/bench-io-files-pread", LIMIT),
    Server("raw io_uring", "uring", "{ours}/bench-io-files-uring", LIMIT),
    Server("volt, epoll", "volt", "{ours}/bench-io-files-volt", VOLT, "epoll"),
    Server("volt, uring", "volt", "{ours}/bench-io-files-volt", VOLT, "uring"),
    Server("libuv", "libuv", "{peers}/bench-io-libuv-files"),
)
CANCEL = (
    Server("raw epoll", "limits", "{ours}/bench-io-cancel-epoll", LIMIT),
    Server("raw io_uring", "uring", "{ours}/bench-io-cancel-uring", LIMIT),
    Server("volt, epoll", "volt", "{ours}/bench-io-cancel-volt", VOLT, "epoll"),
    Server("volt, uring", "volt", "{ours}/bench-io-cancel-volt", VOLT, "uring"),
    Server("libuv", "libuv", "{peers}/bench-io-libuv-cancel"),
    Server("Tokio", "tokio", "{peers}/bench-io-tokio"),
    Server("Go", "go", "{peers}/bench-io-go"),
)


# ---- what is run ----


class IoRow(Row):
    """Rated by CPU time; a cancel storm by the clock."""

    @property
    def contended(self) -> bool:
        return False

    @property
    def by(self) -> str:
        return "ns" if self.workload == "cancel" else "cpu_ns"

    @property
    def rate(self) -> bool:
        return "rate" in self.key


class Where:
    """The directories of a run, and what is left out because it is not there."""

    def __init__(self, o: argparse.Namespace, www: str) -> None:
        scripts = os.path.dirname(os.path.abspath(__file__)) + "/../peers/io"
        self.places = {"ours": o.ours, "peers": o.peers, "apps": o.apps, "scripts": scripts,
                       "www": www}  # fmt: skip
        self.given = {name for name, _ in o.left_out}
        self.left_out: dict[str, str] = dict(o.left_out)
        self.programs: dict[str, str] = {}

    def filled(self, command: str) -> str:
        for name, place in self.places.items():
            command = command.replace("{" + name + "}", os.path.abspath(place))
        return command

    def there(self, server: Server) -> bool:
        """A script is not enough: it starts what it is named after."""
        program = next(w for w in self.filled(server.command).split() if w.startswith("/"))
        needed = server.peer if program.endswith(".sh") else program
        if server.peer not in self.left_out and not shutil.which(needed):
            self.left_out[server.peer] = f"there is no {os.path.basename(needed)}"
        return server.peer not in self.given and shutil.which(needed) is not None

    def client(self) -> str:
        return self.filled("{ours}/bench-io")

    def arm(self, key: str, server: Server, options: tuple[str, ...]) -> Arm:
        """One that is not there stays in the row, without a program."""
        program = f"{key}/{server.label}"
        if self.there(server):
            itself = key in ("files", "cancel")
            self.programs[program] = self.filled(server.command) if itself else self.client()
            if not itself:
                options = ("--server", self.filled(server.command), *options)
        return Arm(server.label, program, server.engine, server.kind, options=options)


SPREAD_TASKS = (16, 64, 512)


def bytes_text(size: int) -> str:
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"


def rows(where: Where, ms: int) -> list[IoRow]:
    def row(key: str, title: str, workload: str, servers: Iterable[Server], tasks: int,
            amount: int = 0, options: tuple[str, ...] = (), operations: int = ms,
            most: int = 0) -> IoRow:  # fmt: skip
        arms = tuple(where.arm(key, server, options) for server in servers)
        return IoRow(key, title, workload, arms, tasks=tasks, amount=amount,
                     operations=operations, max_rounds=most)  # fmt: skip

    origin = ("--origin", where.filled(EPOLL.command))
    out = [row(f"echo-{size}-{n}", f"echo, {bytes_text(size)}, {n:,} connection{'s'[:n > 1]}",
               "echo", ECHO, n, size)
           for size, counts in ((64, (1, 64, 512, 4096)), (16384, (64, 512))) for n in counts]
    out += [row(f"ways-{back_end}", f"echo, 64 B, 64 connections, {back_end}: fibers and tasks",
                "echo", ways(back_end), 64, 64) for back_end in WAYS]
    out.append(row("rate", f"echo, 64 B, 64 connections, {RATE:,} a second", "echo", ECHO, 64, 64,
                   ("--rate", str(RATE))))
    out.append(row("connects", "connect, echo, close; 64 at a time", "connects", ECHO, 64, 64))
    out += [row(f"relay-{size}", f"relay, {bytes_text(size)}, 64 connections", "echo", RELAY, 64,
                size, origin) for size in (64, 16384)]
    out += [row(f"http-{name}", f"HTTP, {title}, 16 connections", "http", HTTP, 16,
                options=("--path", f"/{name}"))
            for name, title in (("hello", "hello"), ("1k", "a file of 1 KiB"),
                                ("64k", "a file of 64 KiB"))]
    everywhere = ("--all-cores", "1")
    out += [row(f"spread-{n}", f"echo, 64 B, {n} connections, on all cores", "echo", SPREAD, n, 64,
                everywhere) for n in SPREAD_TASKS]
    out.append(row("spread-rate", f"echo, 64 B, 64 connections, {RATE:,} a second, on all cores",
                   "echo", SPREAD, 64, 64, ("--rate", str(RATE), *everywhere)))
    out.append(row("spread-http", "HTTP, hello, 16 connections, on all cores", "http", SPREAD_HTTP,
                   16, options=("--path", "/hello", *everywhere)))
    out.append(row("files", "blocks of 4 KiB at random places of a file in the page cache, 16 at a"
                   " time", "files", FILES, 16))
    out.append(row("cancel", "10,000 receives whose time is over at once: until all have ended",
                   "cancel", CANCEL, 10000, operations=1))
    out.append(row("idle", "10,000 idle connections of echo", "idle", ECHO, 10000, 64, (),
                   2 * ms, 3))
    out.append(row("idle-http", "9,900 idle connections of HTTP", "idle", HTTP, 9900, 0,
                   ("--path", "/hello"), 2 * ms, 3))
    return out


# ---- what came out ----


def refused(row: IoRow, sample: Sample) -> bool:
    if row.workload not in CLOCKED:
        return False
    fields = sample.fields
    return fields["client_idle"] < IDLE_LEAST or fields.get("of_rate", 1) < RATE_LEAST


class IoPair(Pair):
    """At a fixed rate, without the runs that are refused."""

    row: IoRow

    def samples(self, arm: Arm) -> list[Sample]:
        every = super().samples(arm)
        return [s for s in every if not (self.row.rate and refused(self.row, s))]

    def of_server(self, arm: Arm, name: str) -> Summary | None:
        """Of what is refused in runs whose client was busy."""
        kept = [s.fields[name] for s in self.samples(arm)
                if name in s.fields and not refused(self.row, s)]
        return summarize(kept)

    def over(self, arm: Arm, to: Arm, name: str) -> Summary | None:
        """One arm's figure over another's, in rounds that have both."""
        def by_round(of: Arm) -> dict[int, float]:
            return {s.round: s.fields[name] for s in self.samples(of)
                    if name in s.fields and not (name in WAITS and refused(self.row, s))}

        ours, theirs = by_round(arm), by_round(to)
        both = sorted(r for r in ours.keys() & theirs.keys() if theirs[r] > 0)
        return summarize([ours[r] / theirs[r] for r in both])


def arm_dict(pair: IoPair, arm: Arm) -> dict[str, Any]:
    row, base = pair.row, pair.row.arms[0]
    every = pair.measured.samples.get(arm.label, [])
    out: dict[str, Any] = {
        "label": arm.label, "kind": arm.kind, "rounds": len(every),
        "failed": pair.measured.failed.get(arm.label),
        "disturbed": sum(s.disturbed for s in every),
        "refused": sum(refused(row, s) for s in every),
    }  # fmt: skip
    figures = {name: pair.summary(arm, name) for name in
               ("cpu_ns", "ns", "client_idle", "bytes", "cores")}  # fmt: skip
    figures |= {name: pair.of_server(arm, name) for name in ("per_second", *WAITS)}
    figures["ratio"] = None if arm == base else pair.over(arm, base, row.by)
    return out | {name: asdict(figure) if figure else None for name, figure in figures.items()}


def measure(plan: Plan, every: list[IoRow], where: Where,
            judge: Callable[[dict[str, IoPair]], list[Verdict]]) -> dict[str, Any]:  # fmt: skip
    measured = Runner(plan).all(list(every), tell)
    pairs = {row.key: IoPair(row, of_row) for row, of_row in zip(every, measured, strict=True)}
    return {
        "machine": machine(), "rounds": plan.rounds, "left_out": where.left_out,
        "rows": [{"key": key, "title": pair.row.title, "workload": pair.row.workload,
                  "arms": [arm_dict(pair, arm) for arm in pair.row.arms]}
                 for key, pair in pairs.items()],
        "demands": [asdict(v) for v in judge(pairs)],
    }  # fmt: skip


# ---- what is demanded ----


class Demands:
    """Ratios: by the better of volt's back ends, row by row. Bounds: by both."""

    def __init__(self, pairs: dict[str, IoPair]) -> None:
        self.pairs = pairs
        self.out: list[Verdict] = []

    @staticmethod
    def arms(pair: IoPair | None, of: str) -> list[Arm]:
        return [a for a in pair.row.arms if a.kind == VOLT] if pair and of == VOLT else \
               [a for a in pair.row.arms if a.label == of] if pair else []

    def verdict(self, claim: str, found: list[tuple[Summary, str]], limit: float, unit: str) -> None:
        if not found:
            return self.out.append(Verdict(claim, UNKNOWN, ""))
        best, who = (max if unit else min)(found, key=lambda each: each[0].median)
        text = f"{digits(best.median)}{unit} ({span(best.quartile_1, best.quartile_3)}), {who}"
        self.out.append(Verdict(claim, HOLDS if best.median <= limit else FAILS, text))

    def beside(self, key: str, other: str, limit: float, name: str = "") -> None:
        pair = self.pairs.get(key)
        title = pair.row.title if pair else key
        found = [(s, a.label) for a in self.arms(pair, VOLT) for b in self.arms(pair, other)
                 if pair and (s := pair.over(a, b, name or pair.row.by))]  # fmt: skip
        what = {"p50_ns": ", p50", "p99_ns": ", p99"}.get(name, "")
        self.verdict(f"{title}{what}: at most {limit:.2f} x {other}", found, limit, "")

    def workers(self, key: str, back_end: str, n: int, of: str, limit: float, name: str = "") -> None:
        """With so many workers, beside the same with another number, or a peer."""
        pair = self.pairs.get(key)
        one = f"volt, {back_end}, {workers_text(n)}"
        found = [(s, one) for a in self.arms(pair, one) for b in self.arms(pair, of)
                 if pair and (s := pair.over(a, b, name or pair.row.by))]  # fmt: skip
        title = pair.row.title if pair else key
        what = ", p99" if name else ""
        self.verdict(f"{title}: {back_end}, {workers_text(n)}{what}: at most {limit:.2f} x {of}",
                     found, limit, "")  # fmt: skip

    def at_most(self, key: str, name: str, limit: float, unit: str, factor: float) -> None:
        pair = self.pairs.get(key)
        found = [(scaled(s, factor), a.label) for a in self.arms(pair, VOLT)
                 if pair and (s := pair.summary(a, name))]
        title = pair.row.title if pair else key
        self.verdict(f"{title}: at most {limit:g}{unit}", found, limit, unit)

    def all_end_well(self) -> None:
        ran = [(a.label in p.measured.failed, p.row.title, a.label) for p in self.pairs.values()
               for a in p.row.arms if a.kind == VOLT and
               (a.label in p.measured.failed or a.label in p.measured.samples)]  # fmt: skip
        failed = [f"{title} ({label})" for has_failed, title, label in ran if has_failed]
        self.out.append(Verdict("every run of volt's ends well", UNKNOWN if not ran else
                                FAILS if failed else HOLDS, "; ".join(failed) or f"{len(ran)} rows"))


def judge(pairs: dict[str, IoPair]) -> list[Verdict]:
    d = Demands(pairs)
    d.all_end_well()
    for n in (64, 512):
        d.beside(f"echo-64-{n}", "raw epoll", 1.05)
        for other in ("Asio", "Go", "libevent"):
            d.beside(f"echo-64-{n}", other, 1)
    for n in (64, 512):
        for other, limit in (("raw epoll", 1.05), ("libuv", 1), ("Tokio", 1)):
            d.beside(f"echo-16384-{n}", other, limit)
    d.beside("rate", "raw epoll", 1.10)
    d.beside("rate", "raw epoll", 1, "p99_ns")
    d.beside("echo-64-1", "raw epoll", 1.10, "p50_ns")
    d.beside("connects", "raw epoll", 1)
    for back_end in WAYS:
        d.beside(f"ways-{back_end}", "volt, tasks", 1.15)
    for size in (64, 16384):
        d.beside(f"relay-{size}", "HAProxy", 1)
    for name in ("hello", "1k", "64k"):
        d.beside(f"http-{name}", "lighttpd", 1)
    for back_end in ("epoll", "uring"):
        one = f"volt, {back_end}, {workers_text(1)}"
        for key in (*(f"spread-{n}" for n in SPREAD_TASKS), "spread-http"):
            d.workers(key, back_end, 2, one, 1.08)
            d.workers(key, back_end, 4, one, 1.15)
        for n in SPREAD_TASKS:
            d.workers(f"spread-{n}", back_end, 2, TOKIO_2.label, 1)
        d.workers("spread-rate", back_end, 2, one, 1.10)
        d.workers("spread-rate", back_end, 2, one, 1, "p99_ns")
    d.at_most("cancel", "ns", 50, " ms", 1e-6)
    d.at_most("idle-http", "bytes", 4096, " bytes each", 1)
    d.at_most("idle", "cores", 0.1, " % of a core", 100)
    return d.out


def scaled(s: Summary, factor: float) -> Summary:
    return Summary(*(value * factor for value in asdict(s).values()))


# ---- as text, as a document ----


@dataclass(frozen=True)
class Bench:
    """A command of ./x bench, and its page."""

    name: str
    title: str
    about: str  # the first paragraph is not of the page
    serve: Callable[[str], None]  # makes what the servers serve, in a directory
    rows: Callable[[Where, int], list[IoRow]]
    judge: Callable[[dict[str, IoPair]], list[Verdict]]


def figure(arm: dict[str, Any], name: str, factor: float = 1) -> str:
    if arm[name]:
        return digits(arm[name]["median"] * factor)
    told = name in ("per_second", *WAITS) or (arm["rounds"] and name in ("cpu_ns", "client_idle"))
    return "refused" if told and arm["refused"] else ""


def ratio(arm: dict[str, Any]) -> list[str]:
    r = arm["ratio"]
    return [digits(r["median"]), span(r["quartile_1"], r["quartile_3"])] if r else ["", ""]


COLUMNS: dict[str, tuple[tuple[str, str, float], ...]] = {  # heading, field, factor
    "echo": (("CPU ns", "cpu_ns", 1), ("a second", "per_second", 1), ("p50 us", "p50_ns", 1e-3),
             ("p99 us", "p99_ns", 1e-3), ("p99.9 us", "p999_ns", 1e-3),
             ("client idle %", "client_idle", 100)),
    "http": (("CPU ns", "cpu_ns", 1), ("a second", "per_second", 1),
             ("client idle %", "client_idle", 100)),
    "files": (("CPU ns", "cpu_ns", 1), ("ns", "ns", 1)),
    "cancel": (("ms", "ns", 1e-6),),
    "idle": (("bytes each", "bytes", 1), ("% of a core", "cores", 100)),
}  # fmt: skip
COLUMNS["connects"] = COLUMNS["echo"]


def table(row: dict[str, Any]) -> list[list[str]]:
    columns = COLUMNS[row["workload"]]
    rated = row["workload"] != "idle"
    base = row["arms"][0]["label"]
    heads = [columns[0][0], *([f"x {base}", "quartiles"] if rated else []),
             *(head for head, _, _ in columns[1:]), "rounds (disturbed, refused)"]
    out = [["", *heads]]
    for arm in row["arms"]:
        if not arm["rounds"]:
            continue
        cells = [figure(arm, name, factor) for _, name, factor in columns]
        counts = f"{arm['rounds']} ({arm['disturbed']}, {arm['refused']})"
        out.append([arm["label"], cells[0], *(ratio(arm) if rated else []), *cells[1:], counts])
    return out


def failures(given: dict[str, Any]) -> list[str]:
    lines = [f"{name} is left out: {why}" for name, why in given["left_out"].items()]
    lines += [f"{row['title']}: {arm['label']} has failed: "
              + " ".join(arm["failed"].splitlines()[1:])
              for row in given["rows"] for arm in row["arms"] if arm["failed"]]  # fmt: skip
    return [" ".join(line.split()) for line in lines]


def verdict_lines(given: dict[str, Any]) -> list[list[str]]:
    known = [v for v in given["demands"] if v["verdict"] != UNKNOWN]
    missing = len(given["demands"]) - len(known)
    out = [["demanded of volt: ratios by the better back end, bounds by both", "here", "figures"],
           *([*v.values()] for v in known)]
    return out + ([[f"{missing} of {len(given['demands'])}", UNKNOWN, ""]] if missing else [])


def write_markdown(given: dict[str, Any], command: str, bench: Bench) -> str:
    about = bench.about.split("\n\n")
    out = [f"# {bench.title}\n",
           f"Written by `{command}`: {given['machine']}. {given['rounds']} rounds, interleaved; "
           "medians.\n", *(part.strip() + "\n" for part in about[1:]),
           *(f"- {line}" for line in failures(given)), "",
           markdown_table(verdict_lines(given), 3)]  # fmt: skip
    out += [f"\n## {row['title'][0].upper()}{row['title'][1:]}\n\n{markdown_table(lines, 1)}"
            for row in given["rows"] if len(lines := table(row)) > 1]
    return "\n".join(out) + "\n"


def write_text(given: dict[str, Any]) -> str:
    out = [given["machine"], f"{given['rounds']} rounds, interleaved; medians", *failures(given)]
    named = [(row["title"], table(row)) for row in given["rows"]]
    for title, lines in [*named, ("what is demanded", verdict_lines(given))]:
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        out += ["", title]
        out += ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                for line in lines]  # fmt: skip
    return "\n".join(out) + "\n"


# ---- the command ----


def arguments(bench: Bench) -> argparse.Namespace:
    p = argparse.ArgumentParser(prog=f"./x bench {bench.name}", description=bench.about, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    p.add_argument("--rounds", type=int, default=5, metavar="N", help="so many (5)")
    p.add_argument("--minutes", type=int, default=25, metavar="N",
                   help="begin no round that would end later (25)")  # fmt: skip
    p.add_argument("--milliseconds", type=int, default=1000, metavar="N",
                   help="that a run measures (1000)")  # fmt: skip
    p.add_argument("--only", default="", metavar="REGEX", help="rows, by their names")
    given = p.add_argument_group("given by ./x")
    for name in ("ours", "peers", "apps"):
        given.add_argument(f"--{name}", default=".", metavar="DIR", help="programs")
    given.add_argument("--left-out", nargs=2, action="append", default=[], metavar=("NAME", "WHY"))
    given.add_argument("--command", default=f"./x bench {bench.name}",
                       help="what the results say wrote them")  # fmt: skip
    for name in ("json", "markdown"):
        given.add_argument(f"--{name}", metavar="FILE", help="write it")
    o = p.parse_args()
    if o.rounds < 1 or o.minutes < 1 or o.milliseconds < 1:
        p.error("--rounds, --minutes, --milliseconds: from 1")
    return o


def serve(directory: str) -> None:
    """The files that HTTP servers serve."""
    os.makedirs(f"{directory}/www")
    random = bytes((i * i * 31 + i // 7) % 256 for i in range(65536))
    for name, content in (("hello", HELLO), ("1k", random[:1024]), ("64k", random)):
        with open(f"{directory}/www/{name}", "wb") as file:
            file.write(content)


def run_bench(bench: Bench) -> int:
    o = arguments(bench)
    if len(os.sched_getaffinity(0)) < 2:
        tell("the server and the client need a core each")
        return 77
    directory = tempfile.mkdtemp(prefix="volt-bench-")
    os.environ["BENCH_DIR"] = directory
    try:
        bench.serve(directory)
        where = Where(o, f"{directory}/www")
        every = [row for row in bench.rows(where, o.milliseconds) if re.search(o.only, row.key)]
        plan = Plan(where.programs, where.left_out, o.rounds, o.minutes * 60, 100)
        for name, why in where.left_out.items():
            tell(f"{name} is left out: {why}")
        given = measure(plan, every, where, bench.judge)
        for path, content in ((o.json, json.dumps(given, indent=1) + "\n"),
                              (o.markdown, write_markdown(given, o.command, bench))):
            if path:
                with open(path, "w") as file:
                    file.write(content)
    except (Failure, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(write_text(given), end="")
    return 0 if all(row["arms"][0]["rounds"] for row in given["rows"]) else 1


if __name__ == "__main__":
    sys.exit(run_bench(Bench("io", "I/O, measured", __doc__ or "", serve, rows, judge)))
