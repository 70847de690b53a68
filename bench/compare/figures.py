"""The plots of the page: what goes into each, its caption and its legend."""

import sys
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import plots
from bcs import NAMES, PLOTTED_APART
from colours import family, in_order, name
from standing import arms_of, ratio_of, row_id, rows_of, time_of
from stats import count, duration

LINES_IN_A_PLOT = 60
PALE = ("unfair", "spins", "limit", "variant")
RATIO_POINTS = {"fair": 7, "volt": 7, "unfair": 6, "spins": 8, "limit": 2, "variant": 12}
RATIO_NAMES = {
    "fair": "serves in order", "unfair": "lets others overtake", "spins": "spins, never sleeps",
    "limit": "a limit", "variant": "a variant of volt's",
}
RATIO_LIMITS = (0.02, 200.0)  # beyond them a dot stands at the edge


def _figure(key: str, title: str, caption: str, draw: Callable[[], str], legend: str = "") -> str:
    """A figure; if it cannot be drawn it says why, and the page is the rest."""
    try:
        drawing = draw()
    except plots.NoPlot as why:
        print(f"bench: plot {key} is left out: {why}", file=sys.stderr)
        drawing = f'<p class="left-out">This plot is left out: {escape(str(why))}</p>'
    drawing = drawing.replace("<svg", f'<svg aria-label="{escape(title)}"', 1)
    return (
        f'<figure id="plot-{key}" aria-label="{escape(title)}"><div class="drawing">{drawing}</div>'
        f"{legend}<figcaption><b>{escape(title)}.</b> {escape(caption)}</figcaption></figure>"
    )


def _grid(figures: list[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>' if figures else ""


def _number(summary: dict, key: str) -> float:
    return summary.get(key) or summary["median"]


def _shortened(text: str, most: int) -> str:
    """Without its middle: what follows a common beginning matters too."""
    if len(text) <= most:
        return text
    end = most * 2 // 5
    return f"{text[: most - end - 1]}…{text[-end:]}"


# ---- bars ----


def _bar(arm: dict, summary: dict) -> plots.Bar:
    kind = arm.get("kind") or ""
    label = arm.get("label") or "?"
    return plots.Bar(
        _shortened(label, 24),
        family(label, kind),
        summary["median"],
        _number(summary, "quartile_1"),
        _number(summary, "quartile_3"),
        kind in PALE,
    )


def _latency_groups(section: dict) -> list[plots.Group]:
    groups = []
    for row in section.get("rows") or []:
        by = row.get("by") or "ns"
        measured = [(arm, time) for arm in arms_of(row) if (time := time_of(arm, by))]
        bars = sorted((_bar(*pair) for pair in measured), key=lambda bar: bar.value)
        if bars:
            title = row.get("title") or row.get("key") or "?"
            groups.append(plots.Group(title + (", CPU time" if by == "cpu_ns" else ""), bars))
    return groups


def _in_parts(groups: list[plots.Group]) -> list[list[plots.Group]]:
    """Plots of about the same height, each easy to look at."""
    lines = [len(group.bars) + 1 for group in groups]
    count = -(-sum(lines) // LINES_IN_A_PLOT)
    parts: list[list[plots.Group]] = [[] for _ in range(count)]
    passed = 0
    for group, height in zip(groups, lines, strict=True):
        middle = passed + height / 2
        parts[int(middle * count / sum(lines))].append(group)
        passed += height
    return [part for part in parts if part]


def latency(section: dict) -> str:
    """Time per operation of everything in a section."""
    groups = _latency_groups(section)
    parts = _in_parts(groups)
    figures = []
    for i, part in enumerate(parts):
        key = f"latency-{row_id(section, {})[4:-1]}" + (f"-{i + 1}" if i else "")
        title = f"{section.get('title', '')}: time per operation"
        if len(parts) > 1:
            title += f" ({i + 1} of {len(parts)})"
        caption = (
            "Medians, thin lines the quartiles. The axis is logarithmic: compare where bars end,"
            " not how long they are. Pale: unfair, spinning, a limit or a variant."
        )
        draw = partial(plots.bars, key, part, beside=groups)
        figures.append(_figure(key, title, caption, draw))
    return _grid(figures)


def _rows_with(results: dict, workload: str) -> list[dict]:
    return [row for _, row in rows_of(results) if row.get("workload") == workload]


def fairness(results: dict) -> str:
    """How much longer the unlucky wait, in the rows that measure single waits."""
    groups = []
    for row in _rows_with(results, "waits"):
        bars = []
        for arm in arms_of(row):
            fields = arm.get("fields") or {}
            p50, p999 = (fields.get(f) or {} for f in ("p50_ns", "p999_ns"))
            if arm.get("skipped") or not p50.get("median") or not p999.get("median"):
                continue
            half = p50["median"]
            share = {k: v / half for k, v in p999.items() if isinstance(v, int | float)}
            bars.append(_bar(arm, share))
        if bars:
            bars.sort(key=lambda bar: bar.value)
            groups.append(plots.Group(row.get("title") or "?", bars))
    if not groups:
        return ""
    caption = (
        "The wait that one in a thousand exceeds, over the one that half exceed. 1: all wait"
        " equally long. Logarithmic; thin lines: the quartiles of the long waits."
    )
    return _figure("fairness-waits", "Fairness: p99.9 over p50 of single waits", caption,
                   partial(plots.bars, "fairness-waits", groups, "×"))


def memory(results: dict) -> str:
    """What a waiting task costs."""
    groups = []
    for row in _rows_with(results, "parked"):
        measured = [
            (arm, size)
            for arm in arms_of(row)
            if not arm.get("skipped")
            and ((size := (arm.get("fields") or {}).get("bytes") or {}).get("median") or 0) > 0
        ]
        if measured:
            bars = sorted((_bar(*pair) for pair in measured), key=lambda bar: bar.value)
            groups.append(plots.Group(row.get("title") or "?", bars))
    if not groups:
        return ""
    caption = "Resident bytes per task, stacks and heap included. This axis is linear."
    return _figure("memory", "Memory per waiting task", caption,
                   partial(plots.bars, "memory", groups, " B", log=False))


# ---- ratios ----


def ratios(results: dict) -> str:
    """Everything at one glance: each arm's time over volt's, a line for each row."""
    rows: list[plots.DotRow] = []
    families, kinds = set(), set()
    for section in results.get("sections") or []:
        found = []
        for row in section.get("rows") or []:
            dots = []
            for arm in arms_of(row)[1:]:
                ratio, kind = ratio_of(arm), arm.get("kind") or ""
                if ratio is None or kind == "limit":
                    continue
                label = arm.get("label") or "?"
                of = family(label, kind)
                families.add(of)
                kinds.add(kind)
                dots.append(plots.Dot(label, of, RATIO_POINTS.get(kind, 7), ratio["median"],
                                      _number(ratio, "quartile_1"),
                                      _number(ratio, "quartile_3")))
            if dots:
                found.append(plots.DotRow(_shortened(row.get("title") or "?", 49), dots))
        if found:
            rows += [plots.DotRow(section.get("title") or "?", []), *found]
    if not rows:
        return ""
    values = [dot.value for row in rows for dot in row.dots]
    low = max(min(*values, 0.5) / 1.1, RATIO_LIMITS[0])
    high = min(max(*values, 2.0) * 1.1, RATIO_LIMITS[1])
    caption = (
        "Each mark is a library's time over volt's, within rounds; right of the line volt is"
        " faster. Thin lines: quartiles. "
    )
    if min(values) < low or max(values) > high:
        caption += f"What is below {low:g} or above {high:g} stands at the edge."
    shapes = "".join(
        f'<span>{_mark("ratios", RATIO_POINTS[kind])} {RATIO_NAMES[kind]}</span>'
        for kind in RATIO_NAMES
        if kind in kinds
    )
    squares = "".join(f"<span>{swatch(f)} {escape(name(f))}</span>" for f in in_order(families))
    legend = f'<p class="legend">{shapes}</p><p class="legend">{squares}</p>'
    return _figure("ratios", "Every row: time over volt's", caption,
                   partial(plots.dots, "ratios", rows, (low, high)), legend)


def swatch(of: str) -> str:
    """A square in the colour of a library."""
    return f'<i class="swatch" style="background:var(--{of})"></i>'


def _mark(key: str, point: int, paint: str = "currentColor", dash: str | None = None) -> str:
    """A point as in the plot of that name, and a piece of its line if it has one."""
    line = "" if dash is None else (
        f'<path d="M1,6 H33" stroke="{paint}" stroke-width="2" stroke-dasharray="{dash}"/>'
    )
    width = 16 if dash is None else 34
    return (
        f'<svg class="mark" fill="none" viewBox="0 0 {width} 12" width="{width}" height="12"'
        f' aria-hidden="true">{line}<use href="#{key}-gpPt{point - 1}" color="{paint}"'
        f' transform="translate({width / 2:g},6) scale(4)"/></svg>'
    )


# ---- lines ----


def _series(labels: list[tuple[str, str, list]]) -> list[plots.Line]:
    """Lines: a colour for each library, dashes for more than one of it, a point for each."""
    seen: dict[str, int] = {}
    series = []
    for i, (label, kind, points) in enumerate(labels):
        of = family(label, "" if kind == "fair" else kind)
        dash = plots.DASHES[seen.get(of, 0) % len(plots.DASHES)]
        seen[of] = seen.get(of, 0) + 1
        series.append(plots.Line(label, of, points, plots.POINTS[i % len(plots.POINTS)], dash))
    return series


def _line_legend(key: str, series: list[plots.Line]) -> str:
    items = (
        f"<span>{_mark(key, line.point, f'var(--{line.family})', line.dash)} "
        f"{escape(line.label)}</span>"
        for line in series
    )
    return f'<p class="legend">{"".join(items)}</p>'


def _lines(key: str, title: str, caption: str, series: list[plots.Line], *axes: Any) -> str:
    draw = partial(plots.lines, key, series, *axes)
    return _figure(key, title, caption, draw, _line_legend(key, series))


def growth(results: dict) -> str:
    """What becomes of an operation when there are more and more."""
    figures = []
    for one in results.get("growth") or []:
        found = []
        for s in one.get("series") or []:
            points = [(x, y, y, y) for x, y in s.get("points") or [] if x > 0 and y and y > 0]
            if points:
                found.append((s.get("label") or "?", s.get("kind") or "", points))
        if not found:
            continue
        key = "growth-" + row_id({}, one)[5:]
        xs = sorted({x for *_, points in found for x, *_ in points})
        title = one.get("title") or key
        figures.append(_lines(key, title[:1].upper() + title[1:], "Medians; both axes logarithmic.",
                              _series(found), [(count(x), x) for x in xs], one.get("x") or "",
                              one.get("y") or "ns per operation"))
    return _grid(figures)


def _bcs_cells(bcs: dict) -> tuple[dict[int, list[dict]], int]:
    """By threads, with one length outside of the section: that."""
    rows = [r for r in bcs.get("results") or [] if isinstance(r, dict) and "locked_ns" in r]
    lengths = {r.get("unlocked_ns") for r in rows}
    outside = PLOTTED_APART if PLOTTED_APART in lengths else max(lengths, default=0)
    cells: dict[int, list[dict]] = {}
    for row in rows:
        if row.get("unlocked_ns") == outside:
            cells.setdefault(row.get("threads") or 0, []).append(row)
    return cells, outside


def _bcs_series(rows: list[dict], measure: str, at: dict[float, float],
                log: bool) -> list[plots.Line]:
    keys = list(dict.fromkeys(row.get("candidate") or "?" for row in rows))
    found = []
    for i, key in enumerate(keys):
        apart = 1 + 0.035 * (i - len(keys) / 2)  # so that spreads do not hide each other
        points = [
            (at[row["locked_ns"]] * apart, s["median"], _number(s, "quartile_1"),
             _number(s, "quartile_3"))
            for row in rows
            if row.get("candidate") == key and (s := row.get(measure))
            and (s["median"] > 0 or not log)
        ]
        if points:
            found.append((NAMES.get(key, key), "", sorted(points)))
    return _series(found)


def bcs(results: dict) -> str:
    """Throughput and fairness against the length of the section, for each number of threads."""
    cells, outside = _bcs_cells(results.get("bcs") or {})
    figures = []
    for threads, rows in sorted(cells.items()):
        lengths = sorted({row["locked_ns"] for row in rows})
        least = min((x for x in lengths if x > 0), default=10)
        at = {x: x or least / 10 for x in lengths}  # a logarithm has no 0: a decade to the left
        ticks = [(duration(x), at[x]) for x in lengths]
        where = f"{threads} threads, {duration(outside)} outside of the section"
        for measure, title, y_title, log in (
            ("per_second", "Throughput", "sections per second", True),
            ("slowest_share", "Fairness", "slowest thread / fastest thread", False),
        ):
            series = _bcs_series(rows, measure, at, log)
            if series:
                figures.append(_lines(f"{title.lower()}-{threads}", f"{title}, {where}",
                                      "Medians and quartiles.", series, ticks,
                                      "length of the section", y_title, log))
    return _grid(figures)
