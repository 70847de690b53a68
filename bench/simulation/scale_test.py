"""The simulated machine, quickly: the same seed gives the same result, another seed another one; the
books of every workload add up, and are found not to where they should not; a few rows are near
those that were measured."""

import subprocess
import sys

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
NEAR = (("line", 30, 60), ("pingpong --workers 1 --tasks 2 --operations 4000", 30, 70),
        ("mutex --tasks 8", 35, 90), ("mutex --workers 1 --tasks 4", 8, 18))
# 16 pass the oldest waiter of these, at least once: a promise of 15 is broken
BYPASS = ("mutex --tasks 8", "rwlock --workers 8 --tasks 16 --amount 100")
WIDE = ("mutex --workers 128 --tasks 256 --operations 16",
        "sharded --workers 128 --tasks 256 --amount 10 --operations 16 --shards 128",
        "outside --workers 64 --cores 66 --tasks 50 --operations 1 --injection-groups 8",
        "spawn --workers 64 --tasks 300 --operations 2 --steal-near 1 --wake-near 1")


def run(program: str, arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *arguments.split()], capture_output=True, text=True, check=False,
                          timeout=120)


def main(tree: str, wide: str) -> int:
    wrong = []
    for program, every in ((tree, WORKLOADS), (wide, WORKLOADS + WIDE)):
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
    unknown = run(tree, "nothing")
    if unknown.returncode != 2:
        wrong.append("a workload that is not there is run")
    print("\n".join(wrong) or f"{2 * len(WORKLOADS) + len(WIDE)} runs, twice each: as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
