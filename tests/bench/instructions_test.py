#!/usr/bin/env python3
"""instructions_test.py COMPILER DIRECTORY: builds the programs of ./x bench in the directory,
counts the instructions of each row of bench/compare/instructions.txt, and fails if one is above its
bound.
A bound that is one lower is refused: it could fail. Skipped where the bounds mean nothing: with
another compiler, C library or processor than theirs, or without valgrind."""

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
    """As ./x bench does; so it is optimised, whatever this build is."""
    for argv in (
        ["cmake", "--preset", "bench", "-B", directory, f"-DCMAKE_C_COMPILER={compiler}",
         "-DVOLT_BUILD_APPS=OFF"],
        ["cmake", "--build", directory, "--target", "bench-tasks", "paths"],
    ):  # fmt: skip
        ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(argv)}\n{ended.stdout}\n{ended.stderr}")


def count(directory: str, bounds: dict[str, instructions.Bound]) -> list[instructions.Count]:
    tasks, paths = f"{directory}/bench/bench-tasks", f"{directory}/bench/paths"
    operations = instructions.with_waiters(tasks, bounds, often=False)
    names = instructions.path_names(paths, bounds)
    alone = instructions.uncontended(paths, None, names)
    return operations + instructions.halves(alone, bounds)


def main() -> int:
    compiler, directory = sys.argv[1:]
    reason = instructions.why_not(compiler)
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    bounds = instructions.read_bounds(instructions.here(compiler))[1]
    build(compiler, directory)
    try:
        counts = count(directory, bounds)
    except Failure as failure:
        sys.exit(str(failure))
    print(instructions.as_text(operation_lines([vars(c) for c in counts])))
    failed = [f"not counted: {name}" for name in bounds.keys() - {c.name for c in counts}]
    for c in counts:
        if c.is_above:
            failed.append(f"above its bound of {c.bound:g}: {c.name}: {c.instructions:g}")
        if not replace(c, bound=c.instructions - 1).is_above:
            failed.append(f"{c.name}: a bound that is one lower would not be refused")
    print("\n".join(failed) or f"{len(counts)} rows within their bounds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
