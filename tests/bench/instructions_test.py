#!/usr/bin/env python3
"""instructions_test.py COMPILER DIRECTORY: builds the programs of ./x bench in the directory,
counts the instructions of each row of bench/compare/instructions.txt, and fails if one is above its
bound.
A bound that is one lower is refused: it could fail. Skipped where the bounds mean nothing: with
another compiler, C library or processor than theirs, without valgrind, or where a process may not
trace another."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "compare"))

import instructions  # noqa: E402
from run import Failure  # noqa: E402
from text import operation_lines  # noqa: E402

SKIPPED = 77


def build(compiler: str, directory: str) -> None:
    """As ./x bench does, so it is optimised, whatever this build is; without debug information, which
    changes no instruction."""
    for argv in (
        ["cmake", "--preset", "bench", "-B", directory, f"-DCMAKE_C_COMPILER={compiler}",
         "-DVOLT_BUILD_APPS=OFF", "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2",
         "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2"],
        ["cmake", "--build", directory, "--target", "bench-tasks", "paths", "rmw"],
    ):  # fmt: skip
        ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(argv)}\n{ended.stdout}\n{ended.stderr}")


def count(directory: str, bounds: dict[str, instructions.Bound]
          ) -> tuple[list[instructions.Count], list[str]]:  # fmt: skip
    """The rows, and what is wrong with their proportions."""
    tasks, paths, rmw = (f"{directory}/bench/{name}" for name in ("bench-tasks", "paths", "rmw"))
    operations = instructions.with_waiters(tasks, bounds, often=False)
    names = instructions.path_names(paths, bounds)
    alone = instructions.uncontended(rmw, paths, names)
    wrong = instructions.out_of_proportion(alone)
    for path in alone:  # the check can fail
        if path["path"] in instructions.AT_MOST:
            much = [p | {"take_instructions": 1000} if p is path else p for p in alone]
            if not instructions.out_of_proportion(much):
                wrong.append(f"{path['path']}: 1000 more would not be refused")
    return operations + instructions.halves(alone, bounds), wrong


def may_trace(directory: str) -> bool:
    argv = [f"{directory}/bench/rmw", f"{directory}/bench/paths", "empty", "20"]
    return subprocess.run(argv, capture_output=True).returncode != SKIPPED


def without_cluster(directory: str) -> bool:
    """Whether paths was built without libvolt-cluster, which needs ZooKeeper's client."""
    names = instructions.path_names(f"{directory}/bench/paths")
    return not any(name.startswith("volt_cluster_") for name in names)


def main() -> int:
    compiler, directory = sys.argv[1:]
    reason = instructions.why_not(compiler)
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    bounds = instructions.read_bounds(instructions.here(compiler))[1]
    build(compiler, directory)
    if not may_trace(directory):
        print("skipped: rmw may not trace here")
        return SKIPPED
    try:
        counts, failed = count(directory, bounds)
        if without_cluster(directory):
            bounds = {n: b for n, b in bounds.items() if not n.startswith("volt_cluster_")}
    except Failure as failure:
        sys.exit(str(failure))
    print(instructions.as_text(operation_lines([vars(c) for c in counts])))
    failed += [f"not counted: {name}" for name in bounds.keys() - {c.name for c in counts}]
    for c in counts:
        if c.is_above:
            failed.append(f"above its bound of {c.bound:g}: {c.name}: {c.instructions:g}")
        if not replace(c, bound=c.instructions - 1).is_above:
            failed.append(f"{c.name}: a bound that is one lower would not be refused")
    print("\n".join(failed) or f"{len(counts)} rows within their bounds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
