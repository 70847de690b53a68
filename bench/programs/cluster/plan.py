"""A limit of 10 to 1,000 hosts on the simulated ensemble: figures, plots, the tables of the page, and
what is demanded. Every run is given by its arguments and its seed, so the same tree gives the same
figures."""

import argparse
import csv
import io
import json
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOSTS = (10, 30, 100, 300, 1000)
SEEDS = (1, 2, 3)
RECIPES = {
    "volt": "volt_cluster_sem",
    "writes": "any recipe of 4 writes a permit, at best",
    "lock": "a mutex, then a lease: 4 writes a permit",
}
FAULTS = {
    1: "a host that holds slots dies",
    2: "a host that waits dies",
    3: "the ensemble is away for 3 s",
    4: "a follower is cut off",
}
FAULT_AT, SLICE = 10, 0.1  # seconds
ENTRY_BYTES = 57  # of a name in the queue, with its length


class Failure(Exception):
    """A run has failed."""


def run(program: str, arguments: str) -> dict:
    done = subprocess.run([program, *arguments.split()], capture_output=True, text=True,
                          check=False, timeout=600)  # fmt: skip
    if done.returncode != 0:
        raise Failure(f"{arguments}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def median(runs: list[dict]) -> dict:
    """Of each number, over the seeds."""
    return {key: statistics.median(one[key] for one in runs)
            for key, value in runs[0].items() if isinstance(value, (int, float))}  # fmt: skip


# ---- what is run ----


def steady_arguments(recipe: str, hosts: int) -> str:
    warm, measured = 20000, 40000
    if recipe == "writes":  # all permits come at once: whole rounds of 1.6 s for 250 hosts
        warm, measured = 2000, 32000 if hosts > 300 else 19200
    if recipe == "volt":
        warm, measured = (15000, 30000) if hosts > 300 else (5000, 15000)
    return f"{recipe} --hosts {hosts} --warm-ms {warm} --run-ms {measured}"


def fault_arguments(hosts: int, fault: int, more: str = "") -> str:
    warm = 15 if hosts > 100 else 5
    return (f"volt --hosts {hosts} --section-us 5000 --warm-ms {warm * 1000} --run-ms 35000 "
            f"--slice-ms 100 --fault {fault} --fault-ms {FAULT_AT * 1000} {more}")


def steady_seeds(recipe: str, hosts: int) -> tuple[int, ...]:
    return SEEDS if recipe == "volt" or hosts <= 100 else SEEDS[:1]


def fault_seeds(hosts: int) -> tuple[int, ...]:
    return SEEDS if hosts <= 100 else SEEDS[:1]


def measure(program: str, jobs: int) -> dict:
    steady = [(recipe, hosts) for recipe in RECIPES for hosts in HOSTS]
    faults = [(hosts, fault, "") for hosts in (10, 100, 1000) for fault in FAULTS
              if hosts > 64 or fault != 2]  # of 10 hosts none only waits
    faults.append((100, 4, "--tick-ms 500"))
    idle = {"idle": "volt --rest-ms 4000 --warm-ms 10000 --run-ms 60000",
            "held": "volt --hosts 10 --tasks 6 --section-us 70000000 --run-ms 60000"}
    every = [f"{steady_arguments(*what)} --seed {seed}"
             for what in steady for seed in steady_seeds(*what)]
    every += [f"{fault_arguments(*what)} --seed {seed}"
              for what in faults for seed in fault_seeds(what[0])]
    every += idle.values()
    with ThreadPoolExecutor(jobs) as pool:
        results = dict(zip(every, pool.map(lambda a: run(program, a), every), strict=True))

    def seeds(arguments: str, of: tuple[int, ...]) -> list[dict]:
        return [results[f"{arguments} --seed {seed}"] for seed in of]

    return {
        "steady": [{**median(seeds(steady_arguments(*what), steady_seeds(*what))), "recipe": what[0]}
                   for what in steady],
        "faults": [of_fault(seeds(fault_arguments(*what), fault_seeds(what[0])), *what)
                   for what in faults],
        "idle": {name: results[arguments] for name, arguments in idle.items()},
    }  # fmt: skip


def of_fault(runs: list[dict], hosts: int, fault: int, more: str) -> dict:
    """The worst of the seeds, and the first one's series."""
    at = round(FAULT_AT / SLICE)
    worst = {"hosts": hosts, "fault": fault, "tick_s": 0.5 if more else 2.0, "least": 1.0,
             "below_s": 0.0, "slots_back_s": 0.0, "gap_before_s": 0.0, "gap_after_s": 0.0,
             "lost": 0}  # fmt: skip
    for one in runs:
        before = statistics.mean(one["slice_permits"][:at])
        rates = [sum(one["slice_permits"][i : i + 5]) / 5 / before
                 for i in range(at, len(one["slice_permits"]) - 4)]
        low = [i for i, rate in enumerate(rates) if rate < 0.9]
        worst["least"] = min(worst["least"], min(rates))
        worst["below_s"] = max(worst["below_s"], (low[-1] + 5) * SLICE if low else 0.0)
        worst["lost"] = max(worst["lost"], one["lost"])
        for name in ("slots_back", "gap_before", "gap_after"):
            worst[f"{name}_s"] = max(worst[f"{name}_s"], one[f"{name}_ns"] / 1e9)
    first = runs[0]["slice_permits"]
    before = statistics.mean(first[:at])
    worst["series"] = [round(permits / before, 4) for permits in first]
    return worst


# ---- tables of the page ----


def digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def seconds(value: float) -> str:
    return f"{value * 1000:.2g} ms" if value < 0.01 else \
        f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def table(head: list[str], lines: list[list[str]], left: int = 1) -> str:
    marks = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, marks, *lines))


def table_steady(given: dict) -> str:
    lines = [[RECIPES[r["recipe"]], str(int(r["hosts"])), digits(r["permits"]), digits(r["writes"]),
              digits(r["reads"]), digits(r["events"]), seconds(r["p50_ns"] / 1e9),
              seconds(r["p99_ns"] / 1e9), seconds(r["longest_ns"] / 1e9),
              f"{r['slowest_to_fastest']:.2f}"] for r in given["steady"]]  # fmt: skip
    return table(["recipe", "hosts", "permits/s", "writes/s", "reads/s", "events/s", "wait, p50",
                  "p99", "longest", "slowest / fastest host"], lines)  # fmt: skip


def table_faults(given: dict) -> str:
    lines = []
    for f in given["faults"]:
        name = FAULTS[f["fault"]] + (", ticks of 0.5 s" if f["tick_s"] < 2 else "")
        lines.append([name, str(f["hosts"]), f"{f['least']:.0%}",
                      seconds(f["below_s"]) if f["below_s"] else "never",
                      seconds(f["slots_back_s"]) if f["slots_back_s"] else "",
                      seconds(f["gap_before_s"]), seconds(f["gap_after_s"])])  # fmt: skip
    return table(["what happens", "hosts", "least permits/s", "below 90 % until",
                  "slots of the dead serve others after", "longest time without a permit, before",
                  "afterwards"], lines)  # fmt: skip


def find(given: dict, recipe: str, hosts: int) -> dict:
    return next(r for r in given["steady"] if (r["recipe"], r["hosts"]) == (recipe, hosts))


def table_bars(given: dict) -> str:
    return table(["demanded", "here"], [[text, figure] for text, figure, _ in bars(given)])


def bars(given: dict) -> list[tuple[str, str, bool]]:
    volt, best = find(given, "volt", 100), find(given, "writes", 100)
    lock, idle, held = find(given, "lock", 100), given["idle"]["idle"], given["idle"]["held"]
    events = max(r["events"] / r["departures"] for r in given["steady"]
                 if r["recipe"] == "volt" and r["departures"] > 0)  # fmt: skip
    times = volt["permits"] / best["permits"]
    return [
        ("100 hosts: at least 200,000 permits/s", digits(volt["permits"]),
         volt["permits"] >= 200000),
        ("... at no more than 2,500 writes/s", digits(volt["writes"]), volt["writes"] <= 2500),
        ("... the slowest host has at least 0.7 of what the fastest has",
         f"{volt['slowest_to_fastest']:.2f}", volt["slowest_to_fastest"] >= 0.7),
        ("... at least 50 times as many as any recipe of 4 writes a permit can have",
         f"{times:.0f} times; {volt['permits'] / lock['permits']:,.0f} times those of a mutex "
         "and a lease", times >= 50),
        ("at most 2 events for each host that leaves the queue", f"{events:.2f}", events <= 2),
        ("100 hosts that want nothing: no writes in 60 s", digits(idle["writes"] * 60),
         idle["writes"] == 0 and idle["reads"] > 0),
        ("10 hosts that hold permits and want no more: a heartbeat each 0.83 s, and nothing else",
         f"{held['writes']:.3g} writes/s, {held['heartbeats']:.3g} of them heartbeats",
         held["writes"] == held["heartbeats"] and held["writes"] <= 12.1),
    ]  # fmt: skip


def table_beyond(given: dict) -> str:
    """10,000 hosts by what 1,000 do: takes and writes are the same, lists are longer."""
    one = find(given, "volt", 1000)
    touches = 1000 / (10 / 6)  # reads of hosts that only say that they live
    take, lists = 1 / one["departures"], (one["reads"] - touches) / one["departures"] / 3
    queue = 10000 - 64
    size = queue * ENTRY_BYTES
    lines = [
        ["a host waits for slots: hosts in the queue x time of a take",
         f"{queue:,} x {take * 1000:.1f} ms", seconds(queue * take)],
        ["one answer that lists the queue; a server sends 1 MB at most (jute.maxbuffer)",
         f"{queue:,} x {ENTRY_BYTES} bytes", f"{size / 1e6:.2f} MB"],
        ["such answers, at about a third of the reads of a take",
         f"{one['departures']:.0f} takes/s x {lists:.1f}",
         f"{one['departures'] * lists * size / 1e6:,.0f} MB/s"],
        ["all hosts queue at once: writes / 5,000", "10,000 / 5,000", seconds(2)],
        ["... and list the queue once", f"10,000 x {size / 1e6:.2f} MB",
         f"{10000 * size / 1e9:.1f} GB"],
        ["all hosts hold something (limit 10,000): heartbeats", "10,000 / 0.83 s",
         f"{10000 / (10 / 12):,.0f} writes/s"],
    ]  # fmt: skip
    return table(["what", "by", "is"], lines, 2)


BLOCKS = {"bars": table_bars, "steady": table_steady, "faults": table_faults,
          "beyond": table_beyond}  # fmt: skip


def filled(page: str, given: dict) -> str:
    """The page with its tables as they are now."""
    for name, of in BLOCKS.items():
        begin, end = f"<!-- table {name}: ./x cluster plan --save -->", "<!-- end -->"
        pattern = re.compile(rf"({re.escape(begin)}\n).*?({re.escape(end)})", re.S)
        text = of(given)
        page, count = pattern.subn(lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page)
        if count != 1:
            raise Failure(f"the page has {count} tables {name}")
    return page


# ---- plots, as bench/simulation/scale.py has them ----


def plot(into: Path, name: str, columns: list[list[float]], lines: list[str], commands: str) -> None:
    data = "\n".join(" ".join(f"{value:.6g}" for value in row) for row in zip(*columns))
    drawn = ", ".join(f"$d using 1:{n + 2} title '{title}' linetype {n + 1} linewidth 2 "
                      f"pointtype {n + 1}" for n, title in enumerate(lines))  # fmt: skip
    script = f"""$d << EOD
{data}
EOD
set terminal svg size 840,400 noenhanced font 'sans,12' background 'white'
set output '{into / name}'
set key below
set grid ytics linetype 1 linecolor rgb '#dddddd'
{commands}
plot {drawn}
"""
    done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"gnuplot: {done.stderr.strip()}")


def by_hosts(title: str, y: str) -> str:
    ticks = ", ".join(f"'{hosts:,}' {hosts}" for hosts in HOSTS)
    return (f"set title '{title}'\nset xlabel 'hosts'\nset ylabel '{y}'\nset logscale xy\n"
            f"set xtics ({ticks})\nset style data linespoints\n"
            "set offsets graph 0.03, graph 0.03, graph 0.1, graph 0.1")


def plots(given: dict, into: Path) -> None:
    def of(recipe: str, name: str, factor: float = 1.0) -> list[float]:
        return [find(given, recipe, hosts)[name] * factor for hosts in HOSTS]

    hosts = [float(h) for h in HOSTS]
    plot(into, "cluster-plan-permits.svg",
         [hosts, *(of(recipe, "permits") for recipe in RECIPES)], list(RECIPES.values()),
         by_hosts("Permits of all hosts, limit 64, sections of 0.2 ms", "permits/s"))
    plot(into, "cluster-plan-load.svg",
         [hosts, *(of("volt", name) for name in ("writes", "reads", "events"))],
         ["writes", "reads", "events"],
         by_hosts("What volt_cluster_sem asks of the ensemble", "a second"))
    plot(into, "cluster-plan-waits.svg",
         [hosts, of("volt", "longest_ns", 1e-9), of("lock", "longest_ns", 1e-9),
          of("writes", "longest_ns", 1e-9)],
         [f"{RECIPES[recipe]}" for recipe in ("volt", "lock", "writes")],
         by_hosts("The longest wait of a task", "s"))
    shown = [f for f in given["faults"] if f["hosts"] == 100 and f["tick_s"] == 2]
    times = [i * SLICE - FAULT_AT for i in range(len(shown[0]["series"]))]
    plot(into, "cluster-plan-faults.svg", [times, *(f["series"] for f in shown)],
         [FAULTS[f["fault"]] for f in shown],
         "set title 'Permits/s of 100 hosts, divided by those before'\nset xlabel 's since then'\n"
         "set xrange [-2:20]\nset yrange [0:1.15]\nset style data lines")  # fmt: skip


# ---- the command ----


def as_csv(given: dict) -> str:
    out = io.StringIO()
    names = list(given["steady"][0])
    writer = csv.DictWriter(out, ["recipe", *(n for n in names if n != "recipe")],
                            lineterminator="\n")  # fmt: skip
    writer.writeheader()
    writer.writerows(given["steady"])
    return out.getvalue()


def quick(program: str, results: Path, page: Path) -> list[str]:
    """What is demanded, by short runs; the same run twice; the page as the results say."""
    runs = {
        ("volt", 100): "volt --tasks 2 --section-us 2000 --warm-ms 1500 --run-ms 4000",
        ("lock", 100): "lock --tasks 1 --warm-ms 2000 --run-ms 4000",
        ("writes", 100): "writes --tasks 1 --warm-ms 2000 --run-ms 4000",
    }
    got = {what: run(program, arguments) for what, arguments in runs.items()}
    short = run(program, "volt --tasks 2 --warm-ms 600 --run-ms 500")  # many permits take long
    got["volt", 100]["permits"] = short["permits"]
    got["volt", 100]["writes"] = max(short["writes"], got["volt", 100]["writes"])
    given = {
        "steady": [{**result, "recipe": what[0]} for what, result in got.items()],
        "idle": {
            "idle": run(program, "volt --tasks 1 --rest-ms 4000 --warm-ms 5000 --run-ms 60000"),
            "held": run(program, "volt --hosts 10 --tasks 6 --section-us 70000000 --run-ms 60000"),
        },
    }  # fmt: skip
    wrong = [f"{text}: {figure}" for text, figure, holds in bars(given) if not holds]
    again = "volt --hosts 7 --tasks 3 --limit 5 --warm-ms 500 --run-ms 1000 --seed"
    if run(program, f"{again} 3") != run(program, f"{again} 3"):
        wrong.append("the same seed gives another result")
    if run(program, f"{again} 3") == run(program, f"{again} 4"):
        wrong.append("the seed makes no difference")
    saved = json.loads(results.read_text(encoding="utf-8"))
    wrong += [f"saved: {text}: {figure}" for text, figure, holds in bars(saved) if not holds]
    text = page.read_text(encoding="utf-8")
    if filled(text, saved) != text:
        wrong.append(f"{page} does not say what {results} says: ./x cluster plan --save")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="bench-cluster")
    parser.add_argument("--page", required=True, type=Path, help="docs/cluster/plan.md")
    parser.add_argument("--into", type=Path, help="a directory: figures and plots")
    parser.add_argument("--save", action="store_true", help="write the tables into the page, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", type=Path, metavar="JSON",
                        help="check what is demanded by short runs, and the page by this")
    o = parser.parse_args()
    if o.quick:
        wrong = quick(o.program, o.quick, o.page)
        print("\n".join(wrong) or "all as demanded")
        return 1 if wrong else 0
    o.into.mkdir(parents=True, exist_ok=True)
    given = measure(o.program, o.jobs)
    (o.into / "cluster-plan.json").write_text(json.dumps(given) + "\n", encoding="utf-8")
    (o.into / "cluster-plan.csv").write_text(as_csv(given), encoding="utf-8")
    plots(given, o.into)
    for name, of in BLOCKS.items():
        print(f"{name}\n\n{of(given)}\n")
    if o.save:
        o.page.write_text(filled(o.page.read_text(encoding="utf-8"), given), encoding="utf-8")
    missed = [f"{text}: {figure}" for text, figure, holds in bars(given) if not holds]
    for line in missed:
        print(f"not as demanded: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"plan: {failure}")
