"""What the simulated machine says: the rows that were measured beside the same rows simulated, and
sweeps from 2 to 128 cores, as a document and plots. Every run is given by its arguments and its
seed, so the same tree gives the same document."""

import argparse
import json
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

CORES = (2, 4, 8, 16, 32, 64, 128)
SEEDS = (1, 2, 3)


class Failure(Exception):
    """A run has failed, or its books do not add up."""


def run(program: str, arguments: str, seed: int = 1) -> dict:
    done = subprocess.run([program, *arguments.split(), "--seed", str(seed)], capture_output=True,
                          text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise Failure(f"{arguments} --seed {seed}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# ---- what was measured ----


@dataclass(frozen=True)
class Row:
    title: str  # as in bench/results/benchmarks.md
    engine: str
    arguments: str
    fitted: bool = False  # a cost was chosen by this row


ROWS = (
    Row("mutex, 2 threads", "a cache line, one way", "line --operations 4000", True),
    Row("yield, 100 tasks, 1 worker", "volt", "yield --workers 1 --tasks 100 --operations 200", True),
    Row("two tasks hand over to each other: a hop, 1 worker", "volt",
        "pingpong --workers 1 --tasks 2 --operations 8000", True),
    Row("mutex, 4 tasks, 1 worker", "volt", "mutex --workers 1 --tasks 4 --operations 4000", True),
    Row("semaphore, 8 tasks, 2 permits, 1 worker", "volt", "sem --workers 1 --operations 4000"),
    Row("the same, a permit held across a yield, 1 worker", "volt",
        "held --workers 1 --operations 2000"),
    Row("lock with 10 waiters, held across a yield, 1 worker", "volt",
        "held --workers 1 --tasks 10 --amount 1 --operations 2000"),
    Row("spawn + join, 1,000 at a time, 1 worker", "volt",
        "spawn --workers 1 --tasks 1000 --operations 16"),
    Row("semaphore, 8 tasks, 2 permits, 2 workers", "volt", "sem --operations 4000", True),
    Row("the same, a permit held across a yield, 2 workers", "volt", "held --operations 2000"),
    Row("lock with 10 waiters, held across a yield, 2 workers", "volt",
        "held --tasks 10 --amount 1 --operations 2000"),
    Row("mutex, 2 tasks, 2 workers", "volt", "mutex --tasks 2 --operations 8000"),
    Row("mutex, 4 tasks, 2 workers", "volt", "mutex --tasks 4 --operations 4000"),
    Row("mutex, 8 tasks, 2 workers", "volt", "mutex --tasks 8 --operations 2000"),
    Row("read-write lock, 4 read, 2 write, 2 workers", "volt",
        "rwlock --tasks 6 --amount 1002 --operations 6000"),
    Row("read-write lock, 16 read, 1 writes, 2 workers", "volt",
        "rwlock --tasks 17 --amount 1001 --operations 2000"),
    Row("two tasks hand over to each other: a hop, 2 workers", "volt",
        "pingpong --tasks 2 --operations 8000"),
    Row("spawn + join, 1,000 at a time, 2 workers", "volt", "spawn --tasks 1000 --operations 32"),
    Row("yield, 100 tasks, 2 workers", "volt", "yield --tasks 100 --operations 400"),
    Row("mutex, 2 threads", "volt", "threads-mutex --tasks 2 --operations 16000"),
    Row("mutex, 4 threads", "volt", "threads-mutex --tasks 4 --operations 16000"),
    Row("mutex, 8 threads", "volt", "threads-mutex --tasks 8 --operations 8000"),
    Row("semaphore of 2 permits, 8 threads", "volt", "threads-sem --tasks 8 --operations 8000"),
    Row("read-write lock, 4 read, 2 write, 6 threads", "volt",
        "threads-rwlock --tasks 6 --amount 2 --operations 8000"),
    Row("read-write lock, 16 read, 1 writes, 17 threads", "volt",
        "threads-rwlock --tasks 17 --amount 1 --operations 4000"),
    Row("two threads hand over to each other: a hop", "volt", "threads-hop --operations 8000"),
)


def measured(text: str, row: Row) -> float:
    """The first figure of the engine's line in that row's table."""
    begin = text.find(f"**{row.title}**")
    found = re.search(rf"^\| {re.escape(row.engine)} \|[^|]*\| *([0-9.,]+) \|", text[begin:], re.M)
    if begin < 0 or not found:
        raise Failure(f"bench/results/benchmarks.md has no such row: {row.title}, {row.engine}")
    return float(found[1].replace(",", ""))


# ---- sweeps ----


@dataclass(frozen=True)
class Line:
    label: str
    arguments: Callable[[int], str]  # of the number of cores
    most: int = CORES[-1]


@dataclass(frozen=True)
class Sweep:
    key: str
    title: str
    lines: tuple[Line, ...]


def each(n: int, total: int) -> int:
    """Operations of each of n tasks."""
    return max(total // n, 16)


def tasks(workload: str, per_core: int, total: int, more: str = "") -> Callable[[int], str]:
    return lambda cores: (f"{workload} --workers {cores} --tasks {per_core * cores} "
                          f"--operations {each(per_core * cores, total)} {more}")


def outside(threads: int, more: Callable[[int], str]) -> Callable[[int], str]:
    return lambda cores: (f"outside --workers {cores} --cores {cores + threads} --amount {threads} "
                          f"--tasks 200 --operations {max(12 // threads, 2)} --inside 1000 "
                          + more(cores))


def groups(cores: int) -> str:
    return f"--injection-groups {(cores + 7) // 8}"


def shards(amount: int, more: str, count: Callable[[int], int]) -> Callable[[int], str]:
    """count: of the number of cores, how many shards; 0: one for each group. With work apart few
    cores need 25 ms to see that their polls are long: a run is longer than that."""
    def arguments(cores: int) -> str:
        total = 40000 if amount >= 100 else 400000 if more and cores <= 32 else 160000
        return tasks("sharded", 2, total, f"--amount {amount} {more}")(cores)

    return lambda cores: f"{arguments(cores)} --shards {count(cores)}"


def bypass_lines(more: str = "") -> tuple[Line, ...]:
    """One read-write lock with and without bypass, and the same in shards."""
    lines = []
    for amount, share in ((10, "1 % write"), (100, "10 % write"), (333, "33 % write")):
        lines += [Line(f"{share}, k = {k}",
                       tasks("rwlock", 2, 24000, f"--amount {amount} --bypass {k} {more}"))
                  for k in (0, 16)]
        lines.append(Line(f"{share}, a shard a worker", shards(amount, more, lambda cores: cores)))
    return tuple(lines)


def shard_lines(more: str = "") -> tuple[Line, ...]:
    """One read-write lock, and the same in shards."""
    lines = []
    for amount, share in ((0, "all read"), (1, "0.1 % write"), (10, "1 % write")):
        one = tasks("rwlock", 2, 40000, f"--amount {amount} {more}")
        lines += [Line(f"{share}, one lock", one),
                  Line(f"{share}, a shard a worker", shards(amount, more, lambda cores: cores)),
                  Line(f"{share}, a shard a group", shards(amount, more, lambda cores: 0))]
    return tuple(lines)


ALWAYS = "--slot-always 1"
APART = "--inside 100 --apart 3000"
NEARER = "--inside 100 --apart 1000"
LOST = "--lost-every 1000000 --lost-for 100000"
NEAR = "--steal-near 1 --wake-near 1"
SWEEPS = (
    Sweep("mutex", "Mutex, empty section, 4 tasks a core", (
        Line("k = 0", tasks("mutex", 4, 12000)),
        Line("k = 16", tasks("mutex", 4, 24000, "--bypass 16")),
        Line("k = 0, cores lost for 0.1 ms in each ms", tasks("mutex", 4, 24000, LOST)),
        Line("k = 16, cores lost for 0.1 ms in each ms",
             tasks("mutex", 4, 48000, f"--bypass 16 {LOST}")))),
    Sweep("apart", "Mutex, 100 ns inside, 3 us of work apart, 4 tasks a core", (
        Line("k = 0", tasks("mutex", 4, 8000, APART)),
        Line("k = 16", tasks("mutex", 4, 120000, f"--bypass 16 {APART}")),
        Line("k = 0, slot also while polls are long", tasks("mutex", 4, 8000, f"{APART} {ALWAYS}")),
        Line("k = 16, slot also while polls are long",
             tasks("mutex", 4, 24000, f"--bypass 16 {APART} {ALWAYS}")))),
    Sweep("semaphore", "Semaphore of 2 permits, 4 tasks a core", (
        Line("empty section", tasks("sem", 4, 12000)),
        Line("100 ns inside, 3 us apart", tasks("sem", 4, 8000, APART)),
        Line("the same, slot also while polls are long",
             tasks("sem", 4, 8000, f"{APART} {ALWAYS}")))),
    Sweep("rwlock", "Read-write lock, empty section, 2 tasks a core",
          bypass_lines()),
    Sweep("rwlock-apart", "Read-write lock, 100 ns inside, 3 us of work apart, 2 tasks a core",
          bypass_lines(APART)),
    Sweep("sharded", "Sharded read-write lock, empty section, 2 tasks a core", shard_lines()),
    Sweep("sharded-apart", "Sharded read-write lock, 100 ns inside, 1 us of work apart, "
          "2 tasks a core", shard_lines(NEARER)),
    Sweep("spawn", "One task spawns and joins 1,000 that work for 0.5 us", (
        Line("as it is", lambda c: f"spawn --workers {c} --tasks 1000 --operations 6 --inside 500"),
        Line("search and wake in the own group first",
             lambda c: f"spawn --workers {c} --tasks 1000 --operations 6 --inside 500 {NEAR}"))),
    Sweep("outside", "Other threads spawn tasks that work for 1 us", (
        Line("1 thread", outside(1, lambda c: "")),
        Line("1 thread, a queue for each group", outside(1, groups)),
        Line("8 threads", outside(8, lambda c: "")),
        Line("8 threads, a queue for each group", outside(8, groups)))),
    Sweep("tree", "A tree of 8,000 tasks that work for 1 us and spawn two each", (
        Line("as it is", lambda c: f"tree --workers {c} --tasks 8000 --operations 2 --inside 1000"),
        Line("in the own group first",
             lambda c: f"tree --workers {c} --tasks 8000 --operations 2 --inside 1000 {NEAR}"),
        Line("a wake takes 3 us instead of 12",
             lambda c: f"tree --workers {c} --tasks 8000 --operations 2 --inside 1000 --asleep 3000"))),
)


# ---- the document ----


def digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def validation(pool: ThreadPoolExecutor, program: str, text: str) -> tuple[list[str], list[float]]:
    def simulated(row: Row) -> float:
        return statistics.median(run(program, row.arguments, seed)["ns"] for seed in SEEDS)

    out = ["| row | measured ns | simulated ns | simulated / measured | |",
           "| --- | --: | --: | --: | --- |"]
    ratios = []
    for row, value in zip(ROWS, pool.map(simulated, ROWS)):
        real = measured(text, row)
        name = row.title if row.engine == "volt" else row.engine
        ratios += [] if row.fitted else [value / real]
        out.append(f"| {name} | {digits(real)} | {digits(value)} | {value / real:.2f} | "
                   f"{'fitted' if row.fitted else 'predicted'} |")
    return out, ratios


def sweep(pool: ThreadPoolExecutor, program: str, what: Sweep) -> list[list[float]]:
    points = [line.arguments(cores) for line in what.lines for cores in CORES]
    values = [result["ns"] for result in pool.map(lambda p: run(program, p), points)]
    return [values[at : at + len(CORES)] for at in range(0, len(values), len(CORES))]


def table(what: Sweep, values: list[list[float]]) -> list[str]:
    out = [f"**{what.title}**: ns per operation", "",
           "| cores | " + " | ".join(str(cores) for cores in CORES) + " |",
           "| --- |" + " --: |" * len(CORES)]
    for line, row in zip(what.lines, values):
        out.append(f"| {line.label} | " + " | ".join(digits(v) for v in row) + " |")
    return out + [""]


def plot(what: Sweep, values: list[list[float]], into: Path) -> None:
    """By gnuplot, as bench/programs/bcs/bcs.gp does."""
    data = "\n".join(" ".join([str(cores)] + [f"{row[at]:.6g}" for row in values])
                     for at, cores in enumerate(CORES))
    lines = ", ".join(f"$d using 1:{n + 2} title '{line.label}' linetype {n + 1} linewidth 2 "
                      f"pointtype {n + 1}" for n, line in enumerate(what.lines))
    script = f"""$d << EOD
{data}
EOD
set terminal svg size 840,400 noenhanced font 'sans,12' background 'white'
set output '{into / f"scale-{what.key}.svg"}'
set key below
set grid ytics linetype 1 linecolor rgb '#dddddd'
set title '{what.title}'
set xlabel 'cores'
set ylabel 'ns per operation'
set logscale x 2
set logscale y
set xtics ({", ".join(f"'{c}' {c}" for c in CORES)})
set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05
set style data linespoints
plot {lines}
"""
    done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"gnuplot: {done.stderr.strip()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="bench-scale")
    parser.add_argument("--wide", required=True, help="bench-scale-wide")
    parser.add_argument("--measured", required=True, help="bench/results/benchmarks.md")
    parser.add_argument("--into", required=True, type=Path, help="a directory: scale.md, plots")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a sweep's key; validation")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    out = ["# The library on a simulated machine", "",
           "Written by `./x scale --save`. What is simulated, and what follows: "
           "[docs/scale.md](../../docs/scale.md).", ""]
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.only in ("", "validation"):
            text = Path(options.measured).read_text(encoding="utf-8")
            lines, ratios = validation(pool, options.program, text)
            errors = sorted(max(r, 1 / r) - 1 for r in ratios)
            out += ["## Beside what was measured", "",
                    "Measured: [benchmarks.md](benchmarks.md). Simulated: the median of "
                    f"{len(SEEDS)} seeds. Predicted rows are off by {statistics.median(errors):.0%} "
                    f"in the median, and by {errors[-1]:.0%} at most.", ""] + lines + [""]
        out += ["## From 2 to 128 cores", ""]
        for what in SWEEPS:
            if options.only in ("", what.key):
                values = sweep(pool, options.wide, what)
                out += table(what, values)
                plot(what, values, options.into)
    document = "\n".join(out).rstrip() + "\n"
    (options.into / "scale.md").write_text(document, encoding="utf-8")
    print(document, end="")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"scale: {failure}")
