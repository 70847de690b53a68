"""The simulated machine, quickly: the same seed gives the same result, another seed another one; the
books of every workload add up, and are found not to where they should not; a few rows are near
those that were measured. Of I/O: each request is answered once, none waits behind another's long poll
where the design promises that, nobody wakes up while nothing comes, and the page says what the program
prints."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import scale_io
from scale import digits

WORKLOADS = (
    "mutex --tasks 4", "mutex --workers 16 --tasks 64 --operations 60",
    "mutex --workers 8 --tasks 32 --bypass 16 --operations 200",
    "mutex --workers 8 --tasks 32 --bypass 1 --operations 200 --lost-every 20000 --lost-for 5000",
    "mutex --workers 8 --tasks 32 --operations 100 --lost-every 20000 --lost-for 5000",
    "sem --workers 8 --tasks 32 --operations 100", "held --workers 4 --tasks 16 --operations 100",
    "rwlock --workers 8 --tasks 16 --amount 100 --operations 100",
    "rwlock --workers 8 --tasks 16 --amount 100 --bypass 16 --operations 200",
    "rwlock --workers 4 --tasks 16 --amount 100 --bypass 1 --operations 200 --lost-every 20000 "
    "--lost-for 5000",
    "sharded --workers 16 --tasks 32 --amount 100 --operations 60",
    "sharded --workers 16 --tasks 32 --amount 100 --operations 60 --shards 16",
    "pingpong --tasks 2", "yield --tasks 32 --operations 50",
    "spawn --workers 4 --tasks 300 --operations 2",
    "outside --workers 4 --cores 6 --tasks 100 --operations 2",
    "tree --workers 8 --tasks 500 --operations 1 --inside 500",
    "threads-mutex --tasks 4", "threads-mutex --tasks 4 --bypass 16", "threads-sem --tasks 4",
    "threads-rwlock --tasks 6 --amount 2", "threads-rwlock --tasks 6 --amount 2 --bypass 16",
    "threads-hop", "line",
)
IO = (
    "io --tasks 16 --operations 100", "io --workers 1 --tasks 64 --operations 20",
    "io --workers 4 --tasks 128 --operations 20 --client 6000",
    "io --workers 4 --tasks 128 --operations 20 --client 6000 --set-each 1",
    "io --workers 8 --tasks 32 --operations 60 --rate 800000 --watches 0",
    "io --workers 8 --tasks 32 --operations 60 --rate 2600000 --set-each 1",
)
# a worker computes for 10 ms, and others are there for the rest; whether the design lets them
LONG = (("io --workers 4 --tasks 64 --operations 60 --rate 40000 --long-each 100", True),
        ("io --workers 4 --tasks 64 --operations 60 --rate 40000 --long-each 100 --set-each 1", False))
NEAR = (("line", 30, 60), ("pingpong --workers 1 --tasks 2 --operations 4000", 30, 70),
        ("mutex --tasks 8", 35, 90), ("mutex --workers 1 --tasks 4", 8, 18))
# 16 pass the oldest waiter of these, at least once: a promise of 15 is broken
BYPASS = ("mutex --tasks 8", "rwlock --workers 8 --tasks 16 --amount 100")
WIDE = ("mutex --workers 128 --tasks 256 --operations 16",
        "sharded --workers 128 --tasks 256 --amount 10 --operations 16 --shards 128",
        "outside --workers 64 --cores 66 --tasks 50 --operations 1 --injection-groups 8",
        "spawn --workers 64 --tasks 300 --operations 2 --steal-near 1 --wake-near 1",
        "io --workers 64 --tasks 128 --operations 8 --client 6000")


def run(program: str, arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *arguments.split()], capture_output=True, text=True, check=False,
                          timeout=120)


def option(arguments: str, name: str) -> int:
    words = arguments.split()
    return int(words[words.index(name) + 1])


def wrong_of_io(tree: str) -> list[str]:
    wrong = []
    for arguments in IO + tuple(arguments for arguments, _ in LONG):
        said = json.loads(run(tree, arguments).stdout)
        count = option(arguments, "--tasks") * option(arguments, "--operations")
        if said["operations"] != count or not 0 < said["batches"] <= count + option(arguments, "--tasks"):
            wrong.append(f"{arguments}: {said['operations']} answers, {said['batches']} receives, not {count}")
        if said["quiet_sleeps"] != 0:
            wrong.append(f"{arguments}: {said['quiet_sleeps']} sleeps while nothing comes")
        if not 0 < said["p50_ns"] <= said["p99_ns"] <= said["longest_ns"]:
            wrong.append(f"{arguments}: the waits are in no order: {said}")
        # at a rate the next request of that connection brings the lost one along
        if "--rate" not in arguments and run(tree, f"{arguments} --lose 50").returncode == 0:
            wrong.append(f"{arguments}: nobody misses a request that is lost")
    for arguments, is_kept in LONG:
        said = json.loads(run(tree, arguments).stdout)
        if said["computed"] == 0 or (said["delay_ns"] <= 1e6) != is_kept:
            wrong.append(f"{arguments}: {said['computed']} long polls, and a delay of {said['delay_ns']} ns")
    if len({run(tree, f"{IO[0]} --seed {seed}").stdout for seed in range(1, 4)}) != 3:
        wrong.append("the seed makes no difference to I/O")
    return wrong


def cells(page: str) -> dict[tuple[str, str, str], list[str]]:
    """The figures of a page: by the title of the table, and the first two cells of the row."""
    found, title = {}, ""
    for line in page.split("## All figures")[1].splitlines():
        words = [word.strip() for word in line.split("|")[1:-1]]
        title = line.strip("*") if line.startswith("**") else title
        if len(words) > 2 and not words[0].startswith("---") and words[0]:
            found[title, words[0], words[1]] = words[2:]
    return found


def wrong_of_page(tree: str) -> list[str]:
    """A page of two small sections. Each figure is one of a run that is done again here."""
    cores = (1, 2)
    sections = (scale_io.Section("rate-20000", "a", 8, 100, scale_io.rate(20000)),
                scale_io.Section("saturated-8", "b", 8, 100, scale_io.closed(3000)))
    text = "".join(f"\n## {title}\n| volt, epoll | 3,000 | |\n" for title, _, _ in scale_io.MEASURED)
    printed = {}

    def call(program: str, arguments: str) -> dict:
        done = run(program, arguments)
        printed[arguments] = json.loads(done.stdout)
        return printed[arguments]

    with ThreadPoolExecutor(1) as pool:
        page = scale_io.document(pool, tree, tree, text, sections, cores, call)
    said = cells(page)
    named = (("CPU ns", lambda r: r["cpu_ns"]), ("sleeps", lambda r: r["sleeps"] / r["operations"]),
             ("wakes", lambda r: (r["wakes"] + r["woken"]) / r["operations"]),
             ("p50, us", lambda r: r["p50_ns"] / 1e3), ("p99, us", lambda r: r["p99_ns"] / 1e3),
             ("max, us", lambda r: r["longest_ns"] / 1e3))
    wrong = []
    for section in sections:
        for variant in scale_io.variants(printed["io --watches 1 --operations 2"]["watches"] == 1):
            runs = [printed.get(f"{section.arguments(c)} {variant.arguments}") for c in cores]
            for name, of in named:
                here = said.get((section.title, name, variant.label))
                if None in runs or here != [digits(of(r)) for r in runs]:
                    wrong.append(f"the page says of {section.title}, {name}, {variant.label}: {here}")
    if sum(len(row) for row in said.values()) < 2 * 2 * 2 * len(named):
        wrong.append("the page has too few figures")
    return wrong


def main(tree: str, wide: str) -> int:
    wrong = wrong_of_io(tree) + wrong_of_page(tree)
    for program, every in ((tree, WORKLOADS + IO), (wide, WORKLOADS + IO[:3] + WIDE)):
        for arguments in every:
            first, again = run(program, arguments), run(program, arguments)
            if first.returncode != 0:
                wrong.append(f"{arguments}: {first.stderr.strip()}")
            elif first.stdout != again.stdout:
                wrong.append(f"{arguments}: {first.stdout.strip()}, and then {again.stdout.strip()}")
    seeds = {run(tree, f"sem --tasks 8 --seed {seed}").stdout for seed in range(1, 6)}
    if len(seeds) == 1:
        wrong.append("the seed makes no difference")
    for arguments, low, high in NEAR:
        text = run(tree, arguments).stdout
        ns = float(text.split('"ns": ')[1].split(",")[0]) if text else 0.0
        if not low <= ns <= high:
            wrong.append(f"{arguments}: {ns} ns, not between {low} and {high}")
    for arguments in BYPASS:
        for promise, says in ((0, "by one who came later"), (15, "overtaken too often")):
            passed = run(tree, f"{arguments} --bypass 16 --promise {promise}")
            if passed.returncode == 0 or says not in passed.stderr:
                wrong.append(f"{arguments}: the books do not see a broken promise of {promise}")
    if "a bit for each worker" not in run(wide, "io --workers 65").stderr:
        wrong.append("I/O is simulated with more workers than a word has bits")
    unknown = run(tree, "nothing")
    if unknown.returncode != 2:
        wrong.append("a workload that is not there is run")
    print("\n".join(wrong) or f"{2 * len(WORKLOADS) + len(IO) + 3 + len(WIDE)} runs, twice each: as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
