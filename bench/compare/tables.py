"""The tables of the page."""

from collections.abc import Iterable
from html import escape
from typing import Any

from bcs import NAMES
from colours import family
from figures import swatch
from standing import (
    FASTER, LEVEL, SLOWER, ahead_of_volt, arms_of, fastest, ratio_of, row_id, rows_of, tally,
    time_of, volt_is,
)
from stats import count, digits, duration, span

FIELDS = {  # of a row: its heading, and what it is multiplied by
    "p50_ns": ("p50, ns", 1), "p99_ns": ("p99, ns", 1), "p999_ns": ("p99.9, ns", 1),
    "longest_ns": ("longest, ns", 1), "slowest_share": ("slowest / fastest", 1),
    "lost": ("given up, %", 100), "bytes": ("bytes per task", 1),
    "allocations": ("allocations per operation", 1), "overlap": ("overlap", 1),
}
BADGES = {
    "volt": "this library", "fair": "serves in the order of arrival",
    "unfair": "lets running ones overtake those that wait", "spins": "never sleeps",
    "limit": "nothing can do with less", "variant": "another algorithm, in bench/variants/",
}


def text(value: Any) -> str:
    return escape("" if value is None else str(value))


def badge(kind: str) -> str:
    title = f' title="{text(BADGES[kind])}"' if kind in BADGES else ""
    known = kind if kind in BADGES else "other"
    return f'<span class="badge {known}"{title}>{text(kind)}</span>' if kind else ""


Columns = int | tuple[int, ...]


def _class(i: int, left: Columns) -> str:
    return " class=t" if (i < left if isinstance(left, int) else i in left) else ""


def table(headings: Iterable[str], rows: Iterable[str], left: Columns = 1, name: str = "") -> str:
    """In a box of its own, which scrolls when it is too wide. left: the columns that are text, or
    how many first ones are."""
    cells = "".join(
        f'<th scope="col"{_class(i, left)}>{text(h)}</th>'
        for i, h in enumerate(headings)
    )
    body = "".join(rows)
    label = f' aria-label="{text(name)}"' if name else ""
    return (f'<div class="scroll" tabindex="0"><table{label}><thead><tr>{cells}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def line(cells: Iterable[str], left: Columns = 1, kind: str = "") -> str:
    """A row of cells that are HTML; left: as of the table."""
    inside = "".join(f"<td{_class(i, left)}>{cell}</td>" for i, cell in enumerate(cells))
    return f"<tr{f' class={kind}' if kind else ''}>{inside}</tr>"


def verdicts(given: list[dict], headings: tuple[str, str, str]) -> str:
    """Claims, and whether they hold."""

    def mark(verdict: str) -> str:
        kind = {"holds": "holds", "does not hold": "fails"}.get(verdict, "open")
        sign = {"holds": "✓ ", "fails": "✗ "}.get(kind, "")
        return f'<span class="verdict {kind}">{sign}{text(verdict)}</span>'

    rows = (
        line((text(v.get("claim")), mark(str(v.get("verdict", ""))), text(v.get("figures"))), 3)
        for v in given
    )
    return table(headings, rows, 3, headings[0])


def programs(given: list[dict]) -> str:
    rows = []
    for program in given:
        versions = ", ".join(str(v) for v in program.get("versions") or [])
        why = program.get("skipped")
        what = text(versions or "–")
        if why:
            what = f'<span class="skipped">skipped: {text(why)}</span>'
        rows.append(line((text(program.get("name")), what), 2))
    return table(("program", "what it measures, by version"), rows, 2, "programs")


# ---- in short ----


def in_short(results: dict) -> str:
    """How often volt is faster, level, slower."""
    rows = [
        line((badge(kind) + " " + text(BADGES[kind]), str(sum(by.values())), str(by[FASTER]),
              str(by[LEVEL]), str(by[SLOWER])))
        for kind, by in tally(results).items()
        if sum(by.values())
    ]
    headings = ("beside libraries that are", "comparisons", "volt faster", "level", "volt slower")
    return table(headings, rows, 1, "in short") if rows else ""


def losses(results: dict) -> str:
    """Every row in which volt loses, and to whom."""
    items = []
    for section, row in rows_of(results):
        ahead = ahead_of_volt(row)
        if ahead:
            items.append(
                f'<li><a href="#{row_id(section, row)}">{text(row.get("title"))}</a>'
                f' <span class="muted">({text(section.get("title"))})</span>: {_who(ahead)}</li>'
            )
    return f'<ul class="losses">{"".join(items)}</ul>' if items else ""


def _who(ahead: list[dict]) -> str:
    return ", ".join(
        f"{text(arm.get('label'))} ({text(arm.get('kind'))}, {digits(arm['ratio']['median'])})"
        for arm in ahead
    )


def glance(section: dict) -> str:
    """A section in one table: volt, and who comes nearest or is ahead."""
    rows = []
    for row in section.get("rows") or []:
        arms = arms_of(row)
        time = time_of(arms[0], row.get("by") or "ns") if arms else None
        if not time:
            continue
        cells = [f'<a href="#{row_id(section, row)}">{text(row.get("title"))}</a>',
                 digits(time["median"])]
        for kinds in (("fair",), ("unfair", "spins")):
            best = fastest(row, kinds)
            cells += ["–", ""] if best is None else [
                text(best.get("label")), _ratio(best, volt_is(best) == SLOWER)
            ]
        rows.append(line(cells, (0, 2, 4)))
    headings = ("workload", "volt, ns", "fastest fair", "its ratio", "fastest unfair or spinning",
                "its ratio")
    name = f"{section.get('title')}: at a glance"
    return table(headings, rows, (0, 2, 4), name) if rows else ""


# ---- one row ----


def _arguments(row: dict) -> str:
    """As the program is told."""
    given = [str(row.get("workload") or "")]
    given += [f"--{name} {row[name]}" for name in ("workers", "tasks", "amount") if row.get(name)]
    return " ".join(given)


def _how(row: dict) -> str:
    by = "CPU time" if row.get("by") == "cpu_ns" else "time"
    parts = [f"<code>{text(_arguments(row))}</code>", f"ratios by {by}"]
    cache_line = row.get("line_ns")
    if isinstance(cache_line, dict) and cache_line.get("median"):
        least, most = cache_line.get("least"), cache_line.get("most")
        parts.append(f"a cache line took {digits(cache_line['median'])} ns from core to core"
                     f" ({span(least, most)})")
    return f'<p class="how">{"; ".join(parts)}</p>'


def _loses(row: dict) -> str:
    ahead = ahead_of_volt(row)
    if not ahead:
        return ""
    fair = any(arm.get("kind") == "fair" for arm in ahead)
    who = "" if fair else ", none of which both sleeps and serves in the order of arrival"
    return (f'<p class="loses"><strong>volt loses this row</strong> to {_who(ahead)}{who}.'
            "</p>")


def _label(arm: dict) -> str:
    label, version = str(arm.get("label") or "?"), str(arm.get("version") or "")
    kind = str(arm.get("kind") or "")
    if version.lower().startswith(label.lower()):
        version = version[len(label) :].strip()
    small = f' <span class="version">{text(version)}</span>' if version else ""
    note = f'<span class="note">{text(arm["note"])}</span>' if arm.get("note") else ""
    return f"{swatch(family(label, kind))}{text(label)}{small} {badge(kind)}{note}"


def _summary(summary: Any, factor: float = 1) -> str:
    if not isinstance(summary, dict) or summary.get("median") is None:
        return ""
    return digits(summary["median"] * factor)


def _quartiles(summary: Any) -> str:
    if not isinstance(summary, dict) or summary.get("quartile_1") is None:
        return ""
    return f'<span class="muted">{span(summary["quartile_1"], summary.get("quartile_3"))}</span>'


def _ratio(arm: dict, behind: bool) -> str:
    ratio = ratio_of(arm)
    if ratio is None:
        return ""
    return ('<span class="ahead">ahead of volt</span> ' if behind else "") + digits(ratio["median"])


def _arm(arm: dict, columns: list[str], width: int, behind: bool) -> str:
    if arm.get("skipped") or not isinstance(arm.get("ns"), dict):
        why = text(arm.get("skipped") or "not measured")
        return (f'<tr class="skipped"><td class=t>{_label(arm)}</td>'
                f'<td class=t colspan="{width - 1}">skipped: {why}</td></tr>')
    fields = arm.get("fields") or {}
    rounds = count(arm.get("rounds") or 0)
    if arm.get("disturbed"):
        rounds += f' <span class="muted">({count(arm["disturbed"])})</span>'
    cells = (
        _label(arm), _summary(arm["ns"]), _quartiles(arm["ns"]), _ratio(arm, behind),
        _quartiles(ratio_of(arm)), _summary(arm.get("cpu_ns")),
        *(_summary(fields.get(name), FIELDS.get(name, ("", 1))[1]) for name in columns), rounds,
    )
    return line(cells, kind="volt" if arm.get("kind") == "volt" else "behind" if behind else "")


def row(section: dict, one: dict) -> str:
    columns = [str(name) for name in one.get("columns") or []]
    headings = ["", "ns", "quartiles", "ratio to volt", "quartiles", "CPU ns",
                *(FIELDS.get(name, (name, 1))[0] for name in columns), "rounds (disturbed)"]
    ahead = [id(arm) for arm in ahead_of_volt(one)]
    arms = (_arm(arm, columns, len(headings), id(arm) in ahead) for arm in arms_of(one))
    title = text(one.get("title") or one.get("key"))
    return (f'<section class="row" id="{row_id(section, one)}"><h3>{title}</h3>{_how(one)}'
            f"{_loses(one)}{table(headings, arms, 1, str(one.get('title') or ''))}</section>")


# ---- of the other programs; what they do not say is left out ----


def operations(given: list[dict]) -> str:
    names = ("instructions", "bound", "bar")
    rows = (line((text(o.get("title")), *(count(o.get(n)) for n in names))) for o in given)
    return table(("", *names), rows, 1, "instructions, with waiters") if given else ""


def paths(given: list[dict]) -> str:
    names = ("take_instructions", "take_rmw", "give_instructions", "give_rmw")
    rows = (line((text(i.get("path")), *(count(i.get(n)) for n in names))) for i in given)
    headings = ("path", "take: instructions", "take: atomic", "give: instructions", "give: atomic")
    return table(headings, rows, 1, "instructions, nobody waiting") if given else ""


def states(results: dict) -> str:
    """The engines while cache lines were cheap to move, and while they were dear."""
    rows = []
    for one in results.get("states") or []:
        rounds = f"{count(one.get('cheap'))} / {count(one.get('dear'))}"
        for i, arm in enumerate(arms_of(one)):
            title = text(one.get("title")) if i == 0 else ""
            rows.append(line((title, text(arm.get("label")), _summary(arm.get("cheap")) or "–",
                              _summary(arm.get("dear")) or "–", rounds if i == 0 else ""),
                             2, "first" if i == 0 else ""))
    headings = ("workload", "engine", "lines cheap, ns", "lines dear, ns", "rounds, cheap / dear")
    return table(headings, rows, 2, "engines by state of the machine") if rows else ""


def bcs_cells(given: dict) -> str:
    """All cells: throughput and fairness of each candidate."""
    rows = []
    cell = None
    for r in given.get("results") or []:
        if not isinstance(r, dict) or "per_second" not in r:
            continue
        here = tuple(r.get(name) or 0 for name in ("threads", "locked_ns", "unlocked_ns"))
        key = str(r.get("candidate") or "?")
        where = [str(here[0]), duration(here[1]), duration(here[2])] if here != cell else [""] * 3
        rows.append(line((*where, text(NAMES.get(key, key)), _summary(r["per_second"]),
                          _quartiles(r["per_second"]), _summary(r.get("to_pthread")),
                          _summary(r.get("slowest_share"))), 4, "first" if here != cell else ""))
        cell = here
    headings = ("threads", "section", "outside", "", "sections per second", "quartiles",
                "to pthread_mutex", "slowest / fastest")
    return table(headings, rows, 4, "batched critical sections") if rows else ""
