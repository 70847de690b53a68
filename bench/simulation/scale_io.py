"""What the simulated machine says of I/O: connections to simulated clients on 1 to 64 cores, one set of
what is ready beside a set for each worker, as a document. Every run is given by its arguments and its
seed, so the same tree gives the same document."""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from scale import Failure, digits, run

CORES = (1, 2, 4, 8, 16, 32, 64)
WORD = 48  # the tree's own word for workers that sleep has room for so many

Run = Callable[[str, str], dict]


# ---- what is run ----


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    per_core: int  # connections
    operations: int  # a core; on few cores more
    load: Callable[[int], str]  # of the number of cores
    is_long: bool = False

    def arguments(self, cores: int) -> str:
        connections = self.per_core * cores
        total = max(self.operations * cores, 16000)
        return (f"io --workers {cores} --tasks {connections} --operations {max(total // connections, 4)} "
                f"{self.load(cores)}")


def closed(client_ns: int) -> Callable[[int], str]:
    return lambda cores: f"--client {client_ns}"


def rate(a_core: int, more: str = "") -> Callable[[int], str]:
    return lambda cores: f"--rate {a_core * cores} {more}".strip()


def closed_section(client_ns: int, load: str, per_core: int) -> Section:
    return Section(f"{load.split()[0]}-{per_core}", f"Closed loop, {load}, {per_core} connections a core", per_core,
                   2000, closed(client_ns))


def open_section(a_core: int, milliseconds: int, long_each: int = 0) -> Section:
    """On many cores a run is as long as that; what it costs is the time for which 64 cores search."""
    title = f"{a_core:,} requests a second and core, 32 connections a core"
    operations = a_core * milliseconds // 1000
    if not long_each:
        return Section(f"rate-{a_core}", title, 32, operations, rate(a_core))
    return Section(f"long-{a_core}", f"{title}, one poll in {long_each:,} computes for 10 ms", 32,
                   operations, rate(a_core, f"--long-each {long_each}"), True)


SECTIONS = (
    *(closed_section(3000, "saturated", n) for n in (8, 32, 256)),
    *(closed_section(6000, "half loaded", n) for n in (8, 32)),
    open_section(10000, 40), open_section(100000, 20), open_section(200000, 10),
    open_section(10000, 50, 200), open_section(100000, 30, 2000), open_section(200000, 20, 2000),
)


@dataclass(frozen=True)
class Variant:
    label: str
    arguments: str


def variants(has_watcher: bool) -> tuple[Variant, ...]:
    """has_watcher: whether the runtime knows --watches."""
    found = []
    for label, option in (("one instance", "--set-each 0"), ("an instance each", "--set-each 1")):
        found.append(Variant(f"{label}, before" if has_watcher else label, f"{option} --watches 0"))
        if has_watcher:
            found.append(Variant(f"{label}, with a watcher", f"{option} --watches 1"))
    return tuple(found)


# ---- what is said of a run ----


@dataclass(frozen=True)
class Metric:
    label: str
    of: Callable[[dict], float]
    is_for: Callable[[Section], bool] = lambda section: True


def each(*names: str) -> Callable[[dict], float]:
    return lambda result: sum(result[name] for name in names) / result["operations"]


def us(name: str) -> Callable[[dict], float]:
    return lambda result: result[name] / 1000


CPU = Metric("CPU ns", lambda result: result["cpu_ns"])
P99 = Metric("p99, us", us("p99_ns"))
DELAY = Metric("longest delay, us", us("delay_ns"), lambda section: section.is_long)
DONE = Metric("operations a ms", lambda result: 1e6 / result["ns"],
              lambda section: section.key.startswith("saturated"))
BUSY = Metric("% of all cores busy", lambda result: 100 * result["cpu_ns"] / (result["ns"] * result["cores"]),
              lambda section: not section.is_long and not section.key.startswith("saturated"))
METRICS = (CPU, BUSY, DONE, Metric("wakes", each("wakes", "woken")), Metric("sleeps", each("sleeps")),
           Metric("p50, us", us("p50_ns")), P99, Metric("max, us", us("longest_ns")), DELAY)

Values = dict[tuple[Section, Variant, int], dict]  # by the number of cores, which is in it, too


def table(section: Section, among: tuple[Variant, ...], cores: tuple[int, ...], values: Values) -> list[str]:
    out = [f"**{section.title}**", "",
           "| | cores | " + " | ".join(str(c) for c in cores) + " |", "| --- | --- |" + " --: |" * len(cores)]
    for metric in METRICS:
        if not metric.is_for(section):
            continue
        for variant in among:
            row = [digits(metric.of(values[section, variant, c])) for c in cores]
            out.append(f"| {metric.label} | {variant.label} | " + " | ".join(row) + " |")
    return out + [""]


# ---- where it breaks ----


@dataclass(frozen=True)
class Bar:
    title: str
    is_for: Callable[[Section], bool]
    of: Callable[[dict, dict], float]  # of a run, and of that on one core; at most 1


BARS = (
    Bar("CPU at most 1.15 x that on one core", lambda section: not section.is_long,
        lambda here, one: CPU.of(here) / CPU.of(one) / 1.15),
    Bar("Who has nothing to do sleeps: at most 97 % of all cores busy", BUSY.is_for,
        lambda here, one: BUSY.of(here) / 97),
    Bar("Operations at least 0.87 x cores x those of one", DONE.is_for,
        lambda here, one: DONE.of(one) * here["cores"] / DONE.of(here) * 0.87),
    Bar("The p99 at most 1.05 x that on one core", lambda section: section.key.startswith("rate"),
        lambda here, one: P99.of(here) / P99.of(one) / 1.05),
    Bar("No delay above 1 ms behind a long poll", lambda section: section.is_long,
        lambda here, one: DELAY.of(here) / 1000),
    Bar("No sleep ends while nothing comes", lambda section: True,
        lambda here, one: float(2 * here["quiet_sleeps"])),
)


def verdict(bar: Bar, section: Section, variant: Variant, cores: tuple[int, ...], values: Values) -> str:
    one = values[section, variant, cores[0]]
    broken = {c: bar.of(values[section, variant, c], one) for c in cores[1:]}
    broken = {c: ratio for c, ratio in broken.items() if ratio > 1}
    if not broken:
        return "holds"
    return f"{', '.join(str(c) for c in broken)}: by up to {max(broken.values()):.3g} x"


def verdicts(sections: tuple[Section, ...], among: tuple[Variant, ...], cores: tuple[int, ...],
             values: Values) -> list[str]:
    out = []
    for bar in BARS:
        said = {section: [verdict(bar, section, variant, cores, values) for variant in among]
                for section in sections if bar.is_for(section)}
        if all(word == "holds" for words in said.values() for word in words):
            out += [f"**{bar.title}**: holds everywhere.", ""]
            continue
        out += [f"**{bar.title}**", "", "| | " + " | ".join(v.label for v in among) + " |",
                "| --- |" + " --- |" * len(among)]
        out += [f"| {section.title} | " + " | ".join(words) + " |" for section, words in said.items()]
        out.append("")
    return out


# ---- beside what was measured ----


MEASURED = (
    ("Echo, 64 B, 64 connections", "--tasks 64 --operations 400", True),
    ("Echo, 64 B, 512 connections", "--tasks 512 --operations 60", False),
    ("Echo, 64 B, 64 connections, 20,000 a second", "--tasks 64 --operations 200 --rate 20000", False),
    ("Echo, 64 B, 1 connection", "--tasks 1 --operations 4000", False),
)


def measured(text: str, title: str) -> float:
    """CPU ns of volt with epoll in that table of bench/results/io.md."""
    found = [part for part in text.split("\n## ") if part.split("\n")[0] == title]
    rows = [line for part in found for line in part.split("\n") if line.startswith("| volt, epoll |")]
    if not rows:
        raise Failure(f"bench/results/io.md has no such row: {title}")
    return float(rows[0].split("|")[2].replace(",", ""))


def validation(pool: ThreadPoolExecutor, program: str, text: str, call: Run) -> list[str]:
    results = pool.map(lambda row: call(program, f"io --workers 1 {row[1]}"), MEASURED)
    out = ["| row, one worker | measured CPU ns | simulated CPU ns | simulated / measured | |",
           "| --- | --: | --: | --: | --- |"]
    for (title, _, is_fitted), result in zip(MEASURED, results):
        real, value = measured(text, title), result["cpu_ns"]
        out.append(f"| {title} | {digits(real)} | {digits(value)} | {value / real:.2f} | "
                   f"{'fitted' if is_fitted else 'predicted'} |")
    return out + [""]


# ---- the document ----


HEAD = """# I/O on a simulated machine

Written by `./x scale io --save`. What is simulated, and what follows: [docs/scale.md](../../docs/scale.md#io).

All figures are of one operation: a request is received and answered. CPU is what all cores spend together, but
for what long polls compute. Wakes: threads that were woken, by workers and by what came in. Sleeps: of
all workers. Times are from the arrival of a request until it is answered; a delay until it is received. A task's
own long poll does not count as a wait.
"""


def run_all(pool: ThreadPoolExecutor, tree: str, wide: str, sections: tuple[Section, ...],
            among: tuple[Variant, ...], cores: tuple[int, ...], call: Run) -> Values:
    def value(point: tuple[Section, Variant, int]) -> dict:
        section, variant, on = point
        program = tree if on <= WORD else wide
        return {**call(program, f"{section.arguments(on)} {variant.arguments}"), "cores": on}

    points = [(section, variant, on) for section in sections for variant in among for on in cores]
    points.sort(key=lambda point: -point[2])  # so that those that take long do not remain for the end
    return dict(zip(points, pool.map(value, points)))


def document(pool: ThreadPoolExecutor, tree: str, wide: str, text: str, sections: tuple[Section, ...],
             cores: tuple[int, ...], call: Run = run) -> str:
    """text: bench/results/io.md."""
    has_watcher = call(tree, "io --watches 1 --operations 2")["watches"] == 1
    among = variants(has_watcher)
    values = run_all(pool, tree, wide, sections, among, cores, call)
    out = [HEAD, "## Beside what was measured", "", "Measured: [io.md](io.md), by one worker.", "",
           *validation(pool, tree, text, call), "## Where it breaks", "",
           "The numbers of cores on which that does not hold, and by how much.", "",
           *verdicts(sections, among, cores, values), "## All figures", ""]
    for section in sections:
        out += table(section, among, cores, values)
    return "\n".join(out).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="bench-scale")
    parser.add_argument("--wide", required=True, help="bench-scale-wide")
    parser.add_argument("--measured", required=True, type=Path, help="bench/results/io.md")
    parser.add_argument("--into", required=True, type=Path, help="a directory: scale_io.md")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a section's key")
    options = parser.parse_args()
    sections = tuple(s for s in SECTIONS if options.only in ("", s.key))
    if not sections:
        raise Failure(f"no such section: {', '.join(s.key for s in SECTIONS)}")
    options.into.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        text = document(pool, options.program, options.wide, options.measured.read_text(encoding="utf-8"),
                        sections, CORES)
    (options.into / "scale_io.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"scale_io: {failure}")
