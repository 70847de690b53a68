"""What came out, as the dictionary that is written as JSON and that tables and page are made of."""

from dataclasses import dataclass
from typing import Any

from run import Measured, Plan, Sample
from standing import SLOWER, volt_is
from stats import Summary, as_dict, summarize
from suite import Arm, Growth, Row, Section

ENOUGH = 5  # so many undisturbed runs, or half of them, stand for all

# From here on a cache line's way is dear: the machine has placed the two cores far apart.
DEAR_LINE_NS = 120

@dataclass(frozen=True)
class Pair:
    """A row and what was measured of it."""

    row: Row
    measured: Measured

    def samples(self, arm: Arm) -> list[Sample]:
        """Those that count: the undisturbed ones, if there are enough."""
        every = self.measured.samples.get(arm.label, [])
        quiet = [s for s in every if not s.disturbed]
        return quiet if len(quiet) >= min(ENOUGH, (len(every) + 1) // 2) else every

    def summary(self, arm: Arm, name: str) -> Summary | None:
        return summarize([s.fields[name] for s in self.samples(arm) if name in s.fields])

    def ratio(self, arm: Arm, to: Arm) -> Summary | None:
        """One arm's time over another's, within each round that both have undisturbed."""
        by = self.row.by

        def times(of: Arm) -> dict[int, float]:
            measured = self.samples(of)
            return {s.round: s.fields.get(by, s.fields["ns"]) for s in measured}

        ours, theirs = times(arm), times(to)
        both = sorted(ours.keys() & theirs.keys())
        if not both:  # disturbed in different rounds
            a, b = summarize(list(ours.values())), summarize(list(theirs.values()))
            return summarize([a.median / b.median]) if a and b else None
        return summarize([ours[n] / theirs[n] for n in both])


def note_of(arm: dict[str, Any]) -> str:
    """Where volt loses, the row says so."""
    if arm["kind"] in ("limit", "volt") or volt_is(arm) != SLOWER:
        return ""
    return {
        "unfair": "faster than volt; lets the running overtake",
        "spins": "faster than volt; spins, never sleeps",
        "variant": "faster than the library's",
    }.get(arm["kind"], "faster than volt")


def arm_dict(pair: Pair, arm: Arm, plan: Plan) -> dict[str, Any]:
    skipped = plan.left_out.get(arm.program)
    if skipped is None and arm.program not in plan.programs:
        skipped = "its program was not named"
    if skipped is None:
        skipped = pair.measured.failed.get(arm.label)
    every = pair.measured.samples.get(arm.label, [])
    base = pair.row.base(arm)
    ratio = None if arm == base or skipped else pair.ratio(arm, base)
    out: dict[str, Any] = {
        "label": arm.label,
        "program": arm.program,
        "engine": arm.engine,
        "kind": arm.kind,
        "skipped": skipped,
        "version": pair.measured.versions.get(arm.label),
        "rounds": len(every),
        "disturbed": sum(s.disturbed for s in every),
        "ns": as_dict(pair.summary(arm, "ns")),
        "cpu_ns": as_dict(pair.summary(arm, "cpu_ns")),
        "ratio": as_dict(ratio),
        "fields": {
            name: as_dict(summary)
            for name in pair.row.columns
            if (summary := pair.summary(arm, name)) is not None
        },
        "samples": [{"round": s.round, "others": round(s.others, 3), **s.fields} for s in every],
    }
    return out | {"note": note_of(out)}


def row_dict(pair: Pair, plan: Plan) -> dict[str, Any]:
    row = pair.row
    line = summarize(pair.measured.lines)
    return {
        "key": row.key,
        "title": row.title,
        "workload": row.workload,
        "workers": row.workers,
        "tasks": row.tasks,
        "amount": row.amount,
        "contended": row.contended,
        "by": row.by,
        "line_ns": as_dict(line),
        "lines_ns": pair.measured.lines,
        "columns": list(row.columns),
        "arms": [arm_dict(pair, arm, plan) for arm in row.arms],
    }


def growth_dict(growth: Growth, pairs: list[Pair]) -> dict[str, Any]:
    series = []
    x_of = dict(zip((row.key for row in growth.rows), growth.xs, strict=True))
    for arm in growth.rows[0].arms:
        points = [
            [x_of[pair.row.key], summary.median]
            for pair in pairs
            if (summary := pair.summary(arm, "ns")) is not None
        ]
        if points:
            series.append({"label": arm.label, "kind": arm.kind, "points": points})
    return {"key": growth.key, "title": growth.title, "x": growth.x, "y": "ns per operation",
            "series": series}  # fmt: skip


def states(pairs: list[Pair]) -> list[dict[str, Any]]:
    """Each arm's time while cache lines were cheap to move, and while they were dear."""
    out = []
    for pair in pairs:
        lines = pair.measured.lines
        if not lines:
            continue
        arms = []
        for arm in pair.row.arms:
            by_state: dict[str, list[float]] = {"cheap": [], "dear": []}
            for sample in pair.measured.samples.get(arm.label, []):
                dear = lines[sample.round] >= DEAR_LINE_NS
                by_state["dear" if dear else "cheap"].append(sample.fields["ns"])
            arms.append({"label": arm.label,
                         **{k: as_dict(summarize(v)) for k, v in by_state.items()}})  # fmt: skip
        dear = sum(line >= DEAR_LINE_NS for line in lines)
        out.append({"key": pair.row.key, "title": pair.row.title, "cheap": len(lines) - dear,
                    "dear": dear, "arms": arms})  # fmt: skip
    return out


def programs(plan: Plan, pairs: list[Pair]) -> list[dict[str, Any]]:
    versions: dict[str, list[str]] = {}
    for pair in pairs:
        for arm in pair.row.arms:
            version = pair.measured.versions.get(arm.label)
            known = versions.setdefault(arm.program, [])
            if version and version not in known:
                known.append(version)
    names = [*plan.programs, *plan.left_out]
    return [{"name": name, "versions": versions.get(name, []),
             "skipped": plan.left_out.get(name)} for name in names]  # fmt: skip


def section_dict(section: Section, pairs: list[Pair], plan: Plan) -> dict[str, Any]:
    rows = [row_dict(pair, plan) for pair in pairs]
    return {"key": section.key, "title": section.title, "text": section.text, "rows": rows}
